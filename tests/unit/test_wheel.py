"""The wheel brings gpuyard whole: code, data files, the recipe of the engine, and the policy rules."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # Built from a copy: a build leaves folders behind in its source.
    source = folder / "source"
    files = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    for name in filter(None, files):
        if (REPOSITORY / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((REPOSITORY / name).read_bytes())
    command = [
        Path(sys.prefix) / "bin" / "uv", "build", "--wheel", "--no-build-isolation", "--offline", "--quiet",
        "--python", sys.executable, "--out-dir", str(folder), str(source),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


def test_every_data_file_is_in_the_wheel(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    for home in ("components/gpuyard", "policies/gpuyard_policy"):
        root = REPOSITORY / home
        wanted = {
            str(path.relative_to(root.parent))
            for path in root.rglob("*")
            if path.is_file() and path.suffix != ".pyc" and "__pycache__" not in path.parts
        }
        assert wanted <= inside, sorted(wanted - inside)
    assert "gpuyard/py.typed" in inside
    assert "gpuyard/sandbox/engine_module/go.mod" in inside


def test_the_installed_wheel_knows_its_facts(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = (
        "import gpuyard.catalog as c; import gpuyard, gpuyard_policy.rules as r; "
        "print(gpuyard.__file__); print(len(c.instance_types('aws')), len(r.ALL_RULES), c.node_images('aws') != {})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    where, counts = done.stdout.splitlines()
    assert where.startswith(str(tmp_path))
    assert counts.split()[2] == "True"
    assert int(counts.split()[0]) >= 90
