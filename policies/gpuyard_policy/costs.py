"""What the pools of a stack cost a month by the price book, as far as it knows."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpuyard.catalog.prices import PriceBook, PriceQuote
from gpuyard_policy.facts import NodePoolFact, Unknown

HOURS_A_MONTH = 730
"""Hours of a month as AWS's own calculator counts them: https://aws.amazon.com/calculator/calculator-assumptions/"""


@dataclass(frozen=True)
class PoolCost:
    """What one pool costs a month: least and most, by the sizes that it may have and the types that it may be of.

    Attributes:
        pool: The pool.
        least: With the fewest nodes of the cheapest type; None where that is not known.
        most: With the most nodes of the dearest type; None where that is not known.
        currency: Currency of both.
        dated: The day, month or year of the oldest price in it.
        why: What it was reckoned by, or why it is not known.
    """

    pool: NodePoolFact
    least: float | None
    most: float | None
    currency: str | None
    dated: str | None
    why: str


def pool_costs(pools: Iterable[NodePoolFact], book: PriceBook) -> list[PoolCost]:
    """The cost of each pool.

    Args:
        pools: The pools.
        book: The prices.

    Returns:
        One cost for each pool, in their order. An unknown one says why, and is never a nought.
    """
    return [_cost(pool, book) for pool in pools]


def _cost(pool: NodePoolFact, book: PriceBook) -> PoolCost:
    def unknown(why: str) -> PoolCost:
        return PoolCost(pool, None, None, None, None, why)

    for value, what in ((pool.instance_types, "its machines"), (pool.region, "its region")):
        if isinstance(value, Unknown):
            return unknown(f"{what} cannot be told: {value.why}")
    types = () if isinstance(pool.instance_types, Unknown) else pool.instance_types
    region = "" if isinstance(pool.region, Unknown) else pool.region
    months: list[float] = []
    quotes: list[PriceQuote] = []
    for name in types:
        quote = book.quote(pool.cloud, name, region)
        month = None if quote is None else _month(quote, pool)
        if quote is None or month is None:
            return unknown(f"the price book has no {_way(pool)} price of {name} in {region}")
        months.append(month)
        quotes.append(quote)
    currencies = {quote.currency for quote in quotes}
    if len(currencies) != 1:
        return unknown("it names no machines" if not quotes else "its prices are of several currencies")
    most = pool.nodes_max if isinstance(pool.nodes_max, int) else None
    least = pool.nodes_min if isinstance(pool.nodes_min, int) else None
    dated = min((quote.date or "undated" for quote in quotes), default=None)
    return PoolCost(
        pool,
        None if least is None else least * min(months),
        None if most is None else most * max(months),
        currencies.pop(),
        dated,
        f"{_way(pool)} list price of {dated}, {HOURS_A_MONTH} hours, machines alone",
    )


def _way(pool: NodePoolFact) -> str:
    if pool.purchase == "spot":
        return "spot"
    return "one-year" if pool.purchase in ("reserved", "prepaid") else "on-demand"


def _month(quote: PriceQuote, pool: NodePoolFact) -> float | None:
    price = {"spot": quote.spot, "one-year": quote.reserved_1y, "on-demand": quote.on_demand}[_way(pool)]
    hours = {"hour": HOURS_A_MONTH, "month": 1}.get(quote.unit)
    return None if price is None or hours is None else price * hours
