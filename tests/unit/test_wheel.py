"""The distribution: wheel and sdist bring gpuyard whole, and an empty environment of each Python can use it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from email.parser import Parser
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
UV = Path(sys.prefix) / "bin" / "uv"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
VERSIONS = ("3.11", "3.12", "3.13")
LAB = ("--scenario", "lora", "--cloud", "aws", "--zone", "us-east-1a", "--parameters", "7e9")


def run(*command: str | Path, **settings: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **settings)


def build(source: Path, folder: Path, *kinds: str) -> None:
    done = run(
        UV, "build", *kinds, "--no-build-isolation", "--offline", "--quiet", "--python", sys.executable,
        "--out-dir", folder, source,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel that is built from it, as `python -m build` does it."""
    folder = tmp_path_factory.mktemp("built")
    # Built from a copy: a build leaves folders behind in its source.
    source = folder / "source"
    files = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=REPOSITORY).stdout
    for name in filter(None, files.split("\0")):
        if (REPOSITORY / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((REPOSITORY / name).read_bytes())
    build(source, folder, "--wheel")
    build(source, folder, "--sdist")
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


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
    for name in ("gpuyard/py.typed", "gpuyard_policy/py.typed", "gpuyard/sandbox/engine_module/go.mod"):
        assert name in inside
    assert not [name for name in inside if name.startswith(("tests/", "docs/", "stacks/"))]


def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    name = next(name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".dist-info/METADATA"))
    said = Parser().parsestr(zipfile.ZipFile(wheel).read(name).decode())
    assert said["Version"] == PROJECT["version"]
    assert said["License-Expression"] == "Apache-2.0"
    assert said["Requires-Python"] == ">=3.11"
    classifiers = said.get_all("Classifier", [])
    assert {f"Programming Language :: Python :: {version}" for version in VERSIONS} <= set(classifiers)
    assert "Typing :: Typed" in classifiers
    assert {"aws", "alicloud", "tencentcloud", "all"} <= set(said.get_all("Provides-Extra"))


def test_the_sdist_brings_the_plugin_the_policy_pack_and_the_schemas(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    plugin = ("components/PulumiPlugin.yaml", "components/__main__.py", "components/schema.json")
    pack = ("policies/PulumiPolicy.yaml", "policies/__main__.py")
    assert {*plugin, *pack, "schemas/stack.schema.json", "CHANGELOG.md", "LICENSE", "README.md"} <= names


def test_the_sdist_makes_the_same_wheel(built: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    build(source, tmp_path, "--wheel")

    def content(path: Path) -> dict[str, bytes]:
        opened = zipfile.ZipFile(path)
        return {name: opened.read(name) for name in opened.namelist() if not name.endswith("/RECORD")}

    assert content(next(tmp_path.glob("*.whl"))) == content(wheel)


def interpreter(version: str) -> str | None:
    """A Python of that version on this machine: the running one, one that uv finds, or one of pyenv's."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    found = run(UV, "python", "find", "--offline", "--no-python-downloads", "--no-project", version, cwd="/")
    if found.returncode == 0:
        return found.stdout.strip()
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return next((str(path) for path in sorted(pyenv.glob(f"{version}.*/bin/python"))), None)


# Those of this machine; .github/workflows/test.yml runs all tests on every version.
HERE = {version: path for version in VERSIONS if (path := interpreter(version))}


@pytest.fixture
def empty(tmp_path: Path, wheel: Path) -> Callable[[str], Path]:
    """Install the wheel and what it needs for AWS into an empty environment; gives its folder of programs."""

    def make(python: str) -> Path:
        folder = tmp_path / "environment"
        assert run(UV, "venv", "--quiet", "--python", python, folder).returncode == 0
        # The releases of the lock file; from the cache that `make setup` has filled, else from where that had them.
        pins = tmp_path / "pins.txt"
        pins.write_text(
            "".join(line.rstrip(" \\\n") + "\n" for line in (REPOSITORY / "requirements.lock").open() if "==" in line)
        )
        line = [UV, "pip", "install", "--quiet", "--python", folder, "--constraint", pins, f"{wheel}[aws]"]
        done = run(*line, "--offline")
        done = done if done.returncode == 0 else run(*line)
        assert done.returncode == 0, done.stderr
        return folder / "bin"

    return make


@pytest.mark.parametrize("version", sorted(HERE))
def test_the_wheel_works_in_an_empty_environment(version: str, empty: Callable[[str], Path], tmp_path: Path) -> None:
    programs = empty(HERE[version])
    consistent = run(UV, "pip", "check", "--python", programs / "python")
    assert consistent.returncode == 0, consistent.stderr

    project = tmp_path / "project"
    project.mkdir()
    outside = {"PATH": os.pathsep.join((str(programs), "/usr/bin", "/bin")), "HOME": str(tmp_path), "COLUMNS": "100"}

    def gpuyard(*words: str) -> subprocess.CompletedProcess[str]:
        return run(programs / "gpuyard", *words, cwd=project, env=outside)

    assert gpuyard("--version").stdout == f"gpuyard {PROJECT['version']}\n"
    assert "p5.48xlarge" in gpuyard("catalog", "list", "--cloud", "aws", "--gpu", "H100").stdout
    made = gpuyard(
        "init", "lab", *["--scenario", "lora", "--cloud", "aws", "--zone", "us-east-1a", "--parameters", "7e9", "--yes"]
    )
    assert made.returncode == 0, made.stderr
    checked = gpuyard("check", "lab")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "0 findings in 1 stack" in checked.stdout
    schema = run(programs / "python", "-m", "gpuyard.provider", cwd=project, env=outside)
    assert len(json.loads(schema.stdout)["resources"]) == 7, schema.stderr
    code = "import gpuyard.bootstrap, gpuyard_policy.rules as r; print(gpuyard.__file__, len(r.ALL_RULES))"
    where, rules = run(programs / "python", "-c", code, cwd=project, env=outside).stdout.split()
    assert Path(where).is_relative_to(programs.parent)
    assert int(rules) >= 56


def test_this_machine_has_the_python_that_the_others_are_compared_with() -> None:
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in HERE
    assert shutil.which("git")
