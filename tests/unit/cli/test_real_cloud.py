"""The commands with ``--no-sandbox``; what the engine does then is in ``tests/engine/test_real_cloud.py``."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import typer
from pulumi import automation
from pulumi.automation import EngineEvent
from typer.testing import CliRunner

from gpuyard.cli import real_cloud, stacks
from gpuyard.cli.progress import Progress, plain_event
from gpuyard.cli.real_cloud import RealCloudError, run
from gpuyard.spec.problems import SpecError

ROOT = Path(__file__).parents[3]
PRE_EVENT = {
    "sequence": 3,
    "timestamp": 1,
    "resourcePreEvent": {
        "metadata": {
            "op": "create",
            "urn": "urn:pulumi:dev::p::aws:ec2/vpc:Vpc::net",
            "type": "aws:ec2/vpc:Vpc",
            "provider": "",
            "old": None,
            "new": {"type": "aws:ec2/vpc:Vpc", "urn": "u", "id": "", "parent": "", "provider": "", "custom": True},
        }
    },
}
POLICY_EVENT = {
    "sequence": 4,
    "timestamp": 1,
    "policyEvent": {
        "message": "What.\n[FAB001] no NVLink.",
        "color": "never",
        "policyName": "fast",
        "policyPackName": "gpuyard",
        "policyPackVersion": "1",
        "policyPackVersionTag": "1",
        "enforcementLevel": "mandatory",
    },
}
ERROR_EVENT = {
    "sequence": 5,
    "timestamp": 1,
    "diagnosticEvent": {"message": "no capacity", "color": "never", "severity": "error"},
}


class FakeStack:
    """A stack of the Automation API that notes what it is asked for."""

    def __init__(self, failing: str = "", error: type[automation.CommandError] = automation.CommandError) -> None:
        self.calls: list[str] = []
        self.packs: list[str] | None = None
        self.failing, self.error = failing, error

    def _done(self, verb: str, more: dict[str, Any]) -> Any:
        self.calls.append(verb)
        if verb == self.failing:
            raise self.error(cast(Any, "code: 255\n stderr: quota exceeded"))
        if "on_event" in more:
            more["on_event"](EngineEvent.from_json(PRE_EVENT))
        else:
            more["on_output"](f"{verb} of the engine\n")
        return SimpleNamespace(stdout=f"Updating (dev):\n{verb} of the engine\nResources:\n    1 {verb}\n")

    def preview(self, policy_packs: list[str], **more: Any) -> Any:
        self.packs = policy_packs
        return self._done("preview", more)

    def up(self, policy_packs: list[str], show_secrets: bool, **more: Any) -> Any:
        assert not show_secrets
        assert policy_packs == self.packs
        return self._done("up", more)

    def preview_destroy(self, **more: Any) -> Any:
        return self._done("preview_destroy", more)

    def destroy(self, **more: Any) -> Any:
        return self._done("destroy", more)


@pytest.fixture
def selected(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts a fake stack in the place of the backend's, and a person before the terminal or not."""

    def put(stack: FakeStack, *, watched: bool = False, says: bool | None = None) -> FakeStack:
        def confirm(question: str, default: bool) -> bool:
            assert not default
            assert says is not None, "nobody was to be asked"
            return says

        monkeypatch.setattr(real_cloud, "_selected", lambda found, name: (stack, "file:///state"))
        monkeypatch.setattr(real_cloud, "is_watched", lambda: watched)
        monkeypatch.setattr(real_cloud.typer, "confirm", confirm)
        return stack

    return put


def test_up_previews_asks_and_works(selected: Any, capsys: pytest.CaptureFixture[str]) -> None:
    stack = selected(FakeStack(), watched=True, says=True)
    assert run("up", ROOT, "aws-dev") == 0
    assert stack.calls == ["preview", "up"]
    assert stack.packs == [str(ROOT / "policies")]
    out = capsys.readouterr().out
    assert "aws-dev in file:///state, on the real cloud" in out
    assert "preview of the engine" in out
    # Of the update only the end is shown: progress has shown the rest.
    assert "up of the engine" not in out
    assert "1 up" in out


def test_a_person_who_says_no_changes_nothing(selected: Any, capsys: pytest.CaptureFixture[str]) -> None:
    stack = selected(FakeStack(), watched=True, says=False)
    assert run("destroy", ROOT, "aws-dev") == 1
    assert stack.calls == ["preview_destroy"]
    assert "Nothing was done." in capsys.readouterr().out


def test_yes_asks_nobody_and_a_log_gets_the_engine_s_own_lines(
    selected: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    stack = selected(FakeStack())
    assert run("destroy", ROOT, "aws-dev", yes=True) == 0
    assert stack.calls == ["preview_destroy", "destroy"]
    assert "destroy of the engine\n" in capsys.readouterr().out


def test_without_a_terminal_and_without_yes_nothing_is_started(selected: Any) -> None:
    stack = selected(FakeStack())
    with pytest.raises(SpecError) as refused:
        run("up", ROOT, "aws-dev")
    assert str(refused.value) == (
        "--yes: is missing: nobody is there to be asked whether to up a real cloud. "
        "Look at 'gpuyard preview' first, then add --yes."
    )
    assert stack.calls == []


def test_a_preview_needs_no_yes(selected: Any) -> None:
    stack = selected(FakeStack())
    assert run("preview", ROOT, "aws-dev") == 0
    assert stack.calls == ["preview"]


def test_a_preview_that_fails_ends_before_the_question(selected: Any, capsys: pytest.CaptureFixture[str]) -> None:
    stack = selected(FakeStack(failing="preview"), watched=True)
    assert run("up", ROOT, "aws-dev") == 1
    assert stack.calls == ["preview"]
    out = capsys.readouterr().out
    assert "quota exceeded" in out
    assert "The up of 'aws-dev' did not succeed." in out


def test_a_stack_that_another_run_holds_is_said(selected: Any) -> None:
    selected(FakeStack(failing="up", error=automation.ConcurrentUpdateError))
    with pytest.raises(RealCloudError, match="'aws-dev' is held by another run; when there is none: pulumi cancel"):
        run("up", ROOT, "aws-dev", yes=True)


def test_a_wrong_stack_file_is_refused_before_any_backend_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_cloud, "_selected", pytest.fail)
    with pytest.raises(SpecError, match="there is no stack 'aws-prd'. Did you mean 'aws-prod'?"):
        run("preview", ROOT, "aws-prd")


def test_a_missing_cli_is_named_with_where_it_comes_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        RealCloudError, match="there is no 'pulumi' on PATH: a real cloud needs Pulumi's own CLI, https"
    ):
        run("preview", ROOT, "aws-dev")


def test_a_folder_of_the_sandbox_contradicts_no_sandbox(tmp_path: Path) -> None:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(stacks.up)
    result = CliRunner().invoke(app, ["aws-dev", "--no-sandbox", "--sandbox", str(tmp_path)])
    assert isinstance(result.exception, SpecError)
    assert "--sandbox: contradicts '--no-sandbox'." in str(result.exception)


def test_events_of_the_automation_api_are_counted_like_those_of_the_log() -> None:
    by_log, by_api = Progress("up", "dev"), Progress("up", "dev")
    for event in (PRE_EVENT, POLICY_EVENT, ERROR_EVENT):
        by_log.take(event, now=1.0)
        by_api.take(plain_event(EngineEvent.from_json(event)), now=1.0)
    assert by_api.running == by_log.running
    assert by_api.said == by_log.said == [("mandatory", "fast: [FAB001] no NVLink."), ("error", "no capacity")]


def test_ctrl_c_waits_for_the_engine_to_wind_down(monkeypatch: pytest.MonkeyPatch) -> None:
    presses = [True, True]

    class Future:
        def result(self) -> str:
            if presses:
                presses.pop()
                raise KeyboardInterrupt
            return "wound down"

        def done(self) -> bool:
            return False

    class Pool:
        def __init__(self, max_workers: int) -> None: ...
        def __enter__(self) -> "Pool":
            return self

        def __exit__(self, *error: object) -> None: ...
        def submit(self, work: Any) -> Future:
            return Future()

    monkeypatch.setattr(real_cloud, "ThreadPoolExecutor", Pool)
    assert real_cloud._undisturbed(lambda: "never") == "wound down"
