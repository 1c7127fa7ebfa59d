"""The training stack: a cluster that comes and goes, on the bucket of the storage stack."""

import pulumi

from gpuyard import ClusterNetwork, GpuNodePool, ParallelFileSystem

region, zone = pulumi.Config("aws").require("region"), "usw2-az2"
storage = pulumi.StackReference(f"{pulumi.get_organization()}/training-storage/{pulumi.get_stack()}")

# One group that is open to itself serves EFA and Lustre alike: no second one for the file system.
network = ClusterNetwork("train", {"region": region, "zones": [zone], "file_system": False})
after_network = pulumi.ResourceOptions(depends_on=[network])

# Scratch: what must survive is exported to the bucket behind /checkpoints.
files = ParallelFileSystem(
    "train",
    {
        "region": region,
        "zone": zone,
        "capacity_gib": 4800,
        "durability": "scratch",
        "subnet_id": network.subnet_ids[zone],
        "security_group_ids": [network.node_security_group_id],
        "bucket_name": storage.require_output("bucket_name"),
    },
    after_network,
)
nodes = GpuNodePool(
    "train",
    {
        "region": region,
        "zone": zone,
        "workload": {"task": "pretrain", "model_parameters": 7e9},
        "instance_type": "p4d.24xlarge",
        "nodes": 2,
        "interconnect": "rdma",
        "subnet_ids": [network.subnet_ids[zone]],
        "security_group_ids": [network.node_security_group_id],
        "bucket_name": storage.require_output("bucket_name"),
        "file_system_dns_name": files.dns_name,
        "file_system_mount_name": files.mount_name,
    },
    after_network,
)

pulumi.export("group", nodes.group_name)
pulumi.export("mount", files.mount_command)
pulumi.export("checkpoints", storage.require_output("checkpoints"))
