"""Keys of Alibaba Cloud that encrypt something."""

import re

from gpuyard.spec.problems import Path, Problem

# The older form is a UUID, the newer one begins with 'key-'.
_ID = re.compile(r"key-[0-9a-z]{10,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ARN = re.compile(r"acs:kms:(?P<region>[a-z0-9-]+):[0-9]+:key/(?P<id>[^/]+)")


def key_problems(key: str, region: str, path: Path, *, alias: bool = True) -> list[Problem]:
    """Problems of a key that is to encrypt something: written neither as an ARN nor as an id, or of another region.

    An id says nothing of its region. Disks and buckets name a key by its id, so that an alias is never taken.

    Args:
        key: What was given.
        region: Region of what it encrypts.
        path: Where the key stands in the cluster description.
        alias: Without meaning here: an alias is never taken.

    Returns:
        At most one problem.

    Source: https://www.alibabacloud.com/help/en/kms/key-management-service/developer-reference/api-describekey (KeyId,
    Arn); PyPI pulumi_alicloud, docstrings of ecs.EcsDisk and oss.Bucket
    """
    like = f"Give the ARN of a key of {region}, written like 'acs:kms:{region}:1234567890123456:key/key-…', or its id."
    found = _ARN.fullmatch(key)
    if _ID.fullmatch(key_id(key)) is None or (found is None and ":" in key):
        return [Problem(path, f"'{key}' is neither the ARN nor the id of a key.", like)]
    if found is not None and found["region"] != region:
        message = f"the key is of {found['region']}, what it encrypts is in {region}."
        return [Problem(path, message, f"Name a key of {region}.")]
    return []


def key_id(key: str) -> str:
    """The id of a key that is given by its ARN or its id."""
    found = _ARN.fullmatch(key)
    return key if found is None else found["id"]
