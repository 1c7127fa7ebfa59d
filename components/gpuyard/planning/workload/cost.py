"""What a plan costs and how its nodes are best bought. Currencies are never mixed."""

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

from gpuyard.catalog import InstanceType
from gpuyard.planning.workload.job import Job

SHORT_DAYS = 20
"""Below it nothing is committed. Alibaba Cloud's one-month subscription costs what 480 h on demand cost (price list of
2024-12-31 against 2023-06-17), so a month pays from 20 days of use on; AWS commits for a year."""
LONG_DAYS = 30
"""From a month on, a subscription or a reservation is full for at least its shortest term."""

Purchase = Literal["on_demand", "reserved", "spot"]


class Quote(Protocol):
    """One price of one item in one region, such as :class:`gpuyard.catalog.prices.PriceQuote`."""

    @property
    def unit(self) -> str:
        """What the price is for; ``hour`` for a running node."""
        ...

    @property
    def on_demand(self) -> float | None:
        """Price of one unit, paid as used; None when not found."""
        ...

    @property
    def spot(self) -> float | None:
        """Price of one unit of interruptible capacity; None when not found."""
        ...

    @property
    def reserved_1y(self) -> float | None:
        """Price of one unit with a term of one year; None when not found."""
        ...

    @property
    def currency(self) -> str:
        """ISO 4217 code."""
        ...

    @property
    def date(self) -> str | None:
        """Date of the data; None when undated."""
        ...

    @property
    def source(self) -> str:
        """Who says so."""
        ...

    def is_stale(self, on: datetime.date) -> bool:
        """Whether the price is too old to rely on."""
        ...


class PriceSource(Protocol):
    """Where prices come from, such as :class:`gpuyard.catalog.prices.PriceBook`."""

    def quote(self, cloud: str, item: str, region: str) -> Quote | None:
        """The price of one item in one region, or None when there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Cost:
    """What a candidate costs in one currency, by the list price of the cheapest region asked for.

    ``per_hour`` is for all nodes, ``total`` for the whole training (None where its time is unknown or it has no end).
    ``per_billion_tokens`` is None where the speed is unknown, ``spot_per_hour`` where no spot price is. ``stale`` says
    that the price is too old to rely on.
    """

    region: str
    currency: str
    per_hour: float
    per_billion_tokens: float | None
    spot_per_hour: float | None
    total: float | None
    stale: bool
    price_date: str | None
    source: str


@dataclass(frozen=True, slots=True)
class PurchaseAdvice:
    """How to buy the nodes: the best way first, each with its reason."""

    ways: tuple[Purchase, ...]
    reasons: tuple[str, ...]


def cost_of(
    row: InstanceType,
    regions: Iterable[str],
    nodes: int,
    prices: PriceSource,
    on: datetime.date,
    *,
    hours: float | None = None,
    tokens_per_s: float | None = None,
) -> Cost | None:
    """The cost of a number of nodes in the region where they are cheapest.

    Args:
        row: The instance type.
        regions: Regions to look at. Prices of one cloud in two currencies are not compared: the first region's wins.
        nodes: Number of nodes.
        prices: The price book.
        on: The day of asking, for stale prices.
        hours: Hours that they run; None when unknown or without an end.
        tokens_per_s: Tokens that all of them train on a second; None when unknown.

    Returns:
        The cost, or None when no hourly on-demand price is known.
    """
    best: tuple[float, str, Quote] | None = None
    for region in regions:
        quote = prices.quote(row.cloud, row.instance_type, region)
        if quote is None or quote.on_demand is None or quote.unit != "hour":
            continue
        if best is None or (quote.currency == best[2].currency and quote.on_demand < best[0]):
            best = (quote.on_demand, region, quote)
    if best is None:
        return None
    price, region, quote = best
    per_hour = price * nodes
    return Cost(
        region=region,
        currency=quote.currency,
        per_hour=per_hour,
        per_billion_tokens=per_hour / (tokens_per_s * 3600 / 1e9) if tokens_per_s else None,
        spot_per_hour=None if quote.spot is None else quote.spot * nodes,
        total=None if hours is None else per_hour * hours,
        stale=quote.is_stale(on),
        price_date=quote.date,
        source=quote.source,
    )


def purchase_advice(job: Job, row: InstanceType, nodes: int, days: float | None) -> PurchaseAdvice:
    """How to buy the nodes: on demand for short, reserved for long, spot for what may be interrupted.

    Args:
        job: The work.
        row: The instance type.
        nodes: Number of nodes.
        days: Days that the work takes; None when unknown.

    Returns:
        Ways to buy, the best first.
    """
    if job.request.task == "inference":
        ways: list[Purchase] = ["reserved", "on_demand"]
        reasons = ["Reserve the replicas that always run; buy those for peaks on demand."]
    elif days is None:
        ways = ["on_demand"]
        reasons = ["The time is unknown, so nothing should be committed: on demand."]
    elif days < SHORT_DAYS:
        ways = ["on_demand"]
        reasons = [f"{days:,.1f} days are short: no term pays within {SHORT_DAYS} days, so on demand."]
    elif days < LONG_DAYS:
        ways = ["on_demand", "reserved"]
        reasons = [
            f"{days:,.1f} days are between: a one-month subscription pays from about {SHORT_DAYS} days on, a longer "
            "term does not."
        ]
    else:
        ways = ["reserved", "on_demand"]
        reasons = [f"{days:,.1f} days are long: reserve or subscribe for the term, and buy the rest on demand."]
    if job.trains and nodes > 1 and row.capacity_block:
        reasons.append("Capacity blocks hold many such nodes for a fixed time; on demand they are rarely free at once.")
    if not job.request.allow_interruptions:
        return PurchaseAdvice(tuple(ways), tuple(reasons))
    if job.trains and nodes > 1 and row.has_rdma:
        why = f"{nodes:,} nodes that train together over RDMA are not bought as spot: one taken back stops all"
        return PurchaseAdvice(tuple(ways), (*reasons, f"Interruptions are allowed, but {why}."))
    if row.spot:
        what = "answers are retried elsewhere" if job.request.task == "inference" else "checkpoints limit what is lost"
        reasons = [f"The work may be interrupted and {what}: spot first.", *reasons]
        if job.trains and nodes > 1:
            reasons.append(
                f"{nodes:,} spot nodes at once and close together are rarely to be had, and one taken stops all."
            )
        return PurchaseAdvice(("spot", *ways), tuple(reasons))
    known = "is not sold as spot" if row.spot is False else "may not be sold as spot: the catalog does not know"
    return PurchaseAdvice(tuple(ways), (*reasons, f"Interruptions are allowed, but {row.instance_type} {known}."))
