"""The network: one private subnet for each zone that is used, large enough for every node."""

from ipaddress import IPv4Network, ip_network
from typing import Literal

from gpuyard.catalog.limits import limit
from gpuyard.planning.plans import NetworkPlan, NodePoolPlan, Place, SubnetPlan
from gpuyard.spec.models import AccessSpec, NetworkSpec
from gpuyard.spec.problems import Path, Problem
from gpuyard.spec.values import network

# Interfaces that the file system and the endpoints put into a private subnet.
ADDRESSES_FOR_SERVICES = 128
WIDEST_SSH_PREFIX = 8


def plan_network(
    spec: NetworkSpec,
    access: AccessSpec,
    place: Place,
    zones: tuple[str, ...],
    pools: tuple[NodePoolPlan, ...],
    *,
    file_system: bool,
    file_system_rdma: bool = False,
) -> tuple[NetworkPlan | None, list[Problem]]:
    """What the network is.

    The network's first half is cut into equal private subnets, one for each zone; the public subnets of the NAT
    gateways lie in the second half.

    Args:
        spec: Addresses and the way out.
        access: Who may use SSH.
        place: Cloud and region.
        zones: Zones that need a subnet, in order.
        pools: The pools whose nodes need addresses.
        file_system: Whether a parallel file system will be in it.
        file_system_rdma: Whether nodes reach that file system over RDMA. Both must be in one /16 then, which no network
            here exceeds.

    Returns:
        The plan, or None when there is none; and every problem found.
    """
    problems = ssh_problems(access, ("access", "ssh_from"))
    if file_system_rdma and not file_system:
        message = "there is no file system to reach over RDMA."
        problems.append(Problem(("file_system_rdma",), message, "Set 'file_system' to true, or remove it."))
    at: Path = ("network", "cidr")
    whole = ip_network(spec.cidr)
    largest, smallest = limit(place.cloud, "network_prefix").values
    if not isinstance(whole, IPv4Network) or not whole.is_private:
        return None, [
            *problems,
            Problem(
                at,
                f"{spec.cidr} is no private IPv4 network.",
                "Use one inside 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16.",
            ),
        ]
    if not largest <= whole.prefixlen <= smallest:
        return None, [
            *problems,
            Problem(at, f"a network has a prefix of /{largest} to /{smallest}, not /{whole.prefixlen}."),
        ]
    bits = max(len(zones) - 1, 0).bit_length() + 1
    if whole.prefixlen + bits > smallest - 1:
        return None, [
            *problems,
            Problem(
                at,
                f"{spec.cidr} is too small for the subnets of {len(zones)} zones.",
                _large_enough(max(addresses_needed(zone, pools) for zone in zones), bits, place),
            ),
        ]
    private = list(whole.subnets(prefixlen_diff=bits))[: len(zones)]
    public_part = list(whole.subnets(prefixlen_diff=1))[1]
    public = list(public_part.subnets(new_prefix=min(28, max(24, public_part.prefixlen + bits))))[: len(zones)]
    for zone, subnet in zip(zones, private, strict=True):
        problems += _address_problems(zone, subnet, bits, place, pools)
    if problems:
        return None, problems
    nat = _nat(spec, place)
    return (
        NetworkPlan(
            region=place.region,
            cidr=spec.cidr,
            subnets=tuple(
                SubnetPlan(
                    zone, str(inner), str(outer) if nat == "each_zone" or (nat, zone) == ("shared", zones[0]) else None
                )
                for zone, inner, outer in zip(zones, private, public, strict=True)
            ),
            nat=nat,
            file_system=file_system,
            file_system_rdma=file_system_rdma,
            ssh_from=tuple(access.ssh_from),
        ),
        [],
    )


def _nat(spec: NetworkSpec, place: Place) -> Literal["each_zone", "shared", "none"]:
    if spec.egress != "nat":
        return "none"
    # A gateway is paid by the hour. Trials bear the loss of one with its zone; others do not.
    return "shared" if place.environment == "dev" else "each_zone"


def addresses_needed(zone: str, pools: tuple[NodePoolPlan, ...]) -> int:
    """Addresses that the nodes of all pools can need in one zone's subnet.

    A pool of several zones may put all its nodes into one of them.
    """
    return sum(pool.max_nodes * pool.addresses_per_node for pool in pools if zone in pool.zones)


def ssh_problems(access: AccessSpec, path: Path) -> list[Problem]:
    """Problems of the networks that may use SSH: the whole internet, or nearly."""
    return [
        Problem(
            (*path, place),
            f"{cidr} opens SSH to {'' if network(cidr).prefixlen == 0 else 'a large part of '}the whole internet.",
            "Name the networks of your own people; sessions through the cloud itself need none.",
        )
        for place, cidr in enumerate(access.ssh_from)
        if network(cidr).prefixlen < WIDEST_SSH_PREFIX * (1 if network(cidr).version == 4 else 4)
    ]


def _address_problems(
    zone: str, subnet: IPv4Network, bits: int, place: Place, pools: tuple[NodePoolPlan, ...]
) -> list[Problem]:
    reserved = limit(place.cloud, "subnet_reserved_addresses").values[0]
    usable = subnet.num_addresses - reserved - ADDRESSES_FOR_SERVICES
    need = addresses_needed(zone, pools)
    if need <= usable:
        return []
    kept = f"{reserved} for the cloud and {ADDRESSES_FOR_SERVICES} for file system and endpoints"
    message = (
        f"the nodes in {zone} need {need} addresses, but its subnet {subnet} leaves {max(usable, 0)} of "
        f"{subnet.num_addresses} after {kept}."
        if need
        else f"the subnet {subnet} of {zone} has {subnet.num_addresses} addresses, fewer than {kept}."
    )
    return [Problem(("network", "cidr"), message, _large_enough(need, bits, place))]


def _large_enough(nodes_need: int, bits: int, place: Place) -> str:
    """The network that has room for a subnet's nodes, when ``bits`` of the prefix tell its subnets apart."""
    reserved = limit(place.cloud, "subnet_reserved_addresses").values[0]
    largest = limit(place.cloud, "network_prefix").values[0]
    prefix = 32 - (nodes_need + reserved + ADDRESSES_FOR_SERVICES - 1).bit_length() - bits
    if prefix < largest:
        return f"Not even a /{largest}, the largest, has room: use fewer nodes or fewer zones."
    return f"Use a /{prefix} or a larger one."
