"""A node's disks: the class and what is bought on top, from the IOPS and the throughput that are needed."""

from dataclasses import dataclass
from math import ceil

from gpuyard.catalog import InstanceType
from gpuyard.catalog.disks import MB_PER_MIB, BlockDisk, block_disks
from gpuyard.catalog.limits import limit
from gpuyard.planning.plans import DiskPlan, Place
from gpuyard.spec.node_pools import NodePoolSpec
from gpuyard.spec.problems import Path, Problem

_BITS_PER_BYTE = 8


@dataclass(frozen=True, slots=True)
class _Need:
    size_gib: int
    iops: int
    mb_per_s: int


def plan_root_disk(spec: NodePoolSpec, place: Place) -> DiskPlan:
    """The root disk: of the cheapest class, with what comes with its size."""
    return DiskPlan(limit(place.cloud, "data_disk_types").values[0], spec.root_disk_gib)


def plan_data_disk(
    spec: NodePoolSpec, types: tuple[InstanceType, ...], place: Place, path: Path
) -> tuple[DiskPlan | None, list[str], list[Problem]]:
    """The data disk of a pool's nodes.

    Classes are tried in the order of their price. More IOPS or throughput is bought than comes with the size only as
    far as it is needed, within the ratios of the class; what is beyond the machine's own limit is refused, because it
    would be paid for and never had.

    Args:
        spec: What was asked for: size in GiB, IOPS, MB/s.
        types: The pool's machines; each must be able to use what is bought.
        place: Cloud and region.
        path: Where the pool stands in the cluster description.

    Returns:
        The disk, None where none was asked for or none will do; reasons; and every problem found.

    Source: the disks of the catalog (``gpuyard catalog disks``), each with its own.
    """
    if spec.data_disk_gib is None:
        return None, [], _homeless_problems(spec, path)
    need = _Need(spec.data_disk_gib, spec.data_disk_iops or 0, spec.data_disk_mb_per_s or 0)
    reasons, problems = _machine_limits(need, types, path)
    kinds = [block_disks(place.cloud)[name] for name in limit(place.cloud, "data_disk_types").values]
    found = next((disk for kind in kinds if (disk := _bought(need, kind))), None)
    if found is None:
        problems.append(_nothing_does(need, kinds, path))
    elif need.iops or need.mb_per_s:
        reasons.append(_why(found, need))
    return found, reasons, problems


def _homeless_problems(spec: NodePoolSpec, path: Path) -> list[Problem]:
    return [
        Problem((*path, key), "there is no data disk to be that fast.", "Give 'data_disk_gib', or remove it.")
        for key in ("data_disk_iops", "data_disk_mb_per_s")
        if getattr(spec, key) is not None
    ]


def _bought(need: _Need, kind: BlockDisk) -> DiskPlan | None:
    """The disk of one class that does what is needed, or None."""
    if not _has_size(kind, need.size_gib):
        return None
    has = kind.performance(need.size_gib)
    if has.iops is None or has.iops_max is None or has.throughput_mb_per_s is None:
        return None
    iops, mb_per_s = max(need.iops, int(has.iops)), max(need.mb_per_s, has.throughput_mb_per_s)
    throughput_mib_per_s = ceil(round(mb_per_s / MB_PER_MIB, 6))
    if kind.throughput_per_iops is not None:
        iops = max(iops, ceil(throughput_mib_per_s / kind.throughput_per_iops))
    if iops > has.iops_max or mb_per_s > (has.throughput_max_mb_per_s or 0):
        return None
    says_iops = kind.name in limit(kind.cloud, "data_disk_needs_iops").values or iops > has.iops
    sells_throughput = kind.name in limit(kind.cloud, "disk_types_with_throughput").values
    return DiskPlan(
        kind.name,
        need.size_gib,
        iops=iops if says_iops else None,
        throughput_mib_per_s=throughput_mib_per_s if sells_throughput and mb_per_s > has.throughput_mb_per_s else None,
    )


def _machine_limits(need: _Need, types: tuple[InstanceType, ...], path: Path) -> tuple[list[str], list[Problem]]:
    reasons: list[str] = []
    problems: list[Problem] = []
    for row in types:
        most_mb_per_s = None if row.ebs_bandwidth_mbps is None else row.ebs_bandwidth_mbps / _BITS_PER_BYTE
        for key, wanted, most, unit in (
            ("data_disk_iops", need.iops, row.ebs_max_iops, "IOPS"),
            ("data_disk_mb_per_s", need.mb_per_s, most_mb_per_s, "MB/s"),
        ):
            if wanted and most is None:
                reasons.append(f"The catalog does not know how many {unit} {row.instance_type} can use.")
            elif wanted and most is not None and wanted > most:
                message = f"{row.instance_type} itself can use {most:.0f} {unit} of its disks, not {wanted}."
                problems.append(Problem((*path, key), message, f"Ask for at most {most:.0f}, or for a larger machine."))
    return reasons, problems


def _nothing_does(need: _Need, kinds: list[BlockDisk], path: Path) -> Problem:
    wants = [f"{need.iops} IOPS"] if need.iops else []
    wants += [f"{need.mb_per_s} MB/s"] if need.mb_per_s else []
    best = [
        f"{kind.name} {has.iops_max:.0f} IOPS and {has.throughput_max_mb_per_s:.0f} MB/s"
        for kind in kinds
        if _has_size(kind, need.size_gib)
        and (has := kind.performance(need.size_gib)).iops_max is not None
        and has.throughput_max_mb_per_s is not None
    ]
    message = f"no class of disk of {need.size_gib} GiB does {' and '.join(wants) or 'that'}."
    larger = _large_enough(need, kinds)
    remedy = f"At this size: {'; '.join(best)}." if best else "No class has this size."
    remedy += f" {larger} GiB would do." if larger is not None else " No size does."
    return Problem((*path, "data_disk_gib"), message, remedy)


def _large_enough(need: _Need, kinds: list[BlockDisk]) -> int | None:
    """The smallest size at which some class does what is needed; speed only grows with the size."""
    sizes: list[int] = []
    for kind in kinds:
        step = kind.size_step_gib or 1
        low = ceil(max(need.size_gib, kind.size_min_gib or 1) / step)
        high = (kind.size_max_gib or need.size_gib) // step
        if _bought(_Need(high * step, need.iops, need.mb_per_s), kind) is None:
            continue
        while low < high:
            middle = (low + high) // 2
            does = _bought(_Need(middle * step, need.iops, need.mb_per_s), kind)
            low, high = (low, middle) if does else (middle + 1, high)
        sizes.append(low * step)
    return min(sizes, default=None)


def _has_size(kind: BlockDisk, size_gib: int) -> bool:
    low, high, step = kind.size_min_gib or 1, kind.size_max_gib or size_gib, kind.size_step_gib or 1
    return low <= size_gib <= high and size_gib % step == 0


def _why(disk: DiskPlan, need: _Need) -> str:
    asked = " and ".join([f"{need.iops} IOPS"] * bool(need.iops) + [f"{need.mb_per_s} MB/s"] * bool(need.mb_per_s))
    bought = [f"{disk.iops} IOPS"] if disk.iops is not None else []
    bought += [f"{disk.throughput_mib_per_s} MiB/s"] if disk.throughput_mib_per_s is not None else []
    how = f" with {' and '.join(bought)}" if bought else ", with what comes with it"
    return f"Data disk: {disk.disk_type} of {disk.size_gib} GiB{how}, for {asked}."
