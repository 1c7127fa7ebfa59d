"""Finding the Pulumi engine, or getting one: from PATH, by the official installer, or built from its Go module."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpuyard.sandbox.go_tool import MINIMUM_GO, GoTool, Say, build, one_at_a_time, put_into_cache
from gpuyard.sandbox.problems import SandboxError

VERSION = "3.274.1"
# The oldest command line that the sandbox's calls (attached language host and providers, policy packs) were read from.
MINIMUM_VERSION = (3, 229, 0)
ENGINE_VARIABLE = "GPUYARD_PULUMI"
INSTALL_TIMEOUT_S = 300

_PULUMI = GoTool(
    name="pulumi",
    title="Pulumi",
    version=VERSION,
    package="github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
    version_variable="github.com/pulumi/pulumi/sdk/v3/go/common/version.Version",
    module_file="go.mod",
    duration="6 minutes",
    cached_as="engine",
)


@dataclass(frozen=True)
class Engine:
    """A Pulumi command line: where it is, its version, and how it was found."""

    path: Path
    version: str
    origin: str


class EngineMissingError(SandboxError):
    """No engine, or no language host for it, could be found or made; the message names the ways and why each failed."""


def find_engine(say: Say, *, environment: Mapping[str, str] | None = None, get: bool = True) -> Engine:
    """The engine to use.

    ``$GPUYARD_PULUMI`` names one outright. Else: ``pulumi`` on PATH; one that was got before; the official installer;
    a build from the public Go module.

    Args:
        say: Receives a line when something takes a while.
        environment: Environment to look in, the process's own when left out.
        get: Whether one may be installed or built when none is there.

    Returns:
        A working engine, new enough.

    Raises:
        EngineMissingError: None of the ways worked.
    """
    env = os.environ if environment is None else environment
    reasons: list[str] = []
    named = env.get(ENGINE_VARIABLE)
    if named:
        engine = _usable(Path(named), f"${ENGINE_VARIABLE}", reasons)
        if engine is None:
            raise EngineMissingError(f"${ENGINE_VARIABLE} names no engine that can be used: {reasons[0]}")
        return engine
    on_path = shutil.which("pulumi", path=env.get("PATH"))
    if on_path is None:
        reasons.append("PATH: there is no 'pulumi' on it")
    elif engine := _usable(Path(on_path), "PATH", reasons):
        return engine
    # It was tried when it was put there, whole: asking it again would cost a process at every run.
    if _PULUMI.cached.exists():
        return Engine(_PULUMI.cached, VERSION, "cache")
    if get:
        with one_at_a_time(_PULUMI, say):
            if _PULUMI.cached.exists():
                return Engine(_PULUMI.cached, VERSION, "cache")
            if engine := _install(env, say, reasons):
                return engine
            built = build(_PULUMI, env, say, reasons)
            if built and (engine := _usable(_PULUMI.cached, "Go module", reasons)):
                return engine
    raise EngineMissingError(
        "No Pulumi engine was found. Any one of these is enough:\n"
        "  1. the Pulumi CLI on PATH (https://www.pulumi.com/docs/install/);\n"
        "  2. internet access, for the official installer to run;\n"
        f"  3. Go {MINIMUM_GO[0]}.{MINIMUM_GO[1]} or newer and a Go module proxy, to build it (once, 6 minutes).\n"
        "What was tried:\n" + "\n".join(f"  - {reason}" for reason in reasons)
    )


def _usable(path: Path, origin: str, reasons: list[str]) -> Engine | None:
    try:
        done = subprocess.run(
            [path, "version"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reasons.append(f"{origin}: {path} cannot be run: {error}")
        return None
    found = re.search(r"v?(\d+)\.(\d+)\.(\d+)", done.stdout)
    if done.returncode != 0 or found is None:
        reasons.append(f"{origin}: {path} does not say its version: {(done.stderr or done.stdout).strip()[:200]}")
        return None
    version = tuple(int(part) for part in found.groups())
    if version < MINIMUM_VERSION:
        least = ".".join(str(part) for part in MINIMUM_VERSION)
        reasons.append(f"{origin}: {path} is {found[0]}, at least {least} is needed")
        return None
    return Engine(path, ".".join(str(part) for part in version), origin)


def _install(env: Mapping[str, str], say: Say, reasons: list[str]) -> Engine | None:
    """The official installer, as the SDK runs it, in a process of its own that can be given up on."""
    say("No Pulumi CLI on PATH: trying the official installer ...")
    code = (
        "import sys; from semver import VersionInfo; from pulumi.automation import PulumiCommand; "
        "PulumiCommand.install(root=sys.argv[1], version=VersionInfo.parse(sys.argv[2]))"
    )
    staging = _PULUMI.root.parent / f".installing-{os.getpid()}"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, str(staging), VERSION],
            capture_output=True,
            text=True,
            timeout=INSTALL_TIMEOUT_S,
            check=False,
            env={**env},
        )
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["it failed without a message"])[-1]
            reasons.append(f"official installer: {last[:200]}")
            return None
        put_into_cache(staging, _PULUMI)
    except (OSError, subprocess.TimeoutExpired) as error:
        reasons.append(f"official installer: {error}")
        return None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return _usable(_PULUMI.cached, "official installer", reasons)
