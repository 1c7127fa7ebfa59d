"""Buckets of S3, each with the resources that set what the bucket itself does not."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard_policy.facts.among import Among, linked
from gpuyard_policy.facts.aws_places import CLOUD, region_of, tags_of
from gpuyard_policy.facts.aws_policies import is_for_everybody, refuses_plain_http, statements_of
from gpuyard_policy.facts.model import Record, StorageFact, Unknown
from gpuyard_policy.facts.reading import as_list, first_unknown, items_of, read

BUCKETS = ("aws:s3/bucket:Bucket", "aws:s3/bucketV2:BucketV2")
ACLS = ("aws:s3/bucketAcl:BucketAcl", "aws:s3/bucketAclV2:BucketAclV2")
POLICY = "aws:s3/bucketPolicy:BucketPolicy"
BLOCK = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
ACCOUNT_BLOCK = "aws:s3/accountPublicAccessBlock:AccountPublicAccessBlock"
OWNERSHIP = "aws:s3/bucketOwnershipControls:BucketOwnershipControls"
LIFECYCLES = (
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
    "aws:s3/bucketLifecycleConfigurationV2:BucketLifecycleConfigurationV2",
)
REPLICATIONS = (
    "aws:s3/bucketReplicationConfig:BucketReplicationConfig",
    "aws:s3/bucketReplicationConfiguration:BucketReplicationConfiguration",
)
REPLICA_TAG = ("gpuyard:role", "replica")
_PUBLIC_ACLS = ("public-read", "public-read-write", "authenticated-read")
_PUBLIC_GROUPS = (
    "http://acs.amazonaws.com/groups/global/AllUsers",
    "http://acs.amazonaws.com/groups/global/AuthenticatedUsers",
)
_ENDS = (
    "expiration",
    "noncurrentVersionExpiration",
    "noncurrentVersionExpirations",
    "abortIncompleteMultipartUpload",
    "abortIncompleteMultipartUploadDays",
)


def buckets(record: Record, among: Among) -> Iterable[StorageFact]:
    """The bucket that a resource is, if it is one."""
    if record.type not in BUCKETS:
        return
    tags = tags_of(record)
    yield StorageFact(
        urn=record.urn,
        name=record.name,
        cloud=CLOUD,
        kind="bucket",
        region=region_of(record, among),
        is_replica=_is_replica(record, tags, among),
        tags=tags,
        # S3 encrypts every new object since 5 January 2023, and nothing can switch that off.
        # Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/default-encryption-faq.html
        encrypted=True,
        protected=record.protect,
        zone=None,
        parallel=False,
        scratch=False,
        throughput_mb_per_s=None,
        exports=False,
        public=_is_public(record, among),
        https_only=_is_https_only(record, among),
        expires=_expires(record, among),
    )


def _is_replica(bucket: Record, tags: Mapping[str, Any] | Unknown, among: Among) -> bool | Unknown:
    if read(tags, REPLICA_TAG[0]) == REPLICA_TAG[1]:
        return True
    targets = among.once("targets of S3 replications", lambda: _replication_targets(among))
    names = (bucket.urn, bucket.props.get("bucket"), _name_in(bucket.props.get("arn")), bucket.props.get("id"))
    return any(isinstance(name, str) and name in targets for name in names)


def _replication_targets(among: Among) -> set[str]:
    """URNs and names of all buckets that something is replicated to."""
    found: set[str] = set()
    for other in among.of_type(*REPLICATIONS, *BUCKETS):
        if other.type in BUCKETS:
            key, own = "replicationConfiguration", {other.urn}
            rules = read(other.props.get(key), "rules")
        else:
            key, own = "rules", set(other.depends_on.get("bucket", ()))
            rules = other.props.get("rules") or other.props.get("rule")
        found.update(urn for urn in other.depends_on.get(key, ()) if urn not in own)
        named = (_name_in(read(rule, "destination", "bucket")) for rule in items_of(rules))
        found.update(name for name in named if name)
    return found


def _name_in(arn: Any) -> str | None:
    """The bucket that an ARN names, in any partition."""
    return arn.rsplit(":", 1)[-1] if isinstance(arn, str) and arn.startswith("arn:") else None


def _is_public(bucket: Record, among: Among) -> bool | Unknown:
    """Whether an ACL or a policy opens the bucket to everybody and nothing blocks that."""
    blocks = [*linked(bucket, "bucket", among, BLOCK), *among.of_type(ACCOUNT_BLOCK)]
    by_acl = _opened_by_acl(bucket, among)
    by_policy = _opened_by_policy(bucket, among)
    without_acls = [
        read(one.props.get("rule"), "objectOwnership") == "BucketOwnerEnforced"
        for one in linked(bucket, "bucket", among, OWNERSHIP)
    ]
    left: list[Any] = [
        False if True in without_acls else _unless_blocked(by_acl, blocks, ("ignorePublicAcls", "blockPublicAcls")),
        _unless_blocked(by_policy, blocks, ("restrictPublicBuckets", "blockPublicPolicy")),
    ]
    return True if True in left else first_unknown(*left) or False


def _unless_blocked(opened: bool | Unknown, blocks: list[Record], keys: tuple[str, ...]) -> bool | Unknown:
    if opened is False:
        return False
    flags = [block.props.get(key) for block in blocks for key in keys]
    return False if True in flags else first_unknown(*flags) or opened


def _opened_by_acl(bucket: Record, among: Among) -> bool | Unknown:
    own = linked(bucket, "bucket", among, *ACLS)
    acls = [bucket.props.get("acl"), *(one.props.get("acl") for one in own)]
    grants = [*items_of(bucket.props.get("grants"))]
    for one in own:
        grants += items_of(read(one.props.get("accessControlPolicy"), "grants"))
    groups = [read(grant, "uri") or read(grant, "grantee", "uri") for grant in grants]
    if any(acl in _PUBLIC_ACLS for acl in acls) or any(group in _PUBLIC_GROUPS for group in groups):
        return True
    return first_unknown(*acls, *groups) or False


def _policies(bucket: Record, among: Among) -> list[Any]:
    return [bucket.props.get("policy"), *(one.props.get("policy") for one in linked(bucket, "bucket", among, POLICY))]


def _opened_by_policy(bucket: Record, among: Among) -> bool | Unknown:
    verdicts: list[Any] = []
    for document in _policies(bucket, among):
        statements = statements_of(document)
        verdicts += [statements] if isinstance(statements, Unknown) else [is_for_everybody(one) for one in statements]
    return True if True in verdicts else first_unknown(*verdicts) or False


def _is_https_only(bucket: Record, among: Among) -> bool | Unknown:
    found = [statements_of(document) for document in _policies(bucket, among)]
    if any(refuses_plain_http(one) for statements in found for one in items_of(statements)):
        return True
    return first_unknown(*found, *(one for statements in found for one in items_of(statements))) or False


def _expires(bucket: Record, among: Among) -> bool | Unknown:
    """Whether one rule that is switched on ends something: one is enough, a disabled one counts for nothing."""
    configured = linked(bucket, "bucket", among, *LIFECYCLES)
    lists = [as_list(bucket.props.get("lifecycleRules")), *(as_list(one.props.get("rules")) for one in configured)]
    verdicts = [_ends(rule) for rules in lists for rule in items_of(rules)]
    return True if True in verdicts else first_unknown(*lists, *verdicts) or False


def _ends(rule: Any) -> bool | Unknown:
    on = read(rule, "status") == "Enabled" or read(rule, "enabled") is True
    ends = [read(rule, key) for key in _ENDS]
    unknown = first_unknown(rule, read(rule, "status"), read(rule, "enabled"))
    if not on:
        return unknown or False
    if any(end is not None and not isinstance(end, Unknown) for end in ends):
        return True
    return first_unknown(*ends) or False
