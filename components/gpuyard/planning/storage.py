"""The checkpoint bucket and the snapshot schedule."""

from gpuyard.catalog import regions
from gpuyard.catalog.limits import limit
from gpuyard.planning.plans import BucketPlan, Place, SnapshotPlan
from gpuyard.spec.models import CheckpointSpec, SnapshotSpec
from gpuyard.spec.problems import Path, Problem, did_you_mean, one_of

NONCURRENT_KEEP_DAYS = 7
ABORT_UPLOADS_AFTER_DAYS = 2


def plan_checkpoints(spec: CheckpointSpec, place: Place, path: Path = ()) -> tuple[BucketPlan | None, list[Problem]]:
    """What the checkpoint bucket is.

    Args:
        spec: What was asked for.
        place: Cloud and region of the nodes.
        path: Where it stands in the cluster description, for the problems' paths.

    Returns:
        The plan, or None when there is none; and every problem found.
    """
    problems: list[Problem] = []
    if spec.region is not None and spec.region != place.region:
        message = f"the checkpoint bucket is in {spec.region}, the nodes are in {place.region}."
        remedy = (
            f"Set it to {place.region} or leave it out: each checkpoint would cross regions, slowly and at a price. "
            f"'replicate_to: {spec.region}' keeps a copy there."
        )
        problems.append(Problem((*path, "region"), message, remedy))
    problems += second_region_problems(spec.replicate_to, place, (*path, "replicate_to"))
    problems += key_problems(spec.kms_key, place.region, (*path, "kms_key"))
    problems += _replica_key_problems(spec, path)
    if problems:
        return None, problems
    return (
        BucketPlan(
            region=place.region,
            keep_days=spec.keep_days,
            noncurrent_keep_days=NONCURRENT_KEEP_DAYS,
            abort_uploads_after_days=ABORT_UPLOADS_AFTER_DAYS,
            replica_region=spec.replicate_to,
            kms_key=spec.kms_key,
            replica_kms_key=spec.replica_kms_key,
        ),
        [],
    )


def plan_snapshots(spec: SnapshotSpec, place: Place, path: Path = ()) -> tuple[SnapshotPlan | None, list[Problem]]:
    """What the snapshot schedule is.

    Args:
        spec: What was asked for.
        place: Cloud and region of the nodes.
        path: Where it stands in the cluster description, for the problems' paths.

    Returns:
        The plan, or None when there is none; and every problem found.
    """
    problems: list[Problem] = []
    hours = limit(place.cloud, "snapshot_interval_hours")
    if spec.every_hours not in hours.values:
        message = f"a snapshot every {spec.every_hours} hours is not offered."
        problems.append(
            Problem((*path, "every_hours"), message, f"Allowed: {one_of(hours.values)} (source: {hours.source}).")
        )
    if spec.copy_keep_days is not None and spec.copy_to is None:
        problems.append(Problem((*path, "copy_keep_days"), "there is no copy to keep.", "Set 'copy_to', or remove it."))
    problems += second_region_problems(spec.copy_to, place, (*path, "copy_to"))
    if problems:
        return None, problems
    keep = spec.copy_keep_days or spec.keep_days
    return (
        SnapshotPlan(
            region=place.region,
            every_hours=spec.every_hours,
            keep_days=spec.keep_days,
            copy_region=spec.copy_to,
            copy_keep_days=keep if spec.copy_to else None,
        ),
        [],
    )


def key_problems(key: str | None, region: str, path: Path) -> list[Problem]:
    """Problems of the ARN of a key that is to encrypt something: no ARN of a key, or a key of another region.

    Args:
        key: What was given; None has no problem.
        region: Region of what it encrypts.
        path: Where the key stands in the cluster description.

    Returns:
        At most one problem.

    Source: https://docs.aws.amazon.com/kms/latest/developerguide/concepts.html#key-id-key-ARN
    """
    if key is None:
        return []
    parts = key.split(":")
    if len(parts) < 6 or parts[0] != "arn" or parts[2] != "kms" or not parts[5].startswith(("key/", "alias/")):
        like = f"arn:aws:kms:{region}:123456789012:key/..."
        return [Problem(path, f"'{key}' is no ARN of a key.", f"It is written like '{like}'.")]
    if parts[3] != region:
        message = f"the key is of {parts[3]}, what it encrypts is in {region}."
        return [Problem(path, message, f"Name a key of {region}.")]
    return []


def _replica_key_problems(spec: CheckpointSpec, path: Path) -> list[Problem]:
    at = (*path, "replica_kms_key")
    if spec.replicate_to is None:
        if spec.replica_kms_key is None:
            return []
        return [Problem(at, "there is no copy to encrypt.", "Set 'replicate_to', or remove it.")]
    if spec.kms_key is not None and spec.replica_kms_key is None:
        message = f"objects under a key of your own are copied to {spec.replicate_to} only under a key of that region."
        return [Problem(at, message, f"Name a key of {spec.replicate_to}.")]
    return key_problems(spec.replica_kms_key, spec.replicate_to, at)


def second_region_problems(region: str | None, place: Place, path: Path) -> list[Problem]:
    """Problems of a region that is to receive a copy: unknown, the same, or in a partition that cannot be reached."""
    if region is None:
        return []
    known = regions(place.cloud)
    if region not in known:
        hint = did_you_mean(region, known) or f"Regions of {place.cloud}: {', '.join(known)}."
        return [Problem(path, f"'{region}' is no region of {place.cloud}.", hint)]
    if region == place.region:
        return [Problem(path, f"a copy in {region} itself survives no loss of the region.", "Name another region.")]
    here = known.get(place.region)
    if here is not None and known[region].partition != here.partition:
        message = f"{region} is in partition {known[region].partition}, {place.region} in {here.partition}."
        return [Problem(path, message, "Data cannot be copied across partitions.")]
    return []
