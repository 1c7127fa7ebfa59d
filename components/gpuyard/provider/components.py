"""Which components are served, and what of the spec each of them takes."""

import pulumi
from pydantic import BaseModel

from gpuyard.resources.checkpoints import CheckpointStore
from gpuyard.resources.cluster import TrainingCluster
from gpuyard.resources.file_system import ParallelFileSystem
from gpuyard.resources.monitoring import GpuMonitoring
from gpuyard.resources.network import ClusterNetwork
from gpuyard.resources.node_pool import GpuNodePool
from gpuyard.resources.snapshots import SnapshotPolicy
from gpuyard.spec import models

PACKAGE = "gpuyard"

# The models that a component's arguments are checked with, beside the place that all have in common.
COMPONENTS: dict[type[pulumi.ComponentResource], tuple[type[BaseModel], ...]] = {
    CheckpointStore: (models.CheckpointSpec,),
    ClusterNetwork: (models.NetworkSpec, models.AccessSpec),
    GpuMonitoring: (models.MonitoringSpec,),
    GpuNodePool: (models.NodePoolSpec,),
    ParallelFileSystem: (models.FileSystemSpec,),
    SnapshotPolicy: (models.SnapshotSpec,),
    TrainingCluster: (models.ClusterSpec,),
}
