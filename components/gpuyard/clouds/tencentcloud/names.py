"""Names of things on Tencent Cloud, which end earlier than Pulumi's own."""

from hashlib import sha256

from gpuyard.catalog.limits import limit

_DIGEST_CHARACTERS = 8


def fitted(name: str, most: str = "name_characters_max") -> str:
    """A name that the cloud takes: the name itself, or its beginning and a digest of the whole where it is too long.

    Args:
        name: The name wanted.
        most: The catalog's limit of its characters.

    Returns:
        The same name for the same wish; other wishes have other names.
    """
    longest = int(limit("tencentcloud", most).values[0])
    if len(name) <= longest:
        return name
    digest = sha256(name.encode()).hexdigest()[:_DIGEST_CHARACTERS]
    return f"{name[: longest - _DIGEST_CHARACTERS - 1].rstrip('-')}-{digest}"
