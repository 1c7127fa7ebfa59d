"""A bucket and a file system, as they were named when there was one model."""

import pulumi

from gpuyard import CheckpointStore, ParallelFileSystem

config = pulumi.Config()
region = pulumi.Config("aws").require("region")

store = CheckpointStore("llm", {"region": region, "keep_days": 30, "replicate_to": "us-west-2"})
files = ParallelFileSystem(
    "llm",
    {
        "region": region,
        "zone": f"{region}a",
        "capacity_gib": 4800,
        "throughput_mb_per_s": 1200,
        "subnet_id": config.require("subnet_id"),
        "security_group_ids": [config.require("security_group_id")],
        "bucket_name": store.bucket_name,
    },
)

pulumi.export("checkpoints", store.uri)
pulumi.export("mount", files.mount_command)
