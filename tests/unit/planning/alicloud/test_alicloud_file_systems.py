"""Kinds, sizes, throughput and data flow of file systems on Alibaba Cloud.

Sources: https://help.aliyun.com/en/cpfs/cpfsonecs/product-overview/limits-1 (throughput of CPFS, at most 20,000 MB/s);
https://www.alibabacloud.com/help/en/nas/latest/extreme-nas-file-system (throughput of Extreme NAS by capacity)
"""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.planning.alicloud.file_system_kinds import classes_of, smallest_file_system

from .file_system_helpers import NAS, PLACE, right, wrong


@pytest.mark.parametrize(
    ("capacity_gib", "wanted", "storage_type", "total"),
    [
        (3600, None, "advance_100", 3600 / 1024 * 100),
        (3600, 351, "advance_100", 3600 / 1024 * 100),
        (3600, 352, "advance_200", 3600 / 1024 * 200),
        (4800, 900, "advance_200", 937.5),
        (307_200, 20_000, "advance_100", 20_000),
        (1_047_600, 20_000, "advance_100", 20_000),
    ],
)
def test_the_slowest_class_that_gives_what_was_asked(
    capacity_gib: int, wanted: int | None, storage_type: str, total: float
):
    plan = right(capacity_gib=capacity_gib, throughput_mb_per_s=wanted)
    assert (plan.details.kind, plan.details.storage_type) == ("cpfs", storage_type)
    assert plan.throughput_mb_per_s == total
    assert plan.per_unit_mb_per_s_per_tib == int(storage_type.removeprefix("advance_"))


@pytest.mark.parametrize(
    ("capacity_gib", "nearest"),
    [
        (1, "3600"),
        (2400, "3600"),
        (3601, "3600 or 4800"),
        (5000, "4800 or 6000"),
        (2_000_000, "1047600"),
    ],
)
def test_other_sizes_of_cpfs_are_refused_with_the_nearest(capacity_gib: int, nearest: str):
    assert wrong(capacity_gib=capacity_gib) == [
        f"capacity_gib: CPFS advance_200 cannot have {capacity_gib} GiB. Nearest: {nearest} (allowed: 3600 to 1047600 "
        "GiB in steps of 1200)."
    ]


@given(st.integers(1, 1_100_000))
def test_the_nearest_sizes_are_taken_and_enclose_the_wanted_one(capacity_gib: int):
    for one in (*classes_of("cpfs"), *classes_of("nas_extreme")):
        near = one.nearest(capacity_gib)
        assert all(one.takes(size) for size in near)
        if one.takes(capacity_gib):
            assert near == (capacity_gib,)
        elif len(near) == 2:
            below, above = near
            assert below < capacity_gib < above


@given(st.integers(1, 1_000_000), st.integers(0, 25_000))
def test_the_smallest_capacity_that_will_do_is_the_smallest(held_gib: int, mb_per_s: int):
    for one in (*classes_of("cpfs"), *classes_of("nas_extreme")):
        size = one.capacity_for(held_gib, mb_per_s)
        if size is None:
            largest = one.nearest(10**9)[-1]
            assert held_gib > largest or one.throughput_mb_per_s(largest) < mb_per_s
            continue
        assert one.takes(size)
        assert size >= held_gib
        assert one.throughput_mb_per_s(size) >= mb_per_s
        step = 1 if one.row is None else one.row.capacity_step_gib or 1
        smaller = size - step
        assert not one.takes(smaller) or smaller < held_gib or one.throughput_mb_per_s(smaller) < mb_per_s


def test_the_smallest_cpfs_holds_and_gives_what_is_needed():
    assert smallest_file_system(100, 100, "alicloud") == 3600
    assert smallest_file_system(100, 2_000, "alicloud") == 10_800
    assert smallest_file_system(100_000, 2_000, "alicloud") == 100_800
    # More than any gives, and more than any holds: planning says what is wrong with it.
    assert smallest_file_system(5_000, 50_000, "alicloud") == 6_000
    assert smallest_file_system(2_000_000, 1, "alicloud") == 2_000_000


def test_more_than_the_capacity_gives_is_refused():
    assert wrong(capacity_gib=3600, throughput_mb_per_s=2_000) == [
        "throughput_mb_per_s: 3600 GiB of CPFS advance_200 give at most 703 MB/s, not 2000. 10800 GiB would do."
    ]
    assert wrong(capacity_gib=3600, throughput_mb_per_s=30_000) == [
        "throughput_mb_per_s: 3600 GiB of CPFS advance_200 give at most 703 MB/s, not 30000. None gives more than "
        "20000 MB/s."
    ]


def test_what_the_work_needs_decides_where_nothing_was_asked():
    # 14 bytes a parameter, within 720 s: 1362 MB/s.
    place = replace(PLACE, task="pretrain", model_parameters=70e9)
    for capacity_gib, storage_type in ((14_400, "advance_100"), (12_000, "advance_200")):
        plan = right(place, capacity_gib=capacity_gib, gpus=64)
        assert plan.details.storage_type == storage_type
        assert plan.reasons[1].startswith("The work needs 1362 MB/s: a checkpoint of 980.0 GB on 64 GPUs")
    slow = right(place, capacity_gib=3600, gpus=64)
    assert slow.details.storage_type == "advance_200"
    assert slow.reasons[1].startswith(
        "TOO SLOW for the work, which needs 1362 MB/s, 659 more than this file system gives"
    )
    assert slow.reasons[1].endswith("7200 GiB could give it.")


@pytest.mark.parametrize(
    ("capacity_gib", "total"),
    [(100, 150), (499, 150), (500, 300), (2047, 300), (2048, 600), (4096, 900), (8192, 1200), (262_144, 1200)],
)
def test_a_nas_gets_faster_with_its_capacity(capacity_gib: int, total: int):
    plan = right(capacity_gib=capacity_gib, **NAS)
    assert (plan.details.kind, plan.details.storage_type, plan.throughput_mb_per_s) == (
        "nas_extreme",
        "standard",
        total,
    )
    assert plan.per_unit_mb_per_s_per_tib is None


def test_a_nas_has_its_own_sizes_and_no_more_than_its_throughput():
    assert wrong(capacity_gib=99, **NAS) == [
        "capacity_gib: Extreme NAS standard cannot have 99 GiB. Nearest: 100 (allowed: 100 to 262144 GiB)."
    ]
    assert wrong(capacity_gib=200, throughput_mb_per_s=500, **NAS) == [
        "throughput_mb_per_s: 200 GiB of Extreme NAS standard give at most 150 MB/s, not 500. 2048 GiB would do."
    ]
    assert wrong(capacity_gib=200, throughput_mb_per_s=1_500, **NAS) == [
        "throughput_mb_per_s: 200 GiB of Extreme NAS standard give at most 150 MB/s, not 1500. None gives more than "
        "1200 MB/s. Use CPFS (leave 'alicloud.kind' out)."
    ]


@pytest.mark.parametrize(
    ("capacity_gib", "wanted", "storage_type", "flow"),
    [(3600, None, "advance_200", 600), (7200, None, "advance_100", 600), (12_000, 2_000, "advance_200", 1500)],
)
def test_a_data_flow_is_slower_than_the_file_system(
    capacity_gib: int, wanted: int | None, storage_type: str, flow: int
):
    plan = right(linked=True, capacity_gib=capacity_gib, throughput_mb_per_s=wanted)
    assert (plan.details.storage_type, plan.details.flow_mb_per_s) == (storage_type, flow)
    assert flow < (plan.throughput_mb_per_s or 0)
    assert (plan.imports, plan.exports, plan.s3_association) == (True, True, True)


@given(st.integers(3, 800).map(lambda steps: steps * 1200), st.none() | st.integers(1, 20_000))
def test_every_linked_cpfs_has_a_flow_below_its_throughput(capacity_gib: int, wanted: int | None):
    if wanted is not None and wanted > min(200 * capacity_gib / 1024, 20_000):
        return
    plan = right(linked=True, capacity_gib=capacity_gib, throughput_mb_per_s=wanted)
    assert plan.details.flow_mb_per_s in (600, 1200, 1500)
    assert plan.details.flow_mb_per_s < (plan.throughput_mb_per_s or 0)


def test_without_a_wish_for_it_there_is_no_flow():
    plan = right(linked=True, capacity_gib=3600, bucket_sync="none")
    assert (plan.details.flow_mb_per_s, plan.details.storage_type) == (None, "advance_100")
    assert "The checkpoint bucket is not linked: nothing is copied to it but what jobs copy themselves." in plan.reasons
    assert right(capacity_gib=3600).details.flow_mb_per_s is None
    assert right(linked=True, capacity_gib=500, **NAS).details.flow_mb_per_s is None


def test_a_flow_that_cannot_be_is_refused():
    assert wrong(linked=True, capacity_gib=500, bucket_sync="import", **NAS) == [
        "bucket_sync: a NAS has no data flow: 'import' cannot be done. Remove it, or use CPFS."
    ]
    assert wrong(capacity_gib=3600, bucket_sync="export") == [
        "bucket_sync: 'export' has no checkpoint bucket to follow. Add the bucket ('checkpoints' of a cluster), or "
        "remove it."
    ]


def test_what_a_flow_does_and_costs_is_said():
    reasons = " ".join(right(linked=True, capacity_gib=7200).reasons)
    assert "checkpoints below /bucket/checkpoints" in reasons
    assert "three small servers that are billed" in reasons


def test_br_064_a_file_system_needs_a_zone():
    assert wrong(replace(PLACE, zone=None), capacity_gib=3600) == [
        "file_system: a file system is in one zone, and the cluster names none. Set 'zone' of the cluster."
    ]


def test_cpfs_is_in_some_regions_only():
    found = wrong(replace(PLACE, region="eu-central-1", zone="eu-central-1a"), capacity_gib=3600)
    assert len(found) == 1
    assert found[0].startswith(
        "file_system: there is no CPFS in eu-central-1. Regions with CPFS: cn-qingdao, cn-beijing"
    )
    assert right(replace(PLACE, region="eu-central-1", zone="eu-central-1a"), capacity_gib=200, **NAS).zone


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"durability": "scratch"}, "durability: CPFS keeps its data: there is no scratch kind. Remove it."),
        (
            {"backup_keep_days": 7},
            "backup_keep_days: the provider makes no backups of CPFS. Remove it, or set it to 0: the checkpoint bucket "
            "is the durable copy.",
        ),
        (
            {"rdma": True},
            "rdma: CPFS is reached over TCP: only CPFS for Lingjun has RDMA, and the provider cannot make it. Remove "
            "it.",
        ),
        ({"metadata_iops": 6000}, "metadata_iops: CPFS has what comes with its capacity. Remove it."),
        ({"compression": True}, "compression: CPFS does not compress. Remove it."),
        (
            {"kms_key": "key-bjz0123456789abcdef"},
            "kms_key: the provider encrypts a NAS alone by a key of your own, not CPFS. Remove it, or use 'alicloud: "
            "{kind: nas_extreme}'.",
        ),
        (
            {"region": "cn-hangzhou"},
            "region: the file system is in cn-hangzhou, the nodes are in cn-beijing. Set it to cn-beijing or leave it "
            "out: clients mount it inside one VPC.",
        ),
        (
            {"aws": {"deployment": "SCRATCH_2"}},
            "aws: is for aws, and the cluster is on alicloud. Remove it.",
        ),
    ],
)
def test_what_cpfs_has_not_is_refused(values: dict[str, Any], message: str):
    assert wrong(capacity_gib=3600, **values) == [message]


def test_what_nobody_asked_for_is_no_problem():
    plan = right(capacity_gib=3600, backup_keep_days=0, compression=False)
    assert (plan.compression, plan.backup_keep_days, plan.persistent) == (False, 0, True)


def test_a_key_of_your_own_is_for_a_nas():
    key = "acs:kms:cn-beijing:1234567890123456:key/key-bjz0123456789abcdef"
    assert right(capacity_gib=200, kms_key=key, **NAS).kms_key == key
    assert wrong(capacity_gib=200, kms_key=key.replace("beijing", "hangzhou"), **NAS) == [
        "kms_key: the key is of cn-hangzhou, what it encrypts is in cn-beijing. Name a key of cn-beijing."
    ]
