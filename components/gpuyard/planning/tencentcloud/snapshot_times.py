"""When snapshots are made: hours and weekdays in UTC, and the same instants on the clock of the cloud's schedules."""

from dataclasses import dataclass
from typing import get_args

from gpuyard.catalog.limits import limit
from gpuyard.planning.plans import Place, SnapshotPlan
from gpuyard.planning.weekdays import weekday_problems
from gpuyard.spec.models import SnapshotSpec
from gpuyard.spec.problems import Path, Problem, one_of
from gpuyard.spec.storage import Weekday

# The hour of the day (UTC) from which every so many hours are counted.
FIRST_HOUR_UTC = 3

_WEEKDAYS: tuple[str, ...] = get_args(Weekday)
_HOURS_PER_DAY, _HOURS_PER_WEEK = 24, 168


@dataclass(frozen=True, slots=True)
class SnapshotTimes:
    """Hours of the day and days of the week in UTC, all days when empty, and the same in words."""

    hours_utc: tuple[int, ...]
    weekdays: tuple[str, ...]
    words: str


@dataclass(frozen=True, slots=True)
class LocalTimes:
    """Days (0 is Sunday) and hours of one schedule on the cloud's own clock: each hour on each of the days."""

    weekdays: tuple[int, ...]
    hours: tuple[int, ...]


def plan_times(spec: SnapshotSpec, place: Place, path: Path) -> tuple[SnapshotTimes | None, list[Problem]]:
    """When snapshots are made.

    Args:
        spec: What was asked for.
        place: Cloud and region of the nodes.
        path: Where it stands in the cluster description, for the problems' paths.

    Returns:
        The times, or None when there are none; and every problem found.
    """
    problems = weekday_problems(spec, path)
    if spec.every_hours is None and spec.hours_utc is None:
        message = "it is not said when a snapshot is made."
        return None, [Problem(path, message, "Set one of 'every_hours' and 'hours_utc'."), *problems]
    if spec.every_hours is not None and spec.hours_utc is not None:
        message = "'every_hours' and 'hours_utc' each say when a snapshot is made."
        return None, [Problem((*path, "hours_utc"), message, "Keep one of them."), *problems]
    if spec.hours_utc is not None:
        hours = tuple(sorted(set(spec.hours_utc)))
        days = tuple(day for day in _WEEKDAYS if day in (spec.weekdays or ()))
        words = f"at {', '.join(f'{hour:02}:00' for hour in hours)} UTC" + (f" on {', '.join(days)}" if days else "")
        return (None if problems else SnapshotTimes(hours, days, words)), problems
    every = spec.every_hours or _HOURS_PER_DAY
    offered = limit(place.cloud, "snapshot_interval_hours")
    if every not in offered.values:
        message = f"a snapshot every {every} hours is not offered."
        remedy = f"Allowed: {one_of(offered.values)} (source: {offered.source})."
        problems.append(Problem((*path, "every_hours"), message, remedy))
    if problems:
        return None, problems
    hours = tuple(sorted((FIRST_HOUR_UTC + passed) % _HOURS_PER_DAY for passed in range(0, _HOURS_PER_DAY, every)))
    return SnapshotTimes(hours, (), "every hour" if every == 1 else f"every {every} hours"), []


def most_snapshots(times: SnapshotTimes, keep_days: int) -> int:
    """Most snapshots of one disk that exist at any time.

    One that is as old as the next one is due may still be there when the next one is made.

    Args:
        times: When they are made.
        keep_days: Days that each is kept.

    Returns:
        The number.
    """
    instants = sorted(_instants(times.hours_utc, times.weekdays))
    weeks, rest = divmod(keep_days * _HOURS_PER_DAY, _HOURS_PER_WEEK)
    within = max(sum((later - first) % _HOURS_PER_WEEK <= rest for later in instants) for first in instants)
    return weeks * len(instants) + within


def local_times(plan: SnapshotPlan, utc_offset_hours: int) -> tuple[LocalTimes, ...]:
    """The schedules that together make snapshots at exactly the instants of a plan, on a clock ahead of UTC.

    A schedule has every one of its hours on every one of its days. Hours that are already on the next day there get
    a schedule of their own where not all days are asked for.

    Args:
        plan: When, in UTC.
        utc_offset_hours: Hours that the clock is ahead of UTC.

    Returns:
        One or two schedules.
    """
    hours = _hours_of(plan)
    days = [(_WEEKDAYS.index(day) + 1) % 7 for day in plan.weekdays or _WEEKDAYS]
    by_shift: dict[int, list[int]] = {}
    for hour in hours:
        shift, local = divmod(hour + utc_offset_hours, _HOURS_PER_DAY)
        by_shift.setdefault(shift if plan.weekdays else 0, []).append(local)
    return tuple(
        LocalTimes(tuple(sorted((day + shift) % 7 for day in days)), tuple(sorted(local)))
        for shift, local in sorted(by_shift.items())
    )


def _hours_of(plan: SnapshotPlan) -> tuple[int, ...]:
    if plan.every_hours is None:
        return plan.hours_utc
    return tuple((FIRST_HOUR_UTC + passed) % _HOURS_PER_DAY for passed in range(0, _HOURS_PER_DAY, plan.every_hours))


def _instants(hours: tuple[int, ...], weekdays: tuple[str, ...]) -> set[int]:
    """Hours of the week, counted from Monday."""
    return {_WEEKDAYS.index(day) * _HOURS_PER_DAY + hour for day in weekdays or _WEEKDAYS for hour in hours}
