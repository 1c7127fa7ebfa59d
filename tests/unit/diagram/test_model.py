"""The graph of a cluster."""

from dataclasses import replace

import pytest

from gpuyard.diagram import Topology, topology_of
from gpuyard.diagram.model import NETWORK

from .conftest import NAMES, Planned


def facts(topology: Topology, part: str) -> tuple[str, ...]:
    return next(one for one in topology.parts if one.id == part).facts


def flows(topology: Topology) -> dict[tuple[str, str], str]:
    return {(flow.source, flow.target): flow.label for flow in topology.flows}


def test_a_training_cluster_with_everything(planned: Planned) -> None:
    topology = topology_of(planned("aws-prod"))
    assert (topology.name, topology.region) == ("aws-prod", "aws · us-east-1")
    assert topology.summary == "prod, pretrain: 2 pools, 12 nodes at most"
    assert topology.network == "network 10.64.0.0/16: no way in from outside"
    (zone,) = topology.zones
    assert (zone.name, [part.title for part in zone.parts]) == ("us-east-1d", ["train", "prepare", "File system"])
    train, prepare, _ = zone.parts
    assert train.aside == "4 nodes"
    assert train.facts == (
        "p4de.24xlarge",
        "8 × A100-SXM4-80GB, NVLink 600 GB/s",
        "on demand, close together",
        "disks: root 200 GiB, data 1,000 GiB, local scratch",
    )
    assert train.nodes is not None
    assert train.nodes.fabric == "EFA 400 Gbps each node"
    assert prepare.aside == "1 to 8 nodes"
    assert prepare.facts[0] == "g5.xlarge and 4 more types"
    assert "spot, 1 on demand" in prepare.facts
    assert prepare.nodes is not None
    assert (prepare.nodes.least, prepare.nodes.most, prepare.nodes.gpus_each, prepare.nodes.fabric) == (1, 8, 1, None)
    assert facts(topology, "file-system")[1] == "24,000 GiB, 6,000 MB/s"
    assert facts(topology, "bucket") == (
        "checkpoints/: 30 days",
        "releases/: 730 days, STANDARD_IA after 30, DEEP_ARCHIVE after 90",
    )
    assert facts(topology, "snapshots") == ("every 6 h", "kept 14 days")
    assert facts(topology, "snapshot-copies") == ("encrypted", "kept 30 days")
    assert "budget USD 120,000 a month" in facts(topology, "monitoring")
    assert [area.name for area in topology.copies] == ["us-west-2"]
    assert flows(topology) == {
        ("pool-train", "file-system"): "data, checkpoints",
        ("pool-prepare", "file-system"): "data, checkpoints",
        ("pool-train", "snapshots"): "disks",
        ("pool-prepare", "snapshots"): "disks",
        ("file-system", "bucket"): "export and import",
        ("snapshots", "snapshot-copies"): "copy",
        ("bucket", "replica"): "replication",
        (NETWORK, "way-out"): "egress",
        ("way-out", "internet"): "",
    }


def test_without_a_link_the_jobs_bring_checkpoints_to_the_bucket_themselves(planned: Planned) -> None:
    found = flows(topology_of(planned("tencentcloud-prod")))
    assert found["pool-train", "file-system"] == "data"
    assert found["pool-train", "bucket"] == "checkpoints"
    assert ("file-system", "bucket") not in found


def test_only_disks_that_the_schedule_reaches_flow_to_snapshots(planned: Planned) -> None:
    found = flows(topology_of(planned("tencentcloud-prod")))
    assert ("pool-train", "snapshots") in found
    assert ("pool-prepare", "snapshots") not in found


def test_pools_are_grouped_by_the_zones_they_may_be_in(planned: Planned) -> None:
    topology = topology_of(planned("aws-dev"))
    assert [area.name for area in topology.zones] == ["us-east-1a + us-east-1b"]
    assert facts(topology, "way-out") == ("one NAT gateway for 2 zones",)
    assert facts(topology, "snapshots") == ("at 03:00 UTC on mon, wed, fri", "kept 7 days")
    assert topology.copies == ()


def test_the_file_system_is_last_even_where_its_zone_came_first(planned: Planned) -> None:
    plan = planned("aws-prod")
    train, prepare = plan.node_pools
    moved = replace(plan, node_pools=(train, replace(prepare, zones=("us-east-1a",))))
    topology = topology_of(moved)
    assert [area.name for area in topology.zones] == ["us-east-1a", "us-east-1d"]
    assert topology.zones[-1].parts[-1].id == "file-system"


def test_a_network_of_endpoints_reaches_no_internet(planned: Planned) -> None:
    plan = planned("aws-prod")
    topology = topology_of(replace(plan, network=replace(plan.network, nat="none", ssh_from=("10.0.0.0/8",))))
    assert topology.outside is None
    assert "internet" not in {flow.target for flow in topology.flows}
    assert facts(topology, "way-out") == ("endpoints of the cloud only,", "no way to the internet")
    assert topology.network == "network 10.64.0.0/16: SSH from 10.0.0.0/8"


def test_a_file_system_that_only_imports_is_fed_by_the_bucket(planned: Planned) -> None:
    plan = planned("aws-prod")
    assert plan.file_system is not None
    topology = topology_of(replace(plan, file_system=replace(plan.file_system, exports=False)))
    (flow,) = (flow for flow in topology.flows if flow.kind == "sync")
    assert (flow.source, flow.target, flow.label, flow.both_ways) == ("bucket", "file-system", "import", False)


def test_copies_in_two_regions_are_two_areas(planned: Planned) -> None:
    plan = planned("aws-prod")
    assert plan.snapshots is not None
    topology = topology_of(replace(plan, snapshots=replace(plan.snapshots, copy_region="eu-west-1")))
    assert [(area.name, area.parts[0].id) for area in topology.copies] == [
        ("eu-west-1", "snapshot-copies"),
        ("us-west-2", "replica"),
    ]


def test_what_the_catalog_does_not_know_is_a_question_mark(planned: Planned) -> None:
    plan = planned("aws-dev")
    (pool,) = plan.node_pools
    row = replace(pool.instance_type, network_gbps=None, gpu_count=None, gpu_model=None)
    topology = topology_of(replace(plan, node_pools=(replace(pool, instance_types=(row,)),)))
    assert facts(topology, "pool-try")[1:3] == ("? × GPU of unknown model", "network up to ? Gbps, no RDMA used")


@pytest.mark.parametrize("name", NAMES)
def test_every_flow_joins_parts_that_are_drawn(planned: Planned, name: str) -> None:
    topology = topology_of(planned(name))
    ids = [part.id for part in topology.parts]
    assert len(ids) == len(set(ids))
    for flow in topology.flows:
        assert {flow.source, flow.target} <= {*ids, NETWORK}
