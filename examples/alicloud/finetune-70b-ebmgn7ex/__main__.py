"""Fine-tuning of a 70 B model: 8 × A100 80 GB a node with 100 Gbps of eRDMA, CPFS, and OSS behind it."""

import pulumi

from gpuyard import TrainingCluster

config = pulumi.Config()

cluster = TrainingCluster(
    "finetune",
    {
        "cloud": "alicloud",
        "region": pulumi.Config("alicloud").require("region"),
        "zone": "cn-beijing-l",
        "workload": {"task": "full_finetune", "model_parameters": 70e9},
        "node_pools": {
            "train": {
                "gpu": "A100-80GB",
                "gpus_per_node": 8,
                "nodes": config.require_int("nodes"),
                "interconnect": "rdma",
            },
        },
        # A checkpoint of 980 GB is written within 12 minutes.
        "file_system": {"capacity_gib": 14_400, "throughput_mb_per_s": 1_400},
        "checkpoints": {"keep_days": 30},
        "snapshots": {"every_hours": 24, "keep_days": 7},
        "monitoring": {"notify": ["ml@example.com"]},
    },
)

for key, value in cluster.summary().items():
    pulumi.export(key, value)
