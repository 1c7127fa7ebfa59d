"""What a structural error of a model means, in words: the path, what is wrong, and what would be right."""

from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from gpuyard.spec.problems import Path, Problem, did_you_mean, one_of
from gpuyard.spec.values import NAME_RULE

Details = ErrorDetails

# How pydantic marks an error of a mapping's key; a key may be called so too.
_KEY_MARK = "[key]"
_LONGEST_SHOWN = 80
_PLAIN_WORDS = {
    "string_type": "should be text",
    "dict_type": "should be a mapping of keys to values",
    "model_type": "should be a mapping of keys to values",
    "model_attributes_type": "should be a mapping of keys to values",
    "list_type": "should be a list",
}
_LIMITS = {
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
}


def path_of(model: type[BaseModel], details: ErrorDetails) -> Path:
    """The keys from the top of the data down to the value that an error is about.

    Args:
        model: The model's class.
        details: The error.

    Returns:
        The path; an error of a mapping's key has the path of the value under it.
    """
    path: Path = details["loc"]
    marked = len(path) > 1 and path[-1] == _KEY_MARK and details["type"] != "extra_forbidden"
    if marked and any(get_origin(kind) is dict for kind in _kinds_at(model, path[:-2])):
        return path[:-1]
    return path


def keys_at(model: type[BaseModel], path: Path) -> list[str]:
    """The keys that a model knows at a path.

    Args:
        model: The model's class.
        path: Keys from the top down; a mapping's own keys (the name of a pool) are among them.

    Returns:
        The names of the fields; none where no model is.
    """
    return [key for kind in _kinds_at(model, path) if _is_model(kind) for key in kind.model_fields]


def problem_of(model: type[BaseModel], details: ErrorDetails) -> Problem:
    """One error as a problem.

    Args:
        model: The model's class.
        details: The error.

    Returns:
        The problem, with the nearest right key or value where there is one.
    """
    path = path_of(model, details)
    given = details["input"]
    kind = details["type"]
    if kind == "extra_forbidden":
        known = keys_at(model, path[:-1])
        hint = did_you_mean(path[-1], known) or f"Known keys: {one_of(sorted(known))}."
        return Problem(path, f"unknown key {_shown(path[-1])}.", hint)
    if kind == "missing":
        return Problem(path, "is missing.", "It must be given.")
    if kind == "literal_error":
        allowed = _literals(str(details.get("ctx", {}).get("expected", "")))
        hint = did_you_mean(given, allowed) if isinstance(given, str) else ""
        return Problem(path, f"{_shown(given)} is not allowed.", f"{hint} Allowed: {one_of(allowed)}.".strip())
    return Problem(path, f"{_sentence(details)}, not {_shown(given)}.")


def _sentence(details: ErrorDetails) -> str:
    kind, context = details["type"], details.get("ctx", {})
    if kind in _PLAIN_WORDS:
        return _PLAIN_WORDS[kind]
    if kind == "string_pattern_mismatch":
        return f"should be {NAME_RULE}"
    if kind in _LIMITS:
        return "should be " + _LIMITS[kind].format(**context)
    if kind == "too_short":
        return f"should have at least {context.get('min_length', 1)} entry"
    return details["msg"][:1].lower() + details["msg"][1:]


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "a list" if value else "an empty list"
    if value is None:
        return "empty"
    try:
        text = repr(value)
    except ValueError:
        # Python writes no whole number of more than some thousand digits.
        return "a number of thousands of digits"
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def _literals(expected: str) -> list[str]:
    return [part.strip("'") for part in expected.replace(" or ", ", ").split(", ") if part]


def _kinds_at(model: type[BaseModel], path: Path) -> list[Any]:
    """The types that may stand at a path: models, ``dict[...]``, ``list[...]`` or scalars."""
    kinds: list[Any] = [model]
    for part in path:
        kinds = [inner for kind in kinds for inner in _kinds(_inside(kind, part))]
    return kinds


def _inside(kind: Any, part: str | int) -> Any:
    if _is_model(kind):
        field = kind.model_fields.get(part)
        return None if field is None else field.annotation
    if get_origin(kind) is dict:
        return get_args(kind)[1]
    return get_args(kind)[0] if get_origin(kind) is list else None


def _kinds(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _kinds(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for choice in get_args(annotation):
            yield from _kinds(choice)
    elif annotation not in (None, type(None)):
        yield annotation


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
