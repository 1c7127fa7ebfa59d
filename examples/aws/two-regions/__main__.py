"""The same training cluster in two regions, in one program: each takes the jobs that its region has capacity for."""

import pulumi
import pulumi_aws as aws

from gpuyard import TrainingCluster, TrainingClusterArgs


def cluster_in(region: str, zone: str, cidr: str) -> TrainingClusterArgs:
    """The description of both clusters; only where they are differs."""
    return {
        "region": region,
        "zone": zone,
        "network": {"cidr": cidr},
        "workload": {"task": "full_finetune", "model_parameters": 13e9},
        "node_pools": {"train": {"instance_type": "p4d.24xlarge", "nodes": 2, "interconnect": "rdma"}},
        "file_system": {"capacity_gib": 4800, "throughput_mb_per_s": 1200},
        "checkpoints": {"keep_days": 14},
    }


# The default provider, which has the region of the stack file.
america = TrainingCluster("america", cluster_in("us-east-1", "use1-az6", "10.64.0.0/16"))

# A provider of its own, as another account or another role would need.
ireland = aws.Provider("ireland", region="eu-west-1", default_tags={"tags": {"cost-centre": "research-eu"}})
europe = TrainingCluster(
    "europe",
    cluster_in("eu-west-1", "euw1-az2", "10.65.0.0/16"),
    pulumi.ResourceOptions(providers=[ireland]),
)

for name, cluster in (("america", america), ("europe", europe)):
    pulumi.export(name, cluster.summary())
