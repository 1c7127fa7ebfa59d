"""The snapshot schedule: when, how long, how many that makes, and where copies go."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.catalog.limits import limit
from gpuyard.planning.plans import SnapshotPlan
from gpuyard.planning.snapshots import plan_snapshots
from gpuyard.spec import SnapshotSpec, parse_spec

from ..conftest import PLACE

KEY_THERE = "arn:aws:kms:us-west-2:123456789012:key/1"
HOURS = (1, 2, 3, 4, 6, 8, 12, 24)
GONE_BY_AGE = "Of a disk that is gone, the last snapshot stays until somebody deletes it."
GONE_BY_COUNT = (
    "Of a disk that is gone, all its snapshots stay until somebody deletes them: 'keep_days' leaves the last."
)


def schedule(**values: Any) -> tuple[SnapshotPlan | None, list[str]]:
    """The plan of a schedule; ``None`` takes a key out."""
    asked = {"every_hours": 6, "keep_days": 14, **values}
    spec = parse_spec(SnapshotSpec, {key: value for key, value in asked.items() if value is not None})
    found, problems = plan_snapshots(spec, PLACE, ("snapshots",))
    assert (found is None) is bool(problems)
    return found, [str(problem) for problem in problems]


def planned(**values: Any) -> SnapshotPlan:
    found, problems = schedule(**values)
    assert problems == []
    assert found is not None
    return found


def refused(**values: Any) -> list[str]:
    return [message.removeprefix("snapshots").removeprefix(".") for message in schedule(**values)[1]]


def cron(expression: str, **values: Any) -> dict[str, Any]:
    return {"every_hours": None, "aws": {"cron": expression}, **values}


def daily(*hours: int, **values: Any) -> dict[str, Any]:
    return {"every_hours": None, "hours_utc": list(hours), **values}


@pytest.mark.parametrize("hours", HOURS)
def test_documented_hours_are_taken(hours: int):
    found = planned(every_hours=hours)
    assert (found.region, found.every_hours, found.keep_days) == ("us-east-1", hours, 14)
    assert (found.hours_utc, found.weekdays, found.cron, found.keep_count) == ((), (), None, None)
    assert (found.copy_region, found.copy_keep_days, found.fast_restore_zones) == (None, None, ())


@pytest.mark.parametrize("hours", [5, 7, 23, 25, 48])
def test_other_hours_are_refused_with_the_allowed_ones_and_their_source(hours: int):
    (message,) = refused(every_hours=hours)
    assert message.startswith(
        f"every_hours: a snapshot every {hours} hours is not offered. Allowed: 1, 2, 3, 4, 6, 8, 12 or 24 (source: "
    )
    assert "dlm" in message


def test_hours_of_the_day_may_be_those_of_some_days_of_the_week():
    found = planned(**daily(15, 3, 15, weekdays=["wed", "mon"]))
    assert (found.every_hours, found.hours_utc, found.weekdays) == (None, (3, 15), ("mon", "wed"))
    assert found.reasons[0] == (
        "A snapshot at 03:00, 15:00 UTC on mon, wed, each kept 14 days: at most 9 of each disk at a time."
    )


@pytest.mark.parametrize("expression", ["cron(0 3 ? * MON *)", "cron(30 3 1W * ? *)", "cron(0 */2 ? * 6L *)"])
def test_a_cron_expression_is_taken_as_it_is(expression: str):
    found = planned(**cron(expression, keep_days=60))
    assert (found.cron, found.every_hours, found.hours_utc) == (expression, None, ())
    assert found.reasons[0].startswith(f"A snapshot as {expression} says, each kept 60 days: at most ")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"every_hours": None},
            "snapshots: it is not said when a snapshot is made. Set one of 'every_hours', 'hours_utc' and 'aws.cron'.",
        ),
        (
            {"hours_utc": [3]},
            "snapshots.hours_utc: 'every_hours' and 'hours_utc' each say when a snapshot is made. Keep one of them.",
        ),
        (
            {"aws": {"cron": "cron(0 3 * * ? *)"}},
            "snapshots.aws.cron: 'every_hours' and 'aws.cron' each say when a snapshot is made. Keep one of them.",
        ),
        (
            {"hours_utc": [3], "aws": {"cron": "cron(0 3 * * ? *)"}},
            "snapshots.hours_utc: 'every_hours' and 'hours_utc' and 'aws.cron' each say when a snapshot is made. Keep "
            "one of them.",
        ),
        (
            {"weekdays": ["mon"]},
            "snapshots.weekdays: days of the week go with 'hours_utc' alone. Set 'hours_utc', or remove them.",
        ),
        (
            {"keep_days": None},
            "snapshots: it is not said how long a snapshot is kept. Set 'keep_days' or 'keep_count'.",
        ),
        (
            {"keep_count": 3},
            "snapshots.keep_count: 'keep_days' and 'keep_count' both say how long a snapshot is kept. Keep one of "
            "them.",
        ),
    ],
)
def test_exactly_one_key_says_when_and_one_how_long(values: dict[str, Any], message: str):
    assert schedule(**values)[1] == [message]


@pytest.mark.parametrize("count", [1, 1000])
def test_snapshots_may_be_kept_by_count(count: int):
    found = planned(keep_days=None, keep_count=count)
    assert (found.keep_days, found.keep_count) == (None, count)
    assert found.reasons == (
        f"A snapshot every 6 hours, the newest {count} kept: at most {count} of each disk at a time.",
        GONE_BY_COUNT,
    )


def test_more_than_the_api_keeps_by_count_is_refused():
    source = limit("aws", "snapshot_keep_count_max").source
    assert refused(keep_days=None, keep_count=1001) == [
        f"keep_count: 1001 snapshots of each disk cannot be kept by count. At most 1000 (source: {source})."
    ]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "cron(0 3 ? * MO *)",
            "aws.cron: 'cron(0 3 ? * MO *)' is no schedule: 'MO' is no day of week: 1 to 7, or SUN to SAT. Write it "
            "like 'cron(0 3 ? * MON *)'.",
        ),
        (
            "cron(0/30 3 * * ? *)",
            "aws.cron: it runs 30 minutes after it ran, but at least 60 must lie between. Name one minute of the hour, "
            "such as 0 (source: PyPI botocore 1.44.8, service model dlm, CreateRule.CronExpression).",
        ),
        (
            "cron(0 3 29 2 ? *)",
            "aws.cron: it can run 1461 days after it ran, but at most 366 may lie between. Name a day that comes every "
            "year (source: PyPI botocore 1.44.8, service model dlm, CreateRule.CronExpression).",
        ),
        (
            "cron(0 3 1 * ? 2026)",
            "aws.cron: it ends: no snapshot is made after its last year, and the last one is never deleted. Write '*' "
            "for the year.",
        ),
        (
            f"cron(0 {','.join(['3'] * 50)} * * ? *)",
            "aws.cron: it has 115 characters, but 17 to 106 are allowed. Use ranges and steps (source: PyPI botocore "
            "1.44.8, service model dlm, CreateRule.CronExpression).",
        ),
    ],
)
def test_a_cron_expression_that_the_api_would_not_take_is_refused(expression: str, message: str):
    assert refused(**cron(expression)) == [message]


@pytest.mark.parametrize("expression", ["cron(0 * * * ? *)", "cron(0 3 1 1 ? *)"])
def test_an_hour_and_a_year_between_two_runs_are_right(expression: str):
    assert planned(**cron(expression)).cron == expression


@pytest.mark.parametrize(
    ("values", "most"),
    [
        ({"every_hours": 6, "keep_days": 14}, 57),
        ({"every_hours": 24, "keep_days": 1}, 2),
        ({"every_hours": 1, "keep_days": 30}, 721),
        (daily(3), 15),
        (daily(3, weekdays=["mon"], keep_days=30), 5),
        (cron("cron(0 3 1 * ? *)", keep_days=365), 13),
    ],
)
def test_the_most_snapshots_of_a_disk_are_said(values: dict[str, Any], most: int):
    assert f"at most {most} of each disk at a time." in planned(**values).reasons[0]
    assert GONE_BY_AGE in planned(**values).reasons


@given(hours=st.sampled_from(HOURS), days=st.integers(1, 4_000))
def test_every_so_many_hours_makes_so_many_snapshots(hours: int, days: int):
    assert f"at most {days * 24 // hours + 1} of each disk" in planned(every_hours=hours, keep_days=days).reasons[0]


def test_a_snapshot_that_stays_beyond_its_days_is_said():
    found = planned(**daily(3, weekdays=["mon"], keep_days=3))
    assert found.reasons == (
        "A snapshot at 03:00 UTC on mon, each kept 3 days: at most 1 of each disk at a time.",
        "Snapshots are up to 7 days apart: each is kept until the next one, beyond its days.",
        GONE_BY_AGE,
    )


def test_a_schedule_that_fills_a_region_with_one_disk_is_refused_with_what_fits():
    source = limit("aws", "snapshots_per_region").source
    said = "snapshots of one disk would exist at a time, but a region holds 100000 of all disks by default."
    fit = f"Keep them 4166 days or less, or make them less often (source: {source})."
    assert refused(every_hours=1, keep_days=4167) == [f"keep_days: 100009 {said} {fit}"]
    assert refused(every_hours=1, copy_to="us-west-2", copy_keep_days=36_500) == [
        f"copy_keep_days: 876001 {said} {fit}"
    ]
    assert planned(every_hours=1, keep_days=4166).keep_days == 4166


@pytest.mark.parametrize(("values", "days", "most"), [({}, 14, 57), ({"copy_keep_days": 30}, 30, 121)])
def test_a_copy_is_kept_as_long_as_asked_for_or_as_the_snapshot(values: dict[str, Any], days: int, most: int):
    found = planned(copy_to="us-west-2", copy_kms_key=KEY_THERE, **values)
    assert (found.copy_region, found.copy_keep_days, found.copy_kms_key) == ("us-west-2", days, KEY_THERE)
    assert found.reasons[-1] == (
        f"An encrypted copy of each in us-west-2, kept {days} days: at most {most} of each disk there at a time."
    )


def test_copies_of_snapshots_that_are_kept_by_count_need_days_of_their_own():
    assert refused(keep_days=None, keep_count=3, copy_to="us-west-2") == [
        "copy_keep_days: is missing: copies are kept by days alone, and the snapshots are kept by count. Set the days "
        "that a copy is kept."
    ]
    found = planned(keep_days=None, keep_count=3, copy_to="us-west-2", copy_keep_days=7)
    assert (found.keep_count, found.copy_keep_days) == (3, 7)
    assert found.reasons[-1].endswith("kept 7 days: at most 29 of each disk there at a time.")


def test_what_belongs_to_a_copy_is_refused_without_one():
    assert refused(copy_keep_days=30, copy_kms_key=KEY_THERE) == [
        "copy_keep_days: there is no copy to keep. Set 'copy_to', or remove it.",
        "copy_kms_key: there is no copy to encrypt. Set 'copy_to', or remove it.",
    ]


@pytest.mark.parametrize(
    ("region", "message"),
    [
        ("us-east2", "'us-east2' is no region of aws. Did you mean 'us-east-2'?"),
        ("us-east-1", "a copy in us-east-1 itself survives no loss of the region. Name another region."),
        (
            "cn-north-1",
            "cn-north-1 is in partition aws-cn, us-east-1 in aws. Data cannot be copied across partitions.",
        ),
    ],
)
def test_a_region_that_cannot_hold_the_copy_is_refused(region: str, message: str):
    assert refused(copy_to=region) == [f"copy_to: {message}"]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (
            KEY_THERE.replace("us-west-2", "us-east-1"),
            "the key is of us-east-1, what it encrypts is in us-west-2. Name a key of us-west-2.",
        ),
        (
            KEY_THERE.replace("key/1", "alias/disks"),
            "'arn:aws:kms:us-west-2:123456789012:alias/disks' is an alias, and a role can be given permission for the "
            "key itself only. Give the key's own ARN. It is written like 'arn:aws:kms:us-west-2:123456789012:key/...'.",
        ),
        ("mine", "'mine' is no ARN of a key. It is written like 'arn:aws:kms:us-west-2:123456789012:key/...'."),
    ],
)
def test_br_032_the_key_of_a_copy_is_a_key_of_its_region(key: str, message: str):
    assert refused(copy_to="us-west-2", copy_kms_key=key) == [f"copy_kms_key: {message}"]


def fast(zones: list[str], **values: Any) -> dict[str, Any]:
    return {"aws": {"fast_restore": {"zones": zones, **values}}}


def test_fast_restore_says_what_it_costs():
    found = planned(**fast(["us-east-1a", "us-east-1b"], count=2))
    assert (found.fast_restore_zones, found.fast_restore_count) == (("us-east-1a", "us-east-1b"), 2)
    assert found.reasons[-2:] == (
        "2 of each disk's snapshots restore fast in 2 zones: each is billed in each zone by the minute, for an hour at "
        "least, and goes on after the schedule is gone until it is switched off by hand.",
        "A region has 5 such snapshots by default, of all disks together; others are made without it.",
    )


@pytest.mark.parametrize(
    ("zones", "message"),
    [
        (["us-east-1a", "us-west-2a"], "zones[1]: 'us-west-2a' is no zone of us-east-1."),
        (["use1-az4"], "zones[0]: 'use1-az4' is the id of a zone, but a schedule takes names."),
        (["us-east-1-dfw-2a"], "zones[0]: 'us-east-1-dfw-2a' is a Local Zone, where no snapshot restores fast."),
    ],
)
def test_fast_restore_is_in_zones_of_the_region_by_name(zones: list[str], message: str):
    assert refused(**fast(zones)) == [f"aws.fast_restore.{message} A zone is written like 'us-east-1a'."]


def test_a_zone_named_twice_is_refused():
    assert refused(**fast(["us-east-1a", "us-east-1a"])) == [
        "aws.fast_restore.zones[1]: 'us-east-1a' is named twice. Remove one."
    ]


def test_fast_restore_is_in_ten_zones_at_most():
    zones = [f"us-east-1{letter}" for letter in "abcdefghijk"]
    assert len(planned(**fast(zones[:10])).fast_restore_zones) == 10
    (message,) = refused(**fast(zones))
    assert message.startswith(
        "aws.fast_restore.zones: snapshots restore fast in at most 10 zones, not 11. Remove some (source: "
    )


@pytest.mark.parametrize(
    ("count", "keep", "message"),
    [
        (4, {"keep_days": None, "keep_count": 3}, "4 snapshots cannot restore fast where 3 are kept. Set it to 3 or "),
        (58, {}, "58 snapshots cannot restore fast where 57 are kept. Set it to 57 or less, or keep more."),
        (
            1001,
            {"keep_days": 2_000},
            "at most 1000 snapshots of each disk restore fast, not 1001. Set it lower (source",
        ),
    ],
)
def test_no_more_snapshots_restore_fast_than_are_kept(count: int, keep: dict[str, Any], message: str):
    (found,) = refused(**fast(["us-east-1a"], count=count), **keep)
    assert found.startswith(f"aws.fast_restore.count: {message}")


def test_all_problems_of_a_schedule_come_together():
    found = refused(
        every_hours=5,
        weekdays=["mon"],
        keep_count=2_000,
        copy_keep_days=3,
        aws={"fast_restore": {"zones": ["use1-az4"], "count": 2_000}},
    )
    assert [message.split(":")[0] for message in found] == [
        "weekdays",
        "every_hours",
        "keep_count",
        "copy_keep_days",
        "aws.fast_restore.zones[0]",
        "aws.fast_restore.count",
    ]
