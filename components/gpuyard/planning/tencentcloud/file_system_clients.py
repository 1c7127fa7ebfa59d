"""Who mounts CFS Turbo: how many nodes, and from which zones."""

from collections.abc import Sequence

from gpuyard.catalog.limits import limit
from gpuyard.planning.plans import FileSystemPlan, NodePoolPlan
from gpuyard.spec.problems import Path, Problem, one_of


def reaches_over_rdma(pool: NodePoolPlan) -> bool | None:  # noqa: ARG001 the same question for every cloud
    """Whether the nodes of a pool can reach a file system over RDMA: never, CFS Turbo is mounted over TCP.

    Args:
        pool: The pool.

    Returns:
        False.

    Source: CFS docs, "Using CFS Turbo on TKE" (github tencentyun/intlcloud-documents): mount command with ``@tcp0``
    """
    return False


def client_problems(
    file_system: FileSystemPlan, pools: Sequence[NodePoolPlan], path: Path = ("file_system",)
) -> list[Problem]:
    """Problems of a file system and the pools that mount it: more nodes than it takes clients.

    Args:
        file_system: The file system.
        pools: Every pool of the cluster.
        path: Where the file system stands in the cluster description.

    Returns:
        At most one problem.
    """
    most = limit(file_system.place.cloud, "file_system_clients_max")
    nodes = {pool.name: pool.max_nodes for pool in pools}
    total = sum(nodes.values())
    if total <= most.values[0]:
        return []
    parts = ", ".join(f"{number} of pool '{name}'" for name, number in nodes.items())
    message = f"{total} nodes can mount the file system ({parts}); it takes {most.values[0]} clients."
    return [Problem(path, message, f"Use fewer nodes, or several clusters (source: {most.source}).")]


def client_reasons(file_system: FileSystemPlan, pools: Sequence[NodePoolPlan]) -> tuple[str, ...]:
    """What is to be known of how pools reach the file system: from other zones.

    Args:
        file_system: The file system.
        pools: Every pool of the cluster.

    Returns:
        Reasons to be shown with the plan of the file system.
    """
    elsewhere = {pool.name: [zone for zone in pool.zones if zone != file_system.zone] for pool in pools}
    return tuple(
        f"Pool '{name}' is or may be in {one_of(zones)}, the file system is in {file_system.zone}: each access from "
        "there crosses zones."
        for name, zones in elsewhere.items()
        if zones
    )
