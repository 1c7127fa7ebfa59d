"""The options of ``gpuyard plan`` as a request, with every problem told in the options' own words."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, get_args

from gpuyard.cli.choice import checked_format
from gpuyard.planning.workload import WorkloadRequest, parse_request
from gpuyard.spec.problems import Path, Problem, SpecError, one_of

PlanFormat = Literal["text", "json"]
OPTION_OF_FIELD = {
    **{field: "--" + field.replace("_", "-") for field in WorkloadRequest.model_fields},
    "allow_interruptions": "--interruptible",
    "clouds": "--cloud",
    "regions": "--region",
}
_QUOTED_FIELD = re.compile(r"'(\w+)(?:: (\w+))?'")
_A = TypeVar("_A")
_B = TypeVar("_B")
_C = TypeVar("_C")
_D = TypeVar("_D")


def parse_options(options: Mapping[str, Any]) -> WorkloadRequest:
    """A request from the options of a command line.

    Args:
        options: Values by the names of the request's fields, ``None`` or empty where an option was not given; other
            names are passed over.

    Returns:
        The checked request.

    Raises:
        SpecError: With every problem, each at its option.
    """
    given = {
        field: options[field] for field in WorkloadRequest.model_fields if options.get(field) not in (None, [], ())
    }
    for field in ("clouds", "regions"):
        if field in given:
            given[field] = list(dict.fromkeys(given[field]))
    try:
        return parse_request(given)
    except SpecError as error:
        raise SpecError(_at_its_option(problem) for problem in error.problems) from None


def in_options_words(text: str) -> str:
    """A sentence of the planner with its fields as options: ``'target_days'`` is ``--target-days`` here."""
    return _QUOTED_FIELD.sub(_option_words, text)


def plan_format(text: str) -> PlanFormat:
    """The output format that a person named.

    Raises:
        SpecError: There is no such format.
    """
    formats: tuple[PlanFormat, ...] = get_args(PlanFormat)
    return checked_format(text, formats)


def all_of(
    first: Callable[[], _A], second: Callable[[], _B], third: Callable[[], _C], fourth: Callable[[], _D]
) -> tuple[_A, _B, _C, _D]:
    """The results of four checks, or the problems of all of them together.

    Raises:
        SpecError: At least one check failed.
    """
    problems: list[Problem] = []
    results: list[Any] = []
    for check in (first, second, third, fourth):
        try:
            results.append(check())
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    return results[0], results[1], results[2], results[3]


def _at_its_option(problem: Problem) -> Problem:
    field = problem.path[0] if problem.path else ""
    path: Path = (OPTION_OF_FIELD.get(str(field), str(field)),)
    remedy = in_options_words(problem.remedy)
    if field == "task" and problem.message == "is missing.":
        remedy = f"Allowed: {one_of(get_args(WorkloadRequest.model_fields['task'].annotation))}."
    return Problem(path, in_options_words(problem.message), remedy)


def _option_words(match: re.Match[str]) -> str:
    option = OPTION_OF_FIELD.get(match[1])
    if option is None:
        return match[0]
    return option if match[2] is None else f"{option} {match[2]}"
