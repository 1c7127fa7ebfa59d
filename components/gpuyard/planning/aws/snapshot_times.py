"""When snapshots are made: exactly one of three ways to say it, and all of them the same to count with."""

from dataclasses import dataclass
from typing import get_args

from gpuyard.catalog.limits import limit
from gpuyard.planning.aws.cron import AwsCron, daily_expression, read_cron
from gpuyard.planning.plans import Place
from gpuyard.planning.weekdays import weekday_problems
from gpuyard.spec.models import SnapshotSpec
from gpuyard.spec.problems import Path, Problem, one_of
from gpuyard.spec.storage import Weekday

# The hour of the day (UTC) from which every so many hours are counted.
FIRST_HOUR_UTC = 3

_WEEKDAYS: tuple[str, ...] = get_args(Weekday)


@dataclass(frozen=True, slots=True)
class SnapshotTimes:
    """When snapshots are made.

    ``hours_utc`` and ``weekdays`` are empty and ``cron`` is None where something else says when; ``runs`` is the same
    to count with in every case, and ``words`` the same for people.
    """

    hours_utc: tuple[int, ...]
    weekdays: tuple[str, ...]
    cron: str | None
    runs: AwsCron
    words: str


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
    cron = None if spec.aws is None else spec.aws.cron
    ways: tuple[tuple[Path, object], ...] = (
        (("every_hours",), spec.every_hours),
        (("hours_utc",), spec.hours_utc),
        (("aws", "cron"), cron),
    )
    said = [way for way, value in ways if value is not None]
    if not said:
        remedy = "Set one of 'every_hours', 'hours_utc' and 'aws.cron'."
        return None, [Problem(path, "it is not said when a snapshot is made.", remedy), *problems]
    if len(said) > 1:
        names = " and ".join(f"'{'.'.join(str(part) for part in way)}'" for way in said)
        message = f"{names} each say when a snapshot is made."
        return None, [Problem((*path, *said[1]), message, "Keep one of them."), *problems]
    if cron is not None:
        runs, found = _cron(cron, place, (*path, "aws", "cron"))
        times = None if runs is None else SnapshotTimes((), (), cron, runs, f"as {cron} says")
        return times, [*problems, *found]
    if spec.hours_utc is not None:
        return _of_day(spec.hours_utc, spec.weekdays or []), problems
    every = spec.every_hours or 0
    problems += _interval_problems(every, place, path)
    return (None if problems else _every(every)), problems


def _interval_problems(every_hours: int, place: Place, path: Path) -> list[Problem]:
    hours = limit(place.cloud, "snapshot_interval_hours")
    if every_hours in hours.values:
        return []
    message = f"a snapshot every {every_hours} hours is not offered."
    remedy = f"Allowed: {one_of(hours.values)} (source: {hours.source})."
    return [Problem((*path, "every_hours"), message, remedy)]


def _every(every_hours: int) -> SnapshotTimes:
    hours = sorted((FIRST_HOUR_UTC + passed) % 24 for passed in range(0, 24, every_hours))
    words = "every hour" if every_hours == 1 else f"every {every_hours} hours"
    return SnapshotTimes((), (), None, read_cron(daily_expression(hours, ())), words)


def _of_day(hours: list[int], weekdays: list[Weekday]) -> SnapshotTimes:
    hours_utc = tuple(sorted(set(hours)))
    days = tuple(day for day in _WEEKDAYS if day in weekdays)
    words = f"at {', '.join(f'{hour:02}:00' for hour in hours_utc)} UTC"
    words += f" on {', '.join(days)}" if days else ""
    return SnapshotTimes(hours_utc, days, None, read_cron(daily_expression(hours_utc, days)), words)


def _cron(text: str, place: Place, path: Path) -> tuple[AwsCron | None, list[Problem]]:
    """A cron expression that a person wrote, and what Data Lifecycle Manager would not take of it."""
    try:
        runs = read_cron(text)
    except ValueError as error:
        return None, [Problem(path, f"'{text}' is no schedule: {error}", "Write it like 'cron(0 3 ? * MON *)'.")]
    problems: list[Problem] = []
    size = limit(place.cloud, "snapshot_cron_characters")
    if not size.values[0] <= len(text) <= size.values[1]:
        message = f"it has {len(text)} characters, but {size.values[0]} to {size.values[1]} are allowed."
        problems.append(Problem(path, message, f"Use ranges and steps (source: {size.source})."))
    if not runs.every_year:
        message = "it ends: no snapshot is made after its last year, and the last one is never deleted."
        problems.append(Problem(path, message, "Write '*' for the year."))
    gap = limit(place.cloud, "snapshot_cron_interval_hours")
    shortest, longest = runs.gaps_minutes
    if shortest < gap.values[0] * 60:
        message = f"it runs {shortest} minutes after it ran, but at least {gap.values[0] * 60} must lie between."
        problems.append(Problem(path, message, f"Name one minute of the hour, such as 0 (source: {gap.source})."))
    if longest > gap.values[1] * 60:
        message = (
            f"it can run {longest // (24 * 60)} days after it ran, but at most {gap.values[1] // 24} may lie between."
        )
        problems.append(Problem(path, message, f"Name a day that comes every year (source: {gap.source})."))
    return (None if problems else runs), problems
