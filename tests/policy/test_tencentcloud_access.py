"""What the policies understand of rights, services and tags on Tencent Cloud."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gpuyard.sandbox.workspace import read_project
from gpuyard_policy.facts import Facts, Record, Unknown, collect_facts
from gpuyard_policy.sources.in_process import run_stack
from tests.policy.resources import record

POLICY = "tencentcloud:Cam/policy:Policy"
POLICY_VERSION = "tencentcloud:Cam/policyVersion:PolicyVersion"
BY_ID = "tencentcloud:Cam/rolePolicyAttachment:RolePolicyAttachment"
BY_NAME = "tencentcloud:Cam/rolePolicyAttachmentByName:RolePolicyAttachmentByName"
PEERING = "tencentcloud:Vpc/peerConnectManager:PeerConnectManager"
ATTACHMENT = "tencentcloud:Ccn/attachmentV2:AttachmentV2"
BANDWIDTH = "tencentcloud:Ccn/bandwidthLimit:BandwidthLimit"
CONFIGURATION = "tencentcloud:As/scalingConfig:ScalingConfig"
WORKSPACE = "tencentcloud:Thpc/workspaces:Workspaces"
NATIVE_POOL = "tencentcloud:Kubernetes/nativeNodePool:NativeNodePool"
BUDGET = "tencentcloud:Billing/budget:Budget"
VPC = "tencentcloud:Vpc/instance:Instance"
REGION = "ap-beijing"
LATER = Unknown("known only after the update")


def facts(*records: Record) -> Facts:
    found = collect_facts(records)
    assert found.problems == ()
    return found


def of(kind: str, name: str, props: dict[str, Any], depends_on: Any = None, region: str | None = REGION) -> Record:
    return record(kind, name, props, depends_on, region)


def document(*statements: Any) -> str:
    return json.dumps({"version": "2.0", "statement": list(statements)})


def allow(action: Any, **more: Any) -> dict[str, Any]:
    return {"effect": "allow", "action": action, "resource": "*", **more}


@pytest.mark.parametrize(
    ("written", "wide"),
    [
        (document(allow("*")), ("*",)),
        (document(allow(["name/cos:GetObject", "name/cos:*"])), ("name/cos:*",)),
        (document(allow("cvm:*"), allow("cvm:*"), allow("*:*")), ("cvm:*", "*:*")),
        (document(allow("name/*")), ("name/*",)),
        (json.dumps({"version": "2.0", "statement": allow("cos:*")}), ("cos:*",)),
        (json.dumps({"Version": "2.0", "Statement": [{"Effect": "Allow", "Action": "cos:*"}]}), ("cos:*",)),
        ({"statement": [allow("cos:*")]}, ("cos:*",)),
        (document(allow(["name/cos:GetObject", "name/cos:List*"])), ()),
        (document(allow("*", effect="deny")), ()),
        (document(allow(7)), ()),
    ],
)
def test_a_policys_wildcards_are_the_actions_that_it_allows(written: Any, wide: tuple[str, ...]):
    (role,) = facts(of(POLICY, "rights", {"document": written})).roles
    assert (role.cloud, role.wildcards) == ("tencentcloud", wide)


@pytest.mark.parametrize(
    "written",
    [
        None,
        LATER,
        "no JSON",
        7,
        document(),
        {"statement": LATER},
        {"statement": [LATER]},
        {"statement": [allow(LATER)]},
        {"statement": [allow(["cos:GetObject", LATER])]},
        {"statement": [{"effect": LATER, "action": "*"}]},
    ],
)
def test_a_document_that_cannot_be_read_is_no_pass(written: Any):
    (role,) = facts(of(POLICY, "rights", {"document": written})).roles
    assert isinstance(role.wildcards, Unknown)


def test_a_wildcard_that_is_known_is_one_beside_what_is_not():
    (role,) = facts(of(POLICY, "rights", {"document": {"statement": [allow([LATER, "*"])]}})).roles
    assert role.wildcards == ("*",)


@pytest.mark.parametrize(("default", "number"), [(True, 1), (None, 1), (LATER, 1), (False, 0)])
def test_a_version_of_a_policy_gives_rights_where_it_may_be_in_force(default: Any, number: int):
    version = of(POLICY_VERSION, "v2", {"policyDocument": document(allow("*")), "setAsDefault": default})
    assert [one.wildcards for one in facts(version).roles] == [("*",)] * number


@pytest.mark.parametrize(
    ("name", "wide"),
    [
        ("AdministratorAccess", ("AdministratorAccess",)),
        ("QCloudResourceFullAccess", ("QCloudResourceFullAccess",)),
        ("QcloudResourceFullAccess", ("QcloudResourceFullAccess",)),
        ("QcloudCOSFullAccess", ()),
        ("ReadOnlyAccess", ()),
    ],
)
def test_a_preset_over_all_services_is_a_wildcard(name: str, wide: tuple[str, ...]):
    (role,) = facts(of(BY_NAME, "attached", {"policyName": name, "roleName": "nodes"})).roles
    assert role.wildcards == wide


@pytest.mark.parametrize(
    ("kind", "props"),
    [
        (BY_NAME, {}),
        (BY_NAME, {"policyName": 7}),
        (BY_NAME, {"policyName": LATER}),
        (BY_ID, {}),
        (BY_ID, {"policyId": "1234"}),
        (BY_ID, {"policyId": LATER}),
    ],
)
def test_an_attachment_of_a_policy_that_cannot_be_told_is_no_pass(kind: str, props: dict[str, Any]):
    (role,) = facts(of(kind, "attached", props)).roles
    assert isinstance(role.wildcards, Unknown)


@pytest.mark.parametrize(
    ("kind", "key", "value", "linked"),
    [
        (BY_ID, "policyId", LATER, True),
        (BY_ID, "policyId", "1234", False),
        (BY_NAME, "policyName", "buckets", False),
    ],
)
def test_a_policy_of_the_stack_is_judged_by_itself(kind: str, key: str, value: Any, linked: bool):
    policy = of(POLICY, "rights", {"document": document(allow("cos:*")), "id": "1234", "name": "buckets"})
    attached = of(kind, "attached", {key: value}, {key: [policy.urn]} if linked else None)
    assert [(one.name, one.wildcards) for one in facts(policy, attached).roles] == [("rights", ("cos:*",))]


# --- services


@pytest.mark.parametrize(
    ("kind", "props", "number"),
    [
        ("tencentcloud:Dayu/ddosPolicyV2:DdosPolicyV2", {"resourceId": "bgpip-1"}, 1),
        ("tencentcloud:Dayu/ddosIpAttachmentV2:DdosIpAttachmentV2", {"bgpInstanceId": "bgp-1"}, 1),
        ("tencentcloud:Antiddos/portAclConfig:PortAclConfig", {"instanceId": LATER}, 1),
        ("tencentcloud:Antiddos/defaultAlarmThreshold:DefaultAlarmThreshold", {"instanceType": "ip"}, 0),
        ("tencentcloud:Antiddos/ipAlarmThresholdConfig:IpAlarmThresholdConfig", {"instanceId": "ins-1"}, 0),
        (VPC, {"instanceId": "bgp-1"}, 0),
        ("tencentcloud:Instance/instance:Instance", {"antiDdosPackageId": "bgp-1"}, 1),
        (CONFIGURATION, {"antiDdosPackageId": LATER}, 1),
        ("tencentcloud:Eip/instance:Instance", {"antiDdosPackageId": "bgp-1"}, 1),
        ("tencentcloud:Eip/instance:Instance", {}, 0),
    ],
)
def test_anti_ddos_that_was_bought_costs_by_itself(kind: str, props: dict[str, Any], number: int):
    assert [one.kind for one in facts(of(kind, "shield", props)).services] == ["advanced_ddos"] * number


@pytest.mark.parametrize(
    ("kind", "props", "others"),
    [
        (PEERING, {"destinationRegion": "ap-shanghai"}, ["ap-shanghai"]),
        (PEERING, {"destinationRegion": REGION}, []),
        (PEERING, {"destinationRegion": LATER}, [LATER]),
        (PEERING, {"destinationRegion": 7}, []),
        (PEERING, {}, []),
        (ATTACHMENT, {"instanceRegion": REGION}, []),
        (ATTACHMENT, {"instanceRegion": "ap-shanghai"}, ["ap-shanghai"]),
        (BANDWIDTH, {"region": "ap-nanjing", "dstRegion": "ap-shanghai"}, ["ap-shanghai"]),
        (BANDWIDTH, {"region": LATER, "dstRegion": "ap-shanghai"}, [LATER]),
        (BANDWIDTH, {"region": REGION}, []),
    ],
)
def test_what_joins_regions_carries_traffic_to_the_other(kind: str, props: dict[str, Any], others: list[Any]):
    found = facts(of(kind, "joint", props)).services
    assert [(one.kind, one.other_region) for one in found] == [("cross_region_traffic", other) for other in others]


def test_where_a_joint_leads_is_not_known_without_its_own_region():
    (found,) = facts(of(ATTACHMENT, "joint", {"instanceRegion": REGION}, region=None)).services
    assert isinstance(found.other_region, Unknown)


# --- budgets


PLAN = json.dumps([{"dateDesc": "2026-12", "quota": "1000"}, {"dateDesc": "2027-01", "quota": "2500"}])


@pytest.mark.parametrize(
    ("props", "monthly"),
    [
        ({"budgetQuota": "5000.00"}, 5000.0),
        ({"budgetQuota": "6000", "cycleType": "QUARTER"}, 2000.0),
        ({"budgetQuota": "6000", "cycleType": "YEAR", "feeType": "COST"}, 500.0),
        ({"budgetQuota": "6000", "cycleType": "DAY"}, Unknown("its cycle 'DAY' is none of a month or more")),
        ({"budgetQuota": PLAN, "planType": "CYCLE"}, 2500.0),
        ({"budgetQuota": "[]", "planType": "CYCLE"}, None),
        ({"budgetQuota": "[{}]", "planType": "CYCLE"}, Unknown("its quota '[{}]' is no amount")),
        ({"budgetQuota": "much"}, Unknown("its quota 'much' is no amount")),
        ({"budgetQuota": LATER}, LATER),
        ({"cycleType": LATER}, LATER),
        ({"feeType": LATER, "budgetQuota": "10"}, 10.0),
    ],
)
def test_a_budget_is_what_a_month_may_cost_in_a_currency_that_it_does_not_name(props: dict[str, Any], monthly: Any):
    good = {"feeType": "REAL_COST", "cycleType": "MONTH", "planType": "FIX"}
    (found,) = facts(of(BUDGET, "month", {**good, **props})).budgets
    assert (found.monthly_amount, found.currency) == (monthly, None)


@pytest.mark.parametrize("fee", ["INCENTIVE", "VOUCHER", "TRANSFER", "TAX", None])
def test_a_budget_of_gifts_or_taxes_does_not_limit_what_machines_cost(fee: str | None):
    assert facts(of(BUDGET, "month", {"feeType": fee, "budgetQuota": "1", "cycleType": "MONTH"})).budgets == ()


# --- tags


@pytest.mark.parametrize(
    ("kind", "props", "tags"),
    [
        (VPC, {"tags": {"team": "a"}}, [{"team": "a"}]),
        (VPC, {}, [{}]),
        (VPC, {"tags": "team"}, [{}]),
        (VPC, {"tags": LATER}, [LATER]),
        (CONFIGURATION, {"tags": {"team": "a"}, "instanceTags": {"task": "b"}}, [{"team": "a", "task": "b"}]),
        (WORKSPACE, {"tagSpecifications": [{"tags": [{"key": "team", "value": "a"}]}]}, [{"team": "a"}]),
        (WORKSPACE, {"tagSpecifications": LATER}, [LATER]),
        (WORKSPACE, {}, [{}]),
        (
            NATIVE_POOL,
            {"tags": [{"resourceType": "machine", "tags": [{"key": "team", "value": "a"}]}]},
            [{"team": "a"}],
        ),
        (NATIVE_POOL, {"tags": LATER}, [LATER]),
        ("tencentcloud:Nat/gateway:Gateway", {"tags": {"team": "a"}}, [{"team": "a"}]),
        ("tencentcloud:Instance/set:Set", {}, []),
        (POLICY, {}, []),
    ],
)
def test_tags_are_looked_at_where_a_resource_takes_any(kind: str, props: dict[str, Any], tags: list[Any]):
    assert [one.tags for one in facts(of(kind, "thing", props)).tagged] == tags


def test_the_example_of_production_has_narrow_rights_and_tags_on_all_that_takes_them():
    root = Path(__file__).parents[2]
    with ThreadPoolExecutor(1) as elsewhere:  # a stack that ran leaves its thread without an event loop
        source = elsewhere.submit(run_stack, read_project(root), "tencentcloud-prod", root).result()
    found = collect_facts(source.records)
    assert found.roles
    assert all(one.wildcards == () for one in found.roles)
    assert found.tagged
    assert all(not isinstance(one.tags, Unknown) and "gpuyard:cluster" in one.tags for one in found.tagged)
    assert found.services == ()
