"""Checkpoint stores on Tencent Cloud: a private, versioned, encrypted COS bucket and its copy in a second region."""

from collections.abc import Mapping, Sequence

import tencentcloud_iac_pulumi as tencentcloud
from pulumi import Output, Resource, ResourceOptions

from gpuyard.clouds.built import BuiltBucket
from gpuyard.clouds.tencentcloud.account import account_of, bucket_resource
from gpuyard.clouds.tencentcloud.region import in_region
from gpuyard.planning.plans import CHECKPOINT_PREFIX, BucketPlan, PrefixPlan

ROLE_TAG = "gpuyard:role"
# The prefix of everything in a bucket.
EVERYTHING = ""


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

    A bucket's name ends in the account's app id, and nothing random: a second component of the same name in the same
    account has another name to find. The copy is made by a provider of its own, as a resource of this cloud names no
    region; that provider takes its credentials from the environment. COS copies as the user who makes the rule, who
    has to have let COS into the account once (the console asks on the first replication).

    Args:
        name: Name in front of every resource.
        plan: What to create.
        tags: Tags on everything that takes some.
        parent: The component it belongs to.
        protect: Refuse to delete the buckets.
        force_destroy: Delete a bucket with everything in it; for throw-away environments only.

    Returns:
        Names of the bucket and of its copy, and the host that nodes of its region reach without a fee for traffic.
    """
    opts = in_region(f"{name}-checkpoints", plan.region, parent)
    builder = _BucketBuilder(name, plan, tags, opts, protect=protect, force_destroy=force_destroy)
    replica = None
    if plan.replica_region is not None:
        elsewhere = tencentcloud.Provider(
            f"{name}-replica", region=plan.replica_region, opts=ResourceOptions(parent=parent)
        )
        there = ResourceOptions(parent=parent, provider=elsewhere)
        replica = builder.bucket("replica", plan.replica_region, plan.replica_kms_key, there)
    bucket = builder.bucket("checkpoints", plan.region, plan.kms_key, opts, replica)
    return BuiltBucket(
        name=bucket.bucket,
        arn=bucket_resource(plan.region, bucket.bucket, builder.account.app_id),
        uri=Output.concat("cos://", bucket.bucket, f"/{CHECKPOINT_PREFIX}"),
        replica_name=None if replica is None else replica.bucket,
        endpoint=Output.concat(bucket.bucket, f".cos.{plan.region}.myqcloud.com"),
    )


class _BucketBuilder:
    def __init__(
        self,
        name: str,
        plan: BucketPlan,
        tags: Mapping[str, str],
        opts: ResourceOptions,
        *,
        protect: bool,
        force_destroy: bool,
    ) -> None:
        self.name, self.plan, self.tags = name, plan, tags
        self.protect, self.force_destroy = protect, force_destroy
        self.account = account_of(opts)

    def bucket(
        self,
        part: str,
        region: str,
        kms_key: str | None,
        opts: ResourceOptions,
        replica: tencentcloud.cos.Bucket | None = None,
    ) -> tencentcloud.cos.Bucket:
        """One closed bucket that is copied to another where there is one; both are versioned, which copying needs."""
        name = f"{self.name}-{part}"
        bucket = tencentcloud.cos.Bucket(
            name,
            bucket=Output.concat(f"{name}-", self.account.app_id),
            acl="private",
            versioning_enable=True,
            encryption_algorithm="AES256" if kms_key is None else "KMS",
            kms_id=kms_key,
            force_clean=self.force_destroy,
            lifecycle_rules=self._lifecycle(),
            replica_role=None if replica is None else self._copier(),
            replica_rules=None if replica is None else [self._copy(replica)],
            tags={**self.tags, ROLE_TAG: part},
            # It is called after its component; a component that is renamed keeps its bucket and what is in it.
            opts=ResourceOptions.merge(opts, ResourceOptions(protect=self.protect, ignore_changes=["bucket"])),
        )
        tencentcloud.cos.BucketPolicy(
            f"{name}-tls", bucket=bucket.id, policy=self._https_only(region, bucket), opts=opts
        )
        return bucket

    def _lifecycle(self) -> Sequence[tencentcloud.cos.BucketLifecycleRuleArgs]:
        rule = tencentcloud.cos.BucketLifecycleRuleArgs
        return [
            *(_prefix_rule(prefix) for prefix in self.plan.prefixes),
            rule(
                id="expire-old-versions",
                filter_prefix=EVERYTHING,
                non_current_expiration=tencentcloud.cos.BucketLifecycleRuleNonCurrentExpirationArgs(
                    non_current_days=self.plan.noncurrent_keep_days
                ),
                # What expires in a versioned bucket leaves a marker behind, and the markers would stay for ever.
                expiration=tencentcloud.cos.BucketLifecycleRuleExpirationArgs(delete_marker=True),
            ),
            rule(
                id="abort-uploads",
                filter_prefix=EVERYTHING,
                abort_incomplete_multipart_upload=tencentcloud.cos.BucketLifecycleRuleAbortIncompleteMultipartUploadArgs(
                    days_after_initiation=self.plan.abort_uploads_after_days
                ),
            ),
        ]

    def _copier(self) -> Output[str]:
        return Output.concat("qcs::cam::uin/", self.account.owner_uin, ":uin/", self.account.uin)

    def _copy(self, replica: tencentcloud.cos.Bucket) -> tencentcloud.cos.BucketReplicaRuleArgs:
        return tencentcloud.cos.BucketReplicaRuleArgs(
            id="everything",
            status="Enabled",
            prefix=EVERYTHING,
            destination_bucket=Output.concat(f"qcs::cos:{self.plan.replica_region}::", replica.bucket),
            destination_storage_class=self.plan.replica_storage_class,
        )

    def _https_only(self, region: str, bucket: tencentcloud.cos.Bucket) -> Output[str]:
        """Nobody may do anything over plain HTTP.

        Source: COS docs, "Descriptions and Use Cases of Condition Keys" (https://www.tencentcloud.com/document/product/
        436/46206), denying all non-HTTPS requests
        """
        return Output.json_dumps(
            {
                "version": "2.0",
                "statement": [
                    {
                        "principal": {"qcs": ["qcs::cam::anyone:anyone"]},
                        "effect": "deny",
                        "action": ["*"],
                        "resource": [Output.concat(bucket_resource(region, bucket.bucket, self.account.app_id), "/*")],
                        "condition": {"bool_equal": {"cos:secure-transport": "false"}},
                    }
                ],
            }
        )


def _prefix_rule(prefix: PrefixPlan) -> tencentcloud.cos.BucketLifecycleRuleArgs:
    return tencentcloud.cos.BucketLifecycleRuleArgs(
        id=f"expire-{prefix.prefix}",
        filter_prefix=f"{prefix.prefix}/",
        transitions=[
            tencentcloud.cos.BucketLifecycleRuleTransitionArgs(days=step.after_days, storage_class=step.storage_class)
            for step in prefix.transitions
        ]
        or None,
        expiration=tencentcloud.cos.BucketLifecycleRuleExpirationArgs(days=prefix.keep_days),
    )
