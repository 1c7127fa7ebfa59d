"""The order of candidates and near misses. Currencies are never compared."""

from collections.abc import Iterable
from dataclasses import replace

from gpuyard.planning.workload.answer import Candidate, NearMiss
from gpuyard.planning.workload.hardware import gpu_memory_gib
from gpuyard.planning.workload.job import Job


def ranked(candidates: list[Candidate]) -> tuple[Candidate, ...]:
    """Candidates, best first: by cost within each currency, then those that cannot be, by GPU-hours or GPU memory.

    Costs are of the whole training where its time is known, else of a billion tokens, else of an hour.

    Args:
        candidates: Candidates in any order.

    Returns:
        The same, with their rank within their currency.
    """
    basis = _rank_basis(candidates)
    by_currency: dict[str, list[tuple[float, Candidate]]] = {}
    rest: list[Candidate] = []
    for one in candidates:
        value = _rank_value(one, basis)
        if one.cost is None or value is None:
            rest.append(one)
        else:
            by_currency.setdefault(one.cost.currency, []).append((value, one))
    ordered: list[Candidate] = []
    for currency in sorted(by_currency):
        rows = sorted(by_currency[currency], key=lambda pair: (pair[0], pair[1].instance_type.instance_type))
        ordered += [replace(one, rank=place) for place, (_, one) in enumerate(rows, start=1)]
    rest.sort(key=_unpriced_key)
    return (*ordered, *rest)


def ranking_reasons(job: Job, candidates: tuple[Candidate, ...], *, has_prices: bool) -> list[str]:
    """How the candidates are ordered and what that leaves out.

    Args:
        job: The work.
        candidates: Candidates as :func:`ranked` gave them.
        has_prices: Whether a price book was given.

    Returns:
        Sentences; one that nothing fits where there is no candidate.
    """
    if not candidates:
        return ["Nothing fits: no instance type of the chosen clouds and regions can run this workload."]
    reasons: list[str] = []
    currencies = sorted({one.cost.currency for one in candidates if one.cost and one.rank})
    if currencies:
        basis = _rank_basis(candidates)
        reasons.append(f"Ranked by the cost of {basis} at list prices on demand; storage and traffic are left out.")
    if len(currencies) > 1:
        reasons.append(f"Ranked within each currency ({', '.join(currencies)}); currencies are not converted.")
    unranked = sum(one.rank is None for one in candidates)
    if unranked:
        why = "their price or their speed is unknown" if has_prices else "no price book was given"
        reasons.append(f"{unranked} of {len(candidates)} candidates are not ranked by cost: {why}.")
    if job.trains and job.is_transformer and job.request.tokens is None:
        reasons.append("Without 'tokens' there is no end: time and cost per training are not estimated.")
    return reasons


def distance_of_miss(miss: NearMiss) -> tuple[bool, int, float, str]:
    """Nearest first: offered somewhere, fewest reasons, most GPU memory."""
    row = miss.instance_type
    memory = (row.gpu_memory_gib or 0) * (row.gpu_count or 0)
    return row.regions == (), len(miss.reasons), -memory, row.instance_type


def _rank_basis(candidates: Iterable[Candidate]) -> str:
    """What costs are compared by: the whole training, else the work done, else the hour."""
    costs = [one.cost for one in candidates if one.cost is not None]
    if any(cost.total is not None for cost in costs):
        return "the whole training"
    return "a billion tokens" if any(cost.per_billion_tokens is not None for cost in costs) else "an hour"


def _rank_value(one: Candidate, basis: str) -> float | None:
    if one.cost is None:
        return None
    if basis == "the whole training":
        return one.cost.total
    return one.cost.per_billion_tokens if basis == "a billion tokens" else one.cost.per_hour


def _unpriced_key(one: Candidate) -> tuple[bool, float, float, str]:
    memory = (gpu_memory_gib(one.instance_type, one.gpu) or 0) * one.layout.gpus
    hours = 0.0 if one.duration is None else one.duration.gpu_hours
    return one.duration is None, hours, memory, one.instance_type.instance_type
