"""Checkpoints below a prefix of a bucket; what S3, OSS and COS have in common."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpuyard.checkpoints.store import Contents, StoreError
from gpuyard.node.checkpoint_format import MANIFEST

CHUNK_BYTES = 1 << 20
# Each of the three clouds deletes at most so many objects with one request.
DELETE_MAX = 1000
RESUMES_MAX = 3


class NoObjectError(StoreError):
    """There is no such object."""


class BrokenError(StoreError):
    """A download broke off."""


@dataclass(frozen=True, slots=True)
class Listed:
    """An object of a listing; a folder in between has no time."""

    key: str
    bytes: int = 0
    written: float | None = None


class ObjectStore(ABC):
    """A prefix of a bucket.

    Old versions and uploads in parts that were never finished are the business of the bucket's lifecycle rules.

    Args:
        where: Its URI.
        bucket: Name of the bucket.
        prefix: What the keys begin with; empty for the whole bucket.
    """

    def __init__(self, where: str, bucket: str, prefix: str) -> None:
        self.where = where
        self.bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""

    @abstractmethod
    def _list(self, prefix: str, delimiter: str) -> Iterator[Listed]:
        """All objects below a prefix, over all pages; with a delimiter also the folders directly below it."""

    @abstractmethod
    def _open(self, key: str, start: int) -> Iterator[bytes]:
        """An object from a byte on; NoObjectError when there is none."""

    @abstractmethod
    def _delete(self, keys: Sequence[str]) -> None:
        """Delete at most :data:`DELETE_MAX` objects; StoreError when one of them was not deleted."""

    def folders(self) -> list[str]:
        """Names of the folders directly below the prefix."""
        found = self._list(self._prefix, "/")
        return [one.key[len(self._prefix) : -1] for one in found if one.written is None]

    def contents(self, name: str) -> Contents:
        """What is there of one checkpoint."""
        below = f"{self._prefix}{name}/"
        objects = {one.key[len(below) :]: one for one in self._list(below, "")}
        manifest = objects.pop(MANIFEST, None)
        times = [one.written or 0.0 for one in (*objects.values(), *([manifest] if manifest else []))]
        # An object whose name ends in a slash stands for a folder.
        sizes = {path: one.bytes for path, one in objects.items() if path and not path.endswith("/")}
        return Contents(sizes, manifest.written if manifest else None, max(times, default=0.0))

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """The beginning of an object; None when there is none."""
        found = bytearray()
        try:
            for chunk in self.chunks(path):
                found += chunk
                if len(found) >= most_bytes:
                    break
        except NoObjectError:
            return None
        return bytes(found[:most_bytes])

    def chunks(self, path: str) -> Iterator[bytes]:
        """A whole object, piece by piece. A connection that breaks is taken up again where it broke."""
        done, left = 0, RESUMES_MAX
        while True:
            try:
                for chunk in self._open(self._prefix + path, done):
                    yield chunk
                    done, left = done + len(chunk), RESUMES_MAX
            except BrokenError:
                left -= 1
                if left < 0:
                    raise
            else:
                return

    def remove(self, name: str) -> None:
        """Delete one checkpoint, its manifest first, so that what is left of it never looks whole."""
        below = f"{self._prefix}{name}/"
        keys = [one.key for one in self._list(below, "")]
        manifest = below + MANIFEST
        if manifest in keys:
            keys.remove(manifest)
            self._delete([manifest])
        for start in range(0, len(keys), DELETE_MAX):
            self._delete(keys[start : start + DELETE_MAX])
