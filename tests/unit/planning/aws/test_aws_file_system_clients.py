"""Which pools reach a file system over RDMA, and from which zones.

Source: https://docs.aws.amazon.com/fsx/latest/LustreGuide/configure-efa-clients.html
"""

from dataclasses import replace

import pytest

from gpuyard.catalog import instance_types
from gpuyard.catalog.limits import limit
from gpuyard.planning.aws.file_system_clients import client_problems, client_reasons, reaches_over_rdma
from gpuyard.planning.plans import NodePoolPlan

from ..conftest import Pool
from .file_system_helpers import right

FAST = right(capacity_gib=4800, rdma=True)
PLAIN = right(capacity_gib=4800)


def problems(*pools: NodePoolPlan) -> list[str]:
    return [str(problem) for problem in client_problems(FAST, pools)]


@pytest.mark.parametrize(
    ("instance_type", "reaches"),
    [
        ("p5.48xlarge", True),
        ("p5en.48xlarge", True),
        ("p6-b200.48xlarge", True),
        ("g6e.24xlarge", True),
        ("p4d.24xlarge", False),
        ("p4de.24xlarge", False),
        ("g5.48xlarge", False),
        ("g7.24xlarge", None),
    ],
)
def test_types_with_efa_on_nitro_4_reach_it_over_rdma(instance_type: str, reaches: bool | None, pool: Pool):
    assert reaches_over_rdma(pool(instance_type=instance_type, interconnect="rdma")) is reaches


def test_a_pool_without_rdma_interfaces_does_not_reach_it_over_rdma(pool: Pool):
    assert reaches_over_rdma(pool(instance_type="g6.8xlarge")) is False


def test_every_family_with_efa_is_in_one_list_or_known_to_be_unknown():
    can = {*limit("aws", "lustre_efa_families").values}
    cannot = {*limit("aws", "lustre_efa_families_without").values}
    families = {row.family for row in instance_types("aws").values() if row.has_rdma}
    assert not can & cannot
    assert can | cannot <= families
    assert families - can - cannot == {"g7", "p6e-gb300", "trn2u"}


def test_pools_that_can_reach_it_have_no_problem(pool: Pool):
    assert problems(pool(instance_type="p5.48xlarge", interconnect="rdma"), pool(gpu="A10")) == []
    assert problems(pool(instance_type="g7.24xlarge", interconnect="rdma")) == []


def test_a_pool_with_efa_that_cannot_reach_it_is_refused(pool: Pool):
    assert problems(pool(instance_type="p4d.24xlarge", interconnect="rdma")) == [
        "file_system.rdma: p4d.24xlarge of pool 'train' has EFA, but does not reach a file system over it. Families "
        "that do: g6, g6e, g7e, gr6, p5, p5e, p5en, p6-b200, p6-b300, p6e-gb200, trn1 or trn1n (source: "
        "https://docs.aws.amazon.com/fsx/latest/LustreGuide/configure-efa-clients.html). Or remove it."
    ]


def test_rdma_that_no_pool_has_is_refused(pool: Pool):
    assert problems(pool(gpu="A10")) == [
        "file_system.rdma: no pool has RDMA interfaces to reach the file system with. Set 'interconnect: rdma' of a "
        "pool, or remove it."
    ]


def test_without_pools_nothing_is_known_to_be_wrong():
    assert problems() == []


def test_br_026_rdma_from_another_zone_is_refused(pool: Pool):
    away = pool(instance_type="p5.48xlarge", interconnect="rdma", zones=["us-east-1b"])
    assert problems(away) == [
        "file_system.rdma: pool 'train' is in us-east-1b, the file system is in us-east-1a: RDMA stays in one zone. "
        "Put the pool into us-east-1a."
    ]


def test_a_zone_by_id_is_not_taken_for_another_one(pool: Pool):
    by_id = replace(pool(instance_type="p5.48xlarge", interconnect="rdma"), zones=("use1-az6",))
    assert problems(by_id) == []


@pytest.mark.parametrize(
    ("instance_type", "most"),
    # 8, 2 and 1 of 1024 connections; p5.4xlarge has a single card.
    [("p5.48xlarge", 128), ("p6-b300.48xlarge", 512), ("g6e.24xlarge", 512), ("p5.4xlarge", 1024)],
)
def test_the_connections_of_all_nodes_are_counted(instance_type: str, most: int, pool: Pool):
    nodes = pool(instance_type=instance_type, interconnect="rdma")
    assert problems(replace(nodes, min_nodes=most, max_nodes=most)) == []
    per_node = 1024 // most
    assert problems(replace(nodes, min_nodes=most + 1, max_nodes=most + 1)) == [
        f"file_system.rdma: the nodes make {per_node * (most + 1)} EFA connections to the file system "
        f"({per_node * (most + 1)} of pool 'train'); it takes 1024. Use fewer nodes, or several file systems."
    ]


def test_connections_of_several_pools_add_up(pool: Pool):
    train = replace(pool(instance_type="p5.48xlarge", interconnect="rdma"), max_nodes=100)
    more = replace(train, name="more", max_nodes=29)
    assert problems(train, more)[0].startswith(
        "file_system.rdma: the nodes make 1032 EFA connections to the file system (800 of pool 'train', 232 of pool "
        "'more'); it takes 1024."
    )


def test_all_problems_of_the_clients_come_together(pool: Pool):
    away = pool(instance_type="p4d.24xlarge", interconnect="rdma", zones=["us-east-1b"])
    assert len(problems(replace(away, max_nodes=1000))) == 3


def test_without_rdma_every_pool_may_mount_it(pool: Pool):
    assert client_problems(PLAIN, [pool(instance_type="p4d.24xlarge", interconnect="rdma")]) == []
    assert client_reasons(PLAIN, [pool(instance_type="p4d.24xlarge", interconnect="rdma")]) == ()


def test_the_unknown_and_the_slow_way_are_said(pool: Pool):
    unknown = pool(instance_type="g7.24xlarge", interconnect="rdma")
    plain = replace(pool(gpu="A10"), name="prep")
    assert client_reasons(FAST, [unknown, plain]) == (
        "Whether pool 'train' reaches it over RDMA is unknown: the catalog does not know the Nitro version of "
        "g7.24xlarge, and version 4 or newer is needed.",
        "Pool 'prep' has no RDMA interfaces and mounts it over TCP.",
    )


def test_br_026_a_pool_that_may_be_in_another_zone_is_named_with_both(pool: Pool):
    wide = pool(gpu="A10", purchase="spot", nodes={"min": 0, "max": 4}, zones=["us-east-1a", "us-east-1b"])
    assert client_reasons(PLAIN, [wide]) == (
        "Pool 'train' is or may be in us-east-1b, the file system is in us-east-1a: reading across zones is slower and "
        "paid by the GB.",
    )
    assert client_reasons(PLAIN, [pool(gpu="A10")]) == ()
