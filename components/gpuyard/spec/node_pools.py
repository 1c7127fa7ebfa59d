"""The models of a node pool's description."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from gpuyard.spec.alicloud import AlicloudNodePoolSpec
from gpuyard.spec.base import Model, Task
from gpuyard.spec.software import SoftwareSpec
from gpuyard.spec.tencentcloud import TencentcloudNodePoolSpec
from gpuyard.spec.values import (
    Count,
    Days,
    Device,
    Flag,
    Name,
    Percent,
    PositiveCount,
    Real,
    Text,
    Whole,
    positive_count,
)

Interconnect = Literal["rdma", "nvlink", "none"]
Purchase = Literal["on_demand", "spot", "reserved", "capacity_block", "prepaid"]
Placement = Literal["cluster", "none"]
LocalDisk = Literal["raid0", "none"]
Mix = Literal["gpu", "gpu_memory"]
AwsInterfaceLayout = Literal["simple", "high_ip"]


class NodeRange(Model):
    """How many nodes a pool may have."""

    min: Count
    """Fewest nodes."""
    max: PositiveCount
    """Most nodes."""
    desired: Count | None = None
    """Nodes to begin with; afterwards the size is left to the scaler. ``min`` when left out."""


def _fixed_or_range(value: Any) -> Any:
    if not isinstance(value, (int, float, str)):
        return value
    # Checked here: a problem at 'min' or 'max' would name what is not in the file.
    size = positive_count(value)
    return {"min": size, "max": size}


class PrepaidSpec(Model):
    """Nodes that are paid for months ahead."""

    months: Annotated[Whole, Field(ge=1, le=60)]
    """Months that are paid at once."""
    renew: Flag = True
    """Whether they are renewed by themselves; otherwise the nodes end with the months."""


class ReservationSpec(Model):
    """Capacity that was bought before: by its own id, or by the group it is in."""

    id: Text | None = None
    """Id of a capacity reservation, capacity block or private pool, such as ``cr-…`` or ``eap-…``."""
    resource_group_arn: Text | None = None
    """ARN of a resource group of capacity reservations."""
    placement_group: Text | None = None
    """Name of the placement group that the capacity was reserved in; a group of its own would keep nodes out of it."""


class QueueScalingSpec(Model):
    """Jobs that wait in a queue decide how many nodes there are."""

    name: Text
    """Name of a message queue of the cloud in the pool's region, one message for each waiting job."""
    jobs_per_node: PositiveCount
    """Waiting jobs for each node."""


class ScheduledSizeSpec(Model):
    """A size that a pool gets at given times."""

    cron: Text
    """When: minute, hour, day of month, month, day of week."""
    time_zone: Text = "Etc/UTC"
    """Time zone of ``cron``, by its IANA name."""
    min: Count | None = None
    """Fewest nodes from then on."""
    max: Count | None = None
    """Most nodes from then on."""
    desired: Count | None = None
    """Nodes at that moment."""


class ScalingSpec(Model):
    """What changes the size of an elastic pool."""

    gpu_utilization_percent: Percent | None = None
    """Mean utilization of the GPUs that the pool is kept at."""
    queue: QueueScalingSpec | None = None
    """Size by waiting jobs."""
    schedule: dict[Name, ScheduledSizeSpec] = {}
    """Sizes by time, each under a name."""


class AwsNodePoolSpec(Model):
    """What only AWS has."""

    interface_layout: AwsInterfaceLayout = "simple"
    """``simple``: one interface with an address; ``high_ip``: one for every fourth card of p5, for more IP traffic."""


class NodePoolSpec(Model):
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
    task: Task | None = None
    """Kind of work of this pool, where it is another than the cluster's."""
    mix: Mix = "gpu"
    """Types that an elastic pool mixes: with the same ``gpu``, or with any GPU of the same ``gpu_memory``."""
    spot_price_limit: Annotated[Real, Field(gt=0, le=1_000_000)] | None = None
    """Most that a spot node may cost an hour, in the cloud's currency; the on-demand price when left out."""
    prepaid: PrepaidSpec | None = None
    """The months behind ``prepaid``."""
    on_demand_nodes: Count = 0
    """Nodes of a spot pool that are bought on demand before any spot."""
    spare_nodes: Count = 0
    """Nodes on top of ``nodes`` that stand by, so that a pool of fixed size goes on when one fails."""
    scaling: ScalingSpec | None = None
    """What changes the size of an elastic pool; nothing but people when left out."""
    checkpoint_seconds: Annotated[Whole, Field(ge=30, le=7_200)] = 600
    """Seconds that a node gets to write a checkpoint before the scaler takes it away."""
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
    data_disk_iops: Annotated[Whole, Field(ge=1, le=1_000_000)] | None = None
    """IOPS that the data disk must do."""
    data_disk_mb_per_s: Annotated[Whole, Field(ge=1, le=100_000)] | None = None
    """Throughput that the data disk must do, in MB/s."""
    local_disk: LocalDisk = "raid0"
    """``raid0``: the machine's own NVMe disks as one volume at ``/scratch``, lost with the machine."""
    kms_key: Text | None = None
    """ARN of the key that encrypts the disks; the cloud's own key when left out."""
    log_keep_days: Days = 30
    """Days that the nodes' logs are kept."""
    image: Text | None = None
    """An image id (``ami-…``, ``m-…``, ``img-…``), or the name of a vendor image of the catalog."""
    root_device: Device | None = None
    """Root device of an image of your own, such as ``/dev/xvda``; that of the default image when left out."""
    software: SoftwareSpec = SoftwareSpec()
    """What nodes run beside the jobs."""
    aws: AwsNodePoolSpec | None = None
    """What only AWS has."""
    alicloud: AlicloudNodePoolSpec | None = None
    """What only Alibaba Cloud has."""
    tencentcloud: TencentcloudNodePoolSpec | None = None
    """What only Tencent Cloud has."""
