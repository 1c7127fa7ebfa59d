"""The models of a cluster description, as a stack file holds it under ``gpuyard:cluster``."""

from typing import Annotated, Literal

from pydantic import Field

from gpuyard.spec.alicloud import AlicloudFileSystemSpec, AlicloudNodePoolSpec
from gpuyard.spec.base import Cloud, Environment, Model, Task
from gpuyard.spec.monitoring import BudgetSpec, MonitoringSpec
from gpuyard.spec.node_pools import (
    AwsNodePoolSpec,
    NodePoolSpec,
    NodeRange,
    PrepaidSpec,
    QueueScalingSpec,
    ReservationSpec,
    ScalingSpec,
    ScheduledSizeSpec,
)
from gpuyard.spec.software import SoftwareSpec
from gpuyard.spec.storage import (
    AwsFastRestoreSpec,
    AwsFileSystemSpec,
    AwsSnapshotSpec,
    CheckpointSpec,
    FileSystemSpec,
    PrefixSpec,
    SnapshotSpec,
)
from gpuyard.spec.tencentcloud import TencentcloudFileSystemSpec, TencentcloudNodePoolSpec
from gpuyard.spec.values import Cidr, Flag, Name, Real, Text

__all__ = [
    "AccessSpec",
    "AlicloudFileSystemSpec",
    "AlicloudNodePoolSpec",
    "AwsFastRestoreSpec",
    "AwsFileSystemSpec",
    "AwsNodePoolSpec",
    "AwsSnapshotSpec",
    "BudgetSpec",
    "CheckpointSpec",
    "Cloud",
    "ClusterSpec",
    "Egress",
    "Environment",
    "FileSystemSpec",
    "MonitoringSpec",
    "NetworkSpec",
    "NodePoolSpec",
    "NodeRange",
    "PrefixSpec",
    "PrepaidSpec",
    "QueueScalingSpec",
    "ReservationSpec",
    "ScalingSpec",
    "ScheduledSizeSpec",
    "SnapshotSpec",
    "SoftwareSpec",
    "Task",
    "TencentcloudFileSystemSpec",
    "TencentcloudNodePoolSpec",
    "WorkloadSpec",
]

Egress = Literal["nat", "endpoints"]


class WorkloadSpec(Model):
    """What the cluster is for; it sets what the hardware must have."""

    task: Task
    """Kind of work."""
    model_parameters: Annotated[Real, Field(gt=0, le=1e15)] | None = None
    """Number of parameters of the model, such as 70e9."""


class AccessSpec(Model):
    """Who may reach the nodes; nobody from outside when left out."""

    ssh_from: list[Cidr] = []
    """Networks that may use SSH. Sessions through the cloud's own console need none."""


class NetworkSpec(Model):
    """The cluster's own network."""

    cidr: Cidr = "10.64.0.0/16"
    """Addresses of the network."""
    egress: Egress = "nat"
    """``nat``: nodes may open connections to the internet; ``endpoints``: only the cloud's own services."""


class ClusterSpec(Model):
    """One cluster: where it is, what it is for, and what it is made of."""

    cloud: Cloud
    """The cloud it is built on."""
    region: Text
    """Region of everything that is not a copy."""
    zone: Text | None = None
    """Zone of the file system and of pools joined by RDMA, by name or zone id."""
    environment: Environment
    """Kind of environment; ``prod`` protects data against deletion."""
    name: Name | None = None
    """Name in front of every resource; the stack's name when left out."""
    workload: WorkloadSpec | None = None
    """What it is for."""
    node_pools: Annotated[dict[Name, NodePoolSpec], Field(min_length=1)]
    """The pools by name."""
    file_system: FileSystemSpec | None = None
    """The shared parallel file system."""
    checkpoints: CheckpointSpec | None = None
    """The checkpoint bucket."""
    snapshots: SnapshotSpec | None = None
    """The snapshot schedule."""
    monitoring: MonitoringSpec | None = None
    """What is watched, and who hears of it."""
    access: AccessSpec = AccessSpec()
    """Who may reach the nodes."""
    network: NetworkSpec = NetworkSpec()
    """The network."""
    tags: dict[Text, Text] = {}
    """Tags on everything."""
    protect_data: Flag | None = None
    """Refuse to delete file system and buckets; on in ``prod`` when left out."""
