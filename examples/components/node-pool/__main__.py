"""A pool of spot machines with one 24 GB GPU each, in subnets and with a bucket that exist already."""

import pulumi

from gpuyard import GpuNodePool

config = pulumi.Config()
subnets: dict[str, str] = config.require_object("subnet_ids")

pool = GpuNodePool(
    "lora",
    {
        "region": pulumi.Config("aws").require("region"),
        # A pool on spot lives from many places to find a machine in: zones, and types that can do the same.
        "zones": list(subnets),
        "subnet_ids": list(subnets.values()),
        "security_group_ids": [config.require("security_group_id")],
        "workload": {"task": "lora", "model_parameters": 7e9},
        "gpu": "A10G",
        "gpus_per_node": 1,
        "mix": "gpu_memory",
        "nodes": {"min": 0, "max": config.require_int("max_nodes"), "desired": 1},
        "purchase": "spot",
        "root_disk_gib": 150,
        # The right to the bucket, and only below checkpoints/, is part of the nodes' role.
        "bucket_name": config.require("bucket"),
        # An adapter of a 7 B model is written in seconds, well within the two minutes of a spot notice.
        "checkpoint_seconds": 60,
    },
)

pulumi.export("group", pool.group_name)
pulumi.export("instance_types", pool.instance_types)
pulumi.export("role", pool.role_arn)
pulumi.export("interruptions", pool.interruption_queue_url)
