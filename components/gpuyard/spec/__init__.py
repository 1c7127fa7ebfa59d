"""What a person can ask for: strict, frozen models, and errors that say where and what would be right."""

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
