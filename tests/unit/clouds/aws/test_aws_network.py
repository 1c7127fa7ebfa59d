"""The network on AWS, as rendered for the engine."""

from collections.abc import Callable
from typing import Any

import pytest

from ..recorder import Registered, Rendered, rendered_stack

ProdWith = Callable[[dict[str, Any]], Rendered]
NODES, LUSTRE = "aws-prod-network-nodes-sg-id", "aws-prod-network-lustre-sg-id"
FAST = {
    "node_pools.train": {"instance_type": "p5.48xlarge", "nodes": 4, "interconnect": "rdma"},
    "file_system": {"capacity_gib": 9600, "rdma": True},
}


def rules(rendered: Rendered, direction: str) -> list[dict[str, Any]]:
    return [found.inputs for found in rendered.all(f"SecurityGroup{direction}Rule")]


@pytest.mark.parametrize("direction", ["Ingress", "Egress"])
@pytest.mark.parametrize("name", ["aws-dev", "aws-staging", "aws-prod"])
def test_br_001_the_nodes_group_is_open_to_itself_in_both_directions(name: str, direction: str):
    group = f"{name}-network-nodes-sg-id"
    own = [
        rule
        for rule in rules(rendered_stack(name, preview=False), direction)
        if rule["securityGroupId"] == rule.get("referencedSecurityGroupId") == group
    ]
    open_to_itself = [rule for rule in own if rule["ipProtocol"] == "-1"]
    assert len(open_to_itself) == 1
    assert "fromPort" not in open_to_itself[0]
    assert "cidrIpv4" not in open_to_itself[0]


def test_br_023_lustre_has_both_port_ranges_open_in_both_directions():
    rendered = rendered_stack("aws-prod", preview=False)
    wanted = {
        (group, peer, ports)
        for group, peer in ((LUSTRE, LUSTRE), (LUSTRE, NODES), (NODES, LUSTRE))
        for ports in ((988, 988), (1018, 1023))
    }
    for direction in ("Ingress", "Egress"):
        found = {
            (rule["securityGroupId"], rule["referencedSecurityGroupId"], (rule["fromPort"], rule["toPort"]))
            for rule in rules(rendered, direction)
            if rule["ipProtocol"] == "tcp"
        }
        assert found == wanted


def test_with_rdma_file_system_and_nodes_are_open_to_each_other_and_themselves_by_group(prod_with: ProdWith):
    """EFA counts rules that name a group only, with every protocol and port, in both directions."""
    rendered = prod_with(FAST)
    pairs = [(LUSTRE, LUSTRE), (LUSTRE, NODES), (NODES, LUSTRE), (NODES, NODES)]
    for direction in ("Ingress", "Egress"):
        found = [rule for rule in rules(rendered, direction) if "referencedSecurityGroupId" in rule]
        assert sorted((rule["securityGroupId"], rule["referencedSecurityGroupId"]) for rule in found) == sorted(pairs)
        assert {rule["ipProtocol"] for rule in found} == {"-1"}
        assert not [rule for rule in found if "fromPort" in rule or "toPort" in rule]


def test_a_file_system_with_rdma_waits_for_its_rules(prod_with: ProdWith):
    """FSx refuses a group that is not yet open to itself."""
    waits = set(prod_with(FAST).one("LustreFileSystem").depends_on)
    assert {f"aws-prod-network-{part}" for part in ("lustre-self-in", "lustre-self-out", "nodes-lustre-out")} <= waits


def test_nothing_lets_an_address_range_in(stack: Rendered):
    assert [rule for rule in rules(stack, "Ingress") if "cidrIpv4" in rule or "cidrIpv6" in rule] == []


def test_no_group_has_inline_rules(stack: Rendered):
    for group in [*stack.all("SecurityGroup"), *stack.all("DefaultSecurityGroup")]:
        assert not {"ingress", "egress"} & set(group.inputs)


def test_ssh_is_let_in_from_the_named_networks_only(prod_with: ProdWith):
    rendered = prod_with({"access": {"ssh_from": ["203.0.113.0/24", "2001:db8::/32"]}})
    let_in = [rule for rule in rules(rendered, "Ingress") if "referencedSecurityGroupId" not in rule]
    assert [(rule.get("cidrIpv4"), rule.get("cidrIpv6")) for rule in let_in] == [
        ("203.0.113.0/24", None),
        (None, "2001:db8::/32"),
    ]
    assert {(rule["ipProtocol"], rule["fromPort"], rule["toPort"], rule["securityGroupId"]) for rule in let_in} == {
        ("tcp", 22, 22, NODES)
    }


def test_br_005_no_subnet_hands_out_public_addresses(stack: Rendered):
    subnets = stack.all("Subnet")
    assert subnets
    assert all(subnet.inputs["mapPublicIpOnLaunch"] is False for subnet in subnets)


def test_a_zone_id_is_given_as_an_id(prod_with: ProdWith):
    rendered = prod_with({"zone": "use1-az6"})
    (private,) = [found for found in rendered.all("Subnet") if "private" in found.name]
    assert private.inputs["availabilityZoneId"] == "use1-az6"
    assert "availabilityZone" not in private.inputs


def test_every_private_table_reaches_s3_without_the_internet(stack: Rendered):
    endpoint = stack.one("VpcEndpoint").inputs
    private = [found for found in stack.all("RouteTable") if "private" in found.name]
    assert endpoint["vpcEndpointType"] == "Gateway"
    assert endpoint["serviceName"] == f"com.amazonaws.{endpoint['region']}.s3"
    assert len(endpoint["routeTableIds"]) == len(private) >= 1


def out(rendered: Rendered) -> dict[str, Registered]:
    return {found.name: found for found in rendered.all("Route")}


def test_dev_shares_one_nat_gateway():
    rendered = rendered_stack("aws-dev", preview=False)
    (gateway,) = rendered.all("NatGateway")
    private = [route for name, route in out(rendered).items() if "private" in name]
    assert len(private) == 2
    assert {route.inputs["natGatewayId"] for route in private} == {f"{gateway.name}-id"}


def test_other_environments_have_a_nat_gateway_in_each_zone(prod_with: ProdWith):
    pool = {"gpu": "A10", "nodes": 1, "zones": ["us-east-1a"]}
    rendered = prod_with({"node_pools.more": pool})
    ways = {name: route.inputs["natGatewayId"] for name, route in out(rendered).items() if "private" in name}
    assert ways == {
        f"aws-prod-network-private-{zone}-out": f"aws-prod-network-nat-{zone}-id"
        for zone in ("us-east-1d", "us-east-1a")
    }
    for gateway in rendered.all("NatGateway"):
        assert "public" in gateway.inputs["subnetId"]


def test_only_the_public_table_leads_to_the_internet_gateway(stack: Rendered):
    assert [found.name.endswith("-public-out") for found in stack.all("Route") if "gatewayId" in found.inputs] == [True]


def test_endpoints_replace_every_way_to_the_internet(prod_with: ProdWith):
    rendered = prod_with({"network": {"egress": "endpoints"}})
    for kind in ("NatGateway", "InternetGateway", "Eip", "Route"):
        assert rendered.all(kind) == []
    interfaces = [
        found.inputs for found in rendered.all("VpcEndpoint") if found.inputs["vpcEndpointType"] == "Interface"
    ]
    assert {found["serviceName"].removeprefix("com.amazonaws.us-east-1.") for found in interfaces} == {
        "ssm",
        "ssmmessages",
        "ec2messages",
        "ec2",
        "fsx",
        "logs",
        "monitoring",
        "sts",
        "sqs",
        "autoscaling",
    }
    assert all(found["privateDnsEnabled"] for found in interfaces)
    group = "aws-prod-network-endpoints-sg-id"
    assert all(found["securityGroupIds"] == [group] for found in interfaces)
    into = [rule for rule in rules(rendered, "Ingress") if rule["securityGroupId"] == group]
    assert [(rule["referencedSecurityGroupId"], rule["fromPort"], rule["toPort"]) for rule in into] == [
        (NODES, 443, 443)
    ]


def out_of_the_nodes(rendered: Rendered) -> set[tuple[str, str]]:
    """Where the nodes' group lets connections out to, with the protocol and first port."""
    found = [rule for rule in rules(rendered, "Egress") if rule["securityGroupId"] == NODES]
    peers = ("referencedSecurityGroupId", "prefixListId", "cidrIpv4", "cidrIpv6")
    return {
        (
            next(rule[key] for key in peers if key in rule),
            f"{rule['ipProtocol']} {rule['fromPort']:.0f}" if "fromPort" in rule else rule["ipProtocol"],
        )
        for rule in found
    }


def test_with_endpoints_the_nodes_group_lets_nothing_out_but_to_services_and_its_own_kind(prod_with: ProdWith):
    assert out_of_the_nodes(prod_with({"network": {"egress": "endpoints"}})) == {
        (NODES, "-1"),
        (LUSTRE, "tcp 988"),
        (LUSTRE, "tcp 1018"),
        ("aws-prod-network-endpoints-sg-id", "tcp 443"),
        ("aws-prod-network-s3-list", "tcp 443"),
    }


def test_with_nat_nodes_may_open_connections_to_anywhere():
    assert out_of_the_nodes(rendered_stack("aws-prod", preview=False)) == {
        (NODES, "-1"),
        (LUSTRE, "tcp 988"),
        (LUSTRE, "tcp 1018"),
        ("0.0.0.0/0", "-1"),
    }


def test_the_network_has_no_version_6_addresses(stack: Rendered):
    assert "assignGeneratedIpv6CidrBlock" not in stack.one("Vpc").inputs
    assert not [found for found in stack.all("Subnet") if any("pv6" in key for key in found.inputs)]


def test_without_a_file_system_there_is_no_lustre_group():
    rendered = rendered_stack("aws-dev", preview=False)
    assert [found.name for found in rendered.all("SecurityGroup")] == ["aws-dev-network-nodes-sg"]
    assert [rule for rule in rules(rendered, "Ingress") if rule["ipProtocol"] == "tcp"] == []


def test_names_inside_the_network_resolve(stack: Rendered):
    vpc = stack.one("Vpc").inputs
    assert (vpc["enableDnsSupport"], vpc["enableDnsHostnames"]) == (True, True)
