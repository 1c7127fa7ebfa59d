"""The stack file of a candidate."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpuyard.catalog import file_system_types
from gpuyard.planning.check import check_stack_file
from gpuyard.planning.plans import ClusterPlan
from gpuyard.planning.workload.stack_file import StackPlace, file_system_size, stack_file_text
from gpuyard.planning.workload.storage import StorageNeed
from gpuyard.spec.stack_file import read_stack_file

from .helpers import TODAY, candidate, plan

HERE = StackPlace("us-east-1", "us-east-1a", "dev")
PLACE = {"clouds": ["aws"], "regions": ["us-east-1"]}


def checked(text: str, folder: Any) -> ClusterPlan:
    path = folder / "Pulumi.try.yaml"
    path.write_text(text, encoding="utf-8")
    return check_stack_file(read_stack_file(path), "try")


def need(**changed: float) -> StorageNeed:
    fields = {"read_mb_per_s": 500, "checkpoint_gb": 100, "write_gb_per_s": 1, "write_s": 100, "interval_s": 3600}
    return StorageNeed(**(fields | {"mean_time_between_failures_h": 100} | changed), reasons=())


def test_a_training_cluster_has_all_that_the_plan_asks_for(tmp_path):
    found = plan(task="pretrain", parameters=70e9, tokens=1e12, **PLACE)
    one = candidate(found, "p5.48xlarge")
    text = stack_file_text(found, one, StackPlace("us-east-1", "use1-az6", "prod", "llm"), TODAY)
    cluster = checked(text, tmp_path)
    (pool,) = cluster.node_pools
    assert (cluster.name, cluster.place.zone, cluster.place.environment) == ("llm", "use1-az6", "prod")
    assert (cluster.place.task, cluster.place.model_parameters) == ("pretrain", 70e9)
    assert [row.instance_type for row in pool.instance_types] == ["p5.48xlarge"]
    assert (pool.kind, pool.min_nodes, pool.max_nodes) == ("rdma", one.layout.nodes, one.layout.nodes)
    assert one.storage is not None
    assert cluster.file_system is not None
    assert cluster.file_system.capacity_gib * 2**30 / 1e9 >= 4000 + 3 * one.storage.checkpoint_gb
    assert (cluster.file_system.throughput_mb_per_s or 0) >= one.storage.write_gb_per_s * 1000
    assert cluster.checkpoints is not None
    assert cluster.snapshots is not None


def test_each_choice_has_a_comment_that_says_why():
    found = plan(task="pretrain", parameters=70e9, tokens=1e12, **PLACE)
    one = candidate(found, "p5.48xlarge")
    text = stack_file_text(found, one, HERE, TODAY)
    assert text.startswith("# Written by 'gpuyard plan' on 2026-12-01. Fits on ")
    flat = " ".join(line.strip().lstrip("# ") for line in text.splitlines())
    assert "RDMA is needed. interconnect: rdma" in flat
    assert "Holds 4,000 GB of data and 3 checkpoints of 980 GB; must read 500 MB/s and write " in flat
    assert "They are removed after 30 days: move the final weights elsewhere. checkpoints:" in flat
    assert max(len(line) for line in text.splitlines()) <= 100


def test_a_served_model_has_no_storage(tmp_path):
    found = plan(task="inference", parameters=7e9, **PLACE)
    text = stack_file_text(found, candidate(found, "g6.12xlarge"), HERE, TODAY)
    cluster = checked(text, tmp_path)
    assert (cluster.file_system, cluster.checkpoints, cluster.snapshots) == (None, None, None)
    assert "# A served model keeps nothing: no file system, checkpoints or snapshots." in text
    assert [pool.name for pool in cluster.node_pools] == ["serve"]


def test_interruptible_work_is_bought_as_spot(tmp_path):
    found = plan(task="lora", parameters=7e9, allow_interruptions=True, **PLACE)
    one = candidate(found, "g5.2xlarge")
    (pool,) = checked(stack_file_text(found, one, HERE, TODAY), tmp_path).node_pools
    assert pool.purchase == "spot"


def test_nodes_joined_by_rdma_are_never_bought_as_spot(tmp_path):
    found = plan(task="pretrain", parameters=70e9, gpus=64, allow_interruptions=True, **PLACE)
    text = stack_file_text(found, candidate(found, "p5.48xlarge"), HERE, TODAY)
    (pool,) = checked(text, tmp_path).node_pools
    assert (pool.kind, pool.purchase) == ("rdma", "on_demand")
    flat = " ".join(line.strip().lstrip("# ") for line in text.splitlines())
    assert "8 nodes that train together over RDMA are not bought as spot: one taken back stops all." in flat


def test_long_work_says_how_bought_capacity_is_named(tmp_path):
    found = plan(task="pretrain", parameters=7e9, tokens=1e12, target_days=120, **PLACE)
    one = candidate(found, "p5.48xlarge")
    assert one.purchase.ways[0] == "reserved"
    text = stack_file_text(found, one, HERE, TODAY)
    assert "'reservation: {id: cr-...}'" in " ".join(line.strip().lstrip("# ") for line in text.splitlines())
    (pool,) = checked(text, tmp_path).node_pools
    assert pool.purchase == "on_demand"


@pytest.mark.parametrize(("tokens", "capacity_gib"), [(1e9, 1200), (5e11, 2400), (1e12, 4800), (3e12, 12_000)])
def test_capacity_holds_the_data_in_a_step_that_is_sold(tokens, capacity_gib):
    found = plan(task="pretrain", parameters=7e9, tokens=tokens, **PLACE)
    assert file_system_size(found, need(), "aws").capacity_gib == capacity_gib


def test_capacity_grows_where_the_fastest_choice_is_too_slow():
    found = plan(task="pretrain", parameters=7e9, **PLACE)
    size = file_system_size(found, need(write_gb_per_s=20), "aws")
    assert (size.capacity_gib, size.throughput_mb_per_s, size.data_gb) == (21_600, 20_000, None)


@given(st.floats(1, 1e5), st.floats(0.001, 100), st.floats(500, 50_000))
def test_every_size_is_sold_and_fast_enough(checkpoint_gb, write_gb_per_s, read_mb_per_s):
    kind = file_system_types("aws")["PERSISTENT_2"]
    found = plan(task="pretrain", parameters=7e9, gpu="H100", gpus=8, **PLACE)
    wanted = need(checkpoint_gb=checkpoint_gb, write_gb_per_s=write_gb_per_s, read_mb_per_s=read_mb_per_s)
    size = file_system_size(found, wanted, "aws")
    assert kind.takes_capacity(size.capacity_gib)
    assert size.capacity_gib * 2**30 >= 3 * checkpoint_gb * 1e9
    assert max(kind.throughput_mb_per_s_per_tib) * size.capacity_gib / 1000 >= size.throughput_mb_per_s
    assert size.throughput_mb_per_s >= max(read_mb_per_s, write_gb_per_s * 1000)


@settings(max_examples=80, deadline=None)
@given(
    task=st.sampled_from(["pretrain", "full_finetune", "lora", "rl", "vision", "inference"]),
    parameters=st.floats(1e7, 2e11),
    tokens=st.none() | st.floats(1e8, 1e12),
    interruptions=st.booleans(),
    environment=st.sampled_from(["dev", "staging", "prod"]),
    pick=st.integers(0, 200),
)
def test_what_is_written_passes_the_check(tmp_path_factory, task, parameters, tokens, interruptions, environment, pick):
    fields: dict[str, Any] = {"task": task, "parameters": parameters, "allow_interruptions": interruptions}
    if tokens is not None and task != "inference":
        fields["tokens"] = tokens
    found = plan(**fields, **PLACE)
    x86 = [one for one in found.candidates if one.instance_type.cpu_arch == "x86_64"]
    assume(x86)
    one = x86[pick % len(x86)]
    # One network of a VPC's largest size holds no more: the command says so and takes the next candidate.
    assume(one.layout.nodes * (one.instance_type.rdma_interfaces or 1) < 30_000)
    text = stack_file_text(found, one, StackPlace("us-east-1", "us-east-1b", environment), TODAY)
    cluster = checked(text, tmp_path_factory.mktemp("stack"))
    assert cluster.node_pools[0].max_nodes == one.layout.nodes
    assert (cluster.file_system is not None) == (task != "inference")
