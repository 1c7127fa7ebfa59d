"""Full fine-tuning of a 13 B language model with ZeRO-3 on two machines of 8 × A100 40 GB in one HPC cluster."""

import pulumi

from gpuyard import TrainingCluster

config = pulumi.Config()

cluster = TrainingCluster(
    "nlp",
    {
        "cloud": "tencentcloud",
        "region": pulumi.Config("tencentcloud").require("region"),
        "zone": "ap-beijing-6",
        "workload": {"task": "full_finetune", "model_parameters": 13e9},
        "node_pools": {
            # ZeRO-3 gathers every layer's parameters over the network in each step: without RDMA the GPUs would wait.
            "train": {
                "instance_type": "HCCPNV4h",
                "nodes": 2,
                "interconnect": "rdma",
                "root_disk_gib": 300,
                # The catalog knows the family's name only.
                "tencentcloud": {"full_type": config.require("machine")},
            },
        },
        # The smallest that is sold: 20 TiB, which give 4.3 GB/s.
        "file_system": {"capacity_gib": 20480},
        # A checkpoint of all optimizer states has about 180 GB.
        "checkpoints": {"keep_days": 14},
    },
)
train = cluster.node_pools["train"]

pulumi.export("machines", train.instance_ids)
pulumi.export("hpc_cluster", train.placement_group_name)
pulumi.export("mount", cluster.mount_command)
pulumi.export("checkpoints", cluster.checkpoint_uri)
