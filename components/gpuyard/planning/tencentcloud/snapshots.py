"""The snapshot schedule on Tencent Cloud: how long snapshots are kept, how many that makes, and what is not offered.

Source: https://www.tencentcloud.com/document/product/362/35238 (scheduled snapshots) and PyPI tencentcloud_iac_pulumi
0.2.3, docstring of cbs.SnapshotPolicy
"""

from collections.abc import Iterator

from gpuyard.catalog.limits import limit
from gpuyard.planning.plans import Place, SnapshotPlan
from gpuyard.planning.regional import foreign_group_problems
from gpuyard.planning.tencentcloud.snapshot_times import SnapshotTimes, most_snapshots, plan_times
from gpuyard.spec.models import SnapshotSpec
from gpuyard.spec.problems import Path, Problem


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
    problems += foreign_group_problems(spec, place.cloud, path)
    problems += _keep_problems(spec, place, path)
    problems += _copy_problems(spec, path)
    if times is not None and spec.keep_days is not None:
        problems += _number_problems(times, spec.keep_days, place, path)
    if problems or times is None or spec.keep_days is None:
        return None, problems
    return (
        SnapshotPlan(
            region=place.region,
            every_hours=spec.every_hours,
            hours_utc=times.hours_utc if spec.every_hours is None else (),
            weekdays=times.weekdays,
            cron=None,
            keep_days=spec.keep_days,
            keep_count=None,
            copy_region=None,
            copy_keep_days=None,
            copy_kms_key=None,
            reasons=tuple(_reasons(times, spec.keep_days, place)),
        ),
        [],
    )


def _keep_problems(spec: SnapshotSpec, place: Place, path: Path) -> list[Problem]:
    found: list[Problem] = []
    if spec.keep_count is not None:
        message = "a schedule of Tencent Cloud keeps snapshots by days, not by their number."
        found.append(Problem((*path, "keep_count"), message, "Set 'keep_days' instead."))
    elif spec.keep_days is None:
        found.append(Problem(path, "it is not said how long a snapshot is kept.", "Set 'keep_days'."))
    longest = limit(place.cloud, "snapshot_keep_days_max")
    if spec.keep_days is not None and spec.keep_days > longest.values[0]:
        message = f"a scheduled snapshot is kept for {longest.values[0]} days at most, not {spec.keep_days}."
        remedy = f"Set it to {longest.values[0]} or less (source: {longest.source})."
        found.append(Problem((*path, "keep_days"), message, remedy))
    return found


def _copy_problems(spec: SnapshotSpec, path: Path) -> list[Problem]:
    """Problems of copies, none of which there can be.

    Source: PyPI tencentcloud_iac_pulumi 0.2.3, which has no class for CopySnapshotCrossRegions of the CBS API
    """
    if spec.copy_to is not None:
        message = f"copies of snapshots in another region ({spec.copy_to}) are not offered by the provider."
        remedy = "Remove it; what must survive a region belongs into the checkpoint bucket ('replicate_to')."
        return [Problem((*path, "copy_to"), message, remedy)]
    given = {"copy_keep_days": spec.copy_keep_days, "copy_kms_key": spec.copy_kms_key}
    return [
        Problem((*path, key), "there is no copy: the provider offers none.", "Remove it.")
        for key, value in given.items()
        if value is not None
    ]


def _number_problems(times: SnapshotTimes, keep_days: int, place: Place, path: Path) -> list[Problem]:
    """Problems of a schedule that makes more snapshots of a disk than there may be."""
    quota = limit(place.cloud, "snapshots_per_disk")
    held: int = quota.values[0]
    most = most_snapshots(times, keep_days)
    if most <= held:
        return []
    longest = min(keep_days, limit(place.cloud, "snapshot_keep_days_max").values[0] + 1)
    fit = max((days for days in range(1, longest) if most_snapshots(times, days) <= held), default=None)
    message = f"{most} snapshots of one disk would exist at a time, but a region holds {held} for each disk."
    less_often = "Make them less often" if fit is None else f"Keep them {fit} days or less, or make them less often"
    return [Problem((*path, "keep_days"), message, f"{less_often} (source: {quota.source}).")]


def _reasons(times: SnapshotTimes, keep_days: int, place: Place) -> Iterator[str]:
    most = most_snapshots(times, keep_days)
    yield f"A snapshot {times.words}, each kept {keep_days} days: at most {most} of each disk at a time."
    offset = limit(place.cloud, "snapshot_utc_offset_hours").values[0]
    yield (
        f"Hours are given to the cloud as those of UTC+{offset}, its console's clock: no document says in which time "
        "zone it reads them."
    )
    yield "Disks of nodes that come and go have no schedule: one is attached to single disks."
