"""Rules about what costs more than it must."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpuyard.catalog.prices import PriceBook
from gpuyard_policy.costs import HOURS_A_MONTH, PoolCost, pool_costs
from gpuyard_policy.facts import Facts, NodePoolFact, StorageFact, Unknown
from gpuyard_policy.facts.model import BudgetFact, ServiceFact
from gpuyard_policy.rules.judging import (
    Answer,
    CannotTellError,
    each,
    failed,
    has_gpus,
    known,
    on_each,
    on_pools,
    passed,
    types_of,
)
from gpuyard_policy.rules.rule import Context, Finding, Rule, Threshold, Verdict, everywhere, stricter

_NAMED = 5


@dataclass(frozen=True)
class _Limit:
    """What a stack may cost a month, and the resource that says so: a budget, or the stack for what was set."""

    amount: float
    currency: str
    urn: str | None


def _budget(context: Context) -> Iterable[Finding]:
    facts = context.facts
    if not facts.node_pools:
        return
    budgets, set_amount = facts.budgets, context.config.monthly_budget
    nameless = [one for one in budgets if one.currency is None]
    if len(nameless) == len(budgets) and set_amount is not None:
        limit = _Limit(set_amount, context.config.budget_currency, _stack_of(facts))
    elif not budgets:
        # Without a budget there is nothing to be over: said, but no stack is refused for it.
        message = "no budget is known: add one to the stack, or set 'monthly_budget' for the pack."
        yield replace(context.finding(Verdict.UNDECIDED, _stack_of(facts), message), level="advisory")
        return
    elif nameless:
        one = nameless[0]
        message = f"cannot tell what budget '{one.name}' allows: the budget names no currency"
        remedy = "Set 'monthly_budget' and 'budget_currency' for the pack."
        # The cloud has no way to name one, and no stack is refused for what nobody could say.
        yield replace(context.finding(Verdict.UNDECIDED, one.urn, f"{message}. {remedy}"), level="advisory")
        return
    else:
        try:
            limit = _largest(budgets)
        except _OpenBudgetError as error:
            yield context.finding(Verdict.UNDECIDED, error.urn, str(error))
            return
    yield _within(context, limit)


def _stack_of(facts: Facts) -> str | None:
    """The URN of the stack itself, by that of one of its resources; None where that is no URN of an engine.

    Source: https://www.pulumi.com/docs/iac/concepts/resources/names/#urns
    """
    prefix, _, rest = facts.node_pools[0].urn.partition("::")
    stack, project = prefix.removeprefix("urn:pulumi:"), rest.partition("::")[0]
    if stack == prefix or not project:
        return None
    return f"{prefix}::{project}::pulumi:pulumi:Stack::{project}-{stack}"


class _OpenBudgetError(CannotTellError):
    """How much a budget allows cannot be told."""

    def __init__(self, budget: BudgetFact, text: str) -> None:
        super().__init__(text)
        self.urn = budget.urn


def _largest(budgets: Sequence[BudgetFact]) -> _Limit:
    """The largest of several budgets: all watch the same costs, and it is what the stack may cost."""
    found: list[_Limit] = []
    for one in budgets:
        for value in (one.monthly_amount, one.currency):
            if isinstance(value, Unknown):
                raise _OpenBudgetError(one, f"cannot tell yet how large budget '{one.name}' is: {value.why}.")
        if not isinstance(one.monthly_amount, int | float) or not isinstance(one.currency, str):
            raise _OpenBudgetError(one, f"cannot tell how large budget '{one.name}' is: it names no amount.")
        found.append(_Limit(one.monthly_amount, one.currency, one.urn))
    currencies = sorted({one.currency for one in found})
    if len(currencies) > 1:
        text = f"cannot tell what the stack may cost: its budgets are in {' and '.join(currencies)}."
        raise _OpenBudgetError(budgets[0], text)
    return max(found, key=lambda one: one.amount)


def _within(context: Context, limit: _Limit) -> Finding:
    currency = limit.currency
    costs = pool_costs(context.facts.node_pools, PriceBook.load())
    open_ones = [cost for cost in costs if cost.least is None or cost.currency != currency]
    total = sum(cost.least or 0 for cost in costs if cost.currency == currency)
    parts = ", ".join(
        f"{cost.pool.name} {cost.least:,.0f}"
        for cost in sorted(costs, key=_by_least)[:_NAMED]
        if cost.least and cost.currency == currency
    )
    budget = f"the budget of {limit.amount:,.0f}"
    if total > limit.amount:
        message = f"machines cost at least {total:,.0f} {currency} a month ({parts}), over {budget}."
        remedy = "Use fewer or cheaper machines, or raise the budget."
        return context.finding(Verdict.FAIL, limit.urn, f"{message} {remedy}")
    if open_ones:
        one = open_ones[0]
        why = one.why if one.currency in (None, currency) else f"its prices are in {one.currency}, not in {currency}"
        message = f"cannot tell what {len(open_ones)} pool(s) cost ({one.pool.name}: {why}); the others cost"
        return context.finding(Verdict.UNDECIDED, limit.urn, f"{message} {total:,.0f} {currency} a month.")
    message = f"machines cost at least {total:,.0f} {currency} a month, within {budget}."
    return context.finding(Verdict.PASS, limit.urn, message)


def _by_least(cost: PoolCost) -> float:
    return -(cost.least or 0)


def _judge_reserved(context: Context, pool: NodePoolFact) -> Answer:
    if known(pool.purchase, f"how pool '{pool.name}' is bought") != "on_demand" or not has_gpus(pool):
        return None
    least = known(pool.nodes_min, f"how many nodes pool '{pool.name}' always has")
    if not least or known(pool.elastic, f"whether pool '{pool.name}' changes its size"):
        return passed("it does not run all the time.")
    region, saving = known(pool.region, f"where pool '{pool.name}' is"), context.threshold("saving_percent")
    for name in types_of(pool):
        prices = _monthly(pool.cloud, name, region)
        if prices is None:
            raise CannotTellError(
                f"cannot tell whether a term for {name} is cheaper: the price book has no two such prices in {region}."
            )
        on_demand, term, currency = prices
        saved = 100 * (1 - term / on_demand)
        if saved >= saving:
            return failed(
                f"pool '{pool.name}' always has {least} × {name} on demand; with a term each costs {saved:.0f} % less "
                f"({term:,.0f} in place of {on_demand:,.0f} {currency} a month). Reserve them where they stay for long."
            )
    return passed("no term saves enough.")


def _monthly(cloud: str, name: str, region: str) -> tuple[float, float, str] | None:
    """What a machine costs a month on demand and with the cheapest term, in one currency; None where that is not known.

    A month's price on demand is that of its hours; a term is a reservation of a year, or a month's subscription.
    """
    quotes = PriceBook.load().quotes(cloud, name, region)
    hourly = next((quote for quote in quotes if quote.unit == "hour" and quote.on_demand), None)
    if hourly is None or hourly.on_demand is None:
        return None
    alike = [quote for quote in quotes if quote.currency == hourly.currency]
    terms = [quote.reserved_1y * HOURS_A_MONTH for quote in alike if quote.unit == "hour" and quote.reserved_1y]
    terms += [quote.on_demand for quote in alike if quote.unit == "month" and quote.on_demand]
    return (hourly.on_demand * HOURS_A_MONTH, min(terms), hourly.currency) if terms else None


def _judge_idle(_: Context, pool: NodePoolFact) -> Answer:
    if not has_gpus(pool):
        return None
    least = known(pool.nodes_min, f"how many nodes pool '{pool.name}' always has")
    if not least:
        return passed("it may be empty.")
    if known(pool.elastic, f"whether pool '{pool.name}' changes its size") is False:
        return passed("of a fixed size: somebody asked for these nodes.")
    return failed(
        f"pool '{pool.name}' of a development stack always has {least} node(s), used or not. Let it shrink to 0."
    )


def _judge_lifecycle(_: Context, bucket: StorageFact) -> Answer:
    if known(bucket.expires, f"whether anything in bucket '{bucket.name}' ever ends"):
        return passed("something in it ends.")
    return failed(
        f"nothing in bucket '{bucket.name}' ever ends: old checkpoints, old versions and torn uploads are paid for "
        "month after month. Add a rule that ends them."
    )


def _ddos(context: Context) -> Iterable[Finding]:
    return each(context, _of_kind(context.facts.services, "advanced_ddos"), _judge_ddos)


def _judge_ddos(_: Context, service: ServiceFact) -> Answer:
    return failed(
        f"'{service.name}' is an advanced DDoS product, whose monthly fee is for public services: a training cluster "
        "has none, and the standard protection costs nothing. Remove it, or say why it is needed in a suppression."
    )


def _cross_region(context: Context) -> Iterable[Finding]:
    return each(context, _of_kind(context.facts.services, "cross_region_traffic"), _judge_cross_region)


def _judge_cross_region(_: Context, service: ServiceFact) -> Answer:
    other = known(service.other_region, f"which region '{service.name}' leads to")
    if other is None:
        raise CannotTellError(f"cannot tell which region '{service.name}' leads to: it does not say.")
    return failed(
        f"'{service.name}' carries traffic to {other}, paid for by the gigabyte. Keep data beside the nodes, and copy "
        "only what must be there."
    )


def _of_kind(services: Sequence[Any], kind: str) -> list[ServiceFact]:
    return [service for service in services if service.kind == kind]


RULES = (
    Rule(
        id="CST001",
        name="stack-is-within-its-budget",
        family="cost",
        title="What the machines of a stack cost a month is within its budget.",
        severity="high",
        levels=stricter("advisory", "advisory", "mandatory"),
        rationale="A budget in the cloud tells when the money is spent. The price list tells before.",
        remedy="Use fewer or cheaper machines, or raise the budget on purpose.",
        check=_budget,
        example=("32 × p5.48xlarge, budget 10,000 USD", "a budget that covers the fewest nodes of every pool"),
    ),
    Rule(
        id="CST002",
        name="long-lived-pool-is-reserved",
        family="cost",
        title="A pool that always runs is reserved where that is cheaper.",
        severity="low",
        levels=everywhere("advisory"),
        rationale="What runs all year costs a quarter to a half less with a term of a year.",
        remedy="Buy a reservation or a savings plan, or let the pool shrink when it is idle.",
        check=on_pools(_judge_reserved),
        example=("4 nodes on demand, all year", "4 reserved nodes"),
        thresholds={
            "saving_percent": Threshold(
                20, "%", "least saving that is worth saying", "https://aws.amazon.com/savingsplans/compute-pricing/"
            )
        },
    ),
    Rule(
        id="CST003",
        name="development-pools-may-be-empty",
        family="cost",
        title="An elastic pool of a development stack may shrink to nothing.",
        severity="low",
        levels=stricter("advisory", "disabled", "disabled"),
        rationale="Nights and weekends are two thirds of a week.",
        remedy="Set the smallest size to 0.",
        check=on_pools(_judge_idle),
        example=("min 1, max 4 in dev", "min 0, max 4 in dev"),
    ),
    Rule(
        id="CST004",
        name="bucket-has-a-lifecycle",
        family="cost",
        title="Something in a bucket ends.",
        severity="medium",
        levels=stricter("advisory", "advisory", "mandatory"),
        rationale="Checkpoints are written every hour and read once, if ever. One rule that ends something is enough.",
        remedy="Expire objects, old versions or torn uploads.",
        check=on_each(lambda facts: facts.buckets, _judge_lifecycle),
        example=("a bucket without rules", "a rule that ends old versions after 30 days"),
    ),
    Rule(
        id="CST005",
        name="no-advanced-ddos-without-need",
        family="cost",
        title="No advanced DDoS product protects a cluster that serves nobody.",
        severity="medium",
        levels=everywhere("advisory"),
        rationale="Such products cost thousands a month with a term of a year. Nodes without public addresses have "
        "nothing that could be attacked.",
        remedy="Remove the product, or suppress the finding with the reason.",
        check=_ddos,
        example=("Shield Advanced beside a training pool", "no such product"),
    ),
    Rule(
        id="CST006",
        name="no-traffic-between-regions",
        family="cost",
        title="Nothing carries traffic of a cluster to another region.",
        severity="low",
        levels=everywhere("advisory"),
        rationale="Traffic between regions is charged by the gigabyte, and a data set is read many times.",
        remedy="Keep data beside the nodes; replicate a bucket where a copy is wanted.",
        check=_cross_region,
        example=("a peering to eu-west-1", "a bucket with a replica"),
    ),
)
