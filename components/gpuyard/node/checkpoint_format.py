"""What makes a checkpoint: names, manifest, ``latest``, what is kept; the same for folders and object storage."""

import hashlib
import json
import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, cast

FORMAT = 1
MANIFEST, POINTER = "manifest.json", "latest"
WRITING, REMOVING = ".writing", ".removing"
MANIFEST_BYTES_MAX = 64 << 20


class Checkpoint(NamedTuple):
    """A complete checkpoint; ``written`` is when its manifest was, in seconds since 1970."""

    step: int
    name: str
    path: str
    manifest_path: str
    manifest_sha256: str
    files: int
    bytes: int
    written: float


class Listed(NamedTuple):
    """A file as a manifest lists it."""

    bytes: int
    sha256: str


def name_of(step: int) -> str:
    """The name of a step's checkpoint, such as ``step-00001200``; ValueError for what is no step."""
    if type(step) is not int or not 0 <= step < 10**18:
        raise ValueError(f"{step!r} is no step: a whole number from 0")
    return f"step-{step:08d}"


def step_of(name: str) -> Optional[int]:
    """The step that a checkpoint's name holds, or None when it is no such name."""
    found = re.match(r"step-([0-9]{8,18})\Z", name)
    return int(found.group(1)) if found and name_of(int(found.group(1))) == name else None


def is_unfinished_name(name: str) -> bool:
    """Whether a folder is a step's that is being written or removed."""
    return name.endswith((WRITING, REMOVING)) and step_of(name.split(".")[0]) is not None


def is_plain_path(path: str) -> bool:
    """Whether a path stays inside its folder and has a name that every object storage takes."""
    return path.isprintable() and not {"", ".", ".."} & set(path.split("/"))


def document(content: Dict[str, Any]) -> bytes:
    """A manifest or ``latest`` as it is written."""
    return json.dumps(dict(content, format=FORMAT), indent=1, sort_keys=True).encode()


def read_manifest(raw: bytes, step: int) -> Dict[str, Listed]:
    """The files that a manifest lists, by their path below the checkpoint; ValueError says what is wrong with it."""
    manifest = _read(raw, MANIFEST)
    if manifest.get("step") != step:
        raise ValueError(f"{MANIFEST} is of step {manifest.get('step')!r}, not {step}")
    files = manifest.get("files")
    if not isinstance(files, dict) or not files:
        raise ValueError(f"{MANIFEST} lists no files")
    found: Dict[str, Listed] = {}
    for path, entry in cast(Dict[str, Any], files).items():
        entry = cast(Dict[str, Any], entry if isinstance(entry, dict) else {})
        size, digest = entry.get("bytes"), str(entry.get("sha256"))
        if not is_plain_path(path):
            raise ValueError(f"{MANIFEST} lists {path!r}, which is no plain path inside the checkpoint")
        if type(size) is not int or size < 0 or not re.match(r"[0-9a-f]{64}\Z", digest):
            raise ValueError(f"{MANIFEST} lists {path} without a size and a checksum")
        found[path] = Listed(size, digest)
    return found


def read_pointer(raw: bytes) -> Tuple[str, str]:
    """Name and manifest's checksum of what ``latest`` points to; ValueError says what is wrong with it."""
    pointer = _read(raw, POINTER)
    name = str(pointer.get("name"))
    if step_of(name) is None or step_of(name) != pointer.get("step"):
        raise ValueError(f"{POINTER} names no checkpoint")
    return name, str(pointer.get("manifest_sha256"))


def torn(files: Dict[str, Listed], sizes: Dict[str, int]) -> List[str]:
    """Why the files that are there, with their sizes, are not all that a manifest lists; nothing when they are."""
    found: List[str] = []
    for path, listed in sorted(files.items()):
        if path not in sizes:
            found.append(f"{path} is missing")
        elif sizes[path] != listed.bytes:
            found.append(f"{path} has {sizes[path]} bytes, not {listed.bytes}")
    return found


def unlisted(files: Dict[str, Listed], sizes: Dict[str, int]) -> List[str]:
    """Files that the manifest does not list, as problems. They do not make a checkpoint torn."""
    return [f"{path} is not in {MANIFEST}" for path in sorted(set(sizes) - set(files))]


def judged(
    step: int, path: str, raw: bytes, sizes: Dict[str, int], written: float
) -> Tuple[Optional[Checkpoint], List[str]]:
    """A checkpoint when it is complete, and what is wrong when it is not.

    Args:
        step: The step of its name.
        path: Where it is: a folder or a URI.
        raw: Its manifest.
        sizes: Its other files with their sizes in bytes.
        written: When its manifest was written, in seconds since 1970.
    """
    try:
        files = read_manifest(raw, step)
    except ValueError as error:
        return None, [str(error)]
    problems = torn(files, sizes)
    if problems:
        return None, problems
    size, digest = sum(one.bytes for one in files.values()), hashlib.sha256(raw).hexdigest()
    return Checkpoint(step, name_of(step), path, f"{path}/{MANIFEST}", digest, len(files), size, written), []


def check_pruning(keep: int, keep_every: int, older_than_days: float, abandoned_hours: float) -> None:
    """ValueError when a pruning makes no sense."""
    if keep < 1 or min(keep_every, older_than_days, abandoned_hours) < 0:
        raise ValueError("at least 1 checkpoint is kept; steps, days and hours are not negative")


def removable(
    whole: Sequence[Checkpoint], named: Optional[str], keep: int, keep_every: int, older_than_days: float, now: float
) -> List[Checkpoint]:
    """Which of the complete checkpoints are not kept.

    Args:
        whole: The complete checkpoints by step.
        named: The one that ``latest`` names; it is kept.
        keep: How many of the newest are kept, at least 1.
        keep_every: Steps that are a multiple of it are kept; 0 for none.
        older_than_days: Younger ones are kept.
        now: The time in seconds since 1970.
    """
    old = [one for one in whole[:-keep] if one.name != named and now - one.written >= older_than_days * 86400]
    return [one for one in old if not keep_every or one.step % keep_every]


def is_abandoned(name: str, touched: float, newest: Optional[int], hours: float, now: float) -> bool:
    """Whether an unfinished or torn checkpoint can go.

    Args:
        name: Its name.
        touched: When something in it was last written, in seconds since 1970.
        newest: The newest complete step. Torn ones from there on stay: they may still be arriving.
        hours: After how many hours without a write it is abandoned.
        now: The time in seconds since 1970.
    """
    step = step_of(name)
    if step is not None and (newest is None or step >= newest):
        return False
    return name.endswith(REMOVING) or now - touched >= hours * 3600


def _read(raw: bytes, what: str) -> Dict[str, Any]:
    if len(raw) > MANIFEST_BYTES_MAX:
        raise ValueError(f"{what} is longer than {MANIFEST_BYTES_MAX >> 20} MiB")
    try:
        found: Any = json.loads(raw.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{what} is not valid JSON: {error}") from None
    if not isinstance(found, dict) or cast(Dict[str, Any], found).get("format") != FORMAT:
        raise ValueError(f"{what} is not of format {FORMAT}")
    return cast(Dict[str, Any], found)
