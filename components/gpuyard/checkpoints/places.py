"""From what a person names, a path or a URI, to the store behind it."""

import re
from pathlib import Path
from urllib.parse import urlsplit

from gpuyard.checkpoints.store import Store
from gpuyard.node import settings
from gpuyard.spec.problems import Problem, SpecError, did_you_mean

SCHEMES = ("s3", "oss", "cos")
_CLOUDS = {"s3": "aws", "oss": "alicloud", "cos": "tencentcloud"}
_REGIONS = {"oss": "cn-hangzhou", "cos": "ap-guangzhou"}


def open_store(where: str, endpoint: str | None = None, region: str | None = None) -> Store:
    """The store behind a path or a URI. Credentials come from the SDK's own chain, never from the URI.

    Args:
        where: ``s3://bucket/prefix``, ``oss://bucket/prefix``, ``cos://bucket-appid/prefix``, or a folder.
        endpoint: Another address of the service than the region's usual one.
        region: The bucket's region. On a node of gpuyard it is the node's own when left out, and OSS is reached through
            its internal endpoint then.

    Returns:
        The store. Nothing has been asked of the service yet.

    Raises:
        SpecError: It is no such place, or its region is not known.
        StoreError: The SDK is not installed, or there are no credentials.
    """
    scheme, separator, _ = where.partition("://")
    if not separator:
        if endpoint or region:
            raise SpecError([Problem((), f"'{where}' is a folder, which has no endpoint or region.")])
        return _folder(where)
    if scheme not in SCHEMES:
        hint = did_you_mean(scheme, SCHEMES) or "Use s3://, oss://, cos:// or a folder."
        raise SpecError([Problem((), f"'{scheme}://' is no object storage that is known.", hint)])
    bucket, prefix = _bucket(where)
    if endpoint and not re.fullmatch(r"https?://[\w.-]+(:\d+)?", endpoint):
        raise SpecError([Problem(("--endpoint",), f"'{endpoint}' is no address.", "Write https://host.")])
    at_home = settings.value("REGION") if settings.value("CLOUD") == _CLOUDS[scheme] else ""
    region = region or at_home or None
    if scheme == "s3":
        from gpuyard.checkpoints.s3 import S3Store

        return S3Store(where, bucket, prefix, endpoint, region)
    if region is None:
        message = f"the region of bucket {bucket} is not known, and requests are signed for it."
        raise SpecError([Problem(("--region",), message, f"Give it, such as --region {_REGIONS[scheme]}.")])
    if scheme == "oss":
        from gpuyard.checkpoints.oss import OssStore

        return OssStore(where, bucket, prefix, endpoint, region, internal=region == at_home)
    from gpuyard.checkpoints.cos import CosStore

    return CosStore(where, bucket, prefix, endpoint, region)


def _folder(where: str) -> Store:
    from gpuyard.checkpoints.local import LocalStore

    return LocalStore(Path(where))


def _bucket(where: str) -> tuple[str, str]:
    """Bucket and prefix of a URI."""
    parts = urlsplit(where)
    bucket, prefix = parts.netloc, parts.path.strip("/")
    if "@" in bucket:
        hint = "Leave them to the environment, a profile or the instance's role."
        raise SpecError([Problem((), f"a '{parts.scheme}://' address holds no credentials.", hint)])
    if parts.query or parts.fragment or "//" in prefix:
        raise SpecError([Problem((), f"'{where}' is no prefix of a bucket: it has '?', '#' or an empty part.")])
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", bucket):
        raise SpecError([Problem((), f"'{where}' names no bucket.", f"Write {parts.scheme}://bucket/prefix.")])
    if parts.scheme == "cos" and not re.search(r"-\d{8,}$", bucket):
        hint = f"Write cos://{bucket}-1250000000/{prefix} with your own application id."
        raise SpecError([Problem((), f"bucket '{bucket}' lacks the account's application id.", hint)])
    return bucket, prefix
