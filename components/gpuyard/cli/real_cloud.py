"""What the commands do with ``--no-sandbox``: the stack's own backend and the real cloud, through the Automation API.

https://www.pulumi.com/docs/iac/automation-api/
"""

import json
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import typer
from pulumi import automation
from rich.console import Console
from rich.markup import escape

from gpuyard.cli.progress import Progress, plain_event, shown
from gpuyard.cli.sandbox import Checked, checked, is_watched, result_of, show_plan
from gpuyard.sandbox.problems import SandboxError
from gpuyard.spec.problems import Problem, SpecError

Verb = Literal["up", "preview", "refresh", "destroy"]
Result = TypeVar("Result")

_INSTALL = "https://www.pulumi.com/docs/install/"
_HIDDEN = "[secret]"
_console = Console(highlight=False, soft_wrap=True)


class RealCloudError(SandboxError):
    """Pulumi's own CLI or its backend is not ready for work on a real cloud."""


@dataclass(frozen=True, slots=True)
class _Run:
    """One verb of a stack: its preview, what it does after that, and what a person is asked in between."""

    preview: Callable[..., Any]
    work: Callable[..., Any] | None
    question: str


def run(verb: Verb, root: Path, stack: str, policy_pack: Path | None = None, *, yes: bool = False) -> int:
    """Run one verb on a real cloud: preview, question, work; returns the exit code.

    Args:
        verb: What is done.
        root: Folder of the project.
        stack: The stack, which exists in its backend.
        policy_pack: Folder of a policy pack; the project's own when left out.
        yes: Whether nobody is asked after the preview.

    Returns:
        0, or 1 when the engine, a policy or the person said no.

    Raises:
        SpecError: Bad input, or nobody is there to be asked.
        RealCloudError: The CLI is missing, not logged in, or another run holds the stack.
    """
    found = checked(root, stack, policy_pack)
    if verb != "preview" and not yes and not is_watched():
        message = f"is missing: nobody is there to be asked whether to {verb} a real cloud."
        raise SpecError([Problem(("--yes",), message, "Look at 'gpuyard preview' first, then add --yes.")])
    selected, backend = _selected(found, stack)
    _console.print(f"[bold]{escape(stack)}[/bold] in {escape(backend)}, on the [bold]real[/bold] cloud")
    show_plan(found.plan)
    progress = Progress(verb, stack)
    what = _run_of(verb, selected, [str(pack) for pack in found.packs])
    try:
        _shown_run(what.preview, progress, whole=True)
        if what.work is None:
            return 0
        if not yes and not typer.confirm(what.question, default=False):
            _console.print("Nothing was done.")
            return 1
        _shown_run(what.work, progress, whole=False)
    except automation.ConcurrentUpdateError as error:
        message = f"stack '{stack}' is held by another run; when there is none: pulumi cancel -s {stack}\n{error}"
        raise RealCloudError(message) from None
    except automation.CommandError as error:
        # With progress nothing of it has been seen; without, the engine has printed it itself.
        if is_watched():
            print(error)
        _console.print(f"\nThe {verb} of '{stack}' did not succeed.", style="red")
        return 1
    return 0


def outputs(root: Path, stack: str) -> int:
    """Print a stack's outputs as JSON, secrets hidden; returns the exit code."""
    selected, _ = _selected(checked(root, stack, None), stack)
    values = {key: _HIDDEN if value.secret else value.value for key, value in selected.outputs().items()}
    print(json.dumps(values, indent=2))
    return 0


def _selected(found: Checked, stack: str) -> tuple[automation.Stack, str]:
    """The stack in its backend, and where that is."""
    for program in ("pulumi", "pulumi-language-python"):
        if shutil.which(program) is None:
            message = f"there is no '{program}' on PATH: a real cloud needs Pulumi's own CLI, {_INSTALL}"
            raise RealCloudError(message)
    workspace = automation.LocalWorkspace(work_dir=str(found.project.root))
    try:
        who = workspace.who_am_i()
    except automation.CommandError as error:
        message = "the CLI is not logged in to a backend: pulumi login, or PULUMI_BACKEND_URL and its credentials"
        raise RealCloudError(f"{message}\n{error}") from None
    backend = who.url or "the backend"
    try:
        return automation.Stack.select(stack, workspace), backend
    except automation.StackNotFoundError:
        message = f"there is no stack '{stack}' in {backend}."
        raise SpecError([Problem((), message, f"Make it: pulumi stack init {stack}")]) from None
    except automation.CommandError as error:
        raise RealCloudError(f"stack '{stack}' cannot be read from {backend}\n{error}") from None


def _run_of(verb: Verb, stack: automation.Stack, packs: list[str]) -> _Run:
    def preview(**more: Any) -> Any:
        return stack.preview(policy_packs=packs, **more)

    def up(**more: Any) -> Any:
        return stack.up(policy_packs=packs, show_secrets=False, **more)

    if verb == "preview":
        return _Run(preview, None, "")
    if verb == "up":
        return _Run(preview, up, "Make these changes in the real cloud? They may cost money.")
    if verb == "refresh":
        return _Run(stack.preview_refresh, stack.refresh, "Take this into the stack's record?")
    return _Run(stack.preview_destroy, stack.destroy, "Remove all of this from the real cloud, with its data?")


def _shown_run(work: Callable[..., Any], progress: Progress, *, whole: bool) -> None:
    """Run something of the Automation API: with live progress on a terminal, else as the engine prints it."""
    if not is_watched():
        _undisturbed(lambda: work(on_output=_print, on_error=_print, suppress_progress=True))
        return

    def take(event: automation.EngineEvent) -> None:
        progress.take(plain_event(event), time.monotonic())

    with shown(progress, _console):
        result = _undisturbed(lambda: work(on_event=take, suppress_progress=True, color="always"))
    print(result.stdout if whole else result_of(result.stdout))


def _print(text: str) -> None:
    # The Automation API gives lines, with their ends or without.
    print(text.rstrip("\n"), flush=True)


def _undisturbed(work: Callable[[], Result]) -> Result:
    """The result of something that ends by itself after Ctrl-C: the engine hears it too, and keeps its record whole."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(work)
        while True:
            try:
                return future.result()
            except KeyboardInterrupt:
                if future.done():
                    raise
