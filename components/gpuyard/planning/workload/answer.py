"""The planner's answer."""

from dataclasses import dataclass

from gpuyard.catalog import Gpu, InstanceType
from gpuyard.planning.workload.cold_start import ColdStart
from gpuyard.planning.workload.cost import Cost, PurchaseAdvice
from gpuyard.planning.workload.duration import Duration
from gpuyard.planning.workload.fabric import FabricNeed
from gpuyard.planning.workload.job import Job
from gpuyard.planning.workload.layout import Layout
from gpuyard.planning.workload.memory import Precision
from gpuyard.planning.workload.request import WorkloadRequest
from gpuyard.planning.workload.requirements import Check
from gpuyard.planning.workload.storage import StorageNeed


@dataclass(frozen=True, slots=True)
class Candidate:
    """One instance type that can run the workload.

    ``regions`` are those asked for that offer it, or all; None when unknown. ``fabric`` and ``storage`` are None for
    serving, ``cold_start`` for training; ``duration`` without tokens or where a rate is unknown; ``cost`` without a
    price. ``rank`` counts from 1 within one currency; None when it is not ranked by cost.
    """

    instance_type: InstanceType
    gpu: Gpu
    precision: Precision
    regions: tuple[str, ...] | None
    layout: Layout
    checks: tuple[Check, ...]
    fabric: FabricNeed | None
    storage: StorageNeed | None
    cold_start: ColdStart | None
    duration: Duration | None
    cost: Cost | None
    rank: int | None
    purchase: PurchaseAdvice
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NearMiss:
    """One instance type that cannot run the workload, or of which that cannot be told, and why."""

    instance_type: InstanceType
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WorkloadPlan:
    """The answer: candidates, best first; near misses, nearest first; what was assumed.

    ``alternatives`` are candidates with the nearest GPU where no chosen cloud rents the one asked for.
    """

    request: WorkloadRequest
    job: Job
    candidates: tuple[Candidate, ...]
    near_misses: tuple[NearMiss, ...]
    alternatives: tuple[Candidate, ...]
    reasons: tuple[str, ...]
