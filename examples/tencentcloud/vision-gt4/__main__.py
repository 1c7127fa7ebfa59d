"""Vision training on one machine of 8 × A100 40 GB: images on a fast disk, snapshots of it, checkpoints in a bucket."""

import pulumi

from gpuyard import TrainingCluster

config = pulumi.Config()

cluster = TrainingCluster(
    "vision",
    {
        "cloud": "tencentcloud",
        "region": pulumi.Config("tencentcloud").require("region"),
        "zone": "ap-shanghai-5",
        "workload": {"task": "vision", "model_parameters": 1e9},
        "node_pools": {
            "train": {
                "gpu": "A100-40GB",
                "gpus_per_node": 8,
                "nodes": 1,
                "interconnect": "nvlink",
                # 600 MB/s keep 8 GPUs at about 5,000 images of 110 KB a second together.
                "data_disk_gib": config.require_int("data_gib"),
                "data_disk_mb_per_s": 600,
            },
        },
        "checkpoints": {"keep_days": 14},
        # A cleaned data set is worth more than its disk: every night (UTC), a week to go back to.
        "snapshots": {"hours_utc": [18], "weekdays": ["mon", "tue", "wed", "thu", "fri"], "keep_days": 7},
    },
)

for key, value in cluster.summary().items():
    pulumi.export(key, value)
