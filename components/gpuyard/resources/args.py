"""Arguments of the components, as every Pulumi language sees them.

Values that decide what is built are plain; ids of things that exist are inputs.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from pulumi import Input

from gpuyard.resources.part_args import (
    AccessArgs,
    CheckpointArgs,
    CheckpointShapeArgs,
    FileSystemArgs,
    FileSystemShapeArgs,
    MonitoringArgs,
    NetworkArgs,
    PoolArgs,
    SnapshotArgs,
    WorkloadArgs,
)

# What a component takes of a cluster's description to know where it is and what it is for.
PLACE_KEYS = ("cloud", "region", "environment", "zone", "workload", "tags")


class PlaceArgs(TypedDict):
    """Where a component is built."""

    region: str
    """Region it is built in."""
    cloud: NotRequired[str]
    """aws, alicloud or tencentcloud; aws when left out."""
    environment: NotRequired[str]
    """dev, staging or prod; prod protects data. dev when left out."""
    tags: NotRequired[Mapping[str, str]]
    """Tags on everything."""


class PartArgs(PlaceArgs):
    """Arguments of every component that can be part of a cluster."""

    cluster_name: NotRequired[str]
    """Name of the cluster it belongs to, as its resources are tagged; its own name when left out."""


class ClusterNetworkArgs(PartArgs, NetworkArgs, AccessArgs):
    """Arguments of ClusterNetwork."""

    zones: Sequence[str]
    """Zones that need a subnet."""
    file_system: NotRequired[bool]
    """Whether a parallel file system will be in it; true when left out."""
    file_system_rdma: NotRequired[bool]
    """Whether nodes reach that file system over RDMA; false when left out."""


class GpuNodePoolArgs(PartArgs, PoolArgs):
    """Arguments of GpuNodePool."""

    subnet_ids: Input[Sequence[Input[str]]]
    """Private subnets of the pool, one for each of its zones."""
    security_group_ids: Input[Sequence[Input[str]]]
    """Security groups of every interface; for RDMA one of them must be open to itself both ways."""
    zone: NotRequired[str]
    """Zone of the pool, where zones is left out."""
    workload: NotRequired[WorkloadArgs]
    """What the pool is for."""
    bucket_name: NotRequired[Input[str]]
    """Name of the checkpoint bucket that nodes may use."""
    bucket_key: NotRequired[Input[str]]
    """Key that encrypts that bucket, as its kms_key, where it is one of your own."""
    bucket_prefixes: NotRequired[Sequence[str]]
    """Prefixes of that bucket that nodes may use beside checkpoints."""
    file_system_dns_name: NotRequired[Input[str]]
    """Name of a parallel file system that nodes mount."""
    file_system_mount_name: NotRequired[Input[str]]
    """Name of the tree that it exports."""
    file_system_rdma: NotRequired[bool]
    """Whether nodes reach that file system over RDMA; false when left out."""
    snapshot_policy_id: NotRequired[Input[str]]
    """Snapshot policy of the disks that a scaling group makes, where the cloud attaches one to each disk."""
    subnet_cidrs: NotRequired[Sequence[str]]
    """Addresses of those subnets, in the same order; when given, it is checked that they have room for the nodes."""


class ParallelFileSystemArgs(PartArgs, FileSystemShapeArgs):
    """Arguments of ParallelFileSystem."""

    zone: str
    """Zone of the file system, the nodes' zone."""
    subnet_id: Input[str]
    """Private subnet in that zone."""
    security_group_ids: Input[Sequence[Input[str]]]
    """Security groups that let Lustre through."""
    network_id: NotRequired[Input[str]]
    """Network of that subnet; Alibaba Cloud and Tencent Cloud need it."""
    client_cidr: NotRequired[str]
    """Addresses that may mount it; a NAS of Alibaba Cloud and CFS Turbo of Tencent Cloud need it."""
    bucket_name: NotRequired[Input[str]]
    """Checkpoint bucket to link at /checkpoints."""
    workload: NotRequired[WorkloadArgs]
    """What the file system is for: with gpus it decides the throughput where none is given."""
    gpus: NotRequired[int]
    """GPUs of the job that uses it."""
    protect_data: NotRequired[bool]
    """Refuse to delete or replace it; on in prod when left out."""


class CheckpointStoreArgs(PartArgs, CheckpointShapeArgs):
    """Arguments of CheckpointStore."""

    protect_data: NotRequired[bool]
    """Refuse to delete the buckets; on in prod when left out."""


class SnapshotPolicyArgs(PartArgs, SnapshotArgs):
    """Arguments of SnapshotPolicy."""

    target_tags: NotRequired[Mapping[str, str]]
    """Exact tags, key and value, of the volumes to snapshot; AWS needs it."""
    disks: NotRequired[Mapping[str, Input[str]]]
    """Ids of the disks to snapshot, by a name of your own each, where a policy is attached to disks; AWS has tags."""
    volume_key_arns: NotRequired[Input[Sequence[Input[str]]]]
    """ARNs of the keys that encrypt those volumes, where they are your own."""


class WatchedPoolArgs(TypedDict):
    """A node pool that is watched."""

    group_name: NotRequired[Input[str]]
    """Name or id of its scaling group, where it has one; AWS needs it."""
    log_group_name: NotRequired[Input[str]]
    """Name of the log group of its nodes; AWS needs it."""
    instance_ids: NotRequired[Input[Sequence[Input[str]]]]
    """Ids of its nodes, where it is made of single machines."""
    pool_tag: NotRequired[str]
    """Value of its nodes' tag gpuyard:pool, where nodes come and go; Tencent Cloud finds them by it."""
    rdma: NotRequired[bool]
    """Whether its nodes are joined by RDMA; false when left out."""


class WatchedFileSystemArgs(TypedDict):
    """A file system that is watched."""

    file_system_id: Input[str]
    """Its id."""
    capacity_gib: int
    """Its capacity in GiB."""
    throughput_mb_per_s: NotRequired[float]
    """Its throughput in MB/s, where its kind promises one."""
    kind: NotRequired[str]
    """Its kind where the cloud has several: cpfs or nas_extreme on Alibaba Cloud, cpfs when left out."""


class GpuMonitoringArgs(PartArgs, MonitoringArgs):
    """Arguments of GpuMonitoring."""

    node_pools: Mapping[str, WatchedPoolArgs]
    """The pools that are watched, by name."""
    watched_file_system: NotRequired[WatchedFileSystemArgs]
    """The file system that is watched."""


class TrainingClusterArgs(PlaceArgs):
    """Arguments of TrainingCluster: the same description as in a stack file."""

    node_pools: Mapping[str, PoolArgs]
    """The pools by name."""
    zone: NotRequired[str]
    """Zone of the file system and of pools joined by RDMA."""
    name: NotRequired[str]
    """Name in front of every resource; the component's own when left out."""
    workload: NotRequired[WorkloadArgs]
    """What the cluster is for."""
    file_system: NotRequired[FileSystemArgs]
    """The shared parallel file system."""
    checkpoints: NotRequired[CheckpointArgs]
    """The checkpoint bucket."""
    snapshots: NotRequired[SnapshotArgs]
    """The snapshot schedule."""
    monitoring: NotRequired[MonitoringArgs]
    """What is watched, and who hears of it."""
    access: NotRequired[AccessArgs]
    """Who may reach the nodes."""
    network: NotRequired[NetworkArgs]
    """The network."""
    protect_data: NotRequired[bool]
    """Refuse to delete file system and buckets; on in prod when left out."""
