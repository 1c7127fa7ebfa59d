"""From plain data to a model, with every structural problem as a Problem."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, TypeVar, cast, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gpuyard.spec.problems import Path, Problem, SpecError, did_you_mean, one_of

Model = TypeVar("Model", bound=BaseModel)

_PLAIN_WORDS = {
    "string_type": "should be text",
    "dict_type": "should be a mapping of keys to values",
    "model_type": "should be a mapping of keys to values",
    "model_attributes_type": "should be a mapping of keys to values",
    "list_type": "should be a list",
}


def parse_spec(model: type[Model], data: object) -> Model:
    """A model from plain data.

    Args:
        model: The model's class.
        data: Mappings, lists and scalars as YAML or JSON gives them.

    Returns:
        The checked, frozen model.

    Raises:
        SpecError: With every structural problem, each with the nearest right key or value.
    """
    spec, problems = parse_what_is_right(model, data)
    if problems or spec is None:
        raise SpecError(problems)
    return spec


def parse_what_is_right(model: type[Model], data: object) -> tuple[Model | None, list[Problem]]:
    """A model of the parts that are right, and the problems of the others.

    The parts with problems are left out, so that the rest can still be checked against the catalog and all problems
    of a file come together.

    Args:
        model: The model's class.
        data: Mappings, lists and scalars as YAML or JSON gives them.

    Returns:
        The model, or None when what is right is not enough for one; and the problems.
    """
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        problems = [_problem(model, details) for details in error.errors()]
    rest = deepcopy(data)
    for _ in range(20):
        try:
            return model.model_validate(rest), problems
        except ValidationError as error:
            if not all(_left_out(rest, details) for details in error.errors()):
                return None, problems
    return None, problems


def _left_out(data: Any, details: ErrorDetails) -> bool:
    path = [part for part in details["loc"] if part != "[key]"]
    if details["type"] == "missing":
        path = path[:-1]
    if not path:
        return False
    parent = data
    for part in path[:-1]:
        try:
            parent = parent[part]
        except (KeyError, IndexError, TypeError):
            return True
    if isinstance(parent, dict):
        cast(dict[Any, Any], parent).pop(path[-1], None)
        return True
    # An element of a list is left out with its whole list: places would move otherwise.
    return _left_out(data, {**details, "type": "list", "loc": tuple(path[:-1])})


def _problem(model: type[BaseModel], details: ErrorDetails) -> Problem:
    path: Path = tuple(part for part in details["loc"] if part != "[key]")
    given = details["input"]
    kind = details["type"]
    if kind == "extra_forbidden":
        known = _fields_at(model, path[:-1])
        hint = did_you_mean(path[-1], known) or f"Known keys: {one_of(sorted(known))}."
        return Problem(path, f"unknown key '{path[-1]}'.", hint)
    if kind == "missing":
        return Problem(path, "is missing.", "It must be given.")
    if kind == "literal_error":
        allowed = _literals(str(details.get("ctx", {}).get("expected", "")))
        hint = did_you_mean(given, allowed)
        return Problem(path, f"{given!r} is not allowed.", f"{hint} Allowed: {one_of(allowed)}.".strip())
    return Problem(path, f"{_sentence(details)}, not {_shown(given)}.")


def _sentence(details: ErrorDetails) -> str:
    kind, context = details["type"], details.get("ctx", {})
    if kind in _PLAIN_WORDS:
        return _PLAIN_WORDS[kind]
    if kind == "string_pattern_mismatch":
        return "should be lower-case letters, digits and hyphens, at most 32, beginning with a letter"
    limits = {
        "greater_than": "more than {gt}",
        "greater_than_equal": "at least {ge}",
        "less_than_equal": "at most {le}",
    }
    if kind in limits:
        return "should be " + limits[kind].format(**context)
    if kind == "too_short":
        return f"should have at least {context.get('min_length', 1)} entry"
    return details["msg"][:1].lower() + details["msg"][1:]


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "a list" if value else "an empty list"
    if value is None:
        return "empty"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _literals(expected: str) -> list[str]:
    return [part.strip("'") for part in expected.replace(" or ", ", ").split(", ") if part]


def _fields_at(model: type[BaseModel], path: Path) -> list[str]:
    at: Any = model
    for part in path:
        inner = at.model_fields[part].annotation if _is_model(at) and part in at.model_fields else None
        at = _model_in(inner) if inner is not None else at
        if at is None:
            return []
    return list(at.model_fields)


def _model_in(annotation: Any) -> Any:
    if _is_model(annotation):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part)) is not None), None)


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
