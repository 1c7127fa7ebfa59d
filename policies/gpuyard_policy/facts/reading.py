"""Guarded reading of properties of any shape: a wrong type is no value, an unknown value stays unknown."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from gpuyard_policy.facts.model import Record, Unknown


def read(value: Any, *path: str | int) -> Any:
    """What stands at a path: the value, None where the path leads nowhere, or Unknown where it is not known yet."""
    for part in path:
        if isinstance(value, Unknown):
            return value
        if isinstance(part, int):
            items = as_list(value)
            value = items[part] if not isinstance(items, Unknown) and part < len(items) else None
        else:
            value = cast(Mapping[str, Any], value).get(part) if isinstance(value, Mapping) else None
    return value


def as_text(value: Any) -> str | None | Unknown:
    """Text, else None."""
    return value if isinstance(value, (str, Unknown)) else None


def as_number(value: Any) -> int | None | Unknown:
    """A whole number, else None; the engine gives numbers as floats."""
    if isinstance(value, Unknown):
        return value
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def as_list(value: Any) -> list[Any] | Unknown:
    """A list; a single value stands for a list of one, nothing for an empty one."""
    if isinstance(value, Unknown):
        return value
    if value is None:
        return []
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(cast(Sequence[Any], value))
    return [value]


def as_tags(value: Any) -> Mapping[str, Any] | Unknown:
    """Tags by key, from a mapping or from a list of ``{key, value}``."""
    if isinstance(value, (Unknown, Mapping)):
        return cast("Mapping[str, Any] | Unknown", value)
    tags: dict[str, Any] = {}
    items = as_list(value)
    for item in [] if isinstance(items, Unknown) else items:
        key = as_text(read(item, "key"))
        if isinstance(key, str):
            tags[key] = read(item, "value")
    return tags


def merged(*tags: Mapping[str, Any] | Unknown) -> Mapping[str, Any] | Unknown:
    """Several sets of tags as one, the later ones winning; unknown when none is known."""
    known = [part for part in tags if not isinstance(part, Unknown)]
    unknown = next((part for part in tags if isinstance(part, Unknown)), None)
    if not known and unknown is not None:
        return unknown
    return {key: value for part in known for key, value in part.items()}


def from_property(record: Record, name: str, among: Mapping[str, Record], types: Sequence[str]) -> list[Record]:
    """The resources of some types that a property's value comes from."""
    return [among[urn] for urn in record.depends_on.get(name, ()) if urn in among and among[urn].type in types]
