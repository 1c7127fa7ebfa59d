"""Node pool, file system and checkpoint bucket alone, in a subnet and a security group that exist already."""

import pulumi
import pulumi_aws as aws

from gpuyard import CheckpointStore, GpuNodePool, ParallelFileSystem

config = pulumi.Config()
region = pulumi.Config("aws").require("region")
zone, subnet, group = config.require("zone"), config.require("subnet_id"), config.require("security_group_id")

# EFA and Lustre need the group itself as the peer, in both directions: a range of addresses does not do for EFA.
self_in = aws.vpc.SecurityGroupIngressRule(
    "self-in", security_group_id=group, referenced_security_group_id=group, ip_protocol="-1"
)
self_out = aws.vpc.SecurityGroupEgressRule(
    "self-out", security_group_id=group, referenced_security_group_id=group, ip_protocol="-1"
)
rules = pulumi.ResourceOptions(depends_on=[self_in, self_out])

store = CheckpointStore("llm", {"region": region, "keep_days": 30})

files = ParallelFileSystem(
    "llm",
    {
        "region": region,
        "zone": zone,
        "capacity_gib": 4800,
        "throughput_mb_per_s": 1200,
        "subnet_id": subnet,
        "security_group_ids": [group],
        "bucket_name": store.bucket_name,
    },
    rules,
)
nodes = GpuNodePool(
    "llm",
    {
        "region": region,
        "zone": zone,
        "workload": {"task": "pretrain", "model_parameters": 7e9},
        "instance_type": "p4d.24xlarge",
        "nodes": 2,
        "interconnect": "rdma",
        "subnet_ids": [subnet],
        "security_group_ids": [group],
        "bucket_arn": store.bucket_arn,
    },
    rules,
)

pulumi.export("group", nodes.group_name)
pulumi.export("mount", files.mount_command)
pulumi.export("checkpoints", store.uri)
