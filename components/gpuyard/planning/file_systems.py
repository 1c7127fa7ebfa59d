"""Parallel file systems: each cloud has its own kinds; what is asked for and what comes back is the same."""

from collections.abc import Sequence

from gpuyard.planning.cloud_parts import cloud_part
from gpuyard.planning.plans import FileSystemPlan, NodePoolPlan, Place
from gpuyard.spec.models import FileSystemSpec
from gpuyard.spec.problems import Path, Problem


def plan_file_system(
    spec: FileSystemSpec, place: Place, path: Path = (), *, linked: bool = False, gpus: int | None = None
) -> tuple[FileSystemPlan | None, list[Problem]]:
    """What the file system is made of.

    Args:
        spec: What was asked for.
        place: Cloud, region and zone, and the work.
        path: Where it stands in the cluster description, for the problems' paths.
        linked: Whether there is a checkpoint bucket that it can be linked to.
        gpus: GPUs that train together, from which the throughput is derived where none was asked for; None when
            unknown.

    Returns:
        The plan, or None when there is none; and every problem found.
    """
    return cloud_part(place.cloud, "file_system").plan_file_system(spec, place, path, linked=linked, gpus=gpus)


def smallest_file_system(held_gib: int, mb_per_s: int, cloud: str) -> int:
    """The smallest capacity in GiB that holds so much and gives a throughput.

    Args:
        held_gib: GiB that it must hold.
        mb_per_s: Throughput in MB/s.
        cloud: The cloud, whose kinds and steps count.

    Returns:
        A capacity that the cloud sells.
    """
    return int(cloud_part(cloud, "file_system").smallest_file_system(held_gib, mb_per_s, cloud))


def client_problems(file_system: FileSystemPlan, pools: Sequence[NodePoolPlan], path: Path) -> list[Problem]:
    """Problems of a file system and the pools that mount it.

    Args:
        file_system: The file system.
        pools: Every pool of the cluster.
        path: Where the file system stands in the cluster description.

    Returns:
        Every problem found.
    """
    return cloud_part(file_system.place.cloud, "file_system_clients").client_problems(file_system, pools, path)


def client_reasons(file_system: FileSystemPlan, pools: Sequence[NodePoolPlan]) -> tuple[str, ...]:
    """What is to be known of how pools reach the file system.

    Args:
        file_system: The file system.
        pools: Every pool of the cluster.

    Returns:
        Sentences for people.
    """
    return cloud_part(file_system.place.cloud, "file_system_clients").client_reasons(file_system, pools)


def reaches_over_rdma(pool: NodePoolPlan) -> bool | None:
    """Whether the nodes of a pool can reach a file system over RDMA; None when the catalog does not know.

    Args:
        pool: The pool.

    Returns:
        True, False or unknown.
    """
    return cloud_part(pool.place.cloud, "file_system_clients").reaches_over_rdma(pool)
