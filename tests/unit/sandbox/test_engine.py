"""Finding an engine: which way is taken, and what is said when none works. The engines here are scripts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuyard.sandbox.engine import VERSION, EngineMissingError, find_engine

PULUMI = "#!/bin/sh\necho v{version}\n"
# Stands for the Go tool: answers its version, and 'builds' an engine that answers the version it was linked with.
GO = """#!/bin/sh
if [ "$1" = env ]; then echo {go}; exit 0; fi
echo built >> "{log}"
sleep 0.5
while [ "$1" != -o ]; do [ "$1" = -ldflags ] && linked="${{2##*=}}"; shift; done
[ -f go.mod ] && [ -f go.sum ] || exit 9
mkdir -p "$(dirname "$2")"
printf '#!/bin/sh\\necho %s\\n' "$linked" > "$2"
chmod +x "$2"
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, str]]:
    """A machine's environment: what is on PATH, an empty cache, and a network that refuses."""
    monkeypatch.setenv("GPUYARD_CACHE", str(tmp_path / "cache"))

    def make(**programs: str) -> dict[str, str]:
        folder = tmp_path / "path"
        folder.mkdir(exist_ok=True)
        for name, text in programs.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        refused = "http://127.0.0.1:9"
        return {
            "PATH": f"{folder}:/bin:/usr/bin" if "go" in programs or "pulumi" in programs else str(folder),
            "HOME": str(tmp_path),
            "HTTPS_PROXY": refused,
            "https_proxy": refused,
            "GPUYARD_CACHE": str(tmp_path / "cache"),
        }

    return make


def go(tmp_path: Path, version: str = "go1.26.1") -> str:
    return GO.format(go=version, log=tmp_path / "log")


def test_path_comes_first(machine: Callable[..., dict[str, str]], tmp_path: Path) -> None:
    environment = machine(pulumi=PULUMI.format(version="3.300.1"))
    found = find_engine(pytest.fail, environment=environment)
    assert (found.path, found.version, found.origin) == (tmp_path / "path" / "pulumi", "3.300.1", "PATH")


def test_an_engine_named_outright_is_taken_or_refused(machine: Callable[..., dict[str, str]], tmp_path: Path) -> None:
    environment = machine(mine=PULUMI.format(version="3.280.0"))
    environment["GPUYARD_PULUMI"] = str(tmp_path / "path" / "mine")
    assert find_engine(pytest.fail, environment=environment).version == "3.280.0"
    environment["GPUYARD_PULUMI"] = str(tmp_path / "nothing")
    with pytest.raises(EngineMissingError, match=r"\$GPUYARD_PULUMI names no engine that can be used: .*cannot be run"):
        find_engine(pytest.fail, environment=environment)


def test_without_pulumi_and_internet_it_is_built_once_and_then_kept(
    machine: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    environment = machine(go=go(tmp_path))
    said: list[str] = []
    built = find_engine(said.append, environment=environment)
    assert (built.version, built.origin) == (VERSION, "Go module")
    assert built.path == tmp_path / "cache" / "engine" / f"v{VERSION}" / "bin" / "pulumi"
    assert any("official installer" in line for line in said)
    assert any("about 6 minutes" in line for line in said)
    again = find_engine(pytest.fail, environment=environment)
    assert (again.path, again.origin) == (built.path, "cache")
    assert (tmp_path / "log").read_text() == "built\n"


def test_two_runs_at_once_build_it_once(machine: Callable[..., dict[str, str]], tmp_path: Path) -> None:
    environment = {**os.environ, **machine(go=go(tmp_path))}
    code = "from gpuyard.sandbox.engine import find_engine; print(find_engine(print).path)"
    runs = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    paths = {run.communicate(timeout=60)[0].splitlines()[-1] for run in runs}
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert len(paths) == 1
    assert (tmp_path / "log").read_text() == "built\n"


def test_an_old_go_and_a_broken_build_are_said(machine: Callable[..., dict[str, str]], tmp_path: Path) -> None:
    with pytest.raises(EngineMissingError, match=r"Go module: Go 1.21 is too old, 1.26 is needed"):
        find_engine(lambda line: None, environment=machine(go=go(tmp_path, "go1.21.3")))
    broken = "#!/bin/sh\n[ \"$1\" = env ] && echo go1.26.0 && exit 0\necho 'no such module' >&2\nexit 1\n"
    with pytest.raises(EngineMissingError, match="Go module: no such module"):
        find_engine(lambda line: None, environment=machine(go=broken))
    assert not (tmp_path / "cache" / "engine" / f"v{VERSION}").exists(), (
        "a failed build leaves nothing that looks like one"
    )


def test_an_engine_that_may_not_be_got_is_missing_at_once(
    machine: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    with pytest.raises(EngineMissingError, match="Any one of these is enough"):
        find_engine(pytest.fail, environment=machine(go=go(tmp_path)), get=False)
