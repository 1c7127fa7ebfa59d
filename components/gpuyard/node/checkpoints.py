"""Checkpoints that are complete or not there, in a folder.

Rank 0 calls :func:`begin`. After a barrier every rank writes its files into that folder (:func:`writing` names it),
brings them to stable storage with ``os.fsync`` and closes them. After another barrier rank 0 alone calls
:func:`commit`. A kill at any point leaves what was complete before.

One process at a time writes into a directory. The lock that sees to it works as far as the mount has locks: between
nodes on Lustre with ``-o flock``, on one node on NFS with ``nolock``.
"""

import argparse
import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from gpuyard.node import checkpoint_format as form
from gpuyard.node.checkpoint_format import Checkpoint, Listed, name_of, step_of

LOCK, LOCK_WAIT_SECONDS = ".lock", 60.0
_PART, _CHUNK_BYTES = ".part", 4 << 20
# The directories that this process writes, with the number it had when it took the lock: a forked child has no lock.
_held: Dict[Tuple[int, str], int] = {}
_naming = threading.Lock()


def writing(directory: str, step: int) -> str:
    """The folder into which every rank writes this step's files."""
    return os.path.join(os.path.abspath(directory), name_of(step) + form.WRITING)


def begin(directory: str, step: int) -> str:
    """Make the empty folder for a step's files; for rank 0 alone, before a barrier.

    What an earlier attempt left of this step is removed. This process holds the directory's lock until it ends.

    Returns:
        The folder, as :func:`writing` names it.

    Raises:
        FileExistsError: The step is complete already. A complete checkpoint is never written again.
        BlockingIOError: Another process writes checkpoints there.
        FileNotFoundError: There is no such directory. It is not made: its file system may not be mounted.
    """
    folder = writing(directory, step)
    directory, name = os.path.split(folder)
    _hold(directory)
    _refuse_complete(directory, step)
    if os.path.isdir(folder):
        _destroy(_set_aside(directory, name))
    os.mkdir(folder)
    return folder


def commit(folder: str, threads: int = 8) -> Checkpoint:
    """Make a step's files a complete checkpoint and point ``latest`` to the newest; for rank 0 alone, after a barrier.

    Args:
        folder: What :func:`begin` gave. Every rank has brought its files to stable storage and closed them.
        threads: How many files are read for their checksums at a time.

    Raises:
        ValueError: There are no files, or something that is no plain file, or a file still changes.
        FileExistsError: The step is complete already.
        BlockingIOError: Another process writes checkpoints there.
    """
    folder = os.path.abspath(folder)
    directory, staged = os.path.split(folder)
    step = step_of(staged[: -len(form.WRITING)])
    if step is None or not staged.endswith(form.WRITING):
        raise ValueError(f"{folder} is no folder that begin() made")
    _hold(directory)
    files = _flushed(folder, threads)
    _write_whole(os.path.join(folder, form.MANIFEST), {"step": step, "files": files})
    with _naming:
        _refuse_complete(directory, step)
        final = os.path.join(directory, name_of(step))
        aside = _set_aside(directory, name_of(step)) if os.path.isdir(final) else ""
        os.rename(folder, final)
        _sync(directory)
        done, newest = _checkpoint(directory, step), latest(directory)
        if not done or not newest:
            raise ValueError(f"{folder} was changed while it was committed")
        pointer = {"step": newest.step, "name": newest.name, "manifest_sha256": newest.manifest_sha256}
        _write_whole(os.path.join(directory, form.POINTER), pointer)
    if aside:
        _destroy(aside)
    return done


def complete(directory: str) -> List[Checkpoint]:
    """The complete checkpoints of a directory by step: manifest, every file, every size. Checksums are not read."""
    found = (_checkpoint(directory, step) for step in _steps(directory))
    return [one for one in found if one]


def latest(directory: str) -> Optional[Checkpoint]:
    """The newest complete checkpoint, or None. The file ``latest`` is for others: it may be torn or stale.

    Raises:
        OSError: The directory or a checkpoint cannot be read. That is not the same as nothing there.
    """
    found, before, steps = None, None, _steps(directory)
    # One may be committed, and an older one removed, while these are looked at.
    while steps != before:
        found = next(filter(None, (_checkpoint(directory, step) for step in reversed(steps))), None)
        before, steps = steps, _steps(directory)
    return found


def verify(folder: str, deep: bool = False, threads: int = 8) -> List[str]:
    """What is wrong with one checkpoint; nothing when it is as it was committed. A deep look reads every file."""
    step = step_of(os.path.basename(os.path.abspath(folder)))
    if step is None:
        return [f"it is not named as a checkpoint, such as {name_of(1200)}"]
    try:
        files = form.read_manifest(_read(os.path.join(folder, form.MANIFEST)), step)
    except OSError as error:
        return [f"{form.MANIFEST} cannot be read: {error.strerror}"]
    except ValueError as error:
        return [str(error)]
    sizes = _sizes(folder)
    found = form.torn(files, sizes)

    def wrong(path: str) -> str:
        try:
            return "" if _sum(os.path.join(folder, path)) == files[path] else f"{path} has another checksum"
        except (OSError, ValueError) as error:
            return f"{path} cannot be read: {error}"

    if deep:
        with ThreadPoolExecutor(threads) as pool:
            whole = [path for path in sorted(files) if sizes.get(path) == files[path].bytes]
            found += filter(None, pool.map(wrong, whole))
    return found + form.unlisted(files, sizes)


def prune(
    directory: str,
    keep: int,
    keep_every: int = 0,
    older_than_days: float = 0.0,
    abandoned_hours: float = 24.0,
    apply: bool = True,
) -> List[str]:
    """Remove old checkpoints, and what was left unfinished and untouched for some hours.

    The newest complete one stays, the one that ``latest`` names, and a torn one that is newer. Each folder is renamed
    before it is removed, so that no half of it ever looks whole.

    Args:
        directory: Folder of the checkpoints.
        keep: How many of the newest complete ones stay, at least 1.
        keep_every: Steps that are a multiple of it stay; 0 for none.
        older_than_days: Only complete ones older than this are removed.
        abandoned_hours: After how many hours without a write an unfinished one is abandoned.
        apply: False to change nothing and only to tell.

    Returns:
        Names of the folders that are removed.
    """
    form.check_pruning(keep, keep_every, older_than_days, abandoned_hours)
    now, whole = time.time(), complete(directory)
    old = form.removable(whole, _named(directory), keep, keep_every, older_than_days, now)
    gone, newest = [one.name for one in old], whole[-1].step if whole else None
    for name in sorted(set(folders(directory)) - {one.name for one in whole}):
        known = step_of(name) is not None or form.is_unfinished_name(name)
        if known and form.is_abandoned(name, touched(os.path.join(directory, name)), newest, abandoned_hours, now):
            gone.append(name)
    for name in gone if apply else []:
        remove(directory, name)
    return gone


def remove(directory: str, name: str) -> None:
    """Remove a folder: rename it first, so that what a killed removal leaves of it looks like nothing else."""
    # Another process may remove the same.
    with contextlib.suppress(FileNotFoundError):
        _destroy(_set_aside(directory, name))


def folders(directory: str) -> List[str]:
    """Names of the folders in a directory, without links to others."""
    with os.scandir(directory) as entries:
        return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]


def tree(folder: str, inner: str = "") -> Iterator[Tuple[str, "os.DirEntry[str]"]]:
    """What a checkpoint's folder holds, by path below it, without the manifest."""
    with os.scandir(os.path.join(folder, inner)) as entries:
        for entry in entries:
            path = inner + entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from tree(folder, path + "/")
            elif path not in (form.MANIFEST, form.MANIFEST + _PART):
                yield path, entry


def touched(folder: str) -> float:
    """When something in a folder was last written, in seconds since 1970."""
    try:
        inside = [entry.stat(follow_symlinks=False).st_mtime for _, entry in tree(folder)]
        return max([os.stat(folder).st_mtime, *inside])
    except FileNotFoundError:
        # What comes and goes is touched now.
        return time.time()


def main(argv: Sequence[str]) -> int:
    """``python3 -m gpuyard.node checkpoint latest|verify|prune DIR``.

    Returns:
        0; 1 when nothing complete is there or a checkpoint has problems; 2 for bad input; 3 when it cannot be told.
    """
    parser = argparse.ArgumentParser("checkpoint")
    verbs = parser.add_subparsers(dest="verb", metavar="latest|verify|prune")
    verbs.required = True
    newest, wrong, gone = (verbs.add_parser(verb) for verb in ("latest", "verify", "prune"))
    for one, say in ((newest, _say_latest), (wrong, _say_wrong), (gone, _say_gone)):
        one.set_defaults(say=say)
        one.add_argument("directory")
    wrong.add_argument("name", nargs="?")
    wrong.add_argument("--deep", action="store_true")
    gone.add_argument("--keep", type=int, required=True)
    gone.add_argument("--keep-every", type=int, default=0)
    gone.add_argument("--older-than-days", type=float, default=0.0)
    gone.add_argument("--abandoned-hours", type=float, default=24.0)
    gone.add_argument("--apply", action="store_true")
    asked = vars(parser.parse_args(argv))
    del asked["verb"]
    try:
        return asked.pop("say")(**asked)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.strerror}: {error.filename}", file=sys.stderr)
        return 3


def _say_latest(directory: str) -> int:
    newest = latest(directory)
    print(newest.path if newest else "nothing complete in " + directory, file=sys.stdout if newest else sys.stderr)
    return 0 if newest else 1


def _say_wrong(directory: str, name: Optional[str], deep: bool) -> int:
    names = [name] if name else [name_of(step) for step in _steps(directory)]
    found = [f"{one}: {problem}" for one in names for problem in verify(os.path.join(directory, one), deep)]
    print("\n".join(found or [f"{len(names)} good" if names else "nothing in " + directory]))
    return 1 if found or not names else 0


def _say_gone(directory: str, apply: bool, **how: Any) -> int:
    gone = prune(directory, apply=apply, **how)
    print("\n".join([*gone, f"{len(gone)} {'removed' if apply else 'would be removed with --apply'}"]))
    return 0


def _checkpoint(directory: str, step: int) -> Optional[Checkpoint]:
    """A step's checkpoint when it is complete; OSError when that cannot be told."""
    path = os.path.join(directory, name_of(step))
    manifest = os.path.join(path, form.MANIFEST)
    try:
        return form.judged(step, path, _read(manifest), _sizes(path), os.stat(manifest).st_mtime)[0]
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def _refuse_complete(directory: str, step: int) -> None:
    done = _checkpoint(directory, step)
    if done:
        raise FileExistsError(errno.EEXIST, "this step is complete already", done.path)


def _named(directory: str) -> Optional[str]:
    """The checkpoint that ``latest`` names, be it there or not."""
    try:
        return form.read_pointer(_read(os.path.join(directory, form.POINTER)))[0]
    except (ValueError, FileNotFoundError, IsADirectoryError):
        return None


def _steps(directory: str) -> List[int]:
    """The steps that have a folder, torn ones too, in order."""
    return sorted(step for step in map(step_of, folders(directory)) if step is not None)


def _sizes(folder: str) -> Dict[str, int]:
    plain = ((path, entry) for path, entry in tree(folder) if entry.is_file(follow_symlinks=False))
    return {path: entry.stat(follow_symlinks=False).st_size for path, entry in plain}


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(form.MANIFEST_BYTES_MAX + 1)


def _sum(path: str, flush: bool = False) -> Listed:
    """Size and checksum of a file; ValueError when it changes meanwhile."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        if flush:
            os.fsync(file.fileno())
        before = os.fstat(file.fileno())
        for chunk in iter(lambda: file.read(_CHUNK_BYTES), b""):
            digest.update(chunk)
        after = os.fstat(file.fileno())
    if (before.st_size, before.st_mtime) != (after.st_size, after.st_mtime):
        raise ValueError(f"{path} is still written")
    return Listed(after.st_size, digest.hexdigest())


def _flushed(folder: str, threads: int) -> Dict[str, Any]:
    """The files of a folder as its manifest lists them; they and their names are on stable storage."""
    found = dict(tree(folder))
    strange = [path for path in found if not found[path].is_file(follow_symlinks=False) or not form.is_plain_path(path)]
    if strange or not found:
        raise ValueError(f"{folder}: {strange[0]!r} is no plain file" if strange else f"{folder} has no files")

    def listed(path: str) -> Tuple[str, Any]:
        return path, _sum(os.path.join(folder, path), flush=True)._asdict()

    with ThreadPoolExecutor(threads) as pool:
        files = dict(pool.map(listed, sorted(found)))
    for inner in sorted({path[:end] for path in found for end, letter in enumerate(path) if letter == "/"}):
        _sync(os.path.join(folder, inner))
    return files


def _write_whole(path: str, content: Dict[str, Any]) -> None:
    """Write a document so that a reader finds the old one or the new one, also after a power cut."""
    with open(path + _PART, "wb") as file:
        file.write(form.document(content))
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + _PART, path)
    _sync(os.path.dirname(path))


def _sync(folder: str) -> None:
    """Bring the names in a folder to stable storage."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _set_aside(directory: str, name: str) -> str:
    if name.endswith(form.REMOVING):
        return os.path.join(directory, name)
    aside = tempfile.mkdtemp(form.REMOVING, name + ".", directory)
    os.rename(os.path.join(directory, name), aside)
    _sync(directory)
    return aside


def _destroy(folder: str) -> None:
    while os.path.isdir(folder):
        # Another process may remove the same.
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(folder)


def _hold(directory: str) -> None:
    """Take the directory's lock for as long as this process lives."""
    if (os.getpid(), directory) in _held:
        return
    path = os.path.join(directory, LOCK)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    end = time.monotonic() + LOCK_WAIT_SECONDS
    while True:
        try:
            # No child inherits a lock of this kind: a data loader that outlives its trainer does not keep it.
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                os.close(descriptor)
                what = f"it takes no lock ({error.strerror}); mount Lustre with -o flock"
                raise OSError(error.errno, what, path) from None
        if time.monotonic() > end:
            holder = os.read(descriptor, 100).decode(errors="replace").strip()
            os.close(descriptor)
            raise BlockingIOError(errno.EAGAIN, f"another process writes checkpoints here: {holder}", directory)
        time.sleep(0.05)
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    _held[os.getpid(), directory] = descriptor
