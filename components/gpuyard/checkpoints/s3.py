"""Checkpoints in S3, through boto3."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpuyard.checkpoints.objects import CHUNK_BYTES, BrokenError, Listed, NoObjectError, ObjectStore
from gpuyard.checkpoints.store import StoreError, sdk

LOOKED_FOR = (
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, the shared credentials and config files, a web identity "
    "token, the container's role, the instance's role"
)


class S3Store(ObjectStore):
    """A prefix of a bucket in S3.

    Args:
        where: Its URI.
        bucket: Name of the bucket.
        prefix: What the keys begin with.
        endpoint: Another address of the service, such as that of an interface endpoint.
        region: The bucket's region; boto3 finds it out otherwise.
    """

    def __init__(self, where: str, bucket: str, prefix: str, endpoint: str | None, region: str | None) -> None:
        super().__init__(where, bucket, prefix)
        boto3, config, self._errors = sdk("boto3", "s3"), sdk("botocore.config", "s3"), sdk("botocore.exceptions", "s3")
        retries = {"mode": "standard", "max_attempts": 5}
        with self._told():
            self._client = boto3.client(
                "s3", region_name=region, endpoint_url=endpoint, config=config.Config(retries=retries)
            )

    def _list(self, prefix: str, delimiter: str) -> Iterator[Listed]:
        pages = self._client.get_paginator("list_objects_v2")
        with self._told():
            for page in pages.paginate(Bucket=self.bucket, Prefix=prefix, Delimiter=delimiter):
                yield from (Listed(one["Prefix"]) for one in page.get("CommonPrefixes", ()))
                for one in page.get("Contents", ()):
                    yield Listed(one["Key"], one["Size"], one["LastModified"].timestamp())

    def _open(self, key: str, start: int) -> Iterator[bytes]:
        with self._told():
            asked = {"Range": f"bytes={start}-"} if start else {}
            body = self._client.get_object(Bucket=self.bucket, Key=key, **asked)["Body"]
            try:
                yield from body.iter_chunks(CHUNK_BYTES)
            finally:
                body.close()

    def _delete(self, keys: Sequence[str]) -> None:
        objects = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
        with self._told():
            failed: list[Any] = self._client.delete_objects(Bucket=self.bucket, Delete=objects).get("Errors", [])
        if failed:
            first = failed[0]
            raise StoreError(f"{self.where}: {len(failed)} not deleted, such as {first['Key']}: {first.get('Message')}")

    @contextmanager
    def _told(self) -> Generator[None]:
        """Say in plain words what the SDK raises."""
        try:
            yield
        except self._errors.NoCredentialsError:
            raise StoreError(f"{self.where}: no AWS credentials. Looked for: {LOOKED_FOR}.") from None
        except self._errors.ClientError as error:
            said: dict[str, str] = error.response.get("Error", {})
            if said.get("Code") == "NoSuchKey":
                raise NoObjectError(f"{self.where}: {said.get('Key', 'an object')} is not there") from None
            raise StoreError(f"{self.where}: {said.get('Code')}: {said.get('Message')}") from None
        except (self._errors.IncompleteReadError, self._errors.ResponseStreamingError) as error:
            raise BrokenError(f"{self.where}: {error}") from None
        except (self._errors.BotoCoreError, self._errors.HTTPClientError) as error:
            raise StoreError(f"{self.where}: {error}") from None
