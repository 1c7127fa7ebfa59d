"""The network on Tencent Cloud: VPC, subnets, the way out, and a security group closed from outside and open inside."""

from collections.abc import Mapping, Sequence

import tencentcloud_iac_pulumi as tencentcloud
from pulumi import Input, Output, Resource, ResourceOptions

from gpuyard.catalog.limits import limit
from gpuyard.clouds.built import BuiltNetwork
from gpuyard.clouds.tencentcloud.names import fitted
from gpuyard.clouds.tencentcloud.region import in_region
from gpuyard.planning.plans import NetworkPlan, SubnetPlan

CLOUD = "tencentcloud"
Ingress = tencentcloud.security.GroupRuleSetIngressArgs
Egress = tencentcloud.security.GroupRuleSetEgressArgs
_ALL = "ALL"
_WEB_PORTS, _NAMES_PORT, _TIME_PORT = "80,443", "53", "123"


def build_network(name: str, plan: NetworkPlan, tags: Mapping[str, str], parent: Resource) -> BuiltNetwork:
    """Create the network.

    Nothing from the internet reaches it. Nodes open connections through a NAT gateway, to anywhere; or with ``nat`` off
    they reach the cloud's own services by their inner addresses, and their group lets nothing else out. Object storage
    of the region is always reached by its inner address, so checkpoints do not pass the NAT gateway. A NAT gateway
    belongs to the network and lies in no subnet: the plan's public subnets are not made. RDMA between HCC machines does
    not pass security groups. A CFS Turbo file system takes no security group either: what closes it is its permission
    group, and what lets nodes reach it is theirs, which is therefore given as the file system's too.

    Args:
        name: Name in front of every resource.
        plan: What to create.
        tags: Tags on everything.
        parent: The component it belongs to.

    Returns:
        Ids of the network, its private subnets and its security groups.

    Source: PyPI tencentcloud_iac_pulumi 0.2.3, docstrings of vpc.Instance, nat.Gateway and security.GroupRuleSet
    """
    return _NetworkBuilder(name, plan, tags, in_region(name, plan.region, parent)).build()


class _NetworkBuilder:
    def __init__(self, name: str, plan: NetworkPlan, tags: Mapping[str, str], opts: ResourceOptions) -> None:
        self.name, self.plan, self.tags = name, plan, dict(tags)
        self.opts = opts

    def build(self) -> BuiltNetwork:
        self.vpc = tencentcloud.vpc.Instance(
            f"{self.name}-vpc",
            name=fitted(f"{self.name}-vpc"),
            cidr_block=self.plan.cidr,
            is_multicast=False,
            tags=self.tags,
            opts=self.opts,
        )
        subnets = self._subnets()
        nodes = tencentcloud.security.Group(
            f"{self.name}-nodes-sg",
            name=fitted(f"{self.name}-nodes"),
            description="GPU nodes: open among themselves, closed from outside",
            tags=self.tags,
            opts=self.opts,
        )
        tencentcloud.security.GroupRuleSet(
            f"{self.name}-nodes-rules",
            security_group_id=nodes.id,
            ingresses=self._ingress(nodes.id),
            egresses=self._egress(nodes.id),
            opts=self.opts,
        )
        return BuiltNetwork(
            network_id=self.vpc.id,
            subnet_ids={zone: subnet.id for zone, subnet in subnets.items()},
            node_security_group_id=nodes.id,
            file_system_security_group_id=nodes.id if self.plan.file_system else None,
        )

    def _subnets(self) -> dict[str, tencentcloud.subnet.Instance]:
        """A private subnet for each zone, each with a route table and the way out that the plan gives it."""
        found: dict[str, tencentcloud.subnet.Instance] = {}
        gateway: tencentcloud.nat.Gateway | None = None
        for subnet in self.plan.subnets:
            part = f"{self.name}-private-{subnet.zone}"
            table = tencentcloud.route.Table(
                f"{part}-routes", name=fitted(f"{part}-routes"), vpc_id=self.vpc.id, tags=self.tags, opts=self.opts
            )
            if subnet.public_cidr is not None:
                gateway = self._nat_gateway(subnet)
            if gateway is not None:
                tencentcloud.route.TableEntry(
                    f"{part}-out",
                    route_table_id=table.id,
                    destination_cidr_block="0.0.0.0/0",
                    next_type="NAT",
                    next_hub=gateway.id,
                    description="The way out",
                    opts=self.opts,
                )
            found[subnet.zone] = tencentcloud.subnet.Instance(
                part,
                name=fitted(part),
                vpc_id=self.vpc.id,
                availability_zone=subnet.zone,
                cidr_block=subnet.private_cidr,
                is_multicast=False,
                route_table_id=table.id,
                tags=self.tags,
                opts=self.opts,
            )
        return found

    def _nat_gateway(self, subnet: SubnetPlan) -> tencentcloud.nat.Gateway:
        part = f"{self.name}-nat-{subnet.zone}"
        bandwidth = int(limit(CLOUD, "eip_bandwidth_mbps").values[0])
        address = tencentcloud.eip.Instance(
            f"{part}-ip",
            name=fitted(f"{part}-ip"),
            type="EIP",
            internet_charge_type="TRAFFIC_POSTPAID_BY_HOUR",
            internet_max_bandwidth_out=bandwidth,
            tags=self.tags,
            opts=self.opts,
        )
        return tencentcloud.nat.Gateway(
            part,
            name=fitted(part),
            vpc_id=self.vpc.id,
            zone=subnet.zone,
            nat_product_version=1,
            bandwidth=bandwidth,
            assigned_eip_sets=[address.public_ip],
            tags=self.tags,
            opts=self.opts,
        )

    def _ingress(self, nodes: Output[str]) -> Sequence[Input[Ingress]]:
        rules = [
            Ingress(
                action="ACCEPT",
                source_security_id=nodes,
                description="Nodes among themselves",
                protocol=_ALL,
                port=_ALL,
            )
        ]
        for cidr in self.plan.ssh_from:
            version_6 = ":" in cidr
            rules.append(
                Ingress(
                    action="ACCEPT",
                    protocol="TCP",
                    port="22",
                    cidr_block=None if version_6 else cidr,
                    ipv6_cidr_block=cidr if version_6 else None,
                    description="SSH",
                )
            )
        if self.plan.file_system:
            rules += [
                Ingress(action="ACCEPT", protocol="TCP", port=ports, cidr_block=self.plan.cidr, description="CFS Turbo")
                for ports in _lustre_ports()
            ]
        return [
            *rules,
            Ingress(action="DROP", cidr_block="0.0.0.0/0", description="Everything else", protocol=_ALL, port=_ALL),
        ]

    def _egress(self, nodes: Output[str]) -> Sequence[Input[Egress]]:
        if self.plan.nat != "none":
            return [Egress(action="ACCEPT", cidr_block="0.0.0.0/0", description="Anywhere", protocol=_ALL, port=_ALL)]
        rules = [
            Egress(
                action="ACCEPT",
                source_security_id=nodes,
                description="Nodes among themselves",
                protocol=_ALL,
                port=_ALL,
            )
        ]
        services = limit(CLOUD, "inner_service_cidrs").values
        rules += [
            Egress(action="ACCEPT", protocol=protocol, port=port, cidr_block=cidr, description="The cloud's services")
            for cidr in services
            for protocol, port in (("TCP", _WEB_PORTS), ("UDP", _TIME_PORT))
        ]
        rules += [
            Egress(action="ACCEPT", protocol=protocol, port=_NAMES_PORT, cidr_block=cidr, description="Names")
            for cidr in limit(CLOUD, "inner_name_servers").values
            for protocol in ("TCP", "UDP")
        ]
        if self.plan.file_system:
            rules += [
                Egress(action="ACCEPT", protocol="TCP", port=ports, cidr_block=self.plan.cidr, description="CFS Turbo")
                for ports in _lustre_ports()
            ]
        return [
            *rules,
            Egress(action="DROP", cidr_block="0.0.0.0/0", description="Everything else", protocol=_ALL, port=_ALL),
        ]


def _lustre_ports() -> list[str]:
    return [str(first) if first == last else f"{first}-{last}" for first, last in limit(CLOUD, "lustre_ports").values]
