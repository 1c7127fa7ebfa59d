"""VPC, subnets, way out and security group on Tencent Cloud, as rendered for the engine."""

from typing import Any

import pulumi
import pytest

from gpuyard import ClusterNetwork, GpuNodePool

from ..recorder import render
from .helpers import NODES, NVLINK, OTHER_ZONE, RDMA, ZONE, of_type, rendered

TWO_ZONES = {"node_pools.train.zones": [ZONE, OTHER_ZONE]}


def rules(found: Any) -> dict[str, list[dict[str, Any]]]:
    (one,) = of_type(found, "Security/groupRuleSet")
    assert one["securityGroupId"] == NODES
    return one


def accepted(listed: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    sources = ("sourceSecurityId", "cidrBlock", "ipv6CidrBlock")
    return [
        (next(rule[key] for key in sources if key in rule), rule["protocol"], rule["port"])
        for rule in listed
        if rule["action"] == "ACCEPT"
    ]


def test_nothing_comes_in_but_from_the_nodes_themselves():
    found = rules(rendered(RDMA))["ingresses"]
    assert accepted(found) == [(NODES, "ALL", "ALL")]
    last = found[-1]
    assert (last["action"], last["cidrBlock"], last["protocol"], last["port"]) == ("DROP", "0.0.0.0/0", "ALL", "ALL")


def test_ssh_comes_in_from_the_named_networks_only():
    found = rules(rendered(NVLINK, {"access": {"ssh_from": ["203.0.113.0/24", "2001:db8::/32"]}}))["ingresses"]
    assert accepted(found)[1:] == [("203.0.113.0/24", "TCP", "22"), ("2001:db8::/32", "TCP", "22")]


def test_with_nat_nodes_may_open_connections_to_anywhere():
    assert accepted(rules(rendered(NVLINK))["egresses"]) == [("0.0.0.0/0", "ALL", "ALL")]


def test_without_nat_nodes_reach_the_clouds_own_services_only():
    found = rendered(NVLINK, {"network": {"egress": "endpoints"}})
    for kind in ("Nat/gateway", "Eip/instance", "Route/tableEntry"):
        assert of_type(found, kind) == []
    out = rules(found)["egresses"]
    assert (out[-1]["action"], out[-1]["cidrBlock"]) == ("DROP", "0.0.0.0/0")
    assert set(accepted(out)) == {
        (NODES, "ALL", "ALL"),
        *((inner, "TCP", "80,443") for inner in ("10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16")),
        *((inner, "UDP", "123") for inner in ("10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16")),
        *((name, protocol, "53") for name in ("183.60.83.19/32", "183.60.82.98/32") for protocol in ("TCP", "UDP")),
    }


def test_every_subnet_is_private_and_has_its_own_table():
    found = rendered(NVLINK, TWO_ZONES)
    subnets = of_type(found, "Subnet/instance")
    assert {one["availabilityZone"]: one["cidrBlock"] for one in subnets} == {
        ZONE: "10.64.0.0/18",
        OTHER_ZONE: "10.64.64.0/18",
    }
    assert {one["routeTableId"] for one in subnets} == {
        f"tc-network-private-{zone}-routes-id" for zone in (ZONE, OTHER_ZONE)
    }
    assert all(one["isMulticast"] is False for one in [*subnets, *of_type(found, "Vpc/instance")])


@pytest.mark.parametrize(("environment", "zones"), [("dev", [ZONE]), ("prod", [ZONE, OTHER_ZONE])])
def test_dev_shares_one_nat_gateway_and_others_have_one_in_each_zone(environment: str, zones: list[str]):
    found = rendered(NVLINK, {**TWO_ZONES, "environment": environment})
    gateways = of_type(found, "Nat/gateway")
    assert [one["zone"] for one in gateways] == zones
    assert all(one["assignedEipSets"] == ["203.0.113.7"] for one in gateways)
    ways = {one["routeTableId"]: one["nextHub"] for one in of_type(found, "Route/tableEntry")}
    assert ways == {
        f"tc-network-private-{zone}-routes-id": f"tc-network-nat-{zone if zone in zones else ZONE}-id"
        for zone in (ZONE, OTHER_ZONE)
    }
    entry = of_type(found, "Route/tableEntry")[0]
    assert (entry["nextType"], entry["destinationCidrBlock"]) == ("NAT", "0.0.0.0/0")


def network_alone(*, file_system: bool) -> tuple[dict[str, Any], bool]:
    """The rules of a network alone, and whether the file system's group is the nodes'."""
    args: Any = {
        "cloud": "tencentcloud",
        "region": "ap-beijing",
        "zones": [ZONE],
        "egress": "endpoints",
        "file_system": file_system,
    }
    same: list[bool] = []

    def program() -> None:
        made = ClusterNetwork("n", args)
        same.append(made.file_system_security_group_id is made.node_security_group_id)

    (one,) = of_type(render(program, preview=False), "Security/groupRuleSet")
    return one, same[0]


def test_a_file_system_is_reached_on_the_port_of_lustre_within_the_network():
    one, same = network_alone(file_system=True)
    assert same, "a file system has no group of its own"
    for listed in (one["ingresses"], one["egresses"]):
        assert ("10.64.0.0/16", "TCP", "988") in accepted(listed)


def test_without_a_file_system_no_port_is_open_for_one():
    one, same = network_alone(file_system=False)
    assert not same
    assert "988" not in str(one)


# --- the region


def made_in(configured: str | None) -> Any:
    """A network and a pool of ap-beijing, with a stack whose provider has this region."""
    place: dict[str, Any] = {"cloud": "tencentcloud", "region": "ap-beijing", "environment": "dev"}
    pool: dict[str, Any] = {**place, "zone": ZONE, "gpu": "A10", "gpus_per_node": 1, "nodes": 1}

    def program() -> None:
        if configured is not None:
            pulumi.runtime.set_config("tencentcloud:region", configured)
        network: Any = ClusterNetwork("net", {**place, "zones": [ZONE]})
        groups = {"subnet_ids": [network.subnet_ids[ZONE]], "security_group_ids": [network.node_security_group_id]}
        args: Any = {**pool, **groups}
        GpuNodePool("pool", args)

    try:
        return render(program, preview=False)
    finally:
        pulumi.runtime.set_all_config({})


@pytest.mark.parametrize(
    ("configured", "providers"),
    [("ap-beijing", set()), ("ap-shanghai", {"net-ap-beijing", "pool-ap-beijing"})],
)
def test_network_and_nodes_are_made_in_the_region_that_was_asked_for(configured: str, providers: set[str]):
    found = made_in(configured)
    made = [one for one in found.resources if one.type == "pulumi:providers:tencentcloud"]
    assert {one.name for one in made} == providers
    assert {one.inputs["region"] for one in made} <= {"ap-beijing"}
    # Access management is of the whole account.
    taken = {
        one.name: one.request.provider.rsplit("::", 2)[-2]
        for one in found.resources
        if one.type.startswith("tencentcloud:") and one.request.provider
    }
    assert set(taken.values()) == providers
