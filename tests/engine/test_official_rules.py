"""The project by Pulumi's own rules: its own command line, from the repository's root, without gpuyard's command.

The command line here may come without a Python language host; the stand-in then takes its place on PATH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path

import grpc
import pytest
from pulumi.runtime.proto import provider_pb2_grpc
from ruamel.yaml import YAML

from gpuyard import __version__
from gpuyard.sandbox.cloud import SimulatedCloud
from gpuyard.sandbox.engine import Engine
from gpuyard.sandbox.provider import SimulatedProvider
from gpuyard.sandbox.workspace import write_language_host
from tests.engine.conftest import REPOSITORY


class Checkout:
    """A fresh checkout with its virtual environment, and the plain command line in it."""

    def __init__(self, root: Path, engine: Engine, port: int, home: Path) -> None:
        self.root = root
        folders = [str(engine.path.parent), os.environ["PATH"]]
        if not shutil.which("pulumi-language-python", path=os.pathsep.join(folders)):
            write_language_host(home / "bin" / "pulumi-language-python")
            folders.insert(0, str(home / "bin"))
        self.environment = {
            **os.environ,
            "PATH": os.pathsep.join(folders),
            "PULUMI_HOME": str(home),
            "PULUMI_BACKEND_URL": f"file://{home}",
            "PULUMI_CONFIG_PASSPHRASE": "",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_OPTION_COLOR": "never",
            "PULUMI_DEBUG_PROVIDERS": f"aws:{port}",
        }
        self.pulumi = str(engine.path)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.pulumi, *arguments],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )


@pytest.fixture
def checkout(project_copy: Path, engine: Engine, tmp_path: Path) -> Iterator[Checkout]:
    shutil.copytree(REPOSITORY / "policies", project_copy / "policies", ignore=shutil.ignore_patterns("__pycache__"))
    (project_copy / ".venv").symlink_to(sys.prefix)
    home = tmp_path / "home"
    home.mkdir()
    cloud = SimulatedCloud(home / "cloud.sqlite")
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=32))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(SimulatedProvider(cloud, "7.51.1"), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield Checkout(project_copy, engine, port, home)
    server.stop(grace=None)
    cloud.close()


def test_pulumi_up_works_from_the_repository_root_with_the_policy_pack(checkout: Checkout) -> None:
    init = checkout.run("stack", "init", "aws-dev")
    assert init.returncode == 0, init.stderr
    preview = checkout.run("preview", "-s", "aws-dev", "--policy-pack", "policies")
    assert preview.returncode == 0, preview.stdout + preview.stderr
    assert f"gpuyard@v{__version__} (local: policies)" in preview.stdout
    up = checkout.run("up", "-s", "aws-dev", "--yes")
    assert up.returncode == 0, up.stdout + up.stderr
    again = checkout.run("up", "-s", "aws-dev", "--yes")
    assert "unchanged" in again.stdout
    assert "created" not in again.stdout
    destroy = checkout.run("destroy", "-s", "aws-dev", "--yes")
    assert destroy.returncode == 0, destroy.stdout + destroy.stderr


def test_a_bad_stack_file_is_an_error_with_file_and_line_and_registers_nothing(checkout: Checkout) -> None:
    path = checkout.root / "stacks" / "Pulumi.aws-dev.yaml"
    lines = path.read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "gpu: A10" in text)
    path.write_text("\n".join(lines).replace("gpu: A10", "gpu: A1O"))
    checkout.run("stack", "init", "aws-dev")
    preview = checkout.run("preview", "-s", "aws-dev")
    shown = preview.stdout + preview.stderr
    assert preview.returncode != 0
    expected = (
        f"stacks/Pulumi.aws-dev.yaml:{line}: gpuyard:cluster.node_pools.try.gpu: the catalog knows no GPU called 'A1O'"
    )
    assert expected in shown
    assert "Traceback" not in shown
    assert "aws:ec2" not in shown


def test_the_pack_judges_stored_state_with_pulumis_own_command(checkout: Checkout, tmp_path: Path) -> None:
    checkout.run("stack", "init", "aws-dev")
    assert checkout.run("up", "-s", "aws-dev", "--yes").returncode == 0
    state = tmp_path / "state.json"
    state.write_text(checkout.run("stack", "export", "-s", "aws-dev").stdout)
    analyze = checkout.run("policy", "analyze", "--policy-pack", "policies", "--file", str(state))
    assert analyze.returncode == 0, analyze.stdout + analyze.stderr


def test_the_pack_names_its_virtual_environment_and_the_package_version() -> None:
    settings = YAML(typ="safe").load((REPOSITORY / "policies" / "PulumiPolicy.yaml").read_text())
    assert settings["version"] == __version__
    assert settings["runtime"] == {"name": "python", "options": {"toolchain": "pip", "virtualenv": "../.venv"}}
