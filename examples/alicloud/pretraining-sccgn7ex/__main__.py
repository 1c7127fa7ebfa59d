"""Pre-training on 128 GPUs: bare metal joined by RoCE, fast disks with snapshots, checkpoints in OSS."""

import pulumi

from gpuyard import CheckpointStore, ClusterNetwork, GpuMonitoring, GpuNodePool, SnapshotPolicy

config = pulumi.Config()
region = pulumi.Config("alicloud").require("region")
zone = f"{region}-b"

network = ClusterNetwork(
    "pretrain",
    {"cloud": "alicloud", "region": region, "zones": [zone], "file_system": False},
)
checkpoints = CheckpointStore(
    "pretrain",
    {
        "cloud": "alicloud",
        "region": region,
        "keep_days": 30,
        # Final weights of each run rest where they cost least.
        "prefixes": {"releases": {"keep_days": 730, "tiers": {"infrequent": 30, "archive": 90, "deep_archive": 180}}},
    },
)

nodes = GpuNodePool(
    "pretrain",
    {
        "cloud": "alicloud",
        "region": region,
        "zone": zone,
        "workload": {"task": "pretrain", "model_parameters": 30e9},
        "instance_type": "ecs.sccgn7ex.32xlarge",
        "bare_metal": True,
        "nodes": config.require_int("nodes"),
        "interconnect": "rdma",
        "purchase": "prepaid",
        "prepaid": {"months": config.require_int("months")},
        # More than PL2 gives: PL3, which begins at 1261 GiB.
        "data_disk_gib": 8000,
        "data_disk_mb_per_s": 3000,
        "subnet_ids": [network.subnet_ids[zone]],
        "security_group_ids": [network.node_security_group_id],
        "bucket_name": checkpoints.bucket_name,
        "bucket_prefixes": checkpoints.prefixes,
    },
    pulumi.ResourceOptions(depends_on=[network]),
)

# Every disk has its own attachment: the data on them takes days to prepare.
SnapshotPolicy(
    "pretrain",
    {
        "cloud": "alicloud",
        "region": region,
        "hours_utc": [20],
        "weekdays": ["sun", "wed"],
        "keep_days": 21,
        "disks": nodes.disk_ids,
    },
)
# A pool of fixed size is single machines here, each with an id.
assert nodes.instance_ids is not None  # noqa: S101
GpuMonitoring(
    "pretrain",
    {
        "cloud": "alicloud",
        "region": region,
        "node_pools": {"pretrain": {"instance_ids": nodes.instance_ids, "rdma": True}},
        "notify": ["ml@example.com"],
    },
)

pulumi.export("instance_ids", nodes.instance_ids)
pulumi.export("hpc_cluster", nodes.placement_group_name)
pulumi.export("checkpoints", checkpoints.uri)
pulumi.export("endpoint", checkpoints.endpoint)
