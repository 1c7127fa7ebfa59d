"""The snapshot schedule of CBS: when, on which clock, how many that makes, and what is not offered."""

from datetime import datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.planning.cluster import try_plan_cluster
from gpuyard.planning.plans import Place, SnapshotPlan
from gpuyard.planning.snapshots import plan_snapshots
from gpuyard.planning.tencentcloud.snapshot_times import LocalTimes, SnapshotTimes, local_times, most_snapshots
from gpuyard.spec import ClusterSpec, SnapshotSpec, parse_spec
from gpuyard.spec.storage import Weekday

PLACE = Place("tencentcloud", "ap-guangzhou", "prod", zone="ap-guangzhou-6")
WEEKDAYS: tuple[str, ...] = get_args(Weekday)
EIGHT = 8


def schedule(**values: Any) -> tuple[SnapshotPlan | None, list[str]]:
    """The plan of a schedule; ``None`` takes a key out."""
    asked = {"every_hours": 12, "keep_days": 14, **values}
    spec = parse_spec(SnapshotSpec, {key: value for key, value in asked.items() if value is not None})
    found, problems = plan_snapshots(spec, PLACE, ("snapshots",))
    assert (found is None) is bool(problems)
    return found, [str(problem).removeprefix("snapshots").removeprefix(".") for problem in problems]


def planned(**values: Any) -> SnapshotPlan:
    found, problems = schedule(**values)
    assert problems == []
    assert found is not None
    return found


def refused(**values: Any) -> list[str]:
    return schedule(**values)[1]


def test_an_interval_becomes_hours_of_the_clouds_clock():
    found = planned(every_hours=12)
    assert (found.every_hours, found.hours_utc, found.keep_days) == (12, (), 14)
    # 03:00 and 15:00 UTC are 11:00 and 23:00 there, every day.
    assert local_times(found, EIGHT) == (LocalTimes((0, 1, 2, 3, 4, 5, 6), (11, 23)),)


def test_days_move_with_hours_that_are_on_the_next_day_there():
    found = planned(every_hours=None, hours_utc=[3, 20], weekdays=["fri", "sat"])
    # Friday 03:00 is Friday 11:00, Friday 20:00 is Saturday 04:00, and Saturday's is Sunday's.
    assert local_times(found, EIGHT) == (LocalTimes((5, 6), (11,)), LocalTimes((0, 6), (4,)))


@given(
    hours=st.lists(st.integers(0, 23), min_size=1, max_size=24, unique=True),
    weekdays=st.lists(st.sampled_from(WEEKDAYS), max_size=7, unique=True),
    offset=st.integers(-12, 14),
)
def test_the_instants_are_the_same_on_every_clock(hours: list[int], weekdays: list[str], offset: int):
    plan = SnapshotPlan(
        region="ap-guangzhou",
        every_hours=None,
        hours_utc=tuple(hours),
        weekdays=tuple(weekdays),
        cron=None,
        keep_days=7,
        keep_count=None,
        copy_region=None,
        copy_keep_days=None,
        copy_kms_key=None,
    )
    monday = datetime(2026, 11, 30)
    every = [monday + timedelta(hours=passed) for passed in range(24 * 7)]
    wanted = {
        instant
        for instant in every
        if instant.hour in hours and (not weekdays or WEEKDAYS[instant.weekday()] in weekdays)
    }
    schedules = local_times(plan, offset)
    made = [
        instant
        for instant in every
        for local in [instant + timedelta(hours=offset)]
        for times in schedules
        if local.hour in times.hours and local.isoweekday() % 7 in times.weekdays
    ]
    assert set(made) == wanted
    assert len(made) == len(set(made)), "no instant is in two schedules"


@given(
    hours=st.lists(st.integers(0, 23), min_size=1, max_size=4, unique=True),
    weekdays=st.lists(st.sampled_from(WEEKDAYS), max_size=7, unique=True),
    keep_days=st.integers(1, 30),
)
def test_the_number_of_snapshots_is_what_a_calendar_counts(hours: list[int], weekdays: list[str], keep_days: int):
    start = datetime(2026, 11, 30)
    runs = [
        instant
        for instant in (start + timedelta(hours=passed) for passed in range(24 * 7 * 8))
        if instant.hour in hours and (not weekdays or WEEKDAYS[instant.weekday()] in weekdays)
    ]
    kept = timedelta(days=keep_days)
    counted = max(sum(first <= later <= first + kept for later in runs) for first in runs[: len(hours) * 7])
    assert most_snapshots(SnapshotTimes(tuple(hours), tuple(weekdays), ""), keep_days) == counted


def test_what_a_schedule_keeps_is_said_and_that_its_clock_is_not_documented():
    reasons = planned(every_hours=24, keep_days=7).reasons
    assert reasons[0] == "A snapshot every 24 hours, each kept 7 days: at most 8 of each disk at a time."
    assert reasons[1].startswith("Hours are given to the cloud as those of UTC+8")


@pytest.mark.parametrize(
    ("asked", "messages"),
    [
        (
            {"copy_to": "ap-shanghai"},
            [
                "copy_to: copies of snapshots in another region (ap-shanghai) are not offered by the provider. Remove "
                "it; what must survive a region belongs into the checkpoint bucket ('replicate_to')."
            ],
        ),
        ({"copy_keep_days": 3}, ["copy_keep_days: there is no copy: the provider offers none. Remove it."]),
        (
            {"keep_count": 5, "keep_days": None},
            [
                "keep_count: a schedule of Tencent Cloud keeps snapshots by days, not by their number. Set 'keep_days' "
                "instead."
            ],
        ),
        ({"keep_days": None}, ["it is not said how long a snapshot is kept. Set 'keep_days'."]),
        (
            {"every_hours": 24, "keep_days": 31},
            [
                "keep_days: a scheduled snapshot is kept for 30 days at most, not 31. Set it to 30 or less (source: "
                "https://tencentcloud.com/document/product/362/35238 (lifecycle of 1 to 30 days))."
            ],
        ),
        ({"aws": {"cron": "cron(0 3 * * ? *)"}}, ["aws: is for aws, and the cluster is on tencentcloud. Remove it."]),
        (
            {"every_hours": 7},
            [
                "every_hours: a snapshot every 7 hours is not offered. Allowed: 1, 2, 3, 4, 6, 8, 12 or 24 (source: "
                "PyPI tencentcloud_iac_pulumi 0.2.3, docstring of cbs.SnapshotPolicy.repeat_hours)."
            ],
        ),
        (
            {"every_hours": None},
            ["it is not said when a snapshot is made. Set one of 'every_hours' and 'hours_utc'."],
        ),
        (
            {"hours_utc": [3]},
            ["hours_utc: 'every_hours' and 'hours_utc' each say when a snapshot is made. Keep one of them."],
        ),
        (
            {"weekdays": ["mon"]},
            ["weekdays: days of the week go with 'hours_utc' alone. Set 'hours_utc', or remove them."],
        ),
        (
            {"every_hours": 1, "keep_days": 7},
            [
                "keep_days: 169 snapshots of one disk would exist at a time, but a region holds 64 for each disk. Keep "
                "them 2 days or less, or make them less often (source: "
                "https://www.tencentcloud.com/document/product/362/32413)."
            ],
        ),
    ],
)
def test_what_cbs_does_not_take_is_refused_with_what_it_does(asked: dict[str, Any], messages: list[str]):
    assert [message.removeprefix(": ") for message in refused(**asked)] == messages


def cluster(**pool: Any) -> list[str]:
    """The problems of a cluster with snapshots and one pool."""
    values = {
        "cloud": "tencentcloud",
        "region": "ap-shanghai",
        "zone": "ap-shanghai-5",
        "environment": "dev",
        "node_pools": {"train": pool},
        "snapshots": {"every_hours": 24, "keep_days": 7},
    }
    return [str(problem) for problem in try_plan_cluster(parse_spec(ClusterSpec, values), "x")[1]]


def test_a_schedule_that_reaches_no_disk_is_refused():
    refused_as = (
        "snapshots: no pool has a disk that a schedule of tencentcloud reaches: data disks of pools of fixed size. "
        "Remove it, or give a pool of fixed size 'data_disk_gib'."
    )
    machine = {"instance_type": "GT4.41XLARGE948", "nodes": 1}
    assert cluster(**machine) == [refused_as]
    assert cluster(**machine, data_disk_gib=500) == []
    spot = {"gpu": "A10", "nodes": {"min": 0, "max": 4}, "purchase": "spot", "spot_price_limit": 3}
    assert cluster(**spot) == [refused_as]
