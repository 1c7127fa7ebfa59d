"""Security groups of Tencent Cloud: what their rules let in, and whether a group's members reach each other."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import IngressFact, Record, SecurityGroupFact, Unknown
from gpuyard_policy.facts.reading import as_list, as_text, read
from gpuyard_policy.facts.tencentcloud_machines import SECURITY_GROUP
from gpuyard_policy.facts.tencentcloud_places import CLOUD

RULE_SET = "tencentcloud:Security/groupRuleSet:GroupRuleSet"
LITE_RULE = "tencentcloud:Security/groupLiteRule:GroupLiteRule"
SINGLE_RULE = "tencentcloud:Security/groupRule:GroupRule"
_IN, _OUT = "ingresses", "egresses"
_ADDRESS_TEMPLATE = Unknown("its addresses are in a template, which is not read")
_SERVICE_TEMPLATE = Unknown("its ports are in a template, which is not read")
_Ports = tuple[int, int] | None | Unknown


@dataclass(frozen=True)
class _Rule:
    """What one rule lets through, from addresses or from a group."""

    cidr: str | None | Unknown
    group: Any
    ports: tuple[_Ports, ...]
    protocol: str | Unknown

    @property
    def is_all(self) -> bool:
        """Whether it lets everything through."""
        return self.ports == (None,) and self.protocol == "all"


def security_groups(record: Record, among: Among) -> Iterable[SecurityGroupFact | IngressFact]:
    """What a resource lets in from addresses, and whether a group's members reach each other."""
    if record.type not in (RULE_SET, LITE_RULE, SINGLE_RULE):
        return
    group = _group_of(record, among)
    if record.type == SINGLE_RULE:
        # One rule of many says nothing of what its group as a whole lets through.
        rules = {_IN: _single(record), _OUT: []}
    else:
        rules = {way: list(_rules(record, way, among)) for way in (_IN, _OUT)}
        into, out = (
            any(one.is_all and _names(one.group, record, way, among, group) for one in rules[way])
            for way in (_IN, _OUT)
        )
        yield SecurityGroupFact(
            group if isinstance(group, str) and group in among else record.urn,
            record.name,
            CLOUD,
            into,
            out or any(one.is_all and one.cidr == "0.0.0.0/0" for one in rules[_OUT]),
        )
    for rule in rules[_IN]:
        if rule.cidr is not None:
            for ports in rule.ports:
                yield IngressFact(record.urn, record.name, CLOUD, group, rule.cidr, ports, rule.protocol)


def _group_of(record: Record, among: Among) -> str | Unknown:
    behind = among.behind(record, "securityGroupId", SECURITY_GROUP)
    if behind:
        return behind[0].urn
    named = as_text(record.props.get("securityGroupId"))
    found = among.called(named, SECURITY_GROUP)
    if found:
        return found[0].urn
    return named if named is not None else Unknown("it names no security group")


def _rules(record: Record, way: str, among: Among) -> Iterable[_Rule]:
    """Rules that let something through, from objects or from words joined by ``#``."""
    items = as_list(record.props.get(way))
    if isinstance(items, Unknown):
        yield _Rule(items, None, (None,), "all")
        return
    of_a_group = bool(among.behind(record, way, SECURITY_GROUP))
    for item in items:
        if isinstance(item, Unknown):
            # Words that are made of a group's id are a rule for that group.
            cidr, group = (None, item) if of_a_group and record.type == LITE_RULE else (item, None)
            yield _Rule(cidr, group, (None,), "all")
        elif isinstance(item, str):
            action, source, port, protocol = (*item.split("#"), "", "", "", "")[:4]
            is_group = source.startswith("sg-")
            yield from _accepted(action, None if is_group else source, source if is_group else None, port, protocol)
        else:
            by_address = (read(item, "cidrBlock"), read(item, "ipv6CidrBlock"))
            template = _template(item, "addressTemplateId", "addressTemplateGroup", why=_ADDRESS_TEMPLATE)
            service = _template(item, "serviceTemplateId", "serviceTemplateGroup", why=_SERVICE_TEMPLATE)
            cidr = next((one for one in (*by_address, template) if one), None)
            port = service or read(item, "port")
            yield from _accepted(
                read(item, "action"), cidr, read(item, "sourceSecurityId"), port, read(item, "protocol")
            )


def _single(record: Record) -> list[_Rule]:
    props = record.props
    way = props.get("type")
    if way == "egress":
        return []
    cidr = props.get("cidrIp") or _template(props, "addressTemplate", why=_ADDRESS_TEMPLATE)
    if cidr is not None and isinstance(way, Unknown):
        cidr = way
    port = _template(props, "protocolTemplate", why=_SERVICE_TEMPLATE) or props.get("portRange")
    return list(_accepted(props.get("policy"), cidr, props.get("sourceSgid"), port, props.get("ipProtocol")))


def _template(item: Any, *names: str, why: Unknown) -> Unknown | None:
    return why if any(read(item, name) is not None for name in names) else None


def _accepted(action: Any, cidr: Any, group: Any, port: Any, protocol: Any) -> Iterable[_Rule]:
    """The rule, where it lets something through or may do so."""
    if isinstance(action, Unknown):
        yield _Rule(None if cidr is None else action, None, (None,), "all")
    elif isinstance(action, str) and action.upper() == "ACCEPT":
        name = protocol if isinstance(protocol, Unknown) else str(protocol or "ALL").lower().removesuffix("v6")
        yield _Rule(as_text(cidr), group, _ports(port), name)


def _ports(port: Any) -> tuple[_Ports, ...]:
    """Spans of ports: of ``80``, ``80-90``, ``80,443``, or all."""
    if isinstance(port, Unknown):
        return (port,)
    text = str(port or "ALL").strip()
    if text.upper() == "ALL":
        return (None,)
    return tuple(_span(part.strip()) for part in text.split(","))


def _span(text: str) -> _Ports:
    first, _, last = text.partition("-")
    if not first.isdecimal() or not (last or first).isdecimal():
        return Unknown(f"'{text}' is no port")
    return int(first), int(last or first)


def _names(source: Any, record: Record, way: str, among: Among, group: str | Unknown) -> bool:
    """Whether a rule's source is the group of the rule itself, by where its value comes from or by its id."""
    if source is None:
        return False
    if isinstance(source, Unknown):
        return group in [one.urn for one in among.behind(record, way, SECURITY_GROUP)]
    return source == group or group in [one.urn for one in among.called(source, SECURITY_GROUP)]
