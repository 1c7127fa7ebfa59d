"""gpuyard: Pulumi components for GPU clusters that train and serve large models.

The components are imported when they are first named, so that the pure parts (spec, catalog, planning) load without
Pulumi.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuyard.resources.args import (
        CheckpointStoreArgs,
        ClusterNetworkArgs,
        GpuMonitoringArgs,
        GpuNodePoolArgs,
        ParallelFileSystemArgs,
        SnapshotPolicyArgs,
        TrainingClusterArgs,
    )
    from gpuyard.resources.checkpoints import CheckpointStore
    from gpuyard.resources.cluster import TrainingCluster
    from gpuyard.resources.file_system import ParallelFileSystem
    from gpuyard.resources.monitoring import GpuMonitoring
    from gpuyard.resources.network import ClusterNetwork
    from gpuyard.resources.node_pool import GpuNodePool
    from gpuyard.resources.snapshots import SnapshotPolicy
    from gpuyard.spec.problems import Problem, SpecError

    __version__: str

__all__ = [
    "CheckpointStore",
    "CheckpointStoreArgs",
    "ClusterNetwork",
    "ClusterNetworkArgs",
    "GpuMonitoring",
    "GpuMonitoringArgs",
    "GpuNodePool",
    "GpuNodePoolArgs",
    "ParallelFileSystem",
    "ParallelFileSystemArgs",
    "Problem",
    "SnapshotPolicy",
    "SnapshotPolicyArgs",
    "SpecError",
    "TrainingCluster",
    "TrainingClusterArgs",
    "__version__",
]

_HOMES = {
    "CheckpointStore": "gpuyard.resources.checkpoints",
    "ClusterNetwork": "gpuyard.resources.network",
    "GpuMonitoring": "gpuyard.resources.monitoring",
    "GpuNodePool": "gpuyard.resources.node_pool",
    "ParallelFileSystem": "gpuyard.resources.file_system",
    "Problem": "gpuyard.spec.problems",
    "SnapshotPolicy": "gpuyard.resources.snapshots",
    "SpecError": "gpuyard.spec.problems",
    "TrainingCluster": "gpuyard.resources.cluster",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'gpuyard' has no attribute '{name}'")
    if name == "__version__":
        # What reads a distribution's data is slower to load than all that is here.
        return import_module("importlib.metadata").version("gpuyard")
    return getattr(import_module(_HOMES.get(name, "gpuyard.resources.args")), name)
