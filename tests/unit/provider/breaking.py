"""What of a package's schema breaks the programs that were written against the one before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def breaking_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Every change of a schema that stops a program from compiling, or a stack from updating.

    New components, types, values and properties that may be left out break nothing; nor do descriptions.
    """
    return [
        *_of_resources(old["resources"], new["resources"]),
        *_of_types(old["types"], new["types"]),
    ]


def _of_resources(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for token, before in old.items():
        after = new.get(token)
        if after is None:
            yield f"{token} is gone: its stacks would have to rename it with an alias."
            continue
        yield from _of_properties(f"{token}, input", before["inputProperties"], after["inputProperties"])
        yield from _newly_required(token, before["requiredInputs"], after["requiredInputs"])
        yield from _of_properties(f"{token}, output", before["properties"], after["properties"])
        for name in before["required"]:
            if name in after["properties"] and name not in after["required"]:
                yield f"{token}, output {name}: may be missing now."


def _of_types(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for token, before in old.items():
        after = new.get(token)
        if after is None:
            yield f"{token} is gone."
            continue
        yield from _of_properties(f"{token},", before.get("properties", {}), after.get("properties", {}))
        yield from _newly_required(token, before.get("required", ()), after.get("required", ()))
        values = {one["value"] for one in after.get("enum", ())}
        for one in before.get("enum", ()):
            if one["value"] not in values:
                yield f"{token}: the value '{one['value']}' is gone."


def _of_properties(where: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name, before in old.items():
        after = new.get(name)
        if after is None:
            yield f"{where} {name}: is gone."
        elif _shape(before) != _shape(after):
            yield f"{where} {name}: is {_shape(after)}, was {_shape(before)}."
        elif _plain(before) != _plain(after):
            yield f"{where} {name}: takes {_taken(after)}, took {_taken(before)}; typed languages tell them apart."


def _newly_required(token: str, old: Any, new: Any) -> Iterator[str]:
    for name in new:
        if name not in old:
            yield f"{token}, {name}: must be given now."


def _shape(one: Mapping[str, Any]) -> str:
    if "items" in one:
        return f"list of {_shape(one['items'])}"
    if "additionalProperties" in one:
        return f"map of {_shape(one['additionalProperties'])}"
    return str(one.get("$ref", one.get("type"))).rsplit("/", 1)[-1]


def _plain(one: Mapping[str, Any]) -> tuple[bool, ...]:
    inner = one.get("items") or one.get("additionalProperties")
    return (bool(one.get("plain")), *(_plain(inner) if inner else ()))


def _taken(one: Mapping[str, Any]) -> str:
    return " of ".join("plain" if plain else "input" for plain in _plain(one))
