"""Descriptions in the schema: what an argument means, its limits and its default, as the spec's models have them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from gpuyard.spec.problems import one_of
from gpuyard.spec.values import NAME_PATTERN, NAME_RULE

_CODE = re.compile(r"``([^`]+)``")
_SENTENCE_ENDS = (".", "…", "?", "!")


def described(text: str, facts: Mapping[str, Any], *, default: bool = False) -> str:
    """A description with what is known of the values.

    Args:
        text: What it means.
        facts: The JSON schema of the value, as pydantic makes it of a field; empty when the spec has no such field.
        default: Whether the default is told as well.

    Returns:
        Sentences in Markdown.
    """
    told = [marked_down(text), *_limits(facts), *([_default(facts)] if default else [])]
    return " ".join(sentence for sentence in told if sentence)


def marked_down(text: str) -> str:
    """A docstring as one line of Markdown."""
    line = _CODE.sub(r"`\1`", " ".join(text.split()))
    return line if not line or line.endswith(_SENTENCE_ENDS) else f"{line}."


def in_short(facts: Mapping[str, Any]) -> str:
    """What a value means in a few words, to stand in brackets."""
    text = str(facts.get("description", "")).split(";")[0].rstrip(".")
    return f"{text[:1].lower()}{text[1:]}"


def _limits(facts: Mapping[str, Any]) -> list[str]:
    if "items" in facts:
        return [_how_many(facts), _each(facts["items"])]
    if "patternProperties" in facts or "propertyNames" in facts or "additionalProperties" in facts:
        values: Any = facts.get("additionalProperties")
        return [_keys(facts), _each(cast(Mapping[str, Any], values) if isinstance(values, Mapping) else {})]
    span = _span(facts)
    return [f"{span[:1].upper()}{span[1:]}."] if span else []


def _how_many(facts: Mapping[str, Any]) -> str:
    least, most = facts.get("minItems"), facts.get("maxItems")
    if most is not None:
        return f"{least or 0} to {most} entries."
    return "At least 1 entry." if least == 1 else ""


def _each(facts: Mapping[str, Any]) -> str:
    span = _span(facts)
    return f"Each {span}." if span else ""


def _keys(facts: Mapping[str, Any]) -> str:
    if NAME_PATTERN in facts.get("patternProperties", {}):
        return f"Names: {NAME_RULE}."
    known: Sequence[str] = facts.get("propertyNames", {}).get("enum", ())
    return f"Keys: {one_of(known)}." if known else ""


def _span(facts: Mapping[str, Any]) -> str:
    # pydantic leaves the limits of a value with a validator of its own under their own names.
    least, more_than, most = (facts.get(key) for key in ("ge", "gt", "le"))
    if most is None:
        return ""
    if more_than is not None:
        return f"more than {_number(more_than)}, at most {_number(most)}"
    return f"from {_number(least or 0)} to {_number(most)}"


def _default(facts: Mapping[str, Any]) -> str:
    value = facts.get("default")
    if value is None or isinstance(value, Mapping) or value == []:
        return ""
    return f"Default: {_shown(value)}."


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(_shown(one) for one in cast(list[Any], value))
    return f"`{value}`" if isinstance(value, str) else _number(value)


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)
