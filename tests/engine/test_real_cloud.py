"""``--no-sandbox`` as a person runs it: Pulumi's CLI by itself, a backend of one's own, providers of the engine's own.

Only the providers behind the engine are simulated here: the engine is told where they are, as a debugger tells it.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path

import grpc
import pytest
from pulumi.runtime.proto import provider_pb2_grpc

from gpuyard.sandbox.cloud import SimulatedCloud
from gpuyard.sandbox.engine import Engine
from gpuyard.sandbox.provider import SimulatedProvider
from gpuyard.sandbox.workspace import write_language_host
from tests.engine.conftest import POLICIES, child_environment

PROJECT = """\
name: own
runtime: {{name: python, options: {{virtualenv: "{prefix}"}}}}
"""
PROGRAM = """\
import pulumi
import pulumi_aws as aws

bucket = aws.s3.Bucket("data")
pulumi.export("bucket", bucket.id)
pulumi.export("password", pulumi.Output.secret("hidden"))
"""
SLOW_MACHINE = """\
import pulumi_aws as aws

aws.ec2.Instance("slow", instance_type="g5.12xlarge", ami="ami-1", tags={"gpuyard:task": "pretrain"})
"""

Gpuyard = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[tuple[SimulatedCloud, int]]:
    """A simulated cloud, and the port of its providers."""
    cloud = SimulatedCloud(tmp_path / "cloud.sqlite")
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(SimulatedProvider(cloud, "99.0.0"), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield cloud, port
    server.stop(grace=None)
    cloud.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text(PROJECT.format(prefix=Path(sys.prefix).resolve()))
    (folder / "Pulumi.dev.yaml").write_text("config:\n  aws:region: us-east-1\n")
    (folder / "__main__.py").write_text(PROGRAM)
    return folder


@pytest.fixture
def environment(tmp_path: Path, engine: Engine, cloud: tuple[SimulatedCloud, int]) -> dict[str, str]:
    """Of a person who has installed Pulumi's CLI and logged in to a folder."""
    host = tmp_path / "bin" / "pulumi-language-python"
    write_language_host(host)
    (tmp_path / "state").mkdir()
    return {
        "PATH": os.pathsep.join([str(host.parent), str(engine.path.parent), os.environ["PATH"]]),
        "PULUMI_HOME": str(tmp_path / "home"),
        "PULUMI_BACKEND_URL": f"file://{tmp_path / 'state'}",
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DEBUG_PROVIDERS": f"aws:{cloud[1]}",
    }


@pytest.fixture
def gpuyard(project: Path, environment: dict[str, str]) -> Gpuyard:
    def run(*arguments: str, **changed: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "gpuyard.cli.main", *arguments, "--no-sandbox"],
            cwd=project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            env={**child_environment(**environment), **changed},
            check=False,
        )

    return run


def init(environment: dict[str, str], project: Path) -> None:
    command = ["pulumi", "stack", "init", "dev", "--non-interactive"]
    subprocess.run(command, cwd=project, env=child_environment(**environment), check=True, capture_output=True)


def test_a_stack_lives_in_its_own_backend_from_up_to_destroy(
    gpuyard: Gpuyard, environment: dict[str, str], project: Path, cloud: tuple[SimulatedCloud, int]
) -> None:
    init(environment, project)
    up = gpuyard("up", "dev", "--yes")
    assert up.returncode == 0, up.stdout + up.stderr
    assert f"dev in {environment['PULUMI_BACKEND_URL']}, on the real cloud" in up.stdout
    assert up.stdout.index("Previewing update (dev)") < up.stdout.index("Updating (dev)")
    (made,) = cloud[0].everything()
    assert not (project / ".sandbox").exists()

    outputs = gpuyard("outputs", "dev")
    assert f'"bucket": "{made.id}"' in outputs.stdout
    assert '"password": "[secret]"' in outputs.stdout
    assert "hidden" not in up.stdout + outputs.stdout

    assert gpuyard("refresh", "dev", "--yes").returncode == 0
    destroy = gpuyard("destroy", "dev", "--yes")
    assert destroy.returncode == 0, destroy.stdout + destroy.stderr
    assert cloud[0].everything() == []


def test_a_mandatory_finding_ends_an_update_in_its_preview(
    gpuyard: Gpuyard, environment: dict[str, str], project: Path, cloud: tuple[SimulatedCloud, int]
) -> None:
    init(environment, project)
    (project / "__main__.py").write_text(SLOW_MACHINE)
    up = gpuyard("up", "dev", "--yes", "--policy-pack", str(POLICIES))
    assert up.returncode == 1, up.stdout + up.stderr
    assert "[FAB001]" in up.stdout
    assert "The up of 'dev' did not succeed." in up.stdout
    assert "Updating (dev)" not in up.stdout
    assert cloud[0].everything() == []


def test_what_is_missing_is_said_in_plain_words(gpuyard: Gpuyard) -> None:
    nobody = gpuyard("up", "dev")
    assert nobody.returncode == 2
    assert "--yes: is missing: nobody is there to be asked" in nobody.stderr
    no_login = gpuyard("up", "dev", "--yes", PULUMI_BACKEND_URL="")
    assert no_login.returncode == 3
    assert "the CLI is not logged in to a backend: pulumi login" in no_login.stderr
    no_stack = gpuyard("up", "dev", "--yes")
    assert no_stack.returncode == 2
    assert "there is no stack 'dev' in file://" in no_stack.stderr
    assert "Make it: pulumi stack init dev" in no_stack.stderr
    assert not [one for one in (nobody, no_login, no_stack) if "Traceback" in one.stderr]
