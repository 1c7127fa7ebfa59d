"""The layout of network interfaces, for every type of the catalog that has EFA.

Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html
"""

from dataclasses import replace

import pytest

from gpuyard.catalog import InstanceType, instance_types
from gpuyard.planning.aws.interfaces import efa_interfaces
from gpuyard.planning.plans import InterfacePlan
from gpuyard.planning.subnet_room import subnet_problems

from ..conftest import Pool, Refused

WITH_EFA = [row for row in instance_types("aws").values() if row.has_rdma and row.rdma_cards is not None]


def interfaces(name: str) -> tuple[InterfacePlan, ...]:
    found = efa_interfaces(instance_types("aws")[name], rdma=True)
    assert found is not None
    return found


def efa_places(name: str) -> list[tuple[int, int]]:
    return [(one.network_card_index, one.device_index) for one in interfaces(name) if one.interface_type == "efa-only"]


def test_the_catalog_has_types_with_efa_to_judge():
    assert {"p4d.24xlarge", "p5.48xlarge", "p6-b300.48xlarge"} <= {row.instance_type for row in WITH_EFA}


@pytest.mark.parametrize("row", WITH_EFA, ids=lambda row: row.instance_type)
def test_every_type_with_efa_has_a_layout_that_the_api_takes(row: InstanceType):
    found = interfaces(row.instance_type)
    places = [(one.network_card_index, one.device_index) for one in found]
    efa_cards = [one.network_card_index for one in found if one.interface_type == "efa-only"]
    assert found[0] == InterfacePlan(0, 0, "interface")
    assert [one.interface_type for one in found[1:]] == ["efa-only"] * (len(found) - 1)
    assert len(set(places)) == len(places)
    assert tuple(efa_cards) == tuple(sorted(row.rdma_cards or ()))
    assert len(set(efa_cards)) == len(efa_cards)
    assert row.rdma_interfaces is None or len(efa_cards) <= row.rdma_interfaces
    assert row.max_network_interfaces is None or len(found) <= row.max_network_interfaces
    assert row.network_cards is None or all(card < row.network_cards for card, _ in places)
    assert [one for one in found if one.takes_address] == [found[0]]


@pytest.mark.parametrize(
    ("name", "efa"),
    [("g5.48xlarge", 1), ("p4d.24xlarge", 4), ("p5.48xlarge", 32), ("p5en.48xlarge", 16), ("p6-b200.48xlarge", 8)],
)
def test_every_card_carries_one_efa(name: str, efa: int):
    assert efa_places(name) == [(0, 1), *((card, 0) for card in range(1, efa))]


def test_card_0_of_p6_b300_is_ena_only():
    assert efa_places("p6-b300.48xlarge") == [(card, 0) for card in range(1, 17)]
    assert interfaces("p6-b300.48xlarge")[0] == InterfacePlan(0, 0, "interface")


@pytest.mark.parametrize("name", ["p5.48xlarge", "g5.xlarge"])
def test_without_rdma_there_is_the_primary_interface_alone(name: str):
    assert efa_interfaces(instance_types("aws")[name], rdma=False) == (InterfacePlan(0, 0, "interface"),)


def test_unknown_cards_give_no_layout():
    row = replace(instance_types("aws")["p4d.24xlarge"], rdma_cards=None)
    assert efa_interfaces(row, rdma=True) is None


def test_a_card_0_that_takes_one_interface_cannot_carry_efa_besides_the_primary():
    row = replace(instance_types("aws")["p4d.24xlarge"], interfaces_per_card=1)
    assert efa_interfaces(row, rdma=True) is None


@pytest.mark.parametrize(("kind", "takes"), [("interface", True), ("efa", True), ("efa-only", False)])
def test_only_efa_only_takes_no_address(kind: str, takes: bool):
    assert InterfacePlan(0, 0, kind).takes_address is takes


# --- the layout with more addresses


@pytest.mark.parametrize("name", ["p5.48xlarge", "p5e.48xlarge"])
def test_the_high_ip_layout_adds_an_address_on_every_fourth_card(name: str):
    row = instance_types("aws")[name]
    found = efa_interfaces(row, rdma=True, high_ip=True)
    assert found is not None
    places = [(one.network_card_index, one.device_index) for one in found]
    assert len(set(places)) == len(places) == 40
    with_address = [one.network_card_index for one in found if one.takes_address]
    assert with_address == [0, 4, 8, 12, 16, 20, 24, 28]
    assert sum(one.interface_type == "efa-only" for one in found) == 32


def test_the_high_ip_layout_is_for_types_that_have_one(refused: Refused):
    high = {"interconnect": "rdma", "aws": {"interface_layout": "high_ip"}}
    (message,) = refused(instance_type="p4d.24xlarge", **high)
    assert message.startswith(
        "aws.interface_layout: p4d.24xlarge has no documented 'high_ip' layout. These have one: p5.48xlarge or "
        "p5e.48xlarge (source: "
    )
    (message,) = refused(instance_type="p5.48xlarge", aws={"interface_layout": "high_ip"})
    assert message.startswith("aws.interface_layout: 'high_ip' is a layout of RDMA interfaces, and the pool has none.")


def test_br_007_the_high_ip_layout_counts_its_addresses(pool: Pool):
    simple = pool(instance_type="p5.48xlarge", nodes=64, interconnect="rdma")
    high = pool(instance_type="p5.48xlarge", nodes=64, interconnect="rdma", aws={"interface_layout": "high_ip"})
    assert (simple.addresses_per_node, high.addresses_per_node) == (1, 8)
    assert subnet_problems(simple, ["10.0.0.0/24"], ("subnet_cidrs",)) == []
    assert [str(problem) for problem in subnet_problems(high, ["10.0.0.0/24"], ("subnet_cidrs",))] == [
        "subnet_cidrs[0]: 64 nodes need 512 addresses (8 each), but 10.0.0.0/24 leaves 251 after 5 for the cloud. Use "
        "a /22 or a larger one."
    ]


def test_every_subnet_of_a_pool_has_to_be_named(pool: Pool):
    found = pool(gpu="A10", nodes={"min": 0, "max": 2}, zones=["us-east-1a", "us-east-1b"])
    (problem,) = subnet_problems(found, ["10.0.0.0/24"], ("subnet_cidrs",))
    assert str(problem) == (
        "subnet_cidrs: names 1 subnets, but the pool has 2 zones: us-east-1a, us-east-1b. Give one for each zone."
    )
