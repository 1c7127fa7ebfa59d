"""Block disks of the clouds: sizes, and IOPS and throughput as functions of the size."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from gpuyard.catalog._data import read_rows

MB_PER_MIB = 1.048576


@dataclass(frozen=True, slots=True)
class Rate:
    """``min(base + per_gib · size, max)``; a missing ``max`` does not cap, another missing part is unknown."""

    base: float | None
    per_gib: float | None
    max: float | None

    def at(self, size_gib: float) -> float | None:
        """The value for a disk of this size in GiB; ``None`` when the growth with the size is unknown."""
        if self.base is None or self.per_gib is None:
            return None
        grown = self.base + self.per_gib * size_gib
        return grown if self.max is None else min(grown, self.max)


@dataclass(frozen=True, slots=True)
class DiskPerformance:
    """What one disk of one size does; ``None`` is unknown.

    Attributes:
        iops: IOPS that come with the size.
        iops_max: IOPS that can be had at this size by buying more; the same as ``iops`` where none are sold.
        throughput_mb_per_s: Throughput in MB/s that comes with the size.
        throughput_max_mb_per_s: Throughput in MB/s that can be had at this size by buying more.
    """

    iops: float | None
    iops_max: float | None
    throughput_mb_per_s: float | None
    throughput_max_mb_per_s: float | None


@dataclass(frozen=True, slots=True)
class BlockDisk:
    """One level of block disk of one cloud; ``None`` is unknown where nothing else is said.

    Attributes:
        cloud: ``aws``, ``alicloud`` or ``tencentcloud``.
        name: The name in the cloud's API, with the performance level behind it where there is one.
        size_min_gib: Smallest size in GiB.
        size_max_gib: Largest size in GiB.
        size_step_gib: Sizes are multiples of this.
        iops: IOPS that come with the size.
        throughput: Throughput that comes with the size, in ``throughput_unit``.
        throughput_unit: ``MB/s`` or ``MiB/s``, as the cloud prints it.
        total_iops: IOPS that can be had in all by buying more; ``None`` where none are sold.
        extra_iops_max: Most IOPS that can be bought on top.
        total_throughput: Throughput that can be had in all, in ``throughput_unit``; ``None`` where none is sold.
        extra_throughput_max: Most throughput that can be bought on top, in ``throughput_unit``.
        throughput_per_iops: Throughput is at most this share of the IOPS.
        iops_per_throughput: IOPS that come with each unit of bought throughput.
        purchase_from_gib: Size from which more can be bought; any when ``None``.
        note: What else is known, contradictions of the sources among it.
        source: Who says so.
        as_of: The day the row was read.
    """

    cloud: str
    name: str
    size_min_gib: int | None
    size_max_gib: int | None
    size_step_gib: int | None
    iops: Rate
    throughput: Rate | None
    throughput_unit: str
    total_iops: Rate | None
    extra_iops_max: float | None
    total_throughput: Rate | None
    extra_throughput_max: float | None
    throughput_per_iops: float | None
    iops_per_throughput: float | None
    purchase_from_gib: int | None
    note: str | None
    source: str
    as_of: str

    def performance(self, size_gib: int) -> DiskPerformance:
        """What a disk of this level and size does.

        Args:
            size_gib: Size in GiB.

        Returns:
            IOPS and throughput (MB/s) that come with the size, and what can be had by buying more.

        Raises:
            ValueError: The level has no disks of this size.
        """
        self._check_size(size_gib)
        iops = self.iops.at(size_gib)
        throughput = None if self.throughput is None else self.throughput.at(size_gib)
        sold = self.purchase_from_gib is None or size_gib >= self.purchase_from_gib
        throughput_max = self._throughput_max(size_gib, throughput) if sold else throughput
        iops_max = self._iops_max(size_gib, iops, throughput, throughput_max) if sold else iops
        if self.throughput_per_iops is not None and iops_max is not None and throughput_max is not None:
            throughput_max = min(throughput_max, self.throughput_per_iops * iops_max)
        return DiskPerformance(iops, iops_max, self._mb(throughput), self._mb(throughput_max))

    def _throughput_max(self, size_gib: int, throughput: float | None) -> float | None:
        if self.total_throughput is None or throughput is None:
            return throughput
        return _least(self.total_throughput.at(size_gib), _sum(throughput, self.extra_throughput_max))

    def _iops_max(
        self, size_gib: int, iops: float | None, throughput: float | None, throughput_max: float | None
    ) -> float | None:
        if self.total_iops is None or iops is None:
            return iops
        most = _least(self.total_iops.at(size_gib), _sum(iops, self.extra_iops_max))
        if self.iops_per_throughput is not None:
            if throughput is None or throughput_max is None:
                return None
            most = _least(most, iops + self.iops_per_throughput * (throughput_max - throughput))
        return None if most is None else max(iops, most)

    def _mb(self, throughput: float | None) -> float | None:
        if throughput is None:
            return None
        return throughput * MB_PER_MIB if self.throughput_unit == "MiB/s" else throughput

    def _check_size(self, size_gib: int) -> None:
        low, high, step = self.size_min_gib or 1, self.size_max_gib, self.size_step_gib or 1
        if size_gib < low or (high is not None and size_gib > high) or size_gib % step:
            sizes = f"{low} to {high} GiB" + (f" in steps of {step}" if step > 1 else "")
            raise ValueError(f"{self.name} has no disk of {size_gib} GiB: sizes are {sizes}.")


@cache
def block_disks(cloud: str) -> dict[str, BlockDisk]:
    """Levels of block disk of one cloud by name."""
    return {row["name"]: _disk(row) for row in read_rows(f"{cloud}_disks.json")}


def _disk(row: dict[str, Any]) -> BlockDisk:
    rates: dict[str, Any] = {
        key: None if row[key] is None else Rate(**row[key])
        for key in ("iops", "throughput", "total_iops", "total_throughput")
    }
    return BlockDisk(**{**row, **rates})


def _sum(value: float, extra: float | None) -> float | None:
    return None if extra is None else value + extra


def _least(*limits: float | None) -> float | None:
    """The tightest of the limits there are."""
    return min((limit for limit in limits if limit is not None), default=None)
