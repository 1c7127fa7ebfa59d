"""What only AWS decides about a node pool: interfaces, the placement group, and what goes with them."""

from gpuyard.catalog import InstanceType
from gpuyard.planning.aws.interfaces import efa_interfaces, layout_problems
from gpuyard.planning.plans import InterfacePlan, Place, PoolKind
from gpuyard.spec.node_pools import NodePoolSpec
from gpuyard.spec.problems import Path, Problem


def plan_interfaces(spec: NodePoolSpec, row: InstanceType) -> tuple[InterfacePlan, ...] | None:
    """The network interfaces of one node.

    Args:
        spec: What was asked for.
        row: The machine.

    Returns:
        Interfaces, the primary first; None when the catalog does not know the machine's network cards.
    """
    high_ip = spec.aws is not None and spec.aws.interface_layout == "high_ip"
    return efa_interfaces(row, rdma=spec.interconnect == "rdma", high_ip=high_ip)


def is_clustered(spec: NodePoolSpec, kind: PoolKind) -> bool:
    """Whether the pool gets a placement group of its own: as asked for, else for RDMA on demand.

    What was bought before is placed already: a group that has nothing to do with it only keeps nodes out of it.

    Args:
        spec: What was asked for.
        kind: Kind of the pool.

    Returns:
        Whether the pool has a placement group of its own.

    Source: https://github.com/aws/aws-parallelcluster at 451cc532, PlacementGroupCapacityReservationValidator
    """
    if spec.placement is not None:
        return spec.placement == "cluster"
    return kind == "rdma" and spec.purchase == "on_demand"


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
    return layout_problems(spec, types[0] if types else None, path)


def pool_details(spec: NodePoolSpec, kind: PoolKind, types: tuple[InstanceType, ...], place: Place) -> None:
    """What a plan holds for this cloud alone: nothing on AWS.

    Args:
        spec: What was asked for.
        kind: Kind of the pool.
        types: The machines.
        place: Cloud and region.
    """
