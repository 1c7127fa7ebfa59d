"""File systems, volumes and node images that the clouds offer."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpuyard.catalog._data import read_rows
from gpuyard.catalog.disks import BlockDisk, block_disks


@dataclass(frozen=True, slots=True)
class FileSystemType:
    """One kind of parallel file system.

    A valid capacity is one of ``capacity_first_gib`` or a multiple of ``capacity_step_gib``; no maximum is stated.
    ``throughput_mb_per_s_per_tib`` lists the choices of MB/s per TiB, where AWS counts 1000 GiB as one TiB.
    ``efa_capacity_step_gib`` is the step of a file system with EFA, by throughput choice;
    ``baseline_mb_per_s_per_tib`` the MB/s per TiB of a kind that offers no choice.
    """

    cloud: str
    name: str
    kind: str
    storage: str
    capacity_first_gib: tuple[int, ...]
    capacity_step_gib: int
    throughput_mb_per_s_per_tib: tuple[int, ...]
    throughput_required: bool
    persistent: bool
    lustre_versions: tuple[str, ...]
    s3_association: bool
    backups: bool
    efa_capacity_step_gib: Mapping[str, int] | None
    note: str | None
    source: str
    as_of: str
    baseline_mb_per_s_per_tib: int | None = None

    def takes_capacity(self, capacity_gib: int) -> bool:
        """Whether a file system of this kind can have exactly this capacity in GiB."""
        return capacity_gib in self.capacity_first_gib or (
            capacity_gib > 0 and capacity_gib % self.capacity_step_gib == 0
        )

    def nearest_capacities(self, capacity_gib: int) -> tuple[int, ...]:
        """The valid capacities in GiB just below (when there is one) and just above a wanted one."""
        below = (capacity_gib // self.capacity_step_gib) * self.capacity_step_gib
        steps = {below, below + self.capacity_step_gib, *self.capacity_first_gib} - {0}
        under = max((size for size in steps if size <= capacity_gib), default=None)
        over = min(size for size in steps if size >= capacity_gib)
        return (over,) if under is None or under == over else (under, over)


@dataclass(frozen=True, slots=True)
class VolumeType:
    """One kind of block volume with its size and performance limits (GiB, IOPS, MiB/s)."""

    cloud: str
    name: str
    size_min_gib: int
    size_max_gib: int
    iops_min: int
    iops_max: int
    iops_per_gib: float
    throughput_min_mib_per_s: int | None
    throughput_max_mib_per_s: int | None
    throughput_mib_per_s_per_iops: float | None
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class NodeImage:
    """One vendor image for GPU nodes: the parameter that names its newest id, and its root device."""

    cloud: str
    name: str
    cpu_arch: str
    ssm_parameter: str
    root_device: str
    gpu_architectures: tuple[str, ...]
    source: str
    as_of: str


@cache
def file_system_types(cloud: str) -> dict[str, FileSystemType]:
    """Kinds of parallel file system of one cloud by name."""
    return {row["name"]: FileSystemType(**row) for row in read_rows(f"{cloud}_file_systems.json")}


@cache
def volume_types(cloud: str) -> dict[str, VolumeType]:
    """Kinds of AWS volume by name, seen as the limits of what is asked for; empty for clouds that sell levels."""
    if cloud != "aws":
        return {}
    return {disk.name: volume for disk in block_disks(cloud).values() if (volume := _volume(disk)) is not None}


@cache
def node_images(cloud: str) -> dict[str, NodeImage]:
    """Vendor images for GPU nodes of one cloud by name."""
    return {row["name"]: NodeImage(**row) for row in read_rows(f"{cloud}_images.json")}


def _volume(disk: BlockDisk) -> VolumeType | None:
    bought = disk.total_iops
    if disk.size_min_gib is None or disk.size_max_gib is None or disk.iops.base is None:
        return None
    if bought is None or bought.max is None or bought.per_gib is None:
        return None
    baseline, most = disk.throughput, disk.total_throughput
    return VolumeType(
        cloud=disk.cloud,
        name=disk.name,
        size_min_gib=disk.size_min_gib,
        size_max_gib=disk.size_max_gib,
        iops_min=int(disk.iops.base),
        iops_max=int(bought.max),
        iops_per_gib=bought.per_gib,
        throughput_min_mib_per_s=None if baseline is None or baseline.base is None else int(baseline.base),
        throughput_max_mib_per_s=None if most is None or most.max is None else int(most.max),
        throughput_mib_per_s_per_iops=disk.throughput_per_iops,
        source=disk.source,
        as_of=disk.as_of,
    )
