"""A checkpoint bucket alone, under keys of your own, with a copy in a second region."""

import pulumi

from gpuyard import CheckpointStore

config = pulumi.Config()

store = CheckpointStore(
    "speech",
    {
        "region": pulumi.Config("aws").require("region"),
        # Checkpoints of a run that goes on are of use for days; the last ones rest where they cost less.
        "keep_days": 90,
        "tiers": {"infrequent": 30},
        # What is released is kept for years.
        "prefixes": {"releases": {"keep_days": 1095, "tiers": {"infrequent": 30, "deep_archive": 120}}},
        "kms_key": config.require("kms_key"),
        "replicate_to": config.require("copy_region"),
        "replica_kms_key": config.require("copy_kms_key"),
        "protect_data": True,
    },
)

pulumi.export("bucket", store.bucket_name)
pulumi.export("uri", store.uri)
pulumi.export("copy", store.replica_name)
pulumi.export("prefixes", store.prefixes)
