"""Serving on spot: 0 to N machines with one A10G each, as many as waiting requests and the hour of the day want."""

import pulumi
import pulumi_aws as aws

from gpuyard import ClusterNetwork, GpuNodePool

config = pulumi.Config()
region = pulumi.Config("aws").require("region")
zones = [f"{region}a", f"{region}b"]
queue_name = config.require("queue")

network = ClusterNetwork("serve", {"region": region, "zones": zones, "file_system": False})

# One message for each request that waits. The scaler knows a queue by its name, which is therefore given, not made up.
requests = aws.sqs.Queue("requests", name=queue_name, sqs_managed_sse_enabled=True, visibility_timeout_seconds=300)

servers = GpuNodePool(
    "serve",
    {
        "region": region,
        "zones": zones,
        "workload": {"task": "inference", "model_parameters": 7e9},
        "gpu": "A10G",
        "gpus_per_node": 1,
        "nodes": {"min": 0, "max": config.require_int("max_nodes")},
        "purchase": "spot",
        "root_disk_gib": 150,
        "scaling": {
            "queue": {"name": queue_name, "jobs_per_node": 20},
            "schedule": {
                # One machine is warm while people are at work; at night the first request waits for one to boot.
                "morning": {"cron": "0 7 * * MON-FRI", "time_zone": "Europe/Berlin", "min": 1},
                "evening": {"cron": "0 19 * * MON-FRI", "time_zone": "Europe/Berlin", "min": 0},
            },
        },
        # A request takes seconds: a machine that goes needs no longer to finish what it has begun.
        "checkpoint_seconds": 60,
        "subnet_ids": [network.subnet_ids[zone] for zone in zones],
        "security_group_ids": [network.node_security_group_id],
    },
    pulumi.ResourceOptions(depends_on=[network]),
)

# The pool's outputs are enough to build on: its nodes take requests off the queue, and read the models, which live in a
# bucket of another team.
models = f"arn:aws:s3:::{config.require('models_bucket')}"
aws.iam.RolePolicy(
    "serve",
    role=servers.role_name,
    policy=pulumi.Output.json_dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Action": ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"],
                    "Resource": requests.arn,
                },
                {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": models},
                {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"{models}/*"},
            ],
        }
    ),
)

pulumi.export("group", servers.group_name)
pulumi.export("instance_types", servers.instance_types)
pulumi.export("request_queue_url", requests.url)
pulumi.export("interruption_queue_url", servers.interruption_queue_url)
