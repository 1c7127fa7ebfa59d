"""Subnets that are large enough, the way out, and who may use SSH."""

from dataclasses import replace
from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.catalog.limits import limit
from gpuyard.planning.network import ADDRESSES_FOR_SERVICES, addresses_needed, plan_network
from gpuyard.planning.plans import NetworkPlan, NodePoolPlan
from gpuyard.spec import AccessSpec, NetworkSpec, Problem

from .conftest import PLACE, Pool

ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
RESERVED = 5


def plan(
    cidr: str = "10.64.0.0/16",
    zones: tuple[str, ...] = ZONES[:1],
    pools: tuple[NodePoolPlan, ...] = (),
    *,
    ssh_from: tuple[str, ...] = (),
    egress: str = "nat",
    environment: str = "dev",
) -> tuple[NetworkPlan | None, list[Problem]]:
    spec = NetworkSpec.model_validate({"cidr": cidr, "egress": egress})
    access = AccessSpec(ssh_from=list(ssh_from))
    return plan_network(spec, access, replace(PLACE, environment=environment), zones, pools, file_system=True)


def right(*args: object, **values: object) -> NetworkPlan:
    found, problems = plan(*args, **values)  # pyright: ignore[reportArgumentType]
    assert problems == []
    assert found is not None
    return found


def wrong(*args: object, **values: object) -> list[str]:
    found, problems = plan(*args, **values)  # pyright: ignore[reportArgumentType]
    assert problems
    assert found is None
    return [str(problem) for problem in problems]


@pytest.mark.parametrize(
    ("zones", "cidrs"),
    [
        (1, ["10.64.0.0/17"]),
        (2, ["10.64.0.0/18", "10.64.64.0/18"]),
        (3, ["10.64.0.0/19", "10.64.32.0/19", "10.64.64.0/19"]),
    ],
)
def test_each_zone_has_an_equal_part_of_the_first_half(zones: int, cidrs: list[str]):
    found = right(zones=ZONES[:zones])
    assert [subnet.private_cidr for subnet in found.subnets] == cidrs
    assert [subnet.zone for subnet in found.subnets] == list(ZONES[:zones])


# A /20 for 6 zones has subnets of 256 addresses: smaller networks have no room for what is not a node.
@given(prefix=st.integers(16, 20), zones=st.integers(1, 6), environment=st.sampled_from(["dev", "prod"]))
def test_subnets_lie_in_the_network_and_never_overlap(prefix: int, zones: int, environment: str):
    cidr = f"10.64.0.0/{prefix}"
    names = tuple(f"us-east-1{letter}" for letter in "abcdef"[:zones])
    found, _ = plan(cidr, names, environment=environment)
    assert found is not None
    assert [subnet.zone for subnet in found.subnets] == list(names)
    all_cidrs = [
        cidr for subnet in found.subnets for cidr in (subnet.private_cidr, subnet.public_cidr) if cidr is not None
    ]
    networks = [ip_network(one) for one in all_cidrs]
    assert all(one.subnet_of(ip_network(cidr)) for one in networks)  # pyright: ignore[reportArgumentType]
    assert all(one.prefixlen <= 28 for one in networks)
    assert not any(a.overlaps(b) for place, a in enumerate(networks) for b in networks[place + 1 :])


def test_prod_has_a_nat_gateway_in_each_zone_and_dev_one_for_all():
    assert right(zones=ZONES, environment="prod").nat == "each_zone"
    assert all(subnet.public_cidr for subnet in right(zones=ZONES, environment="prod").subnets)
    shared = right(zones=ZONES, environment="dev")
    assert shared.nat == "shared"
    assert [subnet.public_cidr is not None for subnet in shared.subnets] == [True, False, False]


def test_without_nat_there_is_no_public_subnet():
    found = right(zones=ZONES, egress="endpoints", environment="prod")
    assert found.nat == "none"
    assert [subnet.public_cidr for subnet in found.subnets] == [None, None, None]


@pytest.mark.parametrize("cidr", ["8.8.0.0/16", "fd00::/16", "100.64.0.0/16"])
def test_a_network_is_private_ipv4(cidr: str):
    assert wrong(cidr) == [
        f"network.cidr: {cidr} is no private IPv4 network. Use one inside 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16."
    ]


@pytest.mark.parametrize("prefix", [8, 15, 29])
def test_a_network_outside_the_clouds_sizes_is_refused(prefix: int):
    assert wrong(f"10.0.0.0/{prefix}") == [f"network.cidr: a network has a prefix of /16 to /28, not /{prefix}."]


def test_a_network_that_cannot_be_cut_is_refused():
    assert wrong("10.0.0.0/26", ZONES) == [
        "network.cidr: 10.0.0.0/26 is too small for the subnets of 3 zones. Use a /21 or a larger one."
    ]


def test_a_subnet_too_small_for_file_system_and_endpoints_says_so():
    assert wrong("10.0.0.0/24") == [
        "network.cidr: the subnet 10.0.0.0/25 of us-east-1a has 128 addresses, fewer than 5 for the cloud and 128 for "
        "file system and endpoints. Use a /23 or a larger one."
    ]


def test_there_is_no_plan_where_there_are_problems():
    assert plan("10.0.0.0/24")[0] is None
    assert plan(ssh_from=("0.0.0.0/0",))[0] is None


def test_br_007_64_nodes_do_not_fit_into_a_24(pool: Pool):
    nodes = pool(instance_type="p5.48xlarge", interconnect="rdma", nodes=64)
    assert wrong("10.0.0.0/24", pools=(nodes,)) == [
        "network.cidr: the nodes in us-east-1a need 64 addresses, but its subnet 10.0.0.0/25 leaves 0 of 128 after 5 "
        "for the cloud and 128 for file system and endpoints. Use a /23 or a larger one."
    ]


def test_br_007_a_node_with_33_interfaces_needs_one_address(pool: Pool):
    nodes = pool(instance_type="p5.48xlarge", interconnect="rdma", nodes=64)
    assert len(nodes.interfaces) == 33
    assert nodes.addresses_per_node == 1
    assert addresses_needed("us-east-1a", (nodes,)) == 64
    assert right("10.0.0.0/23", pools=(nodes,)).subnets[0].private_cidr == "10.0.0.0/24"


@pytest.mark.parametrize(("nodes", "fits"), [(256 - RESERVED - ADDRESSES_FOR_SERVICES, True), (124, False)])
def test_a_subnet_is_full_to_the_last_address(nodes: int, fits: bool, pool: Pool):
    _, problems = plan("10.0.0.0/23", pools=(pool(gpu="A10", nodes=nodes),))
    assert (problems == []) is fits


def test_a_pool_of_several_zones_may_put_all_its_nodes_into_one(pool: Pool):
    wide = pool(gpu="A10", purchase="spot", nodes={"min": 0, "max": 100}, zones=list(ZONES))
    narrow = pool(gpu="A10", nodes=10)
    assert [addresses_needed(zone, (wide, narrow)) for zone in (*ZONES, "us-east-1f")] == [110, 100, 100, 0]


@given(zones=st.integers(1, 6), cidr=st.integers(17, 28))
def test_the_network_that_is_named_is_the_smallest_that_does(zones: int, cidr: int):
    names = tuple(f"us-east-1{letter}" for letter in "abcdef"[:zones])
    found, problems = plan(f"10.64.0.0/{cidr}", names)
    if found is not None:
        return
    named = int(problems[0].remedy.removeprefix("Use a /").removesuffix(" or a larger one."))
    assert right(f"10.64.0.0/{named}", names).subnets
    assert wrong(f"10.64.0.0/{named + 1}", names)


def test_more_nodes_than_the_largest_network_holds_say_so(pool: Pool):
    (message,) = wrong("10.64.0.0/16", pools=(pool(gpu="A10", nodes=100_000),))
    assert message.endswith(" Not even a /16, the largest, has room: use fewer nodes or fewer zones.")


def test_the_full_zone_is_named(pool: Pool):
    wide = pool(gpu="A10", purchase="spot", nodes={"min": 0, "max": 100}, zones=list(ZONES[:2]))
    found = wrong("10.0.0.0/23", ZONES[:2], (wide,))
    assert [message.split(" need ")[0] for message in found] == [
        "network.cidr: the nodes in us-east-1a",
        "network.cidr: the nodes in us-east-1b",
    ]


@pytest.mark.parametrize(
    ("cidr", "what"),
    [
        ("0.0.0.0/0", "the whole internet"),
        ("::/0", "the whole internet"),
        ("0.0.0.0/1", "a large part of the whole internet"),
        ("128.0.0.0/7", "a large part of the whole internet"),
        ("2000::/3", "a large part of the whole internet"),
    ],
)
def test_ssh_from_the_internet_is_refused(cidr: str, what: str):
    assert wrong(ssh_from=("10.0.0.0/8", cidr)) == [
        f"access.ssh_from[1]: {cidr} opens SSH to {what}. Name the networks of your own people; sessions through "
        "the cloud itself need none."
    ]


@pytest.mark.parametrize("cidr", ["10.0.0.0/8", "203.0.113.0/24", "192.0.2.7/32", "2001:db8::/32"])
def test_ssh_from_networks_of_people_is_taken(cidr: str):
    assert right(ssh_from=(cidr,)).ssh_from == (cidr,)


def test_rdma_to_a_file_system_needs_one():
    spec, access = NetworkSpec(), AccessSpec()
    found, problems = plan_network(spec, access, PLACE, ZONES[:1], (), file_system=False, file_system_rdma=True)
    assert found is None
    assert [str(problem) for problem in problems] == [
        "file_system_rdma: there is no file system to reach over RDMA. Set 'file_system' to true, or remove it."
    ]
    found, _ = plan_network(spec, access, PLACE, ZONES[:1], (), file_system=True, file_system_rdma=True)
    assert found is not None
    assert (found.file_system, found.file_system_rdma) == (True, True)


def test_no_network_exceeds_the_16_that_a_file_system_and_its_rdma_clients_share():
    """Source: https://docs.aws.amazon.com/fsx/latest/LustreGuide/efa-file-systems.html#efa-prerequisites."""
    assert limit("aws", "network_prefix").values[0] == 16
    assert wrong("10.64.0.0/15") == ["network.cidr: a network has a prefix of /16 to /28, not /15."]


def test_problems_of_access_and_network_come_together():
    assert [message.split(":")[0] for message in wrong("8.8.0.0/16", ssh_from=("0.0.0.0/0",))] == [
        "access.ssh_from[0]",
        "network.cidr",
    ]
