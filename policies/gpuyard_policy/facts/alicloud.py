"""Facts of Alibaba Cloud resources: of raw ones as well as of gpuyard's own."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard_policy.facts.alicloud_file_systems import FILE_SYSTEM, file_system
from gpuyard_policy.facts.alicloud_places import CLOUD, region_of
from gpuyard_policy.facts.alicloud_pools import (
    ATTACHMENT,
    SCHEDULES,
    SECURITY_GROUP,
    disk_type_of,
    node_pools,
    policies_of,
)
from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import (
    AlarmFact,
    CopyFact,
    DiskFact,
    IngressFact,
    Record,
    RoleFact,
    SecurityGroupFact,
    SnapshotScheduleFact,
    StorageFact,
    TaggedFact,
    Unknown,
)
from gpuyard_policy.facts.reading import as_list, as_number, as_tags, as_text, items_of, parsed, read

DISKS = ("alicloud:ecs/ecsDisk:EcsDisk", "alicloud:ecs/disk:Disk")
BUCKET = "alicloud:oss/bucket:Bucket"
BUCKET_ACL = "alicloud:oss/bucketAcl:BucketAcl"
BUCKET_BLOCK = "alicloud:oss/bucketPublicAccessBlock:BucketPublicAccessBlock"
BUCKET_POLICY = "alicloud:oss/bucketPolicy:BucketPolicy"
REPLICATION = "alicloud:oss/bucketReplication:BucketReplication"
RULE = "alicloud:ecs/securityGroupRule:SecurityGroupRule"
ALARM = "alicloud:cms/alarm:Alarm"
TEMPLATE = "alicloud:cms/metricRuleTemplate:MetricRuleTemplate"
RAM_POLICY = "alicloud:ram/policy:Policy"
REPLICA_TAG = ("gpuyard:role", "replica")
_FOR_EVER = -1
_PUBLIC = ("public-read", "public-read-write")
_NORMAL = "normal"


def storage(record: Record, among: Among) -> Iterable[StorageFact]:
    """The file system or bucket that a resource is, if it is one."""
    if record.type == FILE_SYSTEM:
        yield file_system(record, among)
    elif record.type == BUCKET:
        yield _bucket(record, among)


def disks(record: Record, among: Among) -> Iterable[DiskFact]:
    """The disk by itself that a resource is, if it is one."""
    if record.type in DISKS:
        attachments = among.users_of(record.urn, ATTACHMENT)
        encrypted = record.props.get("encrypted")
        yield DiskFact(
            urn=record.urn,
            name=record.name,
            cloud=CLOUD,
            role="data",
            disk_type=disk_type_of(record.props),
            size_gib=as_number(record.props.get("size")),
            iops=as_number(record.props.get("provisionedIops")),
            throughput_mb_per_s=None,
            encrypted=encrypted if isinstance(encrypted, Unknown) else encrypted is True,
            tags=as_tags(record.props.get("tags")),
            schedules=tuple(policy.urn for one in attachments for policy in policies_of(one, among)),
        )


def schedules(record: Record, among: Among) -> Iterable[SnapshotScheduleFact]:
    """The schedule of snapshots that a resource is, if it is one."""
    if record.type not in SCHEDULES:
        return
    props = record.props
    attached = [one for one in among.users_of(record.urn) if one.type != ATTACHMENT]
    for one in among.users_of(record.urn, ATTACHMENT):
        attached += [among[urn] for urn in one.depends_on.get("diskId", ()) if urn in among]
    yield SnapshotScheduleFact(
        urn=record.urn,
        name=record.name,
        cloud=CLOUD,
        region=region_of(record, among),
        enabled=True,
        target_tags=None,
        attached=tuple(dict.fromkeys(one.urn for one in attached)),
        keep_days=_days(props.get("retentionDays")),
        keep_count=None,
        copies=_copies(props),
    )


def security_groups(record: Record, among: Among) -> Iterable[SecurityGroupFact | IngressFact]:
    """Whether a group's members reach each other, and what a rule lets in from addresses."""
    if record.type == SECURITY_GROUP:
        kind, inner = record.props.get("securityGroupType"), record.props.get("innerAccessPolicy")
        unknown = next((value for value in (kind, inner) if isinstance(value, Unknown)), None)
        # A normal group joins its members and lets everything out until it is told otherwise.
        normal = unknown or kind in (None, _NORMAL)
        inside = unknown or (inner or ("Accept" if normal else "Drop")) == "Accept"
        yield SecurityGroupFact(record.urn, record.name, CLOUD, inside, normal)
    elif record.type == RULE and record.props.get("type") == "ingress" and record.props.get("policy") != "drop":
        cidr = as_text(record.props.get("cidrIp") or record.props.get("ipv6CidrIp"))
        if cidr is not None:
            protocol = as_text(record.props.get("ipProtocol")) or "all"
            yield IngressFact(
                record.urn, record.name, CLOUD, _group_of(record, among), cidr, _ports(record.props), protocol
            )


def roles(record: Record, among: Among) -> Iterable[RoleFact]:
    """Rights that a policy gives by a bare wildcard."""
    if record.type == RAM_POLICY:
        document = parsed(record.props.get("policyDocument") or record.props.get("document"))
        if isinstance(document, Unknown):
            yield RoleFact(record.urn, record.name, CLOUD, document)
            return
        found: list[str] = []
        for statement in items_of(read(document, "Statement")):
            if read(statement, "Effect") != "Allow":
                continue
            actions = [action for action in items_of(read(statement, "Action")) if isinstance(action, str)]
            found += [action for action in actions if action == "*" or action.endswith(":*")]
            if "*" in items_of(read(statement, "Resource")):
                found.append("*")
        yield RoleFact(record.urn, record.name, CLOUD, tuple(dict.fromkeys(found)))


def alarms(record: Record, among: Among) -> Iterable[AlarmFact]:
    """The alarm, or template of alarms, that a resource is; those of Auto Scaling change sizes and tell nobody."""
    if record.type not in (ALARM, TEMPLATE):
        return
    rules = as_list(record.props.get("alertTemplates"))
    if isinstance(rules, Unknown):
        yield AlarmFact(record.urn, record.name, CLOUD, rules)
        return
    metrics = [as_text(record.props.get("metric")), *(as_text(read(rule, "metricName")) for rule in rules)]
    unknown = next((metric for metric in metrics if isinstance(metric, Unknown)), None)
    watches = any("gpu" in metric.lower() for metric in metrics if isinstance(metric, str))
    yield AlarmFact(record.urn, record.name, CLOUD, watches or unknown or False)


def tagged(record: Record, among: Among) -> Iterable[TaggedFact]:
    """A resource that has tags."""
    if record.props.get("tags") is not None:
        yield TaggedFact(record.urn, record.name, CLOUD, as_tags(record.props.get("tags")))


READERS = (node_pools, storage, disks, schedules, security_groups, roles, alarms, tagged)


def _bucket(record: Record, among: Among) -> StorageFact:
    props = record.props
    tags = as_tags(props.get("tags"))
    algorithm = read(props.get("serverSideEncryptionRule"), "sseAlgorithm")
    rules = as_list(props.get("lifecycleRules"))
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
        public=_is_public(record, among),
        https_only=_https_only(record, among),
        expires=rules if isinstance(rules, Unknown) else any(_expires(rule) for rule in rules),
    )


def _expires(rule: Any) -> bool:
    keys = ("expirations", "noncurrentVersionExpirations", "abortMultipartUploads")
    return read(rule, "enabled") is not False and any(read(rule, key) for key in keys)


def _is_replica(record: Record, tags: Mapping[str, Any] | Unknown, among: Among) -> bool:
    if read(tags, REPLICA_TAG[0]) == REPLICA_TAG[1]:
        return True
    own = record.props.get("bucket")
    return any(
        record.urn in one.depends_on.get("destination", ())
        or (isinstance(own, str) and read(one.props.get("destination"), "bucket") == own)
        for one in among.of_type(REPLICATION)
    )


def _is_public(record: Record, among: Among) -> bool | Unknown:
    if any(one.props.get("blockPublicAccess") is True for one in among.users_of(record.urn, BUCKET_BLOCK)):
        return False
    own = [one.props.get("acl") for one in among.users_of(record.urn, BUCKET_ACL)] or [record.props.get("acl")]
    unknown = next((acl for acl in own if isinstance(acl, Unknown)), None)
    return unknown or any(acl in _PUBLIC for acl in own)


def _https_only(record: Record, among: Among) -> bool | Unknown:
    policies = [one.props.get("policy") for one in among.users_of(record.urn, BUCKET_POLICY)]
    for text in [*policies, record.props.get("policy")]:
        document = parsed(text)
        if isinstance(document, Unknown):
            return document
        for statement in items_of(read(document, "Statement")):
            secure = items_of(read(statement, "Condition", "Bool", "acs:SecureTransport"))
            if read(statement, "Effect") == "Deny" and "false" in secure:
                return True
    return False


def _days(value: Any) -> int | None | Unknown:
    days = as_number(value)
    return None if days == _FOR_EVER else days


def _copies(props: Mapping[str, Any]) -> tuple[CopyFact, ...] | Unknown:
    enabled = props.get("enableCrossRegionCopy")
    if isinstance(enabled, Unknown):
        return enabled
    regions = as_list(props.get("targetCopyRegions"))
    if isinstance(regions, Unknown):
        return regions
    encrypted = read(props.get("copyEncryptionConfiguration"), "encrypted")
    keep = _days(props.get("copiedSnapshotsRetentionDays"))
    return tuple(
        CopyFact(region, encrypted if isinstance(encrypted, Unknown) else encrypted is True, keep)
        for region in regions
        if enabled is True
    )


def _group_of(rule: Record, among: Among) -> str | Unknown:
    named = as_text(rule.props.get("securityGroupId"))
    found = among.behind(rule, "securityGroupId", SECURITY_GROUP) or among.called(named, SECURITY_GROUP)
    if found:
        return found[0].urn
    return Unknown("it names no security group") if named is None else named


def _ports(props: Mapping[str, Any]) -> tuple[int, int] | None | Unknown:
    text = as_text(props.get("portRange"))
    if text is None or isinstance(text, Unknown):
        return text
    first, _, last = text.partition("/")
    if not (first.isdigit() and last.isdigit()):
        return None
    return int(first), int(last)
