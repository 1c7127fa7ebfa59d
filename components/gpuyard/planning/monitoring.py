"""What is watched, from when on a message is sent, and the budget."""

from collections.abc import Mapping

from gpuyard.catalog import regions
from gpuyard.catalog.limits import limit, limit_values
from gpuyard.planning.plans import MonitoringPlan, Place
from gpuyard.spec.models import BudgetSpec, MonitoringSpec
from gpuyard.spec.problems import Path, Problem, one_of

# The agent sends once a minute. Periods of five minutes bridge a lost minute, which would count as a good one and let
# an alarm begin anew; periods of one minute are for times that are no multiple of five.
MINUTE_SECONDS = 60
LONG_PERIOD_SECONDS = 300


def plan_monitoring(spec: MonitoringSpec, place: Place, path: Path = ()) -> tuple[MonitoringPlan | None, list[Problem]]:
    """What is watched, and how.

    Args:
        spec: What was asked for.
        place: Cloud and region of the nodes.
        path: Where it stands in the cluster description, for the problems' paths.

    Returns:
        The plan, or None when there is none; and every problem found.
    """
    lacking: dict[str, str] = dict(limit_values(place.cloud, "monitoring_lacks"))
    problems = [
        *_threshold_problems(spec, path),
        *_address_problems(spec, path),
        *_lacking_problems(spec, lacking, path),
    ]
    if spec.budget is not None and "budget" not in lacking:
        problems += _budget_problems(spec.budget, len(spec.notify), place, path)
    if problems:
        return None, problems
    period = _period_seconds(spec.for_minutes)
    budget = spec.budget
    return (
        MonitoringPlan(
            place=place,
            notify=tuple(spec.notify),
            gpu_utilization_below_percent=spec.gpu_utilization_below_percent,
            gpu_memory_above_percent=spec.gpu_memory_above_percent,
            file_system_full_percent=spec.file_system_full_percent,
            period_seconds=period,
            utilization_periods=spec.for_minutes * MINUTE_SECONDS // period,
            dashboard=spec.dashboard and "dashboard" not in lacking,
            budget_amount=None if budget is None else budget.monthly_amount,
            budget_currency=None if budget is None else budget.currency,
            budget_alert_at_percent=() if budget is None else tuple(sorted(budget.alert_at_percent)),
        ),
        [],
    )


def _period_seconds(for_minutes: int) -> int:
    return LONG_PERIOD_SECONDS if for_minutes * MINUTE_SECONDS % LONG_PERIOD_SECONDS == 0 else MINUTE_SECONDS


def _threshold_problems(spec: MonitoringSpec, path: Path) -> list[Problem]:
    above = {
        "gpu_memory_above_percent": spec.gpu_memory_above_percent,
        "file_system_full_percent": spec.file_system_full_percent,
    }
    return [
        Problem((*path, key), "nothing is ever more than 100 % full: no message would come.", "Use at most 99.")
        for key, percent in above.items()
        if percent >= 100
    ]


def _lacking_problems(spec: MonitoringSpec, lacking: Mapping[str, str], path: Path) -> list[Problem]:
    """What was asked for and the cloud does not have; a default is no wish."""
    return [
        Problem((*path, key), f"{why}.", "Remove it.")
        for key, why in lacking.items()
        if key in spec.model_fields_set and getattr(spec, key)
    ]


def _address_problems(spec: MonitoringSpec, path: Path) -> list[Problem]:
    # Mail servers tell no capital letters apart, and each spelling would be a message of its own.
    seen: set[str] = set()
    problems: list[Problem] = []
    for number, address in enumerate(spec.notify):
        if address.lower() in seen:
            problems.append(Problem((*path, "notify", number), f"'{address}' is named twice.", "Name it once."))
        seen.add(address.lower())
    return problems


def _budget_problems(budget: BudgetSpec, addresses: int, place: Place, path: Path) -> list[Problem]:
    at = (*path, "budget")
    problems = _currency_problems(budget, place, at)
    twice = sorted({percent for percent in budget.alert_at_percent if budget.alert_at_percent.count(percent) > 1})
    problems += [
        Problem((*at, "alert_at_percent"), f"{percent} % is named twice.", "Name it once.") for percent in twice
    ]
    # Not every cloud's budget sends its messages to the addresses of the alarms.
    for most in limit_values(place.cloud, "budget_email_addresses_max"):
        if addresses > most:
            message = f"a budget sends its messages to at most {most} addresses, not {addresses}."
            source = limit(place.cloud, "budget_email_addresses_max").source
            remedy = f"Name a mailing list instead, or remove 'budget' (source: {source})."
            problems.append(Problem((*path, "notify"), message, remedy))
    return problems


def _currency_problems(budget: BudgetSpec, place: Place, at: Path) -> list[Problem]:
    region = regions(place.cloud).get(place.region)
    if region is None:
        # The unknown region is a problem of its own.
        return []
    known = limit(place.cloud, "budget_currency_by_partition")
    # Several where the currency is the account's: nothing here knows which one it has.
    currencies = [currency for partition, currency in known.values if partition == region.partition]
    if not currencies:
        message = f"no budgets are known in partition {region.partition}, which {place.region} belongs to."
        partitions = one_of(partition for partition, _ in known.values)
        return [Problem(at, message, f"Remove it. Budgets are in {partitions} (source: {known.source}).")]
    if budget.currency not in currencies:
        currency = one_of(currencies)
        message = f"costs in {place.region} are in {currency}, not in {budget.currency}."
        remedy = f"Set it to {currency} and give 'monthly_amount' in {currency}: nothing is converted."
        return [Problem((*at, "currency"), message, remedy)]
    return []
