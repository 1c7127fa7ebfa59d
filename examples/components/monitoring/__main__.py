"""Alarms, a dashboard and a budget for nodes and a file system that exist already."""

import pulumi

from gpuyard import GpuMonitoring

config = pulumi.Config()

watch = GpuMonitoring(
    "speech",
    {
        "region": pulumi.Config("aws").require("region"),
        # What the budget counts: everything that carries the tag gpuyard:cluster with this value.
        "cluster_name": "speech",
        "node_pools": {
            "train": {
                "group_name": config.require("group"),
                "log_group_name": config.require("log_group"),
                "rdma": True,
            },
        },
        "watched_file_system": {
            "file_system_id": config.require("file_system_id"),
            "capacity_gib": 9600,
            "throughput_mb_per_s": 4800,
        },
        "notify": config.require_object("notify"),
        # Idle for an hour and a half is a job that hangs, or a machine that nobody has given back.
        "gpu_utilization_below_percent": 15,
        "for_minutes": 90,
        "budget": {"monthly_amount": 40_000, "alert_at_percent": [80, 100]},
    },
)

pulumi.export("alarms", watch.alarm_names)
pulumi.export("topic", watch.topic_arn)
pulumi.export("dashboard", watch.dashboard_name)
pulumi.export("budget", watch.budget_name)
