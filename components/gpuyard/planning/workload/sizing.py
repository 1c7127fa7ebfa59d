"""How many nodes: the fewest that fit, as many as asked for, or enough for a target time."""

from dataclasses import dataclass
from math import ceil

from gpuyard.planning.workload.duration import Duration, implied_utilization
from gpuyard.planning.workload.explain import slower_reason
from gpuyard.planning.workload.hardware import Hardware
from gpuyard.planning.workload.job import Job
from gpuyard.planning.workload.layout import Layout, layout_on, least_bytes_per_gpu, least_bytes_together
from gpuyard.planning.workload.memory import GIB

GPUS_MAX = 100_000
"""More GPUs than any published job."""
GIVE_UP_AFTER = 8
"""Growing the job this often without gain, by an eighth or more each time, means that nothing is left to gain."""


@dataclass(frozen=True, slots=True)
class Sizing:
    """A number of nodes with its layout, or None with the reason."""

    layout: Layout | None
    reasons: tuple[str, ...] = ()


def size(job: Job, node: Hardware) -> Sizing:
    """The number of nodes of one kind for a job.

    Args:
        job: The work.
        node: One node.

    Returns:
        The layout on as many GPUs as asked for, on enough for the target time, or on the fewest that fit. A target
        that nobody asked for is given up where no number of nodes meets it, or where the time is unknown.
    """
    if job.request.gpus is not None:
        return _as_asked(job, node, ceil(job.request.gpus / node.gpus))
    fewest = fewest_nodes(job, node)
    if fewest.layout is None or job.target_days is None:
        return fewest
    return _in_time(job, node, fewest.layout, job.target_days)


def fewest_nodes(job: Job, node: Hardware) -> Sizing:
    """The fewest nodes that hold a job.

    Args:
        job: The work.
        node: One node.

    Returns:
        The layout, or None with the reason that no number of nodes holds it.
    """
    least = least_bytes_per_gpu(job, node)
    if least > node.usable_bytes:
        where = "in a node that a served copy stays inside" if not job.trains else "however many there are"
        text = (
            f"One GPU needs at least {least / GIB:,.1f} GiB {where}, and {node.usable_bytes / GIB:,.1f} GiB are usable."
        )
        return Sizing(None, (text, *_remedies(job)))
    first = max(1, ceil(least_bytes_together(job, node) / (node.usable_bytes * node.gpus)))
    last = min(GPUS_MAX // node.gpus, max(first * 8, 64) + 16)
    if first > last:
        text = f"It needs at least {first * node.gpus:,} GPUs; more than {GPUS_MAX:,} are not planned."
        return Sizing(None, (text,))
    failed, nodes = first - 1, first
    found: Layout | None = None
    while nodes <= last:
        found = layout_on(job, node, nodes)
        if found is not None:
            break
        failed, nodes = nodes, _divisible(max(nodes + 1, nodes * 5 // 4))
    if found is None:
        text = f"It does not fit on {failed * node.gpus:,} GPUs of {node.usable_bytes / GIB:,.1f} GiB usable."
        return Sizing(None, (text, *_remedies(job)))
    while nodes - failed > 1:
        middle = (nodes + failed) // 2
        better = layout_on(job, node, middle)
        if better is None:
            failed = middle
        else:
            found, nodes = better, middle
    return Sizing(found)


def _divisible(nodes: int) -> int:
    """The next number of nodes that divides into many lengths of pipeline; a prime one fits next to nothing."""
    step = 1 << max(0, nodes.bit_length() - 4)
    return ceil(nodes / step) * step


def duration_of(job: Job, node: Hardware, layout: Layout) -> Duration | None:
    """How long the tokens take on a layout; None without tokens or where a rate is unknown.

    Args:
        job: The work.
        node: One node.
        layout: The layout.

    Returns:
        The duration.
    """
    speed = tokens_per_s(job, layout)
    if job.request.tokens is None or speed is None or node.dense_tflops is None:
        return None
    if layout.time is None or layout.time.efficiency is None:
        return None
    hours = job.request.tokens / speed / 3600
    gpu_hours = hours * layout.nodes * node.gpus
    trains = implied_utilization(
        job.parameters, job.request.tokens, gpu_hours, node.dense_tflops, job.flops_per_token_parameter
    )
    return Duration(hours, gpu_hours, job.utilization, layout.time.efficiency, trains)


def tokens_per_s(job: Job, layout: Layout) -> float | None:
    """Tokens that all GPUs train on a second; None when unknown."""
    if layout.time is None or not layout.time.step_s:
        return None
    return float(job.global_batch) * job.sequence_length / layout.time.step_s


def _as_asked(job: Job, node: Hardware, nodes: int) -> Sizing:
    layout = layout_on(job, node, nodes)
    if layout is None:
        fewest = fewest_nodes(job, node)
        if fewest.layout is None:
            return fewest
        text = f"It does not fit on {nodes * node.gpus:,} GPUs; it does on {fewest.layout.gpus:,}."
        if fewest.layout.nodes < nodes:
            gpus = nodes * node.gpus
            text = f"A batch of {job.global_batch:,} cannot be divided among {gpus:,} GPUs; {fewest.layout.gpus:,} fit."
        return Sizing(None, (text,))
    more = layout.gpus - (job.request.gpus or layout.gpus)
    rounded = (f"{layout.gpus:,} GPUs instead of {job.request.gpus:,}: nodes have {node.gpus}.",) if more else ()
    return Sizing(layout, (*rounded, *_slower(job, node, layout)))


def _in_time(job: Job, node: Hardware, layout: Layout, target_days: float) -> Sizing:
    duration = duration_of(job, node, layout)
    if duration is None and job.target_is_assumed:
        return Sizing(layout, ("The time is unknown: these are the fewest nodes that fit.",))
    if duration is None:
        return Sizing(None, ("Whether it meets the target cannot be told: the time is unknown.",))
    fastest, days, missed = layout, duration.days, layout.nodes - 1
    nodes, in_vain = layout.nodes, 0
    while days > target_days and nodes * node.gpus <= GPUS_MAX and in_vain < GIVE_UP_AFTER:
        missed, nodes = nodes, ceil(nodes * min(max(days / target_days, 1.125), 8))
        larger = layout_on(job, node, nodes)
        took = None if larger is None else duration_of(job, node, larger)
        in_vain += 1
        if larger is not None and took is not None and took.days < days:
            fastest, days, in_vain = larger, took.days, 0
    if days > target_days and job.target_is_assumed:
        text = (
            f"{fastest.gpus:,} GPUs are the fastest: {days:,.1f} days; no number of them takes {target_days:g} or less."
        )
        return Sizing(fastest, (text,))
    if days > target_days:
        text = f"Misses the target: {days:,.1f} instead of {target_days:g} days on {fastest.gpus:,} GPUs, the fastest."
        return Sizing(None, (text,))
    while fastest.nodes - missed > 1:
        middle = (fastest.nodes + missed) // 2
        smaller = layout_on(job, node, middle)
        took = None if smaller is None else duration_of(job, node, smaller)
        if smaller is not None and took is not None and took.days <= target_days:
            fastest, days = smaller, took.days
        else:
            missed = middle
    text = f"{fastest.gpus:,} GPUs meet the target: {days:,.1f} of {target_days:g} days."
    return Sizing(fastest, (text, *_slower(job, node, fastest)))


def _slower(job: Job, node: Hardware, layout: Layout) -> tuple[str, ...]:
    """The reason, where one node fewer or half of them would be faster."""
    mine = tokens_per_s(job, layout)
    if mine is None or layout.nodes == 1:
        return ()
    for nodes in {layout.nodes - 1, layout.nodes // 2}:
        fewer = layout_on(job, node, nodes)
        speed = None if fewer is None else tokens_per_s(job, fewer)
        if fewer is not None and speed is not None and speed > mine:
            return (slower_reason(layout, fewer),)
    return ()


def _remedies(job: Job) -> tuple[str, ...]:
    request = job.request
    found: list[str] = []
    if request.sharding in ("none", "zero1", "zero2"):
        found.append("'sharding: zero3'")
    if request.recomputation in ("none", "selective"):
        found.append("'recomputation: full'")
    if request.task == "inference" and min(job.weight_bits) > 4:
        found.append("'quantization_bits: 4'")
    if job.micro_batch > 1:
        found.append("a smaller 'micro_batch'")
    return (f"It may with {' or '.join(found)}.",) if found else ()
