"""SnapshotPolicy: regular snapshots of the disks that carry given tags."""

from collections.abc import Mapping

import pulumi

from gpuyard.clouds.built import BuiltSnapshots
from gpuyard.planning.storage import plan_snapshots
from gpuyard.resources._common import Arguments, builder
from gpuyard.resources.args import SnapshotPolicyArgs
from gpuyard.spec import Problem, SnapshotSpec, SpecError


class SnapshotPolicy(pulumi.ComponentResource):
    """Snapshots at fixed hours with an end to each, and an encrypted copy in a second region where asked for."""

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
        arguments = Arguments(name, args, own=("target_tags",))
        target_tags: Mapping[str, str] = arguments.own.get("target_tags", {})
        plan = arguments.plan(SnapshotSpec, plan_snapshots)
        if not target_tags:
            raise SpecError([Problem(("target_tags",), "a schedule without tags selects no disk.", "Give a tag.")])
        super().__init__("gpuyard:index:SnapshotPolicy", name, {}, opts)
        built: BuiltSnapshots = builder(arguments.place.cloud, "snapshots").build_snapshots(
            name, plan, target_tags, arguments.tags(), self
        )
        self.policy_id = built.policy_id
        self.target_tags = built.target_tags
        self.register_outputs({"policyId": self.policy_id, "targetTags": self.target_tags})
