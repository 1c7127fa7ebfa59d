"""Keys of Tencent Cloud that encrypt something."""

import re

from gpuyard.spec.problems import Path, Problem

_KEY_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def key_problems(key: str, region: str, path: Path, *, alias: bool = True) -> list[Problem]:
    """Problems of the id of a key that is to encrypt something: not written as the cloud writes one.

    An id says nothing of its region, and a key has no other name that could stand for it.

    Args:
        key: What was given.
        region: Region of what it encrypts.
        path: Where the key stands in the cluster description.
        alias: Without meaning here: an alias is never taken.

    Returns:
        At most one problem.

    Source: https://cloud.tencent.com/document/api/573/34430 (DescribeKey, KeyId); PyPI tencentcloud_iac_pulumi 0.2.3,
    docstrings of cbs.Storage and cos.Bucket
    """
    if _KEY_ID.fullmatch(key):
        return []
    like = f"Give the id of a key of {region}; it is written like '23e80852-1e38-11e9-b129-5cb9019b4b01'."
    return [Problem(path, f"'{key}' is no id of a key of Tencent Cloud.", like)]
