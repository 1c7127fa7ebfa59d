"""What the scaler that owns this node is told: that it may go on with it, or must not."""

import time

from gpuyard.node import commands, metadata, settings

# The most that one call of the cloud's command takes.
SECONDS = 30


class ScalerError(Exception):
    """The scaler was not told, and why."""


class NotWaitingError(ScalerError):
    """No scaler waits for this node."""


def complete(which: str, result: str) -> str:
    """End the wait of the scaler's lifecycle hook for this node. Otherwise it waits for its whole time.

    The cloud's own command is needed (``aws``, ``aliyun``, ``tccli``), with the node's own role. The hook's name is
    told by ``GPUYARD_LAUNCH_HOOK`` and ``GPUYARD_HOOK``, on Alibaba Cloud the group by ``GPUYARD_SCALING_GROUP``.

    Args:
        which: ``launching`` or ``terminating``.
        result: ``CONTINUE`` or ``ABANDON``.

    Returns:
        Who was told.

    Raises:
        NotWaitingError: Nothing waits for this node.
        ScalerError: The scaler could not be told, after ``GPUYARD_TRIES`` (3).
    """
    hook = {"launching": "LAUNCH_HOOK", "terminating": "HOOK"}[which]
    needed = "SCALING_GROUP" if settings.cloud() == "alicloud" else hook
    if not settings.value(needed):
        raise NotWaitingError(f"GPUYARD_{needed} is not set: no scaler waits for this node")
    tries = 1
    while True:
        try:
            return settings.cloud_module().complete(which, result, settings.value(hook))
        except (commands.CommandError, metadata.MetadataError, LookupError, TypeError, ValueError) as error:
            if tries >= settings.number("TRIES", 3):
                raise ScalerError(f"the scaler was not told: {error}") from error
            # The wait begins a moment after the node can know of it.
            time.sleep(settings.number("PAUSE", 5))
            tries += 1
