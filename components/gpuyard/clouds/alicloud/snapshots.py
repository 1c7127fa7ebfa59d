"""Snapshot policies on Alibaba Cloud: an automatic policy, attached to each disk."""

from collections.abc import Mapping

import pulumi_alicloud as alicloud
from pulumi import Resource

from gpuyard.clouds.alicloud.region import in_region
from gpuyard.clouds.built import BuiltSnapshots
from gpuyard.clouds.snapshotted import Snapshotted
from gpuyard.planning.alicloud.keys import key_id
from gpuyard.planning.alicloud.snapshot_times import in_policy
from gpuyard.planning.plans import SnapshotPlan


def build_snapshots(
    name: str, plan: SnapshotPlan, disks: Snapshotted, tags: Mapping[str, str], parent: Resource
) -> BuiltSnapshots:
    """Create one policy and attach it to disks.

    A policy that finds servers by tags needs an account that Alibaba Cloud has allowed it, so that each disk has an
    attachment of its own. It is never a property of a server: there a new policy replaces the server, and none can be
    taken off again. Disks that a scaling group makes are told the policy by its scaling configuration.

    Keys need no permission here: a snapshot is encrypted as its disk is, and the copy by a key of its own region.

    Args:
        name: Name in front of every resource.
        plan: When, how long, and where the copy goes.
        disks: The disks, by a name that does not change.
        tags: Tags on everything.
        parent: The component it belongs to.

    Returns:
        The policy's id.

    Raises:
        ValueError: The plan's times are no single policy, which the planner refuses.

    Source: PyPI pulumi_alicloud 4.0.0, docstring of ecs.AutoSnapshotPolicy (association_type);
    https://github.com/aliyun/terraform-provider-alicloud/issues/9194 and /issues/8888
    """
    times = in_policy(plan.hours_utc, plan.weekdays)
    if times is None:
        raise ValueError(f"no single policy makes snapshots at {plan.hours_utc} on {plan.weekdays}")
    opts = in_region(name, plan.region, parent)
    policy = alicloud.ecs.AutoSnapshotPolicy(
        f"{name}-snapshots",
        auto_snapshot_policy_name=f"{name}-snapshots",
        repeat_weekdays=[str(day) for day in times.repeat_weekdays],
        time_points=[str(hour) for hour in times.time_points],
        retention_days=plan.keep_days,
        enable_cross_region_copy=plan.copy_region is not None,
        target_copy_regions=None if plan.copy_region is None else [plan.copy_region],
        copied_snapshots_retention_days=plan.copy_keep_days,
        copy_encryption_configuration=_copy_encryption(plan),
        tags=dict(tags),
        opts=opts,
    )
    for disk, disk_id in disks.disks.items():
        alicloud.ecs.EcsAutoSnapshotPolicyAttachment(
            f"{name}-{disk}-snapshots", auto_snapshot_policy_id=policy.id, disk_id=disk_id, opts=opts
        )
    return BuiltSnapshots(policy_id=policy.id, target_tags=disks.tags)


def _copy_encryption(plan: SnapshotPlan) -> alicloud.ecs.AutoSnapshotPolicyCopyEncryptionConfigurationArgs | None:
    """The cloud's own key where none is named."""
    if plan.copy_region is None:
        return None
    return alicloud.ecs.AutoSnapshotPolicyCopyEncryptionConfigurationArgs(
        encrypted=True, kms_key_id=None if plan.copy_kms_key is None else key_id(plan.copy_kms_key)
    )
