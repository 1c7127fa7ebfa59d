"""Network interfaces of a node, from the network cards that its type has."""

from gpuyard.catalog import InstanceType
from gpuyard.catalog.limits import limit
from gpuyard.planning.plans import InterfacePlan
from gpuyard.spec.node_pools import NodePoolSpec
from gpuyard.spec.problems import Path, Problem, one_of


def efa_interfaces(row: InstanceType, *, rdma: bool, high_ip: bool = False) -> tuple[InterfacePlan, ...] | None:
    """The interfaces of one node.

    The primary interface is an ordinary one on card 0, device 0. With RDMA, every card that takes EFA gets one
    ``efa-only`` interface: on device 1 of card 0, on device 0 of every other card. So each card carries at most one
    EFA, and only the primary interface uses an address of the subnet. The high-IP layout adds an ordinary interface
    on device 1 of the cards that AWS documents for it.

    Args:
        row: The instance type.
        rdma: Whether its RDMA interfaces are wanted.
        high_ip: Whether the further interfaces with addresses are wanted; only for types that have such a layout.

    Returns:
        Interfaces with unique (card, device) pairs, the primary first; None when the catalog does not know the cards.

    Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html
    """
    primary = InterfacePlan(0, 0, "interface")
    if not rdma:
        return (primary,)
    if row.rdma_cards is None:
        return None
    if 0 in row.rdma_cards and row.interfaces_per_card == 1:
        return None
    efa = [InterfacePlan(card, 1 if card == 0 else 0, "efa-only") for card in sorted(row.rdma_cards)]
    cards = limit(row.cloud, "high_ip_layout_cards").values if high_ip else ()
    return (primary, *efa, *(InterfacePlan(card, 1, "interface") for card in cards))


def layout_problems(spec: NodePoolSpec, row: InstanceType | None, path: Path) -> list[Problem]:
    """Problems of a layout of interfaces that was asked for: without RDMA, or for a type that has none.

    Args:
        spec: What was asked for.
        row: The machine, None where none was found.
        path: Where the pool stands in the cluster description.

    Returns:
        At most one problem.
    """
    if spec.aws is None or spec.aws.interface_layout == "simple":
        return []
    at = (*path, "aws", "interface_layout")
    if spec.interconnect != "rdma":
        message = "'high_ip' is a layout of RDMA interfaces, and the pool has none."
        return [Problem(at, message, "Set 'interconnect: rdma', or remove it.")]
    types = limit("aws", "high_ip_layout_types")
    if row is None or row.instance_type in types.values:
        return []
    message = f"{row.instance_type} has no documented 'high_ip' layout."
    return [Problem(at, message, f"These have one: {one_of(types.values)} (source: {types.source}).")]
