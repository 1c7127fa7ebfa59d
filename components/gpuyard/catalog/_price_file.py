"""A price file that is not the package's own: read, checked row by row, with the line of every problem."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from gpuyard.catalog._price_quote import MAINLAND_LIST, PriceQuote, last_day
from gpuyard.catalog.regions import regions
from gpuyard.spec.parse import parse_what_is_right
from gpuyard.spec.problems import Problem, SpecError, did_you_mean
from gpuyard.spec.values import Real

_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?(/\d{4}(-\d{2}(-\d{2})?)?)?")
# Traffic between two regions has a price of its own: us-east-1->us-east-2.
_TRAFFIC_ARROW = "->"
_EXAMPLE = '{"prices": [{"cloud": "aws", "item": "p5.48xlarge", "region": "us-east-1", "unit": "hour", ...}]}'


def read_price_file(path: Path) -> tuple[tuple[PriceQuote, ...], tuple[str, ...]]:
    """The prices and notes of a file.

    Args:
        path: A JSON file with ``{"prices": [...], "notes": [...]}``, one object with the fields of ``PriceQuote`` for
            each price; a price that is left out is unknown.

    Returns:
        Prices and notes in the order of the file.

    Raises:
        SpecError: The file cannot be read or has wrong rows; every wrong row is listed with its line.
    """
    try:
        text = path.read_text(encoding="utf-8")
        content: Any = json.loads(text)
    except OSError as error:
        raise SpecError([Problem((), f"cannot be read: {error.strerror}.", file=str(path))]) from None
    except UnicodeDecodeError:
        raise SpecError([Problem((), "cannot be read: it is not UTF-8 text.", file=str(path))]) from None
    except json.JSONDecodeError as error:
        raise SpecError([Problem((), f"is not valid JSON: {error.msg}.", file=str(path), line=error.lineno)]) from None
    except RecursionError:
        raise SpecError([Problem((), "is nested too deeply to be a price file.", file=str(path))]) from None
    table = cast(dict[str, Any], content) if isinstance(content, dict) else {}
    rows, notes = table.get("prices"), table.get("notes", [])
    problems: list[Problem] = []
    if not isinstance(rows, list):
        problems.append(Problem(("prices",), "should be a list of prices.", f"Write {_EXAMPLE}."))
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in cast(list[Any], notes)):
        problems.append(Problem(("notes",), "should be a list of texts."))
    prices: list[PriceQuote] = []
    for number, row in enumerate(cast(Sequence[Any], rows) if isinstance(rows, list) else ()):
        quote, wrong = _quote(row)
        problems.extend(Problem(("prices", number, *each.path), each.message, each.remedy) for each in wrong)
        if quote is not None:
            prices.append(quote)
    if problems:
        lines = _Lines(text)
        raise SpecError([problem.at(str(path), lines.of(problem)) for problem in problems])
    return tuple(prices), tuple(cast(list[str], notes))


def _quote(row: object) -> tuple[PriceQuote | None, list[Problem]]:
    spec, problems = parse_what_is_right(_PriceRow, row)
    if problems or spec is None:
        return None, problems
    known = regions(spec.cloud)
    for place in spec.region.split(_TRAFFIC_ARROW):
        if place != MAINLAND_LIST and place not in known:
            hint = did_you_mean(place, known) or f"A list for all of mainland China is '{MAINLAND_LIST}'."
            return None, [Problem(("region",), f"'{place}' is no region of {spec.cloud}.", hint)]
    if spec.on_demand is None and spec.spot is None and spec.reserved_1y is None:
        return None, [Problem((), "has no price.", "Give on_demand, spot or reserved_1y.")]
    return PriceQuote(**spec.model_dump()), []


def _currency(text: str) -> str:
    if not re.fullmatch(r"[A-Z]{3}", text):
        raise PydanticCustomError("currency", "should be a currency's ISO 4217 code such as USD or CNY")
    return text


def _date(text: str) -> str:
    try:
        if _DATE.fullmatch(text):
            for part in text.split("/"):
                last_day(part)
            return text
    except ValueError:
        pass
    raise PydanticCustomError("price_date", "should be a date such as 2026-11-30, 2026-11, 2026 or 2026-01/2026-06")


_Text = Annotated[str, Field(min_length=1)]
_Amount = Annotated[Real, Field(ge=0)]


class _PriceRow(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    cloud: Literal["aws", "alicloud", "tencentcloud"]
    item: _Text
    region: _Text
    unit: _Text
    on_demand: _Amount | None = None
    spot: _Amount | None = None
    reserved_1y: _Amount | None = None
    currency: Annotated[str, AfterValidator(_currency)]
    date: Annotated[str, AfterValidator(_date)] | None = None
    source: _Text


class _Lines:
    """Where things stand in a JSON text. JSON is YAML, and the YAML reader knows the line of every value."""

    def __init__(self, text: str) -> None:
        reader: Any = YAML(typ="rt")
        reader.allow_duplicate_keys = True
        try:
            # A tab between JSON's tokens is none of YAML's business; inside a text JSON forbids it.
            self._document: Any = reader.load(text.replace("\t", " "))
        except YAMLError:
            # YAML refuses a few characters that JSON takes: the problems are told without their lines then.
            self._document = None

    def of(self, problem: Problem) -> int | None:
        if self._document is None:
            return None
        node, line = self._document, 0
        for part in problem.path:
            try:
                place = node.lc.key(part) if isinstance(part, str) else node.lc.item(part)
                node, line = node[part], int(place[0])
            except (AttributeError, KeyError, IndexError, TypeError):
                break
        return line + 1
