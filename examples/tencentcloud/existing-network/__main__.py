"""Node pool, file system, checkpoint bucket, snapshots and alarms alone, in a network and under a key that exist."""

import pulumi

from gpuyard import CheckpointStore, GpuMonitoring, GpuNodePool, ParallelFileSystem, SnapshotPolicy

config = pulumi.Config()
cloud, region = "tencentcloud", pulumi.Config("tencentcloud").require("region")
zone, key = config.require("zone"), config.require("kms_key")
subnet, group = config.require("subnet_id"), config.require("security_group_id")

PARAMETERS = 7e9
NODES, GPUS_PER_NODE = 2, 8

store = CheckpointStore("llm", {"cloud": cloud, "region": region, "keep_days": 30, "kms_key": key})

files = ParallelFileSystem(
    "llm",
    {
        "cloud": cloud,
        "region": region,
        "zone": zone,
        # No throughput is given: the workload on so many GPUs decides which kind is taken.
        "workload": {"task": "lora", "model_parameters": PARAMETERS},
        "gpus": NODES * GPUS_PER_NODE,
        "capacity_gib": 40960,
        "network_id": config.require("network_id"),
        # Who may mount it: nobody else gets through its permission group.
        "client_cidr": config.require("network_cidr"),
        "subnet_id": subnet,
        "security_group_ids": [group],
    },
)
nodes = GpuNodePool(
    "llm",
    {
        "cloud": cloud,
        "region": region,
        "zone": zone,
        "workload": {"task": "lora", "model_parameters": PARAMETERS},
        "instance_type": "GT4.41XLARGE948",
        "gpus_per_node": GPUS_PER_NODE,
        "nodes": NODES,
        "interconnect": "nvlink",
        "data_disk_gib": 1000,
        "kms_key": key,
        "subnet_ids": [subnet],
        # Given so that a subnet without room for the nodes is an error before anything is made.
        "subnet_cidrs": [config.require("subnet_cidr")],
        "security_group_ids": [group],
        "bucket_name": store.bucket_name,
        "bucket_prefixes": store.prefixes,
        # With these, nodes mount the file system at /cfs when they boot.
        "file_system_dns_name": files.dns_name,
        "file_system_mount_name": files.mount_name,
    },
)
SnapshotPolicy("llm", {"cloud": cloud, "region": region, "every_hours": 24, "keep_days": 14, "disks": nodes.disk_ids})
# A pool of fixed size is made of single machines here.
assert nodes.instance_ids is not None  # noqa: S101
alarms = GpuMonitoring(
    "llm",
    {
        "cloud": cloud,
        "region": region,
        "node_pools": {"llm": {"instance_ids": nodes.instance_ids}},
        "notify": config.require_object("notify"),
    },
)

pulumi.export("machines", nodes.instance_ids)
pulumi.export("addresses_needed", nodes.addresses_needed)
pulumi.export("mount", files.mount_command)
pulumi.export("file_system_mb_per_s", files.throughput_mb_per_s)
pulumi.export("checkpoints", store.uri)
pulumi.export("checkpoints_endpoint", store.endpoint)
pulumi.export("alarms", alarms.alarm_names)
