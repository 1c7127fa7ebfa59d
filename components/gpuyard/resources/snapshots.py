"""SnapshotPolicy: regular snapshots of the disks that carry given tags."""

from collections.abc import Mapping
from typing import Annotated

import pulumi
from pydantic import Field

from gpuyard.clouds.built import BuiltSnapshots
from gpuyard.planning.snapshots import plan_snapshots
from gpuyard.resources._common import Arguments, OwnSpec, builder
from gpuyard.resources.args import SnapshotPolicyArgs
from gpuyard.spec import SnapshotSpec
from gpuyard.spec.values import Text


class _OwnSpec(OwnSpec):
    target_tags: Annotated[dict[Text, Text], Field(min_length=1)]


class SnapshotPolicy(pulumi.ComponentResource):
    """Snapshots at fixed times with an end to each, and an encrypted copy in a second region where asked for."""

    policy_id: pulumi.Output[str]
    """Id of the schedule."""
    target_tags: Mapping[str, str]
    """Tags, key and value, by which it finds volumes."""

    def __init__(self, name: str, args: SnapshotPolicyArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Create the schedule.

        Args:
            name: Name in front of every resource.
            args: Place, schedule, retention, copy, and the tags of the volumes.
            opts: Resource options.

        Raises:
            SpecError: The arguments cannot be built; nothing has been registered then.
        """
        arguments = Arguments(name, args, spec=SnapshotSpec, own=_OwnSpec, optional=("volume_key_arns",))
        plan = arguments.plan(plan_snapshots)
        target_tags: Mapping[str, str] = arguments.own.target_tags
        super().__init__("gpuyard:index:SnapshotPolicy", name, {}, opts)
        built: BuiltSnapshots = builder(arguments.built_in.cloud, "snapshots").build_snapshots(
            name, plan, target_tags, arguments.inputs.get("volume_key_arns") or None, arguments.tags(), self
        )
        self.policy_id = built.policy_id
        self.target_tags = built.target_tags
        self.register_outputs({"policyId": self.policy_id, "targetTags": self.target_tags})
