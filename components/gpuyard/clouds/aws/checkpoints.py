"""Checkpoint stores on AWS: a private, versioned, encrypted S3 bucket and its copy in a second region."""

from collections.abc import Mapping

import pulumi_aws as aws
from pulumi import Input, Output, Resource, ResourceOptions

from gpuyard.clouds.aws.identity import role_for_service
from gpuyard.clouds.built import BuiltBucket
from gpuyard.planning.plans import CHECKPOINT_PREFIX, BucketPlan, PrefixPlan

ROLE_TAG = "gpuyard:role"


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

    Args:
        name: Name in front of every resource.
        plan: What to create.
        tags: Tags on everything.
        parent: The component it belongs to.
        protect: Refuse to delete the buckets.
        force_destroy: Delete a bucket with everything in it; for throw-away environments only.

    Returns:
        Names of the bucket and of its copy.
    """
    builder = _BucketBuilder(name, plan, tags, parent, protect=protect, force_destroy=force_destroy)
    bucket, versioning = builder.bucket("checkpoints", plan.region, plan.kms_key)
    replica = None
    if plan.replica_region is not None:
        replica, replica_versioning = builder.bucket("replica", plan.replica_region, plan.replica_kms_key)
        builder.replicate(bucket, replica, [versioning, replica_versioning])
    return BuiltBucket(
        name=bucket.bucket,
        arn=bucket.arn,
        uri=Output.concat("s3://", bucket.bucket, f"/{CHECKPOINT_PREFIX}"),
        replica_name=None if replica is None else replica.bucket,
    )


class _BucketBuilder:
    def __init__(
        self,
        name: str,
        plan: BucketPlan,
        tags: Mapping[str, str],
        parent: Resource,
        *,
        protect: bool,
        force_destroy: bool,
    ) -> None:
        self.name, self.plan, self.tags, self.parent = name, plan, tags, parent
        self.protect, self.force_destroy = protect, force_destroy

    def bucket(self, part: str, region: str, kms_key: str | None) -> tuple[aws.s3.Bucket, aws.s3.BucketVersioning]:
        """One closed bucket and its versioning."""
        name = f"{self.name}-{part}"
        bucket = aws.s3.Bucket(
            name,
            region=region,
            force_destroy=self.force_destroy,
            tags={**self.tags, ROLE_TAG: part},
            opts=ResourceOptions(parent=self.parent, protect=self.protect),
        )
        opts = ResourceOptions(parent=self.parent)
        aws.s3.BucketOwnershipControls(
            f"{name}-ownership",
            region=region,
            bucket=bucket.id,
            rule=aws.s3.BucketOwnershipControlsRuleArgs(object_ownership="BucketOwnerEnforced"),
            opts=opts,
        )
        closed = aws.s3.BucketPublicAccessBlock(
            f"{name}-private",
            region=region,
            bucket=bucket.id,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=opts,
        )
        aws.s3.BucketServerSideEncryptionConfiguration(
            f"{name}-encryption",
            region=region,
            bucket=bucket.id,
            rules=[
                aws.s3.BucketServerSideEncryptionConfigurationRuleArgs(
                    apply_server_side_encryption_by_default=_encryption(kms_key),
                    bucket_key_enabled=True if kms_key else None,
                )
            ],
            opts=opts,
        )
        versioning = aws.s3.BucketVersioning(
            f"{name}-versioning",
            region=region,
            bucket=bucket.id,
            versioning_configuration=aws.s3.BucketVersioningVersioningConfigurationArgs(status="Enabled"),
            opts=opts,
        )
        self._lifecycle(name, region, bucket, versioning)
        # S3 refuses two changes of a bucket's access at once.
        aws.s3.BucketPolicy(
            f"{name}-tls",
            region=region,
            bucket=bucket.id,
            policy=_tls_only(bucket.arn),
            opts=ResourceOptions.merge(opts, ResourceOptions(depends_on=[closed])),
        )
        return bucket, versioning

    def _lifecycle(self, name: str, region: str, bucket: aws.s3.Bucket, versioning: aws.s3.BucketVersioning) -> None:
        rule = aws.s3.BucketLifecycleConfigurationRuleArgs
        aws.s3.BucketLifecycleConfiguration(
            f"{name}-lifecycle",
            region=region,
            bucket=bucket.id,
            rules=[
                *(_prefix_rule(prefix) for prefix in self.plan.prefixes),
                rule(
                    id="expire-old-versions",
                    status="Enabled",
                    filter=aws.s3.BucketLifecycleConfigurationRuleFilterArgs(prefix=""),
                    noncurrent_version_expiration=aws.s3.BucketLifecycleConfigurationRuleNoncurrentVersionExpirationArgs(
                        noncurrent_days=self.plan.noncurrent_keep_days
                    ),
                    # What expires in a versioned bucket leaves a marker behind, and the markers would stay for ever.
                    expiration=aws.s3.BucketLifecycleConfigurationRuleExpirationArgs(expired_object_delete_marker=True),
                ),
                # A rule of its own: S3 refuses it beside tag or size filters.
                rule(
                    id="abort-uploads",
                    status="Enabled",
                    filter=aws.s3.BucketLifecycleConfigurationRuleFilterArgs(prefix=""),
                    abort_incomplete_multipart_upload=aws.s3.BucketLifecycleConfigurationRuleAbortIncompleteMultipartUploadArgs(
                        days_after_initiation=self.plan.abort_uploads_after_days
                    ),
                ),
            ],
            opts=ResourceOptions(parent=self.parent, depends_on=[versioning]),
        )

    def replicate(self, source: aws.s3.Bucket, target: aws.s3.Bucket, ready: list[Resource]) -> None:
        """Copy every new object of one bucket to the other; both must be versioned first."""
        opts = ResourceOptions(parent=self.parent)
        role = role_for_service(
            f"{self.name}-replication", "s3", self.plan.region, f"Replication of {self.name}", self.tags, opts
        )
        policy = aws.iam.RolePolicy(
            f"{self.name}-replication",
            role=role.name,
            policy=_replication_policy(source.arn, target.arn, self.plan),
            opts=opts,
        )
        criteria = None
        if self.plan.kms_key is not None:
            criteria = aws.s3.BucketReplicationConfigRuleSourceSelectionCriteriaArgs(
                sse_kms_encrypted_objects=aws.s3.BucketReplicationConfigRuleSourceSelectionCriteriaSseKmsEncryptedObjectsArgs(
                    status="Enabled"
                )
            )
        aws.s3.BucketReplicationConfig(
            f"{self.name}-replication",
            region=self.plan.region,
            bucket=source.id,
            role=role.arn,
            rules=[
                aws.s3.BucketReplicationConfigRuleArgs(
                    id="everything",
                    status="Enabled",
                    priority=1,
                    filter=aws.s3.BucketReplicationConfigRuleFilterArgs(prefix=""),
                    delete_marker_replication=aws.s3.BucketReplicationConfigRuleDeleteMarkerReplicationArgs(
                        status="Disabled"
                    ),
                    source_selection_criteria=criteria,
                    destination=aws.s3.BucketReplicationConfigRuleDestinationArgs(
                        bucket=target.arn,
                        storage_class=self.plan.replica_storage_class,
                        encryption_configuration=_copy_encryption(self.plan.replica_kms_key),
                    ),
                )
            ],
            opts=ResourceOptions(parent=self.parent, depends_on=[*ready, policy]),
        )


def _prefix_rule(prefix: PrefixPlan) -> aws.s3.BucketLifecycleConfigurationRuleArgs:
    return aws.s3.BucketLifecycleConfigurationRuleArgs(
        id=f"expire-{prefix.prefix}",
        status="Enabled",
        filter=aws.s3.BucketLifecycleConfigurationRuleFilterArgs(prefix=f"{prefix.prefix}/"),
        transitions=[
            aws.s3.BucketLifecycleConfigurationRuleTransitionArgs(
                days=step.after_days, storage_class=step.storage_class
            )
            for step in prefix.transitions
        ]
        or None,
        expiration=aws.s3.BucketLifecycleConfigurationRuleExpirationArgs(days=prefix.keep_days),
    )


def _encryption(
    kms_key: str | None,
) -> aws.s3.BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultArgs:
    return aws.s3.BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultArgs(
        sse_algorithm="AES256" if kms_key is None else "aws:kms", kms_master_key_id=kms_key
    )


def _copy_encryption(
    kms_key: str | None,
) -> aws.s3.BucketReplicationConfigRuleDestinationEncryptionConfigurationArgs | None:
    if kms_key is None:
        return None
    return aws.s3.BucketReplicationConfigRuleDestinationEncryptionConfigurationArgs(replica_kms_key_id=kms_key)


def _tls_only(bucket_arn: Input[str]) -> Output[str]:
    return Output.json_dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Sid": "RefusePlainHttp",
                    "Effect": "Deny",
                    "Principal": "*",
                    "Action": "s3:*",
                    "Resource": [bucket_arn, Output.concat(bucket_arn, "/*")],
                    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                }
            ],
        }
    )


def _replication_policy(source_arn: Input[str], target_arn: Input[str], plan: BucketPlan) -> Output[str]:
    statements: list[dict[str, object]] = [
        {
            "Effect": "Allow",
            "Action": ["s3:GetReplicationConfiguration", "s3:ListBucket"],
            "Resource": source_arn,
        },
        {
            "Effect": "Allow",
            "Action": [
                "s3:GetObjectVersionForReplication",
                "s3:GetObjectVersionAcl",
                "s3:GetObjectVersionTagging",
            ],
            "Resource": Output.concat(source_arn, "/*"),
        },
        {
            "Effect": "Allow",
            "Action": ["s3:ReplicateObject", "s3:ReplicateDelete", "s3:ReplicateTags"],
            "Resource": Output.concat(target_arn, "/*"),
        },
    ]
    for key, action in ((plan.kms_key, "kms:Decrypt"), (plan.replica_kms_key, "kms:Encrypt")):
        if key is not None:
            statements.append({"Effect": "Allow", "Action": [action], "Resource": key})
    return Output.json_dumps({"Version": "2012-10-17", "Statement": statements})
