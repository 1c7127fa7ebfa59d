"""Zones, sizes, reservations, capacity blocks, spot and placement of node pools."""

from dataclasses import replace
from typing import Any

import pytest

from gpuyard.catalog import InstanceType, find_instance_types, instance_types, regions
from gpuyard.planning import machines

from .conftest import PLACE, Pool, Refused

RDMA: dict[str, Any] = {"instance_type": "p4d.24xlarge", "interconnect": "rdma"}
BLOCK: dict[str, Any] = {**RDMA, "purchase": "capacity_block", "reservation": {"id": "cr-0123456789abcdef0"}}
ODCR: dict[str, Any] = {**BLOCK, "purchase": "reserved"}
ULTRA: dict[str, Any] = {"instance_type": "p6e-gb200.36xlarge", "image": "ami-1", "zones": ["us-east-1-dfw-2a"]}
GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/gpus"


def test_a_pool_is_in_the_clusters_zone_unless_it_names_its_own(pool: Pool):
    assert pool(**RDMA).zones == ("us-east-1a",)
    assert pool(**RDMA, zones=["us-east-1d"]).zones == ("us-east-1d",)
    assert pool(gpu="A10", zones=["us-east-1a", "us-east-1b"]).zones == ("us-east-1a", "us-east-1b")


def test_br_050_the_zone_of_a_pool_is_never_guessed(refused: Refused):
    assert refused(replace(PLACE, zone=None), **RDMA) == [
        "zones: no zone is named for this pool. Set 'zone' of the cluster, or 'zones' here, to a zone of us-east-1."
    ]


def test_rdma_stays_in_one_zone(refused: Refused):
    assert refused(**RDMA, zones=["us-east-1a", "us-east-1b"]) == [
        "zones: RDMA stays in one zone, but the pool names 2: us-east-1a, us-east-1b. Keep one zone; build one pool "
        "for each further zone."
    ]


@pytest.mark.parametrize("zone", ["us-west-2a", "usw2-az1", "us-east-1", "us-east-1A", "a", "us-east-10a"])
def test_a_zone_of_another_region_is_refused_at_its_place_in_the_list(zone: str, refused: Refused):
    found = refused(gpu="A10", zones=["us-east-1a", zone])
    assert found[0] == (
        f"zones[1]: '{zone}' is no zone of us-east-1. A zone there is written like 'us-east-1a', or as a zone id."
    )


def test_br_049_a_zone_id_that_lacks_the_type_is_refused_with_those_that_have_it(refused: Refused, pool: Pool):
    offered = instance_types("aws")["p4d.24xlarge"].zone_ids or ()
    assert "use1-az3" not in offered
    assert refused(**RDMA, zones=["use1-az3"]) == [
        "zones: p4d.24xlarge is not offered in zone use1-az3. In us-east-1 it is in use1-az1, use1-az2, use1-az4 or "
        "use1-az6."
    ]
    assert refused(replace(PLACE, zone="use1-az3"), **RDMA) == refused(**RDMA, zones=["use1-az3"])
    assert pool(**RDMA, zones=["use1-az4"]).zones == ("use1-az4",)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {**RDMA, "nodes": {"min": 1, "max": 4}},
            "nodes: a pool joined by RDMA has a fixed size, not 1 to 4. Write 'nodes: 4': a job needs all its nodes, "
            "and EFA cannot be added later.",
        ),
        ({"gpu": "A10", "nodes": {"min": 4, "max": 1}}, "nodes: min 4 is more than max 1. Exchange or raise them."),
    ],
)
def test_a_size_that_cannot_be_is_refused(values: dict[str, Any], message: str, refused: Refused):
    assert refused(**values) == [message]


@pytest.mark.parametrize("nodes", [65, {"min": 0, "max": 4}])
def test_a_capacity_block_has_a_fixed_size_up_to_its_documented_limit(nodes: object, refused: Refused):
    values = {**BLOCK, "interconnect": "none", "nodes": nodes}
    (message,) = refused(**values)
    assert message.startswith("nodes: a capacity block holds a fixed number of nodes up to 64. Source: https://")


def test_a_capacity_block_of_64_nodes_is_right(pool: Pool):
    assert pool(**BLOCK, nodes=64).max_nodes == 64


@pytest.mark.parametrize("purchase", ["reserved", "capacity_block"])
@pytest.mark.parametrize("reservation", [None, {}])
def test_bought_capacity_must_be_named(purchase: str, reservation: object, refused: Refused):
    assert refused(**RDMA, purchase=purchase, reservation=reservation) == [
        f"reservation: 'purchase: {purchase}' needs the capacity that was bought. Give 'reservation: {{id: cr-…}}'."
    ]


@pytest.mark.parametrize("purchase", ["on_demand", "spot"])
def test_br_014_an_id_alone_does_not_tell_the_kind_of_capacity(purchase: str, refused: Refused):
    assert refused(gpu="A10", purchase=purchase, reservation={"id": "cr-1"}) == [
        f"reservation: a reservation is not used by 'purchase: {purchase}'. Use 'purchase: reserved' or "
        "'capacity_block', or remove it."
    ]


def test_br_013_an_id_and_a_group_together_are_refused(refused: Refused):
    reservation = {"id": "cr-1", "resource_group_arn": GROUP}
    assert refused(**{**ODCR, "reservation": reservation}) == [
        "reservation: both an id and a resource group are given. Give exactly one."
    ]


def test_br_013_a_target_by_id_or_by_group_reaches_the_plan(pool: Pool):
    by_id, by_group = pool(**ODCR), pool(**{**ODCR, "reservation": {"resource_group_arn": GROUP}})
    assert (by_id.reservation_id, by_id.reservation_group_arn) == ("cr-0123456789abcdef0", None)
    assert (by_group.reservation_id, by_group.reservation_group_arn) == (None, GROUP)


def test_a_capacity_block_is_named_by_its_own_id(refused: Refused):
    assert refused(**{**BLOCK, "reservation": {"resource_group_arn": GROUP}}) == [
        "reservation.resource_group_arn: a capacity block is named by its own id; only an UltraServer block can be in "
        "a resource group. Give 'id'."
    ]


def test_an_ultraserver_block_may_be_in_a_resource_group(pool: Pool):
    plan = pool(**ULTRA, purchase="capacity_block", reservation={"resource_group_arn": GROUP})
    assert (plan.purchase, plan.reservation_group_arn) == ("capacity_block", GROUP)


@pytest.mark.parametrize("purchase", ["on_demand", "spot", "reserved"])
def test_what_is_sold_as_an_ultraserver_block_is_bought_in_no_other_way(purchase: str, refused: Refused):
    reservation = {"id": "cr-1"} if purchase == "reserved" else None
    assert refused(**ULTRA, purchase=purchase, reservation=reservation) == [
        "purchase: p6e-gb200.36xlarge is sold only as an UltraServer capacity block, not by "
        f"'purchase: {purchase}'. Use 'purchase: capacity_block' with the block's 'reservation'."
    ]


@pytest.mark.parametrize("placement", [None, "none"])
def test_spot_does_not_go_with_rdma(placement: str | None, refused: Refused):
    assert refused(**RDMA, purchase="spot", placement=placement) == [
        "purchase: 'purchase: spot' does not go with 'interconnect: rdma': a job joined by RDMA needs all its nodes "
        "for its whole run, and one node that is taken back ends it. Use 'purchase: on_demand', 'reserved' or "
        "'capacity_block', or remove 'interconnect'."
    ]


@pytest.mark.parametrize("purchase", ["reserved", "on_demand", "spot"])
def test_a_reservation_is_of_one_type(purchase: str, pool: Pool):
    reservation = {"id": "cr-1"} if purchase == "reserved" else None
    values = {"gpu": "A10", "gpus_per_node": 1, "nodes": {"min": 0, "max": 4}}
    plan = pool(**values, purchase=purchase, reservation=reservation)
    assert plan.kind == "elastic"
    assert (len(plan.instance_types) == 1) is (purchase == "reserved")


def test_a_placement_group_is_in_one_zone(refused: Refused):
    assert refused(gpu="A10", placement="cluster", zones=["us-east-1a", "us-east-1b"]) == [
        "placement: 'placement: cluster' stays in one zone, but the pool names 2: us-east-1a, us-east-1b. Keep one "
        "zone, or remove 'placement'."
    ]


def test_a_zone_named_twice_is_refused_at_its_second_place(refused: Refused):
    assert refused(gpu="A10", zones=["us-east-1a", "us-east-1b", "us-east-1a"]) == [
        "zones[2]: zone 'us-east-1a' is named twice. Name each zone once."
    ]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"instance_type": "p3.16xlarge", "purchase": "spot"},
            "The catalog does not know whether p3.16xlarge is sold as spot.",
        ),
        (
            {**BLOCK, "instance_type": "p3.16xlarge", "interconnect": "none"},
            "The catalog does not know whether p3.16xlarge is sold in capacity blocks.",
        ),
        ({"instance_type": "p3.16xlarge"}, "The catalog does not know whether mx-central-1 offers p3.16xlarge."),
    ],
)
def test_what_the_catalog_does_not_know_is_said(values: dict[str, Any], said: str, pool: Pool):
    assert regions("aws")["mx-central-1"].offerings_known is False
    place = replace(PLACE, region="mx-central-1", zone="mx-central-1a")
    # An image of one's own: no vendor image has a driver for V100.
    assert said in pool(place, image="ami-1", **values).reasons


def test_a_type_that_the_zone_lacks_is_left_out_of_an_elastic_pool(monkeypatch: pytest.MonkeyPatch, pool: Pool):
    def found(cloud: str, **wanted: Any) -> list[InstanceType]:
        rows = find_instance_types(cloud, **wanted)
        return [replace(row, zone_ids=("use1-az1",)) if row.instance_type == "g5.xlarge" else row for row in rows]

    monkeypatch.setattr(machines, "find_instance_types", found)
    plan = pool(gpu="A10", gpus_per_node=1, purchase="spot", zones=["use1-az3"])
    assert "g5.xlarge" not in [row.instance_type for row in plan.instance_types]
    assert plan.instance_type.instance_type == "g5.2xlarge"
    assert "Left out: g5.xlarge is not offered in zone use1-az3." in plan.reasons


def test_an_unknown_zone_is_said_and_is_no_problem(pool: Pool):
    plan = pool(instance_type="g5.xlarge", zones=["use1-az3"])
    assert instance_types("aws")["g5.xlarge"].zone_ids is None
    assert plan.reasons[-1] == "The catalog does not know whether zone use1-az3 offers g5.xlarge."


@pytest.mark.parametrize(
    ("values", "clustered"),
    [
        (RDMA, True),
        # What is reserved is placed already.
        (ODCR, False),
        (BLOCK, False),
        ({"gpu": "A10", "purchase": "spot"}, False),
        ({**RDMA, "placement": "none"}, False),
        ({"gpu": "A10"}, False),
        ({"gpu": "A10", "placement": "cluster"}, True),
    ],
)
def test_br_010_efa_and_placement_are_separate_switches(values: dict[str, Any], clustered: bool, pool: Pool):
    plan = pool(**values)
    assert plan.clustered is clustered
    assert len(plan.interfaces) == (5 if values.get("interconnect") == "rdma" else 1)


def test_br_011_a_capacity_block_takes_no_placement_group(refused: Refused):
    assert refused(**BLOCK, placement="cluster") == [
        "placement: 'placement: cluster' does not go with 'purchase: capacity_block': a capacity block already places "
        "its machines close together, and the API refuses more. Remove 'placement' or change 'purchase'."
    ]


def test_reserved_capacity_takes_only_the_placement_group_that_it_was_reserved_in(pool: Pool, refused: Refused):
    assert refused(**ODCR, placement="cluster") == [
        "placement: 'placement: cluster' does not go with 'purchase: reserved': a new placement group has nothing to "
        "do with the reserved capacity and keeps nodes out of it. Remove 'placement', or give "
        "'reservation.placement_group', the group that it was reserved in."
    ]
    plan = pool(**{**ODCR, "reservation": {"id": "cr-1", "placement_group": "gpus"}})
    assert (plan.clustered, plan.reservation_placement_group) == (False, "gpus")


def test_a_blocks_machines_are_in_no_placement_group(refused: Refused):
    assert refused(**{**BLOCK, "reservation": {"id": "cr-1", "placement_group": "gpus"}}) == [
        "reservation.placement_group: does not go with 'purchase: capacity_block'. Remove it."
    ]


def test_br_016_spot_in_one_placement_group_is_refused_naming_both_fields(refused: Refused):
    assert refused(gpu="A10", purchase="spot", placement="cluster") == [
        "placement: 'placement: cluster' does not go with 'purchase: spot': spot capacity inside one placement group "
        "is rarely to be had. Remove 'placement' or change 'purchase'."
    ]


def test_a_type_that_is_not_sold_in_blocks_names_those_that_are(refused: Refused):
    (message,) = refused(**{**BLOCK, "instance_type": "g5.48xlarge"})
    assert message.startswith("purchase: g5.48xlarge is not sold in capacity blocks. Sold so: ")
    assert "p5.48xlarge" in message
    assert "trn" not in message


def test_a_type_that_is_not_sold_as_spot_is_refused(refused: Refused):
    rows = [row for row in instance_types("aws").values() if row.spot is False and row.regions]
    assert rows
    for row in rows:
        region = (row.regions or ())[0]
        place = replace(PLACE, region=region, zone=f"{region}a")
        assert refused(place, instance_type=row.instance_type, purchase="spot", image="ami-1") == [
            f"purchase: {row.instance_type} is not sold as spot. Choose another purchase."
        ]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (RDMA, "rdma"),
        ({"gpu": "A10"}, "fixed"),
        ({"gpu": "A10", "purchase": "spot"}, "elastic"),
        ({"gpu": "A10", "nodes": {"min": 0, "max": 2}}, "elastic"),
    ],
)
def test_the_kind_of_a_pool_follows_from_what_it_asks_for(values: dict[str, Any], kind: str, pool: Pool):
    assert pool(**values).kind == kind


def test_all_problems_of_a_pool_come_together(refused: Refused):
    found = refused(
        instance_type="g5.48xlarge",
        interconnect="rdma",
        purchase="capacity_block",
        placement="cluster",
        zones=["us-east-1a", "eu-west-1a"],
        nodes={"min": 1, "max": 2},
        image="none",
    )
    assert [message.split(":")[0] for message in found] == [
        "zones[1]",
        "zones",
        "nodes",
        "reservation",
        "placement",
        "purchase",
        "image",
    ]
