"""The sandbox's folder beside the project: state, configuration copies, the simulated cloud, and what was left behind.

Nothing that git tracks is written: the engine keeps its salt in a copy of the stack file.
"""

import json
import os
import re
import shutil
import socket
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from ruamel.yaml import YAML

from gpuyard.sandbox.cloud import DamagedError, damaged
from gpuyard.sandbox.engine import Engine
from gpuyard.sandbox.go_tool import Say
from gpuyard.sandbox.problems import SandboxError
from gpuyard.sandbox.project import Project, read_project
from gpuyard.sandbox.yaml_host import find_yaml_host
from gpuyard.spec.problems import Problem, SpecError, one_of

__all__ = ["FOLDER", "BusyError", "Project", "Workspace", "read_project", "write_language_host"]

FOLDER = ".sandbox"
RUNTIMES = ("python", "yaml")
# What the engine writes beside 'config:' for the backend that the stack belongs to.
_OWN_KEYS = re.compile(r"^(encryptionsalt|secretsprovider|encryptedkey):.*\n?", flags=re.MULTILINE)
_SALT = re.compile(r"^encryptionsalt:.*$", flags=re.MULTILINE)


class BusyError(SandboxError):
    """Another run works on the same stack."""


class Workspace:
    """One project's sandbox.

    Args:
        project: The project.
        engine: The engine that is used.
        folder: Where everything is kept; ``.sandbox`` in the project when left out.
        say: Receives a line when something takes a while; standard error when left out.

    Raises:
        SpecError: The project's program is in a language that the sandbox does not run.
        EngineMissingError: What runs that language could not be found or built.
    """

    def __init__(self, project: Project, engine: Engine, folder: Path | None = None, say: Say | None = None) -> None:
        if project.runtime not in RUNTIMES:
            message = f"the sandbox does not run '{project.runtime}'."
            raise SpecError([Problem(("runtime",), message, f"It runs {one_of(RUNTIMES)}.", str(project.root))])
        self._yaml_host = find_yaml_host(engine, say or _say) if project.runtime == "yaml" else None
        self.project = project
        self.engine = engine
        self.folder = folder or project.root / FOLDER
        self.directory = self.folder / "project" / project.name
        self.cloud_file = self.folder / "cloud.sqlite"
        for path in (self.folder / "state", self.folder / "home", self.directory):
            path.mkdir(parents=True, exist_ok=True)
        self._write_language_host()

    def prepare(self, stack: str) -> None:
        """Copy project and stack file to where the engine reads them, keeping the engine's own salt of the copy.

        The stack file is copied as text: reading and writing YAML would cost more than the rest of the preparation.

        Raises:
            SpecError: There is no such stack, or its file holds encrypted values.
        """
        hosts = {"python": self.folder / "bin" / "pulumi-language-python"}
        if self._yaml_host is not None:
            hosts["yaml"] = self._yaml_host
        settings = self.project.settings_elsewhere({name: host for name, host in hosts.items() if host.exists()})
        # JSON is YAML.
        _write(self.directory / "Pulumi.yaml", json.dumps(settings))
        source = self.project.stack_file(stack)
        text = source.read_text(encoding="utf-8")
        if "secure:" in text:
            _refuse_secrets(source)
        copy = self.directory / f"Pulumi.{stack}.yaml"
        salt = _SALT.search(copy.read_text(encoding="utf-8")) if copy.exists() else None
        _write(copy, _OWN_KEYS.sub("", text).rstrip() + "\n" + (f"{salt[0].strip()}\n" if salt else ""))

    def environment(self, **more: str) -> dict[str, str]:
        """The environment in which the engine reads only the sandbox's state and reaches no backend."""
        own = {
            "PULUMI_HOME": str(self.folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{self.folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PULUMI_OPTION_COLOR": os.environ.get("PULUMI_OPTION_COLOR", "auto"),
            "PATH": os.pathsep.join(
                [str(self.folder / "bin"), str(self.engine.path.parent), os.environ.get("PATH", "")]
            ),
        }
        base = {
            key: value
            for key, value in os.environ.items()
            if key not in ("PULUMI_ACCESS_TOKEN", "PULUMI_CONFIG_PASSPHRASE_FILE", "PULUMI_STACK")
        }
        return {**base, **own, **more}

    def exists(self, stack: str) -> bool:
        """Whether the stack has been made before."""
        return self._state_file(stack).exists()

    def state(self, stack: str) -> dict[str, Any]:
        """The engine's latest record of the stack; empty when there is none.

        Raises:
            DamagedError: The record cannot be read.
        """
        path = self._state_file(stack)
        if not path.exists():
            return {}
        try:
            checkpoint = json.loads(path.read_text(encoding="utf-8"))
            return checkpoint["checkpoint"].get("latest") or {}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DamagedError(damaged(path, f"{type(error).__name__}: {error}")) from None

    def clear_dead_locks(self, stack: str) -> bool:
        """Remove the lock of a run that was killed, and what it had only begun to write; a living one's is respected.

        Returns:
            Whether a dead run's lock was found.

        Raises:
            BusyError: Another run holds the stack.
        """
        folder = self.folder / "state" / ".pulumi" / "locks" / "organization" / self.project.name / stack
        dead = False
        for path in folder.glob("*.json"):
            content: dict[str, Any]
            try:
                content = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, json.JSONDecodeError):
                content = {}
            pid, host = content.get("pid"), content.get("hostname")
            if host not in (None, socket.gethostname()) or (isinstance(pid, int) and _runs(pid)):
                raise BusyError(
                    f"stack '{stack}' is held by another run (process {pid} on {host}). Wait for it to end."
                )
            path.unlink(missing_ok=True)
            dead = True
        self._drop_torn_attributes(stack)
        return dead

    def _drop_torn_attributes(self, stack: str) -> None:
        """Remove attributes that a killed engine had only begun to write beside a file of its record.

        The engine writes a file of its record whole and its attributes in place. It needs no attributes, but reads no
        file whose attributes end early.
        """
        record = self.folder / "state" / ".pulumi"
        for path in (*record.glob("*.attrs"), *self._state_file(stack).parent.glob(f"{stack}.json*.attrs")):
            try:
                json.loads(path.read_text(encoding="utf-8"))
            except ValueError:
                path.unlink(missing_ok=True)

    def _state_file(self, stack: str) -> Path:
        return self.folder / "state" / ".pulumi" / "stacks" / self.project.name / f"{stack}.json"

    def _write_language_host(self) -> None:
        """Put the stand-in on PATH unless the engine brings the official one.

        The engine looks for the program even when the sandbox attaches its own host.
        """
        script = self.folder / "bin" / "pulumi-language-python"
        beside = self.engine.path.parent / "pulumi-language-python"
        if beside.exists() or shutil.which("pulumi-language-python"):
            script.unlink(missing_ok=True)
            return
        write_language_host(script)


def write_language_host(script: Path) -> None:
    """Write an executable ``pulumi-language-python`` that starts the stand-in with this interpreter."""
    script.parent.mkdir(parents=True, exist_ok=True)
    text = f'#!/bin/sh\nexec "{sys.executable}" -m gpuyard.sandbox.host_process "$@"\n'
    if not script.exists() or script.read_text(encoding="utf-8") != text:
        _write(script, text, executable=True)


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # A killed child that nobody has waited for yet still has its number.
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] == "Z")


def _refuse_secrets(source: Path) -> None:
    content: Any = cast(Any, YAML(typ="safe")).load(source.read_text(encoding="utf-8"))
    secret = next(_secrets(content, ""), None)
    if secret is not None:
        message = f"{secret} is encrypted for the stack's own backend, and the sandbox has no key for it."
        raise SpecError([Problem((), message, "Leave it out of the stack file for the sandbox.", str(source))])


def _secrets(value: Any, path: str) -> Iterator[str]:
    """Paths of encrypted values in a stack file's configuration."""
    if isinstance(value, dict):
        for key, inner in cast(dict[str, Any], value).items():
            if key == "secure":
                yield path
            else:
                yield from _secrets(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for place, inner in enumerate(cast(list[Any], value)):
            yield from _secrets(inner, f"{path}[{place}]")


def _write(path: Path, text: str, *, executable: bool = False) -> None:
    """Write a file as a whole: another run sees the old one or the new one, never a part."""
    staged = path.with_name(f".{path.name}.{os.getpid()}")
    staged.write_text(text, encoding="utf-8")
    if executable:
        staged.chmod(staged.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    staged.replace(path)
