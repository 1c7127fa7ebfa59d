"""Figures that marketing pages and articles often get wrong, with the right one and why."""

from dataclasses import dataclass
from functools import cache

from gpuyard.catalog._data import read_rows


@dataclass(frozen=True, slots=True)
class Correction:
    """One wrong claim and what is right.

    ``applies_to`` names the GPU models, or the families of instance types, that it is shown with; ``fact`` says what
    the claim is about.
    """

    applies_to: tuple[str, ...]
    fact: str
    claim: str
    right: str
    why: str
    source: str
    as_of: str


@cache
def corrections() -> tuple[Correction, ...]:
    """Every correction of the catalog."""
    return tuple(Correction(**row) for row in read_rows("corrections.json"))


def corrections_for(*names: str | None) -> tuple[Correction, ...]:
    """Corrections that concern any of these GPU models or families of instance types."""
    return tuple(each for each in corrections() if any(name in each.applies_to for name in names))
