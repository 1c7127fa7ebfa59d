"""Live progress of a run of the engine, from the events that it logs while it works.

The log is what Pulumi's Automation API reads (``--event-log``, ``sdk/python/lib/pulumi/automation/_stack.py`` and
``events.py`` in https://github.com/pulumi/pulumi): one JSON object a line, begun anew by the update after its preview.
"""

import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from gpuyard.sandbox.session import Outcome, Session

if TYPE_CHECKING:
    from pulumi.automation import EngineEvent

_RUNNING_SHOWN, _SAID_SHOWN = 8, 4
_BAR_WIDTH = 32
_POLL_SECONDS = 0.1
# A flag of the engine's debugging commands, which the Automation API uses as well.
_DEBUG_COMMANDS = "PULUMI_DEBUG_COMMANDS"
_UNCHANGED = ("same", "read", "refresh")
_SIGNS = {
    "create": ("+", "green"),
    "update": ("~", "yellow"),
    "delete": ("-", "red"),
    "same": (" ", "dim"),
    "read": (">", "cyan"),
    "refresh": ("~", "cyan"),
}
_REPLACING = ("±", "magenta")
_LEVELS = ("error", "warning")
_STOPPING = ("mandatory", "error")
# How the engine writes colours into its log.
_COLOUR = re.compile(r"<\{%[^%]*%\}>")


@dataclass(frozen=True, slots=True)
class _Work:
    operation: str
    kind: str
    name: str
    since: float
    is_component: bool


@dataclass
class Progress:
    """What a run has done so far, and what it is at.

    Args:
        verb: What runs.
        stack: On which stack.
        expected: Resources that there were before; more may come.
    """

    verb: str
    stack: str
    expected: int = 0
    previews: bool = True
    running: dict[str, _Work] = field(default_factory=dict[str, _Work])
    done: set[str] = field(default_factory=set[str])
    changes: Counter[str] = field(default_factory=Counter[str])
    said: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    _sequence: int = -1
    _lock: Lock = field(default_factory=Lock)

    def take(self, event: Mapping[str, Any], now: float) -> None:
        """Count one event.

        Args:
            event: The event, as the engine logs it.
            now: Seconds of a clock that only goes forward.
        """
        with self._lock:
            sequence = int(event.get("sequence", 0))
            if sequence <= self._sequence:
                self._begin_anew()
            self._sequence = sequence
            self._count(event, now)

    def view(self, now: float, began: float) -> RenderableType:
        """What a person sees.

        Args:
            now: Seconds of the clock.
            began: Seconds of the clock when the run began.

        Returns:
            The bar, what is in work and for how long, and what policies and the engine said last.
        """
        with self._lock:
            return Group(self._bar(now, began), *self._work_lines(now), *self._said_lines())

    def _begin_anew(self) -> None:
        """The preview is over: as many resources are expected of the update."""
        self.previews = False
        self.expected = max(self.expected, len(self.done))
        self.running.clear()
        self.done.clear()
        self.changes.clear()
        self.said.clear()

    def _count(self, event: Mapping[str, Any], now: float) -> None:
        if "resourcePreEvent" in event:
            work, urn = _work_of(event["resourcePreEvent"]["metadata"], now)
            self.running[urn] = work
        elif "resOutputsEvent" in event:
            work, urn = _work_of(event["resOutputsEvent"]["metadata"], now)
            self.running.pop(urn, None)
            self.done.add(urn)
            if work.operation not in _UNCHANGED:
                self.changes[work.operation] += 1
        elif "resOpFailedEvent" in event:
            work, urn = _work_of(event["resOpFailedEvent"]["metadata"], now)
            self.running.pop(urn, None)
            self.said.append(("error", f"{work.kind} {work.name}: could not be {_past(work.operation)}"))
        elif "policyEvent" in event:
            found = event["policyEvent"]
            # The policy's description comes first, what it found last.
            text = _lines(found["message"])[-1:]
            self.said.append((str(found["enforcementLevel"]), f"{found['policyName']}: {' '.join(text)}"))
        elif "diagnosticEvent" in event:
            told = event["diagnosticEvent"]
            level, text = str(told.get("severity")), _lines(told.get("message"))
            if level in _LEVELS and text and not told.get("ephemeral"):
                self.said.append((level, text[0]))

    def _bar(self, now: float, began: float) -> RenderableType:
        seen = len(self.done) + len(self.running)
        total = max(self.expected, seen)
        row = Table.grid(padding=(0, 1))
        changes = ", ".join(
            f"{count} {f'to {name}' if self.previews else _past(name)}" for name, count in sorted(self.changes.items())
        )
        first = ": preview first" if self.previews and self.verb != "preview" else ""
        row.add_row(
            Spinner("dots"),
            Text.assemble((f"{self.verb} {self.stack}", "bold"), first),
            ProgressBar(total=total or None, completed=len(self.done), width=_BAR_WIDTH, pulse=not total),
            Text(f"{len(self.done)}/{total}" if total else "starting"),
            Text(f"{now - began:.0f} s", style="dim"),
            Text(changes, style="dim"),
        )
        return row

    def _work_lines(self, now: float) -> Generator[RenderableType, None, None]:
        # The longest at work first: that is what a person waits for. A component is at work while its parts are.
        waiting = sorted((work for work in self.running.values() if not work.is_component), key=lambda work: work.since)
        for work in waiting[:_RUNNING_SHOWN]:
            sign, style = _SIGNS.get(work.operation, _REPLACING)
            line = Text(f"  {sign} ", style=style, no_wrap=True, overflow="ellipsis")
            line.append(f"{work.kind} ", style="default")
            line.append(work.name, style="bold default")
            line.append(f"  {now - work.since:.0f} s", style="dim default")
            yield line
        if len(waiting) > _RUNNING_SHOWN:
            yield Text(f"    and {len(waiting) - _RUNNING_SHOWN} more", style="dim")

    def _said_lines(self) -> Generator[RenderableType, None, None]:
        # What stops the run first, then the newest.
        newest = list(reversed(self.said))
        newest.sort(key=lambda one: one[0] not in _STOPPING)
        for level, text in newest[:_SAID_SHOWN]:
            style = "red" if level in _STOPPING else "yellow"
            yield Text(f"  {level}: {text}", style=style, no_wrap=True, overflow="ellipsis")
        if len(newest) > _SAID_SHOWN:
            yield Text(f"    and {len(newest) - _SAID_SHOWN} more", style="dim")


def run_with_progress(session: Session, stack: str, verb: str, *flags: str, console: Console) -> Outcome:
    """Run one verb of the engine and show its progress on a terminal.

    Args:
        session: The engine's session.
        stack: The stack.
        verb: ``preview``, ``up``, ``refresh`` or ``destroy``.
        flags: Further flags of that verb.
        console: The terminal.

    Returns:
        The engine's exit code and everything that it printed.

    Raises:
        BusyError: Another run works on the stack.
    """
    known = len(session.workspace.state(stack).get("resources", []))
    progress = Progress(verb, stack, known)
    with TemporaryDirectory() as folder, _debug_commands():
        log = Path(folder, "events.json")
        with shown(progress, console), following(log, lambda event: progress.take(event, time.monotonic())):
            return session.run(stack, verb, *flags, "--event-log", str(log), capture=True)


@contextmanager
def shown(progress: Progress, console: Console) -> Generator[None, None, None]:
    """Show progress on a terminal as long as something runs; nothing of it stays there."""
    began = time.monotonic()
    live = Live(get_renderable=lambda: progress.view(time.monotonic(), began), console=console, transient=True)
    with live:
        yield


def plain_event(event: "EngineEvent") -> dict[str, Any]:
    """An event of the Automation API in the form in which the engine logs it, as far as progress reads it."""
    steps = {
        "resourcePreEvent": event.resource_pre_event,
        "resOutputsEvent": event.res_outputs_event,
        "resOpFailedEvent": event.res_op_failed_event,
    }
    plain: dict[str, Any] = {"sequence": event.sequence}
    for name, step in steps.items():
        if step is not None:
            found = step.metadata
            state = found.new or found.old
            known = None if state is None else {"custom": state.custom}
            plain[name] = {"metadata": {"op": str(found.op.value), "urn": found.urn, "type": found.type, "new": known}}
    if event.policy_event is not None:
        found = event.policy_event
        level = {"message": found.message, "policyName": found.policy_name, "enforcementLevel": found.enforcement_level}
        plain["policyEvent"] = level
    if event.diagnostic_event is not None:
        told = event.diagnostic_event
        said = {"message": told.message, "severity": told.severity, "ephemeral": told.ephemeral}
        plain["diagnosticEvent"] = said
    return plain


@contextmanager
def following(log: Path, take: Callable[[Mapping[str, Any]], None]) -> Generator[None, None, None]:
    """Read a log of events as it grows, in a thread of its own; at the end all of it has been read.

    Args:
        log: The log; it need not be there yet, and may begin anew.
        take: Called with each event.
    """
    ended = Event()
    thread = Thread(target=_follow, args=(log, take, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _follow(log: Path, take: Callable[[Mapping[str, Any]], None], ended: Event) -> None:
    at = 0
    while True:
        last = ended.is_set()
        if log.exists():
            at = _take_new(log, at, take)
        if last:
            return
        ended.wait(_POLL_SECONDS)


def _take_new(log: Path, at: int, take: Callable[[Mapping[str, Any]], None]) -> int:
    """Take every whole line after a place; returns the place after them."""
    with log.open("rb") as file:
        if os.fstat(file.fileno()).st_size < at:
            at = 0
        file.seek(at)
        for line in file:
            if not line.endswith(b"\n"):
                # The engine is still writing it.
                break
            try:
                event = json.loads(line)
            except ValueError:
                # A part of a line: the log has begun anew and is longer already than what was read of the old one.
                return 0
            at += len(line)
            take(event)
    return at


@contextmanager
def _debug_commands() -> Generator[None, None, None]:
    """Let the engine, which inherits the environment, know its flag for an event log."""
    before = os.environ.get(_DEBUG_COMMANDS)
    os.environ[_DEBUG_COMMANDS] = "true"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_DEBUG_COMMANDS]
        else:
            os.environ[_DEBUG_COMMANDS] = before


def _work_of(metadata: Mapping[str, Any], now: float) -> tuple[_Work, str]:
    urn, kind = str(metadata["urn"]), str(metadata["type"])
    package, _, rest = kind.partition(":")
    short = f"{package}:{rest.split('/')[0]}:{kind.rsplit(':', 1)[-1]}" if "/" in rest else kind
    known: Mapping[str, Any] = metadata.get("new") or metadata.get("old") or {}
    is_component = known.get("custom") is False
    return _Work(str(metadata["op"]), short, urn.rsplit("::", 1)[-1], now, is_component), urn


def _lines(text: Any) -> list[str]:
    return _COLOUR.sub("", str(text or "")).strip().splitlines()


def _past(operation: str) -> str:
    return {"create": "created", "update": "updated", "delete": "deleted", "same": "unchanged"}.get(
        operation, operation.replace("-", " ")
    )
