"""From a candidate to a stack file: the text, with comments that say why."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from math import ceil
from textwrap import wrap

from gpuyard.catalog.limits import limit_values
from gpuyard.planning.file_systems import smallest_file_system
from gpuyard.planning.workload.answer import Candidate, WorkloadPlan
from gpuyard.planning.workload.assumptions import BYTES_PER_TOKEN
from gpuyard.planning.workload.memory import GB, GIB
from gpuyard.planning.workload.storage import MB, StorageNeed, rate_words

CHECKPOINTS_ON_FILE_SYSTEM = 3
"""The last good one, the one before it in case the last is damaged, and the one being written."""
CHECKPOINT_KEEP_DAYS, SNAPSHOT_EVERY_HOURS, SNAPSHOT_KEEP_DAYS = 30, 24, 7
_WIDTH = 100


@dataclass(frozen=True, slots=True)
class StackPlace:
    """Where a stack is built: region, zone, kind of environment, and a name (None: the stack's).

    ``second_region`` receives copies of checkpoints and snapshots; None for no copies.
    """

    region: str
    zone: str
    environment: str
    name: str | None = None
    second_region: str | None = None


@dataclass(frozen=True, slots=True)
class FileSystemSize:
    """A file system that holds and moves what a training needs; ``throughput_mb_per_s`` is the least that it must."""

    capacity_gib: int
    throughput_mb_per_s: int
    data_gb: float | None


def stack_file_text(
    plan: WorkloadPlan, candidate: Candidate, place: StackPlace, on: date, command: str = "gpuyard plan"
) -> str:
    """A stack file for one candidate.

    Args:
        plan: The plan that the candidate is of.
        candidate: What is to be built.
        place: Where.
        on: The day of writing.
        command: The command that writes it.

    Returns:
        YAML with a comment above each choice.
    """
    head = _comment(0, f"Written by '{command}' on {on.isoformat()}. {candidate.reasons[0]}")
    return "\n".join([*head, *_lines(plan, candidate, place)]) + "\n"


def file_system_size(plan: WorkloadPlan, need: StorageNeed, cloud: str) -> FileSystemSize:
    """The smallest file system that holds the data and a few checkpoints, and reads and writes fast enough.

    Args:
        plan: The plan, for the size of its data.
        need: What the storage must do.
        cloud: The cloud, whose capacity steps count.

    Returns:
        A capacity that the cloud sells, and the throughput to ask for.
    """
    data_gb = _data_gb(plan)
    held_gb = (data_gb or 0.0) + CHECKPOINTS_ON_FILE_SYSTEM * need.checkpoint_gb
    throughput = ceil(max(need.read_mb_per_s, need.write_gb_per_s * GB / MB))
    return FileSystemSize(smallest_file_system(ceil(held_gb * GB / GIB), throughput, cloud), throughput, data_gb)


def _data_gb(plan: WorkloadPlan) -> float | None:
    """GB of training data; None without tokens, and for images, which many epochs read again."""
    tokens = plan.request.tokens
    return None if tokens is None or plan.request.task == "vision" else tokens * BYTES_PER_TOKEN.value / GB


def _lines(plan: WorkloadPlan, candidate: Candidate, place: StackPlace) -> Iterator[str]:
    row = candidate.instance_type
    if candidate.duration is not None:
        text = f"The training takes about {candidate.duration.days:,.1f} days, {candidate.duration.gpu_hours:,.0f}"
        yield from _comment(0, f"{text} GPU-hours at {candidate.duration.model_flops_utilization:.0%} utilization.")
    if candidate.cost is not None:
        yield from _comment(0, _cost_words(candidate))
    yield "config:"
    yield f"  {row.cloud}:region: {place.region}"
    yield "  gpuyard:cluster:"
    yield f"    cloud: {row.cloud}"
    yield f"    region: {place.region}"
    if plan.job.trains:
        yield from _comment(4, "Nodes that train together and their file system are in one zone.")
    yield f"    zone: {place.zone}"
    yield f"    environment: {place.environment}"
    if place.name is not None:
        yield f"    name: {place.name}"
    yield "    workload:"
    yield f"      task: {plan.request.task}"
    yield f"      model_parameters: {_number(plan.job.parameters)}"
    yield "    node_pools:"
    yield from _pool(plan, candidate)
    if candidate.storage is None:
        yield from _comment(4, "A served model keeps nothing: no file system, checkpoints or snapshots.")
    else:
        yield from _storage(plan, candidate, candidate.storage, place.second_region)
    yield from _comment(4, "Idle GPUs are seen. Who is to hear of it: 'notify: [you@example.com]'.")
    yield "    monitoring: {}"


def _pool(plan: WorkloadPlan, candidate: Candidate) -> Iterator[str]:
    row, layout = candidate.instance_type, candidate.layout
    yield f"      {'train' if plan.job.trains else 'serve'}:"
    yield from _comment(8, f"{row.gpu_count} × {candidate.gpu.model} in each node.")
    yield f"        instance_type: {row.instance_type}"
    if layout.gpus > 1:
        parts = f"data {layout.data} × tensor {layout.tensor} × pipeline {layout.pipeline}"
        yield from _comment(8, f"Layout: {parts}, {layout.sharding} sharding, {layout.recomputation} recomputation.")
    yield f"        nodes: {layout.nodes}"
    if plan.job.trains and layout.nodes > 1 and row.has_rdma:
        yield from _comment(8, candidate.fabric.reasons[-1] if candidate.fabric else "Nodes exchange over RDMA.")
        yield "        interconnect: rdma"
    elif candidate.fabric is not None and candidate.fabric.nvlink and row.has_nvlink:
        yield from _comment(8, candidate.fabric.reasons[0])
        yield "        interconnect: nvlink"
    yield from _purchase(candidate)


def _purchase(candidate: Candidate) -> Iterator[str]:
    advice = candidate.purchase
    yield from _comment(8, " ".join(advice.reasons))
    if advice.ways[0] == "reserved":
        yield from _comment(8, _reserved_words(candidate.instance_type.cloud))
    spot = advice.ways[0] == "spot"
    yield f"        purchase: {'spot' if spot else 'on_demand'}"
    if spot and "spot_price_limit" in limit_values(candidate.instance_type.cloud, "spot_needs"):
        yield from _price_limit(candidate)


def _price_limit(candidate: Candidate) -> Iterator[str]:
    cost = candidate.cost
    if cost is None:
        # The check refuses the file then, and says what is missing.
        return
    yield from _comment(8, f"The list price on demand, in {cost.currency}: less is paid when less is asked.")
    yield f"        spot_price_limit: {cost.per_hour / candidate.layout.nodes:.2f}"


def _reserved_words(cloud: str) -> str:
    if "reserved" not in limit_values(cloud, "purchases"):
        return "To pay months ahead for nodes that always run, write 'purchase: prepaid' and 'prepaid: {months: 12}'."
    example = "".join(limit_values(cloud, "reservation_id_example")[:1]).replace("…", "...")
    return f"Bought capacity has an id: with it, write 'purchase: reserved' and 'reservation: {{id: {example}}}'."


def _storage(plan: WorkloadPlan, candidate: Candidate, need: StorageNeed, second_region: str | None) -> Iterator[str]:
    row = candidate.instance_type
    size = file_system_size(plan, need, row.cloud)
    data = "" if size.data_gb is None else f"{_gb(size.data_gb)} of data and "
    yield from _comment(
        4,
        f"Holds {data}{CHECKPOINTS_ON_FILE_SYSTEM} checkpoints of {_gb(need.checkpoint_gb)}; must read "
        f"{need.read_mb_per_s:,.0f} MB/s and write {rate_words(need.write_gb_per_s)}.",
    )
    if size.data_gb is None:
        yield from _comment(4, "How large the data is was not asked: raise the capacity by it.")
    if candidate.layout.nodes == 1 and row.local_nvme_count and row.local_nvme_gb_each:
        local = f"{row.local_nvme_count} × {row.local_nvme_gb_each:,.0f} GB of local NVMe"
        yield from _comment(4, f"One node with {local} may do without; that disk's rate is unknown to the catalog.")
    yield "    file_system:"
    yield f"      capacity_gib: {size.capacity_gib}"
    yield f"      throughput_mb_per_s: {size.throughput_mb_per_s}"
    yield from _comment(
        4,
        f"Write a checkpoint every {need.interval_s / 60:,.0f} min, within {need.write_s:,.0f} s. They are removed "
        f"after {CHECKPOINT_KEEP_DAYS} days: move the final weights elsewhere.",
    )
    yield "    checkpoints:"
    yield f"      keep_days: {CHECKPOINT_KEEP_DAYS}"
    if second_region is not None:
        yield f"      replicate_to: {second_region}"
    if limit_values(row.cloud, "snapshot_pool_kinds"):
        what = "No snapshots: a schedule of this cloud reaches data disks only. Give 'data_disk_gib' to the pool first."
        yield from _comment(4, what)
        return
    yield from _comment(4, "Snapshots of the nodes' disks: a week of days to go back to.")
    yield "    snapshots:"
    yield f"      every_hours: {SNAPSHOT_EVERY_HOURS}"
    yield f"      keep_days: {SNAPSHOT_KEEP_DAYS}"
    if second_region is not None:
        yield f"      copy_to: {second_region}"


def _cost_words(candidate: Candidate) -> str:
    cost = candidate.cost
    if cost is None:
        return "No price is known."
    stale = ", stale" if cost.stale else ""
    whole = "" if cost.total is None else f"{cost.currency} {cost.total:,.0f} for the whole training, "
    text = f"{whole}{cost.currency} {cost.per_hour:,.2f} an hour"
    return f"List price on demand in {cost.region} ({cost.price_date or 'undated'}{stale}): {text}; storage left out."


def _comment(indent: int, text: str) -> list[str]:
    pad = " " * indent
    return [f"{pad}# {line}" for line in wrap(text, _WIDTH - indent - len("# "))]


def _gb(value: float) -> str:
    return f"{value:,.0f} GB" if value >= 10 else f"{value:.2g} GB"


def _number(value: float) -> str:
    """A number of parameters as people write it: ``70e9``."""
    for exponent in (12, 9, 6, 3):
        if value >= 10**exponent:
            return f"{value / 10**exponent:.12g}e{exponent}"
    return f"{value:.12g}"
