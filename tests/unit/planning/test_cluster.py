"""The whole cluster: every part planned, every problem of every part together."""

from copy import deepcopy
from typing import Any

import pytest

from gpuyard.planning.cluster import gpus_of_the_job, place_of, plan_cluster, try_plan_cluster
from gpuyard.planning.plans import ClusterPlan, Place
from gpuyard.spec import ClusterSpec, SpecError, parse_spec

CLUSTER: dict[str, Any] = {
    "cloud": "aws",
    "region": "us-east-1",
    "zone": "us-east-1d",
    "environment": "prod",
    "workload": {"task": "pretrain", "model_parameters": 70e9},
    "node_pools": {
        "train": {"gpu": "A100-80GB", "gpus_per_node": 8, "nodes": 4, "interconnect": "rdma"},
        "prep": {
            "gpu": "A10",
            "nodes": {"min": 0, "max": 8},
            "purchase": "spot",
            "zones": ["us-east-1a", "us-east-1d"],
        },
    },
    "file_system": {"capacity_gib": 24_000},
    "checkpoints": {"keep_days": 30},
    "snapshots": {"every_hours": 6, "keep_days": 14},
}


def spec(**changes: Any) -> ClusterSpec:
    data = {**deepcopy(CLUSTER), **changes}
    return parse_spec(ClusterSpec, {key: value for key, value in data.items() if value is not None})


def plan(**changes: Any) -> ClusterPlan:
    return plan_cluster(spec(**changes), "stack")


def wrong(**changes: Any) -> list[str]:
    with pytest.raises(SpecError) as caught:
        plan(**changes)
    return [str(problem) for problem in caught.value.problems]


def test_the_place_is_what_every_part_shares():
    assert place_of(spec()) == Place("aws", "us-east-1", "prod", "us-east-1d", "pretrain", 70e9)
    assert place_of(spec(workload=None)) == Place("aws", "us-east-1", "prod", "us-east-1d")


def test_every_part_is_planned():
    found = plan()
    assert [pool.name for pool in found.node_pools] == ["train", "prep"]
    assert found.file_system is not None
    assert found.checkpoints is not None
    assert found.snapshots is not None
    assert found.file_system.zone == "us-east-1d"


def test_parts_that_nobody_asked_for_are_not_planned():
    found = plan(file_system=None, checkpoints=None, snapshots=None, workload=None)
    assert (found.file_system, found.checkpoints, found.snapshots) == (None, None, None)
    assert found.network.file_system is False


def test_each_zone_that_is_used_has_one_subnet_the_clusters_own_first():
    assert [subnet.zone for subnet in plan().network.subnets] == ["us-east-1d", "us-east-1a"]


def test_the_stacks_name_is_the_clusters_unless_it_has_its_own():
    assert plan().name == "stack"
    assert plan(name="mine").name == "mine"


@pytest.mark.parametrize("name", ["My_Stack", "stack.1", "1st", "a" * 33, "x-", "", "stack\n"])
def test_a_stacks_name_that_is_no_name_of_resources_is_refused(name: str):
    with pytest.raises(SpecError) as caught:
        plan_cluster(spec(), name)
    (problem,) = caught.value.problems
    assert str(problem) == (
        f"name: '{name}' cannot stand in front of every resource: a name is lower-case letters, digits and hyphens, at "
        "most 32, beginning with a letter. Set 'name'."
    )
    assert plan_cluster(spec(name="mine"), name).name == "mine"


@pytest.mark.parametrize(
    ("cluster", "pool", "fits"), [(32, 18, True), (32, 19, False), (18, 32, True), (32, 32, False)]
)
def test_the_name_of_a_role_fits_into_64_characters(cluster: int, pool: int, fits: bool):
    """The provider puts a hyphen and seven digits behind ``<cluster>-<pool>-role``."""
    name, pool_name = "a" * cluster, "b" * pool
    assert (len(f"{name}-{pool_name}-role") + 8 <= 64) is fits
    pools = {pool_name: CLUSTER["node_pools"]["train"]}
    if fits:
        assert plan(name=name, node_pools=pools).name == name
        return
    assert wrong(name=name, node_pools=pools) == [
        f"node_pools.{pool_name}: the names '{name}' of the cluster and '{pool_name}' of the pool have "
        f"{cluster + pool} characters together, but the name of the nodes' role takes at most 50 of both: "
        "64 less 14 for the rest of it. Shorten one of them; 'name' sets the cluster's."
    ]


@pytest.mark.parametrize(
    ("environment", "asked", "protected"),
    [
        ("prod", None, True),
        ("staging", None, False),
        ("dev", None, False),
        ("prod", False, False),
        ("dev", "true", True),
    ],
)
def test_data_is_protected_in_prod_unless_asked_otherwise(environment: str, asked: object, protected: bool):
    assert plan(environment=environment, protect_data=asked).protect_data is protected


def test_a_linked_file_system_has_no_backups_and_an_unlinked_one_has():
    linked, alone = plan().file_system, plan(checkpoints=None, workload=None).file_system
    assert linked is not None
    assert alone is not None
    assert (linked.backup_keep_days, alone.backup_keep_days) == (0, 7)


@pytest.mark.parametrize("key", ["gpuyard:cluster", "Gpuyard:x", "aws:x", "AWS:cloudformation:stack-name"])
def test_reserved_tags_are_refused(key: str):
    prefix = key.split(":")[0].lower() + ":"
    assert wrong(tags={"team": "vision", key: "x"}) == [
        f"tags.{key}: tag keys that begin with '{prefix}' are not yours to set. Choose another key."
    ]


def test_tags_of_people_reach_the_plan():
    assert plan(tags={"team": "vision", "awsome": "x"}).tags == {"team": "vision", "awsome": "x"}


def test_an_unknown_region_is_the_only_problem():
    assert wrong(region="us-east2", snapshots={"every_hours": 5, "keep_days": 1}) == [
        "region: 'us-east2' is no region of aws. Did you mean 'us-east-2'?"
    ]


def test_a_zone_of_another_region_is_refused():
    assert wrong(zone="us-west-2a")[0] == (
        "zone: 'us-west-2a' is no zone of us-east-1. A zone there is written like 'us-east-1a', or as a zone id."
    )


def test_the_problems_of_every_part_come_together():
    pools = deepcopy(CLUSTER["node_pools"])
    pools["train"]["gpu"] = "A1000"
    pools["prep"]["zones"] = ["eu-west-1a"]
    found = wrong(
        node_pools=pools,
        tags={"aws:x": "y"},
        file_system={"capacity_gib": 3600, "region": "us-west-2"},
        checkpoints={"keep_days": 1, "region": "us-west-2"},
        snapshots={"every_hours": 5, "keep_days": 1},
        access={"ssh_from": ["0.0.0.0/0"]},
    )
    assert [message.split(": ")[0] for message in found] == [
        "tags.aws:x",
        "node_pools.train.gpu",
        "node_pools.prep.zones[0]",
        "file_system.region",
        "file_system.capacity_gib",
        "checkpoints.region",
        "snapshots.every_hours",
        "access.ssh_from[0]",
    ]


def test_problems_may_be_had_as_a_value():
    found, problems = try_plan_cluster(spec(zone="us-west-2a"), "stack")
    assert found is None
    assert problems
    assert try_plan_cluster(spec(), "stack") == (plan(), [])


# --- where checkpoints are safe


@pytest.mark.parametrize("task", ["pretrain", "full_finetune", "lora", "rl", "vision"])
def test_br_106_spot_training_without_a_checkpoint_bucket_is_refused(task: str):
    assert wrong(checkpoints=None, workload={"task": task}) == [
        "checkpoints: spot nodes (prep) are taken back at any time, and the cluster has no checkpoint bucket. Add "
        "'checkpoints: {keep_days: 14}'."
    ]


ON_DEMAND: dict[str, Any] = {"node_pools": {"train": CLUSTER["node_pools"]["train"]}, "checkpoints": None}


@pytest.mark.parametrize(
    "file_system",
    [
        None,
        {"capacity_gib": 2400, "durability": "scratch"},
        {"capacity_gib": 2400, "aws": {"deployment": "SCRATCH_2"}},
    ],
)
def test_disks_that_are_lost_with_a_machine_are_never_the_only_home_of_a_checkpoint(file_system: Any):
    assert wrong(**ON_DEMAND, file_system=file_system) == [
        "checkpoints: nothing that lasts holds checkpoints: what is only on the nodes or on scratch is lost with them. "
        "Add 'checkpoints: {keep_days: 14}'."
    ]


def test_a_persistent_file_system_may_be_the_home_of_checkpoints():
    assert plan(**ON_DEMAND).checkpoints is None


def test_a_pool_of_another_task_is_judged_by_its_own():
    """The spot pool only serves: what trains is on demand, with a persistent file system."""
    prep = {**CLUSTER["node_pools"]["prep"], "task": "inference"}
    found = plan(node_pools={"train": CLUSTER["node_pools"]["train"], "prep": prep}, checkpoints=None)
    assert [pool.place.task for pool in found.node_pools] == ["pretrain", "inference"]


def test_a_served_model_has_no_checkpoints_to_lose():
    assert plan(checkpoints=None, workload={"task": "inference"}).checkpoints is None


# --- what parts need of each other


def test_throughput_follows_from_the_gpus_of_the_job_where_none_is_given():
    found = plan()
    pools = found.node_pools
    assert gpus_of_the_job(pools) == 32
    assert gpus_of_the_job(pools[1:]) == 8
    assert gpus_of_the_job(()) is None
    assert found.file_system is not None
    assert any("The work needs" in reason for reason in found.file_system.reasons)


def test_spare_nodes_do_not_make_a_job_larger():
    train = {**CLUSTER["node_pools"]["train"], "spare_nodes": 1}
    assert gpus_of_the_job(plan(node_pools={"train": train}).node_pools) == 32


def test_a_file_system_with_rdma_needs_nodes_that_reach_it_so():
    (message,) = wrong(file_system={"capacity_gib": 38_400, "rdma": True})
    assert message.startswith("file_system.rdma: ")
    assert "p4de.24xlarge" in message


def test_a_pool_that_cannot_be_planned_is_not_blamed_for_what_it_cannot_reach():
    pools = {"train": {"instance_type": "p5.48xlarge", "nodes": 2, "interconnect": "rdma", "log_keep_days": 2}}
    (message,) = wrong(node_pools=pools, file_system={"capacity_gib": 38_400, "rdma": True})
    assert message.startswith("node_pools.train.log_keep_days")


def test_what_is_watched_is_planned_with_the_rest():
    assert plan().monitoring is None
    found = plan(monitoring={"for_minutes": 60}).monitoring
    assert found is not None
    assert (found.period_seconds, found.utilization_periods) == (300, 12)
