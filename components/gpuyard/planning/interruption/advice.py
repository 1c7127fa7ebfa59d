"""What to do about a spot pool that is likely to be interrupted: another type or zone, and what it costs meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gpuyard.catalog import InstanceType
from gpuyard.planning.interruption.advisor import Advisor, ShareRange
from gpuyard.planning.interruption.history import History
from gpuyard.planning.interruption.rate import Risk, Settings, Tally, Verdict, risk_of, verdict_of
from gpuyard.planning.machines import choose_types
from gpuyard.planning.plans import NodePoolPlan, Place
from gpuyard.planning.workload.storage import daly_interval_s
from gpuyard.spec.node_pools import NodePoolSpec
from gpuyard.spec.problems import first_of

_GOOD: tuple[Verdict, ...] = ("low", "uncertain")
_WORST_FIRST: tuple[Verdict, ...] = ("high", "unknown", "uncertain", "low")


@dataclass(frozen=True, slots=True)
class Spot:
    """Nodes of one kind that run on spot: what is judged.

    ``types`` are all that the nodes may be of, ``zones`` where; ``named`` says whether the description names the one
    type, which can be switched then; ``spec`` and ``place`` find what is equivalent.
    """

    name: str
    types: tuple[InstanceType, ...]
    zones: tuple[str, ...]
    nodes: int
    named: bool
    spec: NodePoolSpec
    place: Place


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of interruptions: the history of one's own nodes, and the cloud's advisor where there is one."""

    history: History
    advisor: Advisor | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """One type in one zone: what was seen (None: nothing), the risk (None: unknown), how it is judged, and why."""

    instance_type: str
    zone: str
    seen: Tally | None
    advisor: ShareRange | None
    risk: Risk | None
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class Switch:
    """What to change in the description: ``instance_type`` to ``to[0]``, or ``zones`` to ``to``."""

    key: Literal["instance_type", "zones"]
    to: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """How a job on the nodes saves its work, in seconds: from one checkpoint to the next, and what a write stops it."""

    interval_s: float
    write_s: float | None = None
    restart_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Loss:
    """Hours of the whole job that are expected to be lost in the period; ``best_interval_s`` is Daly's.

    ``hours_upper`` and ``best_interval_s`` are None where no bound, or no write time, is known.
    """

    hours: float
    hours_upper: float | None
    best_interval_s: float | None


@dataclass(frozen=True, slots=True)
class Advice:
    """One pool: every type and zone it may use, the worst verdict of them, and what to change."""

    name: str
    nodes: int
    verdict: Verdict
    judged: tuple[Judged, ...]
    others: tuple[Judged, ...]
    switch: Switch | None
    loss: Loss | None
    reasons: tuple[str, ...]


def spot_of(plan: NodePoolPlan, spec: NodePoolSpec) -> Spot | None:
    """The spot nodes of a pool at its largest; None for a pool without any."""
    nodes = plan.max_nodes - plan.on_demand_nodes
    if plan.purchase != "spot" or nodes < 1:
        return None
    named = spec.instance_type is not None
    return Spot(plan.name, plan.instance_types, plan.zones, nodes, named, spec, plan.place)


def spot_of_type(row: InstanceType, region: str, zone: str, nodes: int) -> Spot:
    """Spot nodes of one type, outside of any stack."""
    spec = NodePoolSpec.model_validate({"nodes": nodes, "instance_type": row.instance_type, "purchase": "spot"})
    return Spot(row.instance_type, (row,), (zone,), nodes, True, spec, Place(row.cloud, region, "dev", zone))


def advise(spot: Spot, evidence: Evidence, settings: Settings, checkpoints: Checkpoints | None = None) -> Advice:
    """Judge the types and zones of a pool, and look for better ones where it is likely to be interrupted.

    A pool that mixes types is judged by its worst: nobody promises that nodes do not land there.

    Args:
        spot: The nodes.
        evidence: What is known.
        settings: How to judge.
        checkpoints: How the job saves its work, for what it loses; not asked when left out.

    Returns:
        The advice.
    """
    judged = tuple(_judge(row, zone, spot, evidence, settings) for zone in spot.zones for row in spot.types)
    worst = min(judged, key=lambda one: _WORST_FIRST.index(one.verdict))
    high = [one for one in judged if one.verdict == "high"]
    switch, others, reasons = (None, (), []) if not high else _better(spot, high, judged, evidence, settings)
    riskiest = max((one.risk for one in judged if one.risk is not None), key=lambda risk: risk.expected, default=None)
    return Advice(
        name=spot.name,
        nodes=spot.nodes,
        verdict=worst.verdict,
        judged=judged,
        others=tuple(others),
        switch=switch,
        loss=None if checkpoints is None or riskiest is None else expected_loss(riskiest, checkpoints),
        reasons=tuple(reasons),
    )


def expected_loss(risk: Risk, checkpoints: Checkpoints) -> Loss:
    """Hours of a job on all nodes that interruptions are expected to cost in the period.

    Each interruption costs half an interval of work, which has to be done again, and the restart; never more than the
    period itself. The best interval for the same rate is Daly's.

    Source: Young 1974 and Daly 2006, as in ``planning/workload/storage.py``.

    Args:
        risk: The risk.
        checkpoints: How the job saves its work.

    Returns:
        The loss.
    """
    each_hours = (checkpoints.interval_s / 2 + checkpoints.restart_s) / 3600
    upper = None if risk.expected_upper is None else min(risk.expected_upper * each_hours, risk.hours)
    per_hour = risk.rate_per_hour * risk.nodes
    best = None
    if checkpoints.write_s is not None and per_hour > 0:
        best = daly_interval_s(checkpoints.write_s, 3600 / per_hour)
    return Loss(min(risk.expected * each_hours, risk.hours), upper, best)


def _judge(row: InstanceType, zone: str, spot: Spot, evidence: Evidence, settings: Settings) -> Judged:
    name, place = row.instance_type, spot.place
    seen = evidence.history.tallies.get((place.cloud, place.region, zone, name))
    advisor = evidence.advisor.range_of(place.cloud, place.region, name) if evidence.advisor else None
    risk = None if seen is None else risk_of(seen, spot.nodes, settings)
    if seen is not None and risk is not None:
        times = "1 interruption" if seen.interruptions == 1 else f"{seen.interruptions:,} interruptions"
        reason = f"{times} in {seen.instance_hours:,.0f} instance-hours"
    else:
        reason = _missing_words(seen, name, spot, evidence)
        if advisor is not None:
            risk = advisor.risk(spot.nodes, settings.hours)
            reason += f"; AWS's advisor: {advisor.label} a month"
    return Judged(name, zone, seen, advisor, risk, verdict_of(risk, settings), reason)


def _missing_words(seen: Tally | None, name: str, spot: Spot, evidence: Evidence) -> str:
    if seen is not None and seen.instance_hours <= 0:
        return f"{seen.interruptions:,} interruptions without running hours: a rate needs both"
    if seen is not None:
        return "all history is too long ago"
    elsewhere = evidence.history.zones_of(*_where(spot), name)
    return f"no history here, but of {first_of(elsewhere)}" if elsewhere else "no history"


def _better(
    spot: Spot, high: Sequence[Judged], judged: Sequence[Judged], evidence: Evidence, settings: Settings
) -> tuple[Switch | None, list[Judged], list[str]]:
    """What to switch to, every alternative that was looked at, and what else to say."""
    types = [row for row in _equivalent(spot) if row not in spot.types]
    others = [_judge(row, zone, spot, evidence, settings) for row in types for zone in spot.zones]
    near = sorted(
        {zone for row in spot.types for zone in evidence.history.zones_of(*_where(spot), row.instance_type)}
        - set(spot.zones)
    )
    others += [_judge(row, zone, spot, evidence, settings) for zone in near for row in spot.types]
    worst = _worst_of(high)
    switch = (
        _drop_zones(spot, judged)
        or (_other_type(types, others, worst) if spot.named else None)
        or _other_zone(near, others, worst)
    )
    reasons: list[str] = []
    if switch is None:
        reasons.append("No equivalent type and no other zone is known to be interrupted less throughout.")
    unknown = [one.instance_type for one in others if one.verdict == "unknown" and one.zone in spot.zones]
    if unknown:
        reasons.append(f"Of unknown risk, next in the catalog: {first_of(list(dict.fromkeys(unknown)))}.")
    calm = list(dict.fromkeys(one.instance_type for one in judged if one.verdict in _GOOD))
    if calm and not spot.named:
        reasons.append(f"Of the pool's own types, {first_of(calm)} is interrupted less: 'instance_type' names one.")
    if switch is not None and switch.key == "instance_type" and spot.spec.spot_price_limit is not None:
        reasons.append(f"'spot_price_limit: {spot.spec.spot_price_limit:g}' was for {spot.types[0].instance_type}.")
    if not spot.named and spot.spec.mix == "gpu":
        reasons.append("A pool of more types has more places to go: 'mix: gpu_memory' adds GPUs of the same memory.")
    return switch, others, reasons


def _equivalent(spot: Spot) -> tuple[InstanceType, ...]:
    """Types with as many GPUs of the same model (or memory, as the pool's ``mix`` says), smallest first."""
    first = spot.types[0]
    if first.gpu_model is None or first.gpu_count is None:
        return ()
    asked = {
        "instance_type": None,
        "gpu": first.gpu_model,
        "gpus_per_node": first.gpu_count,
        "bare_metal": first.bare_metal,
    }
    types, _, problems = choose_types(spot.spec.model_copy(update=asked), "elastic", spot.place, ())
    return () if problems else types


def _where(spot: Spot) -> tuple[str, str]:
    return spot.place.cloud, spot.place.region


def _drop_zones(spot: Spot, judged: Sequence[Judged]) -> Switch | None:
    """Leave the zones where all types are interrupted too often, else those where one is; a known one has to remain."""
    for many, how in ((all, "Every type"), (any, "A type")):
        bad = [zone for zone in spot.zones if many(one.verdict == "high" for one in judged if one.zone == zone)]
        kept = tuple(zone for zone in spot.zones if zone not in bad)
        good = [zone for zone in kept if any(one.verdict in _GOOD for one in judged if one.zone == zone)]
        if bad and good:
            return Switch("zones", kept, f"{how} is too high in {first_of(bad)}, and not in {first_of(good)}.")
    return None


def _other_type(types: Sequence[InstanceType], others: Sequence[Judged], worst: float) -> Switch | None:
    rated = {row.instance_type: [one for one in others if one.instance_type == row.instance_type] for row in types}
    # The catalog begins with the smallest, and a larger machine around the same GPUs only costs more.
    return _first_good("instance_type", rated, worst, "has as many of the same GPUs")


def _other_zone(zones: Sequence[str], others: Sequence[Judged], worst: float) -> Switch | None:
    rated = {zone: [one for one in others if one.zone == zone] for zone in zones}
    calmest = dict(sorted(rated.items(), key=lambda item: _worst_of(item[1])))
    found = _first_good("zones", calmest, worst, "is in the same region")
    if found is None:
        return None
    return replace(found, reason=f"{found.reason} A file system in another zone is slower and billed for traffic.")


def _first_good(
    key: Literal["instance_type", "zones"], rated: dict[str, list[Judged]], worst: float, why: str
) -> Switch | None:
    """The first choice that is known to be low throughout, else the first that probably is."""
    for verdicts in (("low",), _GOOD):
        for name, judged in rated.items():
            chance = _worst_of(judged)
            if all(one.verdict in verdicts for one in judged) and chance < worst:
                return Switch(key, (name,), f"{name} {why} and is interrupted with {chance:.1%}, not {worst:.1%}.")
    return None


def _worst_of(judged: Sequence[Judged]) -> float:
    return max(1.0 if one.risk is None else one.risk.probability for one in judged)
