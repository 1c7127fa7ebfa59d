"""Sizes, throughput and place of parallel file systems on AWS.

Source: https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystem.html
"""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.catalog import file_system_types
from gpuyard.planning.file_systems import plan_file_system
from gpuyard.spec import FileSystemSpec, parse_spec

from ..conftest import PLACE
from .file_system_helpers import right, wrong

OFFERED = {
    "PERSISTENT_1": "50, 100 or 200 MB/s per TiB are offered",
    "PERSISTENT_2": "125, 250, 500 or 1000 MB/s per TiB are offered",
}


@pytest.mark.parametrize("durability", ["persistent", "scratch"])
@pytest.mark.parametrize("capacity_gib", [1200, 2400, 4800, 7200, 24_000])
def test_br_017_documented_sizes_are_taken(durability: str, capacity_gib: int):
    assert right(durability=durability, capacity_gib=capacity_gib).capacity_gib == capacity_gib


@pytest.mark.parametrize(
    ("capacity_gib", "nearest"),
    [
        (1, "1200"),
        (1199, "1200"),
        (1201, "1200 or 2400"),
        (2399, "1200 or 2400"),
        (3600, "2400 or 4800"),
        (4799, "2400 or 4800"),
        (18_000, "16800 or 19200"),
    ],
)
@pytest.mark.parametrize(("durability", "kind"), [("persistent", "PERSISTENT_2"), ("scratch", "SCRATCH_2")])
def test_br_017_other_sizes_are_refused_with_the_nearest(capacity_gib: int, nearest: str, durability: str, kind: str):
    assert wrong(durability=durability, capacity_gib=capacity_gib) == [
        f"capacity_gib: {kind} cannot have {capacity_gib} GiB. Nearest: {nearest} (allowed: 1200 or a multiple of "
        "2400)."
    ]


@pytest.mark.parametrize("deployment", ["SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2"])
def test_br_017_every_deployment_has_its_steps(deployment: str):
    aws = {"deployment": deployment}
    for capacity_gib in (1200, 2400, 4800):
        plan = right(aws=aws, capacity_gib=capacity_gib)
        assert (plan.type_name, plan.capacity_gib) == (deployment, capacity_gib)
    assert wrong(aws=aws, capacity_gib=3600) == [
        f"capacity_gib: {deployment} cannot have 3600 GiB. Nearest: 2400 or 4800 (allowed: 1200 or a multiple of 2400)."
    ]


@pytest.mark.parametrize("rdma", [False, True])
@pytest.mark.parametrize("capacity_gib", [67_200, 460_800, 2_400_000])
def test_br_020_no_maximum_is_invented(capacity_gib: int, rdma: bool):
    plan = right(capacity_gib=capacity_gib, rdma=rdma)
    assert plan.capacity_gib == capacity_gib
    assert not [reason for reason in plan.reasons if "maxim" in reason or "at most" in reason]


@given(st.integers(1, 1_000_000))
def test_a_size_is_taken_exactly_when_it_is_documented(capacity_gib: int):
    documented = capacity_gib == 1200 or capacity_gib % 2400 == 0
    for kind in file_system_types("aws").values():
        assert kind.takes_capacity(capacity_gib) is documented
    spec = parse_spec(FileSystemSpec, {"capacity_gib": capacity_gib})
    found, problems = plan_file_system(spec, PLACE)
    assert (found is not None, problems == []) == (documented, documented)


@given(st.integers(1, 1_000_000), st.sampled_from(sorted(file_system_types("aws"))))
def test_the_nearest_sizes_are_valid_and_enclose_the_wanted_one(capacity_gib: int, name: str):
    kind = file_system_types("aws")[name]
    near = kind.nearest_capacities(capacity_gib)
    assert all(kind.takes_capacity(size) for size in near)
    if kind.takes_capacity(capacity_gib):
        assert near == (capacity_gib,)
        return
    *below, above = near
    assert all(size < capacity_gib for size in below)
    assert above > capacity_gib
    assert not any(kind.takes_capacity(size) for size in range((below or [0])[0] + 1, above))


# BR-019 and BR-029: size and throughput are checked as a pair; AWS counts 1000 GiB as one TiB of storage.
@pytest.mark.parametrize(
    ("capacity_gib", "wanted", "per_unit", "total"),
    [
        (1200, None, 125, 150),
        (1200, 150, 125, 150),
        (1200, 151, 250, 300),
        (1200, 1200, 1000, 1200),
        (2400, 600, 250, 600),
        (2400, 601, 500, 1200),
        (24_000, 6000, 250, 6000),
        (24_000, 3000, 125, 3000),
        (24_000, 24_000, 1000, 24_000),
    ],
)
def test_the_smallest_choice_that_gives_the_throughput_is_taken(
    capacity_gib: int, wanted: int | None, per_unit: int, total: float
):
    plan = right(capacity_gib=capacity_gib, throughput_mb_per_s=wanted)
    assert (plan.per_unit_mb_per_s_per_tib, plan.throughput_mb_per_s) == (per_unit, total)
    assert plan.reasons[1] == f"{per_unit} MB/s per TiB give {total} MB/s."


@pytest.mark.parametrize(
    ("capacity_gib", "wanted", "most", "size"),
    [(1200, 1201, 1200, 2400), (2400, 6000, 2400, 7200), (4800, 4801, 4800, 7200), (24_000, 100_000, 24_000, 100_800)],
)
def test_more_than_the_size_can_give_is_refused_with_a_size_that_would(
    capacity_gib: int, wanted: int, most: int, size: int
):
    assert wrong(capacity_gib=capacity_gib, throughput_mb_per_s=wanted) == [
        f"throughput_mb_per_s: {capacity_gib} GiB of PERSISTENT_2 give at most {most} MB/s, not {wanted}: "
        f"{OFFERED['PERSISTENT_2']}. {size} GiB would do."
    ]


# BR-019: each deployment has choices of its own; one of another deployment is never asked for.
@pytest.mark.parametrize(
    ("deployment", "wanted", "per_unit"),
    [
        ("PERSISTENT_1", None, 50),
        ("PERSISTENT_1", 120, 50),
        ("PERSISTENT_1", 121, 100),
        ("PERSISTENT_1", 300, 200),
        ("PERSISTENT_2", None, 125),
        ("PERSISTENT_2", 480, 250),
        ("SCRATCH_2", None, None),
    ],
)
def test_br_019_throughput_is_a_choice_of_the_deployment(deployment: str, wanted: int | None, per_unit: int | None):
    plan = right(aws={"deployment": deployment}, capacity_gib=2400, throughput_mb_per_s=wanted)
    assert plan.per_unit_mb_per_s_per_tib == per_unit
    kind = file_system_types("aws")[deployment]
    assert per_unit is None or per_unit in kind.throughput_mb_per_s_per_tib
    assert (per_unit is not None) is kind.throughput_required


@pytest.mark.parametrize(
    ("deployment", "wanted", "most", "size"), [("PERSISTENT_1", 500, 480, 4800), ("PERSISTENT_2", 2401, 2400, 4800)]
)
def test_br_019_more_than_a_deployment_has_lists_its_choices(deployment: str, wanted: int, most: int, size: int):
    assert wrong(aws={"deployment": deployment}, capacity_gib=2400, throughput_mb_per_s=wanted) == [
        f"throughput_mb_per_s: 2400 GiB of {deployment} give at most {most} MB/s, not {wanted}: {OFFERED[deployment]}. "
        f"{size} GiB would do."
    ]


def test_br_029_size_and_throughput_are_checked_as_a_pair():
    assert [message.split(":")[0] for message in wrong(capacity_gib=18_000, throughput_mb_per_s=20_000)] == [
        "capacity_gib",
        "throughput_mb_per_s",
    ]
    assert right(capacity_gib=19_200, throughput_mb_per_s=9600).per_unit_mb_per_s_per_tib == 500


@given(st.integers(1, 400).map(lambda steps: steps * 2400), st.integers(1, 500_000))
def test_a_throughput_problem_names_a_size_that_solves_it(capacity_gib: int, wanted: int):
    spec = parse_spec(FileSystemSpec, {"capacity_gib": capacity_gib, "throughput_mb_per_s": wanted})
    found, problems = plan_file_system(spec, PLACE)
    if found is not None:
        assert found.throughput_mb_per_s is not None
        assert found.throughput_mb_per_s >= wanted
        return
    size = int(problems[0].remedy.split()[0])
    solved, left = plan_file_system(spec.model_copy(update={"capacity_gib": size}), PLACE)
    assert left == []
    assert solved is not None


def test_br_019_scratch_offers_no_choice_of_throughput():
    assert wrong(durability="scratch", capacity_gib=1200, throughput_mb_per_s=200) == [
        "throughput_mb_per_s: SCRATCH_2 offers no choice of throughput. Remove it, or use 'durability: persistent'."
    ]
    plan = right(durability="scratch", capacity_gib=1200)
    assert (plan.per_unit_mb_per_s_per_tib, plan.throughput_mb_per_s, plan.persistent) == (None, None, False)


@pytest.mark.parametrize(
    ("durability", "deployment"),
    [("persistent", "SCRATCH_2"), ("scratch", "PERSISTENT_1"), ("scratch", "PERSISTENT_2")],
)
def test_a_deployment_that_contradicts_the_durability_is_refused(durability: str, deployment: str):
    assert wrong(capacity_gib=1200, durability=durability, aws={"deployment": deployment}) == [
        f"aws.deployment: {deployment} contradicts 'durability: {durability}'. Leave one of the two out."
    ]


@pytest.mark.parametrize(
    ("values", "deployment"),
    [
        ({}, "SCRATCH_2"),
        ({}, "PERSISTENT_1"),
        ({"durability": "persistent"}, "PERSISTENT_1"),
        ({"durability": "scratch"}, "SCRATCH_2"),
    ],
)
def test_a_deployment_stands_in_place_of_the_durability(values: dict[str, Any], deployment: str):
    assert right(capacity_gib=1200, aws={"deployment": deployment}, **values).type_name == deployment


@pytest.mark.parametrize("deployment", ["SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2"])
def test_the_newest_lustre_is_taken(deployment: str):
    assert right(capacity_gib=1200, aws={"deployment": deployment}).lustre_version == "2.15"


def test_compression_is_on_until_it_is_turned_off():
    assert right(capacity_gib=1200).compression is True
    assert right(capacity_gib=1200, compression=False).compression is False


def test_a_file_system_in_another_region_than_the_nodes_is_refused():
    assert wrong(capacity_gib=1200, region="us-west-2") == [
        "region: the file system is in us-west-2, the nodes are in us-east-1. Set it to us-east-1 or leave it out: "
        "clients mount it over the network of one zone."
    ]
    assert right(capacity_gib=1200, region="us-east-1").zone == "us-east-1a"


def test_a_file_system_needs_a_zone():
    assert wrong(replace(PLACE, zone=None), capacity_gib=1200) == [
        "file_system: a parallel file system is in one zone, and the cluster names none. Set 'zone' of the cluster."
    ]


def test_a_scratch_file_system_takes_no_key():
    key = "arn:aws:kms:us-east-1:123456789012:key/1"
    assert wrong(durability="scratch", capacity_gib=1200, kms_key=key) == [
        "kms_key: a scratch file system takes no key of your own. Remove it, or use 'durability: persistent'."
    ]
    assert wrong(aws={"deployment": "SCRATCH_2"}, capacity_gib=1200, kms_key=key) == [
        "kms_key: a scratch file system takes no key of your own. Remove it, or use 'deployment: PERSISTENT_2'."
    ]
    assert right(capacity_gib=1200, kms_key=key).kms_key == key


def test_all_problems_of_a_file_system_come_together():
    found = wrong(
        replace(PLACE, zone=None), durability="scratch", capacity_gib=5, throughput_mb_per_s=5, region="eu-west-1"
    )
    assert [message.split(":")[0] for message in found] == [
        "region",
        "file_system",
        "capacity_gib",
        "throughput_mb_per_s",
    ]
