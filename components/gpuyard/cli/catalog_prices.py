"""What ``gpuyard catalog prices`` shows, and the price table of ``gpuyard catalog show``."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import date
from pathlib import Path

from gpuyard.catalog.prices import PriceBook, PriceQuote
from gpuyard.catalog.regions import regions
from gpuyard.catalog.selection import known_clouds
from gpuyard.cli.catalog_output import Format, plain, print_csv, print_json, print_table, say
from gpuyard.spec.problems import Problem, SpecError, did_you_mean, one_of


def list_prices(
    items: Sequence[str], clouds: Sequence[str], region: str | None, path: Path | None, output: Format, today: date
) -> None:
    """Prices of some items, or of all; the book's notes when nothing in particular is asked."""
    chosen = known_clouds(clouds)
    book = PriceBook.load(path)
    _check(items, chosen, region, book)
    quotes = [
        quote
        for quote in book.prices
        if quote.cloud in chosen
        and (not items or any(item.lower() in quote.item.lower() for item in items))
        and (region is None or quote in book.quotes(quote.cloud, quote.item, region))
    ]
    if output == "json":
        prices = [{**plain(quote), "stale": quote.is_stale(today)} for quote in quotes]
        print_json({"origin": book.origin, "notes": book.notes, "prices": prices})
        return
    if output == "csv":
        rows = [{**plain(quote), "stale": quote.is_stale(today)} for quote in quotes]
        print_csv(rows, [*(field.name for field in fields(PriceQuote)), "stale"])
        return
    price_table(quotes, book.origin, today, with_items=True)
    for note in book.notes if not items else ():
        say(f"Note: {note}")


def price_table(quotes: Sequence[PriceQuote], origin: str, today: date, *, with_items: bool = False) -> None:
    """Prices with their currency, date and source; old ones are marked."""
    if not quotes:
        say(f"\nNo price is known ({origin}).")
        return
    head = ["region", "unit", "on demand", "spot", "1 year", "currency", "date", "age"]
    print_table(
        ["item", *head] if with_items else head,
        [
            [
                *([quote.item] if with_items else []),
                quote.region,
                quote.unit,
                quote.on_demand,
                quote.spot,
                quote.reserved_1y,
                quote.currency,
                quote.date or "undated",
                "stale" if quote.is_stale(today) else "",
            ]
            for quote in quotes
        ],
        title=f"Prices ({origin})",
        right=("on demand", "spot", "1 year"),
    )
    say("unit month: a subscription of one month. ? unknown. Currencies are never converted.")
    for source in dict.fromkeys(quote.source for quote in quotes):
        say(f"Source: {source}")


def _check(items: Sequence[str], clouds: Sequence[str], region: str | None, book: PriceBook) -> None:
    problems: list[Problem] = []
    known = list(dict.fromkeys(quote.item for quote in book.prices if quote.cloud in clouds))
    for item in items:
        if not any(item.lower() in name.lower() for name in known):
            hint = did_you_mean(item, known) or "'gpuyard catalog prices' lists every item."
            problems.append(Problem((), f"no price of '{item}' is known ({book.origin}).", hint))
    if region is not None and not any(region in regions(cloud) for cloud in clouds):
        places = [place for cloud in clouds for place in regions(cloud)]
        hint = did_you_mean(region, places) or f"Known: {one_of(places)}."
        problems.append(Problem(("--region",), f"'{region}' is no region of {one_of(clouds)}.", hint))
    if problems:
        raise SpecError(problems)
