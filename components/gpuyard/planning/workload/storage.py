"""What storage a training job needs: reading data, writing checkpoints, and how often."""

from dataclasses import dataclass
from math import sqrt

from gpuyard.planning.workload.assumptions import (
    BYTES_PER_IMAGE,
    BYTES_PER_TOKEN,
    CHECKPOINT_INTERVAL_MAX_HOURS,
    FAILURES_PER_GPU_HOUR,
    READ_FLOOR_MB_PER_S,
    READ_HEADROOM,
)
from gpuyard.planning.workload.job import Job
from gpuyard.planning.workload.memory import GB, Precision

MB = 10**6


@dataclass(frozen=True, slots=True)
class StorageNeed:
    """What the storage must do, for a number of GPUs.

    ``read_mb_per_s`` and ``write_gb_per_s`` are of the whole job; ``write_s`` is the pause of one checkpoint at that
    rate and ``interval_s`` the time from one to the next; ``mean_time_between_failures_h`` is of the whole job.
    ``read_mb_per_s`` is the floor where the speed of the job is unknown.
    """

    read_mb_per_s: float
    checkpoint_gb: float
    write_gb_per_s: float
    write_s: float
    interval_s: float
    mean_time_between_failures_h: float
    reasons: tuple[str, ...]


def checkpoint_bytes_per_parameter(precision: Precision) -> float:
    """Bytes of a full checkpoint for one trained parameter.

    Mixed-precision Adam: 2 (weight) + 12 (FP32 copy, momentum, variance) = 14; FP32: 4 + 8 = 12. Gradients are not
    saved. BLOOM, 176 B: 329 GB of BF16 weights, 2.3 TB with the optimizer, which is 13 to 14 bytes a parameter
    (between TB and TiB).

    Source: Rajbhandari et al. 2020, ZeRO, section 3.1; BigScience 176B Model, 'checkpoint size',
    https://bigscience.notion.site/BigScience-176B-Model-ad073ca07cdf479398d5f95d88e218c4.

    Args:
        precision: Number format of the training.

    Returns:
        Bytes.
    """
    return 12.0 if precision == "fp32" else 14.0


def mean_time_between_failures_h(gpus: int) -> float:
    """Hours between two unexpected interruptions of a job: one over GPUs times the rate of one GPU.

    Source: Llama Team 2024, The Llama 3 Herd of Models, section 3.3.4: 419 in 54 days on 16,384 H100, one in about 3 h,
    about 78 % of them hardware. Scaled to other sizes as if GPUs failed independently.

    Args:
        gpus: GPUs of the job.

    Returns:
        Hours.
    """
    return 1 / (FAILURES_PER_GPU_HOUR.value * gpus)


def young_interval_s(write_s: float, mean_time_between_failures_s: float) -> float:
    """Seconds of work between two checkpoints that waste least: √(2·δ·M).

    Source: Young 1974, A first order approximation to the optimum checkpoint interval.

    Args:
        write_s: Seconds δ that the job stands still for one checkpoint.
        mean_time_between_failures_s: Seconds M between two failures.

    Returns:
        Seconds.
    """
    return sqrt(2 * write_s * mean_time_between_failures_s)


def daly_interval_s(write_s: float, mean_time_between_failures_s: float) -> float:
    """Young's interval with Daly's higher-order terms: √(2δM)·(1 + ⅓·√(δ/2M) + δ/18M) − δ, for δ < 2M; else M.

    Source: Daly 2006, A higher order estimate of the optimum checkpoint interval for restart dumps, equation 37.

    Args:
        write_s: Seconds δ that the job stands still for one checkpoint.
        mean_time_between_failures_s: Seconds M between two failures.

    Returns:
        Seconds.
    """
    delta, mean = write_s, mean_time_between_failures_s
    if delta >= 2 * mean:
        return mean
    ratio = delta / (2 * mean)
    return sqrt(2 * delta * mean) * (1 + sqrt(ratio) / 3 + ratio / 9) - delta


def longest_write_s(pause_share: float, mean_time_between_failures_s: float) -> float:
    """Longest pause of a checkpoint that keeps pauses under a share of the time, at Young's interval.

    The share is δ/√(2δM) = √(δ/2M), so δ = 2·M·share².

    Source: Young 1974, solved for δ.

    Args:
        pause_share: Share of the time that may be spent on pauses.
        mean_time_between_failures_s: Seconds M between two failures.

    Returns:
        Seconds.
    """
    return 2 * mean_time_between_failures_s * pause_share**2


def storage_need(job: Job, precision: Precision, gpus: int, tokens_per_s: float | None) -> StorageNeed:
    """What storage this job needs on this many GPUs.

    Args:
        job: A job that trains.
        precision: Number format of the training.
        gpus: GPUs of the job.
        tokens_per_s: Tokens that all GPUs consume a second; None when unknown.

    Returns:
        The need, with reasons.
    """
    size = job.trained_parameters * checkpoint_bytes_per_parameter(precision)
    mean_s = mean_time_between_failures_h(gpus) * 3600
    longest_interval_s = CHECKPOINT_INTERVAL_MAX_HOURS.value * 3600
    write_s = longest_write_s(job.pause_share, mean_s)
    interval_s = young_interval_s(write_s, mean_s)
    why = f"by Young's formula; {daly_interval_s(write_s, mean_s) / 60:,.0f} min by Daly's"
    if interval_s > longest_interval_s:
        interval_s, write_s = longest_interval_s, longest_interval_s * job.pause_share
        why = f"failures are rarer, but {CHECKPOINT_INTERVAL_MAX_HOURS.value:.0f} h of lost work is the most"
    read, read_why = _read(job, tokens_per_s)
    rate = size / write_s / GB
    reasons = [
        read_why,
        f"A checkpoint is {size / GB:,.1f} GB ({checkpoint_bytes_per_parameter(precision):.0f} bytes for each trained "
        "parameter).",
        f"{gpus:,} GPU{'s fail' if gpus > 1 else ' fails'} about once in {mean_s / 3600:,.1f} h; a checkpoint every "
        f"{interval_s / 60:,.0f} min ({why}) may pause {write_s:,.0f} s to stay under {job.pause_share:.0%} of the "
        f"time: {rate_words(rate)} of writing.",
    ]
    if job.request.allow_interruptions:
        reasons.append("Spot interruptions come on top of failures; their rate is unknown, so write more often.")
    if job.request.task == "rl":
        reasons.append("RL writes and reads rollouts all the time: use local NVMe or a fast SSD, not object storage.")
    return StorageNeed(read, size / GB, rate, write_s, interval_s, mean_s / 3600, tuple(reasons))


def rate_words(gb_per_s: float) -> str:
    """A rate as people read it: GB/s, or MB/s where that is under 0.1."""
    return f"{gb_per_s:,.2f} GB/s" if gb_per_s >= 0.1 else f"{gb_per_s * GB / MB:,.3g} MB/s"


def _whole(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:.2g}"


def _read(job: Job, tokens_per_s: float | None) -> tuple[float, str]:
    floor = READ_FLOOR_MB_PER_S.value
    if tokens_per_s is None:
        return floor, f"The speed of the job is unknown; read at least {floor:.0f} MB/s."
    if job.request.task == "vision":
        per_s, unit = tokens_per_s / job.sequence_length, f"images of {BYTES_PER_IMAGE.value / 1000:.0f} kB"
        average = per_s * BYTES_PER_IMAGE.value / MB
    else:
        per_s, unit = tokens_per_s, f"tokens of {BYTES_PER_TOKEN.value:.0f} bytes"
        average = per_s * BYTES_PER_TOKEN.value / MB
    wanted = average * READ_HEADROOM.value
    shown = f"{average:,.1f}" if average >= 1 else f"{average:.2g}"
    text = f"The job reads {per_s:,.0f} {unit} a second, {shown} MB/s; with headroom {_whole(wanted)} MB/s"
    return max(wanted, floor), text + (f", never under {floor:.0f} MB/s." if wanted < floor else ".")
