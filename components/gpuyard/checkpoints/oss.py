"""Checkpoints in OSS of Alibaba Cloud, through its SDK for Python of the second generation."""

import logging
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpuyard.checkpoints.objects import CHUNK_BYTES, BrokenError, Listed, NoObjectError, ObjectStore
from gpuyard.checkpoints.store import StoreError, sdk

LOOKED_FOR = (
    "OSS_ACCESS_KEY_ID and OSS_ACCESS_KEY_SECRET, ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET, an "
    "OIDC role, the profiles of the aliyun command and of ~/.alibabacloud, the instance's RAM role"
)


class OssStore(ObjectStore):
    """A prefix of a bucket in OSS.

    Args:
        where: Its URI.
        bucket: Name of the bucket.
        prefix: What the keys begin with.
        endpoint: Another address of the service.
        region: The bucket's region, such as ``cn-hangzhou``; requests are signed for it.
        internal: Use the region's internal endpoint, which costs no traffic and is reached from machines of the same
            region only (https://www.alibabacloud.com/help/en/oss/user-guide/regions-and-endpoints).
    """

    def __init__(self, where: str, bucket: str, prefix: str, endpoint: str | None, region: str, internal: bool) -> None:
        super().__init__(where, bucket, prefix)
        self._oss, self._errors = sdk("alibabacloud_oss_v2", "oss"), sdk("alibabacloud_oss_v2.exceptions", "oss")
        self._broken = sdk("requests", "oss").RequestException
        config = self._oss.config.load_default()
        config.region, config.endpoint, config.use_internal_endpoint = region, endpoint, internal
        config.credentials_provider = _credentials(self._oss, where)
        self._client = self._oss.Client(config)

    def _list(self, prefix: str, delimiter: str) -> Iterator[Listed]:
        asked = self._oss.ListObjectsV2Request(bucket=self.bucket, prefix=prefix, delimiter=delimiter or None)
        with self._told():
            for page in self._client.list_objects_v2_paginator(limit=1000).iter_page(asked):
                yield from (Listed(one.prefix) for one in page.common_prefixes or ())
                for one in page.contents or ():
                    yield Listed(one.key, one.size, one.last_modified.timestamp())

    def _open(self, key: str, start: int) -> Iterator[bytes]:
        asked = self._oss.GetObjectRequest(bucket=self.bucket, key=key)
        if start:
            # Without the second header a range that cannot be given is answered with the whole object.
            asked.range_header, asked.range_behavior = f"bytes={start}-", "standard"
        with self._told(), self._client.get_object(asked).body as body:
            yield from body.iter_bytes(block_size=CHUNK_BYTES)

    def _delete(self, keys: Sequence[str]) -> None:
        delete = self._oss.Delete(objects=[self._oss.ObjectIdentifier(key=key) for key in keys], quiet=False)
        asked = self._oss.DeleteMultipleObjectsRequest(bucket=self.bucket, delete=delete)
        with self._told():
            gone: set[str] = {one.key for one in self._client.delete_multiple_objects(asked).deleted_objects or ()}
        left = [key for key in keys if key not in gone]
        if left:
            raise StoreError(f"{self.where}: {len(left)} not deleted, such as {left[0]}")

    @contextmanager
    def _told(self) -> Generator[None]:
        """Say in plain words what the SDK raises."""
        try:
            yield
        except self._errors.BaseError as error:
            raise self._plain(error) from None
        except self._broken as error:
            raise BrokenError(f"{self.where}: {error}") from None

    def _plain(self, error: Any) -> StoreError:
        while isinstance(error, self._errors.BaseError) and getattr(error, "unwrap", None) and error.unwrap():
            error = error.unwrap()
        code = getattr(error, "code", None)
        if code == "NoSuchKey":
            return NoObjectError(f"{self.where}: an object is not there")
        return StoreError(f"{self.where}: {code}: {error.message}" if code else f"{self.where}: {error}")


def _credentials(oss: Any, where: str) -> Any:
    """The SDK's own variables, else the chain that all of Alibaba Cloud's SDKs share."""
    try:
        return oss.credentials.EnvironmentVariableCredentialsProvider()
    except oss.exceptions.CredentialsEmptyError:
        pass
    chain = sdk("alibabacloud_credentials.provider.default", "oss").DefaultCredentialsProvider()
    # It writes a traceback for each place where there are none, which is how most of them answer.
    logging.getLogger("credentials").setLevel(logging.CRITICAL)

    def fetch() -> Any:
        try:
            found = chain.get_credentials()
        except Exception as error:  # noqa: BLE001 - each provider of the chain raises what it likes
            raise StoreError(f"{where}: no Alibaba Cloud credentials. Looked for: {LOOKED_FOR}. {error}") from None
        return oss.credentials.Credentials(
            found.get_access_key_id(), found.get_access_key_secret(), found.get_security_token()
        )

    # Asked once before the SDK does, which would try again and again.
    fetch()
    return oss.credentials.CredentialsProviderFunc(fetch)
