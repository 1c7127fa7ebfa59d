"""Scripts run for real in bash, with stand-ins for the commands that would touch the machine."""

import os
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

TEMPLATES = Path(str(files("gpuyard.bootstrap") / "templates"))
# Read by scripts, not run.
LIBRARY = TEMPLATES / "lib.sh"
# What scripts may use as it is; everything else has to have a stand-in.
REAL = (
    "bash awk basename cat chmod cut date dirname env false grep head hostname mkdir mktemp mv printf realpath rm "
    "sed seq sleep sort tail test timeout touch tr true uname"
)


class Machine:
    """A folder of commands, the log of their calls, and the environment of the scripts."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bin = root / "bin"
        self.bin.mkdir()
        self.calls = root / "calls"
        self.calls.touch()
        self.environment: dict[str, str] = {
            "GPUYARD_PAUSE": "0",
            "GPUYARD_ENV": str(root / "node.env"),
            "GPUYARD_LIB": str(LIBRARY),
        }
        (root / "node.env").touch()
        for name in REAL.split():
            found = shutil.which(name)
            assert found, name
            (self.bin / name).symlink_to(found)

    def fake(self, name: str, body: str = "exit 0") -> None:
        """A command that notes its call and does what its body says."""
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f'#!{self.bin}/bash\necho "{name} $*" >> "{self.calls}"\n{body}\n')
        path.chmod(0o755)

    def env(self, **values: str) -> None:
        """What the node's file says."""
        (self.root / "node.env").write_text("".join(f"{key}={value}\n" for key, value in values.items()))

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """One script, as the node runs it."""
        return subprocess.run(
            [str(self.bin / "bash"), str(TEMPLATES / script)],
            env={"PATH": str(self.bin), "HOME": os.environ.get("HOME", "/"), **self.environment},
            capture_output=True,
            text=True,
            timeout=30,
        )

    def called(self, name: str) -> list[str]:
        """The calls of one command, without its name."""
        lines = self.calls.read_text().splitlines()
        return [line.removeprefix(name).strip() for line in lines if line.split()[0] == name]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)
