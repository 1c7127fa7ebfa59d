"""The same bucket and file system under another name and in a component of the team's own: nothing is made anew."""

import pulumi

from gpuyard import CheckpointStore, ParallelFileSystem


class Storage(pulumi.ComponentResource):
    """What the team keeps of its text models."""

    def __init__(self, name: str) -> None:
        super().__init__("acme:index:Storage", name)
        config = pulumi.Config()
        region = pulumi.Config("aws").require("region")
        # Where it was before: called "llm", at the top of the program. What is in it follows.
        moved = pulumi.ResourceOptions(
            parent=self, aliases=[pulumi.Alias(name="llm", parent=pulumi.ROOT_STACK_RESOURCE)]
        )
        # The cluster keeps its name in the tags, by which costs are counted.
        self.store = CheckpointStore(
            name, {"region": region, "cluster_name": "llm", "keep_days": 30, "replicate_to": "us-west-2"}, moved
        )
        self.files = ParallelFileSystem(
            name,
            {
                "region": region,
                "cluster_name": "llm",
                "zone": f"{region}a",
                "capacity_gib": 4800,
                "throughput_mb_per_s": 1200,
                "subnet_id": config.require("subnet_id"),
                "security_group_ids": [config.require("security_group_id")],
                "bucket_name": self.store.bucket_name,
            },
            moved,
        )
        self.register_outputs({})


storage = Storage("text-models")

pulumi.export("checkpoints", storage.store.uri)
pulumi.export("mount", storage.files.mount_command)
