"""Parallel file systems and object storage of the clouds."""

from dataclasses import dataclass
from functools import cache

from gpuyard.catalog._data import read_rows
from gpuyard.catalog.storage import GIB_PER_TIB_AS_SOLD, FileSystemType, file_system_types


@dataclass(frozen=True, slots=True)
class ParallelFileSystem:
    """One kind of parallel file system of one cloud; ``None`` is unknown.

    Attributes:
        cloud: ``aws``, ``alicloud`` or ``tencentcloud``.
        name: The kind's name in the cloud's API or documents.
        product: The product it belongs to.
        storage: ``SSD``, ``HDD`` or another class of storage.
        capacity_min_gib: Smallest capacity in GiB.
        capacity_step_gib: Capacities are multiples of this.
        capacity_also_gib: Capacities that are valid though no multiple.
        capacity_max_gib: Largest capacity in GiB.
        throughput_mb_per_s_per_tib: The choices of MB/s for each TiB; of reading where writing differs.
        write_mb_per_s_per_tib: MB/s of writing for each TiB, where it differs.
        throughput_max_mb_per_s: Most MB/s of one file system.
        gib_per_tib: GiB that the cloud counts as one TiB.
        note: What else is known, contradictions of the sources among it.
        source: Who says so.
        as_of: The day the row was read.
    """

    cloud: str
    name: str
    product: str
    storage: str
    capacity_min_gib: int | None
    capacity_step_gib: int | None
    capacity_also_gib: tuple[int, ...]
    capacity_max_gib: int | None
    throughput_mb_per_s_per_tib: tuple[float, ...] | None
    write_mb_per_s_per_tib: float | None
    throughput_max_mb_per_s: float | None
    gib_per_tib: int
    note: str | None
    source: str
    as_of: str

    def takes_capacity(self, capacity_gib: int) -> bool | None:
        """Whether a file system can have exactly this capacity in GiB; ``None`` when the steps are unknown."""
        if capacity_gib in self.capacity_also_gib:
            return True
        if self.capacity_step_gib is None or self.capacity_min_gib is None:
            return None
        high = self.capacity_max_gib
        within = capacity_gib >= self.capacity_min_gib and (high is None or capacity_gib <= high)
        return within and capacity_gib % self.capacity_step_gib == 0

    def throughput_mb_per_s(self, capacity_gib: int) -> float | None:
        """Most read throughput in MB/s at a capacity in GiB; ``None`` when the rate is unknown."""
        if not self.throughput_mb_per_s_per_tib:
            return None
        rate = max(self.throughput_mb_per_s_per_tib) * capacity_gib / self.gib_per_tib
        return rate if self.throughput_max_mb_per_s is None else min(rate, self.throughput_max_mb_per_s)


@dataclass(frozen=True, slots=True)
class ObjectStorageClass:
    """One class of object storage; ``None`` is unknown.

    ``min_storage_days`` and ``billed_object_min_kib`` are billed at least, even for objects that go earlier or are
    smaller; ``needs_restore`` says whether an object must be restored before it can be read. ``tier`` is what the class
    is called in a cluster description, ``None`` where it has no name there. A lifecycle rule may move an object in at
    ``move_in_after_days`` after its creation at the earliest, and on to the classes of ``moves_on_to``.
    """

    cloud: str
    name: str
    product: str
    min_storage_days: int | None
    billed_object_min_kib: int | None
    needs_restore: bool | None
    tier: str | None
    move_in_after_days: int | None
    moves_on_to: tuple[str, ...] | None
    redundancy: str | None
    note: str | None
    source: str
    as_of: str


@cache
def parallel_file_systems(cloud: str) -> dict[str, ParallelFileSystem]:
    """Every kind of parallel file system of one cloud by name; for AWS also those that the planner can build."""
    rows = [ParallelFileSystem(**row) for row in read_rows(f"{cloud}_parallel_file_systems.json")]
    built = [_of_type(kind) for kind in file_system_types(cloud).values()] if cloud == "aws" else []
    return {kind.name: kind for kind in (*built, *rows)}


@cache
def object_storage_classes(cloud: str) -> dict[str, ObjectStorageClass]:
    """Classes of object storage of one cloud by name."""
    rows = [ObjectStorageClass(**row) for row in read_rows("object_storage.json")]
    return {row.name: row for row in rows if row.cloud == cloud}


def _of_type(kind: FileSystemType) -> ParallelFileSystem:
    baseline = () if kind.baseline_mb_per_s_per_tib is None else (kind.baseline_mb_per_s_per_tib,)
    return ParallelFileSystem(
        cloud=kind.cloud,
        name=kind.name,
        product="FSx for Lustre",
        storage=kind.storage,
        capacity_min_gib=min((*kind.capacity_first_gib, kind.capacity_step_gib)),
        capacity_step_gib=kind.capacity_step_gib,
        capacity_also_gib=kind.capacity_first_gib,
        capacity_max_gib=None,
        throughput_mb_per_s_per_tib=(kind.throughput_mb_per_s_per_tib or baseline) or None,
        write_mb_per_s_per_tib=None,
        throughput_max_mb_per_s=None,
        gib_per_tib=GIB_PER_TIB_AS_SOLD,
        note=kind.note,
        source=kind.source,
        as_of=kind.as_of,
    )
