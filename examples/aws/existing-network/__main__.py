"""Node pool, file system, checkpoint bucket and monitoring alone, in a network and under a key that exist already."""

import pulumi
import pulumi_aws as aws

from gpuyard import CheckpointStore, GpuMonitoring, GpuNodePool, ParallelFileSystem

config = pulumi.Config()
region = pulumi.Config("aws").require("region")
zone, subnet, cidr = config.require("zone"), config.require("subnet_id"), config.require("subnet_cidr")
group, key = config.require("security_group_id"), config.require("kms_key")

PARAMETERS = 7e9
NODES, GPUS_PER_NODE = 2, 8

# EFA and Lustre need the group itself as the peer, in both directions: a range of addresses does not do for EFA.
self_in = aws.vpc.SecurityGroupIngressRule(
    "self-in", security_group_id=group, referenced_security_group_id=group, ip_protocol="-1"
)
self_out = aws.vpc.SecurityGroupEgressRule(
    "self-out", security_group_id=group, referenced_security_group_id=group, ip_protocol="-1"
)
rules = pulumi.ResourceOptions(depends_on=[self_in, self_out])

store = CheckpointStore("llm", {"region": region, "keep_days": 30, "kms_key": key})

files = ParallelFileSystem(
    "llm",
    {
        "region": region,
        "zone": zone,
        # No throughput is given: the workload on so many GPUs decides it.
        "workload": {"task": "pretrain", "model_parameters": PARAMETERS},
        "gpus": NODES * GPUS_PER_NODE,
        "capacity_gib": 4800,
        "kms_key": key,
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
        "workload": {"task": "pretrain", "model_parameters": PARAMETERS},
        "instance_type": "p4d.24xlarge",
        "gpus_per_node": GPUS_PER_NODE,
        "nodes": NODES,
        "interconnect": "rdma",
        "kms_key": key,
        "subnet_ids": [subnet],
        # Given so that a subnet without room for the nodes is an error before anything is made.
        "subnet_cidrs": [cidr],
        "security_group_ids": [group],
        "bucket_name": store.bucket_name,
        "bucket_key": key,
        "bucket_prefixes": store.prefixes,
        # With these, nodes mount the file system at /fsx when they boot.
        "file_system_dns_name": files.dns_name,
        "file_system_mount_name": files.mount_name,
    },
    rules,
)
# On AWS every pool has both; a pool of single machines in another cloud has neither.
assert nodes.group_name is not None and nodes.log_group_name is not None  # noqa: S101
alarms = GpuMonitoring(
    "llm",
    {
        "region": region,
        "node_pools": {
            "llm": {"group_name": nodes.group_name, "log_group_name": nodes.log_group_name, "rdma": True},
        },
        "notify": config.require_object("notify"),
    },
)

pulumi.export("group", nodes.group_name)
pulumi.export("addresses_needed", nodes.addresses_needed)
pulumi.export("mount", files.mount_command)
pulumi.export("file_system_mb_per_s", files.throughput_mb_per_s)
pulumi.export("checkpoints", store.uri)
pulumi.export("alarms", alarms.alarm_names)
pulumi.export("messages", alarms.topic_arn)
