"""What only Alibaba Cloud decides about a node pool: RDMA interfaces, what keeps nodes close, how spot is chosen."""

from dataclasses import dataclass

from gpuyard.catalog import InstanceType
from gpuyard.catalog.limits import limit
from gpuyard.planning.alicloud.interfaces import erdma_interfaces, interface_problems, interface_reasons
from gpuyard.planning.alicloud.pool_problems import elastic_problems, purchase_problems
from gpuyard.planning.plans import InterfacePlan, Place, PoolKind
from gpuyard.spec.alicloud import AlicloudNodePoolSpec
from gpuyard.spec.node_pools import NodePoolSpec
from gpuyard.spec.problems import Path, Problem

# Of nodes on demand there is no cheaper kind to look for: the first type and zone that has some will do.
_ON_DEMAND_POLICY = "PRIORITY"


@dataclass(frozen=True, slots=True)
class AlicloudPoolDetails:
    """A pool's facts that only Alibaba Cloud has.

    ``hpc_cluster``: the machines join an HPC cluster, whose RoCE network is beside the VPC. ``multi_az_policy`` and
    what follows it are of an elastic pool: how its scaling group chooses, whether it may buy on demand in place of
    spot, and the hours that a spot node is safe, 0 being a value as good as 1. ``renew_months`` is how long a prepaid
    node is renewed at a time.
    """

    hpc_cluster: bool
    jumbo_frames: bool
    multi_az_policy: str | None
    compensate_with_on_demand: bool
    spot_protected_hours: int | None
    renew_months: int | None
    reasons: tuple[str, ...] = ()


def plan_interfaces(spec: NodePoolSpec, row: InstanceType) -> tuple[InterfacePlan, ...] | None:
    """The network interfaces of one node.

    Args:
        spec: What was asked for.
        row: The machine.

    Returns:
        Interfaces, the primary first; None when the catalog does not know the machine's network cards.
    """
    pairs = None if spec.alicloud is None else spec.alicloud.erdma_queue_pairs
    return erdma_interfaces(row, rdma=spec.interconnect == "rdma", queue_pairs=pairs)


def is_clustered(spec: NodePoolSpec, kind: PoolKind) -> bool:
    """Whether the pool's nodes are kept close together: as asked for, else for RDMA that was not bought before.

    Args:
        spec: What was asked for.
        kind: Kind of the pool.

    Returns:
        Whether the pool has a deployment set, or an HPC cluster, of its own.
    """
    if spec.placement is not None:
        return spec.placement == "cluster"
    return kind == "rdma" and spec.purchase in ("on_demand", "prepaid")


def pool_problems(
    spec: NodePoolSpec, kind: PoolKind, types: tuple[InstanceType, ...], place: Place, path: Path
) -> list[Problem]:
    """Problems that only this cloud knows.

    Args:
        spec: What was asked for.
        kind: Kind of the pool.
        types: The machines that were chosen, none where none fits.
        place: Cloud and region.
        path: Where the pool stands in the cluster description.

    Returns:
        Every problem found.
    """
    row = types[0] if types else None
    return [
        *interface_problems(spec, row, path),
        *purchase_problems(spec, kind, place, path),
        *(elastic_problems(spec, path) if kind == "elastic" else []),
        *_close_problems(spec, kind, row, place, path),
        *_system_disk_problems(spec, place, path),
        *_address_problems(spec, row, place, path),
    ]


def pool_details(
    spec: NodePoolSpec, kind: PoolKind, types: tuple[InstanceType, ...], place: Place
) -> AlicloudPoolDetails:
    """What a plan holds for this cloud alone.

    Args:
        spec: What was asked for.
        kind: Kind of the pool.
        types: The machines.
        place: Cloud and region.

    Returns:
        The facts, with reasons of their own.
    """
    own = spec.alicloud or AlicloudNodePoolSpec()
    row, spot = types[0], spec.purchase == "spot"
    policy = own.multi_az_policy if spot else _ON_DEMAND_POLICY
    return AlicloudPoolDetails(
        hpc_cluster=spec.interconnect == "rdma" and row.rdma == "roce",
        jumbo_frames=own.jumbo_frames,
        multi_az_policy=policy if kind == "elastic" else None,
        compensate_with_on_demand=own.compensate_with_on_demand,
        spot_protected_hours=int(own.spot_protected_hour) if spot else None,
        renew_months=_renew_months(spec, place),
        reasons=(*interface_reasons(spec, row), *_close_reasons(spec, kind, row), *_health_reasons(kind)),
    )


def _renew_months(spec: NodePoolSpec, place: Place) -> int | None:
    """The longest renewal that is no longer than what was paid at first."""
    if spec.prepaid is None or not spec.prepaid.renew:
        return None
    months = spec.prepaid.months
    return max(value for value in limit(place.cloud, "prepaid_renew_months").values if value <= months)


def _close_problems(
    spec: NodePoolSpec, kind: PoolKind, row: InstanceType | None, place: Place, path: Path
) -> list[Problem]:
    if not is_clustered(spec, kind) or kind == "elastic" or (row is not None and _in_hpc_cluster(spec, row)):
        return []
    most = limit(place.cloud, "deployment_set_nodes_max")
    nodes = spec.nodes.max + spec.spare_nodes
    if nodes <= most.values[0]:
        return []
    spare = f" ({spec.spare_nodes} of them spare)" if spec.spare_nodes else ""
    message = f"a deployment set keeps at most {most.values[0]} nodes close together, and the pool has {nodes}{spare}."
    remedy = (
        f"Set 'placement: none' to let the cloud place them anywhere in the zone, build pools of at most "
        f"{most.values[0]} nodes, or use a type with RoCE, whose HPC cluster has no such limit "
        f"(source: {most.source})."
    )
    return [Problem((*path, "placement"), message, remedy)]


def _close_reasons(spec: NodePoolSpec, kind: PoolKind, row: InstanceType) -> list[str]:
    if _in_hpc_cluster(spec, row):
        return [f"{row.instance_type} joins an HPC cluster: its RoCE network is beside the VPC."]
    if not is_clustered(spec, kind):
        return []
    return [
        "A deployment set (LowLatency) keeps the nodes close together; they may share a host, and the catalog does not "
        f"know whether it takes {row.family}."
    ]


def _health_reasons(kind: PoolKind) -> list[str]:
    told = "its scaling group waits for what the gate says" if kind == "elastic" else "a tag of the machine tells it"
    return [
        f"With a checkpoint bucket each node has a health gate and a watcher, and {told}; without one there is "
        "neither. Their commands (ossutil, aliyun) come over the internet unless the image brings them."
    ]


def _in_hpc_cluster(spec: NodePoolSpec, row: InstanceType) -> bool:
    return spec.interconnect == "rdma" and row.rdma == "roce"


def _system_disk_problems(spec: NodePoolSpec, place: Place, path: Path) -> list[Problem]:
    sizes = limit(place.cloud, "system_disk_gib")
    low, high = sizes.values
    if low <= spec.root_disk_gib <= high:
        return []
    message = f"a system disk has {low} to {high} GiB, not {spec.root_disk_gib}."
    remedy = f"Put the rest on 'data_disk_gib' (source: {sizes.source})."
    return [Problem((*path, "root_disk_gib"), message, remedy)]


def _address_problems(spec: NodePoolSpec, row: InstanceType | None, place: Place, path: Path) -> list[Problem]:
    """More nodes than the security group that they share has room for; other pools take room of it too."""
    most = limit(place.cloud, "security_group_addresses_max")
    interfaces = None if row is None else plan_interfaces(spec, row)
    addresses = (spec.nodes.max + spec.spare_nodes) * len(interfaces or (None,))
    if addresses <= most.values[0]:
        return []
    message = f"the nodes need {addresses} addresses, and their security group holds {most.values[0]}."
    return [Problem((*path, "nodes"), message, f"Build several clusters (source: {most.source}).")]
