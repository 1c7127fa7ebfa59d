"""The network on Alibaba Cloud: VPC, vSwitches, the way out through a NAT gateway, and security groups."""

from collections.abc import Mapping

import pulumi_alicloud as alicloud
from pulumi import Resource, ResourceOptions

from gpuyard.catalog.limits import limit
from gpuyard.clouds.alicloud.region import in_region
from gpuyard.clouds.built import BuiltNetwork
from gpuyard.planning.plans import NetworkPlan
from gpuyard.spec.values import network

_FIRST, _LAST = 1, 100
_ALL_PORTS = "-1/-1"


def build_network(name: str, plan: NetworkPlan, tags: Mapping[str, str], parent: Resource) -> BuiltNetwork:
    """Create the network.

    Nothing from the internet reaches it. Nodes open connections through one NAT gateway, which stands the loss of a
    zone by itself and whose route the VPC gets by itself, so that every zone shares it; or with ``nat`` off they reach
    nothing but each other, the file system and the cloud's own services. Those, OSS among them, have addresses in every
    VPC: through OSS's internal endpoint checkpoints neither leave the region nor pass the NAT gateway.

    Args:
        name: Name in front of every resource.
        plan: What to create.
        tags: Tags on everything.
        parent: The component it belongs to.

    Returns:
        Ids of the network, its vSwitches for nodes and its security groups.

    Source: https://www.alibabacloud.com/help/en/nat-gateway/product-overview/internet-nat-gateway
    """
    return _NetworkBuilder(name, plan, tags, in_region(name, plan.region, parent)).build()


class _NetworkBuilder:
    def __init__(self, name: str, plan: NetworkPlan, tags: Mapping[str, str], opts: ResourceOptions) -> None:
        self.name, self.plan, self.tags, self.opts = name, plan, dict(tags), opts

    def build(self) -> BuiltNetwork:
        self.vpc = alicloud.vpc.Network(
            f"{self.name}-vpc",
            vpc_name=f"{self.name}-vpc",
            cidr_block=self.plan.cidr,
            tags=self.tags,
            opts=self.opts,
        )
        private = {
            subnet.zone: self._switch(f"private-{subnet.zone}", subnet.zone, subnet.private_cidr)
            for subnet in self.plan.subnets
        }
        nodes = self._group("nodes", "GPU nodes: open among themselves, closed from outside")
        self._rule("nodes-self-in", nodes, "ingress", peer=nodes)
        for place, cidr in enumerate(self.plan.ssh_from):
            self._rule(f"nodes-ssh-{place}", nodes, "ingress", cidr=cidr, port=22)
        storage = None
        if self.plan.file_system:
            storage = self._group("storage", "File system: reached by the GPU nodes only")
            self._rule("storage-nodes-in", storage, "ingress", peer=nodes)
        if self.plan.nat == "none":
            self._only_to_services(nodes)
        else:
            self._way_out(private)
        return BuiltNetwork(
            network_id=self.vpc.id,
            subnet_ids={zone: switch.id for zone, switch in private.items()},
            node_security_group_id=nodes.id,
            file_system_security_group_id=None if storage is None else storage.id,
        )

    def _switch(self, part: str, zone: str, cidr: str) -> alicloud.vpc.Switch:
        return alicloud.vpc.Switch(
            f"{self.name}-{part}",
            vswitch_name=f"{self.name}-{part}",
            vpc_id=self.vpc.id,
            zone_id=zone,
            cidr_block=cidr,
            tags=self.tags,
            opts=self.opts,
        )

    def _way_out(self, private: Mapping[str, alicloud.vpc.Switch]) -> None:
        first = self.plan.subnets[0]
        # The planner gives the first zone a range for the gateway whatever the kind of NAT is.
        gateway = alicloud.vpc.NatGateway(
            f"{self.name}-nat",
            nat_gateway_name=f"{self.name}-nat",
            vpc_id=self.vpc.id,
            vswitch_id=self._switch("public", first.zone, str(first.public_cidr)).id,
            nat_type="Enhanced",
            network_type="internet",
            payment_type="PayAsYouGo",
            internet_charge_type="PayByLcu",
            tags=self.tags,
            opts=self.opts,
        )
        address = alicloud.ecs.EipAddress(
            f"{self.name}-nat-ip",
            address_name=f"{self.name}-nat-ip",
            payment_type="PayAsYouGo",
            internet_charge_type="PayByTraffic",
            bandwidth=str(limit("alicloud", "nat_bandwidth_mbps").values[0]),
            tags=self.tags,
            opts=self.opts,
        )
        bound = alicloud.ecs.EipAssociation(
            f"{self.name}-nat-ip",
            allocation_id=address.id,
            instance_id=gateway.id,
            instance_type="Nat",
            opts=self.opts,
        )
        for zone, switch in private.items():
            alicloud.vpc.SnatEntry(
                f"{self.name}-{zone}-out",
                snat_entry_name=f"{self.name}-{zone}-out",
                snat_table_id=gateway.snat_table_ids,
                snat_ip=address.ip_address,
                source_vswitch_id=switch.id,
                opts=ResourceOptions.merge(self.opts, ResourceOptions(depends_on=[bound])),
            )

    def _group(self, part: str, description: str) -> alicloud.ecs.SecurityGroup:
        return alicloud.ecs.SecurityGroup(
            f"{self.name}-{part}",
            security_group_name=f"{self.name}-{part}",
            description=description,
            vpc_id=self.vpc.id,
            security_group_type="normal",
            # Members reach each other on every port, as RDMA and collective operations need.
            inner_access_policy="Accept",
            tags=self.tags,
            opts=self.opts,
        )

    def _only_to_services(self, nodes: alicloud.ecs.SecurityGroup) -> None:
        """A group of this kind lets everything out until a rule says otherwise; the lowest number comes first."""
        self._rule("nodes-network-out", nodes, "egress", cidr=self.plan.cidr)
        for place, cidr in enumerate(limit("alicloud", "service_addresses").values):
            self._rule(f"nodes-services-out-{place}", nodes, "egress", cidr=cidr)
        self._rule("nodes-nothing-else-out", nodes, "egress", cidr="0.0.0.0/0", policy="drop", priority=_LAST)

    def _rule(
        self,
        part: str,
        group: alicloud.ecs.SecurityGroup,
        direction: str,
        *,
        peer: alicloud.ecs.SecurityGroup | None = None,
        cidr: str | None = None,
        port: int | None = None,
        policy: str = "accept",
        priority: int = _FIRST,
    ) -> None:
        version_6 = cidr is not None and network(cidr).version == 6
        alicloud.ecs.SecurityGroupRule(
            f"{self.name}-{part}",
            security_group_id=group.id,
            type=direction,
            ip_protocol="all" if port is None else "tcp",
            port_range=_ALL_PORTS if port is None else f"{port}/{port}",
            nic_type="intranet",
            policy=policy,
            priority=priority,
            source_security_group_id=None if peer is None else peer.id,
            cidr_ip=None if version_6 else cidr,
            ipv6_cidr_ip=cidr if version_6 else None,
            description=part,
            opts=self.opts,
        )
