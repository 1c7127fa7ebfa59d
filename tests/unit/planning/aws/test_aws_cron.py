"""AWS's cron expressions: what they mean, and what is none."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.planning.aws.cron import daily_expression, read_cron

FIRST_DAY = date(2001, 1, 1)
CYCLE_DAYS = 28 * 365 + 7
FORM = "it is no 'cron(...)' of six fields: minute, hour, day of month, month, day of week, year."
ONE_DAY_FIELD = "exactly one of day of month and day of week is '?', and the other says the days."


def dates(expression: str, year: int) -> list[str]:
    """The days of one year on which an expression runs."""
    found = (FIRST_DAY + timedelta(days=day) for day in read_cron(expression).days)
    return [f"{day:%m-%d}" for day in found if day.year == year]


@pytest.mark.parametrize(
    ("expression", "minutes", "hours"),
    [
        ("cron(0 3 * * ? *)", (0,), (3,)),
        ("cron(0 3,15 * * ? *)", (0,), (3, 15)),
        ("cron(5 8-10 * * ? *)", (5,), (8, 9, 10)),
        ("cron(0 */6 * * ? *)", (0,), (0, 6, 12, 18)),
        ("cron(1/20 23 * * ? *)", (1, 21, 41), (23,)),
        ("cron(0 2-10/4,22 * * ? *)", (0,), (2, 6, 10, 22)),
    ],
)
def test_minutes_and_hours_are_values_ranges_and_steps(
    expression: str, minutes: tuple[int, ...], hours: tuple[int, ...]
):
    found = read_cron(expression)
    assert (found.minutes, found.hours, len(found.days)) == (minutes, hours, CYCLE_DAYS)


@pytest.mark.parametrize(
    ("expression", "days"),
    [
        ("cron(0 3 1 1,JUL ? *)", ["01-01", "07-01"]),
        ("cron(0 3 L 1-3 ? *)", ["01-31", "02-28", "03-31"]),
        ("cron(0 3 31 * ? *)", ["01-31", "03-31", "05-31", "07-31", "08-31", "10-31", "12-31"]),
        # 2026: the first of August is a Saturday, the first of November a Sunday, the last of May a Sunday.
        ("cron(0 3 1W 8,11 ? *)", ["08-03", "11-02"]),
        ("cron(0 3 31W 1-5 ? *)", ["01-30", "03-31", "05-29"]),
        ("cron(0 3 15W 2,3 ? *)", ["02-16", "03-16"]),
        ("cron(0 3 14W 2 ? *)", ["02-13"]),
        ("cron(0 3 ? 2 MON *)", ["02-02", "02-09", "02-16", "02-23"]),
        ("cron(0 3 ? 2 2 *)", ["02-02", "02-09", "02-16", "02-23"]),
        ("cron(0 3 ? 2 SAT,SUN *)", ["02-01", "02-07", "02-08", "02-14", "02-15", "02-21", "02-22", "02-28"]),
        ("cron(0 3 ? 3 L *)", ["03-07", "03-14", "03-21", "03-28"]),
        ("cron(0 3 ? 3 6L *)", ["03-27"]),
        ("cron(0 3 ? 3 TUEL *)", ["03-31"]),
        ("cron(0 3 ? 1-3 3#2 *)", ["01-13", "02-10", "03-10"]),
        ("cron(0 3 ? 1-6 SUN#5 *)", ["03-29", "05-31"]),
    ],
)
def test_days_are_those_of_the_calendar(expression: str, days: list[str]):
    assert dates(expression, 2026) == days


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("", FORM),
        ("0 3 ? * MON *", FORM),
        ("rate(1 day)", FORM),
        ("cron(0 3 ? * MON)", FORM),
        ("cron(0 0 17 ? * FRI *)", FORM),
        ("cron(0 3 ? * MON *) ", FORM),
        ("cron(0 3 * * * *)", ONE_DAY_FIELD),
        ("cron(0 3 1 * MON *)", ONE_DAY_FIELD),
        ("cron(0 3 ? * ? *)", ONE_DAY_FIELD),
        ("cron(60 3 * * ? *)", "'60' is no minute: 0 to 59."),
        ("cron(0 24 * * ? *)", "'24' is no hour: 0 to 23."),
        ("cron(0 \u0663 * * ? *)", "'\u0663' is no hour: 0 to 23."),
        ("cron(0 3 0 * ? *)", "'0' is no day of month: 1 to 31."),
        ("cron(0 3 32W * ? *)", "'32' is no day of month: 1 to 31."),
        ("cron(0 3 LW * ? *)", "'LW' is no day of month: 1 to 31."),
        ("cron(0 3 1 13 ? *)", "'13' is no month: 1 to 12, or JAN to DEC."),
        ("cron(0 3 1 jan ? *)", "'jan' is no month: 1 to 12, or JAN to DEC."),
        ("cron(0 3 ? * MO *)", "'MO' is no day of week: 1 to 7, or SUN to SAT."),
        ("cron(0 3 ? * 0 *)", "'0' is no day of week: 1 to 7, or SUN to SAT."),
        ("cron(0 3 ? * 8L *)", "'8' is no day of week: 1 to 7, or SUN to SAT."),
        ("cron(0 3 ? * FRI-MON *)", "the range 'FRI-MON' of day of week ends before it begins."),
        ("cron(0 3 ? * 3#6 *)", "'3#6' is no day of week: a value, a range such as 1-7, or a step such as */2."),
        (
            "cron(0 3 ? * 3#1,6#3 *)",
            "'3#1' is no day of week: a value, a range such as 1-7, or a step such as */2.",
        ),
        ("cron(0 ? * * ? *)", "'?' is no hour: a value, a range such as 0-23, or a step such as */2."),
        ("cron(0 3,, * * ? *)", "'' is no hour: a value, a range such as 0-23, or a step such as */2."),
        ("cron(*/60 * * * ? *)", "'/60' is no step of minute: 1 to 59."),
        ("cron(*/0 * * * ? *)", "'/0' is no step of minute: 1 to 59."),
        ("cron(0 3 1 * ? 1969)", "'1969' is no year: 1970 to 2199."),
        ("cron(0 3 30 2 ? *)", "it names no day that exists."),
        ("cron(0 3 31W 4 ? *)", "it names no day that exists."),
    ],
)
def test_what_is_none_is_refused_with_what_would_be_right(expression: str, message: str):
    with pytest.raises(ValueError, match=r".") as caught:
        read_cron(expression)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("expression", "every_year"),
    [("cron(0 3 1 1 ? *)", True), ("cron(0 3 1 1 ? 1970-2199)", True), ("cron(0 3 1 1 ? 2026)", False)],
)
def test_an_expression_of_some_years_has_an_end(expression: str, every_year: bool):
    assert read_cron(expression).every_year is every_year


@pytest.mark.parametrize(
    ("expression", "shortest", "longest"),
    [
        ("cron(0 3 * * ? *)", 24 * 60, 24 * 60),
        ("cron(0 3,9 * * ? *)", 6 * 60, 18 * 60),
        ("cron(0/30 * * * ? *)", 30, 30),
        ("cron(55 0,23 * * ? *)", 60, 23 * 60),
        ("cron(0 3 ? * MON,WED *)", 2 * 24 * 60, 5 * 24 * 60),
        ("cron(0 3 1 * ? *)", 28 * 24 * 60, 31 * 24 * 60),
        ("cron(0 3 1 1 ? *)", 365 * 24 * 60, 366 * 24 * 60),
        ("cron(0 3 29 2 ? *)", 1461 * 24 * 60, 1461 * 24 * 60),
    ],
)
def test_the_times_between_two_runs_are_those_of_the_calendar(expression: str, shortest: int, longest: int):
    assert read_cron(expression).gaps_minutes == (shortest, longest)


@pytest.mark.parametrize(
    ("expression", "days", "most"),
    [
        ("cron(0 3 * * ? *)", 1, 2),
        ("cron(0 3 * * ? *)", 14, 15),
        ("cron(0 3,15 * * ? *)", 7, 15),
        ("cron(0 3 ? * MON *)", 6, 1),
        ("cron(0 3 ? * MON *)", 7, 2),
        ("cron(0 3 ? * MON,TUE *)", 7, 3),
        ("cron(0 3 1 * ? *)", 30, 2),
        ("cron(0 3 1 * ? *)", 31, 2),
        ("cron(0 3 * * ? *)", 36_500, 36_501),
    ],
)
def test_the_most_runs_in_some_days_count_both_ends(expression: str, days: int, most: int):
    assert read_cron(expression).most_runs(days) == most


WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@given(
    hours=st.sets(st.integers(0, 23), min_size=1),
    weekdays=st.sets(st.sampled_from(WEEKDAYS)),
    days=st.integers(1, 60),
)
def test_the_most_runs_and_the_gaps_are_those_of_a_count_by_hand(hours: set[int], weekdays: set[str], days: int):
    chosen = tuple(day for day in WEEKDAYS if day in weekdays)
    found = read_cron(daily_expression(sorted(hours), chosen))
    monday = date(2024, 1, 1)
    runs = [
        (number * 24 + hour) * 60
        for number in range(100)
        if not weekdays or WEEKDAYS[(monday + timedelta(days=number)).weekday()] in weekdays
        for hour in sorted(hours)
    ]
    gaps = [later - sooner for sooner, later in zip(runs, runs[1:], strict=False)]
    assert found.gaps_minutes == (min(gaps), max(gaps))
    starts = [run for run in runs if run < 14 * 24 * 60]
    assert found.most_runs(days) == max(sum(0 <= run - start <= days * 24 * 60 for run in runs) for start in starts)


def test_hours_and_days_of_the_week_make_an_expression():
    assert daily_expression((3, 15), ("mon", "wed")) == "cron(0 3,15 ? * MON,WED *)"
    assert daily_expression((3,), ()) == "cron(0 3 * * ? *)"


def test_the_longest_expression_of_hours_and_days_is_one_that_the_api_takes():
    longest = daily_expression(range(24), WEEKDAYS)
    assert len(longest) <= 106
    assert read_cron(longest).gaps_minutes == (60, 60)
