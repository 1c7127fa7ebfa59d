"""How machines of Alibaba Cloud are reached: security groups, what their rules let in, addresses, and RDMA."""

from collections.abc import Iterable
from ipaddress import ip_network
from typing import Any

from gpuyard_policy.facts.alicloud_places import CLOUD, named_by
from gpuyard_policy.facts.among import Among, linked
from gpuyard_policy.facts.model import IngressFact, Record, SecurityGroupFact, Unknown
from gpuyard_policy.facts.reading import as_flag, as_list, as_number, as_text, first_unknown, items_of, read

SECURITY_GROUP = "alicloud:ecs/securityGroup:SecurityGroup"
RULE = "alicloud:ecs/securityGroupRule:SecurityGroupRule"
NETWORK = "alicloud:vpc/network:Network"
PREFIX_LIST = "alicloud:ecs/ecsPrefixList:EcsPrefixList"
INTERFACES = (
    "alicloud:ecs/ecsNetworkInterface:EcsNetworkInterface",
    "alicloud:vpc/networkInterface:NetworkInterface",
)
INTERFACE_ATTACHMENTS = (
    "alicloud:ecs/ecsNetworkInterfaceAttachment:EcsNetworkInterfaceAttachment",
    "alicloud:vpc/networkInterfaceAttachment:NetworkInterfaceAttachment",
)
ADDRESS = "alicloud:ecs/eipAssociation:EipAssociation"
NO_INTERFACES = Unknown("a node pool of Kubernetes names no interfaces: ACK's controller for eRDMA switches them on")
OTHER_LIST = Unknown("its prefix list is not in this stack")
_GROUP_KEYS = ("securityGroupIds", "securityGroupId")
_NORMAL, _ACCEPT, _DROP = "normal", "Accept", "drop"
_RDMA_MODE = "HighPerformance"
_ALL_PORTS = (1, 65535)


def security_groups(record: Record, among: Among) -> Iterable[SecurityGroupFact | IngressFact]:
    """Whether a group's members reach each other, and what a rule lets in from addresses."""
    if record.type == SECURITY_GROUP:
        inside, outside = _opens(record, among)
        yield SecurityGroupFact(record.urn, record.name, CLOUD, inside, outside)
    elif record.type == RULE:
        yield from _ingress(record, among)


def groups_of(machine: Record, among: Among) -> tuple[str, ...] | Unknown:
    """The security groups of a machine, of its interfaces too: URNs of those in the stack, ids of others.

    Args:
        machine: What describes the machine, in the words of a machine by itself.
        among: All resources.
    """
    interfaces = as_list(machine.props.get("networkInterfaces"))
    keys = ("securityGroupIds", "networkInterfaces")
    behind = [one for key in keys for one in among.behind(machine, key, SECURITY_GROUP)]
    lists = [machine.props.get("securityGroupIds")]
    lists += [read(one, key) for one in items_of(interfaces) for key in _GROUP_KEYS]
    values = [value for several in lists for value in items_of(several)]
    unknown = None if behind else first_unknown(interfaces, *items_of(interfaces), *lists, *values)
    if unknown is not None:
        return unknown
    found = [group.urn for group in behind]
    for value in values:
        if isinstance(value, str) and value:
            found += [one.urn for one in among.called(value, SECURITY_GROUP)] or [value]
    return tuple(dict.fromkeys(found))


def is_public(machine: Record, among: Among) -> bool | Unknown:
    """Whether a machine gets an address of the internet: with its bandwidth, by an elastic one, or by its node pool."""
    bandwidth, asked = as_number(machine.props.get("internetMaxBandwidthOut")), machine.props.get("allocatePublicIp")
    bound = as_flag(read(machine.props.get("scalingConfig"), "isBondEip"))
    if (isinstance(bandwidth, int) and bandwidth > 0) or asked is True or bound is True:
        return True
    return bool(linked(machine, "instanceId", among, ADDRESS)) or first_unknown(bandwidth, asked, bound) or False


def rdma_interfaces(machine: Record, among: Among) -> int | Unknown:
    """Interfaces that carry RDMA: of a member of an HPC cluster one, else those whose traffic mode says so.

    Source: https://help.aliyun.com/en/ecs/user-guide/elastic-rdma-network-interface-card-eri
    """
    if machine.props.get("hpcClusterId") is not None:
        return 1
    inline = as_list(machine.props.get("networkInterfaces"))
    others = [*named_by(machine, "networkInterfaceId", among, *INTERFACES)]
    for attachment in linked(machine, "instanceId", among, *INTERFACE_ATTACHMENTS):
        others += named_by(attachment, "networkInterfaceId", among, *INTERFACES)
    modes = [machine.props.get("networkInterfaceTrafficMode")]
    modes += [read(one, "networkInterfaceTrafficMode") for one in items_of(inline)]
    modes += [one.props.get("networkInterfaceTrafficMode") for one in others]
    return first_unknown(inline, *modes) or sum(mode == _RDMA_MODE for mode in modes)


def _ingress(rule: Record, among: Among) -> Iterable[IngressFact]:
    way, policy = rule.props.get("type"), rule.props.get("policy")
    if policy == _DROP or not (way == "ingress" or isinstance(way, Unknown)):
        return
    protocol = as_text(rule.props.get("ipProtocol")) or "all"
    for cidr in _sources(rule, among):
        # Of a rule that may be of the other way, or refuse, nobody can say from where it lets in.
        source = first_unknown(way, policy) or cidr
        yield IngressFact(rule.urn, rule.name, CLOUD, _group_of(rule, among), source, _ports(rule), protocol)


def _opens(group: Record, among: Among) -> tuple[bool | Unknown, bool | Unknown]:
    """Whether all traffic passes between a group's members, in and out.

    A normal group joins its members and lets everything out until it is told otherwise. An enterprise one does neither,
    and cannot name a group in its rules: there a rule of addresses opens it, if they hold those of the members.

    Source: https://www.alibabacloud.com/help/en/ecs/user-guide/security-group-rules;
    https://www.alibabacloud.com/help/doc-detail/25560.htm
    """
    kind, inner = as_text(group.props.get("securityGroupType")), as_text(group.props.get("innerAccessPolicy"))
    older = as_flag(group.props.get("innerAccess"))
    normal = kind if isinstance(kind, Unknown) else kind in (None, _NORMAL)
    joined = first_unknown(normal, inner, older) or (
        normal is True and (inner == _ACCEPT if inner is not None else older is not False)
    )
    rules = linked(group, "securityGroupId", among, RULE)
    inside = [joined, *(_joins(rule, group, among) for rule in rules if rule.props.get("type") == "ingress")]
    outside = [normal, *(_joins(rule, group, among) for rule in rules if rule.props.get("type") == "egress")]
    return _any(inside), _any(outside)


def _any(answers: list[bool | Unknown]) -> bool | Unknown:
    return True in answers or first_unknown(*answers) or False


def _joins(rule: Record, group: Record, among: Among) -> bool | Unknown:
    """Whether a rule lets all traffic pass between the members of its own group."""
    props = rule.props
    protocol, ports = as_text(props.get("ipProtocol")), _ports(rule)
    if props.get("policy") == _DROP or (isinstance(protocol, str) and protocol != "all") or isinstance(ports, tuple):
        return False
    unknown = first_unknown(protocol, ports, props.get("policy"))
    if group in named_by(rule, "sourceSecurityGroupId", among, SECURITY_GROUP):
        return unknown or True
    cidr = as_text(props.get("cidrIp"))
    return False if cidr is None else unknown or first_unknown(cidr) or _holds(cidr, group, among)


def _holds(cidr: Any, group: Record, among: Among) -> bool | Unknown:
    """Whether a range of addresses holds all of a group's network."""
    networks = named_by(group, "vpcId", among, NETWORK)
    inner = as_text(networks[0].props.get("cidrBlock")) if networks else None
    try:
        outer = ip_network(cidr, strict=False)
        if outer.prefixlen == 0:
            return True
        if inner is None or isinstance(inner, Unknown):
            return inner or Unknown("which addresses its network has is not in this stack")
        return ip_network(inner, strict=False).subnet_of(outer)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return False


def _sources(rule: Record, among: Among) -> list[str | Unknown]:
    """The ranges that a rule lets in: its own, or those of its prefix list; none of a rule that names a group."""
    cidr = as_text(rule.props.get("cidrIp") or rule.props.get("ipv6CidrIp"))
    if cidr is not None:
        return [cidr]
    named = rule.props.get("prefixListId")
    if named is None or rule.props.get("sourceSecurityGroupId") is not None:
        return []
    lists = named_by(rule, "prefixListId", among, PREFIX_LIST)
    if not lists:
        return [named if isinstance(named, Unknown) else OTHER_LIST]
    entries = as_list(lists[0].props.get("entries"))
    return [entries] if isinstance(entries, Unknown) else [_cidr_of(entry) for entry in entries]


def _cidr_of(entry: Any) -> str | Unknown:
    return as_text(read(entry, "cidr")) or Unknown("an entry of its prefix list names no addresses")


def _group_of(rule: Record, among: Among) -> str | Unknown:
    named = as_text(rule.props.get("securityGroupId"))
    found = named_by(rule, "securityGroupId", among, SECURITY_GROUP)
    if found:
        return found[0].urn
    return Unknown("it names no security group") if named is None else named


def _ports(rule: Record) -> tuple[int, int] | None | Unknown:
    text = as_text(rule.props.get("portRange"))
    if text is None or isinstance(text, Unknown):
        return text
    first, _, last = text.partition("/")
    ports = (int(first), int(last)) if first.isdigit() and last.isdigit() else None
    return None if ports == _ALL_PORTS else ports
