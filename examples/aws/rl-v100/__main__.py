"""Reinforcement learning on one node of 8 × V100: replay buffer on local NVMe, what must survive on gp3."""

import pulumi

from gpuyard import CheckpointStore, ClusterNetwork, GpuNodePool, SnapshotPolicy

region = pulumi.Config("aws").require("region")
zone = "usw2-az1"

network = ClusterNetwork("rl", {"region": region, "zones": [zone], "file_system": False})
store = CheckpointStore("rl", {"region": region, "keep_days": 14})

learner = GpuNodePool(
    "rl",
    {
        "region": region,
        "zone": zone,
        "workload": {"task": "rl", "model_parameters": 50e6},
        "instance_type": "p3dn.24xlarge",
        "interconnect": "nvlink",
        "nodes": 1,
        "image": pulumi.Config().require("image"),
        # At /data, for episodes and logs that are worth keeping; the replay buffer belongs at /scratch, the node's own
        # 2 × 900 GB of NVMe.
        "data_disk_gib": 1000,
        "subnet_ids": [network.subnet_ids[zone]],
        "security_group_ids": [network.node_security_group_id],
        "bucket_name": store.bucket_name,
    },
    pulumi.ResourceOptions(depends_on=[network]),
)
SnapshotPolicy("rl", {"region": region, "every_hours": 24, "keep_days": 7, "target_tags": {"gpuyard:snapshot": "rl"}})

pulumi.export("group", learner.group_name)
pulumi.export("checkpoints", store.uri)
