"""What the policies understand of machines of Tencent Cloud: of Kubernetes, of templates, and what is attached."""

from __future__ import annotations

import base64
from dataclasses import fields
from typing import Any

import pytest

from gpuyard_policy.facts import Facts, NodePoolFact, Record, Unknown, collect_facts
from gpuyard_policy.facts.model import NOT_READ
from tests.policy.resources import record

MACHINE = "tencentcloud:Instance/instance:Instance"
TEMPLATE = "tencentcloud:Cvm/launchTemplate:LaunchTemplate"
MACHINES = "tencentcloud:Instance/set:Set"
WORKSPACE = "tencentcloud:Thpc/workspaces:Workspaces"
GROUP = "tencentcloud:As/scalingGroup:ScalingGroup"
CONFIGURATION = "tencentcloud:As/scalingConfig:ScalingConfig"
HOOK = "tencentcloud:As/lifecycleHook:LifecycleHook"
NODE_POOL = "tencentcloud:Kubernetes/nodePool:NodePool"
NATIVE_POOL = "tencentcloud:Kubernetes/nativeNodePool:NativeNodePool"
WORKERS = "tencentcloud:Kubernetes/scaleWorker:ScaleWorker"
CLUSTER = "tencentcloud:Kubernetes/cluster:Cluster"
SUBNET = "tencentcloud:Subnet/instance:Instance"
SECURITY_GROUP = "tencentcloud:Security/group:Group"
ADDRESS = "tencentcloud:Eip/association:Association"
GROUP_ATTACHMENT = "tencentcloud:Cvm/securityGroupAttachment:SecurityGroupAttachment"
LATER = Unknown("known only after the update")
IN_A_TEMPLATE = Unknown("its launch template is not in this stack")


def of(kind: str, name: str, props: dict[str, Any], depends_on: Any = None) -> Record:
    return record(kind, name, props, depends_on, "ap-beijing")


def facts(*records: Record) -> Facts:
    found = collect_facts(records)
    assert found.problems == ()
    return found


def pool(*records: Record) -> NodePoolFact:
    (only,) = facts(*records).node_pools
    return only


def packed(script: str) -> str:
    return base64.b64encode(script.encode()).decode()


def disks_of(found: NodePoolFact) -> list[tuple[Any, ...]]:
    assert not isinstance(found.disks, Unknown)
    return [(one.role, one.disk_type, one.size_gib, one.encrypted) for one in found.disks]


BY_ACCOUNT = Unknown("the provider cannot ask for encryption of this disk: the account decides")
GROUPS = of(SECURITY_GROUP, "nodes", {"name": "nodes"})


# --- Kubernetes


def test_a_classic_pool_says_what_its_machines_are() -> None:
    scaling = {
        "instanceType": "GN7.5XLARGE80",
        "orderlySecurityGroupIds": [LATER],
        "systemDiskType": "CLOUD_SSD",
        "systemDiskSize": 100.0,
        "dataDisks": [{"diskType": "CLOUD_HSSD", "diskSize": 500.0, "encrypt": True}],
    }
    config = {"userData": packed("curl metadata/spot/termination-time\n"), "preStartUserScript": packed("mount\n")}
    props = {"minSize": 1.0, "maxSize": 3.0, "autoScalingConfig": scaling, "nodeConfig": config}
    found = pool(GROUPS, of(NODE_POOL, "k", props, {"autoScalingConfig": [GROUPS.urn]}))
    assert found.security_groups == (GROUPS.urn,)
    assert disks_of(found) == [("root", "CLOUD_SSD", 100, BY_ACCOUNT), ("data", "CLOUD_HSSD", 500, True)]
    assert isinstance(found.user_data, str)
    assert found.user_data.splitlines()[0] == "mount"
    assert (found.handles_interruption, found.elastic) == (True, True)


@pytest.mark.parametrize(
    ("props", "elastic"),
    [
        ({"minSize": 1.0, "maxSize": 3.0, "enableAutoScale": False}, False),
        ({"minSize": LATER, "maxSize": 3.0}, LATER),
        ({"minSize": 1.0, "maxSize": 3.0, "enableAutoScale": LATER}, LATER),
        ({"minSize": 2.0, "maxSize": 2.0}, False),
    ],
)
def test_a_pool_changes_its_size_where_that_is_switched_on(props: dict[str, Any], elastic: Any) -> None:
    assert pool(of(NODE_POOL, "k", props)).elastic == elastic


def test_a_second_type_that_is_not_known_leaves_the_types_open() -> None:
    scaling = {"instanceType": "GN7.5XLARGE80", "backupInstanceTypes": LATER}
    assert pool(of(NODE_POOL, "k", {"autoScalingConfig": scaling})).instance_types == LATER


def native(**inside: Any) -> NodePoolFact:
    good = {"instanceTypes": ["PNV4.7XLARGE116"], "replicas": 2.0, "subnetIds": [LATER], "securityGroupIds": ["sg-1"]}
    subnet = of(SUBNET, "s", {"availabilityZone": "ap-beijing-5"})
    props = {
        "native": {**good, **inside},
        "tags": [{"resourceType": "machine", "tags": [{"key": "gpuyard:task", "value": "inference"}]}],
    }
    return pool(subnet, of(NATIVE_POOL, "n", props, {"native": [subnet.urn]}))


def test_a_native_pool_says_what_its_machines_are() -> None:
    found = native(
        systemDisk={"diskType": "CLOUD_SSD", "diskSize": 100.0},
        dataDisks=[{"diskType": "CLOUD_HSSD", "diskSize": 500.0, "encrypt": "ENCRYPT"}, {"diskType": "CLOUD_SSD"}],
        lifecycle={"preInit": packed("echo before"), "postInit": "pip install torch==2.14.0"},
    )
    assert disks_of(found) == [
        ("root", "CLOUD_SSD", 100, BY_ACCOUNT),
        ("data", "CLOUD_HSSD", 500, True),
        ("data", "CLOUD_SSD", None, False),
    ]
    assert found.user_data == "echo before\npip install torch==2.14.0"
    assert (found.tags, found.security_groups, found.zones) == (
        {"gpuyard:task": "inference"},
        ("sg-1",),
        ("ap-beijing-5",),
    )
    assert (found.public_address, found.spot_price_limit, found.handles_interruption) == (False, None, False)


@pytest.mark.parametrize(
    ("inside", "nodes", "elastic"),
    [
        ({"scaling": {"minReplicas": 1.0, "maxReplicas": 4.0}, "enableAutoscaling": True}, (1, 4), True),
        ({"scaling": {"minReplicas": 1.0, "maxReplicas": 4.0}, "enableAutoscaling": False}, (2, 2), False),
        ({"scaling": {"minReplicas": LATER, "maxReplicas": 4.0}, "enableAutoscaling": True}, (LATER, 4), LATER),
        ({}, (2, 2), False),
    ],
)
def test_a_native_pool_has_its_replicas_or_what_it_scales_to(inside: Any, nodes: Any, elastic: Any) -> None:
    found = native(**inside)
    assert ((found.nodes_min, found.nodes_max), found.elastic) == (nodes, elastic)


def test_a_native_pool_with_bandwidth_is_in_the_internet() -> None:
    access = {"chargeType": "TRAFFIC_POSTPAID_BY_HOUR", "maxBandwidthOut": 10.0}
    assert native(internetAccessible=access).public_address is True
    assert native(internetAccessible={**access, "maxBandwidthOut": LATER}).public_address == LATER


CONFIG = {
    "instanceType": "HCCPNV4h.48XLARGE1024",
    "availabilityZone": "ap-beijing-5",
    "subnetId": "subnet-1",
    "count": 4.0,
    "hpcClusterId": LATER,
    "imgId": "img-1",
    "securityGroupIds": ["sg-1"],
    "systemDiskType": "CLOUD_SSD",
    "systemDiskSize": 100.0,
    "dataDisks": [{"diskType": "CLOUD_HSSD", "diskSize": 500.0, "encrypt": LATER}],
    "userData": packed("echo inside"),
}


def test_workers_that_join_a_cluster_are_a_pool() -> None:
    tags = [{"key": "gpuyard:task", "value": "pretrain"}]
    props = {
        "workerConfig": {**CONFIG, "tags": tags},
        "userScript": packed("echo after"),
        "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}],
    }
    found = pool(of(WORKERS, "w", props))
    assert (found.instance_types, found.nodes_min, found.nodes_max) == (("HCCPNV4h",), 4, 4)
    assert (found.placement, found.rdma_interfaces, found.zones) == ("close", 1, ("ap-beijing-5",))
    assert (found.tags, found.taints) == ({"gpuyard:task": "pretrain"}, ("nvidia.com/gpu",))
    assert (found.user_data, found.image_pinned, found.security_groups) == ("echo inside\necho after", True, ("sg-1",))
    assert disks_of(found)[1] == ("data", "CLOUD_HSSD", 500, LATER)


def test_a_cluster_is_as_many_pools_as_it_has_kinds_of_workers() -> None:
    other = {"instanceType": "S5.LARGE8", "availabilityZone": "ap-beijing-6", "disasterRecoverGroupIds": "ps-1"}
    cluster = of(CLUSTER, "c", {"tags": {"gpuyard:cluster": "lab"}, "workerConfigs": [CONFIG, other]})
    found = facts(cluster).node_pools
    assert [(one.nodes_max, one.placement, one.zones) for one in found] == [
        (4, "close", ("ap-beijing-5",)),
        (1, "spread", ("ap-beijing-6",)),
    ]
    assert {one.urn for one in found} == {cluster.urn}
    assert [one.tags for one in found] == [{"gpuyard:cluster": "lab"}] * 2
    assert facts(of(CLUSTER, "c", {})).node_pools == ()
    assert pool(of(CLUSTER, "c", {"workerConfigs": LATER})).instance_types == LATER


# --- machines, and what belongs to them


@pytest.mark.parametrize(
    ("asked", "bandwidth", "public"),
    [
        (True, None, True),
        (None, 10.0, True),
        (False, 10.0, False),
        (LATER, None, LATER),
        (LATER, 10.0, True),
        (None, LATER, LATER),
        (False, LATER, False),
        ("true", None, True),
        (None, None, False),
    ],
)
def test_an_address_is_given_as_is_asked_else_where_there_is_bandwidth(asked: Any, bandwidth: Any, public: Any) -> None:
    props = {"instanceType": "x", "allocatePublicIp": asked, "internetMaxBandwidthOut": bandwidth}
    assert pool(of(MACHINE, "m", props)).public_address == public


@pytest.mark.parametrize("by_id", [True, False])
def test_an_address_and_a_group_that_are_attached_are_the_machines(by_id: bool) -> None:
    machine = of(
        MACHINE, "m", {"instanceType": "x", "orderlySecurityGroups": ["sg-1"]} | ({"id": "i"} if by_id else {})
    )
    named = ("i", {}) if by_id else (LATER, {"instanceId": [machine.urn]})
    address = of(ADDRESS, "a", {"eipId": "eip-1", "instanceId": named[0]}, named[1])
    group = of(GROUP_ATTACHMENT, "g", {"securityGroupId": "sg-2", "instanceId": named[0]}, named[1])
    found = pool(machine, address, group)
    assert (found.public_address, found.security_groups) == (True, ("sg-1", "sg-2"))
    other = of(ADDRESS, "a", {"eipId": "eip-1", "instanceId": "ins-of-another"})
    assert pool(machine, other).public_address is False


def test_security_groups_are_known_only_when_all_are() -> None:
    named = {"orderlySecurityGroups": ["sg-1", LATER]}
    assert pool(of(MACHINE, "m", named)).security_groups == LATER
    both = pool(GROUPS, of(MACHINE, "m", named, {"orderlySecurityGroups": [GROUPS.urn]}))
    assert both.security_groups == (GROUPS.urn, "sg-1")


def test_disks_that_are_not_known_are_not_taken_for_none() -> None:
    assert pool(of(MACHINE, "m", {"instanceType": "x", "dataDisks": LATER})).disks == LATER


def test_a_scaling_configuration_cannot_ask_for_encryption() -> None:
    """The SDK has no argument for it, so that its absence is no fault of the program."""
    configuration = of(CONFIGURATION, "c", {"dataDisks": [{"diskType": "CLOUD_SSD", "diskSize": 100.0}]})
    found = pool(configuration, of(GROUP, "g", {"configurationId": LATER}, {"configurationId": [configuration.urn]}))
    assert disks_of(found)[1] == ("data", "CLOUD_SSD", 100, BY_ACCOUNT)


def test_a_workspace_says_what_disks_it_has() -> None:
    props = {
        "systemDisk": {"diskType": "CLOUD_SSD", "diskSize": 100.0},
        "dataDisks": [{"diskType": "CLOUD_HSSD", "diskSize": 500.0, "encrypt": True}],
        "internetAccessible": {"internetMaxBandwidthOut": 5.0},
        "disasterRecoverGroupId": "ps-1",
    }
    found = pool(of(WORKSPACE, "w", props))
    assert disks_of(found) == [("root", "CLOUD_SSD", 100, BY_ACCOUNT), ("data", "CLOUD_HSSD", 500, True)]
    assert (found.public_address, found.placement, found.rdma_interfaces) == (True, "spread", 0)
    assert pool(of(WORKSPACE, "w", {"tagSpecifications": LATER})).tags == LATER


def test_a_hook_of_which_nobody_knows_what_it_waits_for_is_no_no() -> None:
    configuration = of(CONFIGURATION, "c", {"instanceTypes": ["x"]})
    group = of(GROUP, "g", {"configurationId": LATER}, {"configurationId": [configuration.urn]})
    hook = of(HOOK, "h", {"lifecycleTransition": LATER, "scalingGroupId": LATER}, {"scalingGroupId": [group.urn]})
    assert pool(configuration, group, hook).handles_interruption == LATER


@pytest.mark.parametrize("kind", [MACHINE, MACHINES, WORKSPACE, GROUP, NODE_POOL, NATIVE_POOL, WORKERS, TEMPLATE])
def test_nothing_of_a_pool_is_left_unread(kind: str) -> None:
    found = pool(of(kind, "p", {}))
    unread = [one.name for one in fields(found) if getattr(found, one.name) == NOT_READ]
    assert unread == []


# --- zones


@pytest.mark.parametrize(
    ("subnets", "zones"),
    [
        (["subnet-here"], ("ap-beijing-5",)),
        (["subnet-here", "subnet-of-another"], Unknown("its subnet is not in this stack")),
        (["subnet-here", LATER], LATER),
        ([LATER], LATER),
        (LATER, LATER),
        ([], ()),
    ],
)
def test_zones_are_known_only_when_every_subnet_is(subnets: Any, zones: Any) -> None:
    subnet = of(SUBNET, "s", {"availabilityZone": "ap-beijing-5", "id": "subnet-here"})
    assert pool(subnet, of(GROUP, "g", {"subnetIds": subnets})).zones == zones


def test_a_zone_that_is_named_says_more_than_a_subnet() -> None:
    found = pool(of(MACHINE, "m", {"availabilityZone": "ap-beijing-5", "subnetId": "subnet-of-another"}))
    assert found.zones == ("ap-beijing-5",)


@pytest.mark.parametrize(
    ("second", "zones"),
    [
        ("ap-beijing-5", ("ap-beijing-5",)),
        ("ap-beijing-6", Unknown("it is in one of several subnets, in zones of their own")),
    ],
)
def test_workers_of_several_subnets_are_not_taken_for_spread(second: str, zones: Any) -> None:
    subnets = [of(SUBNET, name, {"availabilityZone": zone}) for name, zone in (("a", "ap-beijing-5"), ("b", second))]
    configs = [{"instanceType": "S5.LARGE8", "subnetId": LATER}] * 2
    cluster = of(CLUSTER, "c", {"workerConfigs": configs}, {"workerConfigs": [one.urn for one in subnets]})
    assert [one.zones for one in facts(*subnets, cluster).node_pools] == [zones] * 2


# --- launch templates


def template(**props: Any) -> Record:
    good = {
        "instanceType": "GT4.4XLARGE96",
        "imageId": "img-1",
        "placement": {"zone": "ap-beijing-5"},
        "instanceMarketOptions": {"marketType": "spot", "spotOptions": {"maxPrice": "2.5"}},
        "disasterRecoverGroupIds": ["ps-1"],
        "securityGroupIds": [LATER],
        "internetAccessible": {"publicIpAssigned": True, "internetMaxBandwidthOut": 5.0},
        "systemDisk": {"diskType": "CLOUD_SSD", "diskSize": 100.0},
        "dataDisks": [{"diskType": "CLOUD_HSSD", "diskSize": 500.0, "encrypt": True}],
        "userData": packed("echo from the template"),
        "tagSpecifications": [
            {"resourceType": "instance", "tags": [{"key": "gpuyard:task", "value": "lora"}]},
            {"resourceType": "volume", "tags": [{"key": "gpuyard:task", "value": "none"}]},
        ],
    }
    return of(TEMPLATE, "t", {**good, **props}, {"securityGroupIds": [GROUPS.urn]})


def launched(given: Record, **props: Any) -> NodePoolFact:
    named = {"launchTemplateId": LATER, **props}
    return pool(GROUPS, given, of(MACHINE, "m", named, {"launchTemplateId": [given.urn]}))


@pytest.mark.parametrize("by_itself", [True, False])
def test_a_machine_is_what_its_template_says(by_itself: bool) -> None:
    found = pool(GROUPS, template()) if by_itself else launched(template())
    assert (found.instance_types, found.image, found.zones) == (("GT4.4XLARGE96",), "img-1", ("ap-beijing-5",))
    assert (found.purchase, found.spot_price_limit, found.placement) == ("spot", 2.5, "spread")
    assert (found.security_groups, found.public_address) == ((GROUPS.urn,), True)
    assert (found.user_data, found.tags) == ("echo from the template", {"gpuyard:task": "lora"})
    assert disks_of(found) == [("root", "CLOUD_SSD", 100, BY_ACCOUNT), ("data", "CLOUD_HSSD", 500, True)]
    assert (found.name, found.nodes_max) == (("t", None) if by_itself else ("m", 1))


def test_a_machine_says_more_than_its_template() -> None:
    own = {"instanceType": "GT4.8XLARGE192", "allocatePublicIp": False, "userDataRaw": "echo mine", "imageId": None}
    found = launched(template(hpcClusterId=LATER), **own, tags={"gpuyard:task": "vision"})
    assert (found.instance_types, found.public_address) == (("GT4.8XLARGE192",), False)
    assert (found.user_data, found.image, found.tags) == ("echo mine", "img-1", {"gpuyard:task": "vision"})
    assert (found.placement, found.rdma_interfaces) == ("close", 1)


@pytest.mark.parametrize("given", [{"launchTemplateId": "lt-of-another"}, {"launchTemplateVersion": 2.0}])
def test_what_is_in_a_template_of_another_stack_or_version_is_not_known(given: dict[str, Any]) -> None:
    found = launched(template(), **given) if "launchTemplateVersion" in given else pool(of(MACHINE, "m", given))
    for name in (
        *("instance_types", "purchase", "placement", "rdma_interfaces", "public_address", "security_groups"),
        *("disks", "user_data", "image", "spot_price_limit", "zones", "handles_interruption"),
    ):
        assert getattr(found, name) == IN_A_TEMPLATE, name


@pytest.mark.parametrize("key", ["instanceMarketOptions", "tagSpecifications", "dataDisks"])
def test_what_a_template_leaves_open_stays_open(key: str) -> None:
    found = launched(template(**{key: LATER}))
    field = {"instanceMarketOptions": "purchase", "tagSpecifications": "tags", "dataDisks": "disks"}[key]
    assert getattr(found, field) == (LATER if key != "tagSpecifications" else {})
