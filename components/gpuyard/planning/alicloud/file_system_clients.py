"""Who mounts a file system: how many nodes it takes, and how fast one of them reads."""

from collections.abc import Iterator, Sequence

from gpuyard.catalog.limits import limit
from gpuyard.planning.plans import FileSystemPlan, NodePoolPlan
from gpuyard.spec.problems import Path, Problem, one_of


def reaches_over_rdma(pool: NodePoolPlan) -> bool | None:  # noqa: ARG001 the same question for every cloud
    """Whether the nodes of a pool can reach a file system over RDMA.

    Args:
        pool: The pool.

    Returns:
        No: what the provider can make is reached over TCP.

    Source: https://www.alibabacloud.com/help/en/cpfs/cpfsonecs/user-guide/mounting-overview
    """
    return False


def client_problems(
    file_system: FileSystemPlan, pools: Sequence[NodePoolPlan], path: Path = ("file_system",)
) -> list[Problem]:
    """Problems of a file system and the pools that mount it: more nodes than it takes.

    Args:
        file_system: The file system.
        pools: Every pool of the cluster.
        path: Where the file system stands in the cluster description.

    Returns:
        At most one problem.
    """
    most = limit(file_system.place.cloud, f"{file_system.details.kind}_clients_max")
    nodes = sum(pool.max_nodes for pool in pools)
    if nodes <= most.values[0]:
        return []
    message = f"{nodes} nodes mount the file system, which takes {most.values[0]}."
    return [Problem(path, message, f"Use fewer nodes, or several file systems (source: {most.source}).")]


def client_reasons(file_system: FileSystemPlan, pools: Sequence[NodePoolPlan]) -> tuple[str, ...]:
    """What is to be known of how pools reach the file system.

    Args:
        file_system: The file system.
        pools: Every pool of the cluster.

    Returns:
        Reasons to be shown with the plan of the file system.
    """
    return tuple(_client_reasons(file_system, pools))


def _client_reasons(file_system: FileSystemPlan, pools: Sequence[NodePoolPlan]) -> Iterator[str]:
    if file_system.details.kind == "cpfs":
        each: int = limit(file_system.place.cloud, "cpfs_nfs_client_mb_per_s").values[0]
        yield f"Nodes mount it over NFS, by which one reads at most {each} MB/s; POSIX clients are set up by hand."
        nodes = sum(pool.max_nodes for pool in pools)
        together = nodes * each
        if nodes and together < (file_system.throughput_mb_per_s or 0):
            yield f"{nodes} nodes reach {together} MB/s together, less than the file system gives."
    for pool in pools:
        if pool.instance_type.cpu_arch != "x86_64":
            yield f"Whether the Arm nodes of pool '{pool.name}' can mount it is unknown: the client is built for x86."
        elsewhere = [zone for zone in pool.zones if zone != file_system.zone]
        if elsewhere:
            yield (
                f"Pool '{pool.name}' is or may be in {one_of(elsewhere)}, the file system is in {file_system.zone}: "
                "reading across zones is slower."
            )
