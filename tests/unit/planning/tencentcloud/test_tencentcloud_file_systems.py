"""CFS Turbo: kind, capacity, throughput, and what it does not have."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.catalog.limits import limit
from gpuyard.planning.file_systems import client_problems, client_reasons, plan_file_system, reaches_over_rdma
from gpuyard.planning.plans import FileSystemPlan, NodePoolPlan, Place
from gpuyard.planning.tencentcloud.file_system import CfsDetails, file_system_kinds, smallest_file_system
from gpuyard.spec import FileSystemSpec, parse_spec

from ..conftest import Pool

PLACE = Place("tencentcloud", "ap-guangzhou", "prod", zone="ap-guangzhou-6")
TRAINING = replace(PLACE, task="pretrain", model_parameters=70e9)
PATH = ("file_system",)
RULES = "(TURBO TB: at least 40960 in steps of 20480; TURBO TP: at least 20480 in steps of 10240)."


def right(place: Place = PLACE, *, linked: bool = False, gpus: int | None = None, **values: Any) -> FileSystemPlan:
    found, problems = plan_file_system(parse_spec(FileSystemSpec, values), place, PATH, linked=linked, gpus=gpus)
    assert problems == []
    assert found is not None
    return found


def wrong(place: Place = PLACE, *, linked: bool = False, **values: Any) -> list[str]:
    spec = parse_spec(FileSystemSpec, {"capacity_gib": 40960, **values})
    found, problems = plan_file_system(spec, place, PATH, linked=linked)
    assert found is None
    return [str(problem).removeprefix("file_system.") for problem in problems]


@pytest.mark.parametrize(
    ("capacity", "near"),
    [
        (15_000, "20480"),
        (1, "20480"),
        (25_000, "20480 or 30720"),
        (50_000, "40960 or 51200"),
        (40_961, "40960 or 51200"),
    ],
)
def test_br_071_a_capacity_between_the_steps_is_refused_with_the_nearest_ones(capacity: int, near: str):
    assert wrong(capacity_gib=capacity) == [
        f"capacity_gib: CFS Turbo cannot have {capacity} GiB. Nearest: {near} {RULES}"
    ]


@pytest.mark.parametrize(
    ("capacity", "asked", "kind", "throughput"),
    [
        (20_480, {}, "TURBO TP", 4_294),
        (30_720, {}, "TURBO TP", 6_441),
        (40_960, {}, "TURBO TB", 4_296),
        (40_960, {"throughput_mb_per_s": 4_296}, "TURBO TB", 4_296),
        (40_960, {"throughput_mb_per_s": 5_000}, "TURBO TP", 8_588),
    ],
)
def test_the_cheaper_kind_is_taken_that_has_the_capacity_and_the_throughput(
    capacity: int, asked: dict[str, Any], kind: str, throughput: int
):
    found = right(capacity_gib=capacity, **asked)
    assert found.type_name == kind
    assert found.details == CfsDetails(kind.split()[1])
    assert found.throughput_mb_per_s == throughput
    assert (found.zone, found.persistent, found.backup_keep_days) == ("ap-guangzhou-6", True, 0)
    assert (found.imports, found.exports, found.s3_association, found.lustre_version) == (False, False, False, None)


def test_more_throughput_than_the_capacity_gives_is_refused_with_the_capacity_that_would():
    assert wrong(capacity_gib=20_480, throughput_mb_per_s=6_000) == [
        "throughput_mb_per_s: 20480 GiB of CFS Turbo give at most 4294 MB/s, not 6000. 61440 GiB of TURBO TB or 30720 "
        "GiB of TURBO TP would do."
    ]
    assert wrong(capacity_gib=20_480, throughput_mb_per_s=200_000) == [
        "throughput_mb_per_s: 20480 GiB of CFS Turbo give at most 4294 MB/s, not 200000. One file system gives 104858 "
        "MB/s at most: use several."
    ]


def test_the_faster_kind_is_taken_where_the_work_needs_it():
    slow = right(TRAINING, gpus=32, capacity_gib=40_960)
    assert slow.type_name == "TURBO TB"
    fast = right(TRAINING, gpus=4_096, capacity_gib=40_960)
    assert fast.type_name == "TURBO TP"
    assert "TOO SLOW" not in " ".join(slow.reasons)


def test_work_that_needs_more_than_the_file_system_gives_is_told_so():
    found = right(replace(TRAINING, model_parameters=1e12), gpus=16_384, capacity_gib=20_480)
    (said,) = [reason for reason in found.reasons if reason.startswith("TOO SLOW")]
    assert "than this file system gives" in said
    assert said.endswith((" would do.", "use several."))


def test_what_is_not_there_is_said_with_the_plan():
    reasons = " ".join(right(linked=True, capacity_gib=20_480).reasons)
    assert "The checkpoint bucket is not linked: jobs copy to it what must last." in reasons
    assert "No backups, and no key of your own" in reasons
    assert "the provider's text names only CCN for Turbo" in reasons
    assert "not linked" not in " ".join(right(capacity_gib=20_480).reasons)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"durability": "scratch"}, "durability: CFS Turbo has no scratch kind: both keep copies. Remove it."),
        ({"rdma": True}, "rdma: CFS Turbo is mounted over TCP, not over the RDMA network. Remove it."),
        (
            {"metadata_iops": 6_000},
            "metadata_iops: CFS Turbo offers no choice of metadata IOPS. Remove it: operations grow with the capacity.",
        ),
        ({"compression": True}, "compression: CFS Turbo does not compress. Remove it."),
        (
            {"bucket_sync": "import_export"},
            "bucket_sync: CFS Turbo follows no bucket: the provider has no resource for a data flow. Remove it, and "
            "let jobs copy checkpoints to the bucket.",
        ),
        (
            {"backup_keep_days": 7},
            "backup_keep_days: CFS Turbo has no backups: snapshot policies are documented for the Standard type only. "
            "Remove it, or set it to 0; what must last belongs into the checkpoint bucket.",
        ),
        (
            {"kms_key": "23e80852-1e38-11e9-b129-5cb9019b4b01"},
            "kms_key: the provider takes no key for CFS Turbo: encryption exists in the cloud's own API only. Remove "
            "it.",
        ),
        ({"aws": {"deployment": "SCRATCH_2"}}, "aws: is for aws, and the cluster is on tencentcloud. Remove it."),
        (
            {"region": "ap-shanghai"},
            "region: the file system is in ap-shanghai, the nodes are in ap-guangzhou. Set it to ap-guangzhou or leave "
            "it out: clients mount it over the network of one region.",
        ),
        (
            {"tencentcloud": {"ccn_id": "ccn-1"}},
            "tencentcloud.ccn_cidr: is missing: in a CCN the file system has addresses of its own. Give a range that "
            "no other network of the CCN uses; CFS advises one in 9., 11. or 30.",
        ),
        (
            {"tencentcloud": {"ccn_cidr": "11.0.0.0/24"}},
            "tencentcloud.ccn_cidr: there is no CCN that it is for. Set 'ccn_id', or remove it.",
        ),
    ],
)
def test_what_cfs_turbo_lacks_is_refused_and_not_left_out(asked: dict[str, Any], message: str):
    assert wrong(linked=True, **asked) == [message]


def test_what_was_not_asked_for_is_no_wish():
    right(linked=True, capacity_gib=20_480, bucket_sync="none", compression=False, backup_keep_days=0)


def test_a_file_system_needs_a_zone():
    assert wrong(replace(PLACE, zone=None)) == [
        "file_system: a parallel file system is in one zone, and the cluster names none. Set 'zone' of the cluster."
    ]


def test_a_ccn_is_part_of_the_plan():
    own = {"ccn_id": "ccn-1", "ccn_cidr": "11.0.0.0/24", "ccn_attach": False}
    found = right(capacity_gib=20_480, tencentcloud=own)
    assert found.details == CfsDetails("TP", "ccn-1", "11.0.0.0/24", ccn_attach=False)
    assert "Reached through ccn-1 at addresses of 11.0.0.0/24." in found.reasons


@given(held=st.integers(1, 400_000), mb_per_s=st.integers(0, 90_000))
def test_the_smallest_file_system_is_one_that_can_be_built_and_does_what_it_must(held: int, mb_per_s: int):
    capacity = smallest_file_system(held, mb_per_s, "tencentcloud")
    assert capacity >= held
    found = right(capacity_gib=capacity, throughput_mb_per_s=mb_per_s or 1)
    assert found.throughput_mb_per_s is not None
    assert found.throughput_mb_per_s >= mb_per_s
    step = min(kind.capacity_step_gib or 0 for kind in file_system_kinds("tencentcloud"))
    smaller = capacity - step
    kinds = [kind for kind in file_system_kinds("tencentcloud") if kind.takes_capacity(smaller)]
    assert smaller < held or all((kind.throughput_mb_per_s(smaller) or 0) < mb_per_s for kind in kinds)


def pool_of(pool: Pool, **values: Any) -> NodePoolPlan:
    return pool(PLACE, instance_type="GN10Xp.20XLARGE320", **values)


def test_more_nodes_than_clients_are_refused(pool: Pool):
    system = right(capacity_gib=20_480)
    most = limit("tencentcloud", "file_system_clients_max").values[0]
    assert client_problems(system, [pool_of(pool, nodes=most)], PATH) == []
    (problem,) = client_problems(
        system, [pool_of(pool, nodes=most), replace(pool_of(pool, nodes=1), name="prep")], PATH
    )
    assert str(problem).startswith(
        "file_system: 2001 nodes can mount the file system (2000 of pool 'train', 1 of pool 'prep'); it takes 2000 "
        "clients."
    )


def test_nodes_in_other_zones_are_told_and_none_reaches_it_over_rdma(pool: Pool):
    system = right(capacity_gib=20_480)
    near = pool_of(pool, nodes=1)
    far = pool_of(pool, nodes=1, zones=["ap-guangzhou-7"])
    assert client_reasons(system, [near]) == ()
    assert client_reasons(system, [far]) == (
        "Pool 'train' is or may be in ap-guangzhou-7, the file system is in ap-guangzhou-6: each access from there "
        "crosses zones.",
    )
    assert reaches_over_rdma(near) is False
