"""Limits of a cloud's API, as sourced data."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from gpuyard.catalog._data import read_rows


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit: its values with their unit, what they mean, and who says so."""

    cloud: str
    name: str
    values: tuple[Any, ...]
    unit: str
    meaning: str
    source: str
    as_of: str


@cache
def _limits(cloud: str) -> dict[str, Limit]:
    return {row["name"]: Limit(**row) for row in read_rows(f"{cloud}_limits.json")}


def limit_values(cloud: str, name: str) -> tuple[Any, ...]:
    """Values of a limit that not every cloud has; none where the cloud has no such thing."""
    found = _limits(cloud).get(name)
    return () if found is None else found.values


def limit(cloud: str, name: str) -> Limit:
    """One limit by name.

    Raises:
        KeyError: The catalog has no such limit for the cloud.
    """
    return _limits(cloud)[name]
