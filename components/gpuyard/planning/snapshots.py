"""Snapshot schedules: each cloud has its own hours and limits; what is asked for and what comes back is the same."""

from gpuyard.planning.cloud_parts import cloud_part
from gpuyard.planning.plans import Place, SnapshotPlan
from gpuyard.spec.models import SnapshotSpec
from gpuyard.spec.problems import Path, Problem


def plan_snapshots(spec: SnapshotSpec, place: Place, path: Path = ()) -> tuple[SnapshotPlan | None, list[Problem]]:
    """What the snapshot schedule is.

    Args:
        spec: What was asked for.
        place: Cloud and region of the nodes.
        path: Where it stands in the cluster description, for the problems' paths.

    Returns:
        The plan, or None when there is none; and every problem found.
    """
    return cloud_part(place.cloud, "snapshots").plan_snapshots(spec, place, path)
