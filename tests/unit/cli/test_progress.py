"""Live progress: events of the engine in, what a person sees out."""

import json
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from gpuyard.cli import progress as progress_module
from gpuyard.cli import sandbox
from gpuyard.cli.progress import Progress, following, run_with_progress
from gpuyard.sandbox.session import Outcome, Session

URN = "urn:pulumi:dev::gpuyard::gpuyard:index:TrainingCluster$"
VPC = ("aws:ec2/vpc:Vpc", "dev-vpc")
BUCKET = ("aws:s3/bucket:Bucket", "dev-checkpoints")


def step(kind: str, what: tuple[str, str], operation: str = "create", *, custom: bool = True) -> dict[str, Any]:
    """One event about a resource, as Pulumi 3.274.1 logs it, less what is not read."""
    urn = f"{URN}{what[0]}::{what[1]}"
    return {kind: {"metadata": {"op": operation, "urn": urn, "type": what[0], "new": {"custom": custom}, "old": None}}}


def begins(what: tuple[str, str], operation: str = "create", *, custom: bool = True) -> dict[str, Any]:
    return step("resourcePreEvent", what, operation, custom=custom)


def ends(what: tuple[str, str], operation: str = "create") -> dict[str, Any]:
    return step("resOutputsEvent", what, operation)


def finding(level: str, policy: str, message: str) -> dict[str, Any]:
    text = f"<{{%reset%}}>What the policy demands.\n{message}<{{%reset%}}>\n"
    return {"policyEvent": {"message": text, "policyName": policy, "enforcementLevel": level}}


def told(severity: str, message: str, *, ephemeral: bool = False) -> dict[str, Any]:
    return {"diagnosticEvent": {"message": f"<{{%fg 1%}}>{message}", "severity": severity, "ephemeral": ephemeral}}


def after(*events: dict[str, Any], expected: int = 0) -> Progress:
    """Progress after one event a second."""
    found = Progress("up", "dev", expected)
    for second, event in enumerate(events):
        found.take({"sequence": second, **event}, now=float(second))
    return found


def seen(progress: Progress, now: float = 10.0, width: int = 100) -> list[str]:
    console = Console(width=width, force_terminal=False, file=open(os.devnull, "w"))  # noqa: SIM115
    with console.capture() as capture:
        console.print(progress.view(now, began=0.0))
    return [line.rstrip() for line in capture.get().splitlines()]


def test_nothing_is_known_before_the_first_event() -> None:
    (line,) = seen(after())
    assert "up dev: preview first" in line
    assert "starting" in line


def test_what_is_at_work_is_shown_with_its_seconds_the_longest_first() -> None:
    bar, *work = seen(after(begins(VPC), begins(BUCKET), ends(BUCKET), begins(("aws:fsx/x:Lustre", "dev-fs"))))
    assert "1/3" in bar
    assert "10 s" in bar
    assert work == ["  + aws:ec2:Vpc dev-vpc  10 s", "  + aws:fsx:Lustre dev-fs  7 s"]


def test_a_preview_is_not_called_a_preview_twice() -> None:
    progress = Progress("preview", "dev")
    progress.take({"sequence": 0, **begins(VPC)}, now=0.0)
    (bar, *_) = seen(progress)
    assert "preview dev " in bar
    assert "preview first" not in bar


def test_resources_of_the_stack_s_record_are_expected() -> None:
    (bar,) = seen(after(begins(VPC, "same"), ends(VPC, "same"), expected=57))
    assert "1/57" in bar


def test_a_component_is_counted_and_not_shown_as_work() -> None:
    bar, *work = seen(after(begins(("gpuyard:index:GpuNodePool", "dev-train"), custom=False)))
    assert "0/1" in bar
    assert work == []


def test_changes_are_counted_by_what_they_are() -> None:
    events = [begins(VPC), ends(VPC), begins(BUCKET, "update"), ends(BUCKET, "update")]
    same = [begins(("aws:iam/role:Role", "r"), "same"), ends(("aws:iam/role:Role", "r"), "same")]
    (bar,) = seen(after(*events, *same))
    assert "1 to create, 1 to update" in bar
    assert "same" not in bar


def test_the_update_begins_anew_and_knows_how_much_there_is() -> None:
    progress = after(begins(VPC), ends(VPC), begins(BUCKET), ends(BUCKET), finding("advisory", "budget", "none"))
    progress.take({"sequence": 0, **begins(VPC)}, now=6.0)
    progress.take({"sequence": 1, **ends(VPC)}, now=7.0)
    (bar,) = seen(progress)
    assert "up dev ━" in bar
    assert "1/2" in bar
    assert "1 created" in bar


def test_a_replacement_is_one_resource_in_three_steps() -> None:
    steps = [
        event
        for operation in ("create-replacement", "replace", "delete-replaced")
        for event in (begins(VPC, operation), ends(VPC, operation))
    ]
    bar, *_ = seen(after(*steps))
    assert "1/1" in bar
    bar, work = seen(after(begins(VPC, "create-replacement")))
    assert work == "  ± aws:ec2:Vpc dev-vpc  10 s"


def test_findings_and_errors_are_shown_what_stops_the_run_first() -> None:
    lines = seen(
        after(
            finding("mandatory", "fast-fabric", "[FAB001] no NVLink."),
            *(finding("advisory", f"advice-{number}", "[OPS001] nobody looks.") for number in range(5)),
            told("warning", "the record is old"),
            told("error", "no capacity\nin us-east-1a"),
            told("error", "retrying", ephemeral=True),
            told("info", "hello"),
        )
    )
    assert lines[1:] == [
        "  error: no capacity",
        "  mandatory: fast-fabric: [FAB001] no NVLink.",
        "  warning: the record is old",
        "  advisory: advice-4: [OPS001] nobody looks.",
        "    and 4 more",
    ]


def test_a_resource_that_failed_is_said_and_no_longer_at_work() -> None:
    bar, line = seen(after(begins(VPC), step("resOpFailedEvent", VPC)))
    assert "0/0" not in bar
    assert line == "  error: aws:ec2:Vpc dev-vpc: could not be created"


def test_a_line_never_wraps_and_names_are_not_markup() -> None:
    lines = seen(after(begins(("aws:ec2/vpc:Vpc", "[red]" + "x" * 200))), width=60)
    assert len(lines) == 2
    assert lines[1].startswith("  + aws:ec2:Vpc [red]xxx")
    assert all(len(line) <= 60 for line in lines)


def test_many_at_work_are_the_first_and_a_number() -> None:
    lines = seen(after(*(begins(("aws:ec2/vpc:Vpc", f"vpc-{number}")) for number in range(30))), now=40.0)
    assert len(lines) == 1 + 8 + 1
    assert lines[-1] == "    and 22 more"


def write(log: Path, *events: dict[str, Any], end: str = "\n") -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write("\n".join(json.dumps(event) for event in events) + end)


def test_a_log_is_followed_while_it_grows_and_read_to_its_end(tmp_path: Path) -> None:
    log, taken, first = tmp_path / "events.json", list[Any](), threading.Event()

    def take(event: Any) -> None:
        taken.append(event["sequence"])
        first.set()

    with following(log, take):
        write(log, {"sequence": 0})
        assert first.wait(5)
        with log.open("a") as file:
            file.write('{"sequen')
            file.flush()
            file.write('ce": 1}\n{"sequence": 2}\n')
    assert taken == [0, 1, 2]


def test_a_log_that_begins_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    log, taken, ready = tmp_path / "events.json", list[int](), threading.Event()

    def take(event: Any) -> None:
        taken.append(event["sequence"])
        if event["sequence"] == 2:
            ready.set()

    with following(log, take):
        write(log, {"sequence": 0}, {"sequence": 1}, {"sequence": 2})
        assert ready.wait(5)
        log.write_text("")
        write(log, {"sequence": 0, "of": "the update"})
    assert taken == [0, 1, 2, 0]


def test_a_log_that_began_anew_and_is_longer_already_is_read_from_its_beginning(tmp_path: Path) -> None:
    log, taken, ready, again = tmp_path / "events.json", list[int](), threading.Event(), threading.Event()

    def take(event: Any) -> None:
        taken.append(event["sequence"])
        (again if event["sequence"] == 1 else ready).set()

    with following(log, take):
        write(log, {"sequence": 7})
        assert ready.wait(5)
        staged = tmp_path / "new"
        write(staged, {"sequence": 0, "text": "longer than before"}, {"sequence": 1})
        # In one step, so that the log is never seen empty.
        staged.replace(log)
        assert again.wait(5)
    assert taken == [7, 0, 1]


def test_a_log_that_never_appears_is_no_problem(tmp_path: Path) -> None:
    with following(tmp_path / "none", pytest.fail):
        pass


class FakeSession:
    """A session whose engine logs two events and prints a result."""

    def __init__(self, code: int = 0) -> None:
        self.code = code
        self.arguments: tuple[str, ...] = ()
        self.workspace = SimpleNamespace(state=lambda stack: {"resources": [{}] * 3})
        self.debug: str | None = None

    def run(self, stack: str, verb: str, *flags: str, capture: bool) -> Outcome:
        assert capture
        self.arguments = (stack, verb, *flags)
        self.debug = os.environ.get("PULUMI_DEBUG_COMMANDS")
        log = Path(flags[flags.index("--event-log") + 1])
        write(log, {"sequence": 0, **begins(VPC)}, {"sequence": 1, **ends(VPC)})
        return Outcome(self.code, "Updating (dev):\n + aws:ec2:Vpc dev-vpc created\nOutputs:\n    a: 1\n")


def test_a_run_is_asked_for_its_events_and_its_environment_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PULUMI_DEBUG_COMMANDS", raising=False)
    session = FakeSession()
    with open(os.devnull, "w") as nowhere:
        outcome = run_with_progress(cast(Session, session), "dev", "up", "--yes", console=Console(file=nowhere))
    assert outcome.code == 0
    assert session.arguments[:4] == ("dev", "up", "--yes", "--event-log")
    assert session.debug == "true"
    assert "PULUMI_DEBUG_COMMANDS" not in os.environ
    assert not Path(session.arguments[4]).exists()


@pytest.mark.parametrize("looks_on", [True, False])
def test_progress_is_for_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], looks_on: bool
) -> None:
    calls: list[tuple[Any, ...]] = []

    def plain(*arguments: str) -> Outcome:
        calls.append(("plain", *arguments))
        return Outcome(0)

    def living(session: Any, *arguments: str, console: Console) -> Outcome:
        calls.append(("living", *arguments))
        return Outcome(0, "Updating (dev):\n + one created\nResources:\n    + 1 created\n")

    monkeypatch.setattr(sandbox, "is_watched", lambda: looks_on)
    monkeypatch.setattr(progress_module, "run_with_progress", living)
    monkeypatch.delenv("NO_COLOR", raising=False)
    sandbox._run(cast(Session, SimpleNamespace(run=plain)), "dev", "up", "--yes")
    if looks_on:
        assert calls == [("living", "dev", "up", "--yes", "--suppress-progress", "--color", "always")]
        assert capsys.readouterr().out == "Resources:\n    + 1 created\n"
    else:
        assert calls == [("plain", "dev", "up", "--yes", "--suppress-progress")]


@pytest.mark.parametrize(
    ("output", "end"),
    [
        (
            "Previewing update (dev):\n + a create\nResources:\n    + 1 to create\n\nUpdating (dev):\n + a created\n"
            "\x1b[38;5;13m\x1b[1mPolicies:\x1b[0m\n    fine\nOutputs:\n    a: 1\n",
            "\x1b[38;5;13m\x1b[1mPolicies:\x1b[0m\n    fine\nOutputs:\n    a: 1",
        ),
        ("Refreshing (dev):\n    a unchanged\nResources:\n    1 unchanged\n", "Resources:\n    1 unchanged"),
        ("something else\n", "something else"),
        ("", ""),
    ],
)
def test_the_end_of_what_the_engine_says_is_shown(output: str, end: str) -> None:
    assert sandbox.result_of(output) == end
