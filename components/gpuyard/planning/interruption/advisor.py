"""AWS's Spot Instance Advisor: how often types were interrupted in a region during the last month, in five ranges."""

import json
import re
from dataclasses import dataclass
from math import log1p
from pathlib import Path as FilePath
from typing import Any, cast

from gpuyard.planning.interruption.rate import Risk, risk_at
from gpuyard.spec.problems import Problem, SpecError

CLOUD = "aws"
_SYSTEM = "Linux"
_MONTH_HOURS = 730.5
_LABEL = re.compile(r"(?P<below><)(?P<most>\d+)%|(?P<above>>)(?P<least>\d+)%|(?P<low>\d+)-(?P<high>\d+)%")
_REMEDY = "Give the file that the advisor's page reads: spot-advisor-data.json."


@dataclass(frozen=True, slots=True)
class ShareRange:
    """Share of instances that were interrupted in a month: its label, and its ends; ``most`` is None for the last."""

    label: str
    least: float
    most: float | None

    def risk(self, nodes: int, hours: float) -> Risk:
        """The risk of some nodes: at the middle of the range, with its upper end as bound; of an open one its start.

        A share s of a month's instances is taken as 1 - exp(-rate × month).

        Args:
            nodes: Nodes that run.
            hours: The period.

        Returns:
            The risk; without a bound for a range that has no upper end.
        """
        middle = self.least if self.most is None else (self.least + self.most) / 2
        upper = None if self.most is None else _hourly(self.most)
        return risk_at("advisor", _hourly(middle), upper, nodes, hours)


@dataclass(frozen=True, slots=True)
class Advisor:
    """Ranges by region and instance type."""

    ranges: dict[tuple[str, str], ShareRange]

    def range_of(self, cloud: str, region: str, instance_type: str) -> ShareRange | None:
        """The range of a type in a region; None where the advisor has none, and for other clouds."""
        return self.ranges.get((region, instance_type)) if cloud == CLOUD else None


def read_advisor(path: FilePath) -> Advisor:
    """Read the advisor's data.

    The file has ``ranges`` (index, label such as ``5-10%``) and ``spot_advisor``: region, operating system, instance
    type, and there the savings ``s`` and the range's index ``r``. The ends are read off the labels.

    Source: https://aws.amazon.com/ec2/spot/instance-advisor/ ('the rate at which Spot has reclaimed capacity during the
    trailing month'); the file's form as https://github.com/alexei-led/spotinfo reads it.

    Args:
        path: ``spot-advisor-data.json``.

    Returns:
        The ranges of Linux instances.

    Raises:
        SpecError: It cannot be read, or is something else.
    """
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError([Problem((), f"cannot be read: {error.strerror}.", file=str(path))]) from None
    except (ValueError, RecursionError) as error:
        raise SpecError([Problem((), f"is no JSON: {error}.", _REMEDY, str(path))]) from None
    try:
        ranges = {int(one["index"]): _range(str(one["label"])) for one in data["ranges"]}
        regions = cast(dict[str, Any], data["spot_advisor"])
        found = {
            (region, name): ranges[facts["r"]]
            for region, systems in regions.items()
            for name, facts in systems.get(_SYSTEM, {}).items()
        }
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        message = f"is not the advisor's data: {type(error).__name__} {error}."
        raise SpecError([Problem((), message, _REMEDY, str(path))]) from None
    return Advisor(found)


def _range(label: str) -> ShareRange:
    match = _LABEL.fullmatch(label.replace(" ", ""))
    if match is None:
        raise ValueError(f"no range: '{label}'")
    if match["below"]:
        return ShareRange(label, 0.0, int(match["most"]) / 100)
    if match["above"]:
        return ShareRange(label, int(match["least"]) / 100, None)
    return ShareRange(label, int(match["low"]) / 100, int(match["high"]) / 100)


def _hourly(share: float) -> float:
    return -log1p(-share) / _MONTH_HOURS
