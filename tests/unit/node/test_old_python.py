"""The node's programs run with the Python that old images bring."""

import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from gpuyard.bootstrap.files import template

FOLDER = Path(str(files("gpuyard.node")))
# The command itself may be a stand-in of pyenv that has none to run.
OLDEST = next(Path.home().glob(".pyenv/versions/3.6.*/bin/python"), None) or shutil.which("python3.6")


def test_no_module_needs_more_than_python_3_6() -> None:
    vermin = subprocess.run(
        [
            str(Path(sys.executable).parent / "vermin"),
            "-t=3.6-",
            "--no-tips",
            "--eval-annotations",
            "--violations",
            str(FOLDER),
        ],
        capture_output=True,
        text=True,
    )
    assert vermin.returncode == 0, vermin.stdout


@pytest.mark.skipif(OLDEST is None, reason="no Python 3.6 here")
def test_every_module_is_imported_by_python_3_6(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "gpuyard/node", ignore=shutil.ignore_patterns("__pycache__"))
    modules = sorted(f"gpuyard.node.{path.stem}" for path in FOLDER.glob("*.py"))
    done = subprocess.run(
        [str(OLDEST), "-W", "error", "-c", f"import {', '.join(modules)}"],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_the_watchers_unit_starts_it_for_ever(tmp_path: Path) -> None:
    unit = tmp_path / "gpuyard-watcher.service"
    unit.write_text(template("watcher.service"))
    lines = unit.read_text().splitlines()
    for line in (
        "Environment=PYTHONPATH=/opt/gpuyard/python",
        "ExecStart=/usr/bin/python3 -m gpuyard.node watch",
        "Restart=always",
        "StartLimitIntervalSec=0",
        "KillMode=process",
    ):
        assert line in lines
    if shutil.which("systemd-analyze"):
        done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
        assert unit.name not in done.stderr, done.stderr
