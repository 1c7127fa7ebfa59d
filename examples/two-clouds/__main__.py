"""One program, two clouds: a model is trained on AWS and serves from Alibaba Cloud, near those who use it."""

import pulumi
import pulumi_alicloud as alicloud
import pulumi_aws as aws

from gpuyard import CheckpointStore, ClusterNetwork, GpuNodePool, TrainingCluster

PARAMETERS = 7e9
america = pulumi.Config("aws").require("region")
singapore = pulumi.Config("alicloud").require("region")
zones = [f"{singapore}a", f"{singapore}b"]

# Providers of their own: what is made is in these regions and accounts, whatever the environment says.
on_aws = pulumi.ResourceOptions(providers=[aws.Provider("training", region=america)])
alibaba = alicloud.Provider("serving", region=singapore)
on_alibaba = pulumi.ResourceOptions(providers=[alibaba])

training = TrainingCluster(
    "train",
    {
        "region": america,
        "zone": f"{america}d",
        "workload": {"task": "full_finetune", "model_parameters": PARAMETERS},
        "node_pools": {"train": {"gpu": "A100-40GB", "gpus_per_node": 8, "nodes": 2, "interconnect": "rdma"}},
        "file_system": {"capacity_gib": 4800},
        "checkpoints": {"keep_days": 30},
    },
    on_aws,
)

network = ClusterNetwork(
    "serve", {"cloud": "alicloud", "region": singapore, "zones": zones, "file_system": False}, on_alibaba
)
# Weights are copied here once a release. Servers that read them from the other cloud would pay for each GB.
models = CheckpointStore("models", {"cloud": "alicloud", "region": singapore, "keep_days": 365}, on_alibaba)
servers = GpuNodePool(
    "serve",
    {
        "cloud": "alicloud",
        "region": singapore,
        "zones": zones,
        "workload": {"task": "inference", "model_parameters": PARAMETERS},
        "gpu": "A10",
        "gpus_per_node": 1,
        "nodes": {"min": 1, "max": pulumi.Config().require_int("max_servers")},
        "purchase": "spot",
        "on_demand_nodes": 1,
        "scaling": {"gpu_utilization_percent": 60},
        "subnet_ids": [network.subnet_ids[zone] for zone in zones],
        "security_group_ids": [network.node_security_group_id],
        "bucket_name": models.bucket_name,
    },
    pulumi.ResourceOptions(providers=[alibaba], depends_on=[network]),
)

pulumi.export("trained", training.checkpoint_uri)
pulumi.export("served", models.uri)
pulumi.export("server_group", servers.group_name)
