"""The snapshot schedule on Alibaba Cloud.

Sources: PyPI pulumi_alicloud 4.0.0, docstring of ecs.AutoSnapshotPolicy (UTC+8, 1 is Monday);
https://help.aliyun.com/zh/ecs/user-guide/limitations (2,000 automatic snapshots of a disk)
"""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.planning.alicloud.snapshot_times import SnapshotTimes, in_policy
from gpuyard.planning.plans import Place, SnapshotPlan
from gpuyard.planning.snapshots import plan_snapshots
from gpuyard.spec import SnapshotSpec, parse_spec

PLACE = Place("alicloud", "cn-beijing", "dev")
KEY_THERE = "acs:kms:cn-hangzhou:1234567890123456:key/key-hzz0123456789abcdef"
WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MONDAY = datetime(2026, 11, 30, tzinfo=UTC)

hours_of_day = st.sets(st.integers(0, 23), min_size=1)
days_of_week = st.sets(st.sampled_from(WEEK))


def right(**values: Any) -> SnapshotPlan:
    found, problems = plan_snapshots(parse_spec(SnapshotSpec, values), PLACE, ("snapshots",))
    assert problems == []
    assert found is not None
    return found


def wrong(**values: Any) -> list[str]:
    found, problems = plan_snapshots(parse_spec(SnapshotSpec, values), PLACE, ("snapshots",))
    assert found is None
    assert problems
    return [str(problem) for problem in problems]


def instants(hours: set[int], weekdays: set[str]) -> set[datetime]:
    """Instants of one week that hours and days of UTC name."""
    return {
        MONDAY + timedelta(days=number, hours=hour)
        for number, day in enumerate(WEEK)
        for hour in hours
        if not weekdays or day in weekdays
    }


def of_week(instant: datetime) -> tuple[int, int]:
    there = instant.astimezone(timezone(timedelta(hours=8)))
    return there.isoweekday(), there.hour


@given(hours_of_day, days_of_week)
def test_the_policy_names_the_same_instants_in_utc_8(hours: set[int], weekdays: set[str]):
    wanted = {of_week(instant) for instant in instants(hours, weekdays)}
    policy = in_policy(sorted(hours), sorted(weekdays))
    if policy is None:
        # A policy is each of its hours on each of its days: what is no such product, no policy can say.
        days, points = {day for day, _ in wanted}, {hour for _, hour in wanted}
        assert wanted != {(day, hour) for day in days for hour in points}
        return
    assert {(day, hour) for day in policy.repeat_weekdays for hour in policy.time_points} == wanted
    assert list(policy.time_points) == sorted(policy.time_points)
    assert list(policy.repeat_weekdays) == sorted(policy.repeat_weekdays)


@pytest.mark.parametrize(
    ("hours", "weekdays", "days", "points"),
    [
        ([0], ["mon"], (1,), (8,)),
        ([15], ["sun"], (7,), (23,)),
        ([16], ["mon"], (2,), (0,)),
        ([23], ["sun"], (1,), (7,)),
        ([16, 23], ["sun", "tue"], (1, 3), (0, 7)),
        ([3, 20], [], (1, 2, 3, 4, 5, 6, 7), (4, 11)),
    ],
)
def test_the_evening_of_a_day_is_the_morning_of_the_next(
    hours: list[int], weekdays: list[str], days: tuple[int, ...], points: tuple[int, ...]
):
    policy = in_policy(hours, weekdays)
    assert policy is not None
    assert (policy.repeat_weekdays, policy.time_points) == (days, points)


def test_hours_on_both_sides_of_the_day_s_end_are_refused_on_some_days():
    assert wrong(hours_utc=[3, 20], weekdays=["mon"], keep_days=7) == [
        "snapshots.hours_utc: a policy counts hours and days in UTC+8, where 20:00 UTC is the next day and 03:00 UTC "
        "is not: one policy cannot have both on some days of the week. Name hours before 16 only or from 16 on only, "
        "or leave 'weekdays' out."
    ]
    assert right(hours_utc=[3, 20], weekdays=list(WEEK), keep_days=7).weekdays == WEEK


@given(hours_of_day, st.sets(st.sampled_from(WEEK), min_size=1), st.integers(1, 40))
def test_the_most_snapshots_at_a_time_are_those_of_the_busiest_span(hours: set[int], weekdays: set[str], days: int):
    times = SnapshotTimes(tuple(sorted(hours)), tuple(day for day in WEEK if day in weekdays), "")
    made = sorted(
        instant + timedelta(weeks=week) for week in range(days // 7 + 2) for instant in instants(hours, weekdays)
    )
    first_week = [instant for instant in made if instant < MONDAY + timedelta(weeks=1)]
    busiest = max(sum(first <= later <= first + timedelta(days=days) for later in made) for first in first_week)
    assert times.most_within(days) == busiest


@given(st.sets(st.integers(0, 23), min_size=1), st.integers(24, 400))
def test_the_longest_time_that_fits_is_the_longest(hours: set[int], most: int):
    times = SnapshotTimes(tuple(sorted(hours)), WEEK, "")
    fit = times.longest_that_fits(most)
    assert times.most_within(fit + 1) > most
    assert fit == 0 or times.most_within(fit) <= most


@pytest.mark.parametrize(
    ("every", "hours"),
    [(24, (3,)), (12, (3, 15)), (6, (3, 9, 15, 21)), (8, (3, 11, 19)), (1, tuple(range(24)))],
)
def test_every_so_many_hours_are_hours_of_the_day(every: int, hours: tuple[int, ...]):
    plan = right(every_hours=every, keep_days=7)
    assert (plan.hours_utc, plan.weekdays, plan.every_hours, plan.cron) == (hours, WEEK, every, None)


@pytest.mark.parametrize("every", [5, 7, 9, 36, 48])
def test_hours_that_do_not_divide_a_day_are_refused(every: int):
    assert wrong(every_hours=every, keep_days=7) == [
        f"snapshots.every_hours: a policy names hours of the day, and {every} hours do not divide a day. Allowed: 1, "
        "2, 3, 4, 6, 8, 12 or 24."
    ]


def test_one_way_to_say_when():
    assert wrong(keep_days=7) == [
        "snapshots: it is not said when a snapshot is made. Set 'every_hours' or 'hours_utc'."
    ]
    assert wrong(every_hours=6, hours_utc=[3], keep_days=7) == [
        "snapshots.hours_utc: 'every_hours' and 'hours_utc' each say when a snapshot is made. Keep one of them."
    ]
    assert wrong(every_hours=6, weekdays=["mon"], keep_days=7) == [
        "snapshots.weekdays: days of the week go with 'hours_utc' alone. Set 'hours_utc', or remove them."
    ]


def test_snapshots_are_kept_by_days():
    assert wrong(every_hours=6) == ["snapshots: it is not said how long a snapshot is kept. Set 'keep_days'."]
    assert wrong(every_hours=6, keep_count=4) == [
        "snapshots.keep_count: a policy keeps snapshots by days alone. Set 'keep_days' in its place."
    ]


def test_a_schedule_that_fills_a_disk_s_snapshots_is_refused():
    assert right(every_hours=1, keep_days=83).keep_days == 83
    assert wrong(every_hours=1, keep_days=84) == [
        "snapshots.keep_days: 2017 snapshots of one disk would exist at a time, but a disk has 2000 automatic ones at "
        "most: the oldest are deleted before their days are over. Keep them 83 days or less, or make them less often "
        "(source: https://help.aliyun.com/zh/ecs/user-guide/limitations)."
    ]


def test_the_copy_has_its_own_time_and_key():
    plan = right(every_hours=12, keep_days=7, copy_to="cn-hangzhou", copy_keep_days=30, copy_kms_key=KEY_THERE)
    assert (plan.copy_region, plan.copy_keep_days, plan.copy_kms_key) == ("cn-hangzhou", 30, KEY_THERE)
    assert right(every_hours=12, keep_days=7, copy_to="cn-hangzhou").copy_keep_days == 7
    assert right(every_hours=12, keep_days=7).copy_keep_days is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"copy_keep_days": 3}, "copy_keep_days: there is no copy to keep. Set 'copy_to', or remove it."),
        ({"copy_kms_key": KEY_THERE}, "copy_kms_key: there is no copy to encrypt. Set 'copy_to', or remove it."),
        (
            {"copy_to": "cn-beijing"},
            "copy_to: a copy in cn-beijing itself survives no loss of the region. Name another region.",
        ),
        ({"copy_to": "cn-hangzou"}, "copy_to: 'cn-hangzou' is no region of alicloud. Did you mean 'cn-hangzhou'?"),
        (
            {"copy_to": "cn-shanghai", "copy_kms_key": KEY_THERE},
            "copy_kms_key: the key is of cn-hangzhou, what it encrypts is in cn-shanghai. Name a key of cn-shanghai.",
        ),
        (
            {"aws": {"cron": "cron(0 3 ? * MON *)"}},
            "aws: is for aws, and the cluster is on alicloud. Remove it.",
        ),
    ],
)
def test_what_contradicts_is_refused(values: dict[str, Any], message: str):
    assert wrong(every_hours=6, keep_days=7, **values) == [f"snapshots.{message}"]


def test_the_reasons_say_the_policy_s_own_hours():
    plan = right(hours_utc=[20], weekdays=["sun"], keep_days=14, copy_to="cn-hangzhou", copy_keep_days=60)
    assert plan.reasons == (
        "A snapshot at 20:00 UTC on sun, each kept 14 days: at most 3 of each disk at a time.",
        "The policy says it in UTC+8: 04:00. Only disks that are in use get a snapshot.",
        "An encrypted copy of each in cn-hangzhou, kept 60 days.",
    )
