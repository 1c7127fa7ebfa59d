"""LoRA on spot: 0 to N machines with one A10 each, checkpoints in OSS, and a message when a machine stands idle."""

import pulumi

from gpuyard import CheckpointStore, ClusterNetwork, GpuMonitoring, GpuNodePool

config = pulumi.Config()
region = pulumi.Config("alicloud").require("region")
zones = [f"{region}-i", f"{region}-j"]

network = ClusterNetwork("lora", {"cloud": "alicloud", "region": region, "zones": zones, "file_system": False})
checkpoints = CheckpointStore("lora", {"cloud": "alicloud", "region": region, "keep_days": 14})

tuners = GpuNodePool(
    "lora",
    {
        "cloud": "alicloud",
        "region": region,
        "zones": zones,
        "workload": {"task": "lora", "model_parameters": 7e9},
        "gpu": "A10",
        "gpus_per_node": 1,
        "nodes": {"min": 0, "max": config.require_int("max_nodes")},
        "purchase": "spot",
        "root_disk_gib": 150,
        # An adapter of a 7 B model is written in seconds.
        "checkpoint_seconds": 60,
        # Somebody is at work: the first run of the day waits for no machine.
        "scaling": {
            "schedule": {
                "morning": {"cron": "0 8 * * MON-FRI", "time_zone": "Asia/Shanghai", "min": 1},
                "evening": {"cron": "0 20 * * MON-FRI", "time_zone": "Asia/Shanghai", "min": 0},
            },
        },
        "subnet_ids": [network.subnet_ids[zone] for zone in zones],
        "security_group_ids": [network.node_security_group_id],
        "bucket_name": checkpoints.bucket_name,
    },
    pulumi.ResourceOptions(depends_on=[network]),
)

# Machines that come and go are found by the tag that the pool gives them: its own name.
GpuMonitoring(
    "lora",
    {
        "cloud": "alicloud",
        "region": region,
        "node_pools": {"lora": {"pool_tag": "lora"}},
        "notify": ["ml@example.com"],
        "for_minutes": 60,
    },
)

pulumi.export("group", tuners.group_name)
pulumi.export("instance_types", tuners.instance_types)
pulumi.export("interruption_queue", tuners.interruption_queue_url)
pulumi.export("checkpoints", checkpoints.uri)
pulumi.export("endpoint", checkpoints.endpoint)
