"""Cron expressions in UTC: the same moments as in the time zone that they were written in."""

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.planning.alicloud.cron import utc_cron
from gpuyard.spec.node_pools import ScheduledSizeSpec

WITHOUT_SUMMER_TIME = ("Etc/UTC", "Asia/Shanghai", "Asia/Tokyo", "Asia/Kolkata", "America/Phoenix", "Pacific/Honolulu")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


def moments(cron: str, zone: str, count: int = 60) -> list[datetime]:
    """The next moments from Wednesday on, in UTC; the first two days are left out, where both could begin apart."""
    start = datetime(2026, 4, 1, tzinfo=UTC)
    due = (one.astimezone(UTC) for one in CronSim(cron, start.astimezone(ZoneInfo(zone))))
    return list(islice((one for one in due if one >= start + timedelta(days=2)), count))


def converted(cron: str, zone: str) -> str | None:
    return utc_cron(ScheduledSizeSpec(cron=cron, time_zone=zone, min=1))


@given(
    zone=st.sampled_from(WITHOUT_SUMMER_TIME),
    minute=st.integers(0, 59),
    hours=st.sets(st.integers(0, 23), min_size=1, max_size=3),
    weekdays=st.sets(st.sampled_from(WEEKDAYS)),
)
def test_what_is_converted_comes_due_at_the_same_moments(zone: str, minute: int, hours: set[int], weekdays: set[str]):
    cron = f"{minute} {','.join(map(str, sorted(hours)))} * * {','.join(sorted(weekdays)) or '*'}"
    found = converted(cron, zone)
    if found is None:
        # Only where some hours pass midnight and others do not, on some days of the week.
        assert len(hours) > 1
        assert weekdays
        return
    assert moments(found, "Etc/UTC") == moments(cron, zone)


@pytest.mark.parametrize(
    ("cron", "zone", "expected"),
    [
        ("0 9 * * MON-FRI", "Asia/Shanghai", "0 1 * * MON,TUE,WED,THU,FRI"),
        ("30 6 * * MON", "Asia/Shanghai", "30 22 * * SUN"),
        ("0 20 * * SAT", "America/Phoenix", "0 3 * * SUN"),
        ("0 8 * * 7", "Etc/UTC", "0 8 * * SUN"),
        ("15 9 * * *", "Asia/Kolkata", "45 3 * * *"),
        ("0 9 1 * *", "Asia/Shanghai", "0 1 1 * *"),
        ("*/20 * * * *", "Etc/UTC", "0,20,40 * * * *"),
    ],
)
def test_days_move_with_the_hours(cron: str, zone: str, expected: str):
    assert converted(cron, zone) == expected


@pytest.mark.parametrize(
    ("cron", "zone"),
    [
        ("0 8 * * *", "Europe/Berlin"),
        ("0 6 1 * *", "Asia/Shanghai"),
        ("0 6,12 * * MON", "Asia/Shanghai"),
        ("0 8 1 * MON", "Etc/UTC"),
        ("0 8 L * *", "Etc/UTC"),
    ],
)
def test_what_utc_cannot_say_is_none(cron: str, zone: str):
    assert converted(cron, zone) is None
