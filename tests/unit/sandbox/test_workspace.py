"""The sandbox's folder: what it copies, keeps, and leaves alone."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from gpuyard.sandbox.cloud import DamagedError, SimulatedCloud
from gpuyard.sandbox.engine import Engine
from gpuyard.sandbox.workspace import BusyError, Workspace, read_project
from gpuyard.spec.problems import SpecError

STACK = "encryptionsalt: v1:theirs\nconfig:\n  aws:region: us-east-1\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "Pulumi.yaml").write_text("name: mine\nruntime: python\nmain: infra\nstackConfigDir: stacks\n")
    (tmp_path / "stacks" / "Pulumi.dev.yaml").write_text(STACK)
    return Workspace(read_project(tmp_path), Engine(tmp_path / "bin" / "pulumi", "3.274.1", "test"))


def copy(workspace: Workspace) -> dict:
    return YAML(typ="safe").load((workspace.directory / "Pulumi.dev.yaml").read_text())


def lock(workspace: Workspace, content: str) -> Path:
    folder = workspace.folder / "state" / ".pulumi" / "locks" / "organization" / "mine" / "dev"
    folder.mkdir(parents=True)
    path = folder / "one.json"
    path.write_text(content)
    return path


def test_the_stack_file_is_copied_and_the_engines_own_salt_is_kept(workspace: Workspace) -> None:
    workspace.prepare("dev")
    assert "encryptionsalt" not in copy(workspace), "the salt of another backend is of no use here"
    path = workspace.directory / "Pulumi.dev.yaml"
    path.write_text(path.read_text() + "encryptionsalt: v1:ours\n")
    workspace.prepare("dev")
    assert copy(workspace)["encryptionsalt"] == "v1:ours"
    assert copy(workspace)["config"] == {"aws:region": "us-east-1"}
    assert workspace.project.stack_file("dev").read_text() == STACK, "nothing that git tracks is written"
    workspace.project.stack_file("dev").write_text("config: {}")
    workspace.prepare("dev")
    assert copy(workspace) == {"config": {}, "encryptionsalt": "v1:ours"}, (
        "a file without a last line feed is copied too"
    )


def test_a_plain_word_secure_is_no_secret(workspace: Workspace) -> None:
    workspace.project.stack_file("dev").write_text('config:\n  mine:text: "secure: yes"\n')
    workspace.prepare("dev")
    assert copy(workspace)["config"] == {"mine:text": "secure: yes"}


def test_the_project_file_names_program_and_interpreter_outright(workspace: Workspace) -> None:
    workspace.prepare("dev")
    settings = YAML(typ="safe").load((workspace.directory / "Pulumi.yaml").read_text())
    assert settings["main"] == str(workspace.project.root / "infra")
    assert settings["runtime"]["options"]["virtualenv"] == str(Path(sys.prefix).resolve())
    assert "stackConfigDir" not in settings


def test_an_encrypted_value_is_refused_with_its_path(workspace: Workspace) -> None:
    secret = "config:\n  other:password:\n    secure: v1:abc\n"
    workspace.project.stack_file("dev").write_text(secret)
    with pytest.raises(SpecError, match="config.other:password is encrypted for the stack's own backend"):
        workspace.prepare("dev")


def test_the_environment_reaches_the_sandbox_only(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_ACCESS_TOKEN", "theirs")
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://theirs")
    environment = workspace.environment()
    assert "PULUMI_ACCESS_TOKEN" not in environment
    assert environment["PULUMI_BACKEND_URL"] == f"file://{workspace.folder / 'state'}"


def test_a_dead_runs_lock_is_removed(workspace: Workspace) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    path = lock(workspace, json.dumps({"pid": dead.pid, "hostname": socket.gethostname()}))
    assert workspace.clear_dead_locks("dev") is True
    assert not path.exists()
    assert workspace.clear_dead_locks("dev") is False


@pytest.mark.parametrize(
    "content",
    [{"pid": os.getpid(), "hostname": socket.gethostname()}, {"pid": 1, "hostname": "another-machine"}],
    ids=["living", "of another machine"],
)
def test_a_lock_that_may_be_living_is_respected(workspace: Workspace, content: dict) -> None:
    path = lock(workspace, json.dumps(content))
    with pytest.raises(BusyError, match="stack 'dev' is held by another run"):
        workspace.clear_dead_locks("dev")
    assert path.exists()


@pytest.mark.parametrize("name", ["stacks/mine/dev.json.attrs", "stacks/mine/dev.json.bak.attrs", "meta.yaml.attrs"])
def test_attributes_that_a_killed_engine_had_only_begun_to_write_are_removed(workspace: Workspace, name: str) -> None:
    record = workspace.folder / "state" / ".pulumi"
    torn, whole = record / name, record / "stacks" / "mine" / "other.json.attrs"
    whole.parent.mkdir(parents=True)
    whole.write_text('{"user.content_type": "application/json"}')
    torn.write_text(whole.read_text())
    workspace.clear_dead_locks("dev")
    assert torn.exists(), "what is whole stays"
    for text in ("", '{"user.content'):
        torn.write_text(text)
        workspace.clear_dead_locks("dev")
        assert not torn.exists()
    assert whole.exists()


def test_a_torn_lock_is_a_dead_one(workspace: Workspace) -> None:
    lock(workspace, '{"pid": 12')
    assert workspace.clear_dead_locks("dev") is True


@pytest.mark.parametrize("text", ["", "[1, 2]", "runtime: python\n"], ids=["empty", "list", "no name"])
def test_a_project_file_that_is_none_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "Pulumi.yaml").write_text(text)
    with pytest.raises(SpecError, match="is no Pulumi project file: it has no 'name'"):
        read_project(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 3}'])
def test_a_damaged_record_is_said_with_what_to_do(workspace: Workspace, text: str) -> None:
    path = workspace.folder / "state" / ".pulumi" / "stacks" / "mine" / "dev.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(DamagedError, match=r"dev.json is damaged .* remove its folder and begin anew"):
        workspace.state("dev")


def test_a_damaged_simulated_cloud_is_said_with_what_to_do(workspace: Workspace) -> None:
    workspace.cloud_file.write_text("this is no database, and long enough to be read as one" * 40)
    with pytest.raises(DamagedError, match=r"cloud.sqlite is damaged .* remove its folder and begin anew"):
        SimulatedCloud(workspace.cloud_file)


@pytest.mark.parametrize("text", [b"name: [", b"a: b: c", b"\xff\xfe"], ids=["open", "two colons", "no UTF-8"])
def test_a_project_file_that_is_no_yaml_is_bad_input(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "Pulumi.yaml").write_bytes(text)
    with pytest.raises(SpecError, match="Pulumi.yaml: is not valid YAML: "):
        read_project(tmp_path)
