"""A closed network for GPU nodes of any stack, and a way in for people that needs no public address."""

import pulumi
import pulumi_aws as aws

from gpuyard import ClusterNetwork

region = pulumi.Config("aws").require("region")
zones = [f"{region}a", f"{region}b"]

network = ClusterNetwork(
    "gpu",
    {
        "region": region,
        "zones": zones,
        # From the address plan of the company, so that the network can be peered with others later.
        "cidr": pulumi.Config().require("cidr"),
        # No internet: AWS's own services are reached through endpoints in the network.
        "egress": "endpoints",
    },
)

# SSH for those whom IAM lets through: the nodes' group is open to itself, and the endpoint is a member of it.
way_in = aws.ec2transitgateway.InstanceConnectEndpoint(
    "people",
    subnet_id=network.subnet_ids[zones[0]],
    security_group_ids=[network.node_security_group_id],
    preserve_client_ip=False,
    tags={"Name": "gpu-people"},
)

pulumi.export("network_id", network.network_id)
pulumi.export("subnet_ids", network.subnet_ids)
pulumi.export("node_security_group_id", network.node_security_group_id)
pulumi.export("file_system_security_group_id", network.file_system_security_group_id)
pulumi.export("way_in", way_in.id)
