"""From answers to the plan behind a stack file: the fewest nodes that do, or as many as were asked for."""

from dataclasses import replace
from datetime import date
from pathlib import Path

from gpuyard.catalog import instance_types
from gpuyard.catalog.prices import PriceBook
from gpuyard.cli.init_answers import Answers
from gpuyard.cli.plan_write import DEFAULT_ENVIRONMENT, Target
from gpuyard.planning.workload import Candidate, WorkloadPlan, WorkloadRequest, plan_workload
from gpuyard.planning.workload.ranking import ranked
from gpuyard.spec.problems import Problem, SpecError


def planned(request: WorkloadRequest, nodes: int | None, today: date) -> WorkloadPlan:
    """The plan of a request.

    Args:
        request: The workload, of one cloud.
        nodes: Number of nodes; the fewest that do when left out.
        today: The day of asking, for prices.

    Returns:
        The plan; every candidate has as many nodes as asked for.

    Raises:
        SpecError: Nothing runs the work, or nothing on so many nodes.
    """
    prices = PriceBook.load()
    plan = plan_workload(request, prices=prices, on=today)
    if nodes is None or not plan.candidates:
        return plan
    (cloud,) = request.clouds
    found: list[Candidate] = []
    by_size: dict[int, list[str]] = {}
    for name, row in instance_types(cloud).items():
        if row.gpu_count:
            by_size.setdefault(row.gpu_count, []).append(name)
    for gpus_per_node, names in by_size.items():
        # The planner counts GPUs: types of one size make the same number of nodes of them.
        wanted = request.model_copy(update={"gpus": nodes * gpus_per_node})
        types = [instance_types(cloud)[name] for name in names]
        on_nodes = plan_workload(wanted, types=types, prices=prices, on=today)
        found += [one for one in on_nodes.candidates if one.layout.nodes == nodes]
    if not found:
        fewest = min(plan.candidates, key=lambda one: one.layout.nodes)
        remedy = f"The fewest are {fewest.layout.nodes}, of {fewest.instance_type.instance_type}."
        raise SpecError([Problem(("--nodes",), f"no type of {cloud} runs this work on {nodes} nodes.", remedy)])
    return replace(plan, candidates=ranked(found))


def target_of(answers: Answers, path: Path) -> Target:
    """Where complete answers lead to.

    Args:
        answers: The answers, complete and right.
        path: The stack file.

    Returns:
        The target of writing.
    """
    return Target(
        path=path,
        stack=str(answers.name),
        zone=str(answers.zone),
        environment=answers.environment or DEFAULT_ENVIRONMENT,
        name=None,
        command="gpuyard init",
        second_region=answers.second_region,
    )


def summary(candidate: Candidate) -> str:
    """A candidate in one sentence: nodes, type, GPUs, and what an hour costs."""
    row, cost = candidate.instance_type, candidate.cost
    price = "its price is unknown"
    if cost is not None:
        price = f"{cost.currency} {cost.per_hour:,.2f} an hour on demand in {cost.region} by the list"
        price += " (stale)" if cost.stale else ""
    return f"{candidate.layout.nodes} × {row.instance_type} ({row.gpu_count} × {candidate.gpu.model} each); {price}"
