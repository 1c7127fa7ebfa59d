"""What every component does first: take its arguments apart, plan, and only then register anything."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, TypeVar, cast

import pulumi
from pydantic import BaseModel

from gpuyard.catalog import regions
from gpuyard.planning.cluster import place_of
from gpuyard.planning.plans import Place
from gpuyard.spec.models import ClusterSpec
from gpuyard.spec.parse import parse_spec
from gpuyard.spec.problems import Path, Problem, SpecError, did_you_mean, one_of

Model = TypeVar("Model", bound=BaseModel)
Plan = TypeVar("Plan")
Planner = Callable[[Model, Place], tuple[Plan | None, list[Problem]]]

_PLACE_KEYS = ("cloud", "region", "environment", "zone", "workload", "tags")


class Arguments:
    """A component's arguments, taken apart and checked.

    Args:
        name: The component's name.
        args: What the caller gave.
        inputs: Keys of ids and other inputs that may be outputs of other resources.
        own: Further plain keys that the component reads itself.

    Raises:
        SpecError: An output stands where a plain value is needed, or the place is wrong.
    """

    def __init__(
        self, name: str, args: Mapping[str, Any], *, inputs: Iterable[str] = (), own: Iterable[str] = ()
    ) -> None:
        given: dict[str, Any] = {key: value for key, value in dict(args).items() if value is not None}
        self.inputs = _taken(given, inputs)
        _refuse_outputs(given)
        self._cluster = str(given.pop("cluster_name", name))
        self.own = _taken(given, own)
        self.place, self._tags = _place(_taken(given, _PLACE_KEYS))
        self._rest = given

    def plan(self, model: type[Model], planner: "Planner[Model, Plan]") -> Plan:
        """The component's plan.

        Args:
            model: The spec of the part that the component builds.
            planner: The planning function of that part.

        Returns:
            The plan.

        Raises:
            SpecError: With every problem of the arguments.
        """
        plan, problems = planner(parse_spec(model, self._rest), self.place)
        if problems or plan is None:
            raise SpecError(problems)
        return plan

    @property
    def protect_data(self) -> bool:
        """Whether data is protected against deletion: as asked for, else in ``prod``."""
        asked = self.own.get("protect_data")
        return self.place.environment == "prod" if asked is None else bool(asked)

    def tags(self, **more: str | None) -> dict[str, str]:
        """The person's tags and the component's own, from which policies read the workload.

        Args:
            more: Further own tags by key, underscores becoming hyphens; None is left out.

        Returns:
            All tags; own ones begin with ``gpuyard:``.
        """
        size = self.place.model_parameters
        own: dict[str, str | None] = {
            "cluster": self._cluster,
            "environment": self.place.environment,
            "task": self.place.task,
            "model-parameters": None if size is None else f"{size:.0f}",
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
        raise SpecError([Problem(("cloud",), message, f"Run: pip install 'gpuyard[{cloud}]'")]) from None


def _taken(values: dict[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: values.pop(key) for key in keys if key in values}


def _refuse_outputs(values: Mapping[str, Any]) -> None:
    problems = [
        Problem(path, "is known only after the update, but the plan needs it before.", "Give a plain value.")
        for path in _outputs_in(values, ())
    ]
    if problems:
        raise SpecError(problems)


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


def _place(values: dict[str, Any]) -> tuple[Place, dict[str, str]]:
    spec = parse_spec(_PlaceSpec, {"cloud": "aws", "environment": "dev", **values})
    known = regions(spec.cloud)
    if spec.region not in known:
        hint = did_you_mean(spec.region, known) or f"Known: {one_of(known)}."
        raise SpecError([Problem(("region",), f"'{spec.region}' is no region of {spec.cloud}.", hint)])
    return place_of(spec), dict(spec.tags)
