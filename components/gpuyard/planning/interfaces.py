"""Network interfaces of a node, from the network cards that its type has."""

from gpuyard.catalog import InstanceType
from gpuyard.planning.plans import InterfacePlan


def plan_interfaces(row: InstanceType, *, rdma: bool) -> tuple[InterfacePlan, ...] | None:
    """The interfaces of one node.

    The primary interface is an ordinary one on card 0, device 0. With RDMA, every card that takes EFA gets one
    ``efa-only`` interface: on device 1 of card 0, on device 0 of every other card. So each card carries at most one
    EFA, and only the primary interface uses an address of the subnet.

    Args:
        row: The instance type.
        rdma: Whether its RDMA interfaces are wanted.

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
    efa = (InterfacePlan(card, 1 if card == 0 else 0, "efa-only") for card in sorted(row.rdma_cards))
    return (primary, *efa)
