"""Keys of AWS that encrypt something."""

from gpuyard.spec.problems import Path, Problem


def key_problems(key: str, region: str, path: Path, *, alias: bool = True) -> list[Problem]:
    """Problems of the ARN of a key that is to encrypt something: no ARN of a key, or a key of another region.

    Args:
        key: What was given.
        region: Region of what it encrypts.
        path: Where the key stands in the cluster description.
        alias: Whether an alias will do. It does not where a role gets permission for the key: an alias gives none.

    Returns:
        At most one problem.

    Source: https://docs.aws.amazon.com/kms/latest/developerguide/concepts.html#key-id-key-ARN; aliases in permissions:
    https://docs.aws.amazon.com/kms/latest/developerguide/alias-authorization.html
    """
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
