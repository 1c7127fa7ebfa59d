"""What facts are made of. A fact's field is a value, None where there is none, or Unknown until the update."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that cannot be told yet, and why."""

    why: str


# What a cloud's reader has not looked at: a rule that needs it says so, and never takes it for a no.
NOT_READ = Unknown("the facts of this cloud do not say")


@dataclass(frozen=True)
class Record:
    """One registered resource, as any source of resources can give it.

    Attributes:
        urn: Its URN.
        type: Its type token.
        name: Its logical name.
        props: Its properties as plain data; a value not known yet is an Unknown.
        depends_on: For each property the URNs of the resources that its value comes from.
        provider: Properties of its provider, such as the region.
        protect: Whether the engine refuses to delete it; None where the source of resources does not say.
    """

    urn: str
    type: str
    name: str
    props: Mapping[str, Any]
    depends_on: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    provider: Mapping[str, Any] = field(default_factory=dict[str, Any])
    protect: bool | None = None


@dataclass(frozen=True)
class DiskFact:
    """A block disk: one that exists by itself, or one that each machine of a pool gets.

    Attributes:
        urn: The resource that makes it.
        name: Its logical name, with the device of a pool's disk behind it.
        cloud: ``aws`` ...
        role: ``root`` or ``data``.
        disk_type: Its class in the catalog's words, such as ``gp3`` or ``cloud_essd PL1``; None where the cloud's
            default is taken.
        size_gib: Its size in GiB; None for that of the image.
        iops: IOPS that are bought; None for those that come with it.
        throughput_mb_per_s: Throughput that is bought, in MB/s; None for what comes with it.
        encrypted: Whether it is encrypted.
        tags: Its tags.
        pool_urn: The pool that it belongs to; None for a disk by itself.
        schedules: Schedules that name this disk itself, by URN.
    """

    urn: str
    name: str
    cloud: str
    role: str
    disk_type: str | None | Unknown
    size_gib: int | None | Unknown
    iops: int | None | Unknown
    throughput_mb_per_s: float | None | Unknown
    encrypted: bool | Unknown
    tags: Mapping[str, Any] | Unknown
    pool_urn: str | None = None
    schedules: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodePoolFact:
    """A group of equal machines, or one machine.

    Attributes:
        urn: The resource that launches them.
        name: Its logical name.
        cloud: ``aws`` ...
        instance_types: Types that a machine may have.
        nodes_max: The most machines there may be; None when the resource does not say.
        region: Where they are.
        tags: Tags of the machines and of the resource.
        nodes_min: The fewest machines; None when the resource does not say.
        zones: Zones that they may be in, by name or id; empty where the resource leaves it to the cloud.
        purchase: ``on_demand``, ``spot``, ``mixed`` (both), ``reserved``, ``capacity_block`` or ``prepaid``.
        spot_price_limit: Most that a spot machine may cost an hour; None without a limit.
        placement: ``close`` (together, for latency), ``spread``, or None without a rule.
        rdma_interfaces: How many RDMA interfaces are switched on; for clouds that join machines by a cluster of their
            own, 1 for a member.
        public_address: Whether machines get an address of the internet; None where their subnet decides and is unknown
            to the stack.
        metadata_hardened: Whether requests to the metadata service need a session token.
        security_groups: Security groups of the machines: URNs of those in the stack, ids of others.
        disks: Disks that each machine gets; a pool that maps no root disk has none with the role ``root``.
        user_data: What machines run when they boot, decoded; None without any.
        image: The image as it is named; None where the cloud chooses.
        image_pinned: Whether the image stays the same until somebody names another.
        handles_interruption: Whether somebody or something is told before a machine is taken away.
        elastic: Whether the number of machines changes by itself.
        taints: Keys of the taints of a Kubernetes pool; None for machines that are no Kubernetes nodes.
        job_nodes: Machines that work on one job together with this single one, itself among them; None where the
            machines of this fact are all.
    """

    urn: str
    name: str
    cloud: str
    instance_types: tuple[str, ...] | Unknown
    nodes_max: int | None | Unknown
    region: str | Unknown
    tags: Mapping[str, Any] | Unknown
    nodes_min: int | None | Unknown = NOT_READ
    zones: tuple[str, ...] | Unknown = NOT_READ
    purchase: str | Unknown = NOT_READ
    spot_price_limit: float | None | Unknown = NOT_READ
    placement: str | None | Unknown = NOT_READ
    rdma_interfaces: int | Unknown = NOT_READ
    public_address: bool | None | Unknown = NOT_READ
    metadata_hardened: bool | Unknown = NOT_READ
    security_groups: tuple[str, ...] | Unknown = NOT_READ
    disks: tuple[DiskFact, ...] | Unknown = NOT_READ
    user_data: str | None | Unknown = NOT_READ
    image: str | None | Unknown = NOT_READ
    image_pinned: bool | Unknown = NOT_READ
    handles_interruption: bool | Unknown = NOT_READ
    elastic: bool | Unknown = NOT_READ
    taints: tuple[str, ...] | None | Unknown = None
    job_nodes: int | None = None


@dataclass(frozen=True)
class StorageFact:
    """A file system or bucket.

    Attributes:
        urn: The resource.
        name: Its logical name.
        cloud: ``aws`` ...
        kind: ``file system`` or ``bucket``.
        region: Where it is.
        is_replica: Whether it is the target of a replication, and so meant to be elsewhere.
        tags: Its tags.
        encrypted: Whether what lies in it is encrypted at rest.
        protected: Whether the engine refuses to delete it; None where the source of resources does not say.
        zone: Zone of a file system that is in one; None for one that is in none.
        parallel: Whether a file system is a parallel one.
        scratch: Whether a file system loses its data with a server.
        throughput_mb_per_s: Throughput of a file system in MB/s; None where its kind promises none.
        exports: Whether what is written to a file system is copied to a bucket by itself.
        public: Whether a bucket can be read or written by everybody.
        https_only: Whether a bucket refuses plain HTTP.
        expires: Whether something in a bucket ever ends: old versions, torn uploads or objects.
    """

    urn: str
    name: str
    cloud: str
    kind: str
    region: str | Unknown
    is_replica: bool | Unknown
    tags: Mapping[str, Any] | Unknown
    encrypted: bool | Unknown = NOT_READ
    protected: bool | None = None
    zone: str | None | Unknown = NOT_READ
    parallel: bool | Unknown = NOT_READ
    scratch: bool | Unknown = NOT_READ
    throughput_mb_per_s: float | None | Unknown = NOT_READ
    exports: bool | Unknown = NOT_READ
    public: bool | Unknown = NOT_READ
    https_only: bool | Unknown = NOT_READ
    expires: bool | Unknown = NOT_READ


@dataclass(frozen=True)
class CopyFact:
    """A copy of snapshots in another region; ``keep_days`` is None where copies never end."""

    region: str | Unknown
    encrypted: bool | Unknown
    keep_days: float | None | Unknown


@dataclass(frozen=True)
class SnapshotScheduleFact:
    """A schedule of snapshots.

    Attributes:
        urn: The resource.
        name: Its logical name.
        cloud: ``aws`` ...
        region: Where it works.
        enabled: Whether it is switched on.
        target_tags: Tags by which it finds disks, exact keys and values; None where disks are attached by name.
        attached: URNs of disks, or of pools, that are attached to it by name.
        keep_days: Days that snapshots are kept; None where they are kept by number or for ever.
        keep_count: Newest snapshots that are kept; None where they are kept by days or for ever.
        copies: Copies in other regions.
    """

    urn: str
    name: str
    cloud: str
    region: str | Unknown
    enabled: bool | Unknown
    target_tags: Mapping[str, Any] | None | Unknown
    attached: tuple[str, ...] | Unknown
    keep_days: float | None | Unknown
    keep_count: int | None | Unknown
    copies: tuple[CopyFact, ...] | Unknown


@dataclass(frozen=True)
class SecurityGroupFact:
    """A security group: whether all traffic passes between its own members, each way, by naming the group itself."""

    urn: str
    name: str
    cloud: str
    open_to_itself_in: bool | Unknown
    open_to_itself_out: bool | Unknown


@dataclass(frozen=True)
class IngressFact:
    """Traffic that is let in from addresses.

    Attributes:
        urn: The rule, or the group that holds it.
        name: Its logical name.
        cloud: ``aws`` ...
        group: The security group: a URN in the stack, else an id.
        cidr: Addresses that are let in.
        ports: First and last port; None for all.
        protocol: ``tcp``, ``udp``, ``icmp`` or ``all``.
    """

    urn: str
    name: str
    cloud: str
    group: str | Unknown
    cidr: str | Unknown
    ports: tuple[int, int] | None | Unknown
    protocol: str | Unknown


@dataclass(frozen=True)
class RoleFact:
    """A grant of rights: actions or resources that are given by a bare wildcard, such as ``s3:*`` on ``*``."""

    urn: str
    name: str
    cloud: str
    wildcards: tuple[str, ...] | Unknown


@dataclass(frozen=True)
class AlarmFact:
    """An alarm or dashboard; ``watches_gpus`` says whether it looks at the utilization of GPUs."""

    urn: str
    name: str
    cloud: str
    watches_gpus: bool | Unknown


@dataclass(frozen=True)
class BudgetFact:
    """A budget of a month.

    Attributes:
        urn: The resource.
        name: Its logical name.
        cloud: ``aws`` ...
        monthly_amount: What a month may cost; None where it does not say.
        currency: ``USD`` ...; None where it names none, as on a cloud that bills each account in a currency of its own.
    """

    urn: str
    name: str
    cloud: str
    monthly_amount: float | None | Unknown
    currency: str | None | Unknown


@dataclass(frozen=True)
class ServiceFact:
    """Something that costs by itself: ``advanced_ddos``, or ``cross_region_traffic`` with the region it goes to."""

    urn: str
    name: str
    cloud: str
    kind: str
    other_region: str | None | Unknown = None


@dataclass(frozen=True)
class Facts:
    """All facts of one stack; ``problems`` are resources that no fact could be built of, with the reason.

    ``judged`` counts the resources of clouds that were looked at: none is no pass.
    """

    node_pools: tuple[NodePoolFact, ...] = ()
    storage: tuple[StorageFact, ...] = ()
    disks: tuple[DiskFact, ...] = ()
    schedules: tuple[SnapshotScheduleFact, ...] = ()
    security_groups: tuple[SecurityGroupFact, ...] = ()
    ingress: tuple[IngressFact, ...] = ()
    roles: tuple[RoleFact, ...] = ()
    alarms: tuple[AlarmFact, ...] = ()
    budgets: tuple[BudgetFact, ...] = ()
    services: tuple[ServiceFact, ...] = ()
    tagged: tuple["TaggedFact", ...] = ()
    problems: tuple[tuple[str, str], ...] = ()
    judged: int = 0

    @property
    def file_systems(self) -> tuple[StorageFact, ...]:
        """The file systems."""
        return tuple(item for item in self.storage if item.kind == "file system")

    @property
    def buckets(self) -> tuple[StorageFact, ...]:
        """The buckets."""
        return tuple(item for item in self.storage if item.kind == "bucket")


@dataclass(frozen=True)
class TaggedFact:
    """A resource that takes tags, and those that it has."""

    urn: str
    name: str
    cloud: str
    tags: Mapping[str, Any] | Unknown
