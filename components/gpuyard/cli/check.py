"""``gpuyard check``: the rules over stacks, from their programs, a preview or stored state; no cloud account needed."""

import os
import shutil
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

import typer

from gpuyard.cli.choice import checked_format
from gpuyard.spec.problems import Problem, SpecError, did_you_mean, one_of

if TYPE_CHECKING:
    from gpuyard_policy.checking import Job
    from gpuyard_policy.config import PackConfig
    from gpuyard_policy.report.model import FailOn, StackReport

Format = Literal["terminal", "markdown", "html", "json", "sarif", "junit"]
_FORMATS: tuple[Format, ...] = get_args(Format)
_ENDINGS: dict[str, Format] = {
    ".md": "markdown",
    ".html": "html",
    ".json": "json",
    ".sarif": "sarif",
    ".xml": "junit",
    ".txt": "terminal",
}
_FAIL_ON: tuple["FailOn", ...] = ("advisory", "mandatory")
_PROFILES = ("dev", "staging", "prod")
# The stack of a project without stack files.
_UNNAMED = "check"
_PIPE_WIDTH = 120


def check(
    stacks: Annotated[
        list[str] | None,
        typer.Argument(help="Names of stacks.", show_default="all that have a file"),
    ] = None,
    program: Annotated[
        Path,
        typer.Option("--program", "-C", help="Folder with Pulumi.yaml.", file_okay=False, show_default="this folder"),
    ] = Path(),
    plan: Annotated[
        Path | None,
        typer.Option("--plan", help="Check this output of: pulumi preview --json --show-sames", dir_okay=False),
    ] = None,
    state: Annotated[
        Path | None, typer.Option("--state", help="Check this output of: pulumi stack export", dir_okay=False)
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", help="Settings of the rules, YAML or JSON.", dir_okay=False, show_default="gpuyard-policy.yaml"
        ),
    ] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", help="dev, staging or prod.", show_default="what the stack's tags say")
    ] = None,
    output_format: Annotated[
        str | None,
        typer.Option("--format", help="terminal, markdown, html, json, sarif or junit.", show_default="terminal"),
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the report to this file, in the format of its ending (.md .html .json .sarif .xml .txt) "
            "unless --format says another. May be given several times.",
            dir_okay=False,
        ),
    ] = None,
    fail_on: Annotated[
        str, typer.Option("--fail-on", help="Lowest level of a finding that fails: advisory or mandatory.")
    ] = "mandatory",
    baseline: Annotated[
        Path | None, typer.Option("--baseline", help="Accept the findings in this file.", dir_okay=False)
    ] = None,
    write_baseline: Annotated[
        bool, typer.Option("--write-baseline", help="Write what is found to the file of --baseline, and accept it.")
    ] = False,
    diff: Annotated[
        str | None, typer.Option("--diff", help="Show only what is not found in this commit or branch too.")
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Stacks at a time.", show_default="one for each processor")
    ] = os.cpu_count() or 1,
) -> None:
    """Judge stacks by the rules, without a cloud account; see docs/check.md."""
    from gpuyard_policy import checking

    level = _one_of("--fail-on", fail_on, _FAIL_ON)
    outputs = _outputs(output_format, output or [])
    settings = _settings(config, profile, Path.cwd() if plan or state else program)
    wanted = _jobs(stacks or [], program, plan, state)
    _require_fitting(plan, state, baseline, diff, write_baseline=write_baseline)
    today = datetime.now(UTC).date()
    reports = (
        checking.check_all(wanted, settings, today, jobs)
        if diff is None
        else _compared(wanted, settings, today, jobs, diff, program)
    )
    if baseline is not None:
        reports = _with_baseline(reports, baseline, today, write=write_baseline)
    _write(reports, cast("FailOn", level), outputs, today)
    raise typer.Exit(_exit_code(reports, cast("FailOn", level)))


def _jobs(stacks: list[str], program: Path, plan: Path | None, state: Path | None) -> "list[Job]":
    from gpuyard.sandbox.workspace import read_project
    from gpuyard_policy.checking import Job

    if plan is not None or state is not None:
        if stacks or (plan is not None and state is not None):
            raise SpecError(
                [Problem(("--plan",), "a plan or a state is a stack by itself.", "Give one of them alone.")]
            )
        path = cast(Path, plan or state)
        return [Job(str(path), "plan" if plan is not None else "state", path, Path.cwd())]
    project = read_project(program)
    for stack in stacks:
        project.stack_file(stack)
    names = list(dict.fromkeys(stacks)) or project.stacks() or [_UNNAMED]
    return [Job(name, "program", project.root, Path.cwd()) for name in names]


def _settings(path: Path | None, profile: str | None, folder: Path) -> "PackConfig":
    from gpuyard_policy.config import Profile
    from gpuyard_policy.settings_file import project_settings, settings_of

    settings = project_settings(folder.resolve()) if path is None else settings_of(_read_yaml(path), path)
    if profile is None:
        return settings
    named = cast(Profile, _one_of("--profile", profile, _PROFILES))
    return settings.model_copy(update={"profile": named})


def _read_yaml(path: Path) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        # JSON is YAML.
        data: Any = cast(Any, YAML(typ="safe")).load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError([Problem((), f"cannot be read: {error.strerror}.", file=str(path))]) from None
    except (YAMLError, UnicodeDecodeError, ValueError) as error:
        raise SpecError([Problem((), f"is not valid YAML: {' '.join(str(error).split())}.", file=str(path))]) from None
    return data


def _outputs(given: str | None, paths: list[Path]) -> list[tuple[Path | None, Format]]:
    """Where the report goes, and in which format; None is standard output."""
    chosen: Format | None = None if given is None else cast(Format, checked_format(given, _FORMATS))
    if not paths:
        return [(None, chosen or "terminal")]
    if chosen is not None and len(paths) > 1:
        message = "one format cannot be that of several files."
        raise SpecError([Problem(("--format",), message, "Leave it out: each file's ending says its format.")])
    found: list[tuple[Path | None, Format]] = []
    for path in paths:
        of_ending = chosen or _ENDINGS.get(path.suffix)
        if of_ending is None:
            remedy = f"Give --format, or one of these endings: {one_of(_ENDINGS)}."
            raise SpecError([Problem(("--output",), f"the ending of '{path}' names no format.", remedy)])
        found.append((path, of_ending))
    # People who wait for files want to see how it went all the same.
    return [*found, (None, "terminal")]


def _require_fitting(
    plan: Path | None, state: Path | None, baseline: Path | None, diff: str | None, *, write_baseline: bool
) -> None:
    if write_baseline and baseline is None:
        raise SpecError([Problem(("--write-baseline",), "needs a file.", "Name it with --baseline FILE.")])
    if diff is not None and (plan is not None or state is not None):
        message = "compares programs, and a plan or state has no other version in git."
        raise SpecError([Problem(("--diff",), message, "Use --baseline for those.")])


def _compared(
    jobs: "list[Job]", settings: "PackConfig", today: date, processes: int, base_ref: str, program: Path
) -> "list[StackReport]":
    from gpuyard.cli.check_diff import compared

    return compared(jobs, settings, today, processes, base_ref, program)


def _with_baseline(reports: "list[StackReport]", path: Path, today: date, *, write: bool) -> "list[StackReport]":
    from dataclasses import replace

    from gpuyard_policy.known import baseline_text, read_baseline, with_baseline

    if write:
        found = {one.name: one.evaluation for one in reports if one.evaluation is not None}
        path.write_text(baseline_text(found, today), encoding="utf-8")
    written, known = read_baseline(path)
    accepted: list[StackReport] = []
    for one in reports:
        if one.evaluation is None:
            accepted.append(one)
            continue
        evaluation, mended = with_baseline(one.name, one.evaluation, known, written)
        note = (f"{mended} entries of {path} are mended: write it anew with --write-baseline.",) if mended else ()
        accepted.append(replace(one, evaluation=evaluation, notes=(*one.notes, *note)))
    return accepted


def _write(
    reports: "list[StackReport]", fail_on: "FailOn", outputs: list[tuple[Path | None, Format]], today: date
) -> None:
    for path, wanted in outputs:
        text = _text(reports, fail_on, wanted, today, shows=path is None and sys.stdout.isatty())
        if path is None:
            sys.stdout.write(text)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def _text(reports: "list[StackReport]", fail_on: "FailOn", wanted: Format, today: date, *, shows: bool) -> str:
    # Each writer is loaded where it is used: together they cost more than the rules.
    if wanted == "terminal":
        from gpuyard_policy.report.terminal import terminal_text

        width = shutil.get_terminal_size().columns if shows else _PIPE_WIDTH
        return terminal_text(reports, fail_on, width=width, color=shows and "NO_COLOR" not in os.environ)
    if wanted == "markdown":
        from gpuyard_policy.report.markdown import markdown_text

        return markdown_text(reports, fail_on)
    if wanted == "html":
        from gpuyard.catalog.prices import PriceBook
        from gpuyard_policy.report.html import html_text

        return html_text(reports, fail_on, PriceBook.load(), today.isoformat())
    if wanted == "sarif":
        from gpuyard_policy.report.sarif import sarif_text

        return sarif_text(reports, fail_on)
    if wanted == "junit":
        from gpuyard_policy.report.junit import junit_text

        return junit_text(reports, fail_on)
    from gpuyard_policy.report.json_report import json_text

    return json_text(reports, fail_on)


def _exit_code(reports: "list[StackReport]", fail_on: "FailOn") -> int:
    from gpuyard_policy.report.model import exit_code

    return exit_code(reports, fail_on)


def _one_of(option: str, given: str, allowed: tuple[str, ...]) -> str:
    if given in allowed:
        return given
    hint = f"{did_you_mean(given, allowed)} Allowed: {one_of(allowed)}.".strip()
    raise SpecError([Problem((option,), f"'{given}' is none of them.", hint)])
