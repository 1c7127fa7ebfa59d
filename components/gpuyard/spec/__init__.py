"""What a person can ask for: strict, frozen models, and errors that say where and what would be right.

The models are imported when they are first named: what only reports problems does not wait for them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuyard.spec.models import (
        AccessSpec,
        BudgetSpec,
        CheckpointSpec,
        ClusterSpec,
        FileSystemSpec,
        MonitoringSpec,
        NetworkSpec,
        NodePoolSpec,
        NodeRange,
        ReservationSpec,
        SnapshotSpec,
        WorkloadSpec,
    )
    from gpuyard.spec.parse import parse_spec
    from gpuyard.spec.problems import Problem, SpecError

__all__ = [
    "AccessSpec",
    "BudgetSpec",
    "CheckpointSpec",
    "ClusterSpec",
    "FileSystemSpec",
    "MonitoringSpec",
    "NetworkSpec",
    "NodePoolSpec",
    "NodeRange",
    "Problem",
    "ReservationSpec",
    "SnapshotSpec",
    "SpecError",
    "WorkloadSpec",
    "parse_spec",
]

_HOMES = {"Problem": "gpuyard.spec.problems", "SpecError": "gpuyard.spec.problems", "parse_spec": "gpuyard.spec.parse"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "gpuyard.spec.models")), name)
