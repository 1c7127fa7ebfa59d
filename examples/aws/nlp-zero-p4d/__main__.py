"""Full fine-tuning of a 13 B language model with ZeRO-3 on two nodes of 8 × A100 40 GB, joined by EFA."""

import pulumi

from gpuyard import TrainingCluster

cluster = TrainingCluster(
    "nlp",
    {
        "region": pulumi.Config("aws").require("region"),
        "zone": "usw2-az2",
        "workload": {"task": "full_finetune", "model_parameters": 13e9},
        "node_pools": {
            # ZeRO-3 gathers every layer's parameters over the network in each step: without EFA the GPUs would wait.
            "train": {"instance_type": "p4d.24xlarge", "nodes": 2, "interconnect": "rdma", "root_disk_gib": 300},
        },
        "file_system": {"capacity_gib": 4800, "throughput_mb_per_s": 1200},
        # A checkpoint of all optimizer states has about 180 GB.
        "checkpoints": {"keep_days": 14},
    },
)
train = cluster.node_pools["train"]

pulumi.export("group", train.group_name)
pulumi.export("placement_group", train.placement_group_name)
pulumi.export("mount", cluster.mount_command)
pulumi.export("checkpoints", cluster.checkpoint_uri)
