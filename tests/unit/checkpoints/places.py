"""The same checkpoints in a folder, S3, OSS and COS."""

import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from gpuyard.checkpoints.places import open_store
from gpuyard.checkpoints.store import Store

from .object_server import ObjectServer, Stored

HOUR, DAY = 3600.0, 86400.0


class Place(Protocol):
    """Somewhere checkpoints can be put, and how to reach it."""

    where: str
    options: dict[str, str]

    def put(self, path: str, data: bytes, age: float = 0.0) -> None: ...

    def drop(self, path: str) -> None: ...

    def paths(self) -> set[str]: ...


class Folder:
    def __init__(self, folder: Path) -> None:
        self.where, self.options, self._folder = str(folder), {}, folder

    def put(self, path: str, data: bytes, age: float = 0.0) -> None:
        file = self._folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        when = time.time() - age
        for one in (file, *file.parents[: len(Path(path).parts) - 1]):
            os.utime(one, (when, when))

    def drop(self, path: str) -> None:
        times = (self._folder / path).parent.stat()
        (self._folder / path).unlink()
        os.utime((self._folder / path).parent, (times.st_atime, times.st_mtime))

    def paths(self) -> set[str]:
        return {str(path.relative_to(self._folder)) for path in self._folder.rglob("*") if path.is_file()}


class S3:
    """Of moto, in this process. What a test puts there goes by the shortest way, for speed."""

    where, options = "s3://ck-bucket/run 1/ü", {"region": "us-east-1"}

    def __init__(self, backend: Any) -> None:
        self._backend, self._prefix = backend, "run 1/ü/"

    def put(self, path: str, data: bytes, age: float = 0.0) -> None:
        key = self._backend.put_object("ck-bucket", self._prefix + path, data)
        key.last_modified = datetime.fromtimestamp(time.time() - age, UTC)

    def drop(self, path: str) -> None:
        self._backend.delete_object("ck-bucket", self._prefix + path)

    def paths(self) -> set[str]:
        return {key.removeprefix(self._prefix) for key in self._backend.buckets["ck-bucket"].keys}


class Objects:
    """OSS or COS on loopback."""

    def __init__(self, server: ObjectServer, scheme: str, region: str) -> None:
        self.server, self._prefix = server, "run 1/ü/"
        self.where = f"{scheme}://{server.bucket}/run 1/ü"
        self.options = {"region": region, "endpoint": f"http://{scheme}-{region}.test:{server.server_port}"}

    def put(self, path: str, data: bytes, age: float = 0.0) -> None:
        self.server.objects[self._prefix + path] = Stored(data, time.time() - age)

    def drop(self, path: str) -> None:
        del self.server.objects[self._prefix + path]

    def paths(self) -> set[str]:
        return {key.removeprefix(self._prefix) for key in self.server.objects}


def opened(place: Place) -> Store:
    return open_store(place.where, **place.options)


def put_complete(place: Place, step: int, age: float = 0.0, point: bool = False, **files: bytes) -> str:
    """Write a whole checkpoint as a node uploads it: files, manifest, then ``latest``."""
    name = f"step-{step:08d}"
    files = files or {"rank0.pt": b"weights of %d" % step * 10, "opt/rank 0.pt": b"moments of %d" % step}
    for path, data in files.items():
        place.put(f"{name}/{path}", data, age)
    manifest = manifest_of(step, files)
    place.put(f"{name}/manifest.json", manifest, age)
    if point:
        put_pointer(place, step, manifest)
    return name


def manifest_of(step: int, files: dict[str, bytes]) -> bytes:
    listed = {path: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for path, data in files.items()}
    return json.dumps({"format": 1, "step": step, "files": listed}).encode()


def put_pointer(place: Place, step: int, manifest: bytes) -> None:
    pointer = {
        "format": 1,
        "step": step,
        "name": f"step-{step:08d}",
        "manifest_sha256": hashlib.sha256(manifest).hexdigest(),
    }
    place.put("latest", json.dumps(pointer).encode())


@contextmanager
def running(server: ObjectServer) -> Iterator[ObjectServer]:
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
