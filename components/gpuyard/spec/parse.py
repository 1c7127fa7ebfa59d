"""From plain data to a model, with every structural problem as a Problem."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel, ValidationError

from gpuyard.spec._wording import Details, keys_at, path_of, problem_of
from gpuyard.spec.problems import Path, Problem, SpecError, nearest

Model = TypeVar("Model", bound=BaseModel)

# Each round takes out every part that is wrong; a part can only show that a part around it is wrong as well.
_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class RightParts(Generic[Model]):
    """What is right of a description, and what is not.

    Attributes:
        spec: The model of the parts that are right, or None when they are not enough for one.
        problems: Every structural problem.
        wrong: Paths of values that are wrong or missing: what is left of the part around them is not what was asked
            for.
        misspelled: Paths of keys that stand in ``spec`` with the value of a key that was misspelled.
    """

    spec: Model | None
    problems: tuple[Problem, ...]
    wrong: tuple[Path, ...]
    misspelled: tuple[Path, ...]


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
    found = right_parts(model, data)
    return found.spec, list(found.problems)


def right_parts(model: type[Model], data: object, lenient: type[Model] | None = None) -> RightParts[Model]:
    """The same, and where the wrong parts are.

    Args:
        model: The model's class.
        data: Mappings, lists and scalars as YAML or JSON gives them.
        lenient: A kind of the model in which required keys have stand-ins. It gives the model when there are
            problems, so that a missing key does not keep the other parts from being checked. The caller must not
            report anything about a stand-in.

    Returns:
        The model of the right parts, the problems, and the paths that tell which findings about the model count.
    """
    try:
        return RightParts(model.model_validate(data), (), (), ())
    except ValidationError as error:
        details = error.errors()
    unknown = [path_of(model, found) for found in details if found["type"] == "extra_forbidden"]
    wrong = [path_of(model, found) for found in details if found["type"] != "extra_forbidden"]
    rest, misspelled = _with_nearest_keys(model, data, unknown)
    return RightParts(
        _model_of_the_rest(lenient or model, rest),
        tuple(problem_of(model, found) for found in details),
        tuple(wrong),
        tuple(misspelled),
    )


def _with_nearest_keys(model: type[BaseModel], data: object, unknown: Sequence[Path]) -> tuple[object, list[Path]]:
    """The data with each unknown key under the nearest known one, where that is free: its effects are no problems."""
    misspelled: list[Path] = []
    for path in unknown:
        parent = _value_at(data, path[:-1])
        if not isinstance(parent, Mapping):
            continue
        values = cast(Mapping[Any, Any], parent)
        key = nearest(path[-1], keys_at(model, path[:-1]))
        data = _without(data, path)
        if key is not None and key not in values and (*path[:-1], key) not in misspelled:
            data = _with_value(data, (*path[:-1], key), values[path[-1]])
            misspelled.append((*path[:-1], key))
    return data, misspelled


def _model_of_the_rest(model: type[Model], data: object) -> Model | None:
    for _ in range(_ROUNDS):
        try:
            return model.model_validate(data)
        except ValidationError as error:
            for details in error.errors():
                path = _part_to_leave_out(model, details)
                if not path:
                    return None
                data = _without(data, path)
    return None


def _part_to_leave_out(model: type[BaseModel], details: Details) -> Path:
    path = path_of(model, details)
    return path[:-1] if details["type"] == "missing" else path


def _without(data: object, path: Path) -> object:
    """The data without one value; a wrong place in a list leaves the whole list out: places would move otherwise."""
    if not isinstance(data, Mapping):
        return data
    key, *inner = path
    rest = dict(cast(Mapping[Any, Any], data))
    if key in rest and inner and isinstance(rest[key], Mapping):
        rest[key] = _without(rest[key], tuple(inner))
    else:
        rest.pop(key, None)
    return rest


def _with_value(data: object, path: Path, value: object) -> object:
    key, *inner = path
    rest = dict(cast(Mapping[Any, Any], data))
    rest[key] = _with_value(rest[key], tuple(inner), value) if inner else value
    return rest


def _value_at(data: object, path: Path) -> object:
    for part in path:
        if not isinstance(data, Mapping) or part not in data:
            return None
        data = cast(Mapping[Any, Any], data)[part]
    return data
