"""A place of checkpoints, as far as the rest needs to know it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol


class StoreError(OSError):
    """A place cannot be reached or read; never the same as nothing there."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What is there of one checkpoint.

    Attributes:
        sizes: Its files without the manifest, by their path below it, in bytes.
        manifest_written: When the manifest was written, in seconds since 1970; None when there is none.
        touched: When something of it was last written, in seconds since 1970.
    """

    sizes: Mapping[str, int]
    manifest_written: float | None
    touched: float


class Store(Protocol):
    """A folder, or a prefix of a bucket, below which checkpoints lie. Paths are relative to it, with ``/`` between.

    Attributes:
        where: How people name it: a path or a URI.
    """

    where: str

    def folders(self) -> list[str]:
        """Names of what lies directly below and has something below itself."""
        ...

    def contents(self, name: str) -> Contents:
        """What is there of one checkpoint; nothing when it has just gone."""
        ...

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """The beginning of a file; None when there is no such file."""
        ...

    def chunks(self, path: str) -> Iterator[bytes]:
        """A whole file, piece by piece."""
        ...

    def remove(self, name: str) -> None:
        """Remove one checkpoint so that, killed at any point, what is left does not look whole."""
        ...


def sdk(module: str, extra: str) -> Any:
    """A cloud's own library, imported when it is first used.

    Args:
        module: Its module.
        extra: The extra of gpuyard that installs it.

    Raises:
        StoreError: It is not installed; the message says how to install it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise StoreError(f"{error.name} is not installed. Install it: pip install 'gpuyard[{extra}]'") from None
