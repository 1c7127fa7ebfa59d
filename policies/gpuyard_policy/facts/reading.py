"""Guarded reading of properties of any shape: a wrong type is no value, an unknown value stays unknown."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from gpuyard_policy.facts.model import Unknown

# The service of gpuyard's own nodes that looks out for notices: what it asks is not in the user data itself.
_NODE_WATCHER = "gpuyard-watcher.service"


def read(value: Any, *path: str | int) -> Any:
    """What stands at a path: the value, None where the path leads nowhere, or Unknown where it is not known yet."""
    for part in path:
        # Almost every value is a plain mapping, and asking whether one is any Mapping takes long.
        if type(value) is dict and type(part) is str:
            value = cast(dict[str, Any], value).get(part)
            continue
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
    if type(value) is list:
        return cast(list[Any], value)
    if isinstance(value, Unknown):
        return value
    if value is None:
        return []
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(cast(Sequence[Any], value))
    return [value]


def parsed(value: Any) -> Any:
    """What a JSON text says; anything else as it is, None where the text is no JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return None


def items_of(value: Any) -> list[Any]:
    """The known items of a list; none where the list is not known."""
    items = as_list(value)
    return [] if isinstance(items, Unknown) else items


def as_flag(value: Any) -> bool | None | Unknown:
    """Yes or no, also as text; else None."""
    if isinstance(value, (bool, Unknown)):
        return value
    return {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else None


def first_unknown(*values: Any) -> Unknown | None:
    """The first of some values that is not known."""
    return next((value for value in values if isinstance(value, Unknown)), None)


def as_tags(value: Any) -> Mapping[str, Any] | Unknown:
    """Tags by key, from a mapping or from a list of ``{key, value}``."""
    if type(value) is dict or isinstance(value, (Unknown, Mapping)):
        return cast("Mapping[str, Any] | Unknown", value)
    tags: dict[str, Any] = {}
    items = as_list(value)
    for item in [] if isinstance(items, Unknown) else items:
        key = as_text(read(item, "key"))
        if isinstance(key, Unknown):
            # It may be any tag: that one is missing cannot be told.
            return key
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


def watches_for(user_data: str | None | Unknown, *notices: str) -> bool:
    """Whether what a machine runs is known to ask for one of some notices, or is gpuyard's own watcher."""
    return isinstance(user_data, str) and any(word in user_data for word in (*notices, _NODE_WATCHER))
