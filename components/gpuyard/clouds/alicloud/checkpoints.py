"""Checkpoint stores on Alibaba Cloud: a private, versioned, encrypted OSS bucket and its copy in a second region."""

from collections.abc import Mapping

import pulumi_alicloud as alicloud
from pulumi import Input, Output, Resource, ResourceOptions

from gpuyard.clouds.alicloud.region import in_region
from gpuyard.clouds.alicloud.replication import bucket_arn, build_replication
from gpuyard.clouds.built import BuiltBucket
from gpuyard.planning.alicloud.keys import key_id
from gpuyard.planning.plans import CHECKPOINT_PREFIX, BucketPlan, PrefixPlan

ROLE_TAG = "gpuyard:role"
# Without it a data flow of CPFS cannot reach the bucket; while there is one it must stay.
DATA_FLOW_TAGS = {"cpfs-dataflow": "true"}


def build_checkpoints(
    name: str,
    plan: BucketPlan,
    tags: Mapping[str, str],
    parent: Resource,
    *,
    protect: bool,
    force_destroy: bool,
) -> BuiltBucket:
    """Create the bucket and, where asked for, its copy.

    Nodes reach the bucket by the endpoint inside its region: nothing is charged for that traffic, and it needs no way
    to the internet. The copy has a provider of its own, which takes its credentials from the environment.

    The copy's objects keep the storage class of their originals, and move and end by the same rules: a replication has
    no class of its own. What is deleted is not deleted in the copy.

    Args:
        name: Name in front of every resource.
        plan: What to create.
        tags: Tags on everything.
        parent: The component it belongs to.
        protect: Refuse to delete the buckets.
        force_destroy: Delete a bucket with everything in it; for throw-away environments only.

    Returns:
        Names of the bucket and of its copy, and the endpoint inside the region.

    Source: https://help.aliyun.com/en/oss/user-guide/regions-and-endpoints;
    https://www.alibabacloud.com/help/en/cpfs/cpfsonecs/user-guide/manage-data-flows
    """
    builder = _BucketBuilder(name, plan, tags, protect=protect, force_destroy=force_destroy)
    here = in_region(name, plan.region, parent)
    bucket = builder.bucket("checkpoints", plan.kms_key, DATA_FLOW_TAGS, here)
    replica = None
    if plan.replica_region is not None:
        there = ResourceOptions(
            parent=parent,
            provider=alicloud.Provider(
                f"{name}-replica", region=plan.replica_region, opts=ResourceOptions(parent=parent)
            ),
        )
        replica = builder.bucket("replica", plan.replica_kms_key, {}, there)
        build_replication(name, plan, bucket, replica, tags, here)
    return BuiltBucket(
        name=bucket.bucket,
        arn=bucket_arn(bucket.bucket),
        uri=Output.concat("oss://", bucket.bucket, f"/{CHECKPOINT_PREFIX}"),
        replica_name=None if replica is None else replica.bucket,
        endpoint=bucket.intranet_endpoint,
    )


class _BucketBuilder:
    def __init__(
        self, name: str, plan: BucketPlan, tags: Mapping[str, str], *, protect: bool, force_destroy: bool
    ) -> None:
        self.name, self.plan, self.tags = name, plan, tags
        self.protect, self.force_destroy = protect, force_destroy

    def bucket(
        self, part: str, kms_key: str | None, more_tags: Mapping[str, str], opts: ResourceOptions
    ) -> alicloud.oss.Bucket:
        """One closed bucket. The provider gives it a name that nobody else has: names are of all accounts."""
        name = f"{self.name}-{part}"
        bucket = alicloud.oss.Bucket(
            name,
            force_destroy=self.force_destroy,
            versioning=alicloud.oss.BucketVersioningArgs(status="Enabled"),
            server_side_encryption_rule=_encryption(kms_key),
            lifecycle_rules=self._lifecycle(),
            # The rules of the whole bucket and those of its prefixes do different things to the same objects.
            lifecycle_rule_allow_same_action_overlap=True,
            tags={**self.tags, ROLE_TAG: part, **more_tags},
            opts=ResourceOptions.merge(
                opts,
                # Both have resources of their own below, whose values the bucket reads back as changes of its own.
                ResourceOptions(protect=self.protect, ignore_changes=["acl", "policy"]),
            ),
        )
        alicloud.oss.BucketAcl(f"{name}-private", bucket=bucket.bucket, acl="private", opts=opts)
        closed = alicloud.oss.BucketPublicAccessBlock(
            f"{name}-closed", bucket=bucket.bucket, block_public_access=True, opts=opts
        )
        alicloud.oss.BucketPolicy(
            f"{name}-tls",
            bucket=bucket.bucket,
            policy=_tls_only(bucket.bucket),
            opts=ResourceOptions.merge(opts, ResourceOptions(depends_on=[closed])),
        )
        return bucket

    def _lifecycle(self) -> list[alicloud.oss.BucketLifecycleRuleArgs]:
        rule = alicloud.oss.BucketLifecycleRuleArgs
        return [
            *(_prefix_rule(prefix) for prefix in self.plan.prefixes),
            rule(
                id="expire-old-versions",
                enabled=True,
                prefix="",
                noncurrent_version_expirations=[
                    alicloud.oss.BucketLifecycleRuleNoncurrentVersionExpirationArgs(days=self.plan.noncurrent_keep_days)
                ],
                # What expires in a versioned bucket leaves a marker behind, and the markers would stay for ever.
                expirations=[alicloud.oss.BucketLifecycleRuleExpirationArgs(expired_object_delete_marker=True)],
            ),
            rule(
                id="abort-uploads",
                enabled=True,
                prefix="",
                abort_multipart_uploads=[
                    alicloud.oss.BucketLifecycleRuleAbortMultipartUploadArgs(days=self.plan.abort_uploads_after_days)
                ],
            ),
        ]


def _prefix_rule(prefix: PrefixPlan) -> alicloud.oss.BucketLifecycleRuleArgs:
    return alicloud.oss.BucketLifecycleRuleArgs(
        id=f"expire-{prefix.prefix}",
        enabled=True,
        prefix=f"{prefix.prefix}/",
        transitions=[
            alicloud.oss.BucketLifecycleRuleTransitionArgs(days=step.after_days, storage_class=step.storage_class)
            for step in prefix.transitions
        ]
        or None,
        expirations=[alicloud.oss.BucketLifecycleRuleExpirationArgs(days=prefix.keep_days)],
    )


def _encryption(kms_key: str | None) -> alicloud.oss.BucketServerSideEncryptionRuleArgs:
    if kms_key is None:
        return alicloud.oss.BucketServerSideEncryptionRuleArgs(sse_algorithm="AES256")
    return alicloud.oss.BucketServerSideEncryptionRuleArgs(sse_algorithm="KMS", kms_master_key_id=key_id(kms_key))


def _tls_only(bucket_name: Input[str]) -> Output[str]:
    """A policy that refuses plain HTTP to everybody; a refusal does not count as public access.

    Source: https://www.alibabacloud.com/help/en/oss/user-guide/block-public-access
    """
    arn = bucket_arn(bucket_name)
    return Output.json_dumps(
        {
            "Version": "1",
            "Statement": [
                {
                    "Effect": "Deny",
                    "Principal": ["*"],
                    "Action": ["oss:*"],
                    "Resource": [arn, Output.concat(arn, "/*")],
                    "Condition": {"Bool": {"acs:SecureTransport": ["false"]}},
                }
            ],
        }
    )
