"""What will be built: one frozen value for each component, with the reasons."""

from dataclasses import dataclass, field
from typing import Any, Literal

from gpuyard.catalog import InstanceType
from gpuyard.spec.node_pools import ScalingSpec

# Where checkpoints lie, in the bucket and on the file system alike.
CHECKPOINT_PREFIX = "checkpoints"

PoolKind = Literal["rdma", "elastic", "fixed"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is built and for whom: what every plan needs besides its own spec."""

    cloud: str
    region: str
    environment: str
    zone: str | None = None
    task: str | None = None
    model_parameters: float | None = None


@dataclass(frozen=True, slots=True)
class InterfacePlan:
    """One network interface of a node: its place on the machine, its kind, and its share of RDMA queue pairs.

    ``interface_type`` is ``interface`` (an ordinary one), ``efa-only`` (AWS) or ``erdma`` (Alibaba Cloud).
    """

    network_card_index: int
    device_index: int
    interface_type: str
    queue_pairs: int | None = None

    @property
    def takes_address(self) -> bool:
        """Whether it uses an address of the subnet."""
        return self.interface_type != "efa-only"


@dataclass(frozen=True, slots=True)
class DiskPlan:
    """One disk of a node: its class in the cloud's API, its size, and what is bought on top of what comes with it."""

    disk_type: str
    size_gib: int
    iops: int | None = None
    throughput_mib_per_s: int | None = None


@dataclass(frozen=True, slots=True)
class SoftwarePlan:
    """What a pool's nodes run beside the jobs.

    ``driver_branch`` of NVIDIA's driver is installed where the image brings none, None where the image has to;
    ``driver_minimum`` is the oldest driver that will do, because of ``driver_reason``; ``fabric_manager`` says whether
    GPUs work only with NVIDIA's daemon for NVSwitches; ``gpu_clocks`` is ``default`` or ``highest``.
    """

    driver_branch: str | None = None
    driver_minimum: str | None = None
    driver_reason: str | None = None
    fabric_manager: bool = False
    containers: bool = False
    container_images: tuple[str, ...] = ()
    jupyter: bool = False
    gpu_clocks: str = "default"
    huge_pages_gib: int | None = None


@dataclass(frozen=True, slots=True)
class NodePoolPlan:
    """One pool of nodes.

    ``kind`` is ``rdma`` (one zone, close together, fixed size), ``elastic`` (spot, several equivalent types) or
    ``fixed``. ``instance_types`` holds one type, or for an elastic pool all equivalent ones, smallest first.
    ``min_nodes`` and ``max_nodes`` of a pool of fixed size hold its spare nodes too. ``scratch`` says whether the
    machines' own NVMe disks become one scratch volume. ``image_query`` finds the newest vendor image: the name of a
    parameter or the pattern of a name, as the cloud has it. ``details`` is what only the pool's cloud knows, a value of
    that cloud's planner for its builder, None where there is nothing; its ``reasons``, where it has such, are told too.
    """

    name: str
    kind: PoolKind
    place: Place
    instance_types: tuple[InstanceType, ...]
    min_nodes: int
    max_nodes: int
    zones: tuple[str, ...]
    purchase: str
    reservation_id: str | None
    reservation_group_arn: str | None
    reservation_placement_group: str | None
    clustered: bool
    interfaces: tuple[InterfacePlan, ...]
    root_disk: DiskPlan
    data_disk: DiskPlan | None
    scratch: bool
    kms_key: str | None
    log_keep_days: int
    checkpoint_seconds: int
    image_id: str | None
    image_query: str | None
    root_device: str
    spare_nodes: int = 0
    on_demand_nodes: int = 0
    desired_nodes: int | None = None
    scaling: ScalingSpec | None = None
    spot_price_limit: float | None = None
    prepaid_months: int | None = None
    prepaid_renew: bool = False
    software: SoftwarePlan = SoftwarePlan()
    details: Any = None
    reasons: tuple[str, ...] = ()

    @property
    def instance_type(self) -> InstanceType:
        """The first, smallest type."""
        return self.instance_types[0]

    @property
    def addresses_per_node(self) -> int:
        """Addresses of the subnet that one node uses."""
        return sum(interface.takes_address for interface in self.interfaces)


@dataclass(frozen=True, slots=True)
class FileSystemPlan:
    """One parallel file system.

    ``per_unit_mb_per_s_per_tib`` is None for kinds that offer no choice. ``metadata`` says whether the kind takes a
    configuration of its metadata servers, ``metadata_iops`` what they must do, None for what comes with the capacity.
    ``lustre_version`` is None for kinds that are no Lustre. ``details`` is what only the file system's cloud knows, a
    value of that cloud's planner for its builder, None where there is nothing.
    """

    type_name: str
    place: Place
    zone: str
    capacity_gib: int
    per_unit_mb_per_s_per_tib: int | None
    throughput_mb_per_s: float | None
    persistent: bool
    lustre_version: str | None
    s3_association: bool
    backup_keep_days: int
    kms_key: str | None
    rdma: bool = False
    metadata: bool = False
    metadata_iops: int | None = None
    compression: bool = True
    imports: bool = True
    exports: bool = True
    details: Any = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TransitionPlan:
    """Objects move to a storage class of the cloud's API after some days."""

    after_days: int
    storage_class: str


@dataclass(frozen=True, slots=True)
class PrefixPlan:
    """How long objects below one prefix are kept, and when they move to cheaper classes, soonest first."""

    prefix: str
    keep_days: int
    transitions: tuple[TransitionPlan, ...] = ()


@dataclass(frozen=True, slots=True)
class BucketPlan:
    """The checkpoint bucket and, where asked for, its copy in a second region; ``checkpoints`` is the first prefix.

    ``replica_storage_class`` is the class that copies are written in, None for the object's own.
    """

    region: str
    prefixes: tuple[PrefixPlan, ...]
    noncurrent_keep_days: int
    abort_uploads_after_days: int
    replica_region: str | None
    kms_key: str | None
    replica_kms_key: str | None = None
    replica_storage_class: str | None = None


@dataclass(frozen=True, slots=True)
class SnapshotPlan:
    """When disks are snapshotted, and how long snapshots and copies are kept.

    One of ``every_hours``, ``hours_utc`` (with ``weekdays``, empty for every day) and ``cron`` says when; one of
    ``keep_days`` and ``keep_count`` says how long.
    """

    region: str
    every_hours: int | None
    hours_utc: tuple[int, ...]
    weekdays: tuple[str, ...]
    cron: str | None
    keep_days: int | None
    keep_count: int | None
    copy_region: str | None
    copy_keep_days: int | None
    copy_kms_key: str | None
    fast_restore_zones: tuple[str, ...] = ()
    fast_restore_count: int | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MonitoringPlan:
    """What is watched, with every threshold, and the budget.

    ``utilization_periods`` counts the periods of ``period_seconds`` that utilization or memory must stay beyond its
    threshold.
    """

    place: Place
    notify: tuple[str, ...]
    gpu_utilization_below_percent: int
    gpu_memory_above_percent: int
    file_system_full_percent: int
    period_seconds: int
    utilization_periods: int
    dashboard: bool
    budget_amount: float | None = None
    budget_currency: str | None = None
    budget_alert_at_percent: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SubnetPlan:
    """The two subnets of one zone; ``public_cidr`` is None where no NAT gateway is needed."""

    zone: str
    private_cidr: str
    public_cidr: str | None


@dataclass(frozen=True, slots=True)
class NetworkPlan:
    """The network: addresses, subnets by zone, the way out, who may use SSH, and whether a file system is in it.

    ``nat`` is ``each_zone``, ``shared`` (one gateway in the first zone) or ``none``.
    """

    region: str
    cidr: str
    subnets: tuple[SubnetPlan, ...]
    nat: Literal["each_zone", "shared", "none"]
    file_system: bool
    file_system_rdma: bool
    ssh_from: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """Everything of one cluster."""

    name: str
    place: Place
    network: NetworkPlan
    node_pools: tuple[NodePoolPlan, ...]
    file_system: FileSystemPlan | None
    checkpoints: BucketPlan | None
    snapshots: SnapshotPlan | None
    monitoring: MonitoringPlan | None = None
    tags: dict[str, str] = field(default_factory=dict[str, str])
    protect_data: bool = False
