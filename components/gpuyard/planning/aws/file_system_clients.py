"""Who mounts a parallel file system: which pools reach it over RDMA, and from which zones."""

from collections.abc import Iterator, Sequence

from gpuyard.catalog.limits import limit
from gpuyard.catalog.regions import is_zone_id
from gpuyard.planning.plans import FileSystemPlan, NodePoolPlan
from gpuyard.spec.problems import Path, Problem, one_of


def reaches_over_rdma(pool: NodePoolPlan) -> bool | None:
    """Whether the nodes of a pool can reach a file system over RDMA; None when the catalog does not know.

    AWS names EFA types on Nitro v4 or newer without trn2. The catalog has no Nitro version of a type; its lists of
    families stand for that, and a family in neither list is unknown.

    Args:
        pool: The pool; without RDMA interfaces its nodes use TCP whatever their type is.

    Returns:
        True, False or unknown.

    Source: https://docs.aws.amazon.com/fsx/latest/LustreGuide/configure-efa-clients.html
    """
    if not _rdma_interfaces(pool):
        return False
    can = limit(pool.place.cloud, "lustre_efa_families").values
    cannot = limit(pool.place.cloud, "lustre_efa_families_without").values
    families = {row.family for row in pool.instance_types}
    if families & {*cannot}:
        return False
    return True if families <= {*can} else None


def client_problems(
    file_system: FileSystemPlan, pools: Sequence[NodePoolPlan], path: Path = ("file_system",)
) -> list[Problem]:
    """Problems of a file system with RDMA and the pools that mount it; none without RDMA.

    A pool without RDMA interfaces mounts it over TCP, which is allowed; but one pool at least must reach it over RDMA,
    or what is chosen for good when it is made serves nobody. Addresses must be of one /16, which the cluster's own
    network never exceeds.

    Args:
        file_system: The file system.
        pools: Every pool of the cluster; the problems are of all of them together, so without pools there is none.
        path: Where the file system stands in the cluster description.

    Returns:
        Every problem found.

    Source: https://docs.aws.amazon.com/fsx/latest/LustreGuide/efa-file-systems.html#efa-prerequisites
    """
    if not file_system.rdma or not pools:
        return []
    at: Path = (*path, "rdma")
    joined = [pool for pool in pools if _rdma_interfaces(pool)]
    if not joined:
        message = "no pool has RDMA interfaces to reach the file system with."
        return [Problem(at, message, "Set 'interconnect: rdma' of a pool, or remove it.")]
    return [
        *_type_problems(joined, at),
        *_zone_problems(file_system, joined, at),
        *_connection_problems(file_system, joined, at),
    ]


def client_reasons(file_system: FileSystemPlan, pools: Sequence[NodePoolPlan]) -> tuple[str, ...]:
    """What is to be known of how pools reach the file system: over TCP, over RDMA as far as known, from other zones.

    Args:
        file_system: The file system.
        pools: Every pool of the cluster.

    Returns:
        Reasons to be shown with the plan of the file system.
    """
    return tuple(_client_reasons(file_system, pools))


def _client_reasons(file_system: FileSystemPlan, pools: Sequence[NodePoolPlan]) -> Iterator[str]:
    for pool in pools:
        if file_system.rdma and not _rdma_interfaces(pool):
            yield f"Pool '{pool.name}' has no RDMA interfaces and mounts it over TCP."
        elif file_system.rdma and reaches_over_rdma(pool) is None:
            types = one_of(row.instance_type for row in pool.instance_types)
            yield (
                f"Whether pool '{pool.name}' reaches it over RDMA is unknown: the catalog does not know the Nitro "
                f"version of {types}, and version 4 or newer is needed."
            )
        elsewhere = [zone for zone in pool.zones if zone != file_system.zone]
        if elsewhere:
            yield (
                f"Pool '{pool.name}' is or may be in {one_of(elsewhere)}, the file system is in {file_system.zone}: "
                "reading across zones is slower and paid by the GB."
            )


def _rdma_interfaces(pool: NodePoolPlan) -> int:
    return sum(interface.interface_type.startswith("efa") for interface in pool.interfaces)


def _type_problems(pools: Sequence[NodePoolPlan], at: Path) -> Iterator[Problem]:
    for pool in pools:
        if reaches_over_rdma(pool) is False:
            can = limit(pool.place.cloud, "lustre_efa_families")
            types = one_of(row.instance_type for row in pool.instance_types)
            yield Problem(
                at,
                f"{types} of pool '{pool.name}' has EFA, but does not reach a file system over it.",
                f"Families that do: {one_of(can.values)} (source: {can.source.split(';')[0]}). Or remove it.",
            )


def _zone_problems(file_system: FileSystemPlan, pools: Sequence[NodePoolPlan], at: Path) -> Iterator[Problem]:
    for pool in pools:
        # A zone's name and a zone's id cannot be told apart here: accounts give names to ids differently.
        elsewhere = [
            zone for zone in pool.zones if zone != file_system.zone and is_zone_id(zone) == is_zone_id(file_system.zone)
        ]
        if elsewhere:
            yield Problem(
                at,
                f"pool '{pool.name}' is in {one_of(elsewhere)}, the file system is in {file_system.zone}: RDMA stays "
                "in one zone.",
                f"Put the pool into {file_system.zone}.",
            )


def _connection_problems(file_system: FileSystemPlan, pools: Sequence[NodePoolPlan], at: Path) -> list[Problem]:
    most = limit(file_system.place.cloud, "lustre_efa_connections_max").values[0]
    connections = {pool.name: pool.max_nodes * _connections_per_node(pool) for pool in pools}
    total = sum(connections.values())
    if total <= most:
        return []
    parts = ", ".join(f"{number} of pool '{name}'" for name, number in connections.items())
    message = f"the nodes make {total} EFA connections to the file system ({parts}); it takes {most}."
    return [Problem(at, message, "Use fewer nodes, or several file systems.")]


def _connections_per_node(pool: NodePoolPlan) -> int:
    """EFA interfaces that AWS's client set-up gives to Lustre, each of which is one connection."""
    cloud = pool.place.cloud
    eight, several, one = limit(cloud, "lustre_efa_interfaces").values
    has = _rdma_interfaces(pool)
    types = {row.instance_type for row in pool.instance_types}
    if types & {*limit(cloud, "lustre_efa_eight_interfaces").values}:
        return min(eight, has)
    return min(several if has > 1 else one, has)
