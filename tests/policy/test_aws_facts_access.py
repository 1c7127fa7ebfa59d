"""Facts of AWS networks, rights, alarms, budgets, services and tags: good, bad, absent, unknown and of a wrong type."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpuyard_policy.facts import Record, Unknown
from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.aws_access import roles
from gpuyard_policy.facts.aws_network import ingress, security_groups
from gpuyard_policy.facts.aws_operations import alarms, budgets, services, tagged
from gpuyard_policy.facts.model import IngressFact
from tests.policy.resources import BUCKET, record

LATER = Unknown("'x' is known only after the update")
SG = "aws:ec2/securityGroup:SecurityGroup"
RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
ALARM = "aws:cloudwatch/metricAlarm:MetricAlarm"
DASHBOARD = "aws:cloudwatch/dashboard:Dashboard"
BUDGET = "aws:budgets/budget:Budget"
OPEN = {"protocol": "-1", "self": True}


def sides(props: dict[str, Any], *others: Record) -> tuple[Any, Any]:
    one = record(SG, "sg", {"id": "sg-1", **props})
    (found,) = security_groups(one, Among([one, *others]))
    return found.open_to_itself_in, found.open_to_itself_out


def test_br_001_an_egress_rule_to_all_addresses_does_not_open_a_group_to_itself() -> None:
    everywhere = {"protocol": "-1", "cidrBlocks": ["0.0.0.0/0"]}
    assert sides({"ingress": [OPEN], "egress": [everywhere]}) == (True, False)
    assert sides({"ingress": [OPEN], "egress": [everywhere, OPEN]}) == (True, True)


@pytest.mark.parametrize(
    ("rule", "opened"),
    [
        (OPEN, True),
        ({"protocol": -1.0, "self": True}, True),
        ({"protocol": "tcp", "self": True}, False),
        ({"protocol": "-1", "self": False}, False),
        ({"protocol": "-1", "self": LATER}, LATER),
        ({"protocol": LATER, "self": True}, LATER),
        (LATER, LATER),
        (17.0, False),
        ({}, False),
    ],
)
def test_a_rule_in_line_opens_a_group_by_naming_itself(rule: Any, opened: Any) -> None:
    assert sides({"ingress": [rule]}) == (opened, False)


def test_rules_by_themselves_open_a_group_too() -> None:
    own = {"securityGroupId": "sg-1", "ipProtocol": "-1"}
    into = record(INGRESS, "i", {**own, "referencedSecurityGroupId": "sg-1"})
    out = record(EGRESS, "e", {**own, "referencedSecurityGroupId": "sg-2"})
    assert sides({}, into, out) == (True, False)
    older = record(RULE, "o", {"type": "egress", "protocol": "all", "securityGroupId": "sg-1", "self": True})
    assert sides({}, older) == (False, True)
    assert sides({"ingress": LATER}) == (LATER, False)


def test_in_a_first_preview_rules_find_their_group_by_where_the_ids_come_from() -> None:
    group, other = record(SG, "sg", {}), record(SG, "other", {})
    keys = ("securityGroupId", "referencedSecurityGroupId")
    props = {"ipProtocol": "-1", **dict.fromkeys(keys, LATER)}
    own = record(INGRESS, "own", props, {key: [group.urn] for key in keys})
    foreign = record(EGRESS, "foreign", props, {keys[0]: [group.urn], keys[1]: [other.urn]})
    (found,) = security_groups(group, Among([group, other, own, foreign]))
    assert (found.open_to_itself_in, found.open_to_itself_out) == (True, False)


def let_in(one: Record, *others: Record) -> list[IngressFact]:
    return list(ingress(one, Among([one, *others])))


def test_what_a_group_lets_in_from_addresses() -> None:
    rule = {"protocol": "tcp", "fromPort": 22.0, "toPort": 22.0, "cidrBlocks": ["0.0.0.0/0", LATER]}
    group = record(SG, "sg", {"ingress": [rule, OPEN, {"protocol": "-1", "ipv6CidrBlocks": ["::/0"]}]})
    assert [(one.cidr, one.ports, one.protocol) for one in let_in(group)] == [
        ("0.0.0.0/0", (22, 22), "tcp"),
        (LATER, (22, 22), "tcp"),
        ("::/0", None, "all"),
    ]
    (later,) = let_in(record(SG, "sg", {"ingress": LATER}))
    assert (later.cidr, later.ports, later.protocol) == (LATER, LATER, LATER)
    assert let_in(record(SG, "sg", {"ingress": "odd"})) == []
    assert let_in(record(SG, "sg", {})) == []


def test_a_rule_by_itself_names_its_group() -> None:
    group = record(SG, "sg", {"id": "sg-1"})
    props = {"securityGroupId": "sg-1", "ipProtocol": "6", "fromPort": LATER, "toPort": 8888.0, "cidrIpv4": "0.0.0.0/0"}
    (found,) = let_in(record(INGRESS, "i", props), group)
    assert (found.group, found.cidr, found.ports, found.protocol) == (group.urn, "0.0.0.0/0", LATER, "tcp")
    older = {"type": "ingress", "protocol": "icmp", "fromPort": -1.0, "toPort": -1.0, "cidrBlocks": ["10.0.0.0/8"]}
    (found,) = let_in(record(RULE, "r", {**older, "securityGroupId": "sg-9"}))
    assert (found.group, found.ports, found.protocol) == ("sg-9", None, "icmp")
    assert let_in(record(RULE, "r", {**older, "type": "egress"})) == []
    assert let_in(record(EGRESS, "e", props)) == []


def rights(kind: str, props: dict[str, Any]) -> Any:
    one = record(kind, "r", props)
    (found,) = roles(one, Among([one]))
    return found.wildcards


@pytest.mark.parametrize(
    ("statement", "wildcards"),
    [
        ({"Effect": "Allow", "Action": "*", "Resource": "*"}, ("*",)),
        ({"Effect": "Allow", "Action": ["s3:*", "ec2:Describe*"], "Resource": "*"}, ("s3:*",)),
        ({"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}, ("everything but iam:*",)),
        ({"Effect": "Deny", "Action": "*", "Resource": "*"}, ()),
        ({"Effect": "Allow", "Action": "cloudwatch:PutMetricData", "Resource": "*"}, ()),
        (17.0, ()),
    ],
)
def test_a_policy_gives_rights_by_a_bare_wildcard(statement: Any, wildcards: Any) -> None:
    document = {"Statement": [statement]}
    assert rights("aws:iam/rolePolicy:RolePolicy", {"policy": json.dumps(document)}) == wildcards
    assert rights("aws:iam/policy:Policy", {"policy": document}) == wildcards
    assert rights("aws:iam/role:Role", {"inlinePolicies": [{"policy": json.dumps(document)}]}) == wildcards


def test_roles_by_aws_own_policies_and_by_who_may_take_them() -> None:
    admin = "arn:aws:iam::aws:policy/AdministratorAccess"
    attachment = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
    assert rights(attachment, {"policyArn": admin}) == ("AdministratorAccess",)
    assert rights(attachment, {"policyArn": "arn:aws:iam::1:policy/AdministratorAccess"}) == ()
    assert rights(attachment, {"policyArn": LATER}) == LATER
    assert rights(attachment, {}) == ()
    role = "aws:iam/role:Role"
    trust = {"Statement": {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}}
    assert rights(role, {"assumeRolePolicy": json.dumps(trust)}) == ("sts:AssumeRole for everybody",)
    assert rights(role, {"managedPolicyArns": [LATER, admin]}) == ("AdministratorAccess",)
    assert rights(role, {"assumeRolePolicy": LATER}) == LATER
    assert rights(role, {}) == ()
    assert rights("aws:iam/policy:Policy", {"policy": "no json"}) == ()


def watches(kind: str, props: dict[str, Any]) -> Any:
    one = record(kind, "a", props)
    (found,) = alarms(one, Among([one]))
    return found.watches_gpus


@pytest.mark.parametrize(
    ("props", "watching"),
    [
        ({"metricName": "nvidia_smi_utilization_gpu"}, True),
        ({"metricName": "GPUUtilization"}, True),
        ({"metricName": "nvidia_smi_temperature_gpu"}, False),
        ({"metricQueries": [{"metric": {"metricName": "DCGM_FI_DEV_GPU_UTIL"}}]}, True),
        ({"metricName": LATER}, LATER),
        ({"metricQueries": LATER}, LATER),
        ({"metricName": 17.0}, False),
        ({}, False),
    ],
)
def test_an_alarm_watches_the_utilization_of_gpus(props: dict[str, Any], watching: Any) -> None:
    assert watches(ALARM, props) == watching


def test_a_dashboard_watches_by_its_metrics_and_not_by_its_texts() -> None:
    metric = {"widgets": [{"properties": {"metrics": [["CWAgent", "nvidia_smi_utilization_gpu"]]}}]}
    expression = {"widgets": [{"properties": {"metrics": [[{"expression": "AVG(gpu_utilization)"}]]}}]}
    text = {"widgets": [{"properties": {"markdown": "gpu utilization: gpu_util"}}]}
    assert [watches(DASHBOARD, {"dashboardBody": json.dumps(one)}) for one in (metric, expression, text)] == [
        True,
        True,
        False,
    ]
    assert watches(DASHBOARD, {"dashboardBody": LATER}) == LATER
    assert watches(DASHBOARD, {"dashboardBody": "no json"}) is False


@pytest.mark.parametrize(
    ("amount", "unit", "monthly"),
    [
        ("1200", "MONTHLY", 1200.0),
        ("1200", "ANNUALLY", 100.0),
        (None, "MONTHLY", None),
        (LATER, "MONTHLY", LATER),
        ("much", "MONTHLY", Unknown("its limit 'much' is no number")),
        ("10", "DAILY", Unknown("its time unit 'DAILY' is none of a month or more")),
    ],
)
def test_a_budget_is_told_by_the_month(amount: Any, unit: Any, monthly: Any) -> None:
    one = record(BUDGET, "b", {"budgetType": "COST", "limitAmount": amount, "limitUnit": "USD", "timeUnit": unit})
    (found,) = budgets(one, Among([one]))
    assert (found.monthly_amount, found.currency) == (monthly, "USD")
    usage = record(BUDGET, "b", {"budgetType": "USAGE", "limitAmount": "1"})
    assert list(budgets(usage, Among([usage]))) == []


def test_what_costs_by_being_there() -> None:
    def kinds(kind: str, props: dict[str, Any]) -> list[Any]:
        one = record(kind, "s", props)
        return [(found.kind, found.other_region) for found in services(one, Among([one]))]

    peering = "aws:ec2/vpcPeeringConnection:VpcPeeringConnection"
    assert kinds("aws:shield/subscription:Subscription", {}) == [("advanced_ddos", None)]
    assert kinds(peering, {"peerRegion": "eu-west-1"}) == [("cross_region_traffic", "eu-west-1")]
    assert kinds(peering, {"peerRegion": LATER}) == [("cross_region_traffic", LATER)]
    assert kinds(peering, {"peerRegion": "us-east-1"}) == []
    assert kinds(peering, {}) == []
    assert kinds("aws:ec2/vpcEndpoint:VpcEndpoint", {"serviceRegion": 17.0}) == []


def test_only_resources_that_take_tags_are_looked_at() -> None:
    def tags(kind: str, props: dict[str, Any]) -> list[Any]:
        one = record(kind, "t", props)
        return [found.tags for found in tagged(one, Among([one]))]

    assert tags(BUCKET, {}) == [{}]
    assert tags(BUCKET, {"tags": LATER}) == [LATER]
    assert tags(BUCKET, {"tags": {"a": "1"}, "tagsAll": {"a": "1", "b": "2"}}) == [{"a": "1", "b": "2"}]
    assert tags("aws:sqs/queue:Queue", {"tags": {"a": "1"}}) == [{"a": "1"}]
    assert tags("aws:s3/bucketPolicy:BucketPolicy", {}) == []
    assert tags(BUCKET, {"tags": 17.0}) == [{}]
