"""What things cost: dated prices with currency and source, from the package or from a file of the user's own.

Prices are never converted between currencies and never made up: an item without a price has no quote.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from gpuyard.catalog._data import read_table
from gpuyard.catalog._price_file import read_price_file
from gpuyard.catalog._price_quote import MAINLAND_LIST, STALE_AFTER_DAYS, PriceQuote
from gpuyard.catalog.regions import regions

__all__ = ["MAINLAND_LIST", "STALE_AFTER_DAYS", "PriceBook", "PriceQuote"]


@dataclass(frozen=True, slots=True)
class PriceBook:
    """Prices of one origin.

    Attributes:
        prices: Every price, in the order of the file.
        notes: What holds for all or many of them.
        origin: How the book is named to people.
    """

    prices: tuple[PriceQuote, ...]
    notes: tuple[str, ...] = ()
    origin: str = "given prices"
    _by_item: dict[tuple[str, str], list[PriceQuote]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_item: dict[tuple[str, str], list[PriceQuote]] = {}
        for quote in self.prices:
            by_item.setdefault((quote.cloud, quote.item), []).append(quote)
        object.__setattr__(self, "_by_item", by_item)

    @classmethod
    def load(cls, path: Path | None = None) -> "PriceBook":
        """The package's own prices, or those of a file.

        Args:
            path: A JSON file with ``{"prices": [...], "notes": [...]}``, one object with the fields of
                :class:`PriceQuote` for each price; the package's prices when left out.

        Returns:
            The book.

        Raises:
            SpecError: The file cannot be read or has wrong rows; every wrong row is listed with its line.
        """
        if path is None:
            return _own_book()
        prices, notes = read_price_file(path)
        return cls(prices, notes, str(path))

    def quotes(self, cloud: str, item: str, region: str | None = None) -> tuple[PriceQuote, ...]:
        """Every price of one item, in all its units and currencies.

        Args:
            cloud: ``aws``, ``alicloud`` or ``tencentcloud``.
            item: An instance type or other item of the book.
            region: Only prices of this region; a list for mainland China as a whole (``cn-mainland``) answers for a
                region there that has no price of its own.

        Returns:
            Prices by the hour first, then the newest first, then in the order of the file.
        """
        known: Iterable[PriceQuote] = self._by_item.get((cloud, item), ())
        if region is not None:
            own = [quote for quote in known if quote.region == region]
            place = regions(cloud).get(region)
            mainland = place is not None and place.mainland_china
            known = own or [quote for quote in known if mainland and quote.region == MAINLAND_LIST]
        return tuple(sorted(known, key=_rank))

    def quote(self, cloud: str, item: str, region: str) -> PriceQuote | None:
        """The price of one item in one region: the first of :meth:`quotes`.

        Args:
            cloud: ``aws``, ``alicloud`` or ``tencentcloud``.
            item: An instance type or other item of the book.
            region: The region's code.

        Returns:
            The price, or ``None`` when the book has none. Its ``region`` says whether it is the region's own or that
            of mainland China as a whole; its ``unit`` whether it is by the hour.
        """
        return next(iter(self.quotes(cloud, item, region)), None)


def _rank(quote: PriceQuote) -> tuple[bool, int]:
    newest = quote.newest_day
    return quote.unit != "hour", 0 if newest is None else -newest.toordinal()


@cache
def _own_book() -> PriceBook:
    table = read_table("prices.json")
    rows = tuple(PriceQuote(**row) for row in table["prices"])
    return PriceBook(rows, tuple(table["notes"]), "the package's prices")
