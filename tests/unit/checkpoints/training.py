"""A training stand-in in a forked child, and a child that is stopped at a chosen file operation."""

import errno
import io
import mmap
import os
import shutil
import struct
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpuyard.node import checkpoints

# What the stand-in is at when it is killed.
PHASES = ("starting", "writing", "hashing", "manifest", "rename", "pointer", "pruning")
_STEP = struct.Struct("<q")


def save(directory: str, step: int, piece_bytes: int = 4096) -> None:
    """Write one checkpoint of three files, in small pieces."""
    folder = checkpoints.begin(directory, step)
    os.mkdir(f"{folder}/optimizer")
    for name in ("rank0.pt", "rank1.pt", "optimizer/state.pt"):
        data = f"{name} of step {step};".encode() * 400
        with open(f"{folder}/{name}", "wb", buffering=0) as file:
            for start in range(0, len(data), piece_bytes):
                file.write(data[start : start + piece_bytes])
            os.fsync(file.fileno())
    checkpoints.commit(folder, threads=1)


def forked(work: Callable[[], object]) -> int:
    """Start a child that does its work and ends; 0 is its exit code when it did all of it.

    Returns:
        Its process number.
    """
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        work()
        code = 0
    except BaseException:  # noqa: BLE001 - a child never gets back into its parent's work
        traceback.print_exc()
    finally:
        os._exit(code)


def run(work: Callable[[], object], stop: "Stop | None" = None) -> int:
    """Let a child do its work to its end, or until it is stopped; returns its exit code."""

    def child() -> None:
        if stop:
            stop.install()
        work()

    return os.waitstatus_to_exitcode(os.waitpid(forked(child), 0)[1])


class Trainer:
    """A directory, and a stand-in that writes checkpoints there until it is killed."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.directory = str(directory)
        self.announced = -1
        self._phase = mmap.mmap(-1, 1)

    def start(self) -> tuple[int, int]:
        """Start a child; returns its number, and the pipe on which it announces what it has committed."""
        heard, told = os.pipe()
        self._at("starting")
        child = forked(lambda: self._train(told))
        os.close(told)
        return child, heard

    def ended(self, heard: int) -> str:
        """Note what a killed child had announced; returns what it was at."""
        with os.fdopen(heard, "rb") as pipe:
            said = pipe.read()
        self.announced = max([self.announced, *(step for (step,) in _STEP.iter_unpack(said))])
        return PHASES[self._phase[0]]

    def _train(self, told: int) -> None:
        self._watch("_sum", "hashing")
        self._watch("prune", "pruning")
        self._watch("_set_aside", "pruning")
        whole = checkpoints._write_whole

        def write_whole(path: str, content: Any) -> None:
            self._at("pointer" if path.endswith("latest") else "manifest")
            whole(path, content)
            self._at("rename")

        checkpoints._write_whole = write_whole
        sync = os.fsync

        def slow_sync(descriptor: int) -> None:
            """A disk takes its time, and every moment is one to be killed in."""
            time.sleep(0.0005)
            sync(descriptor)

        os.fsync = slow_sync
        checkpoints._CHUNK_BYTES = 512
        newest = checkpoints.latest(self.directory)
        step = newest.step + 1 if newest else 0
        while True:
            self._at("writing")
            save(self.directory, step, piece_bytes=64)
            os.write(told, _STEP.pack(step))
            if step % 3 == 0:
                checkpoints.prune(self.directory, keep=2, abandoned_hours=0.0)
            step += 1

    def _at(self, phase: str) -> None:
        self._phase[0] = PHASES.index(phase)

    def _watch(self, name: str, phase: str) -> None:
        real = getattr(checkpoints, name)

        def watched(*arguments: Any, **more: Any) -> Any:
            self._at(phase)
            return real(*arguments, **more)

        setattr(checkpoints, name, watched)


class Stop:
    """Stops a child at its n-th operation on files.

    Args:
        number: Which operation, counted from 0.
        how: ``killed`` ends the process before it; ``halfway`` writes half of what was to be written first; ``full``
            lets it fail as on a full disk.
    """

    OPERATIONS = ("open", "mkdir", "rename", "replace", "fsync", "unlink", "rmdir", "ftruncate")
    KILLED = 9

    def __init__(self, number: int, how: str) -> None:
        self._left, self._how = number, how
        self.log: list[str] = []

    def install(self) -> None:
        """Put it between this process and its files; for a child that ends soon."""
        for name in self.OPERATIONS:
            setattr(os, name, self._guarded(name, getattr(os, name)))
        checkpoints.open = self._open  # type: ignore[attr-defined]

    def _guarded(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*arguments: Any, **more: Any) -> Any:
            self.reach(f"{name} {arguments[0]}")
            return real(*arguments, **more)

        return guarded

    def _open(self, path: str, mode: str) -> Any:
        self.reach(f"open {path}")
        return _Written(path, self) if mode == "wb" else open(path, mode)

    def reach(self, what: str, first: Callable[[], None] = lambda: None) -> None:
        self.log.append(what)
        self._left -= 1
        if self._left != -1:
            return
        if self._how == "full":
            raise OSError(errno.ENOSPC, "No space left on device", what)
        if self._how == "halfway":
            first()
        os._exit(self.KILLED)


class _Written(io.FileIO):
    def __init__(self, path: str, stop: Stop) -> None:
        super().__init__(path, "wb")
        self._stop = stop

    def write(self, data: Any) -> int:
        self._stop.reach("write", lambda: _discard(io.FileIO.write(self, data[: len(data) // 2])))
        return super().write(data)


def _discard(_: object) -> None:
    pass


def copied(base: Path) -> str:
    """A copy of a directory, for one trial."""
    trial = tempfile.mkdtemp(dir=base.parent)
    shutil.copytree(base, trial, dirs_exist_ok=True)
    return trial
