"""What belongs to a region: the key that encrypts something, and the region that receives a copy."""

from gpuyard.catalog import regions
from gpuyard.planning.plans import Place
from gpuyard.spec.problems import Path, Problem, did_you_mean


def key_problems(key: str | None, region: str, path: Path, *, alias: bool = True) -> list[Problem]:
    """Problems of the ARN of a key that is to encrypt something: no ARN of a key, or a key of another region.

    Args:
        key: What was given; None has no problem.
        region: Region of what it encrypts.
        path: Where the key stands in the cluster description.
        alias: Whether an alias will do. It does not where a role gets permission for the key: an alias gives none.

    Returns:
        At most one problem.

    Source: https://docs.aws.amazon.com/kms/latest/developerguide/concepts.html#key-id-key-ARN; aliases in permissions:
    https://docs.aws.amazon.com/kms/latest/developerguide/alias-authorization.html
    """
    if key is None:
        return []
    like = f"It is written like 'arn:aws:kms:{region}:123456789012:key/...'."
    parts = key.split(":")
    if len(parts) < 6 or parts[0] != "arn" or parts[2] != "kms" or not parts[5].startswith(("key/", "alias/")):
        return [Problem(path, f"'{key}' is no ARN of a key.", like)]
    if parts[3] != region:
        message = f"the key is of {parts[3]}, what it encrypts is in {region}."
        return [Problem(path, message, f"Name a key of {region}.")]
    if not alias and parts[5].startswith("alias/"):
        message = f"'{key}' is an alias, and a role can be given permission for the key itself only."
        return [Problem(path, message, f"Give the key's own ARN. {like}")]
    return []


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
