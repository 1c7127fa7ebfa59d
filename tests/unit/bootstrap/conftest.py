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
# Parts that every node has.
EVERYWHERE = ["02-kernel.sh", "04-ssh.sh", "08-gpu.sh"]
# Parts of every node that has a bucket.
WITH_PROGRAMS = ["03-programs.sh", "70-watch.sh", "90-health.sh"]
# What scripts may use as it is; everything else has to have a stand-in.
REAL = (
    "base64 bash awk basename cat chmod cut date dirname env false grep head hostname install ln mkdir mktemp mv "
    "printf realpath rm sed seq sleep sort tail test timeout touch tr true uname"
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
            "GPUYARD_UNITS": str(root / "units"),
            "GPUYARD_ETC": str(root / "etc"),
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

    def mounts(self, *, works_at_try: int = 1, claims_only: bool = False) -> Path:
        """Mount, mountpoint, and a systemd that starts mount units; what is mounted is in a table.

        ``works_at_try``: how often a unit has to be started; ``claims_only``: starting succeeds and mounts nothing.
        """
        table, tries = self.root / "mounts", self.root / "tries"
        table.touch()
        self.fake("mount", f'for last; do :; done\necho "$last" >> "{table}"')
        self.fake("mountpoint", f'for last; do :; done\ngrep -qx "$last" "{table}"')
        self.fake("systemd-escape", 'for last; do :; done\nname=${last#/}\necho "${name//\\//-}.mount"')
        done = "true" if claims_only else f'sed -n "s/^Where=//p" "{self.root}/units/$2" >> "{table}"'
        started = f'echo x >> "{tries}"\n[ "$(grep -c x "{tries}")" -ge {works_at_try} ] || exit 1\n{done}'
        self.fake("systemctl", f'case "$*" in start*.mount)\n{started}\n;;\nesac')
        return table

    def unit(self) -> dict[str, str]:
        """The mount unit that was written, by key."""
        (file,) = (self.root / "units").glob("*.mount")
        return dict(line.split("=", 1) for line in file.read_text().splitlines() if "=" in line)

    def started(self) -> int:
        """How often a mount unit was started."""
        return len([call for call in self.called("systemctl") if call.startswith("start ")])

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """One script, as the node runs it."""
        return subprocess.run(
            [str(self.bin / "bash"), str(TEMPLATES / script)],
            env={"PATH": str(self.bin), "HOME": os.environ.get("HOME", "/"), **self.environment},
            capture_output=True,
            text=True,
            timeout=30,
        )

    def fetched(self) -> list[str]:
        """The addresses that curl was asked for."""
        return [word for call in self.called("curl") for word in call.split() if word.startswith("http")]

    def called(self, name: str) -> list[str]:
        """The calls of one command, without its name."""
        lines = self.calls.read_text().splitlines()
        return [line.removeprefix(name).strip() for line in lines if line.split()[0] == name]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)
