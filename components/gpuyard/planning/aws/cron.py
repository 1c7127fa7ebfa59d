"""Cron expressions as AWS writes them: six fields, read and checked, and the days they run on.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-cron-expressions.html
"""

import re
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from gpuyard.catalog.limits import limit

_FORM = re.compile(r"cron\(([^()]*)\)")
_FIELDS = ("minute", "hour", "day of month", "month", "day of week", "year")
# From 1901 to 2099 the calendar repeats itself after 28 years: these are 28 of them.
_FIRST_DAY, _DAYS = date(2001, 1, 1), 28 * 365 + 7


@dataclass(frozen=True, slots=True)
class AwsCron:
    """A cron expression that has been read.

    Attributes:
        expression: As it was written.
        minutes: Minutes of the hour.
        hours: Hours of the day (UTC).
        every_year: Whether it goes on for ever.
        days: Days on which it runs, counted from the first of a cycle of 28 years.
    """

    expression: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    every_year: bool
    days: tuple[int, ...]

    @property
    def gaps_minutes(self) -> tuple[int, int]:
        """The shortest and the longest time between two runs, in minutes."""
        times = [hour * 60 + minute for hour in self.hours for minute in self.minutes]
        within = [later - sooner for sooner, later in zip(times, times[1:], strict=False)]
        following = (*self.days[1:], self.days[0] + _DAYS)
        over_night = {later - sooner for sooner, later in zip(self.days, following, strict=True)}
        between = [days * 24 * 60 - times[-1] + times[0] for days in over_night]
        return min((*within, *between)), max((*within, *between))

    def most_runs(self, days: int) -> int:
        """Most runs in any stretch of so many days, the runs at its very beginning and its very end included."""
        cycles, rest = divmod(days, _DAYS)
        times = len(self.minutes) * len(self.hours)
        on = bytearray(2 * _DAYS)
        for day in self.days:
            on[day] = on[day + _DAYS] = 1
        before = [0]
        for runs in on:
            before.append(before[-1] + runs)
        most = max((before[day + rest] - before[day]) * times + on[day + rest] for day in self.days)
        return most + cycles * len(self.days) * times


def daily_expression(hours_utc: Sequence[int], weekdays: Sequence[str]) -> str:
    """The expression of hours of the day and days of the week: ``cron(0 3,15 ? * MON,WED *)``.

    Args:
        hours_utc: Hours of the day (UTC).
        weekdays: Days of the week as a cluster description writes them (``mon``); every day when empty.

    Returns:
        The expression.
    """
    hours = ",".join(str(hour) for hour in hours_utc)
    if not weekdays:
        return f"cron(0 {hours} * * ? *)"
    return f"cron(0 {hours} ? * {','.join(day.upper() for day in weekdays)} *)"


def read_cron(text: str) -> AwsCron:
    """Read an expression such as ``cron(0 3 ? * MON *)``.

    Args:
        text: The expression.

    Returns:
        What it says.

    Raises:
        ValueError: It says nothing; the message is what is wrong with it.
    """
    form = _FORM.fullmatch(text)
    fields = form[1].split() if form else []
    if len(fields) != len(_FIELDS):
        raise ValueError(f"it is no 'cron(...)' of six fields: {', '.join(_FIELDS)}.")
    minutes, hours, month_days, months, weekdays, years = fields
    if (month_days == "?") is (weekdays == "?"):
        raise ValueError("exactly one of day of month and day of week is '?', and the other says the days.")
    month_names = limit("aws", "cron_months").values
    in_months = _values(months, "month", 1, len(month_names), month_names)
    named = _days_of_month(month_days) if weekdays == "?" else _days_of_week(weekdays)
    first_year, last_year = _bounds("cron_years")
    cycle = ((number, _FIRST_DAY + timedelta(days=number)) for number in range(_DAYS))
    days = tuple(number for number, day in cycle if day.month in in_months and named.include(day))
    if not days:
        raise ValueError("it names no day that exists.")
    return AwsCron(
        expression=text,
        minutes=_values(minutes, "minute", *_bounds("cron_minutes")),
        hours=_values(hours, "hour", *_bounds("cron_hours")),
        every_year=len(_values(years, "year", first_year, last_year)) == last_year - first_year + 1,
        days=days,
    )


@dataclass(frozen=True, slots=True)
class _Days:
    """Days that one of the two fields names.

    ``month_days`` and ``weekdays`` (1 is Sunday) hold plain ones, ``near`` the days whose nearest working day counts,
    ``nth`` pairs of a weekday and its number in the month, 0 for the last; ``last`` is the month's last day.
    """

    month_days: tuple[int, ...] = ()
    weekdays: tuple[int, ...] = ()
    near: tuple[int, ...] = ()
    nth: tuple[tuple[int, int], ...] = ()
    last: bool = False

    def include(self, day: date) -> bool:
        weekday = day.isoweekday() % 7 + 1
        if day.day in self.month_days or weekday in self.weekdays:
            return True
        length = monthrange(day.year, day.month)[1]
        if self.last and day.day == length:
            return True
        if any(number <= length and _working_day(day.replace(day=number), length) == day.day for number in self.near):
            return True
        number = (day.day - 1) // 7 + 1
        return (weekday, number) in self.nth or ((weekday, 0) in self.nth and day.day + 7 > length)


def _working_day(day: date, length: int) -> int:
    """The day of the month of the working day nearest to a day, in the same month."""
    if day.weekday() == 5:
        return day.day + 2 if day.day == 1 else day.day - 1
    if day.weekday() == 6:
        return day.day - 2 if day.day == length else day.day + 1
    return day.day


def _days_of_month(field: str) -> _Days:
    low, high = _bounds("cron_days")
    if field == "L":
        return _Days(last=True)
    if near := re.fullmatch(r"(\d+)W", field):
        return _Days(near=_values(near[1], "day of month", low, high))
    return _Days(month_days=_values(field, "day of month", low, high))


def _days_of_week(field: str) -> _Days:
    names = limit("aws", "cron_weekdays").values
    if field == "L":
        return _Days(weekdays=(len(names),))
    if last := re.fullmatch(r"(\w+)L", field):
        return _Days(nth=((_values(last[1], "day of week", 1, len(names), names)[0], 0),))
    if nth := re.fullmatch(r"(\w+)#([1-5])", field):
        return _Days(nth=((_values(nth[1], "day of week", 1, len(names), names)[0], int(nth[2])),))
    return _Days(weekdays=_values(field, "day of week", 1, len(names), names))


def _values(field: str, what: str, low: int, high: int, names: tuple[str, ...] = ()) -> tuple[int, ...]:
    """Numbers that a field names: values, ranges and steps, separated by commas.

    Raises:
        ValueError: It names none, or one that does not exist.
    """
    found: set[int] = set()
    for part in field.split(","):
        form = re.fullmatch(r"(\*|\w+)(?:-(\w+))?(?:/(\d+))?", part)
        if form is None or (form[1] == "*" and form[2] is not None):
            raise ValueError(f"'{part}' is no {what}: a value, a range such as {low}-{high}, or a step such as */2.")
        first = low if form[1] == "*" else _value(form[1], what, low, high, names)
        last = first if form[2] is None else _value(form[2], what, low, high, names)
        if form[1] == "*" or (form[3] is not None and form[2] is None):
            last = high
        step = 1 if form[3] is None else int(form[3])
        if last < first:
            raise ValueError(f"the range '{part}' of {what} ends before it begins.")
        if not 1 <= step <= high - low:
            raise ValueError(f"'/{form[3]}' is no step of {what}: 1 to {high - low}.")
        found.update(range(first, last + 1, step))
    return tuple(sorted(found))


def _value(text: str, what: str, low: int, high: int, names: tuple[str, ...]) -> int:
    if text in names:
        return names.index(text) + low
    if text.isascii() and text.isdigit() and low <= int(text) <= high:
        return int(text)
    named = f", or {names[0]} to {names[-1]}" if names else ""
    raise ValueError(f"'{text}' is no {what}: {low} to {high}{named}.")


def _bounds(name: str) -> tuple[int, int]:
    low, high = limit("aws", name).values
    return low, high
