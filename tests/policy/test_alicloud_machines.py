"""What describes machines of Alibaba Cloud: templates, sets, groups and node pools, in one language."""

from __future__ import annotations

from typing import Any

import pytest

from gpuyard_policy.facts import NodePoolFact, Record, Unknown, collect_facts
from gpuyard_policy.facts.alicloud_machines import ELSEWHERE, NO_TOKENS_OF_A_SET
from gpuyard_policy.facts.alicloud_network import NO_INTERFACES
from gpuyard_policy.facts.alicloud_places import ELSEWHERE as NO_SWITCH
from gpuyard_policy.facts.alicloud_pools import PROVISIONED
from tests.policy.alicloud_programs import (
    A10,
    CONFIGURATION,
    DEPLOYMENT_SET,
    EX,
    GROUP,
    IMAGE,
    INSTANCE,
    LATER,
    MACHINES,
    NODE_POOL,
    SECURITY_GROUP,
    hooked,
    kubernetes,
    machines,
    made,
    node,
    switch,
)

TEMPLATE = "alicloud:ecs/ecsLaunchTemplate:EcsLaunchTemplate"
TEMPLATED = {
    "launchTemplateName": "trainer",
    "instanceType": EX,
    "imageId": IMAGE,
    "spotStrategy": "SpotWithPriceLimit",
    "spotPriceLimit": 9.5,
    "internetMaxBandwidthOut": 5.0,
    "securityGroupIds": ["sg-1"],
    "systemDisk": {"category": "cloud_essd", "performanceLevel": "PL2", "size": 500.0, "encrypted": True},
    "tags": {"gpuyard:task": "lora"},
}


def pool(*records: Record) -> NodePoolFact:
    facts = collect_facts(records)
    assert facts.problems == ()
    (found,) = facts.node_pools
    return found


def launched(kind: str, props: dict[str, Any], **template: Any) -> NodePoolFact:
    lt = made(TEMPLATE, "t", {**TEMPLATED, **template})
    return pool(made(kind, "p", {"launchTemplateId": LATER, **props}, launchTemplateId=lt), lt)


@pytest.mark.parametrize(
    ("kind", "props", "nodes"),
    [
        (INSTANCE, {}, 1),
        (MACHINES, {"amount": 3.0}, 3),
        (GROUP, {"minSize": 2.0, "maxSize": 2.0}, 2),
        (PROVISIONED, {"totalTargetCapacity": "2", "spotTargetCapacity": "2"}, 2),
    ],
)
def test_machines_are_what_their_launch_template_says(kind: str, props: dict[str, Any], nodes: int):
    found = launched(kind, props)
    assert (found.instance_types, found.nodes_max, found.purchase) == ((EX,), nodes, "spot")
    assert (found.public_address, found.security_groups) == (True, ("sg-1",))
    assert (found.image, found.image_pinned, found.tags) == (IMAGE, True, {"gpuyard:task": "lora"})
    assert not isinstance(found.disks, Unknown)
    (disk,) = found.disks
    assert (disk.disk_type, disk.size_gib, disk.encrypted, disk.pool_urn) == ("cloud_essd PL2", 500, True, found.urn)
    assert found.spot_price_limit == (None if kind == PROVISIONED else 9.5)


def test_what_a_machine_says_itself_comes_before_its_template():
    found = launched(
        INSTANCE, {"instanceType": A10, "internetMaxBandwidthOut": 0.0, "systemDiskCategory": "cloud_auto"}
    )
    assert (found.instance_types, found.public_address) == ((A10,), False)
    assert not isinstance(found.disks, Unknown)
    assert found.disks[0].disk_type == "cloud_auto PL2"
    assert launched(INSTANCE, {"securityGroups": ["sg-2"]}).security_groups == ("sg-2",)
    cache = launched(INSTANCE, {}, dataDisks=[{"category": "cloud_essd", "size": 1000.0}]).disks
    assert not isinstance(cache, Unknown)
    assert [disk.role for disk in cache] == ["root", "data"]


@pytest.mark.parametrize(
    ("props", "pinned"),
    [({"launchTemplateVersion": "Latest"}, False), ({"launchTemplateVersion": "Latest", "imageId": IMAGE}, True)],
)
def test_the_newest_version_of_a_template_pins_no_image_but_the_machines_own_does(props: dict[str, Any], pinned: bool):
    assert launched(INSTANCE, props).image_pinned is pinned


def test_a_template_is_found_by_its_name_and_one_of_another_stack_is_unknown():
    by_name = made(INSTANCE, "p", {"launchTemplateName": "trainer"})
    assert pool(by_name, made(TEMPLATE, "t", TEMPLATED)).instance_types == (EX,)
    found = pool(by_name)
    assert (found.instance_types, found.purchase, found.disks) == (ELSEWHERE, ELSEWHERE, ELSEWHERE)
    assert (found.placement, found.public_address, found.image_pinned) == (ELSEWHERE, ELSEWHERE, ELSEWHERE)


def test_a_deployment_set_of_a_template_places_the_group():
    near = made(DEPLOYMENT_SET, "near", {"strategy": "LowLatency"})
    lt = made(TEMPLATE, "t", {**TEMPLATED, "deploymentSetId": LATER}, deploymentSetId=near)
    group = made(GROUP, "g", {"minSize": 2.0, "maxSize": 2.0, "launchTemplateId": LATER}, launchTemplateId=lt)
    assert pool(near, lt, group).placement == "close"
    other = made(DEPLOYMENT_SET, "other", {"id": "ds-2", "strategy": "Availability"})
    own = made(INSTANCE, "i", {"deploymentSetId": "ds-2", "launchTemplateId": LATER}, launchTemplateId=lt)
    assert pool(near, lt, other, own).placement == "spread"


def test_a_set_is_a_pool_of_its_amount_and_cannot_ask_for_tokens():
    found = pool(machines(dataDisks=[{"diskCategory": "cloud_essd", "performanceLevel": "PL1", "diskSize": 200.0}]))
    assert (found.nodes_min, found.nodes_max, found.elastic, found.zones) == (4, 4, False, ("cn-beijing-i",))
    assert found.metadata_hardened == NO_TOKENS_OF_A_SET
    assert not isinstance(found.disks, Unknown)
    assert [(disk.role, disk.disk_type, disk.size_gib) for disk in found.disks][1:] == [("data", "cloud_essd PL1", 200)]
    assert pool(machines(amount=None)).nodes_max == 1
    assert pool(machines(amount=LATER)).nodes_max == LATER


@pytest.mark.parametrize(
    ("props", "purchase"),
    [
        ({"totalTargetCapacity": "4", "spotTargetCapacity": "4"}, "spot"),
        ({"totalTargetCapacity": "4", "payAsYouGoTargetCapacity": "1"}, "mixed"),
        ({"totalTargetCapacity": "4", "defaultTargetCapacityType": "PayAsYouGo"}, "on_demand"),
        ({"totalTargetCapacity": "4", "payAsYouGoTargetCapacity": "4"}, "on_demand"),
        ({"totalTargetCapacity": LATER}, LATER),
    ],
)
def test_how_a_provisioning_group_buys(props: dict[str, Any], purchase: Any):
    assert launched(PROVISIONED, props).purchase == purchase


def test_a_provisioning_group_has_types_zones_and_limits_of_its_own():
    ways = [
        {"instanceType": A10, "vswitchId": LATER, "maxPrice": "2.5", "weightedCapacity": "1"},
        {"instanceType": EX, "vswitchId": LATER, "maxPrice": "90", "weightedCapacity": "1"},
    ]
    place = switch()
    props = {"launchTemplateId": "lt-1", "totalTargetCapacity": "4", "launchTemplateConfigs": ways}
    found = pool(place, made(PROVISIONED, "p", props, launchTemplateConfigs=place))
    assert (found.instance_types, found.nodes_max, found.zones) == ((A10, EX), 4, ("cn-beijing-i",))
    assert found.spot_price_limit == 90.0
    weighted = made(PROVISIONED, "p", {**props, "launchTemplateConfigs": [{**ways[0], "weightedCapacity": "8"}]})
    assert pool(weighted).nodes_max == Unknown("its capacity is counted by weights of types, not by machines")


@pytest.mark.parametrize(
    ("props", "size", "elastic"),
    [
        ({"desiredSize": "3"}, (3, 3), False),
        ({"desiredSize": None, "nodeCount": 2.0}, (2, 2), False),
        ({"desiredSize": LATER}, (LATER, LATER), False),
        ({"scalingConfig": {"enable": True, "minSize": 1.0, "maxSize": 8.0}}, (1, 8), True),
        ({"scalingConfig": {"enable": False, "minSize": 1.0, "maxSize": 8.0}}, (2, 2), False),
        ({"scalingConfig": LATER}, (LATER, LATER), LATER),
        ({"scalingConfig": {"enable": LATER, "maxSize": 8.0}}, (LATER, LATER), LATER),
    ],
)
def test_how_large_a_node_pool_of_kubernetes_is(props: dict[str, Any], size: tuple[Any, Any], elastic: Any):
    found = pool(kubernetes(**props))
    assert ((found.nodes_min, found.nodes_max), found.elastic) == (size, elastic)


def test_a_node_pool_tells_its_market_disks_and_addresses():
    limits = [{"instanceType": A10, "priceLimit": "2.5"}]
    found = pool(
        kubernetes(
            spotStrategy="SpotWithPriceLimit",
            spotPriceLimits=limits,
            onDemandBaseCapacity="1",
            systemDiskCategory=None,
            systemDiskCategories=["cloud_essd", "cloud_auto"],
            scalingConfig={"enable": True, "isBondEip": True},
            dataDisks=[{"category": "cloud_essd", "size": 100.0, "encrypted": "true"}],
        )
    )
    assert (found.purchase, found.spot_price_limit, found.public_address) == ("mixed", 2.5, True)
    assert found.rdma_interfaces == NO_INTERFACES
    assert not isinstance(found.disks, Unknown)
    assert [(disk.disk_type, disk.encrypted) for disk in found.disks] == [
        ("cloud_essd PL1", True),
        ("cloud_essd", True),
    ]
    pinned = {"privatePoolOptions": {"privatePoolOptionsMatchCriteria": "Target", "privatePoolOptionsId": "eap-1"}}
    assert pool(kubernetes(**pinned)).purchase == "reserved"


def test_a_node_pool_by_attributes_names_no_types():
    patterns = [{"instanceFamilyLevel": "EnterpriseLevel", "minCpuCores": 8.0}]
    found = pool(kubernetes(instanceTypes=None, instancePatterns=patterns))
    assert found.instance_types == Unknown("its machines are chosen by attributes, not by type")


@pytest.mark.parametrize(
    ("strategy", "limits", "most"),
    [
        ("SpotAsPriceGo", [{"priceLimit": 2.5}], None),
        ("SpotWithPriceLimit", [{"priceLimit": 2.5}, {"priceLimit": 9.0}], 9.0),
        ("SpotWithPriceLimit", [{"priceLimit": LATER}], LATER),
        ("SpotWithPriceLimit", LATER, LATER),
        ("SpotWithPriceLimit", [{"priceLimit": "dear"}], None),
    ],
)
def test_a_limit_counts_only_where_the_strategy_has_one(strategy: str, limits: Any, most: Any):
    group = made(GROUP, "g", {"minSize": 1.0, "maxSize": 2.0})
    props = {"instanceTypes": [A10], "spotStrategy": strategy, "spotPriceLimits": limits}
    assert pool(group, made(CONFIGURATION, "c", props, scalingGroupId=group)).spot_price_limit == most


@pytest.mark.parametrize(
    ("ids", "zones"),
    [
        (["vsw-1"], NO_SWITCH),
        ([LATER], LATER),
        (LATER, LATER),
        ([], ()),
    ],
)
def test_a_vswitch_that_is_not_in_the_stack_leaves_the_zone_open(ids: Any, zones: Any):
    assert pool(made(GROUP, "g", {"vswitchIds": ids})).zones == zones


def test_one_known_vswitch_does_not_answer_for_an_unknown_one():
    place = switch()
    group = made(GROUP, "g", {"vswitchIds": [LATER, "vsw-elsewhere"]}, vswitchIds=place)
    assert pool(place, group).zones == NO_SWITCH


def test_interfaces_that_are_attached_carry_rdma_and_an_elastic_address_is_public():
    plain = node()
    interface = made(
        "alicloud:ecs/ecsNetworkInterface:EcsNetworkInterface", "e", {"networkInterfaceTrafficMode": "HighPerformance"}
    )
    kind = "alicloud:ecs/ecsNetworkInterfaceAttachment:EcsNetworkInterfaceAttachment"
    joined = made(
        kind, "a", {"instanceId": LATER, "networkInterfaceId": LATER}, instanceId=plain, networkInterfaceId=interface
    )
    address = made("alicloud:ecs/eipAssociation:EipAssociation", "ip", {"instanceId": LATER}, instanceId=plain)
    assert (pool(plain).rdma_interfaces, pool(plain).public_address) == (0, False)
    found = pool(plain, interface, joined, address)
    assert (found.rdma_interfaces, found.public_address) == (1, True)


def test_security_groups_of_interfaces_are_those_of_the_nodes():
    inner = made(SECURITY_GROUP, "g", {"id": "sg-1"})
    group = made(GROUP, "g", {"minSize": 1.0, "maxSize": 2.0})
    props = {"instanceTypes": [EX], "networkInterfaces": [{"securityGroupIds": ["sg-1", "sg-2"]}]}
    found = pool(inner, group, made(CONFIGURATION, "c", props, scalingGroupId=group))
    assert found.security_groups == (inner.urn, "sg-2")


EVENT = {"eventPattern": {"product": "ecs", "nameLists": ["Instance:PreemptibleInstanceInterruption"]}}
BUS = {"filterPattern": '{"source":["acs.ecs"],"type":["ecs:Instance:PreemptibleInstanceInterruption"]}'}
EVENT_RULE, BUS_RULE = "alicloud:cms/eventRule:EventRule", "alicloud:eventbridge/rule:Rule"


@pytest.mark.parametrize(
    ("kind", "props", "told"),
    [
        (EVENT_RULE, EVENT, True),
        (EVENT_RULE, {**EVENT, "status": "DISABLED"}, False),
        (EVENT_RULE, {**EVENT, "status": LATER}, LATER),
        (EVENT_RULE, {"eventPattern": {"product": "ecs", "nameLists": ["Disk:ErrorDetected"]}}, False),
        (EVENT_RULE, {"eventPattern": {"product": "ecs", "nameLists": [LATER]}}, LATER),
        (BUS_RULE, BUS, True),
        (BUS_RULE, {"filterPattern": LATER}, LATER),
    ],
)
def test_an_event_rule_tells_every_spot_machine_of_its_region(kind: str, props: dict[str, Any], told: Any):
    assert pool(node(), made(kind, "r", props)).handles_interruption == told
    assert pool(node(region="cn-shanghai", availabilityZone=None), made(kind, "r", props)).handles_interruption is False


def test_only_a_hook_on_the_way_out_tells_a_node_and_a_watcher_tells_itself():
    assert pool(*hooked("SCALE_OUT")).handles_interruption is False
    assert pool(*hooked("SCALE_IN")).handles_interruption is True
    watcher = "curl http://100.100.100.200/latest/meta-data/instance/spot/termination-time"
    assert pool(node(userData=watcher)).handles_interruption is True


def test_a_pool_of_kubernetes_is_read_by_its_token():
    assert pool(kubernetes()).urn.split("::")[2] == NODE_POOL
