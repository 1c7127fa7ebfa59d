"""What is watched, from when on, and the budget."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.planning.monitoring import plan_monitoring
from gpuyard.planning.plans import MonitoringPlan
from gpuyard.spec import parse_spec
from gpuyard.spec.models import MonitoringSpec

from .conftest import PLACE

BEIJING = replace(PLACE, region="cn-north-1", zone="cn-north-1a")
GOVCLOUD = replace(PLACE, region="us-gov-west-1", zone="us-gov-west-1a")
BUDGET = {"monthly_amount": 40_000}


def monitoring(place: Any = PLACE, **values: Any) -> tuple[MonitoringPlan | None, list[str]]:
    found, problems = plan_monitoring(parse_spec(MonitoringSpec, values), place, ("monitoring",))
    assert (found is None) is bool(problems)
    return found, [str(problem) for problem in problems]


def planned(place: Any = PLACE, **values: Any) -> MonitoringPlan:
    found, problems = monitoring(place, **values)
    assert problems == []
    assert found is not None
    return found


def test_what_is_left_out_is_watched_as_documented():
    assert planned() == MonitoringPlan(
        place=PLACE,
        notify=(),
        gpu_utilization_below_percent=70,
        gpu_memory_above_percent=95,
        file_system_full_percent=85,
        period_seconds=300,
        utilization_periods=6,
        dashboard=True,
    )


@given(st.integers(5, 1_440))
def test_periods_add_up_to_the_minutes_asked_for_and_to_no_more_than_a_day(minutes: int):
    """PutMetricAlarm: with a period under one hour, all periods together are at most one day (86,400 seconds)."""
    plan = planned(for_minutes=minutes)
    assert plan.period_seconds * plan.utilization_periods == minutes * 60 <= 86_400
    assert plan.period_seconds == (300 if minutes % 5 == 0 else 60)


def test_a_budget_is_planned_with_its_thresholds_in_order():
    plan = planned(budget={**BUDGET, "alert_at_percent": [100, 50, 120]})
    assert (plan.budget_amount, plan.budget_currency) == (40_000, "USD")
    assert plan.budget_alert_at_percent == (50, 100, 120)


def test_a_budget_in_china_is_in_yuan():
    assert planned(BEIJING, budget={**BUDGET, "currency": "CNY"}).budget_currency == "CNY"
    assert monitoring(BEIJING, budget=BUDGET)[1] == [
        "monitoring.budget.currency: costs in cn-north-1 are in CNY, not in USD. Set it to CNY and give "
        "'monthly_amount' in CNY: nothing is converted."
    ]


def test_a_budget_elsewhere_is_in_dollars():
    assert monitoring(budget={**BUDGET, "currency": "CNY"})[1] == [
        "monitoring.budget.currency: costs in us-east-1 are in USD, not in CNY. Set it to USD and give "
        "'monthly_amount' in USD: nothing is converted."
    ]


def test_a_partition_without_budgets_is_refused():
    (message,) = monitoring(GOVCLOUD, budget=BUDGET)[1]
    assert message.startswith(
        "monitoring.budget: no budgets are known in partition aws-us-gov, which us-gov-west-1 belongs to. "
        "Remove it. Budgets are in aws or aws-cn (source: "
    )
    assert planned(GOVCLOUD).budget_amount is None


def test_an_unknown_region_is_no_problem_of_the_budget():
    assert planned(replace(PLACE, region="us-east-9"), budget=BUDGET).budget_amount == 40_000


@pytest.mark.parametrize("key", ["gpu_memory_above_percent", "file_system_full_percent"])
def test_a_threshold_that_nothing_can_pass_is_refused(key: str):
    assert monitoring(**{key: 100})[1] == [
        f"monitoring.{key}: nothing is ever more than 100 % full: no message would come. Use at most 99."
    ]
    assert planned(**{key: 99})


def test_idle_may_be_anything_under_all_of_the_time():
    assert planned(gpu_utilization_below_percent=100).gpu_utilization_below_percent == 100


def test_an_address_is_named_once_however_it_is_written():
    assert monitoring(notify=["ml@example.com", "ops@example.com", "ML@example.com"])[1] == [
        "monitoring.notify[2]: 'ML@example.com' is named twice. Name it once."
    ]


def test_a_threshold_is_named_once():
    assert monitoring(budget={**BUDGET, "alert_at_percent": [80, 100, 80]})[1] == [
        "monitoring.budget.alert_at_percent: 80 % is named twice. Name it once."
    ]


def test_a_budget_has_at_most_ten_readers_and_alarms_any_number():
    many = [f"reader-{number}@example.com" for number in range(11)]
    (message,) = monitoring(notify=many, budget=BUDGET)[1]
    assert message.startswith(
        "monitoring.notify: a budget sends its messages to at most 10 addresses, not 11. Name a mailing list instead, "
        "or remove 'budget' (source: "
    )
    assert planned(notify=many[:10], budget=BUDGET).notify == tuple(many[:10])
    assert len(planned(notify=many).notify) == 11


def test_every_problem_comes_at_once():
    _, problems = monitoring(
        BEIJING,
        notify=["a@example.com", "a@example.com"],
        gpu_memory_above_percent=100,
        file_system_full_percent=100,
        budget={**BUDGET, "alert_at_percent": [80, 80]},
    )
    assert [problem.split(":")[0] for problem in problems] == [
        "monitoring.gpu_memory_above_percent",
        "monitoring.file_system_full_percent",
        "monitoring.notify[1]",
        "monitoring.budget.currency",
        "monitoring.budget.alert_at_percent",
    ]
