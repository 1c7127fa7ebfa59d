"""What will be built: one frozen value for each component, with the reasons."""

from dataclasses import dataclass, field
from typing import Literal

from gpuyard.catalog import InstanceType

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
    """One network interface of a node: its place on the machine and its kind (``interface``, ``efa-only``)."""

    network_card_index: int
    device_index: int
    interface_type: str

    @property
    def takes_address(self) -> bool:
        """Whether it uses an address of the subnet."""
        return self.interface_type != "efa-only"


@dataclass(frozen=True, slots=True)
class NodePoolPlan:
    """One pool of nodes.

    ``kind`` is ``rdma`` (one zone, close together, fixed size), ``elastic`` (spot, several equivalent types) or
    ``fixed``. ``instance_types`` holds one type, or for an elastic pool all equivalent ones, smallest first.
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
    clustered: bool
    interfaces: tuple[InterfacePlan, ...]
    root_disk_gib: int
    data_disk_gib: int | None
    image_id: str | None
    image_ssm_parameter: str | None
    root_device: str
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
    """One parallel file system; ``per_unit_mb_per_s_per_tib`` is None for kinds that offer no choice."""

    type_name: str
    place: Place
    zone: str
    capacity_gib: int
    per_unit_mb_per_s_per_tib: int | None
    throughput_mb_per_s: float | None
    persistent: bool
    lustre_version: str
    s3_association: bool
    backup_keep_days: int
    kms_key: str | None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BucketPlan:
    """The checkpoint bucket and, where asked for, its copy in a second region."""

    region: str
    keep_days: int
    noncurrent_keep_days: int
    abort_uploads_after_days: int
    replica_region: str | None
    kms_key: str | None
    replica_kms_key: str | None = None


@dataclass(frozen=True, slots=True)
class SnapshotPlan:
    """How disks are snapshotted and how long snapshots and copies are kept."""

    region: str
    every_hours: int
    keep_days: int
    copy_region: str | None
    copy_keep_days: int | None


@dataclass(frozen=True, slots=True)
class SubnetPlan:
    """The two subnets of one zone; ``public_cidr`` is None where no NAT gateway is needed."""

    zone: str
    private_cidr: str
    public_cidr: str | None


@dataclass(frozen=True, slots=True)
class NetworkPlan:
    """The network: addresses, subnets by zone, the way out, who may use SSH, and whether Lustre runs in it.

    ``nat`` is ``each_zone``, ``shared`` (one gateway in the first zone) or ``none``.
    """

    region: str
    cidr: str
    subnets: tuple[SubnetPlan, ...]
    nat: Literal["each_zone", "shared", "none"]
    lustre: bool
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
    tags: dict[str, str] = field(default_factory=dict[str, str])
    protect_data: bool = False
