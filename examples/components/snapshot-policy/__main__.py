"""Snapshots of disks that exist already and that gpuyard did not make: the schedule finds them by a tag of theirs."""

import pulumi

from gpuyard import SnapshotPolicy

policy = SnapshotPolicy(
    "datasets",
    {
        "region": pulumi.Config("aws").require("region"),
        # Every volume with exactly this tag and value, from the moment on that it carries it.
        "target_tags": {"backup": "nightly"},
        # When nobody works: 03:00 in Tokyo, after Monday to Friday.
        "hours_utc": [18],
        "weekdays": ["mon", "tue", "wed", "thu", "fri"],
        "keep_days": 14,
        # The right to make snapshots under the key of those volumes.
        "volume_key_arns": [pulumi.Config().require("volume_key")],
    },
)

pulumi.export("policy_id", policy.policy_id)
pulumi.export("target_tags", policy.target_tags)
