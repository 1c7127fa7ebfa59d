"""The network on Alibaba Cloud, as rendered for the engine."""

from typing import Any

import pulumi
import pytest

from gpuyard import ClusterNetwork

from ..recorder import Rendered, render
from .cluster import cluster

PARTS = ("Network", "Switch", "NatGateway", "EipAddress", "SecurityGroup")


def network(*, preview: bool = False, **values: Any) -> Rendered:
    args: Any = {
        "cloud": "alicloud",
        "region": "cn-beijing",
        "zones": ["cn-beijing-h", "cn-beijing-l"],
        "environment": "prod",
        **values,
    }
    return render(lambda: ClusterNetwork("net", args), preview=preview)


def rules(rendered: Rendered, group: str) -> list[dict[str, Any]]:
    return [one.inputs for one in rendered.all("SecurityGroupRule") if one.inputs["securityGroupId"] == group]


def test_each_zone_has_a_vswitch_of_its_own():
    switches = {one.inputs["zoneId"]: one.inputs for one in network().all("Switch") if "private" in one.name}
    assert {zone: found["cidrBlock"] for zone, found in switches.items()} == {
        "cn-beijing-h": "10.64.0.0/18",
        "cn-beijing-l": "10.64.64.0/18",
    }
    assert {found["vpcId"] for found in switches.values()} == {"net-vpc-id"}


def test_one_gateway_is_the_way_out_of_every_zone():
    rendered = network()
    gateway = rendered.one("NatGateway").inputs
    assert (gateway["natType"], gateway["networkType"]) == ("Enhanced", "internet")
    assert gateway["vswitchId"] == "net-public-id"
    # Left to the provider's default, which spans zones.
    assert "availabilityMode" not in gateway
    entries = rendered.all("SnatEntry")
    assert {one.inputs["sourceVswitchId"] for one in entries} == {
        "net-private-cn-beijing-h-id",
        "net-private-cn-beijing-l-id",
    }
    for one in entries:
        assert one.inputs["snatTableId"] == "net-nat-snat"
        assert one.inputs["snatIp"] == "203.0.113.7"
        # An address that is not bound yet is refused.
        assert "net-nat-ip" in one.depends_on
    assert rendered.one("EipAssociation").inputs["instanceType"] == "Nat"
    assert rendered.one("EipAddress").inputs["bandwidth"] == "200"


def test_nothing_from_outside_comes_in():
    rendered = network()
    (own,) = rules(rendered, "net-nodes-id")
    assert (own["type"], own["sourceSecurityGroupId"], own["ipProtocol"]) == ("ingress", "net-nodes-id", "all")
    assert "cidrIp" not in own
    assert rendered.one("SecurityGroup", "net-nodes").inputs["innerAccessPolicy"] == "Accept"


def test_ssh_is_open_to_named_networks_only():
    found = rules(network(ssh_from=["10.1.0.0/16", "2001:db8::/48"]), "net-nodes-id")
    ssh = [one for one in found if one["portRange"] == "22/22"]
    assert [(one.get("cidrIp"), one.get("ipv6CidrIp"), one["ipProtocol"]) for one in ssh] == [
        ("10.1.0.0/16", None, "tcp"),
        (None, "2001:db8::/48", "tcp"),
    ]


def test_a_file_system_is_reached_by_nodes_only():
    (rule,) = rules(network(file_system=True), "net-storage-id")
    assert (rule["type"], rule["sourceSecurityGroupId"]) == ("ingress", "net-nodes-id")
    assert rules(network(file_system=False), "net-storage-id") == []


def test_without_a_way_out_only_the_cloud_itself_is_reached():
    rendered = network(egress="endpoints")
    for kind in ("NatGateway", "EipAddress", "SnatEntry"):
        assert rendered.all(kind) == []
    out = [one for one in rules(rendered, "net-nodes-id") if one["type"] == "egress"]
    assert {(one["cidrIp"], one["policy"], one["priority"]) for one in out} == {
        ("10.64.0.0/16", "accept", 1),
        ("100.64.0.0/10", "accept", 1),
        ("0.0.0.0/0", "drop", 100),
    }


def test_everything_that_takes_tags_names_its_cluster(preview: bool):
    rendered = cluster(preview=preview)
    for kind in PARTS:
        for one in rendered.all(kind):
            assert one.inputs["tags"]["gpuyard:cluster"] == "ali", one.name


# --- the region


def provider_of(rendered: Rendered, name: str) -> str:
    found = rendered.one("Network", name)
    return found.request.provider.rsplit("::", 2)[-2] if found.request.provider else ""


def test_resources_are_made_in_the_region_that_was_asked_for():
    rendered = network()
    provider = rendered.one("pulumi:providers:alicloud")
    assert (provider.name, provider.inputs) == ("net-cn-beijing", {"region": "cn-beijing"})
    assert provider_of(rendered, "net-vpc") == "net-cn-beijing"


@pytest.mark.parametrize(("configured", "made"), [("cn-beijing", 0), ("cn-hangzhou", 1)])
def test_the_default_provider_will_do_where_its_region_is_the_same(configured: str, made: int):
    args: Any = {"cloud": "alicloud", "region": "cn-beijing", "zones": ["cn-beijing-h"], "environment": "dev"}

    def program() -> None:
        pulumi.runtime.set_config("alicloud:region", configured)
        ClusterNetwork("net", args)

    try:
        assert len(render(program, preview=True).all("pulumi:providers:alicloud")) == made
    finally:
        pulumi.runtime.set_all_config({})


def test_a_provider_that_was_given_is_taken():
    import pulumi_alicloud as alicloud

    args: Any = {"cloud": "alicloud", "region": "cn-beijing", "zones": ["cn-beijing-h"], "environment": "dev"}

    def program() -> None:
        own = alicloud.Provider("own", region="cn-beijing")
        ClusterNetwork("net", args, pulumi.ResourceOptions(providers={"alicloud": own}))

    rendered = render(program, preview=False)
    assert [one.name for one in rendered.all("pulumi:providers:alicloud")] == ["own"]
    assert provider_of(rendered, "net-vpc") == "own"
