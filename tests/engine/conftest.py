"""The real engine, on copies of the project in folders of their own."""

import os
import shutil
import sqlite3
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpuyard.sandbox.cloud import CloudResource, SimulatedCloud
from gpuyard.sandbox.engine import Engine, find_engine
from gpuyard.sandbox.session import Outcome, Session
from gpuyard.sandbox.workspace import Workspace, read_project

REPOSITORY = Path(__file__).parents[2]
POLICIES = REPOSITORY / "policies"


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The engine; a machine without one gets one, and no engine test is ever skipped."""
    return find_engine(print)


@dataclass
class Sandbox:
    """One project in a sandbox of its own, and what its simulated cloud holds."""

    session: Session
    root: Path

    def run(self, stack: str, verb: str, *flags: str) -> Outcome:
        return self.session.run(stack, verb, *flags, capture=True)

    def up(self, stack: str) -> Outcome:
        return self.run(stack, "up", "--yes")

    def cloud(self) -> list[CloudResource]:
        path = self.session.workspace.cloud_file
        if not path.exists():
            return []
        cloud = SimulatedCloud(path)
        try:
            return cloud.everything()
        finally:
            cloud.close()

    def recorded_ids(self, stack: str) -> dict[str, str]:
        return {
            one["urn"]: one["id"]
            for one in self.session.workspace.state(stack).get("resources", [])
            if one.get("custom") and not one["type"].startswith("pulumi:")
        }


@pytest.fixture
def project_copy(tmp_path: Path) -> Path:
    """A copy of the repository's project files: a test may edit them."""
    root = tmp_path / "project"
    root.mkdir()
    for name in ("Pulumi.yaml", "gpuyard-policy.yaml"):
        shutil.copy(REPOSITORY / name, root)
    for folder in ("infra", "stacks"):
        shutil.copytree(REPOSITORY / folder, root / folder)
    return root


@pytest.fixture
def sandbox(project_copy: Path, engine: Engine) -> Sandbox:
    return Sandbox(Session(Workspace(read_project(project_copy), engine), [POLICIES]), project_copy)


@pytest.fixture
def program(tmp_path: Path, engine: Engine) -> Callable[[str], Sandbox]:
    """A sandbox around any Pulumi program, given as text; its one stack is called 'test'."""

    def make(text: str, region: str = "us-east-1", policies: bool = True) -> Sandbox:
        root = tmp_path / "program"
        (root / "infra").mkdir(parents=True, exist_ok=True)
        (root / "Pulumi.yaml").write_text("name: someone\nruntime: python\nmain: infra\n")
        (root / "Pulumi.test.yaml").write_text(f"config:\n  aws:region: {region}\n")
        (root / "infra" / "__main__.py").write_text(textwrap.dedent(text))
        packs = [POLICIES] if policies else []
        return Sandbox(Session(Workspace(read_project(root), engine), packs), root)

    return make


@pytest.fixture(autouse=True)
def quiet_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plain text whatever the terminal, and no stack or backend of the person who runs the tests."""
    monkeypatch.setenv("PULUMI_OPTION_COLOR", "never")
    for name in ("PULUMI_STACK", "PULUMI_ACCESS_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    yield


def created(cloud_file: Path) -> int:
    """How many things exist in a simulated cloud that another process is filling."""
    if not cloud_file.exists():
        return 0
    connection = sqlite3.connect(f"file:{cloud_file}?mode=ro", uri=True, timeout=5)
    try:
        return int(connection.execute("select count(*) from resources").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


def child_environment(**more: str) -> dict[str, str]:
    """The environment of a command that is run as a person would."""
    return {**os.environ, "PULUMI_OPTION_COLOR": "never", "PYTHONUNBUFFERED": "1", **more}
