"""The resources of a stack from its program, run in this process: no engine, no plugins, no account."""

import asyncio
import contextvars
import json
import os
import re
import runpy
import sys
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import chdir, redirect_stdout, suppress
from pathlib import Path
from typing import Any, cast

from pulumi import RunError
from pulumi.runtime import reset_options, run_in_stack, set_all_config

from gpuyard.sandbox.lean_sdk import load_leanly
from gpuyard.sandbox.schema import sdk_module
from gpuyard.sandbox.session import SERVICES, clouds_named_in
from gpuyard.sandbox.workspace import Project
from gpuyard.spec.problems import Problem, SpecError
from gpuyard.spec.stack_file import StackFile, read_stack_file
from gpuyard_policy.sources.model import Place, Source
from gpuyard_policy.sources.monitor import ListeningEngine, RecordingMonitor
from gpuyard_policy.sources.places import places_of, shown
from gpuyard_policy.sources.values import STAND_IN

_OWN_PACKAGES = tuple(str(Path(str(sys.modules[name].__file__)).parent) for name in ("gpuyard", "gpuyard_policy"))
_NO_MODULE = re.compile(r"No module named '([^']+)'")


class ProgramFaultError(Exception):
    """A program ended in an error of gpuyard's own code, which is the cause of this one."""


def run_stack(project: Project, stack: str, shown_in: Path) -> Source:
    """Run a project's program for one stack and take down what it asks for.

    Args:
        project: The project.
        stack: Name of the stack. A stack without a file has an empty configuration, as in the engine.
        shown_in: Folder to which files are named.

    Returns:
        The resources as a first preview of the stack would show them.

    Raises:
        SpecError: The stack file cannot be read, the project is not of Python, or its program fails.
        ProgramFaultError: gpuyard's own code broke.
    """
    _require_python(project)
    path = project.stack_folder / f"Pulumi.{stack}.yaml"
    file = read_stack_file(path, shown(path, shown_in)) if path.is_file() else None
    if file is not None:
        _load_leanly(path)
    config = stack_config(project, {} if file is None else file.config)
    monitor, engine = RecordingMonitor(project.name, stack, config, stand_ins=True), ListeningEngine()
    directory = project.program if project.program.is_dir() else project.program.parent
    error = _run(project, stack, config, monitor, engine, directory)
    if error is not None and monitor.asked:
        # It may be a stand-in that the program cannot work with: in a preview it would not have seen one.
        monitor, engine = RecordingMonitor(project.name, stack, config), ListeningEngine()
        error = _run(project, stack, config, monitor, engine, directory)
    if error is not None:
        raise _explained(error, directory, file, shown_in) from error
    return Source(
        name=stack,
        records=tuple(one.record for one in monitor.asked.values()),
        places=places_of(monitor.asked, directory, file, shown_in),
        place=_place(project, file, shown_in),
        notes=(*monitor.notes, *engine.said),
    )


def stack_config(project: Project, given: Mapping[str, Any]) -> dict[str, str]:
    """Configuration as a program reads it: every key with its namespace, every value as text.

    Args:
        project: The project, whose own ``config:`` holds defaults.
        given: What stands under ``config:`` of the stack file.

    Returns:
        The configuration; what is encrypted is a stand-in.
    """
    defaults: Any = project.settings.get("config")
    known: dict[str, Any] = {}
    for key, value in (cast(dict[str, Any], defaults) if isinstance(defaults, dict) else {}).items():
        known[key] = _default(value)
    known |= given
    return {
        key if ":" in key else f"{project.name}:{key}": _text(value)
        for key, value in known.items()
        if value is not None
    }


def _default(declared: Any) -> Any:
    """The value of one key of a project's ``config:``, which may be declared with a type."""
    if not isinstance(declared, dict):
        return declared
    known = cast(dict[str, Any], declared)
    is_declaration = any(word in known for word in ("default", "value", "type"))
    return known.get("value", known.get("default")) if is_declaration else known


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and set(cast(dict[str, Any], value)) == {"secure"}:
        return STAND_IN
    return json.dumps(_without_secrets(value))


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        known = cast(dict[str, Any], value)
        return STAND_IN if set(known) == {"secure"} else {key: _without_secrets(one) for key, one in known.items()}
    return [_without_secrets(one) for one in cast(list[Any], value)] if isinstance(value, list) else value


def _require_python(project: Project) -> None:
    runtime: Any = project.settings.get("runtime")
    name = cast(dict[str, Any], runtime).get("name") if isinstance(runtime, dict) else runtime
    if name != "python":
        remedy = "Check the engine's preview of it instead: pulumi preview --json --show-sames > plan.json, and --plan."
        file = str(project.root / "Pulumi.yaml")
        raise SpecError([Problem(("runtime",), f"is '{name}', and only Python runs here.", remedy, file)])


def _run(
    project: Project,
    stack: str,
    config: Mapping[str, str],
    monitor: RecordingMonitor,
    engine: ListeningEngine,
    directory: Path,
) -> BaseException | None:
    """Run the program; returns what it ended in, None when it ended well."""

    def program() -> None:
        runpy.run_path(str(project.program), run_name="__main__")

    def run() -> BaseException | None:
        reset_options(
            project=project.name,
            stack=stack,
            root_directory=str(project.root),
            organization="organization",
            monitor_address=cast(Any, monitor),
            engine_address=cast(Any, engine),
            preview=True,
        )
        set_all_config(dict(config))
        return _awaited(program)

    path = list(sys.path)
    sys.path.insert(0, str(directory))
    try:
        # What a program prints is no part of the report.
        with chdir(directory), redirect_stdout(sys.stderr):
            return contextvars.copy_context().run(run)
    finally:
        sys.path[:] = path


def _load_leanly(stack_file: Path) -> None:
    """Let the SDKs of the clouds that a stack file names load piece by piece; of no other is anything loaded."""
    for package in clouds_named_in(stack_file):
        # An SDK that is not installed is missed, and told of, where the program imports it.
        with suppress(ImportError):
            load_leanly(sdk_module(package), SERVICES[package])


def _awaited(program: Callable[[], None]) -> BaseException | None:
    loop = asyncio.new_event_loop()
    loop.set_default_executor(_Here())
    loop.set_exception_handler(_told_already)
    error: BaseException | None = None
    try:
        loop.run_until_complete(run_in_stack(cast(Any, program)))
    except KeyboardInterrupt:
        raise
    except SystemExit as ended:
        error = ended if ended.code not in (None, 0) else None
    except BaseException as raised:  # noqa: BLE001 - whatever a program raises is told as the program's own
        error = raised
    for task in asyncio.all_tasks(loop):
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            loop.run_until_complete(task)
    loop.close()
    return error


def _told_already(_loop: asyncio.AbstractEventLoop, _context: dict[str, Any]) -> None:
    """Of a failure the first error is told as the program's end; the futures that hang on it only repeat it."""


class _Here(ThreadPoolExecutor):
    """An executor that does the work at once: the monitor's calls are quick, and threads would only shuffle them."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for the result
            done.set_exception(error)
        return done


def _place(project: Project, file: StackFile | None, shown_in: Path) -> Place:
    if file is not None:
        return Place(file.shown_as, file.line_of(()) or 1)
    return Place(shown(project.root / "Pulumi.yaml", shown_in), 1)


def _explained(error: BaseException, directory: Path, file: StackFile | None, shown_in: Path) -> Exception:
    if isinstance(error, SpecError):
        problems = error.problems
        described = file is not None and file.cluster is not None
        return SpecError(one if one.file or not described else _in_file(one, file) for one in problems)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(directory)]
    where = (shown(Path(own[-1].filename), shown_in), own[-1].lineno) if own else (shown(directory, shown_in), None)
    if isinstance(error, RunError):
        return SpecError([Problem((), str(error), "", *where)])
    if isinstance(error, SystemExit):
        return SpecError([Problem((), f"the program ended itself with exit code {error.code}.", "", *where)])
    module = _NO_MODULE.search(str(error)) if isinstance(error, ImportError) else None
    if module:
        message = f"the program needs the module '{module[1]}', which this Python does not have."
        remedy = f"Install it beside gpuyard: {sys.executable} -m pip install ..."
        return SpecError([Problem((), message, remedy, *where)])
    if frames and frames[-1].filename.startswith(tuple(f"{one}{os.sep}" for one in _OWN_PACKAGES)):
        return ProgramFaultError(f"gpuyard's own code broke: {type(error).__name__}: {error}")
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return SpecError([Problem((), f"the program failed: {text}", "", *where)])


def _in_file(problem: Problem, file: StackFile | None) -> Problem:
    return problem if file is None else file.located(problem)
