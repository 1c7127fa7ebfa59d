"""Where in a project's files a resource was asked for: a line of the stack file, else of the program."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlparse

from gpuyard.spec.problems import Path as KeyPath
from gpuyard.spec.stack_file import StackFile
from gpuyard_policy.sources.model import Place
from gpuyard_policy.sources.monitor import Asked

CLUSTER = "gpuyard:index:TrainingCluster"
# The part of a cluster description that each component is built from.
_PARTS = {
    "gpuyard:index:ClusterNetwork": "network",
    "gpuyard:index:ParallelFileSystem": "file_system",
    "gpuyard:index:CheckpointStore": "checkpoints",
    "gpuyard:index:SnapshotPolicy": "snapshots",
    "gpuyard:index:GpuMonitoring": "monitoring",
}
_POOL = "gpuyard:index:GpuNodePool"
_INSTALLED = ("site-packages", "dist-packages")


def places_of(asked: Mapping[str, Asked], program: Path, file: StackFile | None, shown_in: Path) -> Mapping[str, Place]:
    """The place of every resource that has one.

    Args:
        asked: What the program asked for, by URN.
        program: Folder of the program.
        file: The stack's file, where there is one.
        shown_in: Folder to which the files are named.

    Returns:
        Places by URN: in the stack file where a cluster description made the resource, else the line of the program
        that called for it.
    """
    found: dict[str, Place] = {}
    for urn, one in asked.items():
        place = _in_stack_file(one, asked, file) or _in_program(one, program, shown_in)
        if place is not None:
            found[urn] = place
    return found


def shown(path: Path, folder: Path) -> str:
    """A file as people name it from a folder: below it without the folder, elsewhere in full."""
    try:
        return path.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        return str(path)


def _in_stack_file(one: Asked, asked: Mapping[str, Asked], file: StackFile | None) -> Place | None:
    if file is None or file.cluster is None:
        return None
    part: KeyPath = ()
    at: Asked | None = one
    while at is not None and at.record.type != CLUSTER:
        part = _part_of(at, file.cluster) or part
        at = asked.get(at.parent)
    line = None if at is None else file.line_of(part)
    return None if line is None else Place(file.shown_as, line)


def _part_of(one: Asked, cluster: Any) -> KeyPath:
    if one.record.type == _POOL and isinstance(cluster, dict):
        pools: Any = cast(dict[str, Any], cluster).get("node_pools")
        names = [str(name) for name in cast(dict[str, Any], pools)] if isinstance(pools, dict) else []
        fitting = [name for name in names if one.record.name.endswith(f"-{name}")]
        return ("node_pools", max(fitting, key=len)) if fitting else ()
    key = _PARTS.get(one.record.type)
    return () if key is None else (key,)


def _in_program(one: Asked, program: Path, shown_in: Path) -> Place | None:
    for uri, line in one.frames:
        path = Path(unquote(urlparse(uri).path))
        if path.is_relative_to(program) and not any(part in _INSTALLED for part in path.parts):
            return Place(shown(path, shown_in), line)
    return None
