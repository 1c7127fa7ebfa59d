"""When snapshots are made: hours of UTC in the description, hours of UTC+8 in the policy.

Source: PyPI pulumi_alicloud 4.0.0, docstring of ecs.AutoSnapshotPolicy (time_points are of UTC+8; repeat_weekdays from
1, Monday, to 7)
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import get_args

from gpuyard.planning.weekdays import weekday_problems
from gpuyard.spec.models import SnapshotSpec
from gpuyard.spec.problems import Path, Problem, one_of
from gpuyard.spec.storage import Weekday

# The hour of the day (UTC) from which every so many hours are counted.
FIRST_HOUR_UTC = 3

_POLICY_AHEAD_HOURS = 8
_HOURS_PER_DAY, _DAYS_PER_WEEK = 24, 7
_HOURS_PER_WEEK = _HOURS_PER_DAY * _DAYS_PER_WEEK
_WEEKDAYS: tuple[str, ...] = get_args(Weekday)


@dataclass(frozen=True, slots=True)
class SnapshotTimes:
    """Hours of the day (UTC) and the days of the week that they are on, all seven where none was named."""

    hours_utc: tuple[int, ...]
    weekdays: tuple[str, ...]
    words: str

    @property
    def hours_of_week(self) -> tuple[int, ...]:
        """Every hour of the week (UTC, 0 is Monday 00:00) at which a snapshot is made."""
        return tuple(_WEEKDAYS.index(day) * _HOURS_PER_DAY + hour for day in self.weekdays for hour in self.hours_utc)

    def most_within(self, days: int) -> int:
        """Most snapshots of one disk in any span of so many days, those at its beginning and its end included."""
        weeks, rest = divmod(days, _DAYS_PER_WEEK)
        hours = self.hours_of_week
        twice = (*hours, *(hour + _HOURS_PER_WEEK for hour in hours))
        span = rest * _HOURS_PER_DAY
        return weeks * len(hours) + max(bisect_right(twice, first + span) - place for place, first in enumerate(hours))

    def longest_that_fits(self, most: int) -> int:
        """The longest time in days within which no more snapshots than ``most`` are made; 0 when a day has more."""
        longest = ceil(most / len(self.hours_of_week)) * _DAYS_PER_WEEK
        return bisect_right(range(1, longest + 1), most, key=self.most_within)


@dataclass(frozen=True, slots=True)
class PolicyTimes:
    """The same as the policy has it: days of the week from 1, Monday, and hours of the day, both of UTC+8."""

    repeat_weekdays: tuple[int, ...]
    time_points: tuple[int, ...]


def plan_times(spec: SnapshotSpec, path: Path) -> tuple[SnapshotTimes | None, list[Problem]]:
    """When snapshots are made.

    Args:
        spec: What was asked for.
        path: Where it stands in the cluster description, for the problems' paths.

    Returns:
        The times, or None when there are none; and every problem found.
    """
    problems = weekday_problems(spec, path)
    if spec.every_hours is not None and spec.hours_utc is not None:
        message = "'every_hours' and 'hours_utc' each say when a snapshot is made."
        return None, [*problems, Problem((*path, "hours_utc"), message, "Keep one of them.")]
    if spec.hours_utc is not None:
        times = _of_day(spec.hours_utc, spec.weekdays)
        return times, [*problems, *_one_policy_problems(times, path)]
    if spec.every_hours is None:
        message, remedy = "it is not said when a snapshot is made.", "Set 'every_hours' or 'hours_utc'."
        return None, [*problems, Problem(path, message, remedy)]
    problems += _interval_problems(spec.every_hours, path)
    return (None if problems else _every(spec.every_hours)), problems


def in_policy(hours_utc: Sequence[int], weekdays: Sequence[str]) -> PolicyTimes | None:
    """Hours and days of the week as one policy has them.

    Eight hours later the evening of a day is the morning of the next. A policy makes a snapshot at each of its hours on
    each of its days, so that hours of which only some move to the next day are one policy only when every day counts.

    Args:
        hours_utc: Hours of the day (UTC).
        weekdays: Days of the week (UTC), ``mon`` to ``sun``; none for every day.

    Returns:
        The policy's times, or None where one policy cannot say it.
    """
    points = tuple(sorted((hour + _POLICY_AHEAD_HOURS) % _HOURS_PER_DAY for hour in hours_utc))
    days = {_WEEKDAYS.index(day) for day in weekdays or _WEEKDAYS}
    moved = {(hour + _POLICY_AHEAD_HOURS) // _HOURS_PER_DAY for hour in hours_utc}
    if len(days) == _DAYS_PER_WEEK:
        return PolicyTimes(tuple(range(1, _DAYS_PER_WEEK + 1)), points)
    if len(moved) > 1:
        return None
    (ahead,) = moved
    return PolicyTimes(tuple(sorted((day + ahead) % _DAYS_PER_WEEK + 1 for day in days)), points)


def _one_policy_problems(times: SnapshotTimes, path: Path) -> list[Problem]:
    if in_policy(times.hours_utc, times.weekdays) is not None:
        return []
    border = _HOURS_PER_DAY - _POLICY_AHEAD_HOURS
    early = [hour for hour in times.hours_utc if hour < border]
    late = [hour for hour in times.hours_utc if hour >= border]
    message = (
        f"a policy counts hours and days in UTC+8, where {_at(late)} is the next day and {_at(early)} is not: one "
        "policy cannot have both on some days of the week."
    )
    remedy = f"Name hours before {border} only or from {border} on only, or leave 'weekdays' out."
    return [Problem((*path, "hours_utc"), message, remedy)]


def _interval_problems(every_hours: int, path: Path) -> list[Problem]:
    if _HOURS_PER_DAY % every_hours == 0:
        return []
    right = [hours for hours in range(1, _HOURS_PER_DAY + 1) if _HOURS_PER_DAY % hours == 0]
    message = f"a policy names hours of the day, and {every_hours} hours do not divide a day."
    return [Problem((*path, "every_hours"), message, f"Allowed: {one_of(right)}.")]


def _every(every_hours: int) -> SnapshotTimes:
    hours = sorted((FIRST_HOUR_UTC + passed) % _HOURS_PER_DAY for passed in range(0, _HOURS_PER_DAY, every_hours))
    return SnapshotTimes(tuple(hours), _WEEKDAYS, "every hour" if every_hours == 1 else f"every {every_hours} hours")


def _of_day(hours: Sequence[int], weekdays: Sequence[str] | None) -> SnapshotTimes:
    hours_utc = tuple(sorted(set(hours)))
    days = tuple(day for day in _WEEKDAYS if weekdays is None or day in weekdays)
    words = f"at {_at(hours_utc)}"
    return SnapshotTimes(hours_utc, days, words if days == _WEEKDAYS else f"{words} on {', '.join(days)}")


def _at(hours: Sequence[int]) -> str:
    return f"{', '.join(f'{hour:02}:00' for hour in hours)} UTC"
