"""Serving on bare metal: machines with 8 × T4 and no hypervisor, one pool of fixed size in a network of its own."""

import pulumi

from gpuyard import ClusterNetwork, GpuNodePool

config = pulumi.Config()
region = pulumi.Config("aws").require("region")
zone = config.require("zone")

network = ClusterNetwork("metal", {"region": region, "zones": [zone], "file_system": False})

servers = GpuNodePool(
    "metal",
    {
        "region": region,
        "zone": zone,
        "workload": {"task": "inference", "model_parameters": 1e9},
        "gpu": "T4",
        "bare_metal": True,
        "nodes": config.require_int("nodes"),
        "subnet_ids": [network.subnet_ids[zone]],
        "security_group_ids": [network.node_security_group_id],
    },
    pulumi.ResourceOptions(depends_on=[network]),
)

pulumi.export("group", servers.group_name)
pulumi.export("instance_types", servers.instance_types)
pulumi.export("logs", servers.log_group_name)
