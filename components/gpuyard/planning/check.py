"""Checking a stack file as a whole, before any engine is started."""

from pydantic import ConfigDict

from gpuyard.catalog import regions
from gpuyard.catalog.regions import zone_example
from gpuyard.planning.cluster import try_plan_cluster
from gpuyard.planning.plans import ClusterPlan
from gpuyard.spec.models import Cloud, ClusterSpec, Environment, NodePoolSpec
from gpuyard.spec.parse import RightParts, right_parts
from gpuyard.spec.problems import Path, Problem, SpecError
from gpuyard.spec.stack_file import CLUSTER_KEY, SHORT_CLUSTER_KEY, StackFile
from gpuyard.spec.values import Name


class _WhatIsRight(ClusterSpec):
    """A cluster whose missing keys have stand-ins, so that its other parts can be checked all the same."""

    # Only a file with problems needs it.
    model_config = ConfigDict(defer_build=True)

    cloud: Cloud = "aws"
    region: str = ""
    environment: Environment = "dev"
    node_pools: dict[Name, NodePoolSpec] = {}


def check_stack_file(file: StackFile, name: str) -> ClusterPlan:
    """The plan of a stack file's cluster.

    Args:
        file: The file's content.
        name: The stack's name.

    Returns:
        The plan.

    Raises:
        SpecError: With every problem of the file, each with its line.
    """
    if file.cluster is None:
        message = "there is no cluster description."
        raise SpecError([Problem((), message, f"Put it under config: {CLUSTER_KEY}:", file.shown_as, 1)])
    parts = right_parts(ClusterSpec, file.cluster, _WhatIsRight)
    plan, found = _planned(file, parts, name)
    problems = [*parts.problems, *(problem for problem in found if not _is_effect(problem, parts))]
    located = [file.located(problem) for problem in problems]
    located += [*_region_problems(file, parts, problems), *_twice_problems(file)]
    if located or plan is None:
        raise SpecError(sorted(located, key=lambda problem: problem.line or 0))
    return plan


def _planned(file: StackFile, parts: RightParts[ClusterSpec], name: str) -> tuple[ClusterPlan | None, list[Problem]]:
    spec = parts.spec
    if spec is None:
        return None, []
    update: dict[str, str] = {}
    if ("region",) in parts.wrong:
        # The provider's region is what it has to be; without one nothing else can be told.
        region = str(spec.region or file.config.get(f"{spec.cloud}:region"))
        if region not in regions(spec.cloud):
            return None, []
        update["region"] = region
    if ("zone",) in parts.wrong:
        update["zone"] = spec.zone or zone_example(update.get("region", spec.region), spec.cloud)
    if ("name",) in parts.wrong:
        name = "a"
    return try_plan_cluster(spec.model_copy(update=update), name)


def _is_effect(problem: Problem, parts: RightParts[ClusterSpec]) -> bool:
    """Whether a problem only follows from another: what is left of a wrong part is not what was asked for."""
    return any(_part(problem.path) == _part(path) for path in parts.wrong) or any(
        problem.path[: len(path)] == path for path in parts.misspelled
    )


def _part(path: Path) -> Path:
    return path[:2] if path[:1] == ("node_pools",) else path[:1]


def _region_problems(file: StackFile, parts: RightParts[ClusterSpec], problems: list[Problem]) -> list[Problem]:
    spec = parts.spec
    if spec is None or any(problem.path == ("region",) for problem in problems) or ("region",) in parts.misspelled:
        return []
    key = f"{spec.cloud}:region"
    given = file.config.get(key)
    if given is None or given == spec.region:
        return []
    message = f"the provider's region is {given}, the cluster's is {spec.region}."
    return [Problem((key,), message, "Set both to the same region.", file.shown_as, file.line_of_config(key))]


def _twice_problems(file: StackFile) -> list[Problem]:
    if not {CLUSTER_KEY, SHORT_CLUSTER_KEY} <= file.config.keys():
        return []
    message = f"the cluster is described twice, here and under '{CLUSTER_KEY}'."
    line = file.line_of_config(SHORT_CLUSTER_KEY)
    return [Problem((SHORT_CLUSTER_KEY,), message, "Keep one of them: both are the same key.", file.shown_as, line)]
