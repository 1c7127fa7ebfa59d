"""Checkpoints in COS of Tencent Cloud, through its SDK for Python."""

import logging
import socket
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from gpuyard.checkpoints.objects import CHUNK_BYTES, BrokenError, Listed, NoObjectError, ObjectStore
from gpuyard.checkpoints.store import StoreError, sdk

METADATA_SECONDS = 5.0
LOOKED_FOR = (
    "TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY, ~/.tencentcloud/credentials, /etc/tencentcloud/credentials, "
    "the instance's role, a role of TKE"
)


class CosStore(ObjectStore):
    """A prefix of a bucket in COS.

    A machine of the same region reaches a bucket's ordinary domain by the internal network, so there is no endpoint to
    choose (https://cloud.tencent.com/document/product/436/31315).

    Args:
        where: Its URI.
        bucket: Name of the bucket with the account's application id: ``name-1250000000``.
        prefix: What the keys begin with.
        endpoint: Another address of the service; the bucket's name is put before it.
        region: The bucket's region, such as ``ap-guangzhou``.
    """

    def __init__(self, where: str, bucket: str, prefix: str, endpoint: str | None, region: str) -> None:
        super().__init__(where, bucket, prefix)
        cos, self._errors = sdk("qcloud_cos", "cos"), sdk("qcloud_cos.cos_exception", "cos")
        self._broken = sdk("urllib3.exceptions", "cos").HTTPError
        # The SDK logs what it raises as well.
        logging.getLogger("qcloud_cos").setLevel(logging.CRITICAL)
        self._chain = _credentials(where)
        scheme, _, host = (endpoint or "").rpartition("://")
        id_, key, token = self._chain.get_credential_info()
        self._config = cos.CosConfig(
            Region=region, SecretId=id_, SecretKey=key, Token=token, Scheme=scheme or "https", Endpoint=host or None
        )
        self._client = cos.CosS3Client(self._config)

    def _list(self, prefix: str, delimiter: str) -> Iterator[Listed]:
        marker = ""
        while True:
            with self._signed():
                page = self._client.list_objects(self.bucket, Prefix=prefix, Delimiter=delimiter, Marker=marker)
            yield from (Listed(one["Prefix"]) for one in page.get("CommonPrefixes", ()))
            for one in page.get("Contents", ()):
                yield Listed(one["Key"], int(one["Size"]), datetime.fromisoformat(one["LastModified"]).timestamp())
            if page.get("IsTruncated") != "true":
                return
            marker = page["NextMarker"]

    def _open(self, key: str, start: int) -> Iterator[bytes]:
        asked = {"Range": f"bytes={start}-"} if start else {}
        with self._signed():
            body = self._client.get_object(self.bucket, key, **asked)["Body"].get_raw_stream()
            try:
                yield from iter(lambda: body.read(CHUNK_BYTES), b"")
            finally:
                body.close()

    def _delete(self, keys: Sequence[str]) -> None:
        objects = {"Object": [{"Key": key} for key in keys], "Quiet": "true"}
        with self._signed():
            failed = self._client.delete_objects(self.bucket, objects).get("Error", [])
        if failed:
            first = failed[0]
            raise StoreError(f"{self.where}: {len(failed)} not deleted, such as {first['Key']}: {first.get('Message')}")

    @contextmanager
    def _signed(self) -> Generator[None]:
        """Sign with credentials that are still good, and say in plain words what the SDK raises."""
        id_, key, token = self._chain.get_credential_info()
        if token:
            # Given an object that renews its credentials, the SDK would leave out their token.
            self._config.set_credential(id_, key, token)
        try:
            yield
        except self._errors.CosServiceError as error:
            if error.get_error_code() == "NoSuchKey":
                raise NoObjectError(f"{self.where}: an object is not there") from None
            code = error.get_error_code()
            said = error.get_origin_msg() if code == "Unknown" else error.get_error_msg()
            raise StoreError(f"{self.where}: HTTP {error.get_status_code()} {code}: {said}") from None
        except self._broken as error:
            raise BrokenError(f"{self.where}: {error}") from None
        except self._errors.CosClientError as error:
            raise StoreError(f"{self.where}: {error}") from None


def _credentials(where: str) -> Any:
    """The chain that all of Tencent Cloud's SDKs share."""
    chain = sdk("tencentcloud.common.credential", "cos").DefaultCredentialProvider()
    # The chain asks the metadata service without a limit of its own, also where there is none.
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(METADATA_SECONDS)
    try:
        return chain.get_credential()
    except Exception as error:  # noqa: BLE001 - each provider of the chain raises what it likes
        raise StoreError(f"{where}: no Tencent Cloud credentials. Looked for: {LOOKED_FOR}. {error}") from None
    finally:
        socket.setdefaulttimeout(before)
