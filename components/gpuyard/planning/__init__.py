"""From what a person asks for to what will be built, and why: pure functions over the spec and the catalog."""

from gpuyard.planning.checkpoints import plan_checkpoints
from gpuyard.planning.cluster import plan_cluster
from gpuyard.planning.file_systems import plan_file_system
from gpuyard.planning.monitoring import plan_monitoring
from gpuyard.planning.node_pools import plan_node_pool
from gpuyard.planning.plans import (
    BucketPlan,
    ClusterPlan,
    FileSystemPlan,
    InterfacePlan,
    MonitoringPlan,
    NetworkPlan,
    NodePoolPlan,
    Place,
    SnapshotPlan,
    SubnetPlan,
)
from gpuyard.planning.snapshots import plan_snapshots

__all__ = [
    "BucketPlan",
    "ClusterPlan",
    "FileSystemPlan",
    "InterfacePlan",
    "MonitoringPlan",
    "NetworkPlan",
    "NodePoolPlan",
    "Place",
    "SnapshotPlan",
    "SubnetPlan",
    "plan_checkpoints",
    "plan_cluster",
    "plan_file_system",
    "plan_monitoring",
    "plan_node_pool",
    "plan_snapshots",
]
