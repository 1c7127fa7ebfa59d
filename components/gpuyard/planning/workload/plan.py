"""From a workload to the instance types that can run it."""

from collections.abc import Iterable
from datetime import date

from gpuyard.catalog import InstanceType, gpu_models_named, gpus, instance_types, regions
from gpuyard.planning.workload.answer import WorkloadPlan
from gpuyard.planning.workload.cost import PriceSource
from gpuyard.planning.workload.job import job_of
from gpuyard.planning.workload.judging import Judge
from gpuyard.planning.workload.ranking import ranking_reasons
from gpuyard.planning.workload.request import WorkloadRequest, request_problems
from gpuyard.planning.workload.substitute import nearest_rented
from gpuyard.spec.problems import SpecError, one_of


def plan_workload(
    request: WorkloadRequest,
    *,
    types: Iterable[InstanceType] | None = None,
    prices: PriceSource | None = None,
    on: date | None = None,
) -> WorkloadPlan:
    """What hardware a workload needs, and which instance types have it.

    Args:
        request: The workload and where it may run.
        types: Instance types to look at; the catalog's of the chosen clouds when left out.
        prices: A price book; without one nothing is ranked by cost.
        on: The day of asking, which makes prices stale; today when left out.

    Returns:
        The plan. Every candidate's memory fits; where none does, the reasons say so.

    Raises:
        SpecError: The request contradicts itself or names what the catalog does not know.
    """
    problems = request_problems(request)
    if problems:
        raise SpecError(problems)
    job = job_of(request)
    clouds, elsewhere = _clouds_with_a_region(request)
    rows = [row for cloud in clouds for row in instance_types(cloud).values()] if types is None else list(types)
    rows = [row for row in rows if row.cloud in clouds]
    reasons = [*job.reasons, *elsewhere]
    wanted = None if request.gpu is None else set(gpu_models_named(request.gpu))
    considered, left_out = _considered(rows, wanted)
    reasons += left_out
    judge = Judge(job, prices, on or date.today())
    if wanted is not None and not considered:
        nearest, why = nearest_rented(wanted, rows, request)
        substitutes = [] if nearest is None else [row for row in rows if row.gpu_model == nearest]
        offered, _ = judge.candidates_and_misses(substitutes)
        return WorkloadPlan(request, job, (), (), offered, (*reasons, *why))
    candidates, misses = judge.candidates_and_misses(considered)
    return WorkloadPlan(
        request,
        job,
        candidates,
        misses,
        (),
        (*reasons, *ranking_reasons(job, candidates, has_prices=prices is not None)),
    )


def _clouds_with_a_region(request: WorkloadRequest) -> tuple[list[str], list[str]]:
    """The chosen clouds that have a region asked for, and what to say of the others."""
    chosen = list(dict.fromkeys(request.clouds))
    have = [cloud for cloud in chosen if not request.regions or any(name in regions(cloud) for name in request.regions)]
    others = [cloud for cloud in chosen if cloud not in have]
    if not others:
        return list(have), []
    return list(have), [f"No region asked for is one of {one_of(others)}: left out."]


def _considered(rows: list[InstanceType], wanted: set[str] | None) -> tuple[list[InstanceType], list[str]]:
    if wanted is not None:
        return [row for row in rows if row.gpu_model in wanted], []
    known = [row for row in rows if row.gpu_model in gpus()]
    nvidia = [row for row in known if gpus()[str(row.gpu_model)].vendor == "NVIDIA"]
    reasons: list[str] = []
    unknown = len(rows) - len(known)
    if unknown:
        left_out = f"{unknown} types are left out: their" if unknown > 1 else "1 type is left out: its"
        reasons.append(f"{left_out} accelerator is no GPU that the catalog knows.")
    others = sorted({str(row.gpu_model) for row in known} - {str(row.gpu_model) for row in nvidia})
    if others:
        reasons.append(f"Types with {one_of(others)} are left out unless named with 'gpu': they run no CUDA programs.")
    return nvidia, reasons
