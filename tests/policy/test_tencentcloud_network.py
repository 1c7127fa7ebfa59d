"""What the policies understand of security groups of Tencent Cloud: sets of rules, rules in words, and single ones."""

from __future__ import annotations

from typing import Any

import pytest

from gpuyard_policy.facts import Facts, Record, Unknown, collect_facts
from tests.policy.resources import record

SECURITY_GROUP = "tencentcloud:Security/group:Group"
RULE_SET = "tencentcloud:Security/groupRuleSet:GroupRuleSet"
LITE_RULE = "tencentcloud:Security/groupLiteRule:GroupLiteRule"
SINGLE_RULE = "tencentcloud:Security/groupRule:GroupRule"
LATER = Unknown("known only after the update")
IN_A_TEMPLATE = Unknown("its addresses are in a template, which is not read")
NO_PORTS = Unknown("its ports are in a template, which is not read")
HERE = record(SECURITY_GROUP, "sg", {"name": "sg"})


def let_in(*records: Record) -> list[tuple[Any, Any, Any]]:
    found = facts(*records).ingress
    return [(one.cidr, one.ports, one.protocol) for one in found]


def facts(*records: Record) -> Facts:
    found = collect_facts(records)
    assert found.problems == ()
    return found


def rules(*ingresses: Any) -> Record:
    return record(RULE_SET, "rules", {"securityGroupId": "sg-1", "ingresses": list(ingresses), "egresses": []})


def rule(**changes: Any) -> dict[str, Any]:
    return {"action": "ACCEPT", "cidrBlock": "0.0.0.0/0", "protocol": "TCP", "port": "22", **changes}


@pytest.mark.parametrize(
    ("port", "spans"),
    [
        ("22", [(22, 22)]),
        ("8000-9000", [(8000, 9000)]),
        ("80,29600", [(80, 80), (29600, 29600)]),
        ("80, 8000-8010", [(80, 80), (8000, 8010)]),
        ("ALL", [None]),
        ("all", [None]),
        (None, [None]),
        (LATER, [LATER]),
        ("ssh", [Unknown("'ssh' is no port")]),
        ("80-", [(80, 80)]),
    ],
)
def test_ports_are_what_is_named_and_nothing_between(port: Any, spans: list[Any]) -> None:
    assert [ports for _, ports, _ in let_in(rules(rule(port=port)))] == spans


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"cidrBlock": None, "ipv6CidrBlock": "::/0"}, [("::/0", (22, 22), "tcp")]),
        ({"cidrBlock": LATER}, [(LATER, (22, 22), "tcp")]),
        ({"cidrBlock": None, "addressTemplateId": "ipm-1"}, [(IN_A_TEMPLATE, (22, 22), "tcp")]),
        ({"cidrBlock": None, "addressTemplateGroup": "ipmg-1"}, [(IN_A_TEMPLATE, (22, 22), "tcp")]),
        ({"protocol": None, "port": None, "serviceTemplateId": "ppm-1"}, [("0.0.0.0/0", NO_PORTS, "all")]),
        ({"protocol": "ICMPv6", "port": None}, [("0.0.0.0/0", None, "icmp")]),
        ({"protocol": LATER}, [("0.0.0.0/0", (22, 22), LATER)]),
        ({"action": LATER}, [(LATER, None, "all")]),
        ({"action": "DROP"}, []),
        ({"cidrBlock": None, "sourceSecurityId": "sg-2"}, []),
        ({"cidrBlock": None, "sourceSecurityId": "sg-2", "action": LATER}, []),
    ],
)
def test_a_rule_lets_in_what_it_says_or_may_say(changes: dict[str, Any], found: list[Any]) -> None:
    assert let_in(rules(rule(**changes))) == found


@pytest.mark.parametrize("kind", [RULE_SET, LITE_RULE])
def test_rules_that_are_not_known_may_let_anything_in(kind: str) -> None:
    everything = [(LATER, None, "all")]
    assert let_in(record(kind, "rules", {"securityGroupId": "sg-1", "ingresses": LATER})) == everything
    assert let_in(record(kind, "rules", {"securityGroupId": "sg-1", "ingresses": [LATER]})) == everything


def test_words_that_are_made_of_a_groups_id_are_a_rule_for_that_group() -> None:
    props = {"securityGroupId": LATER, "ingresses": [LATER], "egresses": [LATER]}
    depends_on = dict.fromkeys(props, [HERE.urn])
    found = facts(HERE, record(LITE_RULE, "lite", props, depends_on))
    assert found.ingress == ()
    (itself,) = found.security_groups
    assert (itself.urn, itself.open_to_itself_in, itself.open_to_itself_out) == (HERE.urn, True, True)


def single(**changes: Any) -> Record:
    good = {"securityGroupId": LATER, "type": "ingress", "policy": "accept", "cidrIp": "0.0.0.0/0"}
    return record(SINGLE_RULE, "one", {**good, **changes}, {"securityGroupId": [HERE.urn]})


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        (
            {"ipProtocol": "tcp", "portRange": "22,3389"},
            [("0.0.0.0/0", (22, 22), "tcp"), ("0.0.0.0/0", (3389, 3389), "tcp")],
        ),
        ({}, [("0.0.0.0/0", None, "all")]),
        ({"policy": "DROP"}, []),
        ({"type": "egress"}, []),
        ({"type": LATER}, [(LATER, None, "all")]),
        ({"type": LATER, "cidrIp": None, "sourceSgid": "sg-2"}, []),
        ({"cidrIp": None, "sourceSgid": "sg-2"}, []),
        ({"cidrIp": None, "addressTemplate": {"templateId": "ipm-1"}}, [(IN_A_TEMPLATE, None, "all")]),
        ({"protocolTemplate": {"templateId": "ppm-1"}}, [("0.0.0.0/0", NO_PORTS, "all")]),
    ],
)
def test_a_single_rule_lets_in_what_it_says(changes: dict[str, Any], found: list[Any]) -> None:
    assert let_in(HERE, single(**changes)) == found
    read = facts(HERE, single(**changes))
    assert read.security_groups == (), "one rule of many says nothing of its group as a whole"
    assert {one.group for one in read.ingress} <= {HERE.urn}
