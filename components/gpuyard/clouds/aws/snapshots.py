"""Snapshot policies on AWS: Data Lifecycle Manager over the volumes that carry a tag."""

from collections.abc import Mapping, Sequence

import pulumi_aws as aws
from pulumi import Input, Output, Resource, ResourceOptions

from gpuyard.clouds.aws.identity import role_for_service
from gpuyard.clouds.aws.partition import managed_policy_arn
from gpuyard.clouds.built import BuiltSnapshots
from gpuyard.clouds.snapshotted import Snapshotted
from gpuyard.planning.aws.cron import daily_expression
from gpuyard.planning.aws.snapshot_times import FIRST_HOUR_UTC
from gpuyard.planning.plans import SnapshotPlan

# The same for every schedule: what was made under another name is not deleted any more.
# Source: https://docs.aws.amazon.com/ebs/latest/userguide/modify.html
SCHEDULE_NAME = "snapshots"

_KIND_OF_RETENTION = "policyDetails.schedules[*].retainRule.intervalUnit"


def build_snapshots(
    name: str,
    plan: SnapshotPlan,
    disks: Snapshotted,
    tags: Mapping[str, str],
    parent: Resource,
) -> BuiltSnapshots:
    """Create one schedule.

    The policy finds volumes by exact key and value of their tags: the pools tag their volumes with the same.

    A change between days and a number of snapshots is a new policy, because Data Lifecycle Manager takes no such
    change. What the old one made stays until somebody deletes it, by the tag ``gpuyard:snapshot-policy``.

    Args:
        name: Name in front of every resource.
        plan: When, how long, and where the copy goes.
        disks: Tags that a volume must carry to be snapshotted, and the keys that encrypt those volumes.
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
    permissions: list[Resource] = [permission]
    keys = [key for key in (disks.key_arns, plan.copy_kms_key) if key is not None]
    if keys:
        permissions.append(
            aws.iam.RolePolicy(f"{name}-snapshot-keys", role=role.name, policy=_use_of_keys(keys), opts=opts)
        )
    schedule = aws.dlm.LifecyclePolicyPolicyDetailsScheduleArgs(
        name=SCHEDULE_NAME,
        create_rule=_when(plan),
        retain_rule=_how_long(plan),
        copy_tags=True,
        tags_to_add={"gpuyard:snapshot-policy": name},
        cross_region_copy_rules=_copies(plan),
        fast_restore_rule=_fast_restore(plan),
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
            target_tags=dict(disks.tags),
            schedules=[schedule],
        ),
        tags=dict(tags),
        opts=ResourceOptions.merge(
            opts, ResourceOptions(depends_on=permissions, replace_on_changes=[_KIND_OF_RETENTION])
        ),
    )
    return BuiltSnapshots(policy_id=policy.id, target_tags=disks.tags)


def _when(plan: SnapshotPlan) -> aws.dlm.LifecyclePolicyPolicyDetailsScheduleCreateRuleArgs:
    if plan.every_hours is not None:
        return aws.dlm.LifecyclePolicyPolicyDetailsScheduleCreateRuleArgs(
            interval=plan.every_hours, interval_unit="HOURS", times=f"{FIRST_HOUR_UTC:02}:00"
        )
    return aws.dlm.LifecyclePolicyPolicyDetailsScheduleCreateRuleArgs(
        cron_expression=plan.cron or daily_expression(plan.hours_utc, plan.weekdays)
    )


def _how_long(plan: SnapshotPlan) -> aws.dlm.LifecyclePolicyPolicyDetailsScheduleRetainRuleArgs:
    if plan.keep_days is None:
        return aws.dlm.LifecyclePolicyPolicyDetailsScheduleRetainRuleArgs(count=plan.keep_count)
    return aws.dlm.LifecyclePolicyPolicyDetailsScheduleRetainRuleArgs(interval=plan.keep_days, interval_unit="DAYS")


def _fast_restore(plan: SnapshotPlan) -> aws.dlm.LifecyclePolicyPolicyDetailsScheduleFastRestoreRuleArgs | None:
    if not plan.fast_restore_zones:
        return None
    return aws.dlm.LifecyclePolicyPolicyDetailsScheduleFastRestoreRuleArgs(
        availability_zones=list(plan.fast_restore_zones), count=plan.fast_restore_count
    )


def _use_of_keys(keys: Sequence[Input[Sequence[Input[str]]]]) -> Output[str]:
    """Permission for the keys of encrypted disks and copies: EBS works with a key by a grant of its own.

    Source: https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption-requirements.html; keys of disks and copies:
    https://docs.aws.amazon.com/ebs/latest/userguide/dlm-prerequisites.html
    """
    use = ["kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncrypt*"]
    grant = {"Bool": {"kms:GrantIsForAWSResource": "true"}}
    statements = [
        statement
        for key in keys
        for statement in (
            {"Effect": "Allow", "Action": use, "Resource": key},
            {"Effect": "Allow", "Action": "kms:CreateGrant", "Resource": key, "Condition": grant},
        )
    ]
    return Output.json_dumps({"Version": "2012-10-17", "Statement": statements})


def _copies(
    plan: SnapshotPlan,
) -> list[aws.dlm.LifecyclePolicyPolicyDetailsScheduleCrossRegionCopyRuleArgs] | None:
    if plan.copy_region is None or plan.copy_keep_days is None:
        return None
    return [
        aws.dlm.LifecyclePolicyPolicyDetailsScheduleCrossRegionCopyRuleArgs(
            target=plan.copy_region,
            encrypted=True,
            cmk_arn=plan.copy_kms_key,
            copy_tags=True,
            retain_rule=aws.dlm.LifecyclePolicyPolicyDetailsScheduleCrossRegionCopyRuleRetainRuleArgs(
                interval=plan.copy_keep_days, interval_unit="DAYS"
            ),
        )
    ]
