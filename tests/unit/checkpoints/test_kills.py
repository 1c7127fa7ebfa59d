"""A kill at any point loses no complete checkpoint, and shows no half one."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from .kill_trials import TRIALS

# A killed process leaves the same in memory, and there thousands of syncs take no time.
MEMORY = Path("/dev/shm")
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", [trial.__name__ for trial in TRIALS])
def test_killed(name: str, tmp_path: Path) -> None:
    """Each trial's docstring says what it promises."""
    with TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else tmp_path) as folder:
        words = [sys.executable, "-m", "tests.unit.checkpoints.kill_trials", name, folder]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
