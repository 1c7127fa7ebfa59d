"""The network on AWS: VPC, subnets, the way out, and security groups that EFA and Lustre work through."""

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws
from pulumi import Resource, ResourceOptions

from gpuyard.catalog.regions import is_zone_id
from gpuyard.clouds.built import BuiltNetwork
from gpuyard.planning.plans import NetworkPlan

# Lustre clients and servers talk on these ports in both directions.
# Source: https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html
LUSTRE_PORTS = ((988, 988), (1018, 1023))
# What nodes without internet need of AWS itself, besides S3: sessions and parameters (the first three), their own tags,
# volumes and file system, logs and metrics, credentials, jobs that wait, and the hooks of their scaling group.
ENDPOINT_SERVICES = (
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
)
HTTPS = (443, 443)


def build_network(name: str, plan: NetworkPlan, tags: Mapping[str, str], parent: Resource) -> BuiltNetwork:
    """Create the network.

    Nothing from the internet reaches it. Nodes open connections through a NAT gateway, to anywhere, as what jobs fetch
    comes from anywhere; or with ``nat`` off they reach AWS's own services through endpoints, and their group lets
    nothing else out but what nodes and file system say to each other. S3 is always reached through a gateway
    endpoint, so checkpoints neither leave the region nor pass the NAT gateway.

    Args:
        name: Name in front of every resource.
        plan: What to create.
        tags: Tags on everything.
        parent: The component it belongs to.

    Returns:
        Ids of the network, its private subnets and its security groups.
    """
    return _NetworkBuilder(name, plan, tags, parent).build()


class _NetworkBuilder:
    def __init__(self, name: str, plan: NetworkPlan, tags: Mapping[str, str], parent: Resource) -> None:
        self.name, self.plan, self.tags = name, plan, tags
        self.opts = ResourceOptions(parent=parent)

    def build(self) -> BuiltNetwork:
        self.vpc = aws.ec2.Vpc(
            f"{self.name}-vpc",
            region=self.plan.region,
            cidr_block=self.plan.cidr,
            enable_dns_support=True,
            enable_dns_hostnames=True,
            tags=self._named("vpc"),
            opts=self.opts,
        )
        # The VPC's own default group is emptied: whatever forgets its group reaches nothing.
        aws.ec2.DefaultSecurityGroup(
            f"{self.name}-default-sg",
            region=self.plan.region,
            vpc_id=self.vpc.id,
            tags=self._named("default"),
            opts=self.opts,
        )
        private = {
            subnet.zone: self._subnet("private", subnet.zone, subnet.private_cidr) for subnet in self.plan.subnets
        }
        tables = self._routes(private)
        nodes = self._group("nodes", "GPU nodes: open among themselves for EFA, closed from outside")
        self._open_to_itself(nodes)
        for place, cidr in enumerate(self.plan.ssh_from):
            self._rule(aws.vpc.SecurityGroupIngressRule, f"nodes-ssh-{place}", nodes, ports=(22, 22), cidr=cidr)
        storage = self._file_system_group(nodes) if self.plan.file_system else None
        objects = self._object_storage_endpoint(tables)
        if self.plan.nat == "none":
            self._only_to_services(list(private.values()), nodes, objects)
        else:
            self._rule(aws.vpc.SecurityGroupEgressRule, "nodes-out", nodes, cidr="0.0.0.0/0")
        return BuiltNetwork(
            network_id=self.vpc.id,
            subnet_ids={zone: subnet.id for zone, subnet in private.items()},
            node_security_group_id=nodes.id,
            file_system_security_group_id=None if storage is None else storage.id,
        )

    def _named(self, part: str) -> dict[str, str]:
        return {**self.tags, "Name": f"{self.name}-{part}"}

    def _subnet(self, kind: str, zone: str, cidr: str) -> aws.ec2.Subnet:
        return aws.ec2.Subnet(
            f"{self.name}-{kind}-{zone}",
            region=self.plan.region,
            vpc_id=self.vpc.id,
            cidr_block=cidr,
            availability_zone=None if is_zone_id(zone) else zone,
            availability_zone_id=zone if is_zone_id(zone) else None,
            # Multi-card machines cannot have a public address at launch, and no node should.
            map_public_ip_on_launch=False,
            tags=self._named(f"{kind}-{zone}"),
            opts=self.opts,
        )

    def _internet_route_table(self) -> aws.ec2.RouteTable:
        gateway = aws.ec2.InternetGateway(
            f"{self.name}-igw",
            region=self.plan.region,
            vpc_id=self.vpc.id,
            tags=self._named("igw"),
            opts=self.opts,
        )
        self.gateway = gateway
        table = self._route_table("public")
        self._default_route("public", table, gateway_id=gateway.id)
        return table

    def _routes(self, private: Mapping[str, aws.ec2.Subnet]) -> list[aws.ec2.RouteTable]:
        """The private subnets' route tables, each with the way out that the plan gives it."""
        internet = None if self.plan.nat == "none" else self._internet_route_table()
        tables: list[aws.ec2.RouteTable] = []
        gateway: aws.ec2.NatGateway | None = None
        for plan in self.plan.subnets:
            part = f"private-{plan.zone}"
            table = self._route_table(part)
            self._associate(part, table, private[plan.zone])
            if internet is not None and plan.public_cidr is not None:
                gateway = self._nat_gateway(plan.zone, plan.public_cidr, internet)
            if gateway is not None:
                self._default_route(part, table, nat_gateway_id=gateway.id)
            tables.append(table)
        return tables

    def _nat_gateway(self, zone: str, cidr: str, internet: aws.ec2.RouteTable) -> aws.ec2.NatGateway:
        public = self._subnet("public", zone, cidr)
        # Neither an address nor a NAT gateway is granted before the internet gateway is there.
        behind_gateway = ResourceOptions.merge(self.opts, ResourceOptions(depends_on=[self.gateway]))
        self._associate(f"public-{zone}", internet, public)
        address = aws.ec2.Eip(
            f"{self.name}-nat-{zone}-ip",
            region=self.plan.region,
            domain="vpc",
            tags=self._named(f"nat-{zone}"),
            opts=behind_gateway,
        )
        return aws.ec2.NatGateway(
            f"{self.name}-nat-{zone}",
            region=self.plan.region,
            allocation_id=address.id,
            subnet_id=public.id,
            tags=self._named(f"nat-{zone}"),
            opts=behind_gateway,
        )

    def _route_table(self, part: str) -> aws.ec2.RouteTable:
        return aws.ec2.RouteTable(
            f"{self.name}-{part}-routes",
            region=self.plan.region,
            vpc_id=self.vpc.id,
            tags=self._named(f"{part}-routes"),
            opts=self.opts,
        )

    def _associate(self, part: str, table: aws.ec2.RouteTable, subnet: aws.ec2.Subnet) -> None:
        aws.ec2.RouteTableAssociation(
            f"{self.name}-{part}-routes",
            region=self.plan.region,
            route_table_id=table.id,
            subnet_id=subnet.id,
            opts=self.opts,
        )

    def _default_route(
        self,
        part: str,
        table: aws.ec2.RouteTable,
        gateway_id: pulumi.Input[str] | None = None,
        nat_gateway_id: pulumi.Input[str] | None = None,
    ) -> None:
        aws.ec2.Route(
            f"{self.name}-{part}-out",
            region=self.plan.region,
            route_table_id=table.id,
            destination_cidr_block="0.0.0.0/0",
            gateway_id=gateway_id,
            nat_gateway_id=nat_gateway_id,
            opts=self.opts,
        )

    def _group(self, part: str, description: str) -> aws.ec2.SecurityGroup:
        return aws.ec2.SecurityGroup(
            f"{self.name}-{part}-sg",
            region=self.plan.region,
            vpc_id=self.vpc.id,
            description=description,
            tags=self._named(part),
            opts=self.opts,
        )

    def _open_to_itself(self, group: aws.ec2.SecurityGroup) -> None:
        """EFA needs the group itself as the peer of a rule in both directions; address ranges do not count.

        Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html#efa-start-security
        """
        self._rule(aws.vpc.SecurityGroupIngressRule, "nodes-self-in", group, peer=group)
        self._rule(aws.vpc.SecurityGroupEgressRule, "nodes-self-out", group, peer=group)

    def _file_system_group(self, nodes: aws.ec2.SecurityGroup) -> aws.ec2.SecurityGroup:
        """A group for the Lustre servers, open to itself and to the nodes: on Lustre's ports, with EFA altogether.

        Source: https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html#efa-security-groups
        """
        storage = self._group("lustre", "Lustre servers: reached by themselves and by the GPU nodes only")
        ingress, egress = aws.vpc.SecurityGroupIngressRule, aws.vpc.SecurityGroupEgressRule
        for part, group, peer in (
            ("lustre-self", storage, storage),
            ("lustre-nodes", storage, nodes),
            ("nodes-lustre", nodes, storage),
        ):
            if self.plan.file_system_rdma:
                self._rule(ingress, f"{part}-in", group, peer=peer)
                self._rule(egress, f"{part}-out", group, peer=peer)
                continue
            for ports in LUSTRE_PORTS:
                self._rule(ingress, f"{part}-in-{ports[0]}", group, peer=peer, ports=ports)
                self._rule(egress, f"{part}-out-{ports[0]}", group, peer=peer, ports=ports)
        return storage

    def _rule(
        self,
        rule: type[aws.vpc.SecurityGroupIngressRule] | type[aws.vpc.SecurityGroupEgressRule],
        part: str,
        group: aws.ec2.SecurityGroup,
        *,
        peer: aws.ec2.SecurityGroup | None = None,
        ports: tuple[int, int] | None = None,
        cidr: str | None = None,
        prefix_list_id: pulumi.Input[str] | None = None,
    ) -> None:
        version_6 = cidr is not None and ":" in cidr
        rule(
            f"{self.name}-{part}",
            region=self.plan.region,
            security_group_id=group.id,
            referenced_security_group_id=None if peer is None else peer.id,
            cidr_ipv4=None if version_6 else cidr,
            cidr_ipv6=cidr if version_6 else None,
            prefix_list_id=prefix_list_id,
            ip_protocol="-1" if ports is None else "tcp",
            from_port=None if ports is None else ports[0],
            to_port=None if ports is None else ports[1],
            tags=self._named(part),
            opts=self.opts,
        )

    def _object_storage_endpoint(self, tables: list[aws.ec2.RouteTable]) -> aws.ec2.VpcEndpoint:
        return aws.ec2.VpcEndpoint(
            f"{self.name}-s3",
            region=self.plan.region,
            vpc_id=self.vpc.id,
            service_name=f"com.amazonaws.{self.plan.region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[table.id for table in tables],
            tags=self._named("s3"),
            opts=self.opts,
        )

    def _only_to_services(
        self, subnets: list[aws.ec2.Subnet], nodes: aws.ec2.SecurityGroup, objects: aws.ec2.VpcEndpoint
    ) -> None:
        """Endpoints of AWS's services, and HTTPS from the nodes to them and to S3; names and time need no rule.

        Source: https://docs.aws.amazon.com/vpc/latest/userguide/vpc-security-groups.html
        """
        ingress, egress = aws.vpc.SecurityGroupIngressRule, aws.vpc.SecurityGroupEgressRule
        group = self._group("endpoints", "AWS services, reached by the GPU nodes only")
        self._rule(ingress, "endpoints-in", group, peer=nodes, ports=HTTPS)
        self._rule(egress, "nodes-endpoints-out", nodes, peer=group, ports=HTTPS)
        self._rule(egress, "nodes-s3-out", nodes, prefix_list_id=objects.prefix_list_id, ports=HTTPS)
        for service in ENDPOINT_SERVICES:
            aws.ec2.VpcEndpoint(
                f"{self.name}-{service}",
                region=self.plan.region,
                vpc_id=self.vpc.id,
                service_name=f"com.amazonaws.{self.plan.region}.{service}",
                vpc_endpoint_type="Interface",
                subnet_ids=[subnet.id for subnet in subnets],
                security_group_ids=[group.id],
                private_dns_enabled=True,
                tags=self._named(service),
                opts=self.opts,
            )
