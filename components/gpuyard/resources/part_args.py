"""Arguments of the parts of a cluster, as every Pulumi language sees them.

These are the spec's models again as TypedDicts, because Pulumi infers a component's schema from TypedDicts only; a test
keeps the two equal. Values that decide what is built are plain.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict


class WorkloadArgs(TypedDict):
    """What the cluster is for."""

    task: str
    """pretrain, full_finetune, lora, rl, vision or inference."""
    model_parameters: NotRequired[float]
    """Number of parameters of the model."""


class PrepaidArgs(TypedDict):
    """Nodes that are paid for months ahead."""

    months: int
    """Months that are paid at once."""
    renew: NotRequired[bool]
    """Whether they are renewed by themselves."""


class AlicloudNodePoolArgs(TypedDict, total=False):
    """What only Alibaba Cloud has."""

    spot_protected_hour: bool
    """Whether a spot node is safe for its first hour, at a higher price."""
    multi_az_policy: str
    """How a spot pool's scaling group chooses: COST_OPTIMIZED or COMPOSABLE."""
    compensate_with_on_demand: bool
    """Whether a spot pool buys nodes on demand while there is no spot; only with COST_OPTIMIZED."""
    erdma_queue_pairs: int
    """Queue pairs of all eRDMA interfaces of a node together, as many as its type has."""
    jumbo_frames: bool
    """Whether the nodes use frames of 8500 bytes."""


class TencentcloudNodePoolArgs(TypedDict, total=False):
    """What only Tencent Cloud has."""

    thpc_space_type: str
    """Space type of a prepaid THPC workspace, for types that are sold only so."""
    full_type: str
    """Full name of the machine as its zone sells it, for families of which the catalog knows the name only."""
    cpu_utilization_percent: int
    """Mean utilization of the CPUs that an elastic pool is kept at, in percent."""


class AlicloudFileSystemArgs(TypedDict):
    """What only Alibaba Cloud has."""

    kind: str
    """cpfs or nas_extreme."""


class TencentcloudFileSystemArgs(TypedDict, total=False):
    """What only Tencent Cloud has."""

    ccn_id: str
    """Cloud Connect Network that the file system is reached through."""
    ccn_cidr: str
    """Addresses of the file system in that network."""
    ccn_attach: bool
    """Whether the nodes' network is attached to it with the file system; true when left out."""


class ReservationArgs(TypedDict, total=False):
    """Capacity that was bought before."""

    id: str
    """Id of a capacity reservation, capacity block or private pool."""
    resource_group_arn: str
    """ARN of a resource group of capacity reservations."""
    placement_group: str
    """Name of the placement group that the capacity was reserved in."""


class QueueScalingArgs(TypedDict):
    """Jobs that wait in a queue decide how many nodes there are."""

    name: str
    """Name of a message queue in the pool's region, one message for each waiting job."""
    jobs_per_node: int
    """Waiting jobs for each node."""


class ScheduledSizeArgs(TypedDict):
    """A size that a pool gets at given times."""

    cron: str
    """When: minute, hour, day of month, month, day of week."""
    time_zone: NotRequired[str]
    """Time zone of cron, by its IANA name."""
    min: NotRequired[int]
    """Fewest nodes from then on."""
    max: NotRequired[int]
    """Most nodes from then on."""
    desired: NotRequired[int]
    """Nodes at that moment."""


class ScalingArgs(TypedDict, total=False):
    """What changes the size of an elastic pool."""

    gpu_utilization_percent: int
    """Mean utilization of the GPUs that the pool is kept at."""
    queue: QueueScalingArgs
    """Size by waiting jobs."""
    schedule: Mapping[str, ScheduledSizeArgs]
    """Sizes by time, each under a name."""


class AwsNodePoolArgs(TypedDict, total=False):
    """What only AWS has."""

    interface_layout: str
    """simple: one interface with an address; high_ip: one for every fourth card of p5."""


class SoftwareArgs(TypedDict, total=False):
    """What nodes run beside the jobs."""

    pytorch: str
    """PyTorch release that the jobs use, such as 2.8."""
    containers: bool
    """Whether nodes have Docker with NVIDIA's container toolkit."""
    container_images: Sequence[str]
    """Container images that a node pulls before it counts as ready."""
    jupyter: bool
    """Whether nodes run JupyterLab, on the loopback address only."""
    gpu_clocks: str
    """default or highest."""
    huge_pages_gib: int
    """Memory of a node that is set aside as huge pages, in GiB."""


class PoolArgs(TypedDict):
    """One pool of equal GPU nodes."""

    nodes: Any
    """Number of nodes, or a mapping with min, max and, to begin with, desired."""
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
    """on_demand, spot, reserved, capacity_block or prepaid."""
    task: NotRequired[str]
    """Kind of work of this pool, where it is another than the cluster's."""
    mix: NotRequired[str]
    """Types that an elastic pool mixes: with the same gpu, or with other GPUs of the same gpu_memory as well."""
    spot_price_limit: NotRequired[float]
    """Most that a spot node may cost an hour, in the cloud's currency."""
    prepaid: NotRequired[PrepaidArgs]
    """The months behind prepaid."""
    on_demand_nodes: NotRequired[int]
    """Nodes of a spot pool that are bought on demand before any spot."""
    spare_nodes: NotRequired[int]
    """Nodes on top that stand by, so that a pool of fixed size goes on when one fails."""
    scaling: NotRequired[ScalingArgs]
    """What changes the size of an elastic pool."""
    checkpoint_seconds: NotRequired[int]
    """Seconds that a node gets to write a checkpoint before the scaler takes it away."""
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
    data_disk_iops: NotRequired[int]
    """IOPS that the data disk must do."""
    data_disk_mb_per_s: NotRequired[int]
    """Throughput that the data disk must do, in MB/s."""
    local_disk: NotRequired[str]
    """raid0: the machine's own NVMe disks as one volume at /scratch; none."""
    kms_key: NotRequired[str]
    """ARN of the key that encrypts the disks."""
    log_keep_days: NotRequired[int]
    """Days that the nodes' logs are kept."""
    image: NotRequired[str]
    """An image id, or the name of a vendor image of the catalog."""
    root_device: NotRequired[str]
    """Root device of an image of your own, such as /dev/xvda."""
    software: NotRequired[SoftwareArgs]
    """What nodes run beside the jobs."""
    aws: NotRequired[AwsNodePoolArgs]
    """What only AWS has."""
    alicloud: NotRequired[AlicloudNodePoolArgs]
    """What only Alibaba Cloud has."""
    tencentcloud: NotRequired[TencentcloudNodePoolArgs]
    """What only Tencent Cloud has."""


class AwsFileSystemArgs(TypedDict):
    """What only AWS has."""

    deployment: str
    """Deployment type of FSx for Lustre: SCRATCH_2, PERSISTENT_1 or PERSISTENT_2."""


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
    rdma: NotRequired[bool]
    """Whether nodes reach it over their RDMA network."""
    metadata_iops: NotRequired[int]
    """Operations on files and folders a second; by the capacity when left out."""
    compression: NotRequired[bool]
    """Whether data is compressed on the way to the disks."""
    bucket_sync: NotRequired[str]
    """How /checkpoints follows the linked bucket: import_export, import, export or none."""
    kms_key: NotRequired[str]
    """ARN of the key that encrypts it."""
    aws: NotRequired[AwsFileSystemArgs]
    """What only AWS has."""
    alicloud: NotRequired[AlicloudFileSystemArgs]
    """What only Alibaba Cloud has."""
    tencentcloud: NotRequired[TencentcloudFileSystemArgs]
    """What only Tencent Cloud has."""


class FileSystemArgs(FileSystemShapeArgs):
    """The cluster's parallel file system."""

    region: NotRequired[str]
    """Region, the cluster's when left out."""


class PrefixArgs(TypedDict):
    """How long objects below one prefix are kept, and when they move to cheaper storage."""

    keep_days: int
    """Days after which an object is removed."""
    tiers: NotRequired[Mapping[str, int]]
    """Days after which an object moves to a tier: automatic, infrequent, archive, deep_archive."""


class CheckpointShapeArgs(TypedDict):
    """What a checkpoint bucket is like."""

    keep_days: int
    """Days after which a checkpoint is removed."""
    tiers: NotRequired[Mapping[str, int]]
    """Days after which a checkpoint moves to a cheaper tier, by tier."""
    prefixes: NotRequired[Mapping[str, PrefixArgs]]
    """Further prefixes beside checkpoints, each with its own retention."""
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


class AwsFastRestoreArgs(TypedDict):
    """Snapshots that give a disk its full speed at once."""

    zones: Sequence[str]
    """Zones that disks are restored in."""
    count: NotRequired[int]
    """How many of the newest snapshots."""


class AwsSnapshotArgs(TypedDict, total=False):
    """What only AWS has."""

    cron: str
    """When, as a cron expression of Data Lifecycle Manager (UTC), in place of hours."""
    fast_restore: AwsFastRestoreArgs
    """Fast snapshot restore."""


class SnapshotArgs(TypedDict, total=False):
    """A snapshot schedule: when, how long, and where a copy goes."""

    every_hours: int
    """Hours between two snapshots."""
    hours_utc: Sequence[int]
    """Hours of the day (UTC) at which a snapshot is made, in place of every_hours."""
    weekdays: Sequence[str]
    """Days of the week (UTC) of hours_utc: mon to sun; every day when left out."""
    keep_days: int
    """Days that a snapshot is kept."""
    keep_count: int
    """Newest snapshots of each disk that are kept, in place of keep_days."""
    copy_to: str
    """A second region that receives an encrypted copy."""
    copy_keep_days: int
    """Days that the copy is kept."""
    copy_kms_key: str
    """ARN of the key that encrypts the copy, a key of the copy's region."""
    aws: AwsSnapshotArgs
    """What only AWS has."""


class BudgetArgs(TypedDict):
    """What the cluster may cost."""

    monthly_amount: float
    """Amount a month."""
    currency: NotRequired[str]
    """Currency of the amount: USD or CNY."""
    alert_at_percent: NotRequired[Sequence[int]]
    """Shares of the amount at which a message is sent."""


class MonitoringArgs(TypedDict, total=False):
    """What is watched, and who hears of it."""

    notify: Sequence[str]
    """E-mail addresses that get the messages."""
    gpu_utilization_below_percent: int
    """Mean utilization of a pool's GPUs under which they are called idle."""
    gpu_memory_above_percent: int
    """Use of GPU memory above which a job is about to run out of it."""
    for_minutes: int
    """Minutes that utilization or memory must stay there."""
    file_system_full_percent: int
    """Used part of the file system above which it is called full."""
    dashboard: bool
    """Whether there is a dashboard."""
    budget: BudgetArgs
    """What the cluster may cost a month."""


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
