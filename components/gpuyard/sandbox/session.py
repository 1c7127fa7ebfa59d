"""Running the real engine on a stack in the sandbox."""

import gc
import json
import re
import runpy
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from concurrent import futures
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

import grpc
from pulumi.runtime.proto import language_pb2_grpc, provider_pb2_grpc

from gpuyard.sandbox.cloud import SimulatedCloud
from gpuyard.sandbox.language_host import LanguageHost, Program
from gpuyard.sandbox.lean_sdk import load_leanly
from gpuyard.sandbox.provider import SimulatedProvider
from gpuyard.sandbox.schema import sdk_module
from gpuyard.sandbox.workspace import Project, Workspace

# Each package with a simulated provider, and the distribution of its SDK.
SIMULATED = {"aws": "pulumi-aws", "alicloud": "pulumi-alicloud", "tencentcloud": "tencentcloud-iac-pulumi"}
# Services that gpuyard's own program uses of each SDK. What loading them piece by piece saves of a start, measured on
# two cores: 0.9 of 1.5 s for Alibaba Cloud, 0.5 of 0.8 s for Tencent Cloud.
SERVICES = {
    "aws": ("autoscaling", "dlm", "ec2", "fsx", "iam", "s3", "ssm", "vpc"),
    "alicloud": ("cms", "ecs", "ess", "kms", "log", "message", "nas", "oss", "ram", "vpc"),
    "tencentcloud": (
        "as_",
        "billing",
        "cam",
        "cbs",
        "ccn",
        "cfs",
        "cos",
        "cvm",
        "eip",
        "images",
        "instance",
        "kms",
        "monitor",
        "nat",
        "placement",
        "route",
        "security",
        "subnet",
        "tat",
        "thpc",
        "user",
        "vpc",
    ),
}
# A setting of a package (aws:region), or the cloud of gpuyard's own description.
_NAMED_CLOUD = re.compile(r"^ *[\"']?(\w+):\w|\bcloud: *[\"']?(\w+)", flags=re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """How a run of the engine ended: its exit code and, where it was captured, what it printed."""

    code: int
    output: str = ""


class Session:
    """The engine, with simulated providers and a language host attached to it.

    Args:
        workspace: The project's sandbox.
        policy_packs: Folders of policy packs that judge previews and updates.
        program_modules: Modules that the program will import; they are imported while the engine starts, the SDK below
            them piece by piece.
    """

    def __init__(
        self, workspace: Workspace, policy_packs: Sequence[Path] = (), program_modules: Sequence[str] = ()
    ) -> None:
        self.workspace = workspace
        self.policy_packs = policy_packs
        self.program_modules = program_modules

    def run(self, stack: str, verb: str, *flags: str, capture: bool = False) -> Outcome:
        """Run one verb of the engine on a stack: preview, up, refresh or destroy.

        Args:
            stack: The stack.
            verb: The engine's verb.
            flags: Further flags of that verb.
            capture: Return what it prints instead of showing it.

        Returns:
            The engine's exit code and output.

        Raises:
            BusyError: Another run works on the stack.
        """
        if self.program_modules and verb in ("preview", "up"):
            clouds = clouds_named_in(self.workspace.project.stack_file(stack))
            threading.Thread(target=_import_all, args=(clouds, self.program_modules), daemon=True).start()
        self.workspace.prepare(stack)
        was_killed = self.workspace.clear_dead_locks(stack)
        with _servers(self.workspace) as (port, cloud):
            more = {"PULUMI_DEBUG_PROVIDERS": ",".join(f"{package}:{port}" for package in SIMULATED)}
            if self.workspace.project.runtime == "python":
                more["PULUMI_DEBUG_LANGUAGES"] = f"python:{port}"
            if not self.workspace.exists(stack):
                made = self._engine(more, ["stack", "init", stack, "--no-select"], capture=True)
                if made.code != 0:
                    return made
            if was_killed or self.workspace.state(stack).get("pending_operations"):
                recovered = self._recover(stack, cloud, more)
                if recovered.code != 0:
                    return recovered
            packs = [flag for pack in self.policy_packs for flag in ("--policy-pack", str(pack))]
            judged = packs if verb in ("preview", "up") else []
            return self._engine(more, [verb, "--stack", stack, *judged, *flags], capture=capture)

    def run_state(self, stack: str, *arguments: str) -> Outcome:
        """Run one of the engine's ``state`` commands on a stack and return what it prints."""
        self.workspace.prepare(stack)
        self.workspace.clear_dead_locks(stack)
        return self._engine({}, ["state", arguments[0], "--stack", stack, *arguments[1:]], capture=True)

    def outputs(self, stack: str) -> dict[str, Any]:
        """The stack's outputs from the engine's record."""
        for resource in self.workspace.state(stack).get("resources", []):
            if resource.get("type") == "pulumi:pulumi:Stack":
                return cast(dict[str, Any], resource.get("outputs") or {})
        return {}

    def _recover(self, stack: str, cloud: SimulatedCloud, more: dict[str, str]) -> Outcome:
        """After a killed run: take what the cloud made meanwhile into the record, and drop other open operations.

        A real cloud has to be asked by a person (``pulumi refresh``, ``pulumi import``); the simulated one knows what
        it made for which URN.
        """
        exported = self._engine(more, ["stack", "export", "--stack", stack], capture=True)
        if exported.code != 0:
            return exported
        record: dict[str, Any] = json.loads(exported.output)
        deployment = record["deployment"]
        resources: list[dict[str, Any]] = deployment.setdefault("resources", [])
        known = {(resource["urn"], resource.get("id")) for resource in resources}
        pending: list[dict[str, Any]] = deployment.pop("pending_operations", None) or []
        for operation in pending:
            half_made: dict[str, Any] = operation["resource"]
            made = cloud.made_for(str(half_made["urn"])) if operation["type"] == "creating" else []
            # What it depends on was made before it, so the end of the list is the right place.
            resources += [
                {**half_made, "id": thing.id, "inputs": thing.inputs, "outputs": thing.outputs}
                for thing in made
                if (thing.urn, thing.id) not in known
            ]
        file = self.workspace.folder / f"recovered-{stack}.json"
        file.write_text(json.dumps(record), encoding="utf-8")
        imported = self._engine(more, ["stack", "import", "--stack", stack, "--file", str(file)], capture=True)
        file.unlink()
        return imported

    def _engine(self, more: dict[str, str], arguments: Sequence[str], *, capture: bool) -> Outcome:
        sys.stdout.flush()
        command = [str(self.workspace.engine.path), *arguments]
        environment = self.workspace.environment(**more)
        process = subprocess.Popen(
            command,
            cwd=self.workspace.directory,
            env=environment,
            stdout=subprocess.PIPE if capture else None,
            stderr=subprocess.STDOUT if capture else None,
            text=True,
        )
        while True:
            try:
                output, _ = process.communicate()
                return Outcome(process.returncode, output or "")
            except KeyboardInterrupt:
                # The engine has had the same Ctrl-C and winds down by itself: its record stays whole.
                continue


def clouds_named_in(stack_file: Path) -> list[str]:
    """Packages that a stack's configuration names, by a setting of theirs or as gpuyard's cloud.

    Args:
        stack_file: The stack's file; it need not be valid.

    Returns:
        Names of packages that the sandbox simulates.
    """
    text = stack_file.read_text(encoding="utf-8", errors="replace")
    named = {found for pair in _NAMED_CLOUD.findall(text) for found in pair}
    return [package for package in SIMULATED if package in named]


@contextmanager
def _servers(workspace: Workspace) -> Generator[tuple[int, SimulatedCloud], None, None]:
    cloud = SimulatedCloud(workspace.cloud_file)
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=64))
    program = _program_of(workspace.project)
    host = LanguageHost(workspace.engine.version, program, str(workspace.project.root))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(SimulatedProvider(cloud, _newest_sdk()), server)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield port, cloud
    finally:
        host.stop()
        server.stop(grace=None)
        cloud.close()


def _program_of(project: Project) -> Program:
    directory = str(project.program if project.program.is_dir() else project.program.parent)

    def run() -> None:
        if directory not in sys.path:
            sys.path.insert(0, directory)
        runpy.run_path(str(project.program), run_name="__main__")

    return run


def _import_all(clouds: Sequence[str], modules: Sequence[str]) -> None:
    """Import modules ahead of their use; what fails here fails again, and is reported, where it is used."""
    # A cloud's SDK is some ten thousand classes that stay: collecting between them only costs time.
    gc.disable()
    try:
        with suppress(ImportError):
            for package in clouds:
                load_leanly(sdk_module(package), SERVICES[package])
            for module in modules:
                import_module(module)
        gc.freeze()
    finally:
        gc.enable()


def _newest_sdk() -> str:
    """The highest version of the installed SDKs: the engine warns of a provider that is older than its SDK."""
    found: list[list[int]] = []
    for distribution in SIMULATED.values():
        with suppress(PackageNotFoundError):
            found.append([int(part) for part in re.findall(r"\d+", version(distribution))[:3]])
    return ".".join(str(part) for part in max(found, default=[0, 0, 0]))
