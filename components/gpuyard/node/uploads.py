"""A complete checkpoint's way to object storage, by the command of each cloud."""

import hashlib
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, Tuple

from gpuyard.node import commands, settings
from gpuyard.node.checkpoint_format import Checkpoint, document, read_manifest, torn


class UploadError(Exception):
    """A checkpoint is not in object storage, and why."""


def upload(checkpoint: Checkpoint, uri: str, left: Callable[[], float]) -> str:
    """Copy a complete checkpoint to object storage: its files, then its manifest, then ``latest``.

    Nothing is sent when the bucket's ``latest`` names this checkpoint, and neither manifest nor ``latest`` when one
    file could not be sent. ``latest`` never goes back to a lower step.

    Args:
        checkpoint: As ``gpuyard.node.checkpoints.latest`` gives it.
        uri: The folder above, such as ``s3://bucket/checkpoints``.
        left: Tells how many seconds are left.

    Returns:
        What was done.

    Raises:
        UploadError: It is torn, or the bucket holds another one of this step.
        gpuyard.node.commands.CommandError: Something could not be sent.
        gpuyard.node.metadata.MetadataError: The node's role cannot be learned.
    """
    with open(checkpoint.manifest_path, "rb") as file:
        raw = file.read()
    files = read_manifest(raw, checkpoint.step)
    problems = torn(files, {name: _size(checkpoint.path, name) for name in files})
    if problems:
        raise UploadError(f"{checkpoint.name} is torn: {problems[0]}")
    uri, digest = uri.rstrip("/"), hashlib.sha256(raw).hexdigest()
    step, known = _known(f"{uri}/latest", left)
    if (step, known) == (checkpoint.step, digest):
        return f"{checkpoint.name} is there already"
    if step == checkpoint.step:
        raise UploadError(f"{uri} has another checkpoint of step {step}, which is not written over")
    with ThreadPoolExecutor(max(int(settings.number("UPLOADS", 8)), 1)) as pool:
        waiting = [
            pool.submit(_send, os.path.join(checkpoint.path, name), f"{uri}/{checkpoint.name}/{name}", left)
            for name in sorted(files)
        ]
        try:
            for one in waiting:
                one.result()
        except Exception:
            for one in waiting:
                one.cancel()
            raise
    _write(raw, f"{uri}/{checkpoint.name}/manifest.json", left)
    if step > checkpoint.step:
        return f"{checkpoint.name}, {len(files)} files; latest stays at step {step}"
    pointer = {"step": checkpoint.step, "name": checkpoint.name, "manifest_sha256": digest}
    _write(document(pointer), f"{uri}/latest", left)
    return f"{checkpoint.name}, {len(files)} files"


def _known(there: str, left: Callable[[], float]) -> Tuple[int, str]:
    """Step and manifest's checksum of the checkpoint that the bucket's ``latest`` names, -1 when it names none."""
    words = settings.cloud_module().show_words(there)
    try:
        text = commands.run(words, min(left(), 15), settings.run_path("upload", ""))
        # One of the commands adds how long it took.
        found: Dict[str, Any] = json.JSONDecoder().raw_decode(text.lstrip())[0]
        return int(found["step"]), str(found["manifest_sha256"])
    except (commands.CommandError, ValueError, KeyError, TypeError):
        return -1, ""


def _write(content: bytes, there: str, left: Callable[[], float]) -> None:
    here = settings.run_path("upload", os.path.basename(there))
    with open(here, "wb") as file:
        file.write(content)
    _send(here, there, left)


def _send(here: str, there: str, left: Callable[[], float]) -> None:
    began = time.monotonic()
    commands.run(settings.cloud_module().copy_words(here, there), left(), settings.run_path("upload", ""))
    settings.log(f"sent {there} in {time.monotonic() - began:.1f} s")


def _size(folder: str, name: str) -> int:
    """Bytes of a plain file inside the checkpoint, -1 for anything else: a link could lead to what is not its job's."""
    path = os.path.join(folder, name)
    is_inside = os.path.realpath(path) == os.path.join(os.path.realpath(folder), name)
    return os.path.getsize(path) if is_inside and os.path.isfile(path) else -1
