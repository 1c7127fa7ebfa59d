"""Throughput of a file system from what the work needs."""

from dataclasses import replace
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.planning.file_system_need import throughput_need
from gpuyard.planning.plans import Place
from gpuyard.planning.workload.storage import storage_need

from ..conftest import PLACE
from ..workload.helpers import job
from .file_system_helpers import right

LARGE = replace(PLACE, task="pretrain", model_parameters=70e9)
TASKS = ("pretrain", "full_finetune", "lora", "rl", "vision")


def test_checkpoints_of_a_large_model_set_the_need():
    need = throughput_need(LARGE, 32)
    # 70e9 parameters of 14 bytes, written within 5 % of the 4 hours that are the longest interval.
    assert need.mb_per_s == ceil(70e9 * 14 / (0.05 * 4 * 3600) / 1e6) == 1362
    assert need.why == (
        "a checkpoint of 980.0 GB on 32 GPUs is to be written within 720 s, so that training stands still for at most "
        "5% of the time"
    )


def test_reading_sets_the_need_of_a_small_model():
    need = throughput_need(replace(PLACE, task="lora", model_parameters=7e9), 1)
    assert (need.mb_per_s, need.why) == (500, "data is read at 500 MB/s at least")


@given(
    st.sampled_from(TASKS),
    st.floats(1, 1e15, allow_nan=False, allow_infinity=False),
    st.integers(1, 100_000),
)
def test_the_need_is_the_planners_own(task: str, parameters: float, gpus: int):
    place = replace(PLACE, task=task, model_parameters=parameters)
    found = throughput_need(place, gpus).mb_per_s
    assert found is not None
    assert found >= 500
    if parameters <= 1e14:
        wanted = storage_need(job(task=task, parameters=parameters), "bf16", gpus, None)
        assert found == ceil(max(wanted.read_mb_per_s, wanted.write_gb_per_s * 1000))


def test_more_gpus_fail_more_often_and_need_faster_writing():
    needs = [throughput_need(LARGE, gpus).mb_per_s or 0 for gpus in (8, 1024, 16_384)]
    assert needs == sorted(needs)
    assert needs[0] < needs[-1]


@pytest.mark.parametrize(
    ("capacity_gib", "per_unit", "total"),
    [(2400, 1000, 2400), (4800, 500, 2400), (9600, 250, 2400), (24_000, 125, 3000)],
)
def test_what_was_not_asked_for_is_what_the_work_needs(capacity_gib: int, per_unit: int, total: int):
    plan = right(LARGE, capacity_gib=capacity_gib, gpus=32)
    assert (plan.per_unit_mb_per_s_per_tib, plan.throughput_mb_per_s) == (per_unit, total)
    assert plan.reasons[1:3] == (
        f"{per_unit} MB/s per TiB give {total} MB/s.",
        "The work needs 1362 MB/s: a checkpoint of 980.0 GB on 32 GPUs is to be written within 720 s, so that training "
        "stands still for at most 5% of the time.",
    )


@pytest.mark.parametrize(
    ("place", "gpus", "per_unit", "reason"),
    [
        (PLACE, 8, 125, "That is the least choice: what the work needs is unknown without 'workload'."),
        (
            replace(LARGE, task="inference"),
            8,
            125,
            "That is the least choice: what serving a model needs of a file system is unknown.",
        ),
        (
            LARGE,
            None,
            250,
            "The work needs 500 MB/s: data is read at 500 MB/s at least; what checkpoints need is unknown without the "
            "number of GPUs.",
        ),
        (
            replace(LARGE, model_parameters=None),
            8,
            250,
            "The work needs 500 MB/s: data is read at 500 MB/s at least; what checkpoints need is unknown without "
            "'model_parameters'.",
        ),
    ],
)
def test_what_is_unknown_is_said(place: Place, gpus: int | None, per_unit: int, reason: str):
    plan = right(place, capacity_gib=2400, gpus=gpus)
    assert (plan.per_unit_mb_per_s_per_tib, plan.reasons[2]) == (per_unit, reason)


def test_a_capacity_that_cannot_give_the_need_takes_the_fastest_choice_and_says_what_is_missing():
    plan = right(LARGE, capacity_gib=1200, gpus=32)
    assert (plan.per_unit_mb_per_s_per_tib, plan.throughput_mb_per_s) == (1000, 1200)
    assert plan.reasons[2] == (
        "TOO SLOW for the work, which needs 1362 MB/s, 162 more than this file system gives: a checkpoint of 980.0 GB "
        "on 32 GPUs is to be written within 720 s, so that training stands still for at most 5% of the time. 2400 GiB "
        "could give it."
    )


def test_throughput_that_was_asked_for_is_kept_and_called_too_slow():
    plan = right(LARGE, capacity_gib=4800, throughput_mb_per_s=600, gpus=32)
    assert (plan.per_unit_mb_per_s_per_tib, plan.throughput_mb_per_s) == (125, 600)
    assert plan.reasons[2].startswith("TOO SLOW for the work, which needs 1362 MB/s, 762 more than this file system")
    enough = right(LARGE, capacity_gib=4800, throughput_mb_per_s=2400, gpus=32)
    assert enough.reasons == ("PERSISTENT_2, 4800 GiB.", "500 MB/s per TiB give 2400 MB/s.")


def test_the_work_needs_nothing_that_was_asked_for_without_a_workload():
    assert right(capacity_gib=4800, throughput_mb_per_s=600).reasons == (
        "PERSISTENT_2, 4800 GiB.",
        "125 MB/s per TiB give 600 MB/s.",
    )


def test_over_rdma_the_choice_keeps_its_step():
    plan = right(LARGE, capacity_gib=4800, gpus=32, rdma=True)
    assert plan.per_unit_mb_per_s_per_tib == 1000
    slow = right(replace(LARGE, model_parameters=1e12), capacity_gib=4800, gpus=32, rdma=True)
    assert slow.per_unit_mb_per_s_per_tib == 1000
    assert slow.reasons[2].endswith("24000 GiB could give it.")
    assert right(
        replace(LARGE, model_parameters=1e12), capacity_gib=24_000, gpus=32, rdma=True
    ).throughput_mb_per_s == (24_000)


def test_scratch_is_measured_by_what_it_gives_at_all_times():
    slow = right(LARGE, durability="scratch", capacity_gib=2400, gpus=32)
    assert slow.reasons[1].startswith("TOO SLOW for the work, which needs 1362 MB/s, 882 more than this file system")
    assert slow.reasons[1].endswith("7200 GiB could give it.")
    assert (
        right(LARGE, durability="scratch", capacity_gib=7200, gpus=32).reasons[1].startswith("The work needs 1362 MB/s")
    )
    assert right(durability="scratch", capacity_gib=2400).reasons == ("SCRATCH_2, 2400 GiB.",)
