"""What ``gpuyard plan`` shows: text for people, JSON for programs."""

from collections.abc import Iterator
from typing import Any, cast

from pydantic_core import to_jsonable_python

from gpuyard.cli.catalog_output import print_facts, print_json, print_table, say
from gpuyard.cli.plan_input import in_options_words
from gpuyard.cli.plan_words import (
    assumed,
    choice_rows,
    cold_start_facts,
    duration_words,
    fabric_facts,
    layout_facts,
    memory_rows,
    question,
    storage_facts,
    time_words,
)
from gpuyard.planning.workload import Assumption, Candidate, WorkloadPlan, all_assumptions

SHOWN = 5
"""Candidates of one currency, and near misses, that are shown without ``--all``."""
_WAYS = {"on_demand": "on demand", "reserved": "reserved", "spot": "spot"}


def show_plan(plan: WorkloadPlan, prices: str, *, every: bool = False, explain: bool = False) -> None:
    """Print a plan for people: the question, the best candidate in full, the others, and near misses.

    Args:
        plan: The plan.
        prices: How the price book is called.
        every: Show every candidate and near miss.
        explain: Add every reason, and every assumption with its source.
    """
    say(question(plan))
    if plan.candidates or not plan.alternatives:
        say(assumed(plan))
    best = plan.candidates[0] if plan.candidates else plan.alternatives[0] if plan.alternatives else None
    if best is None:
        say(f"\n{in_options_words(plan.reasons[-1])}")
    else:
        _show_best(plan, best)
        _show_candidates(plan, prices, every=every)
    _show_misses(plan, every=every)
    _show_reasons(plan, best, explain=explain)
    if explain:
        _show_assumptions()
    else:
        say("\n--explain adds every reason, and who says each assumed figure; --all shows every candidate.")


def print_plan_json(plan: WorkloadPlan) -> None:
    """Print a plan as JSON; unknown is ``null``, and instance types and GPUs stand by their names."""
    print_json(plan_data(plan))


def plan_data(plan: WorkloadPlan) -> dict[str, Any]:
    """A plan as plain data.

    Args:
        plan: The plan.

    Returns:
        The request as given, what was assumed, candidates, near misses, alternatives and reasons.
    """
    return {
        "request": plan.request.model_dump(mode="json", exclude_defaults=True) | {"task": plan.request.task},
        "job": _plain_job(plan),
        "assumptions": {name: to_jsonable_python(one) for name, one in all_assumptions().items()},
        "candidates": [_plain_candidate(one) for one in plan.candidates],
        "near_misses": [
            {
                "cloud": one.instance_type.cloud,
                "instance_type": one.instance_type.instance_type,
                "reasons": list(one.reasons),
            }
            for one in plan.near_misses
        ],
        "alternatives": [_plain_candidate(one) for one in plan.alternatives],
        "reasons": list(plan.reasons),
    }


def _plain_job(plan: WorkloadPlan) -> dict[str, Any]:
    job = cast(dict[str, Any], to_jsonable_python(plan.job))
    return {key: value for key, value in job.items() if key not in ("request", "reasons")}


def _plain_candidate(one: Candidate) -> dict[str, Any]:
    data = cast(dict[str, Any], to_jsonable_python(one))
    data["memory"] = {
        **data["layout"].pop("memory"),
        "state_gib": one.layout.memory.state_gib,
        "total_gib": one.layout.memory.total_gib,
    }
    data["layout"]["gpus"] = one.layout.gpus
    if one.duration is not None:
        data["duration"]["days"] = one.duration.days
    return data | {
        "cloud": one.instance_type.cloud,
        "instance_type": one.instance_type.instance_type,
        "gpu": one.gpu.model,
    }


def _show_best(plan: WorkloadPlan, best: Candidate) -> None:
    row = best.instance_type
    nodes = f"{best.layout.nodes:,} node{'s' if best.layout.nodes > 1 else ''} of {row.instance_type} ({row.cloud})"
    gpus = f"{best.layout.gpus:,} × {best.gpu.model}"
    which = "First candidate" if plan.candidates else "Nearest alternative"
    say(f"\n{which}: {nodes}, {gpus}")
    print_table(
        ["memory of each GPU", "GiB", "how"],
        memory_rows(plan.job, best),
        right=("GiB",),
    )
    if plan.job.trains and plan.job.is_transformer:
        heads = ["none", "selective", "full"]
        usable = f"{best.layout.memory.usable_gib:,.1f} usable"
        print_table(
            ["sharding", "state", *heads],
            choice_rows(plan.job, best),
            title=f"GiB of each GPU by sharding and recomputation, same division ({usable})",
            right=("state", *heads),
        )
    print_facts("Layout", layout_facts(plan.job, best))
    if best.fabric is not None:
        print_facts("Fabric", fabric_facts(best))
    if best.storage is not None:
        print_facts("Storage", storage_facts(best))
    if best.cold_start is not None:
        print_facts("Cold start", cold_start_facts(best.cold_start))
    print_facts("Time and purchase", [*duration_words(plan, best), ("buy", " ".join(best.purchase.reasons))])


def _show_candidates(plan: WorkloadPlan, prices: str, *, every: bool) -> None:
    candidates = plan.candidates or plan.alternatives
    shown = list(_first_of_each_currency(candidates, None if every else SHOWN))
    trains = plan.job.trains
    times = "time" if trains else "start"
    title = "Candidates" if plan.candidates else "Alternatives with the nearest GPU"
    print_table(
        ["#", "type", "cloud", "nodes\n× GPUs", times, "cost", "price of", "buy"],
        [_candidate_cells(number, one, trains=trains) for number, one in shown],
        title=f"{title} ({prices})",
        right=("#", "nodes\n× GPUs", times, "cost"),
        whole=2,
    )
    if len(shown) < len(candidates):
        say(f"{len(candidates) - len(shown)} more with --all.")


def _first_of_each_currency(candidates: tuple[Candidate, ...], most: int | None) -> Iterator[tuple[int, Candidate]]:
    counts: dict[str | None, int] = {}
    for number, one in enumerate(candidates, start=1):
        currency = one.cost.currency if one.cost is not None and one.rank is not None else None
        counts[currency] = counts.get(currency, 0) + 1
        if most is None or counts[currency] <= most:
            yield number, one


def _candidate_cells(number: int, one: Candidate, *, trains: bool) -> list[Any]:
    row, cost = one.instance_type, one.cost
    if trains:
        time = "?" if one.duration is None else time_words(one.duration.days)
    else:
        time = "?" if one.cold_start is None else f"{one.cold_start.total_s:,.0f} s"
    if cost is None:
        price, when = "?", "?"
    else:
        whole = cost.total is not None
        price = f"{cost.currency} {cost.total:,.0f}" if whole else f"{cost.currency} {cost.per_hour:,.2f}/h"
        when = f"{cost.price_date or 'undated'}{' stale' if cost.stale else ''}"
    return [
        number,
        row.instance_type,
        row.cloud,
        f"{one.layout.nodes:,} × {row.gpu_count}",
        time,
        price,
        when,
        _WAYS[one.purchase.ways[0]],
    ]


def _show_misses(plan: WorkloadPlan, *, every: bool) -> None:
    misses = plan.near_misses if every else plan.near_misses[:SHOWN]
    if not misses:
        return
    print_table(
        ["near miss", "cloud", "why not"],
        [
            [
                one.instance_type.instance_type,
                one.instance_type.cloud,
                in_options_words(" ".join(one.reasons if every else one.reasons[:1])),
            ]
            for one in misses
        ],
        title="Near misses",
    )
    if len(misses) < len(plan.near_misses):
        say(f"{len(plan.near_misses) - len(misses)} more with --all.")


def _show_reasons(plan: WorkloadPlan, best: Candidate | None, *, explain: bool) -> None:
    # What was assumed of the job, and that nothing fits, was said above.
    known = () if explain else (*plan.job.reasons, *(() if best else plan.reasons[-1:]))
    general = [text for text in plan.reasons if text not in known]
    if general:
        say("")
    for text in general:
        say(f"- {in_options_words(text)}")
    if best is not None and explain:
        say(f"\nWhy {best.instance_type.instance_type}:")
        for text in best.reasons:
            say(f"- {in_options_words(text)}")


def _show_assumptions() -> None:
    rows = [[name, f"{one.value:,.3g}", one.unit, _meaning(one)] for name, one in all_assumptions().items()]
    print_table(
        ["assumed", "value", "unit", "what it is, and who says so"], rows, title="Assumed figures", right=("value",)
    )


def _meaning(one: Assumption) -> str:
    return f"{one.meaning[:1].upper()}{one.meaning[1:]}. Source: {one.source}."
