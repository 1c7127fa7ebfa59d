"""Security groups on AWS: what passes between members, and what is let in from addresses."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard_policy.facts.among import Among, linked
from gpuyard_policy.facts.aws_machines import SECURITY_GROUPS
from gpuyard_policy.facts.aws_places import CLOUD, behind
from gpuyard_policy.facts.model import IngressFact, Record, SecurityGroupFact, Unknown
from gpuyard_policy.facts.reading import as_flag, as_list, as_number, as_text, first_unknown, items_of, read

RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
INGRESS_RULE = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS_RULE = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
_ALL = ("-1", "all")
_PROTOCOLS = {"6": "tcp", "17": "udp", "1": "icmp", "58": "icmp", "icmpv6": "icmp"}
_CIDR_KEYS = ("cidrBlocks", "ipv6CidrBlocks", "cidrIpv4", "cidrIpv6")


def security_groups(record: Record, among: Among) -> Iterable[SecurityGroupFact]:
    """The security group that a resource is, if it is one.

    Traffic between EFA interfaces passes only by rules that name the group itself, for every protocol: addresses do
    not count. Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html#efa-start-security
    """
    if record.type in SECURITY_GROUPS:
        yield SecurityGroupFact(
            urn=record.urn,
            name=record.name,
            cloud=CLOUD,
            open_to_itself_in=_open_to_itself(record, "ingress", INGRESS_RULE, among),
            open_to_itself_out=_open_to_itself(record, "egress", EGRESS_RULE, among),
        )


def ingress(record: Record, among: Among) -> Iterable[IngressFact]:
    """What a group's own rules, or a rule by itself, let in from addresses."""
    if record.type in SECURITY_GROUPS:
        rules = as_list(record.props.get("ingress"))
        if isinstance(rules, Unknown):
            yield IngressFact(record.urn, record.name, CLOUD, record.urn, rules, rules, rules)
        for rule in items_of(rules):
            yield from _let_in(record, rule, record.urn)
    elif record.type == INGRESS_RULE or (record.type == RULE and record.props.get("type") != "egress"):
        yield from _let_in(record, record.props, _group_of(record, among))


def _let_in(record: Record, rule: Any, group: str | Unknown) -> Iterable[IngressFact]:
    if isinstance(rule, Unknown):
        yield IngressFact(record.urn, record.name, CLOUD, group, rule, rule, rule)
        return
    protocol = _protocol_of(rule)
    name = protocol if isinstance(protocol, Unknown) else "all" if protocol in _ALL else protocol
    for key in _CIDR_KEYS:
        cidrs = as_list(read(rule, key))
        for cidr in [cidrs] if isinstance(cidrs, Unknown) else cidrs:
            if isinstance(cidr, (str, Unknown)):
                yield IngressFact(record.urn, record.name, CLOUD, group, cidr, _ports(rule, name), name)


def _ports(rule: Any, protocol: str | Unknown) -> tuple[int, int] | None | Unknown:
    if protocol == "all":
        return None
    first, last = as_number(read(rule, "fromPort")), as_number(read(rule, "toPort"))
    if isinstance(first, Unknown) or isinstance(last, Unknown):
        return first_unknown(first, last)
    # Without ports, or from -1 on, a rule lets all of its protocol in.
    return None if first is None or last is None or first < 0 else (first, last)


def _protocol_of(rule: Any) -> str | Unknown:
    value = read(rule, "protocol")
    if value is None:
        value = read(rule, "ipProtocol")
    if isinstance(value, Unknown):
        return value
    text = str(value).lower() if isinstance(value, str) else str(as_number(value))
    return _PROTOCOLS.get(text, text) if value is not None else Unknown("it names no protocol")


def _group_of(rule: Record, among: Among) -> str | Unknown:
    named = as_text(rule.props.get("securityGroupId"))
    found = behind(rule, "securityGroupId", among, named, *SECURITY_GROUPS)
    if len(found) == 1:
        return found[0].urn
    return Unknown("it names no security group of this stack") if named is None else named


def _open_to_itself(group: Record, direction: str, own_kind: str, among: Among) -> bool | Unknown:
    inline = as_list(group.props.get(direction))
    names = {value for value in (group.props.get("id"), group.urn) if isinstance(value, str)}
    verdicts: list[Any] = [inline] if isinstance(inline, Unknown) else []
    verdicts += [_opens(rule, names, read(rule, "securityGroups"), ()) for rule in items_of(inline)]
    for rule in linked(group, "securityGroupId", among, RULE):
        kind = rule.props.get("type")
        if kind in (direction, None) or isinstance(kind, Unknown):
            source = rule.props.get("sourceSecurityGroupId")
            by = rule.depends_on.get("sourceSecurityGroupId", ())
            verdicts.append(first_unknown(kind) or _opens(rule.props, names, source, by))
    for rule in linked(group, "securityGroupId", among, own_kind):
        source = rule.props.get("referencedSecurityGroupId")
        verdicts.append(_opens(rule.props, names, source, rule.depends_on.get("referencedSecurityGroupId", ())))
    return True if True in verdicts else first_unknown(*verdicts) or False


def _opens(rule: Mapping[str, Any] | Any, names: set[str], source: Any, by: Any) -> bool | Unknown:
    """Whether a rule lets all traffic pass between the members of its own group."""
    if isinstance(rule, Unknown):
        return rule
    protocol = _protocol_of(rule)
    if not isinstance(protocol, Unknown) and protocol not in _ALL:
        return False
    sources = items_of(source)
    itself = as_flag(read(rule, "self"))
    if itself is True or any(isinstance(one, str) and one in names for one in sources) or names & set(by):
        return protocol if isinstance(protocol, Unknown) else True
    # A source that comes from another group of the stack is known not to be this one.
    unknown = first_unknown(itself) if by else first_unknown(itself, source, *sources)
    return unknown or False
