"""Launch template and scaling group of a pool, as rendered for the engine."""

from collections.abc import Callable
from typing import Any

import pytest

from ..recorder import AMI, UNKNOWN, Registered, Rendered, rendered_stack

ProdWith = Callable[[dict[str, Any]], Rendered]
GROUP_ARN = "arn:aws:resource-groups:us-east-1:123456789012:group/gpus"
TRAIN = "node_pools.train"


def template(rendered: Rendered) -> dict[str, Any]:
    return first_pool(rendered, "LaunchTemplate").inputs


def group(rendered: Rendered) -> dict[str, Any]:
    return first_pool(rendered, "Group").inputs


def first_pool(rendered: Rendered, kind: str) -> Registered:
    """What belongs to the pool that a stack is there for."""
    (found,) = [one for one in rendered.all(kind) if "-train-" in one.name or "-try-" in one.name]
    return found


def bought(purchase: str, **reservation: str) -> dict[str, Any]:
    return {f"{TRAIN}.purchase": purchase, f"{TRAIN}.reservation": reservation}


def test_br_004_no_public_address_is_said_on_the_interface_that_could_have_one(stack: Rendered):
    primary, *others = template(stack)["networkInterfaces"]
    assert primary["associatePublicIpAddress"] == "false"
    assert (primary["networkCardIndex"], primary["deviceIndex"]) == (0, 0)
    assert "interfaceType" not in primary
    assert all("associatePublicIpAddress" not in other for other in others)
    assert all(other["interfaceType"] == "efa-only" for other in others)


@pytest.mark.parametrize(("name", "interfaces"), [("aws-dev", 1), ("aws-staging", 5), ("aws-prod", 5)])
def test_every_efa_card_of_the_type_has_its_interface(name: str, interfaces: int):
    found = template(rendered_stack(name, preview=True))["networkInterfaces"]
    assert len({(one["networkCardIndex"], one["deviceIndex"]) for one in found}) == len(found) == interfaces


def test_the_nodes_group_is_on_every_interface_and_nowhere_else():
    found = template(rendered_stack("aws-prod", preview=False))
    assert not {"vpcSecurityGroupIds", "securityGroupNames"} & set(found)
    assert {tuple(one["securityGroups"]) for one in found["networkInterfaces"]} == {("aws-prod-network-nodes-sg-id",)}


def test_br_047_every_mapped_disk_is_encrypted_gp3(stack: Rendered):
    disks = template(stack)["blockDeviceMappings"]
    assert disks
    for disk in disks:
        assert disk["ebs"]["encrypted"] == "true"
        assert disk["ebs"]["volumeType"] == "gp3"
        assert disk["ebs"]["deleteOnTermination"] == "true"


@pytest.mark.parametrize(
    ("image", "root"),
    [(..., "/dev/sda1"), ("dlami-ubuntu-24.04", "/dev/sda1"), ("dlami-amazon-linux-2023", "/dev/xvda")],
)
def test_br_047_the_root_device_is_the_one_of_the_image(image: Any, root: str, prod_with: ProdWith):
    changes = {} if image is ... else {f"{TRAIN}.image": image}
    disks = template(prod_with(changes))["blockDeviceMappings"]
    assert {disk["deviceName"]: disk["ebs"]["volumeSize"] for disk in disks} == {root: 200, "/dev/sdf": 1000}


def test_metadata_needs_a_session_token_and_stays_on_the_node(stack: Rendered):
    assert template(stack)["metadataOptions"] == {
        "httpEndpoint": "enabled",
        "httpTokens": "required",
        "httpPutResponseHopLimit": 1,
    }


def test_on_demand_targets_no_reservation(stack: Rendered):
    assert not {"capacityReservationSpecification", "instanceMarketOptions"} & set(template(stack))


@pytest.mark.parametrize(
    ("reservation", "target"),
    [
        ({"id": "cr-1"}, {"capacityReservationId": "cr-1"}),
        ({"resource_group_arn": GROUP_ARN}, {"capacityReservationResourceGroupArn": GROUP_ARN}),
    ],
)
def test_br_013_a_reservation_is_targeted_by_exactly_one_name(
    reservation: dict[str, str], target: dict[str, str], prod_with: ProdWith
):
    found = template(prod_with(bought("reserved", **reservation)))
    assert found["capacityReservationSpecification"] == {"capacityReservationTarget": target}
    assert "instanceMarketOptions" not in found


def test_br_014_a_capacity_block_is_a_target_and_a_market_type_without_placement_group(prod_with: ProdWith):
    rendered = prod_with(bought("capacity_block", id="cr-2"))
    found = template(rendered)
    assert found["capacityReservationSpecification"] == {"capacityReservationTarget": {"capacityReservationId": "cr-2"}}
    assert found["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert "placement" not in found
    assert rendered.all("PlacementGroup") == []
    scaling = group(rendered)
    assert scaling["minSize"] == scaling["maxSize"] == scaling["desiredCapacity"] == 4
    assert "mixedInstancesPolicy" not in scaling
    # The block may begin after the group is made.
    assert scaling["waitForCapacityTimeout"] == "0"


def test_an_rdma_pool_is_placed_close_together():
    rendered = rendered_stack("aws-prod", preview=False)
    assert rendered.one("PlacementGroup").inputs["strategy"] == "cluster"
    assert template(rendered)["placement"] == {"groupName": "aws-prod-train-placement"}


def test_reserved_capacity_gets_no_placement_group_that_is_not_its_own(prod_with: ProdWith):
    alone = prod_with(bought("reserved", id="cr-1"))
    assert alone.all("PlacementGroup") == []
    assert "placement" not in template(alone)
    named = prod_with(bought("reserved", id="cr-1", placement_group="gpus"))
    assert named.all("PlacementGroup") == []
    assert template(named)["placement"] == {"groupName": "gpus"}


def test_br_010_efa_without_placement_renders_no_placement(prod_with: ProdWith):
    rendered = prod_with({f"{TRAIN}.placement": "none"})
    assert rendered.all("PlacementGroup") == []
    assert "placement" not in template(rendered)
    assert len(template(rendered)["networkInterfaces"]) == 5


def test_a_fixed_pool_waits_for_all_its_nodes_on_a_pinned_template():
    rendered = rendered_stack("aws-prod", preview=False)
    scaling = group(rendered)
    assert scaling["minSize"] == scaling["maxSize"] == scaling["desiredCapacity"] == 4
    assert scaling["launchTemplate"] == {"id": "aws-prod-train-template-id", "version": "1"}
    assert scaling["vpcZoneIdentifiers"] == ["aws-prod-network-private-us-east-1d-id"]
    assert scaling["waitForCapacityTimeout"] == "40m"
    assert scaling["suspendedProcesses"] == ["AZRebalance"]


def test_an_elastic_spot_pool_mixes_equal_types_and_may_be_empty():
    scaling = group(rendered_stack("aws-dev", preview=False))
    assert (scaling["minSize"], scaling["maxSize"]) == (0, 4)
    assert "launchTemplate" not in scaling
    assert scaling.get("desiredCapacity") is None, "the scaler's, from the beginning"
    assert scaling["capacityRebalance"] is True
    assert scaling["waitForCapacityTimeout"] == "0"
    mixed = scaling["mixedInstancesPolicy"]
    assert mixed["instancesDistribution"] == {
        "onDemandBaseCapacity": 0,
        "onDemandPercentageAboveBaseCapacity": 0,
        "spotAllocationStrategy": "price-capacity-optimized",
    }
    types = [one["instanceType"] for one in mixed["launchTemplate"]["overrides"]]
    assert types[0] == "g5.xlarge"
    assert len(types) == len(set(types)) > 1


def test_an_elastic_on_demand_pool_buys_no_spot(prod_with: ProdWith):
    rendered = prod_with({TRAIN: {"gpu": "A10", "gpus_per_node": 1, "nodes": {"min": 1, "max": 3}}})
    scaling = group(rendered)
    assert scaling["mixedInstancesPolicy"]["instancesDistribution"]["onDemandPercentageAboveBaseCapacity"] == 100
    assert "capacityRebalance" not in scaling


def test_a_newer_vendor_image_does_not_reach_a_running_pool(stack: Rendered):
    found = first_pool(stack, "LaunchTemplate")
    assert list(found.request.ignoreChanges) == ["imageId"]
    assert found.inputs["imageId"] == AMI


def test_a_named_image_reaches_the_pool(prod_with: ProdWith):
    rendered = prod_with({f"{TRAIN}.image": "ami-00000000000000001"})
    found = first_pool(rendered, "LaunchTemplate")
    assert found.inputs["imageId"] == "ami-00000000000000001"
    assert list(found.request.ignoreChanges) == []


def test_nodes_disks_and_interfaces_carry_the_pools_tags(stack: Rendered):
    found = template(stack)
    specifications = {one["resourceType"]: one["tags"] for one in found["tagSpecifications"]}
    assert set(specifications) == {"instance", "volume", "network-interface"}
    for tags in specifications.values():
        assert tags == found["tags"]
        assert {"gpuyard:cluster", "gpuyard:pool", "gpuyard:task", "Name"} <= set(tags)


def test_what_the_template_says_of_the_pool_is_known_in_a_preview():
    rendered = rendered_stack("aws-prod", preview=True)
    found = template(rendered)
    assert found["iamInstanceProfile"] == {"arn": UNKNOWN}
    for part in ("blockDeviceMappings", "metadataOptions", "tagSpecifications", "instanceType"):
        assert UNKNOWN not in str(found[part])
