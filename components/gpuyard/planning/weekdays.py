"""Days of the week of a snapshot schedule."""

from gpuyard.spec.models import SnapshotSpec
from gpuyard.spec.problems import Path, Problem


def weekday_problems(spec: SnapshotSpec, path: Path) -> list[Problem]:
    """Problems of days of the week that stand without hours of the day.

    Args:
        spec: What was asked for.
        path: Where it stands in the cluster description.

    Returns:
        At most one problem.
    """
    if spec.weekdays is None or spec.hours_utc is not None:
        return []
    message = "days of the week go with 'hours_utc' alone."
    return [Problem((*path, "weekdays"), message, "Set 'hours_utc', or remove them.")]
