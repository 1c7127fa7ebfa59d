"""Parallel file systems that are reached over RDMA.

Source: https://docs.aws.amazon.com/fsx/latest/LustreGuide/efa-file-systems.html
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.catalog import file_system_types
from gpuyard.planning.file_systems import plan_file_system
from gpuyard.spec import FileSystemSpec, parse_spec

from ..conftest import PLACE
from .file_system_helpers import right, wrong

STEPS = {125: 38_400, 250: 19_200, 500: 9600, 1000: 4800}


@pytest.mark.parametrize(
    ("capacity_gib", "wanted", "per_unit"),
    [
        (38_400, None, 125),
        (38_400, 4801, 250),
        (19_200, None, 250),
        (19_200, 9600, 500),
        (9600, None, 500),
        (4800, None, 1000),
        (4800, 4800, 1000),
        (14_400, None, 1000),
        (28_800, None, 500),
    ],
)
def test_the_smallest_choice_whose_step_the_capacity_keeps_is_taken(
    capacity_gib: int, wanted: int | None, per_unit: int
):
    plan = right(capacity_gib=capacity_gib, throughput_mb_per_s=wanted, rdma=True)
    assert (plan.rdma, plan.per_unit_mb_per_s_per_tib) == (True, per_unit)
    assert plan.throughput_mb_per_s == per_unit * capacity_gib / 1000


def test_a_capacity_of_no_step_is_refused_with_the_nearest_of_each_choice():
    assert wrong(capacity_gib=24_100, rdma=True) == [
        "capacity_gib: PERSISTENT_2 with RDMA cannot have 24100 GiB: each throughput choice has a step of its own. "
        "Nearest: 38400 GiB at 125 MB/s per TiB; 19200 or 38400 GiB at 250 MB/s per TiB; 19200 or 28800 GiB at 500 "
        "MB/s per TiB; 24000 or 28800 GiB at 1000 MB/s per TiB."
    ]


def test_only_choices_that_give_the_throughput_are_named():
    assert wrong(capacity_gib=24_100, throughput_mb_per_s=12_000, rdma=True) == [
        "capacity_gib: PERSISTENT_2 with RDMA cannot have 24100 GiB: each throughput choice has a step of its own. "
        "Nearest: 28800 GiB at 500 MB/s per TiB; 24000 or 28800 GiB at 1000 MB/s per TiB."
    ]


def test_where_no_capacity_near_is_fast_enough_the_smallest_that_is_is_named():
    assert wrong(capacity_gib=1200, throughput_mb_per_s=12_000, rdma=True) == [
        "capacity_gib: PERSISTENT_2 with RDMA cannot have 1200 GiB: each throughput choice has a step of its own. "
        "Nearest: 14400 GiB at 1000 MB/s per TiB."
    ]


def test_more_than_a_valid_capacity_gives_is_refused_with_one_that_does():
    assert wrong(capacity_gib=4800, throughput_mb_per_s=4801, rdma=True) == [
        "throughput_mb_per_s: 4800 GiB of PERSISTENT_2 with RDMA give at most 4800 MB/s, not 4801: 125, 250, 500 or "
        "1000 MB/s per TiB are offered. 9600 GiB would do."
    ]


@given(st.integers(1, 200_000), st.none() | st.integers(1, 200_000))
def test_what_is_planned_keeps_the_step_and_what_is_named_can_be_planned(capacity_gib: int, wanted: int | None):
    values = {"capacity_gib": capacity_gib, "throughput_mb_per_s": wanted, "rdma": True}
    spec = parse_spec(FileSystemSpec, values)
    found, problems = plan_file_system(spec, PLACE)
    if found is not None:
        assert found.per_unit_mb_per_s_per_tib is not None
        assert capacity_gib % STEPS[found.per_unit_mb_per_s_per_tib] == 0
        assert (found.throughput_mb_per_s or 0) >= (wanted or 0)
        return
    (problem,) = problems
    sizes = re.findall(r"(\d+)(?= or | GiB)", problem.remedy)
    assert sizes
    for size in sizes:
        solved, left = plan_file_system(spec.model_copy(update={"capacity_gib": int(size)}), PLACE)
        assert (solved is not None, left) == (True, []), size


@pytest.mark.parametrize(("deployment", "remedy"), [("SCRATCH_2", "PERSISTENT_2"), ("PERSISTENT_1", "PERSISTENT_2")])
def test_only_persistent_2_is_reached_over_rdma(deployment: str, remedy: str):
    assert wrong(aws={"deployment": deployment}, capacity_gib=4800, rdma=True) == [
        f"rdma: {deployment} is not reached over RDMA. Remove it, or use 'deployment: {remedy}' ({remedy})."
    ]


def test_what_is_chosen_for_good_is_said():
    assert right(capacity_gib=4800, rdma=True).reasons[-1] == (
        "Reached over RDMA: that and the throughput choice are for good, more capacity gives more throughput."
    )


def test_the_steps_are_those_of_the_catalog():
    kind = file_system_types("aws")["PERSISTENT_2"]
    assert {choice: kind.efa_step_gib(choice) for choice in kind.throughput_mb_per_s_per_tib} == STEPS
    with pytest.raises(KeyError):
        file_system_types("aws")["PERSISTENT_1"].efa_step_gib(50)
