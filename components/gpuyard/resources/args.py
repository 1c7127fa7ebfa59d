"""Arguments of the components, as every Pulumi language sees them.

These are the spec's models again as TypedDicts, because Pulumi infers a component's schema from TypedDicts only; a test
keeps the two equal. Values that decide what is built are plain; ids of things that exist are inputs.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from pulumi import Input


class WorkloadArgs(TypedDict):
    """What the cluster is for."""

    task: str
    """pretrain, full_finetune, lora, rl, vision or inference."""
    model_parameters: NotRequired[float]
    """Number of parameters of the model."""


class ReservationArgs(TypedDict, total=False):
    """Capacity that was bought before."""

    id: str
    """Id of a capacity reservation or capacity block."""
    resource_group_arn: str
    """ARN of a resource group of capacity reservations."""


class PoolArgs(TypedDict):
    """One pool of equal GPU nodes."""

    nodes: Any
    """Number of nodes, or a mapping with min and max."""
    gpu: NotRequired[str]
    """GPU by name, such as A100-80GB."""
    gpus_per_node: NotRequired[int]
    """GPUs in one node."""
    instance_type: NotRequired[str]
    """The cloud's name of the machine."""
    bare_metal: NotRequired[bool]
    """Only bare-metal machines, or only virtual ones."""
    interconnect: NotRequired[str]
    """rdma, nvlink or none."""
    purchase: NotRequired[str]
    """on_demand, spot, reserved or capacity_block."""
    reservation: NotRequired[ReservationArgs]
    """The capacity behind reserved or capacity_block."""
    placement: NotRequired[str]
    """cluster or none."""
    zones: NotRequired[Sequence[str]]
    """Zones the pool may use."""
    root_disk_gib: NotRequired[int]
    """Size of the root disk in GiB."""
    data_disk_gib: NotRequired[int]
    """Size of an additional data disk in GiB."""
    image: NotRequired[str]
    """An image id, or the name of a vendor image of the catalog."""
    root_device: NotRequired[str]
    """Root device of an image of your own, such as /dev/xvda."""


class FileSystemShapeArgs(TypedDict):
    """What a parallel file system is like."""

    capacity_gib: int
    """Capacity in GiB."""
    throughput_mb_per_s: NotRequired[int]
    """Throughput of the whole file system in MB/s."""
    durability: NotRequired[str]
    """persistent or scratch."""
    backup_keep_days: NotRequired[int]
    """Days that automatic backups are kept."""
    kms_key: NotRequired[str]
    """ARN of the key that encrypts it."""


class FileSystemArgs(FileSystemShapeArgs):
    """The cluster's parallel file system."""

    region: NotRequired[str]
    """Region, the cluster's when left out."""


class CheckpointShapeArgs(TypedDict):
    """What a checkpoint bucket is like."""

    keep_days: int
    """Days after which a checkpoint is removed."""
    replicate_to: NotRequired[str]
    """A second region that receives a copy."""
    kms_key: NotRequired[str]
    """ARN of the key that encrypts it."""
    replica_kms_key: NotRequired[str]
    """ARN of the key that encrypts the copy, a key of the copy's region."""


class CheckpointArgs(CheckpointShapeArgs):
    """The cluster's checkpoint bucket."""

    region: NotRequired[str]
    """Region, the cluster's when left out."""


class SnapshotArgs(TypedDict):
    """A snapshot schedule."""

    every_hours: int
    """Hours between two snapshots."""
    keep_days: int
    """Days that a snapshot is kept."""
    copy_to: NotRequired[str]
    """A second region that receives an encrypted copy."""
    copy_keep_days: NotRequired[int]
    """Days that the copy is kept."""


class AccessArgs(TypedDict, total=False):
    """Who may reach the nodes."""

    ssh_from: Sequence[str]
    """Networks that may use SSH."""


class NetworkArgs(TypedDict, total=False):
    """A network of the cluster's own."""

    cidr: str
    """Addresses of the network."""
    egress: str
    """nat or endpoints."""


class PlaceArgs(TypedDict):
    """Where a component is built."""

    region: str
    """Region it is built in."""
    cloud: NotRequired[str]
    """aws, the only one so far."""
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
    lustre: NotRequired[bool]
    """Whether a Lustre file system will be in it; true when left out."""


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
    bucket_arn: NotRequired[Input[str]]
    """ARN of the checkpoint bucket that nodes may use."""
    bucket_key_arn: NotRequired[Input[str]]
    """ARN of the key that encrypts that bucket, where it is one of your own."""


class ParallelFileSystemArgs(PartArgs, FileSystemShapeArgs):
    """Arguments of ParallelFileSystem."""

    zone: str
    """Zone of the file system, the nodes' zone."""
    subnet_id: Input[str]
    """Private subnet in that zone."""
    security_group_ids: Input[Sequence[Input[str]]]
    """Security groups that let Lustre through."""
    bucket_name: NotRequired[Input[str]]
    """Checkpoint bucket to link at /checkpoints."""
    protect_data: NotRequired[bool]
    """Refuse to delete or replace it; on in prod when left out."""


class CheckpointStoreArgs(PartArgs, CheckpointShapeArgs):
    """Arguments of CheckpointStore."""

    protect_data: NotRequired[bool]
    """Refuse to delete the buckets; on in prod when left out."""


class SnapshotPolicyArgs(PartArgs, SnapshotArgs):
    """Arguments of SnapshotPolicy."""

    target_tags: Mapping[str, str]
    """Exact tags, key and value, of the volumes to snapshot."""


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
    access: NotRequired[AccessArgs]
    """Who may reach the nodes."""
    network: NotRequired[NetworkArgs]
    """The network."""
    protect_data: NotRequired[bool]
    """Refuse to delete file system and buckets; on in prod when left out."""
