"""Buckets of OSS, each with the resources that set what the bucket itself does not."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard_policy.facts.alicloud_places import CLOUD, region_of
from gpuyard_policy.facts.alicloud_policies import is_for_everybody, refuses_plain_http, statements_of
from gpuyard_policy.facts.among import Among, linked
from gpuyard_policy.facts.model import Record, StorageFact, Unknown
from gpuyard_policy.facts.reading import as_list, as_tags, first_unknown, items_of, read

BUCKET = "alicloud:oss/bucket:Bucket"
ACL = "alicloud:oss/bucketAcl:BucketAcl"
BLOCK = "alicloud:oss/bucketPublicAccessBlock:BucketPublicAccessBlock"
ACCOUNT_BLOCK = "alicloud:oss/accountPublicAccessBlock:AccountPublicAccessBlock"
ENCRYPTION = "alicloud:oss/bucketServerSideEncryption:BucketServerSideEncryption"
POLICY = "alicloud:oss/bucketPolicy:BucketPolicy"
REPLICATION = "alicloud:oss/bucketReplication:BucketReplication"
REPLICA_TAG = ("gpuyard:role", "replica")
_PUBLIC = ("public-read", "public-read-write")
_ENDS = ("expirations", "noncurrentVersionExpirations", "abortMultipartUploads")


def buckets(record: Record, among: Among) -> Iterable[StorageFact]:
    """The bucket that a resource is, if it is one."""
    if record.type != BUCKET:
        return
    tags = as_tags(record.props.get("tags"))
    yield StorageFact(
        urn=record.urn,
        name=record.name,
        cloud=CLOUD,
        kind="bucket",
        region=region_of(record, among),
        is_replica=_is_replica(record, tags, among),
        tags=tags,
        encrypted=_is_encrypted(record, among),
        protected=record.protect,
        zone=None,
        parallel=False,
        scratch=False,
        throughput_mb_per_s=None,
        exports=False,
        public=_is_public(record, among),
        https_only=_is_https_only(record, among),
        expires=_expires(record),
    )


def _is_encrypted(bucket: Record, among: Among) -> bool | Unknown:
    """Whether new objects are encrypted: by the bucket's own rule or by a resource beside it, never without a word.

    Source: https://www.alibabacloud.com/help/doc-detail/117914.html
    """
    own = bucket.props.get("serverSideEncryptionRule")
    beside = [one.props.get("sseAlgorithm") for one in linked(bucket, "bucket", among, ENCRYPTION)]
    algorithms = [own, read(own, "sseAlgorithm"), *beside]
    return any(isinstance(one, str) and one for one in algorithms) or first_unknown(*algorithms) or False


def _is_replica(bucket: Record, tags: Mapping[str, Any] | Unknown, among: Among) -> bool | Unknown:
    if read(tags, REPLICA_TAG[0]) == REPLICA_TAG[1]:
        return True
    targets = among.once("targets of OSS replications", lambda: _replication_targets(among))
    names = (bucket.urn, bucket.props.get("bucket"), bucket.props.get("id"))
    if any(isinstance(name, str) and name in targets for name in names):
        return True
    return first_unknown(tags, read(tags, REPLICA_TAG[0])) or False


def _replication_targets(among: Among) -> set[str]:
    """URNs and names of all buckets that something is replicated to."""
    found: set[str] = set()
    for one in among.of_type(REPLICATION):
        found.update(one.depends_on.get("destination", ()))
        name = read(one.props.get("destination"), "bucket")
        found.update([name] if isinstance(name, str) else [])
    return found


def _is_public(bucket: Record, among: Among) -> bool | Unknown:
    """Whether an ACL or a policy opens the bucket to everybody and nothing blocks that; without a word it is private.

    Source: https://www.alibabacloud.com/help/en/oss/user-guide/oss-bucket-policy/
    """
    acls = [one.props.get("acl") for one in linked(bucket, "bucket", among, ACL)] or [bucket.props.get("acl")]
    statements = [statements_of(document) for document in _policies(bucket, among)]
    opened = [
        *(acl if isinstance(acl, Unknown) else acl in _PUBLIC for acl in acls),
        *(is_for_everybody(one) for several in statements for one in items_of(several)),
        *(several for several in statements if isinstance(several, Unknown)),
    ]
    if not any(opened):
        return False
    blocks = [*linked(bucket, "bucket", among, BLOCK), *among.of_type(ACCOUNT_BLOCK)]
    flags = [block.props.get("blockPublicAccess") for block in blocks]
    if True in flags:
        return False
    return first_unknown(*flags) or True in opened or first_unknown(*opened) or False


def _is_https_only(bucket: Record, among: Among) -> bool | Unknown:
    """Whether a policy refuses plain HTTP; the versions of TLS that a bucket takes say nothing of it.

    Source: PyPI pulumi_alicloud 4.0.0, docstring of oss.BucketHttpsConfig, enable
    """
    found = [statements_of(document) for document in _policies(bucket, among)]
    statements = [one for several in found for one in items_of(several)]
    if any(refuses_plain_http(one) for one in statements):
        return True
    return first_unknown(*found, *statements) or False


def _policies(bucket: Record, among: Among) -> list[Any]:
    return [bucket.props.get("policy"), *(one.props.get("policy") for one in linked(bucket, "bucket", among, POLICY))]


def _expires(bucket: Record) -> bool | Unknown:
    """Whether one rule that is switched on ends something: one is enough, a disabled one counts for nothing."""
    rules = as_list(bucket.props.get("lifecycleRules"))
    verdicts = [_ends(rule) for rule in items_of(rules)]
    return True in verdicts or first_unknown(rules, *verdicts) or False


def _ends(rule: Any) -> bool | Unknown:
    enabled, ends = read(rule, "enabled"), [read(rule, key) for key in _ENDS]
    if enabled is False:
        return False
    told = any(end and not isinstance(end, Unknown) for end in ends)
    return first_unknown(rule, enabled) or told or first_unknown(*ends) or False
