"""Data disks of Tencent Cloud: the extra performance that is bought on top of what comes with the size."""

from math import ceil

from gpuyard.catalog.disks import MB_PER_MIB, block_disks
from gpuyard.planning.plans import DiskPlan

CLOUD = "tencentcloud"


def extra_throughput_mb_per_s(disk: DiskPlan) -> int | None:
    """The extra throughput that a disk is bought with, for the throughput and for the IOPS that come with it.

    Args:
        disk: The disk as planned; its IOPS and throughput are those in all.

    Returns:
        Extra throughput in MB/s, None where what comes with the size will do.

    Source: https://github.com/tencentcloudstack/terraform-provider-tencentcloud at f6970a9, website/docs/r/cbs_storage
    (throughput_performance); each MB/s brings the IOPS of the catalog's row
    """
    kind = block_disks(CLOUD)[disk.disk_type]
    has = kind.performance(disk.size_gib)
    wanted = [0]
    if disk.throughput_mib_per_s is not None and has.throughput_mb_per_s is not None:
        wanted.append(ceil(disk.throughput_mib_per_s * MB_PER_MIB - has.throughput_mb_per_s))
    if disk.iops is not None and has.iops is not None and kind.iops_per_throughput is not None:
        wanted.append(ceil((disk.iops - has.iops) / kind.iops_per_throughput))
    # Whole MiB may be a little more than the largest number of MB.
    most = max(wanted) if kind.extra_throughput_max is None else min(max(wanted), int(kind.extra_throughput_max))
    return most if most > 0 else None
