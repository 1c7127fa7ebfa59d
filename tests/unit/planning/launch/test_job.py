"""Which pools can run a job over several nodes, and what it is."""

import json
from typing import Any

import pytest

from gpuyard.planning.launch import host_problems, launch_job, launch_outputs
from gpuyard.planning.launch.job import LaunchJob
from gpuyard.planning.plans import NodePoolPlan, Place

from ..conftest import Pool

TRAINING: dict[str, Any] = {"instance_type": "p4de.24xlarge", "nodes": 4, "interconnect": "rdma"}
SPOT: dict[str, Any] = {"gpu": "A10G", "gpus_per_node": 4, "nodes": {"min": 2, "max": 8}, "purchase": "spot"}


def place(task: str | None = "pretrain", parameters: float | None = 70e9, cloud: str = "aws") -> Place:
    region, zone = {
        "aws": ("us-east-1", "us-east-1d"),
        "alicloud": ("cn-beijing", "cn-beijing-l"),
        "tencentcloud": ("ap-beijing", "ap-beijing-6"),
    }[cloud]
    return Place(cloud, region, "dev", zone, task, parameters)


def job_of(plan: NodePoolPlan, nodes: int | None = None) -> LaunchJob:
    job, problems = launch_job(plan, nodes)
    assert problems == []
    assert job is not None
    return job


def test_a_training_pool_on_efa(pool: Pool) -> None:
    job = job_of(pool(place(), **TRAINING))
    assert (job.nodes, job.min_nodes, job.gpus_per_node, job.ranks, job.elastic) == (4, 4, 8, 32, False)
    assert (job.fabric, job.precision) == ("efa", "bf16")
    assert job.environment == {"NCCL_SOCKET_IFNAME": "^docker,lo,veth"}
    assert job.layout is not None
    assert job.layout.data * job.layout.tensor * job.layout.pipeline == 32
    assert any(reason.startswith("Left out on purpose: FI_PROVIDER") for reason in job.reasons)


def test_the_layout_by_zero_alone_has_no_model_parallelism(pool: Pool) -> None:
    job = job_of(pool(place(), **TRAINING))
    assert job.zero_layout is not None
    assert (job.zero_layout.data, job.zero_layout.tensor, job.zero_layout.pipeline) == (32, 1, 1)
    assert job.zero_layout.sharding == "zero3", "70 B × 16 bytes fit 32 × 80 GB only when all is divided"


def test_a_small_model_needs_no_sharding(pool: Pool) -> None:
    job = job_of(pool(place(parameters=1e9), **TRAINING))
    assert job.zero_layout is not None
    assert job.zero_layout.sharding == "none"
    assert job.layout == job.zero_layout


def test_a_model_that_fits_nowhere_has_no_layout(pool: Pool) -> None:
    job = job_of(pool(place(parameters=5e12), **TRAINING))
    assert (job.layout, job.zero_layout) == (None, None)
    assert job.reasons[-1] == "A model of 5e+12 parameters does not fit 4 nodes in any layout."


def test_without_a_model_the_layout_is_unknown(pool: Pool) -> None:
    job = job_of(pool(place(parameters=None), **TRAINING))
    assert job.layout is None
    assert job.reasons[-1].startswith("The stack names no 'workload.model_parameters'")


def test_spare_nodes_stand_by(pool: Pool) -> None:
    job = job_of(pool(place(), **TRAINING, spare_nodes=1))
    assert (job.nodes, job.spare_nodes) == (4, 1)
    assert host_problems(job, ("a", "b", "c", "d", "e")) == []
    [problem] = host_problems(job, ("a", "b", "c"))
    assert str(problem) == (
        "--hosts: 3 hosts are given, and pool 'train' has 4 to 5, 1 of them spare. Give the pool's nodes, each once."
    )


def test_an_elastic_pool_may_have_fewer_nodes(pool: Pool) -> None:
    job = job_of(pool(place("lora", 7e9), **SPOT))
    assert (job.min_nodes, job.nodes, job.elastic, job.fabric, job.environment) == (2, 8, True, None, {})
    assert any("TCP" in reason for reason in job.reasons)
    assert any(reason.startswith("Nodes meet at the first host") for reason in job.reasons)
    assert host_problems(job, ("a", "b")) == []
    [problem] = host_problems(job, ("a",))
    assert problem.message == "1 host is given, and pool 'train' has 2 to 8."
    fewer = job_of(pool(place("lora", 7e9), **SPOT), 3)
    assert (fewer.min_nodes, fewer.nodes) == (2, 3)


def test_a_pool_that_may_be_empty_starts_with_one_node(pool: Pool) -> None:
    values = {**SPOT, "nodes": {"min": 0, "max": 8}}
    assert job_of(pool(place("lora", 7e9), **values)).min_nodes == 1


def test_one_host_is_no_job_of_several_nodes(pool: Pool) -> None:
    job = job_of(pool(place("lora", 7e9), **{**SPOT, "nodes": {"min": 0, "max": 8}}))
    assert host_problems(job, ("a",)) != []


def test_gpus_before_ampere_compute_in_fp16(pool: Pool) -> None:
    assert job_of(pool(place(), instance_type="g4dn.12xlarge", nodes=2)).precision == "fp16"


@pytest.mark.parametrize(
    ("values", "where", "told"),
    [
        ({**TRAINING, "nodes": 1}, place(),
         "pool 'train' has one node, which needs no launch over several. "
         "Start it there: torchrun --standalone --nproc-per-node=8 train.py"),
        ({**TRAINING, "task": "inference"}, place(),
         "pool 'train' serves models: each replica starts by itself, not as one job on all nodes. "
         "Name a pool that trains, or start the server on each node."),
        ({"instance_type": "g6f.xlarge", "nodes": 2}, place(),
         "g6f.xlarge has a share of a GPU, on which NCCL joins no nodes. Choose a type with whole GPUs."),
    ],
)  # fmt: skip
def test_a_pool_where_it_makes_no_sense_is_refused(pool: Pool, values: dict[str, Any], where: Place, told: str) -> None:
    plan = pool(where, **values)
    job, [problem] = launch_job(plan)
    assert (job, str(problem)) == (None, told)
    assert launch_outputs(plan) == {}


def test_the_fabrics_of_the_other_clouds(pool: Pool) -> None:
    erdma = job_of(pool(place(cloud="alicloud"), instance_type="ecs.ebmgn7ex.32xlarge", nodes=2, interconnect="rdma"))
    assert erdma.environment["NCCL_IB_HCA"] == "erdma"
    more = {"tencentcloud": {"full_type": "HCCPNV4h.48XLARGE1024"}}
    roce = job_of(pool(place(cloud="tencentcloud"), instance_type="HCCPNV4h", nodes=2, interconnect="rdma", **more))
    assert (roce.fabric, roce.environment["NCCL_IB_GID_INDEX"]) == ("roce", "3")
    assert "NCCL_SOCKET_IFNAME" not in roce.environment
    assert any(reason.startswith("NCCL_SOCKET_IFNAME differs between machines") for reason in roce.reasons)


def test_an_undocumented_fabric_is_told(pool: Pool) -> None:
    job = job_of(pool(place(cloud="alicloud"), instance_type="ecs.sccgn7ex.32xlarge", nodes=2, interconnect="rdma"))
    assert job.environment == {}
    assert "Nothing is documented for NCCL over roce of alicloud: its defaults stand." in job.reasons


def test_rdma_that_was_not_asked_for_is_not_counted_on(pool: Pool) -> None:
    assert job_of(pool(place(), instance_type="p4de.24xlarge", nodes=4)).fabric is None


def test_outputs_are_plain_data_with_placeholders_for_hosts_alone(pool: Pool) -> None:
    found = launch_outputs(pool(place(), **TRAINING))
    assert json.loads(json.dumps(found)) == found
    assert found["command"] == (
        "torchrun --nnodes=4 --nproc-per-node=8 --max-restarts=3 --rdzv-backend=c10d --rdzv-endpoint=HOST0:29500 "
        "--rdzv-id=train train.py"
    )
    assert (found["ranks"], found["rendezvous_port"], found["precision"]) == (32, 29500, "bf16")
    assert found["nccl_environment"] == {"NCCL_SOCKET_IFNAME": "^docker,lo,veth"}
    assert set(found["layout"]) == {"data", "tensor", "pipeline", "sharding", "recomputation"}
    assert launch_outputs(pool(place(parameters=None), **TRAINING))["layout"] is None
