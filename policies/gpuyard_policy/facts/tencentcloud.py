"""Facts of Tencent Cloud resources: of raw ones as well as of gpuyard's own."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import (
    DiskFact,
    IngressFact,
    Record,
    SecurityGroupFact,
    SnapshotScheduleFact,
    Unknown,
)
from gpuyard_policy.facts.reading import as_list, as_number, as_tags, as_text, read
from gpuyard_policy.facts.tencentcloud_access import roles
from gpuyard_policy.facts.tencentcloud_costs import services, tagged
from gpuyard_policy.facts.tencentcloud_operations import alarms
from gpuyard_policy.facts.tencentcloud_places import CLOUD, region_of
from gpuyard_policy.facts.tencentcloud_pools import SECURITY_GROUP, node_pools
from gpuyard_policy.facts.tencentcloud_storage import DISK, storage

SCHEDULE = "tencentcloud:Cbs/snapshotPolicy:SnapshotPolicy"
ATTACHMENT = "tencentcloud:Cbs/snapshotPolicyAttachment:SnapshotPolicyAttachment"
RULE_SET = "tencentcloud:Security/groupRuleSet:GroupRuleSet"
LITE_RULE = "tencentcloud:Security/groupLiteRule:GroupLiteRule"
# Source: PyPI tencentcloud_iac_pulumi 0.2.3, module cbs, has no resource for it; what the API has is in
# github tencentcloudstack/terraform-provider-tencentcloud, cbs_copy_snapshot_cross_region.
NO_COPIES = Unknown("the provider cannot copy snapshots to another region: it has no resource for that")


def disks(record: Record, among: Among) -> Iterable[DiskFact]:
    """The disk by itself that a resource is, if it is one."""
    if record.type == DISK:
        props = record.props
        yield DiskFact(
            urn=record.urn,
            name=record.name,
            cloud=CLOUD,
            role="data",
            disk_type=as_text(props.get("storageType")),
            size_gib=as_number(props.get("storageSize")),
            iops=None,
            throughput_mb_per_s=as_number(props.get("throughputPerformance")),
            encrypted=props["encrypt"] if isinstance(props.get("encrypt"), Unknown) else props.get("encrypt") is True,
            tags=as_tags(props.get("tags")),
            schedules=_schedules_of(record, among),
        )


def schedules(record: Record, among: Among) -> Iterable[SnapshotScheduleFact]:
    """The schedule of snapshots that a resource is, if it is one."""
    if record.type == SCHEDULE:
        yield SnapshotScheduleFact(
            urn=record.urn,
            name=record.name,
            cloud=CLOUD,
            region=region_of(record, among),
            enabled=True,
            target_tags=None,
            attached=_attached(record, among),
            keep_days=as_number(record.props.get("retentionDays", 7)),
            keep_count=None,
            copies=NO_COPIES,
        )


def security_groups(record: Record, among: Among) -> Iterable[SecurityGroupFact | IngressFact]:
    """What a resource lets in from addresses, and whether a group's members reach each other."""
    if record.type not in (RULE_SET, LITE_RULE):
        return
    group = _group_of(record, among)
    rules = {way: list(_rules(record, way)) for way in ("ingresses", "egresses")}
    open_ways = [
        any(_is_all(rule) and _names(rule.get("group"), record, way, among, group) for rule in accepted)
        for way, accepted in rules.items()
    ]
    yield SecurityGroupFact(
        group if isinstance(group, str) and group in among else record.urn,
        record.name,
        CLOUD,
        open_ways[0],
        open_ways[1] or any(_is_all(rule) and rule.get("cidr") == "0.0.0.0/0" for rule in rules["egresses"]),
    )
    for rule in rules["ingresses"]:
        cidr = rule.get("cidr")
        if cidr is not None:
            yield IngressFact(record.urn, record.name, CLOUD, group, cidr, rule["ports"], rule["protocol"])


def _schedules_of(disk: Record, among: Among) -> tuple[str, ...]:
    """Snapshot policies that are attached to a disk, by where the attachment's values come from or by ids."""
    own = disk.props.get("id")
    attachments = list(among.users_of(disk.urn, ATTACHMENT))
    if isinstance(own, str):
        attachments += [
            one
            for one in among.of_type(ATTACHMENT)
            if own == one.props.get("storageId") or own in _plain_list(one.props.get("storageIds"))
        ]
    found: list[str] = []
    for one in attachments:
        found += [policy.urn for policy in among.behind(one, "snapshotPolicyId", SCHEDULE)]
        found += [policy.urn for policy in among.called(one.props.get("snapshotPolicyId"), SCHEDULE)]
    return tuple(dict.fromkeys(found))


def _plain_list(value: Any) -> list[Any]:
    items = as_list(value)
    return [] if isinstance(items, Unknown) else items


def _attached(policy: Record, among: Among) -> tuple[str, ...]:
    """Disks that a policy is attached to: URNs of those in the stack, ids of others."""
    own = policy.props.get("id")
    attachments = list(among.users_of(policy.urn, ATTACHMENT))
    if isinstance(own, str):
        attachments += [one for one in among.of_type(ATTACHMENT) if one.props.get("snapshotPolicyId") == own]
    found: list[str] = []
    for one in attachments:
        for key in ("storageId", "storageIds"):
            behind = [disk.urn for disk in among.behind(one, key, DISK)]
            ids = as_list(one.props.get(key))
            plain = [value for value in ([] if isinstance(ids, Unknown) else ids) if isinstance(value, str)]
            found += behind or [next((disk.urn for disk in among.called(value, DISK)), value) for value in plain]
    return tuple(dict.fromkeys(found))


def _group_of(record: Record, among: Among) -> str | Unknown:
    behind = among.behind(record, "securityGroupId", SECURITY_GROUP)
    if behind:
        return behind[0].urn
    named = as_text(record.props.get("securityGroupId"))
    found = among.called(named, SECURITY_GROUP)
    if found:
        return found[0].urn
    return named if named is not None else Unknown("it names no security group")


def _rules(record: Record, way: str) -> Iterable[dict[str, Any]]:
    """Rules that let something through, from objects or from words joined by ``#``."""
    items = as_list(record.props.get(way))
    for item in [] if isinstance(items, Unknown) else items:
        if isinstance(item, str):
            action, source, port, protocol = (*item.split("#"), "", "", "", "")[:4]
            is_group = source.startswith("sg-")
            found = {"cidr": None if is_group else source, "group": source if is_group else None}
        elif isinstance(item, Unknown):
            yield {"cidr": None, "group": item, "ports": None, "protocol": "all", "all": True}
            continue
        else:
            action, port = read(item, "action"), read(item, "port") or "ALL"
            protocol = read(item, "protocol") or "ALL"
            cidr = read(item, "cidrBlock") or read(item, "ipv6CidrBlock")
            found = {"cidr": cidr, "group": read(item, "sourceSecurityId")}
        if action == "ACCEPT":
            whole = str(port).upper() == "ALL" and str(protocol).upper() == "ALL"
            yield {**found, "ports": _ports(port), "protocol": str(protocol).lower(), "all": whole}


def _ports(port: Any) -> tuple[int, int] | None | Unknown:
    if isinstance(port, Unknown):
        return port
    numbers = [part for part in str(port).replace(",", "-").split("-") if part.isdigit()]
    if not numbers:
        return None
    return min(map(int, numbers)), max(map(int, numbers))


def _is_all(rule: Mapping[str, Any]) -> bool:
    return rule["all"] is True


def _names(source: Any, record: Record, way: str, among: Among, group: str | Unknown) -> bool:
    """Whether a rule's source is the group of the rule itself, by where its value comes from or by its id."""
    if source is None:
        return False
    behind = [one.urn for one in among.behind(record, way, SECURITY_GROUP)]
    if isinstance(source, Unknown):
        return group in behind
    named = [one.urn for one in among.called(source, SECURITY_GROUP)]
    return group in named or source == group


READERS = (node_pools, storage, disks, schedules, security_groups, roles, alarms, services, tagged)
