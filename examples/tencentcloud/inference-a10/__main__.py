"""Serving on spot: machines with one A10 each in two zones, one of them always on demand, more while people work."""

import pulumi

from gpuyard import CheckpointStore, ClusterNetwork, GpuMonitoring, GpuNodePool

config = pulumi.Config()
region = pulumi.Config("tencentcloud").require("region")
zones = [f"{region}-4", f"{region}-5"]
most = config.require_int("max_nodes")

network = ClusterNetwork("serve", {"cloud": "tencentcloud", "region": region, "zones": zones, "file_system": False})

# Weights to serve; nodes find what watches for their end there, too.
weights = CheckpointStore("serve", {"cloud": "tencentcloud", "region": region, "keep_days": 365})
servers = GpuNodePool(
    "serve",
    {
        "cloud": "tencentcloud",
        "region": region,
        "zones": zones,
        "workload": {"task": "inference", "model_parameters": 7e9},
        "gpu": "A10",
        "gpus_per_node": 1,
        "nodes": {"min": 1, "max": most},
        "purchase": "spot",
        "spot_price_limit": config.require_float("price_limit"),
        # Spot may be gone for a while: this one is not.
        "on_demand_nodes": 1,
        "root_disk_gib": 150,
        "scaling": {
            "schedule": {
                "morning": {"cron": "0 7 * * MON-FRI", "time_zone": "Asia/Shanghai", "desired": most},
                "evening": {"cron": "0 19 * * MON-FRI", "time_zone": "Asia/Shanghai", "desired": 1},
            },
        },
        # A request takes seconds: a machine that goes needs no longer to finish what it has begun.
        "checkpoint_seconds": 60,
        "subnet_ids": [network.subnet_ids[zone] for zone in zones],
        "security_group_ids": [network.node_security_group_id],
        "bucket_name": weights.bucket_name,
    },
    pulumi.ResourceOptions(depends_on=[network]),
)
# An elastic pool has a scaling group; its nodes come and go, and alarms find them by their tag.
assert servers.group_name is not None  # noqa: S101
alarms = GpuMonitoring(
    "serve",
    {
        "cloud": "tencentcloud",
        "region": region,
        "node_pools": {"serve": {"group_name": servers.group_name, "pool_tag": "serve"}},
        "gpu_utilization_below_percent": 20,
        "notify": config.require_object("notify"),
    },
)

pulumi.export("group", servers.group_name)
pulumi.export("weights", weights.uri)
pulumi.export("instance_types", servers.instance_types)
pulumi.export("alarms", alarms.alarm_names)
