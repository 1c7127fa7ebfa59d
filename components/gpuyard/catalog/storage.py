"""File systems and node images that the clouds offer."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpuyard.catalog._data import read_rows

# AWS sells 2400 GiB of Lustre as 2.4 TiB, and counts throughput for each TiB by that.
# Source: CreateFileSystem API reference (2.4 TiB at 50 MB/s/TiB yield 120 MB/s).
GIB_PER_TIB_AS_SOLD = 1000


@dataclass(frozen=True, slots=True)
class FileSystemType:
    """One kind of parallel file system.

    A valid capacity is one of ``capacity_first_gib`` or a multiple of ``capacity_step_gib``; no maximum is stated.
    ``throughput_mb_per_s_per_tib`` lists the choices of MB/s per TiB, where AWS counts 1000 GiB as one TiB.
    ``efa_capacity_step_gib`` is the step of a file system with EFA, by throughput choice, None for kinds without EFA;
    ``baseline_mb_per_s_per_tib`` the MB/s per TiB of a kind that offers no choice; ``metadata_lustre_versions`` the
    Lustre versions with which metadata IOPS can be chosen.
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
    metadata_lustre_versions: tuple[str, ...] = ()

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

    def efa_step_gib(self, mb_per_s_per_tib: int) -> int:
        """The step in GiB of a file system with EFA at one throughput choice.

        Raises:
            KeyError: This kind has no EFA, or no such choice.
        """
        return (self.efa_capacity_step_gib or {})[str(mb_per_s_per_tib)]


@dataclass(frozen=True, slots=True)
class NodeImage:
    """One vendor image for GPU nodes: how its newest id is found, and its root device.

    ``query`` is the name of a public parameter (AWS), or the pattern of the image's name (the other clouds).
    ``boot_mode`` is ``bios`` or ``uefi`` on clouds whose machines boot one way only, else None.
    ``brings_driver`` says whether NVIDIA's driver is in it.
    """

    cloud: str
    name: str
    cpu_arch: str
    query: str
    root_device: str
    gpu_architectures: tuple[str, ...]
    source: str
    as_of: str
    boot_mode: str | None = None
    brings_driver: bool = True


@cache
def file_system_types(cloud: str) -> dict[str, FileSystemType]:
    """Kinds of parallel file system of one cloud by name."""
    return {row["name"]: FileSystemType(**row) for row in read_rows(f"{cloud}_file_systems.json")}


@cache
def node_images(cloud: str) -> dict[str, NodeImage]:
    """Vendor images for GPU nodes of one cloud by name."""
    return {row["name"]: NodeImage(**row) for row in read_rows(f"{cloud}_images.json")}
