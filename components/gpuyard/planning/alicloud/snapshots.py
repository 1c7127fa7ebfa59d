"""The snapshot schedule: how long snapshots are kept, how many that makes, and where the copy goes."""

from collections.abc import Iterator

from gpuyard.catalog.limits import limit
from gpuyard.planning.alicloud.snapshot_times import SnapshotTimes, in_policy, plan_times
from gpuyard.planning.plans import Place, SnapshotPlan
from gpuyard.planning.regional import foreign_group_problems, key_problems, second_region_problems, uncopied_problems
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

    Source: https://help.aliyun.com/en/ecs/developer-reference/api-ecs-2014-05-26-createsnapshot and
    https://help.aliyun.com/zh/ecs/user-guide/limitations
    """
    times, problems = plan_times(spec, path)
    problems += foreign_group_problems(spec, place.cloud, path)
    problems += _keep_problems(spec, path)
    problems += _copy_problems(spec, place, path)
    if times is not None and not problems:
        problems += _number_problems(spec, times, place, path)
    if problems or times is None:
        return None, problems
    return (
        SnapshotPlan(
            region=place.region,
            every_hours=spec.every_hours,
            hours_utc=times.hours_utc,
            weekdays=times.weekdays,
            cron=None,
            keep_days=spec.keep_days,
            keep_count=None,
            copy_region=spec.copy_to,
            copy_keep_days=_copy_keep_days(spec),
            copy_kms_key=spec.copy_kms_key,
            reasons=tuple(_reasons(spec, times)),
        ),
        [],
    )


def _copy_keep_days(spec: SnapshotSpec) -> int | None:
    return (spec.copy_keep_days or spec.keep_days) if spec.copy_to else None


def _keep_problems(spec: SnapshotSpec, path: Path) -> list[Problem]:
    if spec.keep_count is not None:
        message = "a policy keeps snapshots by days alone."
        return [Problem((*path, "keep_count"), message, "Set 'keep_days' in its place.")]
    if spec.keep_days is None:
        return [Problem(path, "it is not said how long a snapshot is kept.", "Set 'keep_days'.")]
    return []


def _copy_problems(spec: SnapshotSpec, place: Place, path: Path) -> list[Problem]:
    if spec.copy_to is None:
        return uncopied_problems(spec, path)
    problems = second_region_problems(spec.copy_to, place, (*path, "copy_to"))
    if not problems:
        problems += key_problems(spec.copy_kms_key, place.cloud, spec.copy_to, (*path, "copy_kms_key"))
    return problems


def _number_problems(spec: SnapshotSpec, times: SnapshotTimes, place: Place, path: Path) -> list[Problem]:
    """Problems of a schedule that makes more snapshots than a disk has: the oldest go before their days are over."""
    most = limit(place.cloud, "snapshots_per_disk_max")
    held: int = most.values[0]
    made = times.most_within(spec.keep_days or 0)
    if made <= held:
        return []
    message = (
        f"{made} snapshots of one disk would exist at a time, but a disk has {held} automatic ones at most: the oldest "
        "are deleted before their days are over."
    )
    fit = times.longest_that_fits(held)
    remedy = f"Keep them {fit} days or less, or make them less often (source: {most.source})."
    return [Problem((*path, "keep_days"), message, remedy)]


def _reasons(spec: SnapshotSpec, times: SnapshotTimes) -> Iterator[str]:
    most = times.most_within(spec.keep_days or 0)
    yield f"A snapshot {times.words}, each kept {spec.keep_days} days: at most {most} of each disk at a time."
    policy = in_policy(times.hours_utc, times.weekdays)
    if policy is not None:
        hours = ", ".join(f"{hour:02}:00" for hour in policy.time_points)
        yield f"The policy says it in UTC+8: {hours}. Only disks that are in use get a snapshot."
    if spec.copy_to is not None:
        yield f"An encrypted copy of each in {spec.copy_to}, kept {_copy_keep_days(spec)} days."
