"""What every component does first: take its arguments apart, plan, and only then register anything."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from typing import Any, TypeVar, cast

import pulumi
from pydantic import BaseModel, ConfigDict

from gpuyard.catalog.limits import limit_values
from gpuyard.planning.cluster import place_of, place_problems
from gpuyard.planning.plans import Place
from gpuyard.resources.args import PLACE_KEYS
from gpuyard.spec.models import ClusterSpec
from gpuyard.spec.parse import parse_what_is_right
from gpuyard.spec.problems import Path, Problem, SpecError, did_you_mean, one_of
from gpuyard.spec.values import Flag, Text

Model = TypeVar("Model", bound=BaseModel)
Plan = TypeVar("Plan")
Planner = Callable[[Model, Place], tuple[Plan | None, list[Problem]]]

KNOWN_LATER = "is known only after the update, but the plan needs it before."


class ArgumentsError(SpecError, pulumi.RunError):
    """The same for a program that uses a component: Pulumi prints a RunError's message without a traceback."""


class OwnSpec(BaseModel):
    """Plain arguments that belong to a component itself and not to the part that it builds."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    cluster_name: Text | None = None
    """Name of the cluster it belongs to, as its resources are tagged; its own name when left out."""


class ProtectedSpec(OwnSpec):
    """The same for a component that holds data."""

    protect_data: Flag | None = None
    """Refuse to delete the data; on in ``prod`` when left out."""


class Arguments:
    """A component's arguments, taken apart and checked; every problem is kept until the plan is asked for.

    Args:
        name: The component's name.
        args: What the caller gave.
        spec: Model of the part that the component builds.
        own: Model of the component's own plain arguments.
        required: Inputs that must be given: ids of things that exist, which may be outputs of other resources.
        optional: Further inputs.

    Raises:
        SpecError: An output stands where a plain value is needed.
    """

    def __init__(
        self,
        name: str,
        args: Mapping[str, Any],
        *,
        spec: type[BaseModel],
        own: type[OwnSpec] = OwnSpec,
        required: Sequence[str] = (),
        optional: Sequence[str] = (),
    ) -> None:
        self._name, self._spec = name, spec
        given: dict[str, Any] = {key: value for key, value in dict(args).items() if value is not None}
        self.inputs = _taken(given, (*required, *optional))
        refuse_outputs(given)
        self.problems = _input_problems(self.inputs, required)
        known = [*PLACE_KEYS, *own.model_fields, *spec.model_fields, *required, *optional]
        self.problems += _unknown_keys(given, known)
        own_spec, found = parse_what_is_right(own, _taken(given, own.model_fields))
        self.own: Any = own_spec
        self.problems += found
        self.place, self._tags, found = _place(_taken(given, PLACE_KEYS))
        self.problems += found
        self._rest = given

    def plan(self, planner: "Planner[Any, Plan]") -> Plan:
        """The component's plan.

        Args:
            planner: The planning function of the part that the component builds.

        Returns:
            The plan.

        Raises:
            SpecError: With every problem of the arguments.
        """
        spec, found = parse_what_is_right(self._spec, self._rest)
        problems = self.problems + found
        plan = None
        if spec is not None and self.place is not None and self.own is not None:
            plan, more = planner(spec, self.place)
            problems += more
        if problems or plan is None:
            raise ArgumentsError(dict.fromkeys(problems))
        return plan

    @property
    def built_in(self) -> Place:
        """The place, once there is a plan."""
        assert self.place is not None  # noqa: S101 - a plan is never made without one
        return self.place

    @property
    def protect_data(self) -> bool:
        """Whether data is protected against deletion: as asked for, else in ``prod``."""
        asked = getattr(self.own, "protect_data", None)
        return self.built_in.environment == "prod" if asked is None else bool(asked)

    @property
    def cluster(self) -> str:
        """Name of the cluster that the component belongs to."""
        return str(self.own.cluster_name or self._name)

    def tags(self, **more: str | None) -> dict[str, str]:
        """The person's tags and the component's own, from which policies read the workload.

        Args:
            more: Further own tags by key, underscores becoming hyphens; None is left out.

        Returns:
            All tags; own ones begin with ``gpuyard:``.
        """
        place = self.built_in
        own: dict[str, str | None] = {
            "cluster": self.cluster,
            "environment": place.environment,
            "task": place.task,
            "model-parameters": None if place.model_parameters is None else f"{place.model_parameters:.0f}",
            **{key.replace("_", "-"): value for key, value in more.items()},
        }
        return {**self._tags, **{f"gpuyard:{key}": value for key, value in own.items() if value is not None}}


def builder(cloud: str, part: str) -> Any:
    """The module of one cloud that builds one part; nothing of another cloud is imported.

    Raises:
        SpecError: The cloud's SDK is not installed.
    """
    try:
        return import_module(f"gpuyard.clouds.{cloud}.{part}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("gpuyard"):
            raise
        message = f"the SDK of {cloud} is not installed: there is no module '{error.name}'."
        raise ArgumentsError([Problem(("cloud",), message, f"Run: pip install 'gpuyard[{cloud}]'")]) from None


def links_of(kind: Any, inputs: Mapping[str, Any], **more: Any) -> Any:
    """What a builder is connected to, of one cloud's kind: inputs that this cloud has no use for are left out.

    Args:
        kind: The cloud's dataclass of links.
        inputs: The component's inputs.
        more: Further links.

    Returns:
        The links.
    """
    known = {field.name for field in fields(kind)}
    return kind(**{key: value for key, value in {**inputs, **more}.items() if key in known})


def needed_problems(cloud: str, part: str, given: Iterable[str]) -> list[Problem]:
    """Problems of arguments that one cloud needs for a part, and others do not.

    Args:
        cloud: The cloud.
        part: The part, as the catalog's limit ``<part>_needs`` calls it.
        given: Keys that were given.

    Returns:
        Every problem found.
    """
    return [
        Problem((key,), "is missing.", f"{cloud} needs it.")
        for key in limit_values(cloud, f"{part}_needs")
        if key not in given
    ]


def waited_for(opts: pulumi.ResourceOptions | None) -> list[Any]:
    """What a component was told to wait for, for those of its children that have to.

    Children begin after what their component waits for, but only a dependency of their own is kept in the record, and
    so keeps the order when things are removed.
    """
    wanted: Any = None if opts is None else opts.depends_on
    if wanted is None:
        return []
    return list(cast(list[Any], wanted)) if isinstance(wanted, (list, tuple)) else [wanted]


def refuse_outputs(args: Mapping[str, Any]) -> None:
    """Refuse values that are known only after the update.

    Raises:
        SpecError: With every place where one stands.
    """
    problems = _output_problems(args)
    if problems:
        raise ArgumentsError(problems)


def _taken(values: dict[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: values.pop(key) for key in keys if key in values}


def _input_problems(inputs: Mapping[str, Any], required: Sequence[str]) -> list[Problem]:
    found = [Problem((key,), "is missing.", "It must be given.") for key in required if key not in inputs]
    for key, value in inputs.items():
        if key.endswith("_ids") and not isinstance(value, (list, tuple, pulumi.Output)):
            found.append(Problem((key,), f"should be a list, not {value!r}."))
        elif key.endswith("_ids") and isinstance(value, (list, tuple)) and not value:
            found.append(Problem((key,), "is an empty list.", "Give at least one."))
    return found


def _unknown_keys(given: dict[str, Any], known: Sequence[str]) -> list[Problem]:
    unknown = [key for key in given if key not in known]
    for key in unknown:
        del given[key]
    return [
        Problem(
            (key,), f"unknown key '{key}'.", did_you_mean(key, known) or f"Known keys: {one_of(sorted(set(known)))}."
        )
        for key in unknown
    ]


def _output_problems(values: Mapping[str, Any]) -> list[Problem]:
    return [Problem(path, KNOWN_LATER, "Give a plain value.") for path in _outputs_in(values, ())]


def _outputs_in(value: Any, path: Path) -> Iterable[Path]:
    if isinstance(value, pulumi.Output):
        yield path
    elif isinstance(value, Mapping):
        for key, inner in cast(Mapping[Any, Any], value).items():
            yield from _outputs_in(inner, (*path, str(key)))
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(cast(list[Any], value)):
            yield from _outputs_in(inner, (*path, index))


class _PlaceSpec(ClusterSpec):
    """The part of a cluster description that every component shares."""

    node_pools: Any = None


def _place(values: dict[str, Any]) -> tuple[Place | None, dict[str, str], list[Problem]]:
    spec, problems = parse_what_is_right(_PlaceSpec, {"cloud": "aws", "environment": "dev", **values})
    if spec is None:
        return None, {}, problems
    problems += place_problems(spec)
    known = not any(problem.path == ("region",) for problem in problems)
    return place_of(spec) if known else None, dict(spec.tags), problems
