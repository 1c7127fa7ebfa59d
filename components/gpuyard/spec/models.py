"""The models of a cluster description, as a stack file holds it under ``gpuyard:cluster``."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from gpuyard.spec.values import (
    Cidr,
    Count,
    Days,
    Device,
    Flag,
    Hours,
    Name,
    PositiveCount,
    Real,
    Text,
    Whole,
    positive_count,
)

Cloud = Literal["aws"]
Environment = Literal["dev", "staging", "prod"]
Task = Literal["pretrain", "full_finetune", "lora", "rl", "vision", "inference"]
Interconnect = Literal["rdma", "nvlink", "none"]
Purchase = Literal["on_demand", "spot", "reserved", "capacity_block"]
Placement = Literal["cluster", "none"]
Durability = Literal["persistent", "scratch"]
Egress = Literal["nat", "endpoints"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


class WorkloadSpec(_Model):
    """What the cluster is for; it sets what the hardware must have."""

    task: Task
    """Kind of work."""
    model_parameters: Annotated[Real, Field(gt=0, le=1e15)] | None = None
    """Number of parameters of the model, such as 70e9."""


class NodeRange(_Model):
    """How many nodes a pool may have."""

    min: Count
    """Fewest nodes."""
    max: PositiveCount
    """Most nodes."""


def _fixed_or_range(value: Any) -> Any:
    if not isinstance(value, (int, float, str)):
        return value
    # Checked here: a problem at 'min' or 'max' would name what is not in the file.
    size = positive_count(value)
    return {"min": size, "max": size}


class ReservationSpec(_Model):
    """Capacity that was bought before: by its own id, or by the group it is in."""

    id: Text | None = None
    """Id of a capacity reservation or capacity block (``cr-…``)."""
    resource_group_arn: Text | None = None
    """ARN of a resource group of capacity reservations."""


class NodePoolSpec(_Model):
    """One pool of equal GPU nodes: hardware by its facts, or by an instance type's name."""

    nodes: Annotated[NodeRange, BeforeValidator(_fixed_or_range)]
    """Number of nodes, or ``{min: , max: }``."""
    gpu: Text | None = None
    """GPU by name: ``A100-80GB``, ``A100``, ``A10`` …"""
    gpus_per_node: PositiveCount | None = None
    """GPUs in one node."""
    instance_type: Text | None = None
    """The cloud's name of the machine; the other facts, where given, must agree with it."""
    bare_metal: Flag | None = None
    """Only bare-metal machines, or only virtual ones; either when left out."""
    interconnect: Interconnect = "none"
    """``rdma``: nodes joined by RDMA; ``nvlink``: GPUs of one node joined by NVLink; ``none``: no demand."""
    purchase: Purchase = "on_demand"
    """How the nodes are bought."""
    reservation: ReservationSpec | None = None
    """The capacity behind ``reserved`` or ``capacity_block``."""
    placement: Placement | None = None
    """``cluster``: close together in a placement group. Left out: chosen by the kind of pool."""
    zones: Annotated[list[Text], Field(min_length=1)] | None = None
    """Zones the pool may use; the cluster's zone when left out."""
    root_disk_gib: Annotated[Whole, Field(ge=75, le=65_536)] = 200
    """Size of the root disk in GiB."""
    data_disk_gib: Annotated[Whole, Field(ge=1, le=65_536)] | None = None
    """Size of an additional, snapshotted data disk in GiB."""
    image: Text | None = None
    """An image id (``ami-…``), or the name of a vendor image of the catalog."""
    root_device: Device | None = None
    """Root device of an image of your own, such as ``/dev/xvda``; that of the default image when left out."""


class FileSystemSpec(_Model):
    """A parallel file system next to the nodes."""

    capacity_gib: Annotated[Whole, Field(ge=1, le=100_000_000)]
    """Capacity in GiB; each kind has its steps."""
    throughput_mb_per_s: Annotated[Whole, Field(ge=1, le=10_000_000)] | None = None
    """Throughput the whole file system must give, in MB/s; the smallest choice when left out."""
    durability: Durability = "persistent"
    """``persistent``: replicated, data survives a failed server; ``scratch``: short work only."""
    region: Text | None = None
    """Region, the cluster's when left out."""
    backup_keep_days: Annotated[Whole, Field(ge=0, le=90)] | None = None
    """Days that daily backups are kept, 0 for none. Left out: 7, or none where the checkpoint bucket is linked."""
    kms_key: Text | None = None
    """ARN of the key that encrypts it; the cloud's own key when left out."""


class CheckpointSpec(_Model):
    """The bucket that checkpoints go to."""

    keep_days: Days
    """Days after which a checkpoint is removed."""
    region: Text | None = None
    """Region, the cluster's when left out."""
    replicate_to: Text | None = None
    """A second region that receives a copy."""
    kms_key: Text | None = None
    """ARN of the key that encrypts it; the cloud's own key when left out."""
    replica_kms_key: Text | None = None
    """ARN of the key that encrypts the copy, a key of the copy's region; needed where ``kms_key`` is given."""


class SnapshotSpec(_Model):
    """How the pools' disks are snapshotted."""

    every_hours: Hours
    """Hours between two snapshots."""
    keep_days: Days
    """Days that a snapshot is kept."""
    copy_to: Text | None = None
    """A second region that receives an encrypted copy."""
    copy_keep_days: Days | None = None
    """Days that the copy is kept; as the snapshot when left out."""


class AccessSpec(_Model):
    """Who may reach the nodes; nobody from outside when left out."""

    ssh_from: list[Cidr] = []
    """Networks that may use SSH. Sessions through the cloud's own console need none."""


class NetworkSpec(_Model):
    """The cluster's own network."""

    cidr: Cidr = "10.64.0.0/16"
    """Addresses of the network."""
    egress: Egress = "nat"
    """``nat``: nodes may open connections to the internet; ``endpoints``: only the cloud's own services."""


class ClusterSpec(_Model):
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
    access: AccessSpec = AccessSpec()
    """Who may reach the nodes."""
    network: NetworkSpec = NetworkSpec()
    """The network."""
    tags: dict[Text, Text] = {}
    """Tags on everything."""
    protect_data: Flag | None = None
    """Refuse to delete file system and buckets; on in ``prod`` when left out."""
