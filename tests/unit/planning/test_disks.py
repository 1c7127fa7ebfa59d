"""A node's data disk: the cheapest class that does what is needed, within its ratios and the machine's own limit."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.catalog import instance_types
from gpuyard.catalog.disks import MB_PER_MIB, block_disks
from gpuyard.planning.disks import plan_data_disk
from gpuyard.planning.plans import DiskPlan, Place
from gpuyard.spec import NodePoolSpec, Problem, parse_spec

PLACE = Place("aws", "us-east-1", "dev")
LARGE = (instance_types("aws")["p5.48xlarge"],)


def plan(**disk: int) -> tuple[DiskPlan | None, list[str], list[Problem]]:
    spec = parse_spec(NodePoolSpec, {"nodes": 1, **{f"data_disk_{key}": value for key, value in disk.items()}})
    return plan_data_disk(spec, LARGE, PLACE, ())


def test_no_data_disk_is_planned_where_none_was_asked_for() -> None:
    assert plan() == (None, [], [])


@pytest.mark.parametrize("key", ["iops", "mb_per_s"])
def test_speed_without_a_disk_is_a_problem(key: str) -> None:
    _, _, problems = plan(**{key: 5000})
    (message,) = [str(problem) for problem in problems]
    assert message == f"data_disk_{key}: there is no data disk to be that fast. Give 'data_disk_gib', or remove it."


@pytest.mark.parametrize(
    ("asked", "disk"),
    [
        ({"gib": 500}, DiskPlan("gp3", 500)),
        ({"gib": 500, "iops": 3000, "mb_per_s": 131}, DiskPlan("gp3", 500)),
        # 500 MB/s are 476.8 MiB/s.
        ({"gib": 500, "mb_per_s": 500}, DiskPlan("gp3", 500, throughput_mib_per_s=477)),
        ({"gib": 500, "iops": 16000}, DiskPlan("gp3", 500, iops=16000)),
        # gp3 gives 0.25 MiB/s for each IOPS: 1908 MiB/s need 7632.
        ({"gib": 500, "mb_per_s": 2000}, DiskPlan("gp3", 500, iops=7632, throughput_mib_per_s=1908)),
        # gp3 ends at 2000 MiB/s; io2 gives 0.256 MiB/s for each IOPS.
        ({"gib": 500, "mb_per_s": 3000}, DiskPlan("io2", 500, iops=11180)),
        ({"gib": 500, "iops": 100000}, DiskPlan("io2", 500, iops=100000)),
        # 500 IOPS for each GiB of gp3, 1000 of io2.
        ({"gib": 20, "iops": 10000}, DiskPlan("gp3", 20, iops=10000)),
        ({"gib": 20, "iops": 10001}, DiskPlan("io2", 20, iops=10001)),
    ],
)
def test_the_cheapest_class_that_does_it_with_what_has_to_be_bought(asked: dict[str, int], disk: DiskPlan) -> None:
    found, _, problems = plan(**asked)
    assert problems == []
    assert found == disk


def test_the_reason_says_what_was_bought_for_what() -> None:
    _, reasons, _ = plan(gib=500, mb_per_s=2000)
    assert reasons == ["Data disk: gp3 of 500 GiB with 7632 IOPS and 1908 MiB/s, for 2000 MB/s."]
    _, reasons, _ = plan(gib=500, iops=100)
    assert reasons == ["Data disk: gp3 of 500 GiB, with what comes with it, for 100 IOPS."]


def test_what_no_class_does_names_what_they_do_and_the_size_that_would() -> None:
    found, _, problems = plan(gib=50, iops=70000, mb_per_s=3000)
    assert found is None
    assert [str(problem) for problem in problems] == [
        "data_disk_gib: no class of disk of 50 GiB does 70000 IOPS and 3000 MB/s. At this size: gp3 25000 IOPS and "
        "2097 MB/s; io2 50000 IOPS and 4194 MB/s. 70 GiB would do."
    ]


def test_what_no_size_does_is_said_to_be_so() -> None:
    _, _, problems = plan(gib=50, mb_per_s=9000)
    assert "No size does." in str(problems[0])


def test_what_the_machine_itself_cannot_use_is_refused() -> None:
    spec = parse_spec(NodePoolSpec, {"nodes": 1, "data_disk_gib": 500, "data_disk_iops": 40000})
    rows = (instance_types("aws")["g5.48xlarge"], instance_types("aws")["p5.4xlarge"])
    _, _, problems = plan_data_disk(spec, rows, PLACE, ())
    (message,) = [str(problem) for problem in problems]
    assert message == (
        "data_disk_iops: p5.4xlarge itself can use 32500 IOPS of its disks, not 40000. Ask for at most 32500, or for a "
        "larger machine."
    )


def test_an_unknown_limit_of_the_machine_is_said_and_is_no_limit() -> None:
    spec = parse_spec(NodePoolSpec, {"nodes": 1, "data_disk_gib": 500, "data_disk_iops": 4000})
    found, reasons, problems = plan_data_disk(spec, (instance_types("aws")["g4ad.xlarge"],), PLACE, ())
    assert (found is not None, problems) == (True, [])
    assert "The catalog does not know how many IOPS g4ad.xlarge can use." in reasons


@given(gib=st.integers(4, 65_536), iops=st.integers(1, 260_000), mb_per_s=st.integers(1, 10_000))
def test_a_planned_disk_does_what_was_asked_and_is_one_that_is_sold(gib: int, iops: int, mb_per_s: int) -> None:
    found, _, _ = plan(gib=gib, iops=iops, mb_per_s=mb_per_s)
    if found is None:
        return
    kind = block_disks("aws")[found.disk_type]
    included = kind.performance(gib)
    bought = found.iops or included.iops
    assert bought is not None
    assert included.iops_max is not None
    assert iops <= bought <= included.iops_max
    ratio = kind.throughput_per_iops
    assert ratio is not None
    if found.disk_type == "gp3":
        mib_per_s = found.throughput_mib_per_s or 125
        assert mib_per_s <= 2000
        assert mib_per_s <= ratio * bought
        assert mib_per_s * MB_PER_MIB >= mb_per_s
    else:
        assert found.throughput_mib_per_s is None
        assert ratio * bought >= ceil(round(mb_per_s / MB_PER_MIB, 6)) - 1e-6
