"""Facts of Alibaba Cloud resources, raw ones and gpuyard's own."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest

from gpuyard_policy.facts import NodePoolFact, Record, Unknown
from gpuyard_policy.facts import alicloud as facts
from gpuyard_policy.facts.alicloud_access import POLICY as RAM_POLICY
from gpuyard_policy.facts.alicloud_buckets import ACL, BLOCK, BUCKET, REPLICATION
from gpuyard_policy.facts.alicloud_buckets import POLICY as BUCKET_POLICY
from gpuyard_policy.facts.alicloud_file_systems import CPFS_AS_MADE, FILE_SYSTEM
from gpuyard_policy.facts.alicloud_machines import NO_TOKENS
from gpuyard_policy.facts.alicloud_network import RULE, SECURITY_GROUP
from gpuyard_policy.facts.alicloud_operations import ALARM
from gpuyard_policy.facts.alicloud_operations import TEMPLATE as ALARM_TEMPLATE
from gpuyard_policy.facts.alicloud_pools import CONFIGURATION, GROUP, INSTANCE, NODE_POOL
from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import StorageFact
from tests.policy.resources import record

LATER = Unknown("'x' is known only after the update")
ATTACHMENT = "alicloud:ecs/ecsAutoSnapshotPolicyAttachment:EcsAutoSnapshotPolicyAttachment"
SET = "alicloud:ecs/ecsDeploymentSet:EcsDeploymentSet"
TEMPLATE = "alicloud:ecs/ecsLaunchTemplate:EcsLaunchTemplate"
SWITCH = "alicloud:vpc/switch:Switch"
SCHEDULE = "alicloud:ecs/autoSnapshotPolicy:AutoSnapshotPolicy"
EX = "ecs.ebmgn7ex.32xlarge"


def made(
    kind: str, name: str, props: Mapping[str, Any], depends_on: Mapping[str, Sequence[str]] | None = None
) -> Record:
    return record(kind, name, props, depends_on, region="cn-beijing")


def read_by(reader: Callable[[Record, Among], Iterable[Any]], one: Record, *others: Record) -> Any:
    (found,) = reader(one, Among([one, *others]))
    return found


def pool_of(one: Record, *others: Record) -> NodePoolFact:
    return read_by(facts.node_pools, one, *others)


def machine(**props: Any) -> NodePoolFact:
    return pool_of(made(INSTANCE, "one", {"instanceType": EX, **props}))


# --- machines


def test_a_machine_is_a_pool_of_one():
    found = machine(tags={"gpuyard:task": "pretrain"})
    assert (found.instance_types, found.nodes_min, found.nodes_max, found.elastic) == ((EX,), 1, 1, False)
    assert (found.region, found.tags) == ("cn-beijing", {"gpuyard:task": "pretrain"})


@pytest.mark.parametrize("value", [None, 17.0])
def test_a_machine_without_a_type_says_so(value: Any):
    assert machine(instanceType=value).instance_types == Unknown("it names no instance type")


def test_a_type_that_is_known_later_stays_unknown():
    assert machine(instanceType=LATER).instance_types == LATER


@pytest.mark.parametrize(
    ("props", "purchase"),
    [
        ({}, "on_demand"),
        ({"instanceChargeType": "PostPaid", "privatePoolOptionsMatchCriteria": "None"}, "on_demand"),
        ({"instanceChargeType": "PrePaid"}, "prepaid"),
        ({"spotStrategy": "SpotAsPriceGo"}, "spot"),
        ({"privatePoolOptionsMatchCriteria": "Target"}, "reserved"),
        ({"spotStrategy": LATER}, LATER),
    ],
)
def test_how_a_machine_is_bought(props: dict[str, Any], purchase: str):
    assert machine(**props).purchase == purchase


@pytest.mark.parametrize(
    ("props", "count"),
    [
        ({}, 0),
        ({"networkInterfaceTrafficMode": "Standard"}, 0),
        ({"networkInterfaceTrafficMode": "HighPerformance"}, 1),
        (
            {
                "networkInterfaceTrafficMode": "HighPerformance",
                "networkInterfaces": {"networkInterfaceTrafficMode": "HighPerformance"},
            },
            2,
        ),
        ({"hpcClusterId": "hpc-1"}, 1),
        ({"networkInterfaceTrafficMode": LATER}, LATER),
    ],
)
def test_rdma_interfaces_are_counted(props: dict[str, Any], count: Any):
    assert machine(**props).rdma_interfaces == count


@pytest.mark.parametrize(("strategy", "placement"), [("LowLatency", "close"), ("Availability", "spread")])
def test_a_deployment_set_says_how_close(strategy: str, placement: str):
    placed = made(SET, "set", {"strategy": strategy})
    by_value = made(INSTANCE, "one", {"instanceType": EX, "deploymentSetId": LATER}, {"deploymentSetId": [placed.urn]})
    assert pool_of(by_value, placed).placement == placement
    by_id = made(INSTANCE, "one", {"instanceType": EX, "deploymentSetId": "ds-1"})
    assert pool_of(by_id, made(SET, "set", {"id": "ds-1", "strategy": strategy})).placement == placement


def test_a_set_outside_the_stack_is_unknown_and_none_is_none():
    assert machine(deploymentSetId="ds-1").placement == Unknown("its deployment set is not in this stack")
    assert machine().placement is None
    assert machine(hpcClusterId="hpc-1").placement == "close"


def test_metadata_address_and_user_data():
    data = base64.b64encode(b"#cloud-config\n").decode()
    found = machine(httpTokens="required", internetMaxBandwidthOut=0.0, userData=data)
    assert (found.metadata_hardened, found.public_address, found.user_data) == (True, False, "#cloud-config\n")
    open_one = machine(internetMaxBandwidthOut=5.0, userData="#!/bin/sh")
    assert (open_one.metadata_hardened, open_one.public_address, open_one.user_data) == (False, True, "#!/bin/sh")


RELEASE = "aliyun_3_x64_20G_alibase_20250117.vhd"
PINNED = [
    (RELEASE, True),
    ("aliyun_3_9_x64_20G_uefi_alibase_20231219.vhd", True),
    ("m-bp1f0a1b2c3d4e5f6a7b", True),
    ("^aliyun_3_x64_20G_alibase_", False),
    ("aliyun_3_x64_20G_alibase.vhd", False),
    ("acs:ecs:aliyun-family", False),
    ("", False),
    (None, False),
    (17.0, False),
    (LATER, LATER),
]


@pytest.mark.parametrize(("image", "pinned"), PINNED)
def test_an_image_stays_when_it_is_named_by_id(image: Any, pinned: Any):
    assert machine(imageId=image).image_pinned == pinned
    assert scaled(configuration={"imageId": image}).image_pinned == pinned
    assert pool_of(made(NODE_POOL, "k", {"instanceTypes": [EX], "imageId": image})).image_pinned == pinned


def test_a_family_or_a_name_is_looked_up_anew():
    found = machine(imageFamily="acs:alibaba_cloud_linux_3_2104_lts_x64")
    assert (found.image, found.image_pinned) == (None, False)
    named = scaled(configuration={"imageName": "trainer"})
    assert (named.image, named.image_pinned) == ("trainer", False)
    both = scaled(configuration={"imageName": "trainer", "imageId": RELEASE})
    assert (both.image, both.image_pinned) == (RELEASE, True)


@pytest.mark.parametrize(
    ("options", "hardened"),
    [
        ({"httpTokens": "required"}, True),
        ({"httpEndpoint": "disabled"}, True),
        ({"httpEndpoint": "disabled", "httpTokens": LATER}, True),
        ({"httpTokens": "optional"}, False),
        ({"httpTokens": True}, False),
        ({}, False),
        ({"httpTokens": LATER}, LATER),
        ({"httpEndpoint": LATER}, LATER),
    ],
)
def test_whether_a_machine_asks_for_tokens(options: dict[str, Any], hardened: Any):
    assert machine(**options).metadata_hardened == hardened
    assert templated(options).metadata_hardened == hardened


def test_disks_of_a_machine_have_their_level_and_policies():
    policy = made(SCHEDULE, "policy", {})
    one = made(
        INSTANCE,
        "one",
        {
            "instanceType": EX,
            "systemDiskCategory": "cloud_essd",
            "systemDiskPerformanceLevel": "PL1",
            "systemDiskSize": 200.0,
            "systemDiskEncrypted": True,
            "dataDisks": [{"category": "cloud_efficiency", "size": 100.0, "autoSnapshotPolicyId": LATER}],
        },
        {"dataDisks": [policy.urn]},
    )
    attachment = made(ATTACHMENT, "a", {}, {"autoSnapshotPolicyId": [policy.urn], "diskId": [one.urn]})
    found = pool_of(one, policy, attachment)
    assert not isinstance(found.disks, Unknown)
    system, data = found.disks
    assert (system.role, system.disk_type, system.size_gib, system.encrypted) == ("root", "cloud_essd PL1", 200, True)
    assert system.schedules == data.schedules == (policy.urn,)
    assert (data.role, data.disk_type, data.encrypted) == ("data", "cloud_efficiency", False)


def test_a_machine_is_where_its_vswitch_is():
    switch = made(SWITCH, "s", {"zoneId": "cn-shanghai-b"})
    one = made(INSTANCE, "one", {"instanceType": EX, "vswitchId": LATER}, {"vswitchId": [switch.urn]})
    found = pool_of(one, switch)
    assert (found.zones, found.region) == (("cn-shanghai-b",), "cn-shanghai")


def test_security_groups_are_found_by_value_and_by_id():
    group = made(SECURITY_GROUP, "g", {"id": "sg-1"})
    by_id = made(INSTANCE, "one", {"instanceType": EX, "securityGroups": ["sg-1", "sg-elsewhere"]})
    assert pool_of(by_id, group).security_groups == (group.urn, "sg-elsewhere")


# --- scaling groups


def scaled(
    group: dict[str, Any] | None = None, configuration: dict[str, Any] | None = None, *more: Record
) -> NodePoolFact:
    one = made(GROUP, "g", {"minSize": 0.0, "maxSize": 4.0, "tags": {"a": "group"}, **(group or {})})
    other = made(
        CONFIGURATION,
        "c",
        {"instanceTypes": ["ecs.gn7i-c8g1.2xlarge"], "tags": {"gpuyard:task": "lora"}, **(configuration or {})},
        {"scalingGroupId": [one.urn]},
    )
    return pool_of(one, other, *more)


def test_a_group_has_the_types_and_tags_of_its_configuration():
    found = scaled()
    assert found.instance_types == ("ecs.gn7i-c8g1.2xlarge",)
    assert (found.nodes_min, found.nodes_max, found.elastic) == (0, 4, True)
    assert found.tags == {"a": "group", "gpuyard:task": "lora"}


@pytest.mark.parametrize(
    ("group", "configuration", "purchase"),
    [
        ({}, {"spotStrategy": "SpotWithPriceLimit", "spotPriceLimits": [{"priceLimit": 3.5}]}, "spot"),
        ({"onDemandBaseCapacity": 1.0}, {"spotStrategy": "SpotAsPriceGo"}, "mixed"),
        ({"capacityOptionsOnDemandPercentageAboveBaseCapacity": 20.0}, {"spotStrategy": "SpotAsPriceGo"}, "mixed"),
        ({"onDemandBaseCapacity": 0.0}, {"spotStrategy": "SpotAsPriceGo"}, "spot"),
        ({}, {"resourcePoolOptionsStrategy": "PrivatePoolOnly"}, "reserved"),
    ],
)
def test_how_a_group_buys(group: dict[str, Any], configuration: dict[str, Any], purchase: str):
    found = scaled(group, configuration)
    assert found.purchase == purchase
    assert found.spot_price_limit == (3.5 if "spotPriceLimits" in configuration else None)


def test_types_by_attributes_are_unknown():
    found = scaled(configuration={"instanceTypes": None, "instancePatternInfos": [{"cores": 8.0}]})
    assert found.instance_types == Unknown("its machines are chosen by attributes, not by type")


def test_a_group_without_configuration_says_so():
    found = pool_of(made(GROUP, "g", {"minSize": 2.0, "maxSize": 2.0}))
    assert found.instance_types == Unknown("its scaling configuration is not in this stack")
    assert found.elastic is False


@pytest.mark.parametrize(
    ("options", "hardened"),
    [
        ({"httpEndpoint": "disabled"}, True),
        ({"httpEndpoint": "enabled"}, NO_TOKENS),
        ({}, NO_TOKENS),
        ({"httpEndpoint": 17.0}, NO_TOKENS),
        ({"httpEndpoint": LATER}, LATER),
        ({"httpTokens": "optional"}, False),
        ({"httpTokens": "required"}, True),
    ],
)
def test_a_scaling_configuration_cannot_ask_for_tokens(options: dict[str, Any], hardened: Any):
    assert scaled(configuration=options).metadata_hardened == hardened


def templated(props: dict[str, Any], **group: Any) -> NodePoolFact:
    template = made(TEMPLATE, "t", {"instanceType": EX, "imageId": RELEASE, **props})
    named = {"minSize": 0.0, "maxSize": 2.0, "launchTemplateId": LATER, **group}
    return pool_of(made(GROUP, "g", named, {"launchTemplateId": [template.urn]}), template)


def test_a_group_may_take_its_machines_from_a_launch_template():
    found = templated({"httpTokens": "required", "userData": "#!/bin/sh"}, tags={"a": "group"})
    assert (found.instance_types, found.metadata_hardened, found.user_data) == ((EX,), True, "#!/bin/sh")
    assert (found.image, found.image_pinned, found.tags) == (RELEASE, True, {"a": "group"})
    other = templated({}, launchTemplateVersion="Latest", launchTemplateOverrides=[{"instanceType": "ecs.gn7i-2x"}])
    assert (other.instance_types, other.image_pinned) == (("ecs.gn7i-2x",), False)
    assert templated({}, launchTemplateOverrides=LATER).instance_types == LATER
    assert templated({"imageId": LATER}).image_pinned == LATER


def test_a_launch_template_is_found_by_id_or_is_unknown():
    by_id = made(GROUP, "g", {"launchTemplateId": "lt-1"})
    template = made(TEMPLATE, "t", {"id": "lt-1", "instanceType": EX})
    assert pool_of(by_id, template).instance_types == (EX,)
    elsewhere = Unknown("its launch template is not in this stack")
    found = pool_of(by_id)
    assert (found.instance_types, found.metadata_hardened, found.image_pinned) == (elsewhere, elsewhere, elsewhere)


@pytest.mark.parametrize(
    ("options", "hardened"),
    [
        ({"httpTokens": "required"}, True),
        ({"httpTokens": "optional"}, False),
        (None, False),
        ("required", False),
        (LATER, LATER),
        ({"httpTokens": LATER}, LATER),
    ],
)
def test_whether_a_kubernetes_pool_asks_for_tokens(options: Any, hardened: Any):
    one = made(NODE_POOL, "k", {"instanceTypes": [EX], "instanceMetadataOptions": options})
    assert pool_of(one).metadata_hardened == hardened


def test_a_hook_is_told_before_a_node_goes():
    assert scaled().handles_interruption is False
    hook = made(
        "alicloud:ess/lifecycleHook:LifecycleHook",
        "h",
        {"lifecycleTransition": "SCALE_IN"},
        {"scalingGroupId": [f"{urn_of_group()}"]},
    )
    assert scaled({}, {}, hook).handles_interruption is True


def urn_of_group() -> str:
    return made(GROUP, "g", {}).urn


def test_a_kubernetes_pool_has_taints():
    one = made(
        NODE_POOL,
        "k",
        {
            "instanceTypes": [EX],
            "scalingConfig": {"enable": True, "minSize": 0.0, "maxSize": 3.0},
            "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
        },
    )
    found = pool_of(one)
    assert (found.instance_types, found.nodes_max, found.elastic) == ((EX,), 3, True)
    assert found.taints == ("nvidia.com/gpu",)


# --- storage


def bucket(props: dict[str, Any] | None = None, *others: tuple[str, dict[str, Any]]) -> StorageFact:
    one = made(BUCKET, "b", {"bucket": "b-1", **(props or {})})
    more = [made(kind, f"m{number}", given, {"bucket": [one.urn]}) for number, (kind, given) in enumerate(others)]
    return read_by(facts.buckets, one, *more)


def test_a_bare_bucket_is_neither_encrypted_nor_closed_to_plain_http():
    found = bucket({"acl": "public-read"})
    assert (found.encrypted, found.public, found.https_only, found.expires) == (False, True, False, False)
    assert (found.region, found.is_replica) == ("cn-beijing", False)


def test_a_bucket_is_judged_with_the_resources_that_belong_to_it():
    deny = {
        "Statement": [{"Effect": "Deny", "Condition": {"Bool": {"acs:SecureTransport": ["false"]}}}],
    }
    found = bucket(
        {
            "serverSideEncryptionRule": {"sseAlgorithm": "AES256"},
            "lifecycleRules": [{"enabled": True, "expirations": [{"days": 14.0}]}],
        },
        (ACL, {"acl": "private"}),
        (BUCKET_POLICY, {"policy": json.dumps(deny)}),
        (BLOCK, {"blockPublicAccess": True}),
    )
    assert (found.encrypted, found.public, found.https_only, found.expires) == (True, False, True, True)


def test_what_is_known_later_is_unknown():
    found = bucket({"serverSideEncryptionRule": LATER}, (BUCKET_POLICY, {"policy": LATER}))
    assert (found.encrypted, found.https_only) == (LATER, LATER)


def test_the_target_of_a_replication_is_a_replica():
    assert bucket({"tags": {"gpuyard:role": "replica"}}).is_replica is True
    assert bucket(None, (REPLICATION, {"destination": {"bucket": "b-1"}})).is_replica is True
    assert bucket(None, (REPLICATION, {"destination": {"bucket": "b-2"}})).is_replica is False


def test_a_parallel_file_system_is_in_its_zone():
    one = made(FILE_SYSTEM, "f", {"fileSystemType": "cpfs", "zoneId": "cn-hangzhou-b"})
    found = read_by(facts.file_systems, one)
    assert (found.parallel, found.zone, found.region) == (True, "cn-hangzhou-b", "cn-hangzhou")


def file_system(**props: Any) -> StorageFact:
    return read_by(facts.file_systems, made(FILE_SYSTEM, "f", props))


@pytest.mark.parametrize(
    ("kind", "asked", "encrypted"),
    [
        (None, None, False),
        ("standard", 1.0, True),
        ("extreme", 2.0, True),
        ("extreme", 0.0, False),
        ("extreme", "yes", False),
        ("extreme", LATER, LATER),
        ("cpfs", None, CPFS_AS_MADE),
        ("cpfsse", None, CPFS_AS_MADE),
        ("cpfs", "yes", CPFS_AS_MADE),
        ("cpfs", 0.0, False),
        ("cpfs", 1.0, True),
        ("cpfs", LATER, LATER),
        (LATER, None, LATER),
        (LATER, 1.0, True),
    ],
)
def test_whether_a_file_system_is_encrypted(kind: Any, asked: Any, encrypted: Any):
    assert file_system(fileSystemType=kind, encryptType=asked).encrypted == encrypted


def untold(storage: str) -> Unknown:
    return Unknown(f"the catalog does not tell the throughput of {storage}")


@pytest.mark.parametrize(
    ("kind", "storage", "capacity", "throughput"),
    [
        ("cpfs", "advance_100", 7200.0, 703.125),
        ("cpfs", "advance_200", 7200.0, 1406.25),
        ("cpfs", "advance_200", 1048576.0, 20000),
        ("cpfs", "economic", 7200.0, untold("cpfs economic")),
        ("cpfs", None, 7200.0, Unknown("it names no storage type")),
        ("cpfs", "advance_100", None, Unknown("it names no capacity")),
        ("cpfs", "advance_100", "7200", Unknown("it names no capacity")),
        ("cpfs", "advance_100", LATER, LATER),
        ("cpfs", LATER, 7200.0, LATER),
        ("cpfsse", "advance_100", 7200.0, untold("cpfsse advance_100")),
        ("extreme", "standard", 100.0, 150),
        ("extreme", "standard", 2048.0, 600),
        ("extreme", "standard", 9000.0, 1200),
        ("extreme", "standard", 50.0, untold("extreme standard")),
        ("extreme", "advance", 2048.0, untold("extreme advance")),
        ("extreme", "standard", LATER, LATER),
        ("standard", "Performance", None, None),
        (None, "Capacity", None, None),
        (17.0, "Capacity", None, None),
        (LATER, "advance_100", 7200.0, LATER),
    ],
)
def test_how_fast_a_file_system_is(kind: Any, storage: Any, capacity: Any, throughput: Any):
    found = file_system(fileSystemType=kind, protocolType="cpfs", storageType=storage, capacity=capacity)
    assert found.throughput_mb_per_s == throughput


# --- disks, schedules, groups, rights


def test_a_disk_by_itself_has_its_level():
    one = made(
        "alicloud:ecs/ecsDisk:EcsDisk",
        "d",
        {"category": "cloud_essd", "performanceLevel": "PL3", "size": 1500.0, "encrypted": True},
    )
    found = read_by(facts.disks, one)
    assert (found.disk_type, found.size_gib, found.encrypted, found.pool_urn) == ("cloud_essd PL3", 1500, True, None)


def test_a_schedule_is_attached_and_copies():
    one = made(
        SCHEDULE,
        "s",
        {
            "retentionDays": -1.0,
            "enableCrossRegionCopy": True,
            "targetCopyRegions": ["cn-hangzhou"],
            "copiedSnapshotsRetentionDays": 30.0,
            "copyEncryptionConfiguration": {"encrypted": True},
        },
    )
    disk = made("alicloud:ecs/ecsDisk:EcsDisk", "d", {})
    attachment = made(ATTACHMENT, "a", {}, {"autoSnapshotPolicyId": [one.urn], "diskId": [disk.urn]})
    found = read_by(facts.schedules, one, disk, attachment)
    assert (found.keep_days, found.target_tags, found.attached) == (None, None, (disk.urn,))
    (copy,) = found.copies
    assert (copy.region, copy.encrypted, copy.keep_days) == ("cn-hangzhou", True, 30)


@pytest.mark.parametrize(
    ("props", "inside", "out"),
    [
        ({}, True, True),
        ({"securityGroupType": "normal", "innerAccessPolicy": "Drop"}, False, True),
        ({"securityGroupType": "enterprise"}, False, False),
    ],
)
def test_a_normal_group_joins_its_members(props: dict[str, Any], inside: bool, out: bool):
    found = read_by(facts.security_groups, made(SECURITY_GROUP, "g", props))
    assert (found.open_to_itself_in, found.open_to_itself_out) == (inside, out)


def test_what_addresses_may_come_in_by():
    group = made(SECURITY_GROUP, "g", {})
    rule = {"type": "ingress", "cidrIp": "0.0.0.0/0", "portRange": "22/22", "ipProtocol": "tcp"}
    one = made(RULE, "r", rule, {"securityGroupId": [group.urn]})
    found = read_by(facts.security_groups, one, group)
    assert (found.group, found.cidr, found.ports, found.protocol) == (group.urn, "0.0.0.0/0", (22, 22), "tcp")
    everything = read_by(facts.security_groups, made(RULE, "r", {**rule, "portRange": "-1/-1"}))
    assert everything.ports is None
    for closed in ({**rule, "policy": "drop"}, {**rule, "type": "egress"}, {**rule, "cidrIp": None}):
        assert list(facts.security_groups(made(RULE, "r", closed), Among([]))) == []


def test_bare_wildcards_of_rights_are_named():
    document = {
        "Statement": [
            {"Effect": "Allow", "Action": ["oss:*", "oss:GetObject"], "Resource": "*"},
            {"Effect": "Deny", "Action": "*", "Resource": "*"},
        ]
    }
    found = read_by(facts.roles, made(RAM_POLICY, "p", {"policyDocument": json.dumps(document)}))
    assert found.wildcards == ("oss:*",)
    assert read_by(facts.roles, made(RAM_POLICY, "p", {"policyDocument": LATER})).wildcards == LATER


@pytest.mark.parametrize(
    ("metric", "watches"), [("instance_gpu_gpu_usedutilization", True), ("CPUUtilization", False), (LATER, LATER)]
)
def test_an_alarm_on_gpus_is_told_from_others(metric: Any, watches: Any):
    assert read_by(facts.alarms, made(ALARM, "a", {"metric": metric})).watches_gpus == watches


def test_a_template_of_alarms_watches_gpus_by_any_of_its_rules():
    rules = [{"metricName": "CPUUtilization"}, {"metricName": "gpu_gpu_usedutilization"}]
    template = made(ALARM_TEMPLATE, "t", {"alertTemplates": rules})
    assert read_by(facts.alarms, template).watches_gpus is True
    assert read_by(facts.alarms, made(ALARM_TEMPLATE, "t", {"alertTemplates": rules[:1]})).watches_gpus is False
    assert read_by(facts.alarms, made(ALARM_TEMPLATE, "t", {"alertTemplates": LATER})).watches_gpus == LATER


def test_every_reader_passes_over_what_it_does_not_know():
    stranger = made("alicloud:vpc/routeTable:RouteTable", "x", {})
    assert [fact for reader in facts.READERS for fact in reader(stranger, Among([stranger]))] == []
