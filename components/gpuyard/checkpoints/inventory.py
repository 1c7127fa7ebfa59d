"""What is there: the newest complete checkpoint, what is wrong with others, and what can go."""

import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event

from gpuyard.checkpoints.store import Contents, Store
from gpuyard.node.checkpoint_format import (
    MANIFEST,
    MANIFEST_BYTES_MAX,
    POINTER,
    Checkpoint,
    Listed,
    check_pruning,
    is_abandoned,
    is_unfinished_name,
    judged,
    name_of,
    read_manifest,
    read_pointer,
    removable,
    step_of,
    unlisted,
)
from gpuyard.spec.problems import Problem, SpecError, did_you_mean

FILES_AT_A_TIME = 8


@dataclass(frozen=True, slots=True)
class Answer:
    """The newest complete checkpoint, if there is one, and what else is worth knowing."""

    checkpoint: Checkpoint | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Removal:
    """What can go, why, and how much it holds; ``bytes`` counts what is there, not what a manifest lists."""

    name: str
    bytes: int
    reason: str


@dataclass(frozen=True, slots=True)
class Pruning:
    """What can go, the oldest first, and what stays."""

    removals: tuple[Removal, ...]
    kept: tuple[str, ...]

    @property
    def bytes(self) -> int:
        """How much all of it holds."""
        return sum(one.bytes for one in self.removals)


@dataclass(frozen=True, slots=True)
class _Seen:
    """One checkpoint as it lies there."""

    name: str
    contents: Contents
    checkpoint: Checkpoint | None
    problems: tuple[str, ...]
    files: Mapping[str, Listed]


def latest(store: Store) -> Answer:
    """The newest complete checkpoint: its manifest and every file with its size. Checksums are not read.

    Args:
        store: Where to look.

    Returns:
        The checkpoint. The file ``latest`` does not decide; where it is missing, stale or wrong, a note says so.

    Raises:
        OSError: It cannot be told.
    """
    found, before = None, None
    notes: list[str] = []
    steps = _steps(store)
    # One may be committed, and an older one removed, while these are looked at.
    while steps != before:
        found, notes = None, []
        for step in reversed(steps):
            seen = _look(store, name_of(step))
            found = seen.checkpoint
            if found:
                break
            notes.append(f"{seen.name} is not complete: {seen.problems[0]}.")
        before, steps = steps, _steps(store)
    wrong = _pointer_problem(store, found) if found else ""
    return Answer(found, (*notes, *([wrong] if wrong else [])))


def verify(store: Store, name: str | None = None, deep: bool = False) -> dict[str, list[str]]:
    """What is wrong with checkpoints.

    Args:
        store: Where they lie.
        name: One of them; all when left out.
        deep: Read every file and compare its checksum too. That reads every byte over the network.

    Returns:
        Problems of each checkpoint by its name, oldest first; none for one that is as it was committed.

    Raises:
        SpecError: There is none of that name.
        OSError: It cannot be told.
    """
    names = [name_of(step) for step in _steps(store)]
    if name is not None and name not in names:
        raise SpecError([Problem((), f"there is no checkpoint '{name}' in {store.where}.", did_you_mean(name, names))])
    return {one: _problems(store, one, deep) for one in ([name] if name is not None else names)}


def plan_pruning(
    store: Store, keep: int, keep_every: int, older_than_days: float, abandoned_hours: float, now: float
) -> Pruning:
    """What can go; nothing is removed.

    Args:
        store: Where the checkpoints lie.
        keep: How many of the newest complete ones stay, at least 1.
        keep_every: Steps that are a multiple of it stay; 0 for none.
        older_than_days: Only complete ones older than this go.
        abandoned_hours: After how many hours without a write a torn one goes, when a newer one is complete.
        now: The time in seconds since 1970.

    Returns:
        Never the newest complete one, nor the one that ``latest`` names.

    Raises:
        OSError: It cannot be told.
    """
    check_pruning(keep, keep_every, older_than_days, abandoned_hours)
    names = [name for name in store.folders() if step_of(name) is not None or is_unfinished_name(name)]
    seen = {name: _look(store, name) for name in sorted(names, key=_by_step)}
    whole = [one.checkpoint for one in seen.values() if one.checkpoint]
    try:
        named = read_pointer(store.read(POINTER, MANIFEST_BYTES_MAX + 1) or b"")[0]
    except ValueError:
        named = None
    old = {one.name for one in removable(whole, named, keep, keep_every, older_than_days, now)}
    newest = whole[-1].step if whole else None
    removals: list[Removal] = []
    for name, one in seen.items():
        if name in old:
            reason = f"complete, and not among the newest {keep}"
        elif not one.checkpoint and is_abandoned(name, one.contents.touched, newest, abandoned_hours, now):
            reason = "never finished" if step_of(name) is None else f"not complete: {one.problems[0]}"
        else:
            continue
        removals.append(Removal(name, sum(one.contents.sizes.values()), reason))
    gone = {one.name for one in removals}
    return Pruning(tuple(removals), tuple(name for name in seen if name not in gone))


def _by_step(name: str) -> tuple[int, str]:
    return step_of(name.split(".")[0]) or 0, name


def _steps(store: Store) -> list[int]:
    return sorted(step for step in map(step_of, store.folders()) if step is not None)


def _look(store: Store, name: str) -> _Seen:
    contents = store.contents(name)
    step = step_of(name)
    raw = store.read(f"{name}/{MANIFEST}", MANIFEST_BYTES_MAX + 1) if step is not None else None
    if step is None or raw is None or contents.manifest_written is None:
        return _Seen(name, contents, None, (f"{MANIFEST} is missing",), {})
    where = f"{store.where.rstrip('/')}/{name}"
    checkpoint, problems = judged(step, where, raw, dict(contents.sizes), contents.manifest_written)
    try:
        files = read_manifest(raw, step)
    except ValueError:
        files = {}
    return _Seen(name, contents, checkpoint, tuple(problems), files)


def _problems(store: Store, name: str, deep: bool) -> list[str]:
    seen = _look(store, name)
    if not seen.files:
        return list(seen.problems)

    stopped = Event()

    def wrong(path: str) -> str:
        digest = hashlib.sha256()
        try:
            for chunk in store.chunks(f"{name}/{path}"):
                digest.update(chunk)
                if stopped.is_set():
                    break
        except OSError as error:
            return f"{path} cannot be read: {error}"
        return "" if digest.hexdigest() == seen.files[path].sha256 else f"{path} has another checksum"

    found, sizes = list(seen.problems), dict(seen.contents.sizes)
    if deep:
        whole = [path for path, listed in sorted(seen.files.items()) if sizes.get(path) == listed.bytes]
        with ThreadPoolExecutor(FILES_AT_A_TIME) as pool:
            try:
                found += filter(None, pool.map(wrong, whole))
            except KeyboardInterrupt:
                # Otherwise the end of files of many GiB would be waited for.
                stopped.set()
                raise
    return found + unlisted(dict(seen.files), sizes)


def _pointer_problem(store: Store, newest: Checkpoint) -> str:
    """Why ``latest`` does not name the newest complete checkpoint; nothing when it does."""
    raw = store.read(POINTER, MANIFEST_BYTES_MAX + 1)
    if raw is None:
        return f"there is no '{POINTER}'; this is the newest with a whole manifest."
    try:
        name, digest = read_pointer(raw)
    except ValueError as error:
        return f"{error}; this is the newest with a whole manifest."
    if name != newest.name:
        return f"'{POINTER}' names {name}, and this is the newest complete one."
    if digest != newest.manifest_sha256:
        return f"'{POINTER}' holds another checksum of {name}'s manifest: it was written anew."
    return ""
