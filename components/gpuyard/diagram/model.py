"""What a picture of a cluster shows: its parts, where they are, and what flows between them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gpuyard.catalog import InstanceType
from gpuyard.catalog.limits import limit_values
from gpuyard.diagram.words import (
    bucket_facts,
    counted,
    egress_words,
    file_system_facts,
    monitoring_facts,
    network_words,
    pool_facts,
    schedule_words,
    size_words,
    sync_words,
)
from gpuyard.planning.plans import BucketPlan, ClusterPlan, NodePoolPlan, SnapshotPlan

PartKind = Literal["pool", "file_system", "bucket", "snapshots", "monitoring", "gateway", "internet"]
FlowKind = Literal["data", "sync", "snapshot", "copy", "internet"]

NETWORK = "network"
"""The id that flows of the whole network begin at."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """The machines of a pool, as they are drawn; ``fabric`` says what joins them, None where nothing does."""

    least: int
    most: int
    gpus_each: int
    fabric: str | None


@dataclass(frozen=True, slots=True)
class Part:
    """One thing in the picture: ``facts`` are short lines below its title."""

    id: str
    kind: PartKind
    title: str
    facts: tuple[str, ...]
    aside: str = ""
    nodes: Nodes | None = None


@dataclass(frozen=True, slots=True)
class Area:
    """Parts that are in one place: zones of the network, or a second region."""

    name: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Flow:
    """What goes from one part to another; ``both_ways`` where it comes back as well."""

    source: str
    target: str
    kind: FlowKind
    label: str
    both_ways: bool = False


@dataclass(frozen=True, slots=True)
class Topology:
    """A cluster as a graph.

    ``zones`` lie in the network, ``services`` in the region beside it, ``copies`` in other regions. ``outside`` is the
    internet, None where no node reaches it.
    """

    name: str
    summary: str
    region: str
    network: str
    zones: tuple[Area, ...]
    services: tuple[Part, ...]
    copies: tuple[Area, ...]
    outside: Part | None
    flows: tuple[Flow, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        """Every part of the picture."""
        areas = [part for area in (*self.zones, *self.copies) for part in area.parts]
        return (*areas, *self.services, *(() if self.outside is None else (self.outside,)))


def topology_of(plan: ClusterPlan) -> Topology:
    """The graph of a cluster.

    Args:
        plan: The cluster's plan.

    Returns:
        Parts and flows, in an order that is the same at every run.
    """
    place = plan.place
    pools, nodes = len(plan.node_pools), sum(pool.max_nodes for pool in plan.node_pools)
    work = "" if place.task is None else f", {place.task.replace('_', ' ')}"
    return Topology(
        name=plan.name,
        summary=f"{place.environment}{work}: {counted(pools, 'pool')}, {counted(nodes, 'node')} at most",
        region=f"{place.cloud} · {place.region}",
        network=network_words(plan.network),
        zones=tuple(_zones(plan)),
        services=tuple(_services(plan)),
        copies=tuple(_copies(plan)),
        outside=None if plan.network.nat == "none" else Part("internet", "internet", "Internet", ()),
        flows=tuple(_flows(plan)),
    )


def _zones(plan: ClusterPlan) -> Iterator[Area]:
    """Pools by the zones that they may be in, the file system's zone last: what mounts it is drawn above it."""
    areas: dict[tuple[str, ...], list[Part]] = {}
    for pool in plan.node_pools:
        areas.setdefault(tuple(sorted(pool.zones)), []).append(_pool(pool))
    if plan.file_system is not None:
        areas[(plan.file_system.zone,)] = [
            *areas.pop((plan.file_system.zone,), []),
            Part("file-system", "file_system", "File system", file_system_facts(plan.file_system)),
        ]
    for zones, parts in areas.items():
        yield Area(" + ".join(zones), tuple(parts))


def _pool(pool: NodePoolPlan) -> Part:
    row = pool.instance_type
    return Part(
        id=_pool_id(pool),
        kind="pool",
        title=pool.name,
        facts=pool_facts(pool),
        aside=size_words(pool),
        nodes=Nodes(pool.min_nodes, pool.max_nodes, row.gpu_count or 0, _fabric(pool, row)),
    )


def _fabric(pool: NodePoolPlan, row: InstanceType) -> str | None:
    if pool.kind != "rdma":
        return None
    name = {"efa": "EFA", "erdma": "eRDMA", "roce": "RoCE"}.get(str(row.rdma), "RDMA")
    return name if row.rdma_gbps is None else f"{name} {row.rdma_gbps:,.0f} Gbps each node"


def _services(plan: ClusterPlan) -> Iterator[Part]:
    yield Part("way-out", "gateway", "Way out", egress_words(plan.network))
    if plan.snapshots is not None:
        yield Part("snapshots", "snapshots", "Snapshots", schedule_words(plan.snapshots))
    if plan.monitoring is not None:
        yield Part("monitoring", "monitoring", "Monitoring", monitoring_facts(plan.monitoring))
    if plan.checkpoints is not None:
        yield Part("bucket", "bucket", "Checkpoint bucket", bucket_facts(plan.checkpoints))


def _copies(plan: ClusterPlan) -> Iterator[Area]:
    """Second regions, each with the copies that it keeps."""
    areas: dict[str, list[Part]] = {}
    if plan.snapshots is not None and plan.snapshots.copy_region is not None:
        copies = Part("snapshot-copies", "snapshots", "Snapshot copies", _copy_facts(plan.snapshots))
        areas.setdefault(plan.snapshots.copy_region, []).append(copies)
    if plan.checkpoints is not None and plan.checkpoints.replica_region is not None:
        replica = Part("replica", "bucket", "Checkpoint copy", _replica_facts(plan.checkpoints))
        areas.setdefault(plan.checkpoints.replica_region, []).append(replica)
    for region, parts in areas.items():
        yield Area(region, tuple(parts))


def _copy_facts(plan: SnapshotPlan) -> tuple[str, ...]:
    days = plan.copy_keep_days or plan.keep_days
    return ("encrypted", "kept as the snapshots" if days is None else f"kept {days:,} days")


def _replica_facts(plan: BucketPlan) -> tuple[str, ...]:
    storage = plan.replica_storage_class
    return ("versioned, encrypted", *(() if storage is None else (f"written as {storage}",)))


def _flows(plan: ClusterPlan) -> Iterator[Flow]:
    file_system, bucket, snapshots = plan.file_system, plan.checkpoints, plan.snapshots
    linked = file_system is not None and bucket is not None and (file_system.imports or file_system.exports)
    for pool in plan.node_pools:
        if file_system is not None:
            label = "data, checkpoints" if linked else "data"
            yield Flow(_pool_id(pool), "file-system", "data", label, both_ways=True)
        if bucket is not None and not linked:
            yield Flow(_pool_id(pool), "bucket", "sync", "checkpoints", both_ways=True)
        if snapshots is not None and _is_reached(pool):
            yield Flow(_pool_id(pool), "snapshots", "snapshot", "disks")
    if linked and file_system is not None:
        both = file_system.imports and file_system.exports
        source, target = ("bucket", "file-system") if not file_system.exports else ("file-system", "bucket")
        yield Flow(source, target, "sync", sync_words(file_system), both_ways=both)
    if snapshots is not None and snapshots.copy_region is not None:
        yield Flow("snapshots", "snapshot-copies", "copy", "copy")
    if bucket is not None and bucket.replica_region is not None:
        yield Flow("bucket", "replica", "copy", "replication")
    if plan.network.nat == "none":
        yield Flow(NETWORK, "way-out", "internet", "cloud services")
    else:
        yield Flow(NETWORK, "way-out", "internet", "egress")
        yield Flow("way-out", "internet", "internet", "")


def _is_reached(pool: NodePoolPlan) -> bool:
    """Whether the cloud's snapshot schedule reaches disks of a pool."""
    kinds = limit_values(pool.place.cloud, "snapshot_pool_kinds")
    return not kinds or (pool.kind in kinds and pool.data_disk is not None)


def _pool_id(pool: NodePoolPlan) -> str:
    return f"pool-{pool.name}"
