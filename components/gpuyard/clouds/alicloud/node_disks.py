"""Disks of a node: ESSD with an explicit performance level, always encrypted."""

from dataclasses import dataclass

from gpuyard.planning.alicloud.keys import key_id
from gpuyard.planning.plans import DiskPlan


@dataclass(frozen=True)
class EssdDisk:
    """One disk as the API names it; every call has to say level and category, as defaults differ and are refused."""

    category: str
    performance_level: str
    size_gib: int
    kms_key_id: str | None


def essd(plan: DiskPlan, kms_key: str | None) -> EssdDisk:
    """A planned disk as the API names it.

    Args:
        plan: The disk; its type is category and performance level, as the catalog's levels are named.
        kms_key: ARN or id of the key, None for the cloud's own.

    Returns:
        The disk.
    """
    category, level = plan.disk_type.split(" ")
    return EssdDisk(category, level, plan.size_gib, None if kms_key is None else key_id(kms_key))
