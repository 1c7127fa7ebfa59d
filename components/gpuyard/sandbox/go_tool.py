"""Tools that are built from their public Go module: once for all checkouts of a machine, by one run at a time."""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import IO

CACHE_VARIABLE = "GPUYARD_CACHE"
BUILD_TIMEOUT_S = 3600
MINIMUM_GO = (1, 26)

Say = Callable[[str], None]


@dataclass(frozen=True)
class GoTool:
    """What is built.

    Attributes:
        name: Name of the executable.
        title: What it is, for a person.
        version: Its version.
        package: Go package of its main function.
        version_variable: Variable that the linker writes the version to.
        module_file: File of ``engine_module`` that pins every module it is made of.
        duration: How long building takes on 2 cores, for a person.
        cached_as: Its folder in the cache.
    """

    name: str
    title: str
    version: str
    package: str
    version_variable: str
    module_file: str
    duration: str
    cached_as: str

    @property
    def root(self) -> Path:
        """Where this version is kept, ``bin`` below it."""
        return cache_directory() / self.cached_as / f"v{self.version}"

    @property
    def cached(self) -> Path:
        """Where the executable is once it was built. It is put there whole, and need not be tried again."""
        return self.root / "bin" / self.name


def cache_directory() -> Path:
    """Where tools are kept between checkouts: ``$GPUYARD_CACHE``, else ``~/.cache/gpuyard``."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpuyard"


def build(tool: GoTool, env: Mapping[str, str], say: Say, reasons: list[str]) -> bool:
    """Build a tool and put it into the cache.

    Args:
        tool: The tool.
        env: Environment to look for Go in, and to build in.
        say: Receives a line, since this takes a while.
        reasons: Receives why it did not work.

    Returns:
        Whether the tool is in the cache now.
    """
    go = shutil.which("go", path=env.get("PATH"))
    if go is None:
        reasons.append("Go module: there is no 'go' on PATH")
        return False
    if reason := _too_old(go, env):
        reasons.append(f"Go module: {reason}")
        return False
    say(f"Building {tool.title} v{tool.version} from its Go module: about {tool.duration} on 2 cores, once ...")
    staging = tool.root.parent / f".building-{os.getpid()}"
    try:
        with as_file(files("gpuyard.sandbox") / "engine_module") as module:
            shutil.copytree(module, staging / "module")
        done = subprocess.run(
            [
                go,
                "build",
                f"-modfile={tool.module_file}",
                "-ldflags",
                f"-s -w -X {tool.version_variable}=v{tool.version}",
                "-o",
                str(staging / "out" / "bin" / tool.name),
                tool.package,
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
            return False
        put_into_cache(staging / "out", tool)
    except (OSError, subprocess.TimeoutExpired) as error:
        reasons.append(f"Go module: {error}")
        return False
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return True


def put_into_cache(source: Path, tool: GoTool) -> None:
    """Move a folder's ``bin`` to where the tool is kept, as a whole."""
    shutil.rmtree(tool.root / "bin", ignore_errors=True)
    tool.root.mkdir(parents=True, exist_ok=True)
    os.replace(source / "bin", tool.root / "bin")


@contextlib.contextmanager
def one_at_a_time(tool: GoTool, say: Say) -> Generator[None, None, None]:
    """Two runs at once must not both build: the second waits and then finds what the first one made."""
    tool.root.parent.mkdir(parents=True, exist_ok=True)
    with (tool.root.parent / ".lock").open("w") as lock:
        if not _locked(lock):
            say(f"Another run is getting {tool.title}: waiting for it ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


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


def _locked(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
