"""The files that ``gpuyard init`` writes: all of them, or none."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from gpuyard.cli.writing import write_whole
from gpuyard.sandbox.workspace import read_project
from gpuyard.spec.problems import Problem, SpecError

_STACKS = "stacks"
# What a folder may hold and still be empty: what tools and the person's editor keep there.
_NO_CONTENT = re.compile(r"\..*|README(\..*)?|LICENSE(\..*)?|venv", flags=re.IGNORECASE)
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")
_SETTINGS = """\
name: {name}
description: GPU clusters, described in stacks/
main: infra
stackConfigDir: stacks
# Pulumi's own CLI uses the Python on PATH: activate the environment that gpuyard is installed in.
runtime: python
"""
_PROGRAM = '''\
"""The program behind ``pulumi up``: read the stack's cluster description, build it, export what others need."""

import pulumi

from gpuyard import TrainingCluster
from gpuyard.stack_config import read_cluster

cluster = TrainingCluster(pulumi.get_stack(), read_cluster())

for key, value in cluster.summary().items():
    pulumi.export(key, value)
'''
_IGNORED = """\
.sandbox/
.venv/
__pycache__/
"""


def stack_folder(root: Path) -> tuple[Path, dict[Path, str]]:
    """Where stack files of a folder's project are.

    Args:
        root: The project's folder, or an empty one.

    Returns:
        The folder, and the files of a project that has to be written first: none where there is one.

    Raises:
        SpecError: The folder holds other things and no project, or its ``Pulumi.yaml`` cannot be used.
    """
    if (root / "Pulumi.yaml").exists():
        # As it was named, not as it is resolved: people read it.
        return root / str(read_project(root).settings.get("stackConfigDir", ".")), {}
    if not root.is_dir():
        raise SpecError([Problem(("--project",), f"there is no folder '{root}'.", "Make it, or name another.")])
    content = sorted(path.name for path in root.iterdir() if not _NO_CONTENT.fullmatch(path.name))
    if content:
        message = f"'{root}' holds no Pulumi project, but other things, such as '{content[0]}'."
        raise SpecError([Problem(("--project",), message, "Run it in a project's folder, or in an empty one.")])
    name = _NOT_IN_NAMES.sub("-", root.resolve().name).strip("-")[:100] or "gpu-clusters"
    files = {
        root / "Pulumi.yaml": _SETTINGS.format(name=name),
        root / "infra" / "__main__.py": _PROGRAM,
        root / ".gitignore": _IGNORED,
    }
    return root / _STACKS, {path: text for path, text in files.items() if not path.exists()}


def write_all(files: Mapping[Path, str]) -> None:
    """Write files and the folders around them; what was new is removed again when one of them fails.

    Args:
        files: Text by path. A file that exists is written over, and keeps its new content whatever happens later.

    Raises:
        OSError: One of them cannot be written.
    """
    made: list[Path] = []
    try:
        for path, text in files.items():
            for folder in _missing_folders(path):
                folder.mkdir()
                made.append(folder)
            if not path.exists():
                made.append(path)
            write_whole(path, text)
    except BaseException:
        _remove(reversed(made))
        raise


def _missing_folders(path: Path) -> list[Path]:
    return [folder for folder in reversed(path.parents) if not folder.exists()]


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
