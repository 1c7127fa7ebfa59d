"""GpuMonitoring: what it takes, what it refuses, and what it gives out."""

from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from gpuyard import GpuMonitoring, SpecError

from .conftest import SMALLEST, Recorder

Build = Callable[..., Any]
LATER = "is known only after the update, but the plan needs it before. Give a plain value."
POOL = SMALLEST[GpuMonitoring]["node_pools"]["train"]
SYSTEM = {"file_system_id": "fs-1", "capacity_gib": 1_200}


def later(value: Any) -> pulumi.Output[Any]:
    return pulumi.Output.from_input(value)


@pytest.fixture
def refused(build: Build, recorder: Recorder) -> Callable[..., list[str]]:
    """The problems of arguments that must be wrong, with nothing registered."""

    def make(**changes: Any) -> list[str]:
        with pytest.raises(SpecError) as caught:
            build(GpuMonitoring, **changes)
        assert recorder.registered == []
        return [str(problem) for problem in caught.value.problems]

    return make


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"node_pools": ...}, "node_pools: is missing. It must be given."),
        ({"node_pools": {}}, "node_pools: should have at least 1 entry, not an empty mapping."),
        ({"node_pools": later({"train": POOL})}, f"node_pools: {LATER}"),
        ({"node_pools": {"train": later(POOL)}}, f"node_pools.train: {LATER}"),
        ({"node_pools": {"train": {**POOL, "rdma": later(True)}}}, f"node_pools.train.rdma: {LATER}"),
        (
            {"node_pools": {"train": {"group_name": "x"}}},
            "node_pools.train.log_group_name: is missing. aws watches a pool by it.",
        ),
        (
            {"node_pools": {"train": {**POOL, "rdma": "yes"}}},
            "node_pools.train.rdma: should be true or false, not 'yes'.",
        ),
        (
            {"watched_file_system": {**SYSTEM, "capacity_gib": later(1_200)}},
            f"watched_file_system.capacity_gib: {LATER}",
        ),
        ({"notify": ["ml"]}, "notify[0]: should be an e-mail address, not 'ml'."),
        (
            {"budget": {"monthly_amount": 5, "currency": "CNY"}},
            "budget.currency: costs in us-east-1 are in USD, not in CNY. Set it to USD and give 'monthly_amount' in "
            "USD: nothing is converted.",
        ),
    ],
)
def test_what_cannot_be_watched_is_refused(changes: dict[str, Any], message: str, refused: Callable[..., list[str]]):
    assert refused(**changes) == [message]


def test_a_misspelled_key_of_a_pool_is_suggested(refused: Callable[..., list[str]]):
    found = refused(node_pools={"train": {"group_name": "x", "log_group": "/x"}})
    assert "node_pools.train.log_group: unknown key 'log_group'. Did you mean 'log_group_name'?" in found


def test_problems_of_what_is_watched_and_of_thresholds_come_together(refused: Callable[..., list[str]]):
    found = refused(node_pools={"train": {**POOL, "rdma": 3}}, for_minutes=1)
    assert sorted(problem.split(":")[0] for problem in found) == ["for_minutes", "node_pools.train.rdma"]


def test_everything_that_it_makes_has_a_name_that_others_can_use(build: Build, recorder: Recorder):
    build(GpuMonitoring, watched_file_system=SYSTEM, budget={"monthly_amount": 5})
    assert recorder.outputs["gpuyard:index:GpuMonitoring"] == {
        "topicArn": "arn:mock:x-messages",
        "alarmNames": [
            "x-train-gpu-idle",
            "x-train-gpu-memory",
            "x-train-xid",
            "x-train-xid-hardware",
            "x-file-system-full",
        ],
        "dashboardName": "x-messages",
        "budgetName": "x-budget",
    }


def test_what_there_is_not_has_no_name(build: Build, recorder: Recorder):
    build(GpuMonitoring, dashboard=False)
    assert set(recorder.outputs["gpuyard:index:GpuMonitoring"]) == {"topicArn", "alarmNames"}


def test_the_budget_counts_the_cluster_that_the_pools_belong_to(build: Build, recorder: Recorder):
    build(GpuMonitoring, cluster_name="llm", budget={"monthly_amount": 5})
    assert recorder.inputs("Budget")["costFilters"] == [{"name": "TagKeyValue", "values": ["user:gpuyard:cluster$llm"]}]
