"""Times of scheduled tasks: Auto Scaling reads cron expressions in UTC, people write them in their own time zone."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim

from gpuyard.spec.node_pools import ScheduledSizeSpec

WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_HOUR_MINUTES = 60
_DAY_MINUTES = 24 * _HOUR_MINUTES
_ANY_DAY = set(range(1, 32))
_ANY_MONTH = set(range(1, 13))
# A time zone with summer time shows it in a year's samples.
_SAMPLED_YEAR = 2026


def utc_cron(size: ScheduledSizeSpec) -> str | None:
    """The same moments as a cron expression in UTC.

    Hours move by the zone's offset; where they pass midnight, days of the week move with them. Days of the month
    cannot move, nor can a zone with summer time be expressed at all.

    Args:
        size: An expression of five fields and its time zone, both valid.

    Returns:
        Minute, hour, day of month, month and day of week, the last by name; None where UTC has no such expression.

    Source: https://www.alibabacloud.com/help/en/auto-scaling/developer-reference/api-ess-2022-02-22-createscheduledtask
    (RecurrenceValue, Cron)
    """
    offset = _fixed_offset(size.time_zone)
    if offset is None:
        return None
    found = CronSim(size.cron, datetime(_SAMPLED_YEAR, 1, 1, tzinfo=UTC))
    # The last day of a month and the like are other than the numbers of days.
    numbers = {*_ANY_DAY, 0}
    if not {*found.days, *found.weekdays} <= numbers:
        return None
    # 0 and 7 are both Sunday.
    days, weekdays = {int(str(day)) for day in found.days}, {int(str(day)) % 7 for day in found.weekdays}
    moments = {hour * _HOUR_MINUTES + minute - offset for hour in found.hours for minute in found.minutes}
    shifts = {moment // _DAY_MINUTES for moment in moments}
    hours = {moment % _DAY_MINUTES // _HOUR_MINUTES for moment in moments}
    minutes = {moment % _HOUR_MINUTES for moment in moments}
    if len(hours) * len(minutes) != len(moments):
        return None
    every_date = days == _ANY_DAY and set(found.months) == _ANY_MONTH
    every_weekday = len(weekdays) == len(WEEKDAYS)
    if shifts != {0} and (not every_date or (len(shifts) > 1 and not every_weekday)):
        return None
    if not every_date and not every_weekday:
        # Which of the two counts is read in two ways.
        return None
    shift = shifts.pop() if len(shifts) == 1 else 0
    return " ".join(
        (
            _numbers(minutes, _HOUR_MINUTES),
            _numbers(hours, 24),
            "*" if days == _ANY_DAY else _numbers(days, 0),
            "*" if set(found.months) == _ANY_MONTH else _numbers(set(found.months), 0),
            "*" if every_weekday else ",".join(WEEKDAYS[(day + shift) % 7] for day in sorted(weekdays)),
        )
    )


def _fixed_offset(time_zone: str) -> int | None:
    """Minutes that a zone is ahead of UTC, None for one with summer time."""
    first = datetime(_SAMPLED_YEAR, 1, 1, tzinfo=UTC)
    zone = ZoneInfo(time_zone)
    offsets = {(first + timedelta(days=day)).astimezone(zone).utcoffset() for day in range(0, 365, 7)}
    (offset, *others) = offsets
    return None if others or offset is None else int(offset.total_seconds()) // 60


def _numbers(values: set[int], every: int) -> str:
    return "*" if len(values) == every else ",".join(str(value) for value in sorted(values))
