"""What watches, costs and keeps on Alibaba Cloud: alarms, services, tags and schedules of snapshots."""

from __future__ import annotations

from typing import Any

import pytest

from gpuyard_policy.facts import Record, collect_facts
from gpuyard_policy.facts.alicloud_snapshots import NO_ENCRYPTION
from gpuyard_policy.facts.model import CopyFact, SnapshotScheduleFact
from tests.policy.alicloud_programs import (
    ALARM,
    ATTACHMENT,
    CONFIGURATION,
    DDOS,
    GROUP,
    LATER,
    OWNED,
    PEERING,
    attached_later,
    disk,
    made,
    node,
    policy,
)

UTILIZATION = "instance_gpu_gpu_usedutilization"


@pytest.mark.parametrize(
    ("kind", "props", "watches"),
    [
        (ALARM, {"metric": UTILIZATION}, True),
        (ALARM, {"metric": UTILIZATION, "enabled": False}, False),
        (ALARM, {"metric": UTILIZATION, "enabled": LATER}, LATER),
        (ALARM, {"metric": "instance_gpu_memory_usedutilization"}, False),
        (ALARM, {"metric": "instance_gpu_gpu_temperature"}, False),
        (ALARM, {"metric": "x", "compositeExpression": {"expressionLists": [{"metricName": UTILIZATION}]}}, True),
        (ALARM, {"metric": "x", "prometheuses": [{"promQl": "avg(DCGM_FI_DEV_GPU_UTIL) < 5"}]}, True),
        (ALARM, {"metric": "x", "prometheuses": LATER}, LATER),
        ("alicloud:cms/groupMetricRule:GroupMetricRule", {"metricName": "gpu_gpu_usedutilization"}, True),
        ("alicloud:cms/alertRuleV2:AlertRuleV2", {"queryConfig": {"promQl": "DCGM_FI_PROF_SM_ACTIVE < 0.1"}}, True),
        ("alicloud:arms/prometheusAlertRule:PrometheusAlertRule", {"expression": "DCGM_FI_DEV_GPU_UTIL < 5"}, True),
        ("alicloud:log/alert:Alert", {"queryLists": [{"query": "* | select avg(gpu_util)"}]}, True),
        ("alicloud:log/dashboard:Dashboard", {"charList": '[{"search": {"query": "cpu"}}]'}, False),
        ("alicloud:log/dashboard:Dashboard", {"charList": LATER}, LATER),
    ],
)
def test_what_looks_at_the_utilization_of_gpus(kind: str, props: dict[str, Any], watches: Any):
    (found,) = collect_facts([made(kind, "a", props)]).alarms
    assert found.watches_gpus == watches


def services(*records: Record) -> list[tuple[str, Any]]:
    return [(one.kind, one.other_region) for one in collect_facts(records).services]


BGP_IP = "alicloud:ddos/bgpIp:BgpIp"


def test_bought_ddos_protection_is_told_once_and_the_basic_one_not_at_all():
    instance = made(DDOS, "d", {"id": "ddosbgp-1"})
    part = made(BGP_IP, "ip", {"instanceId": "ddosbgp-1", "ip": "192.0.2.1"})
    assert services(instance, part) == services(part) == [("advanced_ddos", None)]
    basic = {"instanceId": "i-1", "instanceType": "ecs", "ddosType": "defense"}
    assert services(made("alicloud:ddos/basicDefenseThreshold:BasicDefenseThreshold", "b", basic)) == []


ROUTER = "alicloud:vpc/routerInterface:RouterInterface"
TRANSIT = "alicloud:cen/transitRouterPeerAttachment:TransitRouterPeerAttachment"
LIMIT = "alicloud:cen/bandwidthLimit:BandwidthLimit"


@pytest.mark.parametrize(
    ("kind", "props", "told"),
    [
        (PEERING, {"acceptingRegionId": "cn-shanghai"}, ["cn-shanghai"]),
        (PEERING, {"acceptingRegionId": "cn-beijing"}, []),
        (PEERING, {"acceptingRegionId": LATER}, [LATER]),
        (ROUTER, {"oppositeRegion": "cn-hangzhou"}, ["cn-hangzhou"]),
        (TRANSIT, {"peerTransitRouterRegionId": "cn-hangzhou"}, ["cn-hangzhou"]),
        (TRANSIT, {}, [None]),
        (LIMIT, {"regionIds": ["cn-beijing", "us-west-1"]}, ["us-west-1"]),
        (LIMIT, {"regionIds": ["cn-beijing", LATER]}, [LATER]),
    ],
)
def test_what_carries_traffic_to_another_region(kind: str, props: dict[str, Any], told: list[Any]):
    assert services(made(kind, "x", props)) == [("cross_region_traffic", region) for region in told]


def test_what_takes_tags_is_looked_at_without_any():
    template = {"tags": {"gpuyard:cluster": "trial"}, "templateTags": {"gpuyard:environment": "prod"}}
    records = [
        node(tags=None),
        made(GROUP, "g", {}),
        made(CONFIGURATION, "c", {}),
        made("alicloud:ecs/ecsLaunchTemplate:EcsLaunchTemplate", "t", template),
        made("alicloud:ecs/hpcCluster:HpcCluster", "h", {}),
    ]
    found = {one.name: one.tags for one in collect_facts(records).tagged}
    assert sorted(found) == ["c", "g", "node", "t"]
    assert (found["g"], found["t"]) == ({}, OWNED | {"gpuyard:cluster": "trial"})


def schedule(*records: Record) -> SnapshotScheduleFact:
    (found,) = collect_facts(records).schedules
    return found


def test_a_policy_is_on_the_disks_that_attachments_name_by_origin_by_id_or_elsewhere():
    daily = policy(id="sp-1")
    data = disk(id="d-1")
    by_id = made(ATTACHMENT, "a", {"autoSnapshotPolicyId": "sp-1", "diskId": "d-1"})
    assert schedule(daily, data, by_id).attached == (data.urn,)
    assert collect_facts([daily, data, by_id]).disks[0].schedules == (daily.urn,)
    assert schedule(daily, by_id).attached == ("d-1",)
    assert schedule(*attached_later()).attached == LATER
    assert schedule(daily, data).attached == ()


ENTERPRISE = "alicloud:ebs/enterpriseSnapshotPolicy:EnterpriseSnapshotPolicy"


@pytest.mark.parametrize(
    ("rule", "days", "count"),
    [
        ({"timeInterval": 2.0, "timeUnit": "WEEKS"}, 14, None),
        ({"number": 7.0}, None, 7),
        ({}, None, None),
        ({"timeInterval": LATER, "timeUnit": "DAYS"}, LATER, None),
        (LATER, LATER, LATER),
    ],
)
def test_how_long_an_enterprise_policy_keeps_snapshots(rule: Any, days: Any, count: Any):
    found = schedule(made(ENTERPRISE, "e", {"retainRule": rule, "targetType": "DISK"}))
    assert (found.keep_days, found.keep_count, found.enabled) == (days, count, True)


def test_an_enterprise_policy_selects_and_copies():
    copies = {"enabled": True, "regions": [{"regionId": "cn-shanghai", "retainDays": 30.0}]}
    daily = made(ENTERPRISE, "e", {"status": "DISABLED", "crossRegionCopyInfo": copies})
    data = disk()
    kind = "alicloud:ebs/enterpriseSnapshotPolicyAttachment:EnterpriseSnapshotPolicyAttachment"
    joined = made(kind, "a", {"policyId": LATER, "diskId": LATER}, policyId=daily, diskId=data)
    found = schedule(daily, data, joined)
    assert (found.attached, found.enabled) == ((data.urn,), False)
    assert found.copies == (CopyFact("cn-shanghai", NO_ENCRYPTION, 30),)
