"""Reinforcement learning on two bare-metal machines of 8 × V100, paid six months ahead."""

import pulumi

from gpuyard import ClusterNetwork, GpuNodePool

config = pulumi.Config()
region = pulumi.Config("tencentcloud").require("region")
zone = f"{region}-6"

network = ClusterNetwork("rl", {"cloud": "tencentcloud", "region": region, "zones": [zone], "file_system": False})

machines = GpuNodePool(
    "rl",
    {
        "cloud": "tencentcloud",
        "region": region,
        "zone": zone,
        "workload": {"task": "rl", "model_parameters": 1e9},
        "instance_type": "BMG5v",
        "bare_metal": True,
        "interconnect": "nvlink",
        "nodes": 2,
        "purchase": "prepaid",
        "prepaid": {"months": 6, "renew": False},
        # The catalog knows the family's name only.
        "tencentcloud": {"full_type": config.require("machine")},
        "subnet_ids": [network.subnet_ids[zone]],
        "security_group_ids": [network.node_security_group_id],
    },
    pulumi.ResourceOptions(depends_on=[network]),
)

pulumi.export("machines", machines.instance_ids)
pulumi.export("image", machines.image_id)
