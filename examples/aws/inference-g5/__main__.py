"""Serving on spot: 0 to N machines with one A10G each, of every size that has one, in two zones."""

import json

import pulumi
import pulumi_aws as aws

from gpuyard import ClusterNetwork, GpuNodePool

config = pulumi.Config()
region = pulumi.Config("aws").require("region")
zones = [f"{region}a", f"{region}b"]

network = ClusterNetwork("serve", {"region": region, "zones": zones, "file_system": False})

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
        "subnet_ids": [network.subnet_ids[zone] for zone in zones],
        "security_group_ids": [network.node_security_group_id],
    },
    pulumi.ResourceOptions(depends_on=[network]),
)

# The pool's outputs are enough to build on: its nodes may read the models, which live in a bucket of another team.
models = f"arn:aws:s3:::{config.require('models_bucket')}"
aws.iam.RolePolicy(
    "read-models",
    role=servers.role_name,
    policy=json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": models},
                {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"{models}/*"},
            ],
        }
    ),
)

pulumi.export("group", servers.group_name)
pulumi.export("instance_types", servers.instance_types)
