"""``gpuyard plan --write`` for Tencent Cloud: a stack file that the check takes as it is."""

from pathlib import Path
from typing import Any

import pytest

from gpuyard.catalog.prices import PriceBook
from gpuyard.planning.check import check_stack_file
from gpuyard.planning.plans import ClusterPlan
from gpuyard.planning.workload.stack_file import StackPlace, file_system_size, stack_file_text
from gpuyard.planning.workload.storage import StorageNeed
from gpuyard.spec.stack_file import read_stack_file

from ..workload.helpers import TODAY, candidate, plan

HERE = StackPlace("ap-shanghai", "ap-shanghai-5", "dev")
PLACE: dict[str, Any] = {"clouds": ["tencentcloud"], "regions": ["ap-shanghai"]}


def checked(text: str, folder: Path) -> ClusterPlan:
    path = folder / "Pulumi.try.yaml"
    path.write_text(text, encoding="utf-8")
    return check_stack_file(read_stack_file(path), "try")


@pytest.mark.parametrize(("parameters", "capacity"), [(7e9, 20_480), (13e9, 20_480)])
def test_a_training_has_cfs_turbo_of_a_size_that_is_sold_and_no_snapshots_of_nothing(
    parameters: float, capacity: int, tmp_path: Path
):
    found = plan(task="lora", parameters=parameters, **PLACE)
    text = stack_file_text(found, candidate(found, "GT4.41XLARGE948"), HERE, TODAY)
    cluster = checked(text, tmp_path)
    assert cluster.file_system is not None
    assert cluster.file_system.capacity_gib == capacity
    assert cluster.snapshots is None
    assert "No snapshots: a schedule of this cloud reaches data disks only." in " ".join(text.split())
    assert cluster.checkpoints is not None


def test_what_one_step_does_not_hold_gets_the_next_and_what_is_too_slow_a_larger_one():
    found = plan(task="lora", parameters=7e9, **PLACE)
    need = StorageNeed(500, 10_000, 1, 100, 3600, 100, ())
    # Three checkpoints of 10 TB are 27 940 GiB.
    assert file_system_size(found, need, "tencentcloud").capacity_gib == 30_720
    fast = StorageNeed(6_000, 100, 1, 100, 3600, 100, ())
    assert file_system_size(found, fast, "tencentcloud").capacity_gib == 30_720
    assert file_system_size(found, fast, "tencentcloud").throughput_mb_per_s == 6_000


def test_spot_is_written_with_the_price_that_the_cloud_asks_for(tmp_path: Path):
    found = plan(PriceBook.load(), task="lora", parameters=7e9, allow_interruptions=True, **PLACE)
    one = candidate(found, "GT4.4XLARGE96")
    (pool,) = checked(stack_file_text(found, one, HERE, TODAY), tmp_path).node_pools
    assert one.cost is not None
    assert (pool.purchase, pool.spot_price_limit) == ("spot", round(one.cost.per_hour / one.layout.nodes, 2))


def test_work_that_always_runs_is_told_to_pay_months_ahead_and_not_to_reserve():
    found = plan(task="inference", parameters=7e9, **PLACE)
    text = " ".join(stack_file_text(found, candidate(found, "GN7.20XLARGE320"), HERE, TODAY).replace("#", "").split())
    assert "write 'purchase: prepaid' and 'prepaid: {months: 12}'" in text
    assert "cr-..." not in text
