"""Stack files that ``gpuyard plan --write`` makes for Alibaba Cloud."""

from pathlib import Path
from typing import Any

import pytest

from gpuyard.planning.check import check_stack_file
from gpuyard.planning.workload.stack_file import StackPlace, stack_file_text
from gpuyard.spec import SpecError
from gpuyard.spec.stack_file import read_stack_file

from ..workload.helpers import TODAY, candidate, plan

HERE = StackPlace("cn-beijing", "cn-beijing-l", "dev")
PLACE = {"clouds": ["alicloud"], "regions": ["cn-beijing"]}


def checked(text: str, folder: Path) -> Any:
    path = folder / "Pulumi.try.yaml"
    path.write_text(text, encoding="utf-8")
    return check_stack_file(read_stack_file(path), "try")


def test_a_training_gets_a_cpfs_that_holds_and_moves_what_it_needs(tmp_path: Path):
    found = plan(task="full_finetune", parameters=70e9, tokens=1e9, **PLACE)
    one = candidate(found, "ecs.ebmgn7ex.32xlarge")
    cluster = checked(stack_file_text(found, one, HERE, TODAY), tmp_path)
    assert one.storage is not None
    system = cluster.file_system
    assert system.details.kind == "cpfs"
    assert system.capacity_gib % 1200 == 0
    assert system.capacity_gib * 2**30 / 1e9 >= 4 + 3 * one.storage.checkpoint_gb
    assert system.throughput_mb_per_s >= one.storage.write_gb_per_s * 1000
    # The bucket is linked: there is a data flow, which is slower than the file system.
    assert system.details.flow_mb_per_s < system.throughput_mb_per_s
    assert cluster.snapshots.hours_utc == (3,)


def test_more_data_than_any_cpfs_holds_is_refused_with_the_largest(tmp_path: Path):
    found = plan(task="full_finetune", parameters=13e9, tokens=1e15, **PLACE)
    one = candidate(found, "ecs.ebmgn7ex.32xlarge")
    with pytest.raises(SpecError) as error:
        checked(stack_file_text(found, one, HERE, TODAY), tmp_path)
    messages = [problem.message + problem.remedy for problem in error.value.problems]
    assert any("Nearest: 1047600 (allowed: 3600 to 1047600 GiB in steps of 1200)" in message for message in messages)
