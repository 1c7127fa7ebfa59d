"""The copy of a bucket in a second region: a rule, and the role by which OSS copies."""

import json
from collections.abc import Mapping

import pulumi_alicloud as alicloud
from pulumi import Input, Output, Resource, ResourceOptions

from gpuyard.planning.alicloud.keys import key_id
from gpuyard.planning.plans import BucketPlan


def bucket_arn(name: Input[str]) -> Output[str]:
    """The resource name of a bucket in policies: its name is the only one of its kind."""
    return Output.concat("acs:oss:*:*:", name)


def build_replication(
    name: str,
    plan: BucketPlan,
    source: alicloud.oss.Bucket,
    target: alicloud.oss.Bucket,
    tags: Mapping[str, str],
    opts: ResourceOptions,
) -> None:
    """Copy every object of one bucket to the other, those that are there already as well.

    Only what is written is copied: what somebody deletes here stays there until its days are over.

    Args:
        name: Name in front of every resource.
        plan: Regions and keys.
        source: The bucket.
        target: Its copy.
        tags: Tags on the role.
        opts: Options of the resources: parent and provider of the bucket.

    Source: https://www.alibabacloud.com/help/en/oss/user-guide/introduction-to-data-replication-permissions (the least
    permissions); PyPI pulumi_alicloud 4.0.0, docstring of oss.BucketReplication
    """
    role, allowed = _role(name, plan, source, target, tags, opts)
    encrypted = plan.kms_key is not None
    alicloud.oss.BucketReplication(
        f"{name}-replication",
        bucket=source.bucket,
        action="PUT",
        historical_object_replication="enabled",
        destination=alicloud.oss.BucketReplicationDestinationArgs(bucket=target.bucket, location=target.location),
        sync_role=role.role_name,
        encryption_configuration=_copy_encryption(plan.replica_kms_key),
        source_selection_criteria=alicloud.oss.BucketReplicationSourceSelectionCriteriaArgs(
            sse_kms_encrypted_objects=alicloud.oss.BucketReplicationSourceSelectionCriteriaSseKmsEncryptedObjectsArgs(
                status="Enabled"
            )
        )
        if encrypted
        else None,
        # Two rules of the same two buckets are refused.
        opts=ResourceOptions.merge(opts, ResourceOptions(depends_on=[allowed], delete_before_replace=True)),
    )


def _role(
    name: str,
    plan: BucketPlan,
    source: alicloud.oss.Bucket,
    target: alicloud.oss.Bucket,
    tags: Mapping[str, str],
    opts: ResourceOptions,
) -> tuple[alicloud.ram.Role, Resource]:
    """The role and the last thing that it needs. Names of roles and policies are of the whole account."""
    own = f"{name}-replication-{plan.region}"
    trust = {
        "Version": "1",
        "Statement": [
            {"Action": "sts:AssumeRole", "Effect": "Allow", "Principal": {"Service": ["oss.aliyuncs.com"]}},
        ],
    }
    role = alicloud.ram.Role(
        f"{name}-replication",
        role_name=own,
        description=f"Replication of {name}",
        assume_role_policy_document=json.dumps(trust),
        tags=dict(tags),
        opts=opts,
    )
    policy = alicloud.ram.Policy(
        f"{name}-replication",
        policy_name=own,
        description=f"Replication of {name}",
        policy_document=_permissions(source.bucket, target.bucket, plan),
        tags=dict(tags),
        opts=opts,
    )
    return role, alicloud.ram.RolePolicyAttachment(
        f"{name}-replication",
        role_name=role.role_name,
        policy_name=policy.policy_name,
        policy_type="Custom",
        opts=opts,
    )


def _permissions(source: Input[str], target: Input[str], plan: BucketPlan) -> Output[str]:
    read = ["oss:ReplicateList", "oss:ReplicateGet"]
    statements: list[dict[str, object]] = [
        {"Effect": "Allow", "Action": read, "Resource": _both(source)},
        {"Effect": "Allow", "Action": [*read, "oss:ReplicatePut"], "Resource": _both(target)},
    ]
    use = ["kms:DescribeKey", "kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey"]
    for region, key in ((plan.region, plan.kms_key), (plan.replica_region, plan.replica_kms_key)):
        if key is not None:
            resource = f"acs:kms:{region}:*:key/{key_id(key)}"
            statements.append({"Effect": "Allow", "Action": use, "Resource": [resource]})
    return Output.json_dumps({"Version": "1", "Statement": statements})


def _both(bucket: Input[str]) -> list[Output[str]]:
    """A bucket and what is in it."""
    arn = bucket_arn(bucket)
    return [arn, Output.concat(arn, "/*")]


def _copy_encryption(kms_key: str | None) -> alicloud.oss.BucketReplicationEncryptionConfigurationArgs | None:
    if kms_key is None:
        return None
    return alicloud.oss.BucketReplicationEncryptionConfigurationArgs(replica_kms_key_id=key_id(kms_key))
