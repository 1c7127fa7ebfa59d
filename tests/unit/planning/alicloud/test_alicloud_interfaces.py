"""Interfaces of a node: eRDMA on distinct cards with shared queue pairs, RoCE on none.

Source: https://www.alibabacloud.com/help/en/ecs/developer-reference/api-ecs-2014-05-26-runinstances
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.catalog import InstanceType, instance_types
from gpuyard.planning.alicloud.interfaces import erdma_interfaces
from gpuyard.planning.plans import InterfacePlan

from .conftest import EX, SCC, AliPool, AliRefused

WITH_ERDMA = [row for row in instance_types("alicloud").values() if row.rdma == "erdma"]
PAIRS = {"erdma_queue_pairs": 100}


def test_the_catalog_has_types_with_erdma_to_judge():
    assert {EX, "ecs.ebmgn8v.48xlarge", "ecs.gn8is.2xlarge"} <= {row.instance_type for row in WITH_ERDMA}


@pytest.mark.parametrize("row", WITH_ERDMA, ids=lambda row: row.instance_type)
@given(pairs=st.none() | st.integers(min_value=2, max_value=100_000))
def test_the_primary_is_on_card_0_and_no_card_has_two(row: InstanceType, pairs: int | None):
    found = erdma_interfaces(row, rdma=True, queue_pairs=pairs)
    if found is None:
        assert pairs is not None
        assert row.rdma_cards is None
        return
    cards = [one.network_card_index for one in found]
    assert cards[0] == 0
    assert len(set(cards)) == len(cards) <= min(row.rdma_interfaces or 1, 2)
    assert {one.interface_type for one in found} == {"erdma"}
    assert all(one.takes_address for one in found)
    if pairs is None:
        assert found == (InterfacePlan(0, 0, "erdma"),), "without its share a second one cannot be attached"
    else:
        assert sum(one.queue_pairs or 0 for one in found) <= pairs
        assert len({one.queue_pairs for one in found}) == 1


def test_two_interfaces_share_the_queue_pairs(ali_pool: AliPool):
    found = ali_pool(instance_type=EX, interconnect="rdma", alicloud=PAIRS)
    assert found.interfaces == (InterfacePlan(0, 0, "erdma", 50), InterfacePlan(1, 0, "erdma", 50))
    assert found.addresses_per_node == 2
    assert f"The catalog does not know how many queue pairs {EX} has: the cloud refuses 100 if they are too many." in (
        found.reasons
    )


def test_one_interface_without_queue_pairs_says_what_is_left_unused(ali_pool: AliPool):
    found = ali_pool(instance_type=EX, interconnect="rdma")
    (reason,) = [one for one in found.reasons if "card 0 alone" in one]
    assert reason.startswith("eRDMA on network card 0 alone: at most 100 Gbps of 160 Gbps. For the other card give")
    assert f"aliyun ecs DescribeInstanceTypes --InstanceTypes.1 {EX}" in reason


def test_roce_needs_no_interface_of_the_vpc(ali_pool: AliPool):
    assert ali_pool(instance_type=SCC, interconnect="rdma").interfaces == (InterfacePlan(0, 0, "interface"),)


def test_without_rdma_a_type_with_erdma_has_an_ordinary_interface(ali_pool: AliPool):
    assert ali_pool(instance_type=EX, interconnect="nvlink").interfaces == (InterfacePlan(0, 0, "interface"),)


@pytest.mark.parametrize(("jumbo", "said"), [(False, "1400 bytes, without"), (True, "8500 bytes, with")])
def test_the_mtu_of_ll128_goes_with_the_frames(jumbo: bool, said: str, ali_pool: AliPool):
    found = ali_pool(instance_type=EX, interconnect="rdma", alicloud={"jumbo_frames": jumbo})
    assert found.details.jumbo_frames is jumbo
    assert any(one.startswith(f"Interfaces get an MTU of {said} jumbo frames") for one in found.reasons)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"instance_type": EX, "interconnect": "nvlink"},
            "alicloud.erdma_queue_pairs: queue pairs belong to eRDMA interfaces, and the pool has none. Set "
            "'interconnect: rdma' with a type that has eRDMA, or remove it.",
        ),
        (
            {"instance_type": SCC, "interconnect": "rdma"},
            "alicloud.erdma_queue_pairs: queue pairs belong to eRDMA interfaces, and the pool has none. Set "
            "'interconnect: rdma' with a type that has eRDMA, or remove it.",
        ),
        (
            {"instance_type": EX, "interconnect": "rdma", "alicloud": {"erdma_queue_pairs": 1}},
            "alicloud.erdma_queue_pairs: 1 cannot be shared by 2 interfaces. Give 2.",
        ),
        (
            {"instance_type": "ecs.ebmgn8v.48xlarge", "interconnect": "rdma", "image": "m-1"},
            "alicloud.erdma_queue_pairs: the catalog does not know on which network cards of ecs.ebmgn8v.48xlarge it "
            "could be.",
        ),
    ],
)
def test_queue_pairs_that_nothing_can_be_done_with(changes: dict, problem: str, ali_refused: AliRefused):
    assert problem in ali_refused(**{"alicloud": PAIRS, **changes})
