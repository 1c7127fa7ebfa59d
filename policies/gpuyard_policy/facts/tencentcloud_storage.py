"""File systems and buckets of Tencent Cloud, each bucket with the policies that say what the bucket itself does not."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard.catalog.file_stores import parallel_file_systems
from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import Record, StorageFact, Unknown
from gpuyard_policy.facts.reading import as_list, as_number, as_tags, as_text, first_unknown, items_of, read
from gpuyard_policy.facts.tencentcloud_places import CLOUD, region_of, zones_of
from gpuyard_policy.facts.tencentcloud_policies import element, statements_of

DISK = "tencentcloud:Cbs/storage:Storage"
FILE_SYSTEM = "tencentcloud:Cfs/fileSystem:FileSystem"
BUCKET = "tencentcloud:Cos/bucket:Bucket"
BUCKET_POLICY = "tencentcloud:Cos/bucketPolicy:BucketPolicy"
REPLICA_TAG = ("gpuyard:role", "replica")
_TURBO = ("TB", "TP", "THP")
_EXPIRING = ("expiration", "nonCurrentExpiration", "abortIncompleteMultipartUpload")
# What a statement must say to deny everybody everything in the whole bucket that comes without TLS.
_DENY, _INSECURE = re.compile("deny", re.IGNORECASE), re.compile("false", re.IGNORECASE)
_ALLOW = re.compile("allow", re.IGNORECASE)
# Grants to everybody, and to everybody who has an account.
_TO_A_GROUP = re.compile(r"groups/global/(All|Authenticated)Users")
_EVERYBODY = re.compile(r"\*|qcs::cam::anyone:anyone")
_EVERYTHING = re.compile(r"\*|(?:name/)?cos:\*")
_WHOLE = re.compile(r"(?:.*:)?(?:[^/:]*/)?\*")


def storage(record: Record, among: Among) -> Iterable[StorageFact]:
    """The file system or bucket that a resource is, if it is one."""
    if record.type == FILE_SYSTEM:
        yield _file_system(record, among)
    elif record.type == BUCKET:
        yield _bucket(record, among)


def _file_system(record: Record, among: Among) -> StorageFact:
    zones = zones_of(record, among)
    kind = as_text(record.props.get("storageType"))
    return StorageFact(
        urn=record.urn,
        name=record.name,
        cloud=CLOUD,
        kind="file system",
        region=region_of(record, among),
        is_replica=False,
        tags=as_tags(record.props.get("tags")),
        encrypted=Unknown("the provider cannot ask for encryption of a file system: the cloud decides"),
        protected=record.protect,
        zone=zones if isinstance(zones, Unknown) else next(iter(zones), None),
        parallel=kind if isinstance(kind, Unknown) else kind in _TURBO,
        scratch=False,
        throughput_mb_per_s=_throughput(kind, as_number(record.props.get("capacity"))),
        exports=False,
    )


def _throughput(kind: str | None | Unknown, capacity_gib: int | None | Unknown) -> float | None | Unknown:
    """Throughput of CFS Turbo by its kind and capacity; the other kinds promise none that is bought.

    Source: gpuyard.catalog.parallel_file_systems
    """
    if isinstance(kind, Unknown) or kind not in _TURBO:
        return kind if isinstance(kind, Unknown) else None
    if isinstance(capacity_gib, Unknown):
        return capacity_gib
    if capacity_gib is None:
        return Unknown("it names no capacity, which CFS Turbo needs")
    row = parallel_file_systems(CLOUD).get(f"TURBO {kind}")
    known = None if row is None else row.throughput_mb_per_s(capacity_gib)
    return Unknown(f"the catalog does not tell the throughput of CFS Turbo {kind}") if known is None else known


def _bucket(record: Record, among: Among) -> StorageFact:
    props = record.props
    tags = as_tags(props.get("tags"))
    algorithm = props.get("encryptionAlgorithm")
    return StorageFact(
        urn=record.urn,
        name=record.name,
        cloud=CLOUD,
        kind="bucket",
        region=region_of(record, among),
        is_replica=_is_replica(record, tags, among),
        tags=tags,
        encrypted=algorithm if isinstance(algorithm, Unknown) else algorithm is not None,
        protected=record.protect,
        zone=None,
        parallel=False,
        scratch=False,
        throughput_mb_per_s=None,
        exports=False,
        public=_is_public(record, among),
        https_only=_is_https_only(record, among),
        expires=_expires(as_list(props.get("lifecycleRules"))),
    )


def _expires(rules: list[Any] | Unknown) -> bool | Unknown:
    if isinstance(rules, Unknown):
        return rules
    ends = [read(rule, key) for rule in rules for key in _EXPIRING]
    return True if any(_is_given(end) for end in ends) else first_unknown(*rules, *ends) or False


def _is_given(value: Any) -> bool:
    return value is not None and not isinstance(value, Unknown)


def _is_public(bucket: Record, among: Among) -> bool | Unknown:
    """Whether an ACL or a policy opens the bucket to everybody; a list of grants takes the place of a canned ACL.

    Source: PyPI tencentcloud_iac_pulumi 0.2.3, docstring of cos.Bucket (acl, aclBody);
    https://www.tencentcloud.com/document/product/436/12470 (preset user groups)
    """
    grants, acl = as_text(bucket.props.get("aclBody")), bucket.props.get("acl")
    by_acl: Any = first_unknown(grants, acl)
    if isinstance(grants, str):
        by_acl = _TO_A_GROUP.search(grants) is not None
    elif by_acl is None:
        by_acl = acl not in (None, "private")
    found = [statements_of(one.props.get("policy")) for one in _policies_of(bucket, among)]
    answers = [by_acl, *(_opens(one) for statements in found for one in items_of(statements))]
    return True if True in answers else first_unknown(*answers, *found) or False


def _opens(statement: Any) -> bool | Unknown:
    """Whether a statement allows something to everybody, with no condition that narrows it."""
    condition = element(statement, "condition")
    answers = (
        _any_is(element(statement, "effect"), _ALLOW),
        condition if isinstance(condition, Unknown) else not condition,
        _any_is(_principal(statement), _EVERYBODY),
    )
    return False if False in answers else first_unknown(*answers) or True


def _is_replica(bucket: Record, tags: Mapping[str, Any] | Unknown, among: Among) -> bool:
    if read(tags, REPLICA_TAG[0]) == REPLICA_TAG[1]:
        return True
    name = bucket.props.get("bucket")
    for other in among.of_type(BUCKET):
        if other.urn == bucket.urn:
            continue
        if bucket.urn in other.depends_on.get("replicaRules", ()):
            return True
        rules = as_list(other.props.get("replicaRules"))
        targets = [read(rule, "destinationBucket") for rule in ([] if isinstance(rules, Unknown) else rules)]
        if isinstance(name, str) and any(isinstance(one, str) and one.endswith(f"::{name}") for one in targets):
            return True
    return False


def _policies_of(bucket: Record, among: Among) -> list[Record]:
    """Policies of a bucket: by where their bucket comes from, or by its name."""
    used = [one for one in among.users_of(bucket.urn, BUCKET_POLICY) if bucket.urn in one.depends_on.get("bucket", ())]
    named = [
        one
        for key in ("bucket", "id")
        for one in among.called(bucket.props.get(key), BUCKET_POLICY)
        if one.props.get("bucket") == bucket.props[key]
    ]
    return list({one.urn: one for one in (*used, *named)}.values())


def _is_https_only(bucket: Record, among: Among) -> bool | Unknown:
    found = [statements_of(one.props.get("policy")) for one in _policies_of(bucket, among)]
    verdicts = [_refuses_plain_http(one) for statements in found for one in items_of(statements)]
    return True if True in verdicts else first_unknown(*found, *verdicts) or False


def _refuses_plain_http(statement: Any) -> bool | Unknown:
    """Whether a statement denies everybody all that comes without TLS; one that denies a part leaves the rest open.

    Source: https://www.tencentcloud.com/document/product/436/46206, denying all non-HTTPS requests
    """
    answers = (
        _any_is(element(statement, "effect"), _DENY),
        _any_is(read(element(statement, "condition"), "bool_equal", "cos:secure-transport"), _INSECURE),
        _any_is(_principal(statement), _EVERYBODY),
        _any_is(element(statement, "action"), _EVERYTHING),
        _any_is(element(statement, "resource"), _WHOLE),
    )
    return False if False in answers else first_unknown(*answers) or True


def _principal(statement: Any) -> Any:
    principal = element(statement, "principal")
    return principal if isinstance(principal, str) else read(principal, "qcs")


def _any_is(values: Any, wanted: re.Pattern[str]) -> bool | Unknown:
    """Whether one of some values is what is wanted; yes and no count as the texts that stand for them."""
    items = [str(item) if isinstance(item, bool) else item for item in items_of(values)]
    fits = any(isinstance(item, str) and wanted.fullmatch(item) for item in items)
    return True if fits else first_unknown(values, *items) or False
