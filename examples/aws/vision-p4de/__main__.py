"""Vision training on nodes of 8 × A100 80 GB: images on Lustre, checkpoints in a bucket behind it."""

import pulumi

from gpuyard import TrainingCluster

config = pulumi.Config()

cluster = TrainingCluster(
    "vision",
    {
        "region": pulumi.Config("aws").require("region"),
        "zone": "use1-az6",
        "workload": {"task": "vision", "model_parameters": 2e9},
        "node_pools": {
            "train": {
                "gpu": "A100-80GB",
                "gpus_per_node": 8,
                "nodes": config.require_int("nodes"),
                "interconnect": "rdma",
            },
        },
        # 500 MB/s per TiB: 4.8 GB/s keep 16 GPUs at about 2,700 images of 110 KB a second each.
        "file_system": {"capacity_gib": 9600, "throughput_mb_per_s": 4800},
        "checkpoints": {"keep_days": 14},
    },
)

for key, value in cluster.summary().items():
    pulumi.export(key, value)
