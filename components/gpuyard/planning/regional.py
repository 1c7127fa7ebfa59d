"""What belongs to a region: the key that encrypts something, and the region that receives a copy."""

from gpuyard.catalog import regions
from gpuyard.planning.cloud_parts import cloud_part
from gpuyard.planning.plans import Place
from gpuyard.spec.base import Model
from gpuyard.spec.problems import Path, Problem, did_you_mean
from gpuyard.spec.storage import SnapshotSpec

CLOUDS = ("aws", "alicloud", "tencentcloud")


def key_problems(key: str | None, cloud: str, region: str, path: Path, *, alias: bool = True) -> list[Problem]:
    """Problems of a key that is to encrypt something: not written as the cloud writes it, or of another region.

    Args:
        key: What was given; None has no problem.
        cloud: The cloud.
        region: Region of what it encrypts.
        path: Where the key stands in the cluster description.
        alias: Whether another name of the key will do, where the cloud has such.

    Returns:
        At most one problem.
    """
    if key is None:
        return []
    return cloud_part(cloud, "keys").key_problems(key, region, path, alias=alias)


def second_region_problems(region: str | None, place: Place, path: Path) -> list[Problem]:
    """Problems of a region that is to receive a copy: unknown, the same, or in a partition that cannot be reached.

    Args:
        region: What was given; None has no problem.
        place: Cloud and region of what is copied.
        path: Where the region stands in the cluster description.

    Returns:
        At most one problem.
    """
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


def foreign_group_problems(spec: Model, cloud: str, path: Path) -> list[Problem]:
    """Problems of a group of settings that belong to another cloud.

    Args:
        spec: What was asked for, with a group for each cloud where it has such.
        cloud: The cloud that it is built on.
        path: Where it stands in the cluster description.

    Returns:
        Every problem found.
    """
    return [
        Problem((*path, other), f"is for {other}, and the cluster is on {cloud}.", "Remove it.")
        for other in CLOUDS
        if other != cloud and getattr(spec, other, None) is not None
    ]


def uncopied_problems(spec: SnapshotSpec, path: Path) -> list[Problem]:
    """Problems of settings for a copy of snapshots where there is none.

    Args:
        spec: What was asked for.
        path: Where it stands in the cluster description.

    Returns:
        Every problem found.
    """
    given = {"copy_keep_days": spec.copy_keep_days, "copy_kms_key": spec.copy_kms_key}
    return [
        Problem(
            (*path, key),
            f"there is no copy to {'keep' if key == 'copy_keep_days' else 'encrypt'}.",
            "Set 'copy_to', or remove it.",
        )
        for key, value in given.items()
        if value is not None
    ]
