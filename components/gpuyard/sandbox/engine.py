"""Finding the Pulumi engine, or getting one: from PATH, by the official installer, or built from its Go module."""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import IO

from gpuyard.sandbox.problems import SandboxError

VERSION = "3.274.1"
# The oldest command line that the sandbox's calls (attached language host and providers, policy packs) were read from.
MINIMUM_VERSION = (3, 229, 0)
ENGINE_VARIABLE = "GPUYARD_PULUMI"
CACHE_VARIABLE = "GPUYARD_CACHE"
INSTALL_TIMEOUT_S = 300
BUILD_TIMEOUT_S = 3600
MINIMUM_GO = (1, 26)

Say = Callable[[str], None]


@dataclass(frozen=True)
class Engine:
    """A Pulumi command line: where it is, its version, and how it was found."""

    path: Path
    version: str
    origin: str


class EngineMissingError(SandboxError):
    """No engine could be found or made; the message names the three ways and why each failed."""


def cache_directory() -> Path:
    """Where engines are kept between checkouts: ``$GPUYARD_CACHE``, else ``~/.cache/gpuyard``."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpuyard"


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
    root = cache_directory() / "engine" / f"v{VERSION}"
    cached = root / "bin" / "pulumi"
    # It was tried when it was put there, whole: asking it again would cost a process at every run.
    if cached.exists():
        return Engine(cached, VERSION, "cache")
    if get:
        with _one_at_a_time(root, say):
            if cached.exists():
                return Engine(cached, VERSION, "cache")
            for way in (_install, _build):
                if engine := way(root, env, say, reasons):
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


def _install(root: Path, env: Mapping[str, str], say: Say, reasons: list[str]) -> Engine | None:
    """The official installer, as the SDK runs it, in a process of its own that can be given up on."""
    say("No Pulumi CLI on PATH: trying the official installer ...")
    code = (
        "import sys; from semver import VersionInfo; from pulumi.automation import PulumiCommand; "
        "PulumiCommand.install(root=sys.argv[1], version=VersionInfo.parse(sys.argv[2]))"
    )
    staging = root.parent / f".installing-{os.getpid()}"
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
        _moved(staging, root)
    except (OSError, subprocess.TimeoutExpired) as error:
        reasons.append(f"official installer: {error}")
        return None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return _usable(root / "bin" / "pulumi", "official installer", reasons)


def _build(root: Path, env: Mapping[str, str], say: Say, reasons: list[str]) -> Engine | None:
    go = shutil.which("go", path=env.get("PATH"))
    if go is None:
        reasons.append("Go module: there is no 'go' on PATH")
        return None
    if reason := _too_old(go, env):
        reasons.append(f"Go module: {reason}")
        return None
    say(f"Building Pulumi v{VERSION} from its Go module: about 6 minutes on 2 cores, once ...")
    staging = root.parent / f".building-{os.getpid()}"
    try:
        with as_file(files("gpuyard.sandbox") / "engine_module") as module:
            shutil.copytree(module, staging / "module")
        done = subprocess.run(
            [
                go,
                "build",
                "-ldflags",
                f"-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v{VERSION}",
                "-o",
                str(staging / "out" / "bin" / "pulumi"),
                "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
            ],
            cwd=staging / "module",
            capture_output=True,
            text=True,
            timeout=BUILD_TIMEOUT_S,
            check=False,
            env={**env, "GOFLAGS": "-mod=mod"},
        )
        if done.returncode != 0:
            reasons.append(f"Go module: {done.stderr.strip()[-600:]}")
            return None
        _moved(staging / "out", root)
    except (OSError, subprocess.TimeoutExpired) as error:
        reasons.append(f"Go module: {error}")
        return None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return _usable(root / "bin" / "pulumi", "Go module", reasons)


def _too_old(go: str, env: Mapping[str, str]) -> str | None:
    done = subprocess.run(
        [go, "env", "GOVERSION"], capture_output=True, text=True, timeout=60, check=False, env={**env}
    )
    found = re.search(r"go(\d+)\.(\d+)", done.stdout)
    if found is None:
        return f"'{go} env GOVERSION' says {(done.stdout + done.stderr).strip()[:200]!r}"
    if (int(found[1]), int(found[2])) < MINIMUM_GO:
        return f"Go {found[1]}.{found[2]} is too old, {MINIMUM_GO[0]}.{MINIMUM_GO[1]} is needed"
    return None


def _moved(source: Path, root: Path) -> None:
    shutil.rmtree(root / "bin", ignore_errors=True)
    root.mkdir(parents=True, exist_ok=True)
    os.replace(source / "bin", root / "bin")


@contextlib.contextmanager
def _one_at_a_time(root: Path, say: Say) -> Generator[None, None, None]:
    """Two runs at once must not both build: the second waits and then finds the first one's engine."""
    root.parent.mkdir(parents=True, exist_ok=True)
    with (root.parent / ".lock").open("w") as lock:
        if not _locked(lock):
            say("Another run is getting the engine: waiting for it ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _locked(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
