"""The planners that each cloud has for itself: one folder for each cloud, with the same file names and functions."""

from importlib import import_module
from typing import Any


def cloud_part(cloud: str, name: str) -> Any:
    """The module of one cloud that decides one part; nothing of another cloud is imported.

    Args:
        cloud: ``aws``, ``alicloud`` or ``tencentcloud``.
        name: The part: ``pools``, ``file_system``, ``file_system_clients``, ``snapshots`` or ``keys``.

    Returns:
        The module.
    """
    return import_module(f"gpuyard.planning.{cloud}.{name}")
