"""GpuMonitoring rendered from a few arguments."""

from typing import Any

from gpuyard import GpuMonitoring

from ..recorder import Rendered, render

FILE_SYSTEM = {"file_system_id": "fs-1", "capacity_gib": 24_000, "throughput_mb_per_s": 6_000}
POOL = {"group_name": "grp-train", "log_group_name": "/gpuyard/train"}
RDMA_POOL = {**POOL, "rdma": True}
BUDGET = {"monthly_amount": 40_000, "alert_at_percent": [50, 80, 100]}
SMALLEST: dict[str, Any] = {"region": "us-east-1", "node_pools": {"train": POOL}}
WHOLE: dict[str, Any] = {
    "region": "us-east-1",
    "cluster_name": "llm",
    "node_pools": {"train": RDMA_POOL, "prep": {"group_name": "grp-prep", "log_group_name": "/gpuyard/prep"}},
    "watched_file_system": FILE_SYSTEM,
    "notify": ["ml@example.com", "ops@example.com"],
    "budget": BUDGET,
}


def monitoring(arguments: dict[str, Any], *, preview: bool = False, **changes: Any) -> Rendered:
    """The component ``x`` from arguments with some changed."""
    values: Any = {**arguments, **changes}
    return render(lambda: GpuMonitoring("x", values), preview=preview)
