"""Snapshot policies on Tencent Cloud: CBS schedules, each attached to single disks."""

from collections.abc import Mapping

import tencentcloud_iac_pulumi as tencentcloud
from pulumi import Resource, ResourceOptions

from gpuyard.catalog.limits import limit
from gpuyard.clouds.built import BuiltSnapshots
from gpuyard.clouds.snapshotted import Snapshotted
from gpuyard.clouds.tencentcloud.names import fitted
from gpuyard.clouds.tencentcloud.region import in_region
from gpuyard.planning.plans import SnapshotPlan
from gpuyard.planning.tencentcloud.snapshot_times import LocalTimes, local_times


def build_snapshots(
    name: str,
    plan: SnapshotPlan,
    disks: Snapshotted,
    tags: Mapping[str, str],  # noqa: ARG001 neither a schedule nor its attachment takes tags
    parent: Resource,
) -> BuiltSnapshots:
    """Create the schedule and attach it to each disk.

    A schedule of this cloud has each of its hours on each of its days. Hours that are on the next day of its clock
    need a second schedule where not every day is asked for. There is no copy in another region: the provider has no
    resource for it. Disks of a scaling group have no schedule, because they come and go; nothing but tags could find
    them, and a schedule knows none.

    Args:
        name: Name in front of every resource.
        plan: When, and how long.
        disks: Ids of the disks.
        tags: Without use here.
        parent: The component it belongs to.

    Returns:
        The id of the schedule, of the first where there are two; it finds nothing by tags.

    Source: PyPI tencentcloud_iac_pulumi 0.2.3, docstrings of cbs.SnapshotPolicy and cbs.SnapshotPolicyAttachment
    """
    opts = in_region(f"{name}-snapshots", plan.region, parent)
    offset: int = limit("tencentcloud", "snapshot_utc_offset_hours").values[0]
    policies = [
        _policy(f"{name}-snapshots{part}", plan, times, opts)
        for part, times in zip(("", "-2"), local_times(plan, offset), strict=False)
    ]
    for part, policy in zip(("", "-2"), policies, strict=False):
        for disk_name, disk_id in disks.disks.items():
            tencentcloud.cbs.SnapshotPolicyAttachment(
                f"{name}-snapshots{part}-{disk_name}", snapshot_policy_id=policy.id, storage_id=disk_id, opts=opts
            )
    return BuiltSnapshots(policy_id=policies[0].id, target_tags={})


def _policy(name: str, plan: SnapshotPlan, times: LocalTimes, opts: ResourceOptions) -> tencentcloud.cbs.SnapshotPolicy:
    return tencentcloud.cbs.SnapshotPolicy(
        name,
        snapshot_policy_name=fitted(name, "snapshot_policy_name_bytes_max"),
        repeat_weekdays=list(times.weekdays),
        repeat_hours=list(times.hours),
        retention_days=plan.keep_days,
        opts=opts,
    )
