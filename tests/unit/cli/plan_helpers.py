"""Running ``gpuyard plan`` in a test."""

import json
import sys
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from gpuyard.cli import main
from gpuyard.cli.plan import plan

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(plan)


def run(*arguments: str) -> str:
    """What the command prints to standard output."""
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None:
        raise result.exception
    assert result.exit_code == 0
    return result.stdout


def data(*arguments: str) -> Any:
    """What the command prints as JSON, which has neither Infinity nor NaN."""
    return json.loads(run(*arguments, "--format", "json"), parse_constant=pytest.fail)


def flat(text: str) -> str:
    """A text without the folding of its lines."""
    return " ".join(text.split())


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """The problems that ``main.run`` prints; exit code 2, nothing on standard output but a plan, and no traceback."""
    monkeypatch.setattr(sys, "argv", ["gpuyard", "plan", *arguments])
    monkeypatch.setattr(main, "app_of", lambda *_: lambda: app(list(arguments)))
    with pytest.raises(SystemExit) as ended:
        main.run()
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert "Traceback" not in told
    head, *lines = told.splitlines()
    assert head == f"{len(lines)} problem{'s' if len(lines) > 1 else ''}:"
    return [line.strip() for line in lines]
