"""Throughput of FSx for Lustre: the choice that gives what was asked for, or what the workload needs."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuyard.catalog import FileSystemType
from gpuyard.catalog.storage import GIB_PER_TIB_AS_SOLD
from gpuyard.planning.file_system_need import ThroughputNeed
from gpuyard.spec.models import FileSystemSpec
from gpuyard.spec.problems import Path, Problem, one_of


@dataclass(frozen=True, slots=True)
class Throughput:
    """The choice in MB/s per TiB and what it gives in MB/s, both None for a kind without a choice; with reasons."""

    per_unit_mb_per_s_per_tib: int | None
    total_mb_per_s: float | None
    reasons: tuple[str, ...]


def choose_throughput(
    spec: FileSystemSpec, kind: FileSystemType, need: ThroughputNeed, path: Path
) -> tuple[Throughput | None, list[Problem]]:
    """The smallest choice that gives what was asked for, else what the work needs, else the least.

    Asked for is a demand: where the capacity cannot give it, that is a problem. What the work needs is not; the fastest
    choice is taken then, and the reasons say what is missing. With RDMA only the choices count whose capacity step
    the capacity keeps.

    Args:
        spec: What was asked for.
        kind: Kind of file system.
        need: What the work needs.
        path: Where it stands in the cluster description, for the problems' paths.

    Returns:
        The choice, or None when there is none; and every problem found.

    Source: https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystemLustreConfiguration.html
    """
    wanted = spec.throughput_mb_per_s
    if not kind.throughput_mb_per_s_per_tib:
        if wanted is None:
            return Throughput(None, None, _baseline_reasons(spec.capacity_gib, kind, need)), []
        message = f"{kind.name} offers no choice of throughput."
        return None, [Problem((*path, "throughput_mb_per_s"), message, f"Remove it, or use {persistent_words(spec)}.")]
    choices = _choices_of_capacity(spec, kind)
    if not choices:
        return None, [_rdma_capacity_problem(spec, kind, path)]
    tib = spec.capacity_gib / GIB_PER_TIB_AS_SOLD
    fitting = [choice for choice in choices if choice * tib >= (wanted or need.mb_per_s or 0)]
    if wanted is not None and not fitting:
        offered = f"{one_of(kind.throughput_mb_per_s_per_tib)} MB/s per TiB"
        most = f"{choices[-1] * tib:.0f} MB/s"
        message = f"{_sold(spec, kind)} give at most {most}, not {wanted}: {offered} are offered."
        size = _capacity_that_gives(wanted, kind, rdma=spec.rdma)
        return None, [Problem((*path, "throughput_mb_per_s"), message, f"{size} GiB would do.")]
    choice = fitting[0] if fitting else choices[-1]
    total = choice * tib
    given = f"{choice} MB/s per TiB give {total:.0f} MB/s."
    return Throughput(choice, total, (given, *_need_reasons(spec, kind, need, total))), []


def persistent_words(spec: FileSystemSpec) -> str:
    """How a description asks for a persistent file system: by the key that it chose the kind with."""
    return "'durability: persistent'" if spec.aws is None else "'deployment: PERSISTENT_2'"


def _choices_of_capacity(spec: FileSystemSpec, kind: FileSystemType) -> Sequence[int]:
    choices = kind.throughput_mb_per_s_per_tib
    if not spec.rdma or kind.efa_capacity_step_gib is None:
        return choices
    return [choice for choice in choices if spec.capacity_gib % kind.efa_step_gib(choice) == 0]


def _sold(spec: FileSystemSpec, kind: FileSystemType) -> str:
    return f"{spec.capacity_gib} GiB of {kind.name}{' with RDMA' if spec.rdma else ''}"


def _capacity_that_gives(mb_per_s: int, kind: FileSystemType, *, rdma: bool) -> int:
    """The smallest capacity in GiB whose fastest choice gives a throughput."""
    fastest = kind.throughput_mb_per_s_per_tib[-1]
    least = -(-mb_per_s * GIB_PER_TIB_AS_SOLD // fastest)
    if not rdma or kind.efa_capacity_step_gib is None:
        return kind.nearest_capacities(least)[-1]
    step = kind.efa_step_gib(fastest)
    return -(-least // step) * step


def _rdma_capacity_problem(spec: FileSystemSpec, kind: FileSystemType, path: Path) -> Problem:
    near = [
        f"{one_of(sizes)} GiB at {choice} MB/s per TiB"
        for choice in kind.throughput_mb_per_s_per_tib
        if (sizes := _rdma_capacities_near(spec, choice, kind.efa_step_gib(choice)))
    ]
    if not near:
        fastest = kind.throughput_mb_per_s_per_tib[-1]
        size = _capacity_that_gives(spec.throughput_mb_per_s or 0, kind, rdma=True)
        near = [f"{size} GiB at {fastest} MB/s per TiB"]
    message = (
        f"{kind.name} with RDMA cannot have {spec.capacity_gib} GiB: each throughput choice has a step of its own."
    )
    return Problem((*path, "capacity_gib"), message, f"Nearest: {'; '.join(near)}.")


def _rdma_capacities_near(spec: FileSystemSpec, choice: int, step_gib: int) -> list[int]:
    """Capacities in GiB next to the wanted one that a choice can have and that give the wanted throughput."""
    below = spec.capacity_gib // step_gib * step_gib
    least = spec.throughput_mb_per_s or 0
    return [size for size in (below, below + step_gib) if size and choice * size / GIB_PER_TIB_AS_SOLD >= least]


def _need_reasons(spec: FileSystemSpec, kind: FileSystemType, need: ThroughputNeed, total: float) -> tuple[str, ...]:
    if need.mb_per_s is None:
        return () if spec.throughput_mb_per_s is not None else (f"That is the least choice: {need.why}.",)
    if total >= need.mb_per_s:
        return () if spec.throughput_mb_per_s is not None else (_need_words(need),)
    return (_short_words(need, total, _capacity_that_gives(need.mb_per_s, kind, rdma=spec.rdma)),)


def _baseline_reasons(capacity_gib: int, kind: FileSystemType, need: ThroughputNeed) -> tuple[str, ...]:
    """Whether a kind without a choice is fast enough, by what it gives at all times."""
    per_tib = kind.baseline_mb_per_s_per_tib
    if need.mb_per_s is None or per_tib is None:
        return ()
    total = per_tib * capacity_gib / GIB_PER_TIB_AS_SOLD
    if total >= need.mb_per_s:
        return (_need_words(need),)
    size = kind.nearest_capacities(-(-need.mb_per_s * GIB_PER_TIB_AS_SOLD // per_tib))[-1]
    return (_short_words(need, total, size),)


def _need_words(need: ThroughputNeed) -> str:
    return f"The work needs {need.mb_per_s} MB/s: {need.why}."


def _short_words(need: ThroughputNeed, total: float, size_gib: int) -> str:
    missing = (need.mb_per_s or 0) - total
    return (
        f"TOO SLOW for the work, which needs {need.mb_per_s} MB/s, {missing:.0f} more than this file system gives: "
        f"{need.why}. {size_gib} GiB could give it."
    )
