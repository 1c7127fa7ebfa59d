"""Checking a stack file as a whole, before any engine is started."""

from gpuyard.planning.cluster import try_plan_cluster
from gpuyard.planning.plans import ClusterPlan
from gpuyard.spec.models import ClusterSpec
from gpuyard.spec.parse import parse_what_is_right
from gpuyard.spec.problems import Path, Problem, SpecError
from gpuyard.spec.stack_file import CLUSTER_KEY, StackFile


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
    spec, problems = parse_what_is_right(ClusterSpec, file.cluster)
    plan = None
    if spec is not None:
        broken = {_part(problem.path) for problem in problems}
        plan, found = try_plan_cluster(spec, name)
        # What is left of a part with structural problems is not what was asked for.
        problems += [problem for problem in found if _part(problem.path) not in broken]
    located = [file.located(problem) for problem in problems] + _region_problems(file, spec)
    if located or plan is None:
        raise SpecError(sorted(located, key=lambda problem: problem.line or 0))
    return plan


def _part(path: Path) -> Path:
    return path[:2] if path[:1] == ("node_pools",) else path[:1]


def _region_problems(file: StackFile, spec: ClusterSpec | None) -> list[Problem]:
    if spec is None:
        return []
    key = f"{spec.cloud}:region"
    given = file.config.get(key)
    if given is None or given == spec.region:
        return []
    message = f"the provider's region is {given}, the cluster's is {spec.region}."
    return [Problem((key,), message, "Set both to the same region.", file.shown_as, file.line_of_config(key))]
