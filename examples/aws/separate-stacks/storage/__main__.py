"""The storage stack: checkpoints that outlive every cluster that writes them."""

import pulumi

from gpuyard import CheckpointStore

region = pulumi.Config("aws").require("region")
store = CheckpointStore("llm", {"region": region, "keep_days": 90, "replicate_to": "us-east-2"})

pulumi.export("region", region)
pulumi.export("bucket_name", store.bucket_name)
pulumi.export("checkpoints", store.uri)
