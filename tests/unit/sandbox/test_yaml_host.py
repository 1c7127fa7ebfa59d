"""Finding what runs programs in YAML, and what the engine is told of their projects. The hosts here are scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuyard.sandbox.engine import Engine, EngineMissingError
from gpuyard.sandbox.project import read_project
from gpuyard.sandbox.workspace import Workspace
from gpuyard.sandbox.yaml_host import YAML_HOST, find_yaml_host
from gpuyard.spec import SpecError

# Stands for the Go tool, which is asked for its version and then to build.
GO = """#!/bin/sh
if [ "$1" = env ]; then echo go1.26.1; exit 0; fi
echo "$@" >> "{log}"
[ -f go.mod ] && [ -f language_yaml.mod ] && [ -f language_yaml.sum ] || exit 9
while [ "$1" != -o ]; do shift; done
mkdir -p "$(dirname "$2")"
echo host > "$2"
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine that came without language hosts, on a machine with nothing on PATH and nothing kept."""
    monkeypatch.setenv("GPUYARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    (tmp_path / "path").mkdir()
    (tmp_path / "engine").mkdir()
    return Engine(tmp_path / "engine" / "pulumi", "3.274.1", "cache")


def executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def with_go(tmp_path: Path) -> None:
    executable(tmp_path / "path" / "go", GO.format(log=tmp_path / "log"))
    for name in ("mkdir", "dirname", "sh"):
        (tmp_path / "path" / name).symlink_to(f"/bin/{name}")


def test_the_one_that_came_with_the_engine_comes_first(engine: Engine, tmp_path: Path):
    on_path = executable(tmp_path / "path" / "pulumi-language-yaml")
    assert find_yaml_host(engine, pytest.fail) == on_path
    beside = executable(tmp_path / "engine" / "pulumi-language-yaml")
    assert find_yaml_host(engine, pytest.fail) == beside


def test_without_one_it_is_built_once_and_then_kept(engine: Engine, tmp_path: Path):
    with_go(tmp_path)
    said: list[str] = []
    found = find_yaml_host(engine, said.append)
    assert found == tmp_path / "cache" / "language-yaml" / f"v{YAML_HOST.version}" / "bin" / "pulumi-language-yaml"
    assert said == ["Building Pulumi YAML v1.25.0 from its Go module: about 2 minutes on 2 cores, once ..."]
    assert find_yaml_host(engine, pytest.fail) == found
    (built,) = (tmp_path / "log").read_text().splitlines()
    assert "-modfile=language_yaml.mod" in built
    assert "github.com/pulumi/pulumi-yaml/pkg/version.Version=v1.25.0" in built


def test_without_go_it_is_said_what_would_be_enough(engine: Engine):
    with pytest.raises(EngineMissingError, match=r"(?s)written in YAML.*official Pulumi CLI.*there is no 'go' on PATH"):
        find_yaml_host(engine, print)


def project(root: Path, text: str) -> Path:
    root.mkdir(exist_ok=True)
    (root / "Pulumi.yaml").write_text(text)
    (root / "Pulumi.dev.yaml").write_text("config: {}\n")
    return root


YAML_PROJECT = """
name: some
runtime: yaml
packages: {gpuyard: ../components, random: random@4.1.0, parts: {source: ./parts, version: 1.0.0}}
plugins:
  providers: [{name: own, path: own}]
config: {keepDays: {type: integer}}
variables: {a: b}
resources: {}
outputs: {}
"""


def test_a_copied_project_leads_to_the_same_folders(engine: Engine, tmp_path: Path):
    executable(tmp_path / "engine" / "pulumi-language-yaml")
    root = project(tmp_path / "project", YAML_PROJECT)
    workspace = Workspace(read_project(root), engine)
    workspace.prepare("dev")
    copy = json.loads((workspace.directory / "Pulumi.yaml").read_text())
    assert copy == {
        "name": "some",
        "runtime": "yaml",
        "main": str(root),
        "packages": {
            "gpuyard": str(tmp_path / "components"),
            "random": "random@4.1.0",
            "parts": {"source": str(root / "parts"), "version": "1.0.0"},
        },
        "plugins": {
            "providers": [{"name": "own", "path": str(root / "own")}],
            "languages": [
                {"name": "python", "path": str(workspace.folder / "bin")},
                {"name": "yaml", "path": str(tmp_path / "engine")},
            ],
        },
        "config": {"keepDays": {"type": "integer"}},
    }


@pytest.mark.parametrize("runtime", ["nodejs", "{name: go}", "{}"])
def test_a_language_that_the_sandbox_does_not_run_is_refused(runtime: str, engine: Engine, tmp_path: Path):
    root = project(tmp_path / "project", f"name: some\nruntime: {runtime}\n")
    with pytest.raises(SpecError, match=r"runtime: the sandbox does not run '.*'\. It runs python or yaml\."):
        Workspace(read_project(root), engine)


@pytest.mark.parametrize("text", ["", "runtime: python\n", "runtime: {name: python}\n"])
def test_a_project_without_a_runtime_is_pythons(text: str, engine: Engine, tmp_path: Path):
    root = project(tmp_path / "project", f"name: some\n{text}")
    assert Workspace(read_project(root), engine).project.runtime == "python"


@pytest.mark.parametrize("key", ["packages", "plugins"])
def test_packages_that_are_no_mapping_are_refused(key: str, engine: Engine, tmp_path: Path):
    workspace = Workspace(read_project(project(tmp_path / "project", f"name: some\n{key}: [a]\n")), engine)
    with pytest.raises(SpecError, match=rf"{key}: should be a mapping of keys to values\."):
        workspace.prepare("dev")
