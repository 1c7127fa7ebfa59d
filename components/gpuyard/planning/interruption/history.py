"""The history of interruptions: a file of running hours and interruptions by type and zone."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path as FilePath
from typing import Any, TextIO, cast

from gpuyard.catalog import regions, zone_belongs_to
from gpuyard.catalog.instance_types import CLOUDS_WITH_TYPES
from gpuyard.catalog.regions import zone_example
from gpuyard.planning.interruption.rate import Tally, age_weight
from gpuyard.spec.problems import Problem, SpecError, did_you_mean, one_of

COLUMNS = ("at", "cloud", "region", "zone", "instance_type", "event", "amount")
EVENTS = ("interrupted", "running_hours")
PROBLEMS_MAX = 20
"""Of a file that is wrong throughout, the first problems say why."""
_SHOWN_MAX = 60
CLOCKS_DIFFER = timedelta(minutes=5)
AMOUNT_MAX = 1e9
"""A hundred thousand nodes for a year; more is a slip."""

Key = tuple[str, str, str, str]
"""Cloud, region, zone, instance type."""


@dataclass(frozen=True, slots=True)
class History:
    """What was seen, by cloud, region, zone and instance type; ``latest`` is the newest record, None without any."""

    tallies: dict[Key, Tally]
    records: int
    latest: datetime | None

    def zones_of(self, cloud: str, region: str, instance_type: str) -> list[str]:
        """Zones of a region in which the history knows the type."""
        return sorted(key[2] for key in self.tallies if (*key[:2], key[3]) == (cloud, region, instance_type))


@dataclass(frozen=True, slots=True)
class _Record:
    at: datetime
    key: Key
    event: str
    amount: float


def read_history(path: FilePath, now: datetime, half_life_hours: float) -> History:
    """Read a history, each record weighted by its age.

    The file is CSV with a head, or JSON lines with the same keys; UTF-8:

    ======================  ===========================================================================
    ``at``                  ISO 8601 with a time zone: ``2026-11-30T14:05:00Z``
    ``cloud``               ``aws``, ``alicloud`` or ``tencentcloud``
    ``region`` ``zone``     as the cloud writes them, or AWS zone ids
    ``instance_type``       the cloud's name
    ``event``               ``interrupted``, or ``running_hours``
    ``amount``              ``interrupted``: how many nodes (1 when empty); ``running_hours``: instance-hours
                            up to ``at`` since the record before
    ======================  ===========================================================================

    Without running hours a count says nothing: three interruptions in a week of one node and of a hundred differ. One
    record of running hours for each zone and type and day is enough; its hours are as old as its ``at``.

    Args:
        path: The file.
        now: The present, with a time zone.
        half_life_hours: Age at which a record counts half.

    Returns:
        What was seen; a file without records is an empty history.

    Raises:
        SpecError: It cannot be read, or records are wrong; each problem has its line.
    """
    reader = _Reader(str(path), now)
    tallies: dict[Key, Tally] = {}
    count, latest = 0, None
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for record in reader.records(file):
                weight = age_weight((now - record.at) / timedelta(hours=1), half_life_hours)
                seen = tallies.get(record.key, Tally())
                tallies[record.key] = seen.plus(_tally(record, weight))
                count, latest = count + 1, record.at if latest is None else max(latest, record.at)
    except OSError as error:
        raise SpecError([Problem((), f"cannot be read: {error.strerror}.", file=str(path))]) from None
    if reader.problems:
        raise SpecError(reader.problems)
    return History(tallies, count, latest)


def _tally(record: _Record, weight: float) -> Tally:
    if record.event == "interrupted":
        return Tally(interruptions=int(record.amount), weighted_interruptions=record.amount * weight)
    return Tally(instance_hours=record.amount, weighted_hours=record.amount * weight)


class _Reader:
    """Records of one file; what is wrong is collected in ``problems``, of a hopeless file only the beginning."""

    def __init__(self, name: str, now: datetime) -> None:
        self.name, self.now = name, now
        self.problems: list[Problem] = []
        # A history has few places and types: each is looked up once.
        self._good_places: set[tuple[str, str, str]] = set()

    def records(self, file: TextIO) -> Iterator[_Record]:
        line = 0
        try:
            for line, row in self._rows(file):
                record = self._record(row, line)
                if record is not None:
                    yield record
                if len(self.problems) >= PROBLEMS_MAX:
                    self._add(line, (), "reading stopped here: too much is wrong.", "See the problems above.")
                    return
        except UnicodeDecodeError:
            self._add(line + 1, (), "is no UTF-8 text from about here on.", "Save the file as UTF-8.")

    def _rows(self, file: TextIO) -> Iterator[tuple[int, dict[str, Any]]]:
        lines = enumerate(file, start=1)
        for number, line in lines:
            if not line.strip():
                continue
            if line.lstrip().startswith(("{", "[")):
                yield from self._json_rows(number, line, lines)
            else:
                yield from self._csv_rows(number, line, file)
            return

    def _json_rows(
        self, number: int, line: str, rest: Iterator[tuple[int, str]]
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        while True:
            if line.strip():
                yield number, self._json_row(number, line)
            try:
                number, line = next(rest)
            except StopIteration:
                return

    def _json_row(self, number: int, line: str) -> dict[str, Any]:
        try:
            row: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            self._add(number, (), f"is no JSON: {error}.", "Write one object a line.")
            return {}
        if not isinstance(row, dict):
            self._add(number, (), "is no JSON object.", "Write one object a line, not one list of all.")
            return {}
        known = cast(dict[str, Any], row)
        for key in known.keys() - set(COLUMNS):
            hint = did_you_mean(key, COLUMNS) or f"Known: {one_of(COLUMNS)}."
            self._add(number, (key,), "is no column of a history.", hint)
        return known

    def _csv_rows(self, number: int, head: str, rest: TextIO) -> Iterator[tuple[int, dict[str, Any]]]:
        columns = [name.strip() for name in next(csv.reader([head]))]
        found = [*_unknown_columns(columns), *_missing_columns(columns)]
        if found:
            for key, message, hint in found:
                self._add(number, (key,), message, hint)
            return
        reader = csv.reader(rest)
        while True:
            try:
                cells = next(reader, None)
            except csv.Error as error:
                self._add(number + reader.line_num, (), f"is no CSV: {error}.", "")
                return
            if cells is None:
                return
            line = number + reader.line_num
            if not cells:
                continue
            if len(cells) != len(columns):
                self._add(line, (), f"has {len(cells)} cells, and the head has {len(columns)}.", "")
                continue
            yield line, dict(zip(columns, cells, strict=True))

    def _record(self, row: dict[str, Any], line: int) -> _Record | None:
        if not row:
            return None
        before = len(self.problems)
        at = self._time(row.get("at"), line)
        words = {key: self._word(row, key, line) for key in ("cloud", "region", "zone", "instance_type", "event")}
        if len(self.problems) > before:
            return None
        self._check_place(words["cloud"], words["region"], words["zone"], line)
        event = words["event"]
        if event not in EVENTS:
            hint = f"{did_you_mean(event, EVENTS)} Allowed: {one_of(EVENTS)}.".strip()
            self._add(line, ("event",), f"'{event}' is none.", hint)
            return None
        amount = self._amount(row.get("amount"), event, line)
        if at is None or amount is None or len(self.problems) > before:
            return None
        return _Record(at, (words["cloud"], words["region"], words["zone"], words["instance_type"]), event, amount)

    def _time(self, given: Any, line: int) -> datetime | None:
        try:
            at = datetime.fromisoformat(given.strip())
        except (AttributeError, ValueError):
            self._add(line, ("at",), f"{_short(given)} is no time.", "Write it like 2026-11-30T14:05:00Z.")
            return None
        if at.tzinfo is None:
            self._add(line, ("at",), f"'{given}' has no time zone.", "Add Z for UTC, or an offset such as +08:00.")
            return None
        if at > self.now + CLOCKS_DIFFER:
            now = self.now.astimezone(UTC).isoformat(timespec="seconds")
            self._add(line, ("at",), f"'{given}' lies in the future: it is {now}.", "Correct it, or its time zone.")
            return None
        return at

    def _word(self, row: dict[str, Any], key: str, line: int) -> str:
        given = row.get(key)
        if not isinstance(given, str) or not given.strip():
            self._add(line, (key,), "is missing." if given in (None, "") else f"{_short(given)} is no text.", "")
            return ""
        return given.strip()

    def _amount(self, given: Any, event: str, line: int) -> float | None:
        if event == "interrupted" and (given is None or given == ""):
            return 1.0
        try:
            amount = float(given) if isinstance(given, str | int | float) and not isinstance(given, bool) else None
        except (ValueError, OverflowError):
            amount = None
        if event == "interrupted":
            good, remedy = amount is not None and amount >= 1 and amount.is_integer(), "Give how many nodes were."
        else:
            good, remedy = amount is not None and amount >= 0, "Give instance-hours, such as 96."
        if amount is None or not good or amount > AMOUNT_MAX:
            what = "is missing." if given in (None, "") else f"{_short(given)} is none."
            self._add(line, ("amount",), what, remedy)
            return None
        return amount

    def _check_place(self, cloud: str, region: str, zone: str, line: int) -> None:
        if (cloud, region, zone) in self._good_places:
            return
        if cloud not in CLOUDS_WITH_TYPES:
            hint = f"{did_you_mean(cloud, CLOUDS_WITH_TYPES)} Allowed: {one_of(CLOUDS_WITH_TYPES)}.".strip()
            self._add(line, ("cloud",), f"'{cloud}' is none.", hint)
        elif region not in regions(cloud):
            self._add(line, ("region",), f"'{region}' is no region of {cloud}.", did_you_mean(region, regions(cloud)))
        elif not zone_belongs_to(zone, region, cloud):
            hint = f"A zone there is written like '{zone_example(region, cloud)}'."
            self._add(line, ("zone",), f"'{zone}' is no zone of {region}.", hint)
        else:
            self._good_places.add((cloud, region, zone))

    def _add(self, line: int, path: tuple[str, ...], message: str, remedy: str) -> None:
        self.problems.append(Problem(path, message, remedy, self.name, line))


def _short(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"


def _unknown_columns(columns: list[str]) -> list[tuple[str, str, str]]:
    found = [
        (name, "is no column of a history.", did_you_mean(name, COLUMNS) or f"Known: {one_of(COLUMNS)}.")
        for name in columns
        if name not in COLUMNS
    ]
    return found + [(name, "is there twice.", "") for name in COLUMNS if columns.count(name) > 1]


def _missing_columns(columns: list[str]) -> list[tuple[str, str, str]]:
    head = ",".join(COLUMNS)
    return [(name, "is missing in the head.", f"The head is {head}") for name in COLUMNS if name not in columns]
