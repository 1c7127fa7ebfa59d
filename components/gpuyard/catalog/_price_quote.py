"""One price, and how old it is."""

import datetime
from dataclasses import dataclass

STALE_AFTER_DAYS = 180
MAINLAND_LIST = "cn-mainland"


@dataclass(frozen=True, slots=True)
class PriceQuote:
    """One price of one item in one region; ``None`` was not found, and never means free.

    Attributes:
        cloud: ``aws``, ``alicloud`` or ``tencentcloud``.
        item: An instance type, or the name of a disk, file system or traffic item.
        region: The region it was read for; ``cn-mainland`` for a list that holds for mainland China as a whole;
            ``us-east-1->us-east-2`` for traffic from one to the other.
        unit: What the price is for: ``hour``, ``month`` (a one-month subscription), ``GB-month`` and so on.
        on_demand: Price of one unit, paid as used; of one month's subscription where the unit is ``month``.
        spot: Price of one unit of interruptible capacity.
        reserved_1y: Price of one unit with a term of one year.
        currency: ISO 4217 code.
        date: Day, month (``2023-03``) or year of the data, or ``from/to`` where only bounds are known; ``None`` when
            undated.
        source: Who says so.
    """

    cloud: str
    item: str
    region: str
    unit: str
    on_demand: float | None
    spot: float | None
    reserved_1y: float | None
    currency: str
    date: str | None
    source: str

    @property
    def newest_day(self) -> datetime.date | None:
        """The last day that the date can mean; ``None`` when undated."""
        return None if self.date is None else last_day(self.date)

    def is_stale(self, on: datetime.date, after_days: int = STALE_AFTER_DAYS) -> bool:
        """Whether the price is too old to rely on.

        Args:
            on: The day of asking.
            after_days: Age in days up to which a price is fresh.

        Returns:
            True when even the last day that its date can mean is more than ``after_days`` back, and when it has no
            date: what may be of any age cannot be called fresh.
        """
        newest = self.newest_day
        return newest is None or (on - newest).days > after_days


def last_day(text: str) -> datetime.date:
    """The last day that a price's date can mean: ``2023-03`` ends on 2023-03-31, ``2021-05/2023-06`` on 2023-06-30.

    Raises:
        ValueError: The text is no such date.
    """
    numbers = [int(part) for part in text.rsplit("/", 1)[-1].split("-")]
    if len(numbers) == 3:
        return datetime.date(*numbers)
    year, month = numbers[0], numbers[1] if len(numbers) == 2 else 12
    after = datetime.date(year + 1, 1, 1) if month == 12 else datetime.date(year, month + 1, 1)
    return after - datetime.timedelta(days=1)
