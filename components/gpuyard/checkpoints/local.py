"""Checkpoints in a folder."""

from collections.abc import Iterator
from pathlib import Path

from gpuyard.checkpoints.store import Contents
from gpuyard.node import checkpoints
from gpuyard.node.checkpoint_format import MANIFEST

_CHUNK_BYTES = 4 << 20


class LocalStore:
    """A folder on this machine or on a file system that it has mounted.

    Args:
        directory: The folder.
    """

    def __init__(self, directory: Path) -> None:
        self.where = str(directory)
        self._directory = directory.resolve()

    def folders(self) -> list[str]:
        """Names of the folders in it; OSError when it cannot be read."""
        return checkpoints.folders(str(self._directory))

    def contents(self, name: str) -> Contents:
        """What is there of one checkpoint. Links and the like count as not there."""
        folder = self._directory / name
        try:
            files = [
                (path, entry) for path, entry in checkpoints.tree(str(folder)) if entry.is_file(follow_symlinks=False)
            ]
            sizes = {path: entry.stat(follow_symlinks=False).st_size for path, entry in files}
        except FileNotFoundError:
            sizes = {}
        try:
            written = (folder / MANIFEST).stat().st_mtime
        except FileNotFoundError:
            written = None
        return Contents(sizes, written, checkpoints.touched(str(folder)))

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """The beginning of a file; None when there is no such file."""
        try:
            with (self._directory / path).open("rb") as file:
                return file.read(most_bytes)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def chunks(self, path: str) -> Iterator[bytes]:
        """A whole file, piece by piece."""
        with (self._directory / path).open("rb") as file:
            yield from iter(lambda: file.read(_CHUNK_BYTES), b"")

    def remove(self, name: str) -> None:
        """Rename a checkpoint's folder, then remove it."""
        checkpoints.remove(str(self._directory), name)
