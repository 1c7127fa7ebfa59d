"""SnapshotPolicy: regular snapshots of disks, found by tags or attached by name, as the cloud has it."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

import pulumi
from pydantic import Field

from gpuyard.clouds.built import BuiltSnapshots
from gpuyard.clouds.snapshotted import Snapshotted
from gpuyard.planning.plans import Place, SnapshotPlan
from gpuyard.planning.snapshots import plan_snapshots
from gpuyard.resources._common import Arguments, OwnSpec, builder, needed_problems
from gpuyard.resources.args import SnapshotPolicyArgs
from gpuyard.spec import Problem, SnapshotSpec
from gpuyard.spec.values import Text


class _OwnSpec(OwnSpec):
    target_tags: Annotated[dict[Text, Text], Field(min_length=1)] | None = None


class SnapshotPolicy(pulumi.ComponentResource):
    """Snapshots at fixed times with an end to each, and an encrypted copy in a second region where asked for."""

    policy_id: pulumi.Output[str]
    """Id of the schedule."""
    target_tags: Mapping[str, str]
    """Tags, key and value, by which it finds volumes; none where it is attached to disks."""

    def __init__(self, name: str, args: SnapshotPolicyArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Create the schedule.

        Args:
            name: Name in front of every resource.
            args: Place, schedule, retention, copy, and the volumes: their tags, or their ids.
            opts: Resource options.

        Raises:
            SpecError: The arguments cannot be built; nothing has been registered then.
        """
        arguments = Arguments(name, args, spec=SnapshotSpec, own=_OwnSpec, optional=("volume_key_arns", "disks"))
        given: Mapping[str, Any] = args

        def planned(spec: SnapshotSpec, place: Place) -> tuple[SnapshotPlan | None, list[Problem]]:
            plan, problems = plan_snapshots(spec, place)
            problems += needed_problems(place.cloud, "snapshot_policy", given)
            return plan, [*problems, *_disk_problems(given)]

        plan = arguments.plan(planned)
        super().__init__("gpuyard:index:SnapshotPolicy", name, {}, opts)
        disks = Snapshotted(
            tags=arguments.own.target_tags or {},
            disks=arguments.inputs.get("disks", {}),
            key_arns=arguments.inputs.get("volume_key_arns") or None,
        )
        built: BuiltSnapshots = builder(arguments.built_in.cloud, "snapshots").build_snapshots(
            name, plan, disks, arguments.tags(), self
        )
        self.policy_id = built.policy_id
        self.target_tags = built.target_tags
        self.register_outputs({"policyId": self.policy_id, "targetTags": self.target_tags})


def _disk_problems(given: Mapping[str, Any]) -> list[Problem]:
    """The names of the disks decide what is made: only the ids behind them may be known later."""
    disks = given.get("disks")
    if disks is None:
        return []
    if not isinstance(disks, Mapping):
        return [Problem(("disks",), f"should be a mapping of ids by name, not {type(disks).__name__}.")]
    return [
        Problem(("disks", str(name)), f"should be the id of a disk, not {disk!r}.")
        for name, disk in cast(Mapping[Any, Any], disks).items()
        if not isinstance(disk, (str, pulumi.Output)) or disk == ""
    ]
