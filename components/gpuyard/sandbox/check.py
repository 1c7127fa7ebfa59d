"""Checking a resource's inputs against its schema, as a provider does before anything is created."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from gpuyard.sandbox.schema import PropertyType, Shape
from gpuyard.sandbox.wire import is_unknown, is_wrapped
from gpuyard.spec.problems import did_you_mean, one_of

_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "list": "a list",
    "map": "a mapping",
    "object": "a mapping",
}


@dataclass(frozen=True)
class Failure:
    """One input that is wrong: its property path, and why, with what would be right."""

    path: str
    reason: str


@dataclass(frozen=True)
class Allowed:
    """Which texts a property takes: one of ``values``, or one that ``pattern`` matches, in words ``like`` this."""

    values: tuple[str, ...] = ()
    pattern: str | None = None
    like: str = ""


def check_inputs(shape: Shape, inputs: Mapping[str, Any], path: str = "") -> list[Failure]:
    """Every unknown property, missing required one and wrong type, at any depth.

    Args:
        shape: What the resource or nested object takes.
        inputs: What it was given; values not known yet pass.
        path: Where the object stands in the resource.

    Returns:
        Failures in the order of the inputs; empty when all is right.
    """
    found: list[Failure] = []
    for name, value in inputs.items():
        if name.startswith("__"):
            continue
        at = f"{path}.{name}" if path else name
        known = shape.properties.get(name)
        if known is None:
            found.append(Failure(at, _unknown_property(name, shape)))
        else:
            found += _check_value(known.type, value, at)
    found += [
        Failure(f"{path}.{name}" if path else name, "is required, but was not given")
        for name, known in shape.properties.items()
        if known.required and inputs.get(name) is None
    ]
    return found


def check_values(allowed: Mapping[str, Allowed], inputs: Mapping[str, Any]) -> list[Failure]:
    """Every text outside the documented set of its property.

    Args:
        allowed: What properties take, by their paths through lists and objects.
        inputs: What the resource was given; values not known yet pass.

    Returns:
        Failures in the order of the rules; empty when all is right.
    """
    return [
        Failure(at, f"should be {_allowed_words(rule, value)}")
        for path, rule in allowed.items()
        for at, value in _texts_at(inputs, path.split("."), "")
        if not _is_allowed(rule, value)
    ]


def _texts_at(value: Any, path: list[str], at: str) -> Iterable[tuple[str, str]]:
    if isinstance(value, list):
        for place, item in enumerate(cast(list[Any], value)):
            yield from _texts_at(item, path, f"{at}[{place}]")
    elif path and isinstance(value, Mapping) and not is_wrapped(cast(Any, value)):
        inner = cast(Mapping[str, Any], value).get(path[0])
        yield from _texts_at(inner, path[1:], f"{at}.{path[0]}".removeprefix("."))
    elif not path and isinstance(value, str) and not is_unknown(value):
        yield at, value


def _is_allowed(rule: Allowed, value: str) -> bool:
    return value in rule.values if rule.pattern is None else re.fullmatch(rule.pattern, value) is not None


def _allowed_words(rule: Allowed, value: str) -> str:
    if rule.pattern is not None:
        return f"{rule.like}, not '{value}'"
    return f"{one_of(rule.values)}, not '{value}'. {did_you_mean(value, rule.values)}".rstrip(" .")


def _unknown_property(name: str, shape: Shape) -> str:
    hint = did_you_mean(name, shape.properties)
    return f"unknown property '{name}'. {hint}".rstrip()


def _check_value(kind: PropertyType, value: Any, at: str) -> list[Failure]:
    if value is None or is_unknown(value) or is_wrapped(value) or kind.kind == "any":
        return []
    if kind.kind == "object" and kind.shape is not None and isinstance(value, Mapping):
        return check_inputs(kind.shape, cast(Mapping[str, Any], value), at)
    if kind.kind == "list" and isinstance(value, list):
        return _each(kind.item, enumerate(cast(list[Any], value)), at, "[{}]")
    if kind.kind == "map" and isinstance(value, Mapping):
        return _each(kind.item, cast(Mapping[str, Any], value).items(), at, ".{}")
    if _fits(kind.kind, value):
        return []
    return [Failure(at, f"should be {_WORDS[kind.kind]}, not {_shown(value)}")]


def _each(item: PropertyType | None, values: Iterable[tuple[Any, Any]], at: str, form: str) -> list[Failure]:
    if item is None:
        return []
    return [failure for key, value in values for failure in _check_value(item, value, at + form.format(key))]


def _fits(kind: str, value: Any) -> bool:
    if kind == "string":
        return isinstance(value, str)
    if kind == "boolean":
        # A provider built from Terraform's takes flags and numbers as text too.
        return isinstance(value, bool) or value in ("true", "false")
    if isinstance(value, str):
        return _is_number(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return kind == "number" or float(value).is_integer()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return repr(value)
