"""What the scaler of Tencent Cloud waits for: that a new node is healthy, and that a leaving one has a checkpoint."""

from collections.abc import Mapping

import tencentcloud_iac_pulumi as tencentcloud
from pulumi import ResourceOptions

from gpuyard.bootstrap.software import setup_seconds
from gpuyard.bootstrap.tencentcloud import hook_command
from gpuyard.clouds.tencentcloud.names import fitted
from gpuyard.planning.plans import NodePoolPlan

_OWN_TAGS = "gpuyard:"
# What a command takes until it begins on its node, out of the time that its hook waits.
_DISPATCH_SECONDS = 15


class NodeHooks:
    """The commands that hooks run on the nodes of one pool; a hook ends with its command.

    A new node whose command fails, or does not end in time, is released. A node that is taken away goes in any case, at
    the latest after ``checkpoint_seconds``. Both commands need the node's programs.

    Sources: PyPI tencentcloud_iac_pulumi 0.2.3, docstring of as_.LifecycleHook;
    https://www.tencentcloud.com/document/api/377/46978 (what becomes of a node whose command fails)
    """

    def __init__(self, name: str, plan: NodePoolPlan, tags: Mapping[str, str], opts: ResourceOptions) -> None:
        """Create the commands.

        Args:
            name: Name in front of every resource.
            plan: The pool.
            tags: Tags of the pool; a command gets our own.
            opts: Resource options, the parent among them.
        """
        self._name, self._tags, self._opts = name, tags, opts
        self._setup, self._checkpoint = setup_seconds(plan), plan.checkpoint_seconds
        self._ready = self._command("ready", "A node says whether it may be used", self._setup)
        self._leave = self._command(
            "leave", "A node tells its jobs that it is taken away, and waits for their checkpoint", self._checkpoint
        )

    def hang_on(self, name: str, group: tencentcloud.as_.ScalingGroup) -> None:
        """Create both hooks of one group.

        Args:
            name: Name in front of the hooks.
            group: The scaling group.
        """
        tencentcloud.as_.LifecycleHook(
            f"{name}-healthy",
            lifecycle_hook_name=f"{name}-healthy",
            scaling_group_id=group.id,
            lifecycle_transition="INSTANCE_LAUNCHING",
            # A machine that somebody else attaches is not ours to judge.
            lifecycle_transition_type="NORMAL",
            heartbeat_timeout=self._setup,
            default_result="ABANDON",
            lifecycle_command=tencentcloud.as_.LifecycleHookLifecycleCommandArgs(command_id=self._ready.id),
            opts=self._opts,
        )
        tencentcloud.as_.LifecycleHook(
            f"{name}-checkpoint",
            lifecycle_hook_name=f"{name}-checkpoint",
            scaling_group_id=group.id,
            lifecycle_transition="INSTANCE_TERMINATING",
            lifecycle_transition_type="EXTENSION",
            heartbeat_timeout=self._checkpoint,
            # The node goes in any case: a hook that abandoned would not keep it either.
            default_result="CONTINUE",
            lifecycle_command=tencentcloud.as_.LifecycleHookLifecycleCommandArgs(command_id=self._leave.id),
            opts=self._opts,
        )

    def _command(self, part: str, description: str, seconds: int) -> tencentcloud.tat.Command:
        return tencentcloud.tat.Command(
            f"{self._name}-{part}",
            command_name=fitted(f"{self._name}-{part}"),
            description=description,
            command_type="SHELL",
            content=hook_command(part, seconds - _DISPATCH_SECONDS),
            timeout=seconds,
            username="root",
            # A command takes ten tags at most.
            tags=[
                tencentcloud.tat.CommandTagArgs(key=key, value=value)
                for key, value in self._tags.items()
                if key.startswith(_OWN_TAGS)
            ],
            opts=self._opts,
        )
