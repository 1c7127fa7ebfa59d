"""Whether one instance type can run a job, what that takes, and why another cannot."""

from dataclasses import dataclass
from datetime import date
from math import ceil

from gpuyard.catalog import Gpu, InstanceType, gpus
from gpuyard.catalog import regions as catalog_regions
from gpuyard.planning.workload.answer import Candidate, NearMiss
from gpuyard.planning.workload.cold_start import ColdStart, cold_start
from gpuyard.planning.workload.cost import Cost, PriceSource, cost_of, purchase_advice
from gpuyard.planning.workload.duration import Duration
from gpuyard.planning.workload.explain import layout_reasons
from gpuyard.planning.workload.fabric import fabric_need
from gpuyard.planning.workload.hardware import Hardware, best_precision, hardware_of, supports
from gpuyard.planning.workload.job import Job
from gpuyard.planning.workload.layout import Layout
from gpuyard.planning.workload.memory import GB, weight_bytes
from gpuyard.planning.workload.ranking import distance_of_miss, ranked
from gpuyard.planning.workload.requirements import INFERENCE_CLASS, Check, class_checks, is_large, scale_checks
from gpuyard.planning.workload.sizing import Sizing, duration_of, size, tokens_per_s
from gpuyard.planning.workload.storage import storage_need
from gpuyard.spec.problems import one_of


class Judge:
    """Judges instance types for one job; equal nodes are sized once."""

    def __init__(self, job: Job, prices: PriceSource | None, on: date) -> None:
        self._job = job
        self._prices = prices
        self._on = on
        self._sized: dict[Hardware, Sizing] = {}

    def candidates_and_misses(self, rows: list[InstanceType]) -> tuple[tuple[Candidate, ...], tuple[NearMiss, ...]]:
        """The types that can run the job, best first, and those that cannot, nearest first."""
        judged = [self._judge(row) for row in rows]
        misses = [one for one in judged if isinstance(one, NearMiss)]
        misses.sort(key=distance_of_miss)
        return ranked([one for one in judged if isinstance(one, Candidate)]), tuple(misses)

    def _judge(self, row: InstanceType) -> Candidate | NearMiss:
        job, gpu = self._job, gpus()[str(row.gpu_model)]
        regions, why_not = _regions(row, job.request.regions)
        precision = job.request.precision or best_precision(gpu)
        can = supports(gpu, precision)
        checks = class_checks(job, row, gpu)
        failed = [*why_not, *(check.reason for check in checks if check.met is not True)]
        if can is False:
            failed.append(f"{gpu.model} has no {precision.upper()}.")
        node = hardware_of(row, gpu, precision)
        if node is None:
            failed.append("The number or the memory of its GPUs is unknown to the catalog.")
        elif job.trains and job.request.gpus is not None:
            # The scale is known before any layout is looked for.
            checks = (*checks, *scale_checks(row, ceil(job.request.gpus / node.gpus) * node.gpus))
            failed += [check.reason for check in checks if check.met is not True and check.reason not in failed]
        if failed or node is None:
            return NearMiss(row, tuple(_sentence(text) for text in failed))
        sizing = self._sized.get(node)
        if sizing is None:
            sizing = self._sized[node] = size(job, node)
        if sizing.layout is None:
            return NearMiss(row, sizing.reasons)
        if job.trains and job.request.gpus is None:
            checks = (*checks, *scale_checks(row, sizing.layout.nodes * node.gpus))
        failed = [_sentence(check.reason) for check in checks if check.met is not True]
        duration = duration_of(job, node, sizing.layout)
        failed += _late(job, duration)
        start = None if job.trains else self._cold_start(row, sizing.layout, node)
        if start is not None and start.meets is False:
            failed += start.reasons
        if failed:
            return NearMiss(row, tuple(failed))
        unknown = [f"Whether {gpu.model} computes in {precision.upper()} is unknown."] if can is None else []
        found = _Found(row, gpu, node, regions, sizing.layout, checks, duration, start, (*sizing.reasons, *unknown))
        return self._candidate(found)

    def _candidate(self, found: "_Found") -> Candidate:
        job, row, layout, duration = self._job, found.row, found.layout, found.duration
        fabric = storage = cost = None
        if layout.time is not None:
            fabric = fabric_need(layout.time, layout.nodes, layout.tensor, is_large=is_large(job))
            storage = storage_need(job, found.node.precision, layout.gpus, tokens_per_s(job, layout))
        if self._prices is not None:
            cost = cost_of(
                row,
                found.regions or (),
                layout.nodes,
                self._prices,
                self._on,
                hours=None if duration is None else duration.hours,
                tokens_per_s=tokens_per_s(job, layout),
            )
        reasons = [
            *layout_reasons(job, row, found.gpu, found.node, layout),
            *found.reasons,
            *(_sentence(check.reason) for check in found.checks),
            *(() if found.start is None else found.start.reasons),
            *_kind_reasons(job, row),
            *_price_reasons(cost, self._prices),
        ]
        if found.regions is None:
            reasons.append("Where it is offered is unknown to the catalog.")
        return Candidate(
            instance_type=row,
            gpu=found.gpu,
            precision=found.node.precision,
            regions=found.regions,
            layout=layout,
            checks=found.checks,
            fabric=fabric,
            storage=storage,
            cold_start=found.start,
            duration=duration,
            cost=cost,
            rank=None,
            purchase=purchase_advice(job, row, layout.nodes, None if duration is None else duration.days),
            reasons=tuple(reasons),
        )

    def _cold_start(self, row: InstanceType, layout: Layout, node: Hardware) -> ColdStart:
        job = self._job
        weights = weight_bytes(job.frozen_parameters, layout.weight_bits)
        # A node loads one copy for all its replicas, or its part of a copy that spans nodes.
        part = min(1.0, node.gpus / (layout.tensor * layout.pipeline))
        return cold_start(job.server_image_gb * GB, weights * part, row.network_gbps)


@dataclass(frozen=True, slots=True)
class _Found:
    """What is known of a type that can run the work, before its needs and cost are told."""

    row: InstanceType
    gpu: Gpu
    node: Hardware
    regions: tuple[str, ...] | None
    layout: Layout
    checks: tuple[Check, ...]
    duration: Duration | None
    start: ColdStart | None
    reasons: tuple[str, ...]


def _regions(row: InstanceType, asked: list[str]) -> tuple[tuple[str, ...] | None, list[str]]:
    if not asked:
        if row.regions is not None and not row.regions:
            return (), ["is offered in no region that the catalog knows of."]
        return row.regions, []
    asked = [region for region in asked if region in catalog_regions(row.cloud)]
    offered = {region: row.offered_in(region) for region in asked}
    here = tuple(region for region, yes in offered.items() if yes)
    if here:
        return here, []
    if any(yes is None for yes in offered.values()):
        return (), [f"Whether it is offered in {one_of(asked)} is unknown to the catalog."]
    return (), [f"is not offered in {one_of(asked)}."]


def _late(job: Job, duration: Duration | None) -> list[str]:
    target = job.target_days
    if target is None or job.request.gpus is None:
        return []
    if duration is None:
        return ["Whether it meets the target cannot be told: the time is unknown."]
    if duration.days <= target:
        return []
    return [f"Takes {duration.days:,.1f} days on the GPUs asked for, not {target:g}."]


def _kind_reasons(job: Job, row: InstanceType) -> list[str]:
    if job.request.task == "inference":
        card = f"{row.gpu_model} is an inference card: little power, little idle cost."
        burst = "The network's rate is a peak ('up to'), so a cold start may take longer."
        return [*([card] if row.gpu_model in INFERENCE_CLASS else []), *([burst] if row.network_burst else [])]
    if job.request.task != "rl":
        return []
    if row.local_nvme_count and row.local_nvme_gb_each:
        return [f"Has local NVMe for rollouts: {row.local_nvme_count} × {row.local_nvme_gb_each:,.0f} GB."]
    return ["No local NVMe is known: attach a fast SSD for rollouts, of 500 MB/s or more."]


def _price_reasons(cost: Cost | None, prices: PriceSource | None) -> list[str]:
    if prices is None:
        return []
    if cost is None:
        return ["No hourly price is known: it is not ranked by cost."]
    if cost.stale:
        return [f"The price is stale ({cost.price_date or 'undated'}): read a new one before you rely on the rank."]
    return []


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
