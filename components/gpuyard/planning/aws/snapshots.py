"""The snapshot schedule: how long snapshots are kept, how many that makes, and where copies go.

Source: https://docs.aws.amazon.com/ebs/latest/userguide/snapshot-ami-policy.html (considerations of retention, of disks
that are gone, and of fast restore)
"""

from bisect import bisect_right
from collections.abc import Iterator

from gpuyard.catalog.limits import limit
from gpuyard.catalog.regions import is_zone_id, zone_belongs_to, zone_example
from gpuyard.planning.aws.cron import AwsCron
from gpuyard.planning.aws.snapshot_times import plan_times
from gpuyard.planning.plans import Place, SnapshotPlan
from gpuyard.planning.regional import key_problems, second_region_problems, uncopied_problems
from gpuyard.spec.models import AwsFastRestoreSpec, SnapshotSpec
from gpuyard.spec.problems import Path, Problem

_MINUTES_PER_DAY = 24 * 60


def plan_snapshots(spec: SnapshotSpec, place: Place, path: Path = ()) -> tuple[SnapshotPlan | None, list[Problem]]:
    """What the snapshot schedule is.

    Args:
        spec: What was asked for.
        place: Cloud and region of the nodes.
        path: Where it stands in the cluster description, for the problems' paths.

    Returns:
        The plan, or None when there is none; and every problem found.
    """
    times, problems = plan_times(spec, place, path)
    problems += _keep_problems(spec, place, path)
    problems += _copy_problems(spec, place, path)
    if times is not None:
        problems += _number_problems(spec, times.runs, place, path)
    fast = None if spec.aws is None else spec.aws.fast_restore
    if fast is not None:
        kept = None if times is None else _most(spec, times.runs)
        problems += _fast_restore_problems(fast, kept, place, (*path, "aws", "fast_restore"))
    if problems or times is None:
        return None, problems
    return (
        SnapshotPlan(
            region=place.region,
            every_hours=spec.every_hours,
            hours_utc=times.hours_utc,
            weekdays=times.weekdays,
            cron=times.cron,
            keep_days=spec.keep_days,
            keep_count=spec.keep_count,
            copy_region=spec.copy_to,
            copy_keep_days=_copy_keep_days(spec),
            copy_kms_key=spec.copy_kms_key,
            fast_restore_zones=() if fast is None else tuple(fast.zones),
            fast_restore_count=None if fast is None else fast.count,
            reasons=(*_reasons(spec, times.runs, times.words), *_fast_restore_reasons(fast, place)),
        ),
        [],
    )


def _most(spec: SnapshotSpec, runs: AwsCron) -> int | None:
    """Most snapshots of one disk that exist at any time; None when it is not said how long they are kept."""
    if spec.keep_days is not None:
        # One that is as old as the next one is due may still be there when the next one is made.
        return runs.most_runs(spec.keep_days)
    return spec.keep_count


def _copy_keep_days(spec: SnapshotSpec) -> int | None:
    return (spec.copy_keep_days or spec.keep_days) if spec.copy_to else None


def _keep_problems(spec: SnapshotSpec, place: Place, path: Path) -> list[Problem]:
    if spec.keep_days is None and spec.keep_count is None:
        return [Problem(path, "it is not said how long a snapshot is kept.", "Set 'keep_days' or 'keep_count'.")]
    if spec.keep_days is not None and spec.keep_count is not None:
        message = "'keep_days' and 'keep_count' both say how long a snapshot is kept."
        return [Problem((*path, "keep_count"), message, "Keep one of them.")]
    most = limit(place.cloud, "snapshot_keep_count_max")
    if spec.keep_count is not None and spec.keep_count > most.values[0]:
        message = f"{spec.keep_count} snapshots of each disk cannot be kept by count."
        remedy = f"At most {most.values[0]} (source: {most.source})."
        return [Problem((*path, "keep_count"), message, remedy)]
    return []


def _copy_problems(spec: SnapshotSpec, place: Place, path: Path) -> list[Problem]:
    if spec.copy_to is None:
        return uncopied_problems(spec, path)
    problems = second_region_problems(spec.copy_to, place, (*path, "copy_to"))
    if spec.copy_keep_days is None and spec.keep_days is None and spec.keep_count is not None:
        message = "is missing: copies are kept by days alone, and the snapshots are kept by count."
        problems.append(Problem((*path, "copy_keep_days"), message, "Set the days that a copy is kept."))
    if not problems:
        problems += key_problems(spec.copy_kms_key, place.cloud, spec.copy_to, (*path, "copy_kms_key"), alias=False)
    return problems


def _number_problems(spec: SnapshotSpec, runs: AwsCron, place: Place, path: Path) -> list[Problem]:
    """Problems of a schedule that alone, with one disk, fills what a region holds."""
    quota = limit(place.cloud, "snapshots_per_region")
    held: int = quota.values[0]
    problems: list[Problem] = []
    for key, days in (("keep_days", spec.keep_days), ("copy_keep_days", spec.copy_keep_days)):
        if days is None or runs.most_runs(days) <= held:
            continue
        fit = bisect_right(range(1, days + 1), held, key=runs.most_runs)
        message = (
            f"{runs.most_runs(days)} snapshots of one disk would exist at a time, but a region holds {held} of all "
            "disks by default."
        )
        remedy = f"Keep them {fit} days or less, or make them less often (source: {quota.source})."
        problems.append(Problem((*path, key), message, remedy))
    return problems


def _fast_restore_problems(fast: AwsFastRestoreSpec, kept: int | None, place: Place, path: Path) -> list[Problem]:
    """Problems of the zones and of the number of snapshots that restore fast.

    Source: https://docs.aws.amazon.com/ebs/latest/userguide/ebs-fast-snapshot-restore.html (no Local Zones)
    """
    problems: list[Problem] = []
    like = f"A zone is written like '{zone_example(place.region)}'."
    for number, zone in enumerate(fast.zones):
        at = (*path, "zones", number)
        if is_zone_id(zone):
            problems.append(Problem(at, f"'{zone}' is the id of a zone, but a schedule takes names.", like))
        elif not zone_belongs_to(zone, place.region):
            problems.append(Problem(at, f"'{zone}' is no zone of {place.region}.", like))
        elif len(zone) != len(place.region) + 1:
            problems.append(Problem(at, f"'{zone}' is a Local Zone, where no snapshot restores fast.", like))
        elif zone in fast.zones[:number]:
            problems.append(Problem(at, f"'{zone}' is named twice.", "Remove one."))
    zones = limit(place.cloud, "fast_restore_zones_max")
    if len(fast.zones) > zones.values[0]:
        message = f"snapshots restore fast in at most {zones.values[0]} zones, not {len(fast.zones)}."
        problems.append(Problem((*path, "zones"), message, f"Remove some (source: {zones.source})."))
    count = limit(place.cloud, "fast_restore_count_max")
    if fast.count > count.values[0]:
        message = f"at most {count.values[0]} snapshots of each disk restore fast, not {fast.count}."
        problems.append(Problem((*path, "count"), message, f"Set it lower (source: {count.source})."))
    elif kept is not None and fast.count > kept:
        message = f"{fast.count} snapshots cannot restore fast where {kept} are kept."
        problems.append(Problem((*path, "count"), message, f"Set it to {kept} or less, or keep more."))
    return problems


def _reasons(spec: SnapshotSpec, runs: AwsCron, when: str) -> Iterator[str]:
    most = _most(spec, runs)
    if spec.keep_days is None:
        yield f"A snapshot {when}, the newest {most} kept: at most {most} of each disk at a time."
        yield "Of a disk that is gone, all its snapshots stay until somebody deletes them: 'keep_days' leaves the last."
    else:
        yield f"A snapshot {when}, each kept {spec.keep_days} days: at most {most} of each disk at a time."
        longest = runs.gaps_minutes[1] / _MINUTES_PER_DAY
        if longest > spec.keep_days:
            yield f"Snapshots are up to {longest:g} days apart: each is kept until the next one, beyond its days."
        yield "Of a disk that is gone, the last snapshot stays until somebody deletes it."
    copied = _copy_keep_days(spec)
    if spec.copy_to is not None and copied is not None:
        yield (
            f"An encrypted copy of each in {spec.copy_to}, kept {copied} days: at most {runs.most_runs(copied)} of "
            "each disk there at a time."
        )


def _fast_restore_reasons(fast: AwsFastRestoreSpec | None, place: Place) -> Iterator[str]:
    if fast is None:
        return
    quota = limit(place.cloud, "fast_restore_snapshots_per_region").values[0]
    yield (
        f"{fast.count} of each disk's snapshots restore fast in {len(fast.zones)} zones: each is billed in each zone "
        "by the minute, for an hour at least, and goes on after the schedule is gone until it is switched off by hand."
    )
    yield f"A region has {quota} such snapshots by default, of all disks together; others are made without it."
