"""Writing a file as a whole: it is there with all its content, or as it was before."""

import os
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a text file; whoever reads it meanwhile sees the old content or the new, never a part.

    Args:
        path: The file. Through a link the file itself is written, not the link.
        text: Its content.

    Raises:
        OSError: It cannot be written; what was there before is untouched.
    """
    path = path.resolve()
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()
