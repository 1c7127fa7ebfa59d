"""Snapshot policies on AWS: Data Lifecycle Manager over the volumes that carry a tag."""

from collections.abc import Mapping

import pulumi_aws as aws
from pulumi import Resource, ResourceOptions

from gpuyard.clouds.aws.identity import role_for_service
from gpuyard.clouds.aws.partition import managed_policy_arn
from gpuyard.clouds.built import BuiltSnapshots
from gpuyard.planning.plans import SnapshotPlan

FIRST_RUN_UTC = "03:00"


def build_snapshots(
    name: str, plan: SnapshotPlan, target_tags: Mapping[str, str], tags: Mapping[str, str], parent: Resource
) -> BuiltSnapshots:
    """Create one schedule.

    The policy finds volumes by exact key and value of ``target_tags``: the pools tag their volumes with the same.

    Args:
        name: Name in front of every resource.
        plan: How often, how long, and where the copy goes.
        target_tags: Tags that a volume must carry to be snapshotted.
        tags: Tags on everything.
        parent: The component it belongs to.

    Returns:
        The policy's id and the tags it selects by.
    """
    opts = ResourceOptions(parent=parent)
    role = role_for_service(f"{name}-snapshots", "dlm", plan.region, f"Snapshots of {name}", tags, opts)
    permission = aws.iam.RolePolicyAttachment(
        f"{name}-snapshots",
        role=role.name,
        policy_arn=managed_policy_arn("service-role/AWSDataLifecycleManagerServiceRole", plan.region),
        opts=opts,
    )
    schedule = aws.dlm.LifecyclePolicyPolicyDetailsScheduleArgs(
        name=f"every-{plan.every_hours}-hours",
        create_rule=aws.dlm.LifecyclePolicyPolicyDetailsScheduleCreateRuleArgs(
            interval=plan.every_hours, interval_unit="HOURS", times=FIRST_RUN_UTC
        ),
        retain_rule=aws.dlm.LifecyclePolicyPolicyDetailsScheduleRetainRuleArgs(
            interval=plan.keep_days, interval_unit="DAYS"
        ),
        copy_tags=True,
        tags_to_add={"gpuyard:snapshot-policy": name},
        cross_region_copy_rules=_copies(plan),
    )
    policy = aws.dlm.LifecyclePolicy(
        f"{name}-snapshots",
        region=plan.region,
        description=f"Snapshots of {name}",
        execution_role_arn=role.arn,
        state="ENABLED",
        policy_details=aws.dlm.LifecyclePolicyPolicyDetailsArgs(
            policy_type="EBS_SNAPSHOT_MANAGEMENT",
            resource_types=["VOLUME"],
            target_tags=dict(target_tags),
            schedules=[schedule],
        ),
        tags=dict(tags),
        opts=ResourceOptions.merge(opts, ResourceOptions(depends_on=[permission])),
    )
    return BuiltSnapshots(policy_id=policy.id, target_tags=target_tags)


def _copies(
    plan: SnapshotPlan,
) -> list[aws.dlm.LifecyclePolicyPolicyDetailsScheduleCrossRegionCopyRuleArgs] | None:
    if plan.copy_region is None or plan.copy_keep_days is None:
        return None
    return [
        aws.dlm.LifecyclePolicyPolicyDetailsScheduleCrossRegionCopyRuleArgs(
            target=plan.copy_region,
            encrypted=True,
            copy_tags=True,
            retain_rule=aws.dlm.LifecyclePolicyPolicyDetailsScheduleCrossRegionCopyRuleRetainRuleArgs(
                interval=plan.copy_keep_days, interval_unit="DAYS"
            ),
        )
    ]
