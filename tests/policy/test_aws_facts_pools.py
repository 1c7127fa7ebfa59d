"""Facts of AWS node pools: each field good, bad, absent, unknown and of a wrong type."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gpuyard.sandbox.workspace import read_project
from gpuyard_policy.facts import NodePoolFact, Record, Unknown, collect_facts
from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.aws_pools import node_pools
from gpuyard_policy.facts.model import DiskFact
from gpuyard_policy.sources.in_process import run_stack
from tests.policy.resources import FLEET, GROUP, INSTANCE, NODE_GROUP, TEMPLATE, record

LATER = Unknown("'x' is known only after the update")
SUBNET = "aws:ec2/subnet:Subnet"
PLACEMENT = "aws:ec2/placementGroup:PlacementGroup"
SG = "aws:ec2/securityGroup:SecurityGroup"
CONFIGURATION = "aws:ec2/launchConfiguration:LaunchConfiguration"
SPOT_REQUEST = "aws:ec2/spotInstanceRequest:SpotInstanceRequest"
HOOK = "aws:autoscaling/lifecycleHook:LifecycleHook"
EVENT_RULE = "aws:cloudwatch/eventRule:EventRule"
BY_DEFAULT = "aws:ebs/encryptionByDefault:EncryptionByDefault"


def pool_of(one: Record, *others: Record) -> NodePoolFact:
    (found,) = node_pools(one, Among([one, *others]))
    return found


def group(template: dict[str, Any], *others: Record, depends: dict[str, Sequence[str]] | None = None, **props: Any):
    described = record(TEMPLATE, "t", {"instanceType": "p5.48xlarge", **template}, depends)
    own = {key: [one.urn for one in others if one.type == kind] for key, kind in (("vpcZoneIdentifiers", SUBNET),)}
    launched = record(
        GROUP, "g", {"launchTemplate": {"version": LATER}, **props}, {"launchTemplate": [described.urn], **own}
    )
    return pool_of(launched, described, *others)


def machine(*others: Record, **props: Any) -> NodePoolFact:
    return pool_of(record(INSTANCE, "m", {"instanceType": "g5.xlarge", **props}), *others)


@pytest.mark.parametrize(
    ("template", "purchase"),
    [
        ({}, "on_demand"),
        ({"instanceMarketOptions": {"marketType": "spot"}}, "spot"),
        ({"instanceMarketOptions": {"marketType": "capacity-block"}}, "capacity_block"),
        (
            {"capacityReservationSpecification": {"capacityReservationTarget": {"capacityReservationId": LATER}}},
            "reserved",
        ),
        ({"capacityReservationSpecification": {"capacityReservationPreference": "open"}}, "on_demand"),
        ({"instanceMarketOptions": LATER}, LATER),
        ({"instanceMarketOptions": 17}, "on_demand"),
        ({"instanceMarketOptions": {"marketType": "auction"}}, Unknown("'auction' is no market that is known")),
    ],
)
def test_a_template_says_how_machines_are_bought(template: dict[str, Any], purchase: Any) -> None:
    assert group(template).purchase == purchase


@pytest.mark.parametrize(
    ("distribution", "purchase"),
    [
        (None, "on_demand"),
        ({"onDemandPercentageAboveBaseCapacity": 100.0}, "on_demand"),
        ({"onDemandBaseCapacity": 0.0, "onDemandPercentageAboveBaseCapacity": 0.0}, "spot"),
        ({"onDemandBaseCapacity": 2.0, "onDemandPercentageAboveBaseCapacity": 0.0}, "mixed"),
        ({"onDemandPercentageAboveBaseCapacity": 50.0}, "mixed"),
        ({"onDemandPercentageAboveBaseCapacity": LATER}, LATER),
        ("odd", "on_demand"),
    ],
)
def test_a_mixed_group_buys_spot_for_the_share_that_is_left_to_it(distribution: Any, purchase: Any) -> None:
    template = record(TEMPLATE, "t", {"instanceType": "g5.xlarge"})
    mixed = {"instancesDistribution": distribution, "launchTemplate": {"overrides": [{"weightedCapacity": "1"}]}}
    found = pool_of(
        record(GROUP, "g", {"mixedInstancesPolicy": mixed}, {"mixedInstancesPolicy": [template.urn]}), template
    )
    assert (found.purchase, found.instance_types) == (purchase, ("g5.xlarge",))


@pytest.mark.parametrize(
    ("target", "purchase"),
    [
        ({"defaultTargetCapacityType": "spot"}, "spot"),
        ({"defaultTargetCapacityType": "spot", "onDemandTargetCapacity": 1.0}, "mixed"),
        ({"defaultTargetCapacityType": "on-demand", "spotTargetCapacity": 1.0}, "mixed"),
        ({"defaultTargetCapacityType": "on-demand"}, "on_demand"),
        ({"defaultTargetCapacityType": "capacity-block"}, "capacity_block"),
        ({"defaultTargetCapacityType": LATER}, LATER),
    ],
)
def test_a_fleet_buys_what_its_target_says(target: dict[str, Any], purchase: Any) -> None:
    template = record(TEMPLATE, "t", {"id": "lt-1", "instanceType": "g5.xlarge"})
    config = {
        "launchTemplateSpecification": {"launchTemplateId": "lt-1"},
        "overrides": [{"availabilityZone": "us-east-1a"}],
    }
    props = {"launchTemplateConfigs": [config], "targetCapacitySpecification": {"totalTargetCapacity": 4.0, **target}}
    found = pool_of(record(FLEET, "f", props), template)
    assert (found.purchase, found.nodes_min, found.nodes_max, found.zones) == (purchase, 4, 4, ("us-east-1a",))


def test_a_fleet_of_several_templates_says_that_it_cannot_be_told_as_one() -> None:
    templates = [record(TEMPLATE, name, {"id": name, "instanceType": f"{name}.xlarge"}) for name in ("g5", "g6")]
    configs = [{"launchTemplateSpecification": {"launchTemplateId": name}} for name in ("g5", "g6")]
    found = pool_of(record(FLEET, "f", {"launchTemplateConfigs": configs}), *templates)
    assert found.instance_types == ("g5.xlarge", "g6.xlarge")
    assert found.disks == Unknown("it launches from several launch templates")


def test_a_spot_request_is_spot_with_its_limit() -> None:
    found = pool_of(record(SPOT_REQUEST, "s", {"instanceType": "g5.xlarge", "spotPrice": "1.25"}))
    assert (found.purchase, found.spot_price_limit) == ("spot", 1.25)
    assert machine(
        instanceMarketOptions={"marketType": "spot", "spotOptions": {"maxPrice": "much"}}
    ).spot_price_limit == (Unknown("'much' is no price"))


def test_a_launch_configuration_describes_its_group() -> None:
    props = {
        "instanceType": "g5.xlarge",
        "spotPrice": "0.5",
        "imageId": "ami-1",
        "rootBlockDevice": {"encrypted": True},
    }
    configuration = record(CONFIGURATION, "c", {"name": "c", **props})
    found = pool_of(record(GROUP, "g", {"launchConfiguration": "c"}), configuration)
    assert (found.purchase, found.spot_price_limit, found.image) == ("spot", 0.5, "ami-1")
    assert isinstance(found.disks, tuple)
    assert [(disk.role, disk.encrypted) for disk in found.disks] == [("root", True)]
    absent = pool_of(record(GROUP, "g", {"launchConfiguration": "elsewhere"}))
    assert absent.purchase == Unknown("its launch configuration is not in this stack")


@pytest.mark.parametrize(
    ("interfaces", "count"),
    [
        (None, 0),
        ([{"interfaceType": "efa"}, {"interfaceType": "efa-only"}, {"deviceIndex": 0}], 2),
        ([{"interfaceType": "interface"}], 0),
        (LATER, LATER),
        ([{"interfaceType": LATER}], LATER),
        (3.0, 0),
    ],
)
def test_efa_interfaces_are_counted(interfaces: Any, count: Any) -> None:
    assert group({"networkInterfaces": interfaces}).rdma_interfaces == count


def test_a_machine_has_the_efa_interfaces_that_it_is_given() -> None:
    made = record("aws:ec2/networkInterface:NetworkInterface", "n", {"id": "eni-1", "interfaceType": "efa"})
    assert machine(made, networkInterfaces=[{"networkInterfaceId": "eni-1"}]).rdma_interfaces == 1
    absent = Unknown("one of its network interfaces is not in this stack")
    assert machine(networkInterfaces=[{"networkInterfaceId": "eni-2"}]).rdma_interfaces == absent


@pytest.mark.parametrize(("strategy", "placement"), [("cluster", "close"), ("spread", "spread"), (LATER, LATER)])
def test_a_placement_group_says_how_near(strategy: Any, placement: Any) -> None:
    placed = record(PLACEMENT, "p", {"name": "p", "strategy": strategy})
    assert group({"placement": {"groupName": "p"}}, placed).placement == placement
    assert (
        group({"placement": {"groupName": LATER}}, placed, depends={"placement": [placed.urn]}).placement == placement
    )
    assert group({}, placed, placementGroup="p").placement == placement


def test_no_placement_is_none_and_one_elsewhere_is_unknown() -> None:
    assert group({}).placement is None
    assert group({"placement": {"groupName": "x"}}).placement == Unknown("its placement group is not in this stack")
    assert group({"placement": LATER}).placement == LATER
    assert group({"placement": {"groupName": 3.0}}).placement == Unknown("its placement group is not in this stack")


def test_zones_and_addresses_come_from_subnets() -> None:
    closed = record(SUBNET, "a", {"availabilityZone": "us-east-1a"})
    opened = record(SUBNET, "b", {"availabilityZone": "us-east-1b", "mapPublicIpOnLaunch": True})
    one = group({}, closed, vpcZoneIdentifiers=[LATER])
    two = group({}, closed, opened, vpcZoneIdentifiers=[LATER, LATER])
    assert (one.zones, one.public_address) == (("us-east-1a",), False)
    assert (two.zones, two.public_address) == (("us-east-1a", "us-east-1b"), True)
    untold = group({}, closed, opened, vpcZoneIdentifiers=LATER)
    assert untold.zones == Unknown("which of several subnets it takes is known only after the update")
    assert group({}).zones == ()
    assert group({}, vpcZoneIdentifiers=["subnet-1"]).zones == Unknown("its subnets are not in this stack")
    assert group({}, vpcZoneIdentifiers=["subnet-1"]).public_address is None
    partly = group({}, closed, vpcZoneIdentifiers=[LATER, "subnet-9"])
    assert partly.zones == Unknown("some of its subnets are not in this stack")
    assert machine(availabilityZone="us-west-2a").zones == ("us-west-2a",)
    assert machine(availabilityZone=LATER).zones == LATER


@pytest.mark.parametrize(
    ("asked", "public"),
    [("true", True), ("false", False), (True, True), (None, None), (LATER, LATER), ("maybe", None)],
)
def test_an_interface_says_whether_it_gets_an_address(asked: Any, public: Any) -> None:
    assert group({"networkInterfaces": [{"associatePublicIpAddress": asked}]}).public_address == public


def test_an_elastic_address_makes_a_machine_public() -> None:
    node = record(INSTANCE, "m", {"instanceType": "g5.xlarge", "associatePublicIpAddress": False})
    eip = record("aws:ec2/eip:Eip", "e", {"instance": LATER}, {"instance": [node.urn]})
    assert pool_of(node).public_address is False
    assert pool_of(node, eip).public_address is True


@pytest.mark.parametrize(
    ("options", "hardened"),
    [
        ({"httpTokens": "required"}, True),
        ({"httpEndpoint": "disabled"}, True),
        ({"httpTokens": "optional"}, False),
        (None, False),
        ({}, False),
        (LATER, LATER),
        ({"httpTokens": LATER}, LATER),
        (17.0, False),
    ],
)
def test_the_metadata_service_asks_for_tokens(options: Any, hardened: Any) -> None:
    assert group({"metadataOptions": options}).metadata_hardened == hardened


def test_the_regions_default_counts_where_nothing_is_said() -> None:
    kind = "aws:ec2/instanceMetadataDefaults:InstanceMetadataDefaults"
    default = record(kind, "d", {"httpTokens": "required"})
    assert group({}, default).metadata_hardened is True
    assert group({"metadataOptions": {"httpTokens": "optional"}}, default).metadata_hardened is False
    assert group({}, record(kind, "d", {"httpTokens": "required", "region": "eu-west-1"})).metadata_hardened is False


def test_security_groups_are_urns_in_the_stack_and_ids_elsewhere() -> None:
    own = record(SG, "sg", {"id": "sg-1"})
    assert group({"vpcSecurityGroupIds": ["sg-1", "sg-2"]}, own).security_groups == (own.urn, "sg-2")
    by_interface = {"networkInterfaces": [{"securityGroups": [LATER]}]}
    assert group(by_interface, own, depends={"networkInterfaces": [own.urn]}).security_groups == (own.urn,)
    assert group(by_interface).security_groups == LATER
    assert group({}).security_groups == ()
    assert group({"vpcSecurityGroupIds": 17.0}).security_groups == ()


def disks_of(found: NodePoolFact) -> tuple[DiskFact, ...]:
    assert isinstance(found.disks, tuple)
    return found.disks


@pytest.mark.parametrize(
    ("encrypted", "fact"), [("true", True), (True, True), ("false", False), (None, False), (LATER, LATER), (1.0, False)]
)
def test_br_047_a_disk_that_asks_for_no_encryption_has_none(encrypted: Any, fact: Any) -> None:
    ebs = {"volumeType": "gp3", "volumeSize": 200.0, "iops": 3000.0, "throughput": 500.0, "encrypted": encrypted}
    (disk,) = disks_of(group({"blockDeviceMappings": [{"deviceName": "/dev/sda1", "ebs": ebs}]}))
    assert (disk.role, disk.disk_type, disk.size_gib, disk.iops) == ("root", "gp3", 200, 3000)
    assert disk.throughput_mb_per_s == pytest.approx(524.288)
    assert disk.encrypted == fact


def test_br_047_a_root_disk_that_is_not_mapped_is_not_told() -> None:
    assert disks_of(group({})) == ()
    data = [{"deviceName": "/dev/sdb", "ebs": {"encrypted": "true"}}, {"deviceName": "/dev/sdc", "virtualName": "e0"}]
    assert [disk.role for disk in disks_of(group({"blockDeviceMappings": data}))] == ["data"]
    assert group({"blockDeviceMappings": LATER}).disks == LATER


def test_a_region_that_encrypts_by_default_encrypts_the_root_disk_too() -> None:
    ((root),) = disks_of(group({}, record(BY_DEFAULT, "d", {})))
    assert (root.role, root.encrypted) == ("root", True)
    assert disks_of(group({}, record(BY_DEFAULT, "d", {"enabled": False}))) == ()


def test_br_088_tags_that_come_later_leave_the_disks_told() -> None:
    ebs = {"deviceName": "/dev/xvda", "ebs": {"encrypted": "true"}}
    found = group({"blockDeviceMappings": [ebs], "tags": LATER, "tagSpecifications": LATER})
    (disk,) = disks_of(found)
    assert (disk.encrypted, disk.tags) == (True, LATER)


def test_volumes_have_the_tags_of_their_own_specification() -> None:
    kinds = [{"resourceType": kind, "tags": {"kind": kind}} for kind in ("instance", "volume")]
    found = group({"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {}}], "tagSpecifications": kinds})
    assert (disks_of(found)[0].tags, found.tags) == ({"kind": "volume"}, {"kind": "instance"})


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (base64.b64encode(b"#!/bin/sh").decode(), "#!/bin/sh"),
        (base64.b64encode(gzip.compress(b"#cloud-config", mtime=0)).decode(), "#cloud-config"),
        ("not base64!", Unknown("its user data is no text in base64")),
        (None, None),
        (LATER, LATER),
        (17.0, None),
    ],
)
def test_user_data_is_decoded(data: Any, text: Any) -> None:
    assert group({"userData": data}).user_data == text
    assert machine(userDataBase64=data).user_data == text
    assert machine(userData="#!/bin/sh plain").user_data == "#!/bin/sh plain"


@pytest.mark.parametrize(
    ("image", "version", "pinned"),
    [
        ("ami-1", "3", True),
        ("ami-1", LATER, True),
        ("ami-1", "$Latest", False),
        ("resolve:ssm:/aws/x/latest", "3", False),
        (None, "3", False),
        (LATER, "3", LATER),
        (17.0, "3", False),
    ],
)
def test_an_image_is_pinned_by_its_id(image: Any, version: Any, pinned: Any) -> None:
    assert group({"imageId": image}, launchTemplate={"version": version}).image_pinned == pinned


def test_who_is_told_before_a_machine_goes() -> None:
    assert group({}).handles_interruption is False
    hook = {"lifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING"}
    assert group({}, initialLifecycleHooks=[hook]).handles_interruption is True
    assert group({}, record(HOOK, "h", {"autoscalingGroupName": "g", **hook}), name="g").handles_interruption is True
    launching = {"lifecycleTransition": "autoscaling:EC2_INSTANCE_LAUNCHING"}
    assert group({}, initialLifecycleHooks=[launching]).handles_interruption is False
    assert group({}, initialLifecycleHooks=LATER).handles_interruption == LATER
    pattern = {"eventPattern": '{"detail-type": ["EC2 Spot Instance Interruption Warning"]}'}
    assert group({}, record(EVENT_RULE, "r", pattern)).handles_interruption is True
    assert group({}, record(EVENT_RULE, "r", {**pattern, "region": "eu-west-1"})).handles_interruption is False
    assert group({}, record(EVENT_RULE, "r", {"eventPattern": LATER})).handles_interruption == LATER
    assert machine(userData="curl http://169.254.169.254/latest/meta-data/spot/instance-action").handles_interruption
    assert group({}, capacityRebalance=True).handles_interruption is False


def test_a_group_is_elastic_by_its_sizes_or_its_policies() -> None:
    assert group({}, minSize=2.0, maxSize=2.0).elastic is False
    assert group({}, minSize=1.0, maxSize=2.0).elastic is True
    assert group({}, minSize=LATER, maxSize=2.0).elastic == LATER
    policy = record("aws:autoscaling/policy:Policy", "p", {"autoscalingGroupName": "g"})
    assert group({}, policy, name="g", minSize=2.0, maxSize=2.0).elastic is True


def test_an_eks_node_group_has_its_capacity_type_and_taints() -> None:
    taint = {"key": "nvidia.com/gpu", "effect": "NO_SCHEDULE"}
    scaling = {"minSize": 0.0, "maxSize": 8.0}
    props = {"instanceTypes": ["p5.48xlarge"], "scalingConfig": scaling, "taints": [taint], "capacityType": "SPOT"}
    found = pool_of(record(NODE_GROUP, "n", {**props, "amiType": "AL2023_x86_64_NVIDIA"}))
    assert (found.purchase, found.taints, found.nodes_min, found.elastic) == ("spot", ("nvidia.com/gpu",), 0, True)
    assert (found.image, found.image_pinned, found.handles_interruption) == ("AL2023_x86_64_NVIDIA", False, True)
    assert (found.disks, found.rdma_interfaces) == ((), 0)
    assert found.metadata_hardened == Unknown("EKS decides it where no launch template does")
    pinned = pool_of(record(NODE_GROUP, "n", {"instanceTypes": ["p5.48xlarge"], "releaseVersion": "1.33-1"}))
    assert (pinned.image_pinned, pinned.purchase, pinned.taints) == (True, "on_demand", ())
    late = pool_of(record(NODE_GROUP, "n", {"capacityType": LATER, "taints": LATER}))
    assert (late.purchase, late.taints) == (LATER, LATER)


def test_an_eks_node_group_takes_the_rest_from_its_template() -> None:
    props = {"networkInterfaces": [{"interfaceType": "efa"}], "metadataOptions": {"httpTokens": "required"}}
    template = record(TEMPLATE, "t", {**props, "imageId": "ami-1"})
    launched = record(
        NODE_GROUP, "n", {"launchTemplate": {}, "instanceTypes": ["p5.48xlarge"]}, {"launchTemplate": [template.urn]}
    )
    found = pool_of(launched, template)
    assert (found.rdma_interfaces, found.metadata_hardened, found.image_pinned) == (1, True, True)


def test_a_machine_overrides_its_template() -> None:
    template = record(TEMPLATE, "t", {"id": "lt-1", "imageId": "ami-1", "metadataOptions": {"httpTokens": "required"}})
    found = machine(template, launchTemplate={"id": "lt-1"}, ami="ami-2")
    assert (found.image, found.metadata_hardened, found.instance_types) == ("ami-2", True, ("g5.xlarge",))


def test_tags_of_the_provider_are_tags_of_the_pool() -> None:
    node = Record("urn:a::m", INSTANCE, "m", {"tags": {"b": "2"}}, provider={"defaultTags": '{"tags": {"a": "1"}}'})
    assert pool_of(node).tags == {"a": "1", "b": "2"}
    assert machine(tags=LATER).tags == LATER


def test_a_template_that_something_launches_is_no_pool_of_its_own() -> None:
    template = record(TEMPLATE, "t", {"id": "lt-1", "instanceType": "g5.xlarge"})
    launched = record(GROUP, "g", {"launchTemplate": {"id": "lt-1"}})
    assert list(node_pools(template, Among([template, launched]))) == []
    assert pool_of(template).nodes_max is None


def test_the_facts_of_gpuyards_own_stack_are_what_was_asked_for() -> None:
    root = Path(__file__).parents[2]
    facts = collect_facts(run_stack(read_project(root), "aws-prod", root).records)
    assert facts.problems == ()
    train = next(pool for pool in facts.node_pools if pool.name == "aws-prod-train-group")
    assert (train.placement, train.rdma_interfaces, train.public_address) == ("close", 4, False)
    assert (train.metadata_hardened, train.image_pinned, train.handles_interruption) == (True, True, True)
    assert [(disk.role, disk.encrypted) for disk in disks_of(train)] == [("root", True), ("data", True)]
    assert isinstance(train.security_groups, tuple)
    assert isinstance(train.zones, tuple)
    nodes = next(group for group in facts.security_groups if group.urn in train.security_groups)
    assert (nodes.open_to_itself_in, nodes.open_to_itself_out) == (True, True)
    store, copy, shared = facts.storage
    assert (store.public, store.expires, store.is_replica, copy.is_replica) == (False, True, False, True)
    assert (shared.zone, shared.exports, shared.scratch) == (train.zones[0], True, False)
    (schedule,) = facts.schedules
    tags = disks_of(train)[0].tags
    assert isinstance(schedule.target_tags, dict)
    assert isinstance(tags, dict)
    assert schedule.target_tags.items() <= tags.items()
    assert any(alarm.watches_gpus is True for alarm in facts.alarms)
