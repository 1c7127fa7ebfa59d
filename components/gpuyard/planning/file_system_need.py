"""Throughput that a workload needs of the file system that its nodes share."""

from dataclasses import dataclass
from math import ceil

from gpuyard.planning.plans import Place
from gpuyard.planning.workload.assumptions import READ_FLOOR_MB_PER_S
from gpuyard.planning.workload.job import job_of
from gpuyard.planning.workload.memory import GB
from gpuyard.planning.workload.request import WorkloadRequest
from gpuyard.planning.workload.storage import MB, storage_need


@dataclass(frozen=True, slots=True)
class ThroughputNeed:
    """What the work needs of a file system in MB/s, None when nothing is known of it; and where that comes from."""

    mb_per_s: int | None
    why: str


def throughput_need(place: Place, gpus: int | None) -> ThroughputNeed:
    """What a workload needs of the file system that its nodes share.

    The larger of two: reading the data, never under the floor of the planner's assumptions; and writing one checkpoint
    within the longest pause that leaves the training its share of the time. Checkpoints are counted as those of
    mixed-precision Adam, the larger kind.

    Args:
        place: Where, with the kind of work and the model's size.
        gpus: GPUs that train together; None when unknown.

    Returns:
        The need, or None with the reason.

    Source: planning/workload/storage.py (Young 1974, solved for the pause; Rajbhandari et al. 2020 for the bytes)
    """
    if place.task is None:
        return ThroughputNeed(None, "what the work needs is unknown without 'workload'")
    if place.task == "inference":
        return ThroughputNeed(None, "what serving a model needs of a file system is unknown")
    if place.model_parameters is None or gpus is None:
        missing = "'model_parameters'" if place.model_parameters is None else "the number of GPUs"
        floor = READ_FLOOR_MB_PER_S.value
        why = f"data is read at {floor:.0f} MB/s at least; what checkpoints need is unknown without {missing}"
        return ThroughputNeed(ceil(floor), why)
    job = job_of(WorkloadRequest.model_validate({"task": place.task, "parameters": place.model_parameters}))
    need = storage_need(job, "bf16", gpus, None)
    write_mb_per_s = need.write_gb_per_s * GB / MB
    if write_mb_per_s <= need.read_mb_per_s:
        return ThroughputNeed(ceil(need.read_mb_per_s), f"data is read at {need.read_mb_per_s:.0f} MB/s at least")
    return ThroughputNeed(
        ceil(write_mb_per_s),
        f"a checkpoint of {need.checkpoint_gb:,.1f} GB on {gpus:,} GPU{'s' if gpus > 1 else ''} is to be written "
        f"within {need.write_s:,.0f} s, so that training stands still for at most {job.pause_share:.0%} of the time",
    )
