"""What each kind of file system can be: capacities, and the throughput that comes with them."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuyard.catalog.file_stores import ParallelFileSystem, parallel_file_systems
from gpuyard.catalog.limits import limit
from gpuyard.spec.alicloud import AlicloudFileSystemKind

_CLOUD = "alicloud"
# The classes of CPFS that the provider can make, the slower first: PyPI pulumi_alicloud 4.0.0, docstring of
# nas.FileSystem, storage_type. The catalog's other rows are bought by hand.
_CPFS_CLASSES = ("advance_100", "advance_200")
# The class that every zone with Extreme NAS has.
_EXTREME_CLASS = "standard"


@dataclass(frozen=True, slots=True)
class StorageClass:
    """One class of one kind, as the API names it, with what the catalog knows of it.

    ``row`` is None for a NAS, whose throughput grows with its capacity by ``bands``: pairs of the least GiB and MB/s.
    """

    kind: AlicloudFileSystemKind
    name: str
    row: ParallelFileSystem | None = None
    bands: tuple[tuple[int, int], ...] = ()

    @property
    def words(self) -> str:
        """What people call it."""
        return f"CPFS {self.name}" if self.row is not None else f"Extreme NAS {self.name}"

    def takes(self, capacity_gib: int) -> bool:
        """Whether a file system of this class can have exactly this capacity in GiB."""
        if self.row is not None:
            return self.row.takes_capacity(capacity_gib) is True
        least, most = limit(_CLOUD, "nas_extreme_capacity_gib").values
        return least <= capacity_gib <= most

    def throughput_mb_per_s(self, capacity_gib: int) -> float:
        """Throughput in MB/s at a capacity in GiB that it takes."""
        if self.row is not None:
            return self.row.throughput_mb_per_s(capacity_gib) or 0
        return max((rate for least, rate in self.bands if capacity_gib >= least), default=0)

    def nearest(self, capacity_gib: int) -> tuple[int, ...]:
        """The capacities in GiB that it takes just below (when there is one) and just above a wanted one."""
        least, most, step = self._steps()
        inside = min(max(capacity_gib, least), most)
        below, above = inside // step * step, -(-inside // step) * step
        return (below,) if below == above else (below, above)

    def capacity_for(self, held_gib: int, mb_per_s: float) -> int | None:
        """The smallest capacity in GiB that holds so much and gives so many MB/s; None when none does."""
        least, most, step = self._steps()
        enough = held_gib
        if self.row is not None:
            rate = max(self.row.throughput_mb_per_s_per_tib or (0,))
            enough = max(held_gib, -int(-mb_per_s * self.row.gib_per_tib // rate))
        else:
            fitting = [gib for gib, given in self.bands if given >= mb_per_s]
            enough = max(held_gib, min(fitting, default=most + 1))
        size = max(least, -(-enough // step) * step)
        return size if size <= most and self.throughput_mb_per_s(size) >= mb_per_s else None

    def allowed_words(self) -> str:
        """Which capacities it takes, in words."""
        least, most, step = self._steps()
        return f"{least} to {most} GiB" + (f" in steps of {step}" if step > 1 else "")

    def _steps(self) -> tuple[int, int, int]:
        if self.row is None:
            least, most = limit(_CLOUD, "nas_extreme_capacity_gib").values
            return least, most, 1
        least, most, step = self.row.capacity_min_gib, self.row.capacity_max_gib, self.row.capacity_step_gib
        if least is None or most is None or step is None:
            raise ValueError(f"the catalog does not know the capacities of {self.words}")
        # The largest capacity need not be a multiple of the step.
        return least, most // step * step, step


def classes_of(kind: AlicloudFileSystemKind) -> Sequence[StorageClass]:
    """Every class of a kind that the provider can make, the slower first.

    Args:
        kind: ``cpfs`` or ``nas_extreme``.

    Returns:
        One class at least.
    """
    if kind == "nas_extreme":
        bands: Sequence[Sequence[int]] = limit(_CLOUD, "nas_extreme_mb_per_s").values
        return [StorageClass(kind, _EXTREME_CLASS, bands=tuple((least, rate) for least, rate in bands))]
    rows = parallel_file_systems(_CLOUD)
    return [StorageClass(kind, name, row=rows[f"CPFS {name}"]) for name in _CPFS_CLASSES]


def smallest_file_system(held_gib: int, mb_per_s: int, cloud: str) -> int:  # noqa: ARG001 as every cloud has it
    """Capacity in GiB of the smallest CPFS that holds so much and gives so many MB/s.

    Args:
        held_gib: What it must hold, in GiB.
        mb_per_s: What it must give, in MB/s.
        cloud: The cloud, whose kinds count.

    Returns:
        The capacity. Where none gives or holds as much, it is what must be held: planning says what is wrong with it.
    """
    sizes = [one.capacity_for(held_gib, mb_per_s) or one.capacity_for(held_gib, 0) for one in classes_of("cpfs")]
    fitting = [size for size in sizes if size is not None]
    return min(fitting, default=held_gib)
