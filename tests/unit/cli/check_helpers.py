"""Running ``gpuyard check`` in a test."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """Its output as JSON."""
        return json.loads(self.out)


def check(*arguments: str, cwd: Path, **environment: str) -> Done:
    """Run the command in a process of its own, as people do."""
    command = [sys.executable, "-m", "gpuyard.cli.main", "check", *arguments]
    env = {**os.environ, "COLUMNS": "200", **environment}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=300)
    return Done(done.returncode, done.stdout, done.stderr)


def git(folder: Path, *arguments: str) -> None:
    """Run git in a folder, as nobody in particular."""
    names = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)
