"""Network interfaces of a node: eRDMA on an interface of each network card, RoCE on none."""

from gpuyard.catalog import InstanceType
from gpuyard.catalog.limits import limit
from gpuyard.planning.plans import InterfacePlan
from gpuyard.spec.node_pools import NodePoolSpec
from gpuyard.spec.problems import Path, Problem

_ORDINARY = InterfacePlan(0, 0, "interface")


def erdma_interfaces(
    row: InstanceType, *, rdma: bool, queue_pairs: int | None = None
) -> tuple[InterfacePlan, ...] | None:
    """The interfaces of one node.

    The primary interface sits on card 0, which is the only place it may have; with eRDMA it is itself one of its
    interfaces. A second one goes on another card. Two of them share the queue pairs of the machine, and each has to be
    told its share: without it the first takes all, and the second cannot be attached. How many queue pairs a type has
    is in no public page, so that a second interface exists only where somebody says the number. RoCE has a network of
    its own beside the VPC and needs no interface.

    Args:
        row: The instance type.
        rdma: Whether its RDMA interfaces are wanted.
        queue_pairs: Queue pairs of all eRDMA interfaces together, None where nobody said.

    Returns:
        Interfaces on distinct cards, the primary first, None when queue pairs are to be shared and the catalog does
        not know the cards.

    Sources: https://www.alibabacloud.com/help/en/ecs/developer-reference/api-ecs-2014-05-26-runinstances
    (NetworkInterface.N) and https://help.aliyun.com/zh/ecs/user-guide/elastic-bare-metal-server-overview (ebmgn7ex)
    """
    if not rdma or row.rdma != "erdma":
        return (_ORDINARY,)
    if queue_pairs is None or row.rdma_interfaces == 1:
        return (InterfacePlan(0, 0, "erdma", queue_pairs),)
    if row.rdma_cards is None or row.rdma_interfaces is None:
        return None
    most = min(row.rdma_interfaces, limit(row.cloud, "erdma_interfaces_max").values[0])
    cards = sorted(row.rdma_cards)[:most]
    share = queue_pairs // len(cards)
    return tuple(InterfacePlan(card, 0, "erdma", share) for card in cards)


def interface_problems(spec: NodePoolSpec, row: InstanceType | None, path: Path) -> list[Problem]:
    """Problems of queue pairs and frames that were asked for: without eRDMA, or too few to share.

    Args:
        spec: What was asked for.
        row: The machine, None where none was found.
        path: Where the pool stands in the cluster description.

    Returns:
        Every problem found.
    """
    pairs = None if spec.alicloud is None else spec.alicloud.erdma_queue_pairs
    if pairs is None:
        return []
    at = (*path, "alicloud", "erdma_queue_pairs")
    if spec.interconnect != "rdma" or (row is not None and row.rdma != "erdma"):
        message = "queue pairs belong to eRDMA interfaces, and the pool has none."
        return [Problem(at, message, "Set 'interconnect: rdma' with a type that has eRDMA, or remove it.")]
    if row is None:
        return []
    interfaces = erdma_interfaces(row, rdma=True, queue_pairs=pairs)
    if interfaces is None:
        # The layout's own problem says that the cards are unknown; it is this key that asks for them.
        return [Problem(at, f"the catalog does not know on which network cards of {row.instance_type} it could be.")]
    if pairs < len(interfaces):
        return [Problem(at, f"{pairs} cannot be shared by {len(interfaces)} interfaces.", f"Give {len(interfaces)}.")]
    return []


def interface_reasons(spec: NodePoolSpec, row: InstanceType) -> list[str]:
    """What a person should know of a node's interfaces: bandwidth that is left unused, and the MTU that NCCL needs.

    Args:
        spec: What was asked for.
        row: The machine.

    Returns:
        Reasons, none for a pool without eRDMA.
    """
    if spec.interconnect != "rdma" or row.rdma != "erdma":
        return []
    return [*_card_reasons(spec, row), _mtu_reason(spec, row)]


def _card_reasons(spec: NodePoolSpec, row: InstanceType) -> list[str]:
    pairs = None if spec.alicloud is None else spec.alicloud.erdma_queue_pairs
    if pairs is not None:
        return [
            f"The catalog does not know how many queue pairs {row.instance_type} has: the cloud refuses {pairs} if "
            "they are too many."
        ]
    one_card = limit(row.cloud, "erdma_gbps_per_card").values[0]
    if row.rdma_interfaces == 1 or (row.rdma_gbps is not None and row.rdma_gbps <= one_card):
        return []
    of = "an unknown bandwidth" if row.rdma_gbps is None else f"{row.rdma_gbps:g} Gbps"
    found = f"eRDMA on network card 0 alone: at most {one_card} Gbps of {of}."
    if row.rdma_cards is None or row.rdma_interfaces is None:
        return [f"{found} The catalog does not know the network cards of {row.instance_type}."]
    return [
        f"{found} For the other card give 'alicloud: {{erdma_queue_pairs: …}}', the QueuePairNumber that "
        f"'aliyun ecs DescribeInstanceTypes --InstanceTypes.1 {row.instance_type}' shows: two interfaces have to "
        "share them, and the catalog does not know the number."
    ]


def _mtu_reason(spec: NodePoolSpec, row: InstanceType) -> str:
    jumbo = spec.alicloud is not None and spec.alicloud.jumbo_frames
    small, large = limit(row.cloud, "erdma_mtu_bytes").values
    return (
        f"Interfaces get an MTU of {large if jumbo else small} bytes, {'with' if jumbo else 'without'} jumbo frames: "
        "NCCL's protocol LL128 over eRDMA may corrupt data with another one."
    )
