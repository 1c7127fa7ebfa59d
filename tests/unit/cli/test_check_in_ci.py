"""The workflow of GitHub Actions and the hook of pre-commit, each by running its steps."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.policy.programs import BAD_MACHINE, GOOD_MACHINE, write_project

REPOSITORY = Path(__file__).parents[3]
WORKFLOW = REPOSITORY / ".github" / "workflows" / "gpuyard-check.yml"
HOOKS = REPOSITORY / ".pre-commit-hooks.yaml"
MARKER = "<!-- gpuyard check -->"
# Stands for pip and gh: writes down how it was called, and answers what the test put beside it.
RECORDER = """#!{python}
import json, pathlib, sys
here = pathlib.Path(__file__)
with (here.parent / "calls.jsonl").open("a") as file:
    file.write(json.dumps([here.name, *sys.argv[1:]]) + "\\n")
answer = here.parent / "comments.txt"
if here.name == "gh" and "--paginate" in sys.argv and answer.exists():
    print(answer.read_text())
"""


def load(path: Path) -> Any:
    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


def job() -> Any:
    return load(WORKFLOW)["jobs"]["check"]


class Runner:
    """As much of a runner of GitHub Actions as the workflow's own scripts need."""

    def __init__(self, folder: Path, program: str) -> None:
        self.root = write_project(folder / "repository", program)
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name in ("pip", "gh"):
            (self.bin / name).write_text(RECORDER.format(python=sys.executable))
            (self.bin / name).chmod(0o755)
        command = self.bin / "gpuyard"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gpuyard.cli.main "$@"\n')
        command.chmod(0o755)
        self.output, self.summary = folder / "output", folder / "summary"

    def step(self, name: str, **environment: str) -> int:
        (found,) = [step for step in job()["steps"] if step.get("name") == name]
        own = {"GITHUB_OUTPUT": str(self.output), "GITHUB_STEP_SUMMARY": str(self.summary), **job()["env"]}
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        # The shell of a step without its own: https://docs.github.com/actions/reference/workflow-syntax
        shell = ["bash", "-e", "-c", found["run"]]
        done = subprocess.run(
            shell, cwd=self.root, env={**os.environ, **own, "PATH": path, **environment}, capture_output=True, text=True
        )
        return done.returncode

    def outputs(self) -> dict[str, str]:
        lines = self.output.read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def calls(self) -> list[list[str]]:
        path = self.bin / "calls.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


COMMENT = {"GH_TOKEN": "t", "REPOSITORY": "o/r", "PULL_REQUEST": "7"}


def test_the_workflows_steps_report_comment_and_fail_last(tmp_path: Path) -> None:
    runner = Runner(tmp_path, BAD_MACHINE)
    assert runner.step("Install") == 0
    assert runner.calls() == [["pip", "install", ".[all]"]]
    assert runner.step("Check") == 0, "the gate comes after the reports"
    assert runner.outputs() == {"code": "1", "reported": "true"}
    written = {path.name for path in (runner.root / "gpuyard").iterdir()}
    assert written == {"report.md", "report.html", "report.sarif", "report.xml"}
    assert runner.summary.read_text().startswith(MARKER)
    assert runner.step("Comment", **COMMENT) == 0
    assert runner.calls()[-1][1:5] == ["api", "-X", "POST", "repos/o/r/issues/7/comments"]
    (runner.bin / "comments.txt").write_text("42\n43\n")
    assert runner.step("Comment", **COMMENT) == 0
    assert runner.calls()[-1][1:] == [
        "api",
        "-X",
        "PATCH",
        "repos/o/r/issues/comments/42",
        "-F",
        "body=@gpuyard/report.md",
    ]
    assert runner.step("Gate", CODE=runner.outputs()["code"]) == 1


def test_the_workflow_passes_a_good_stack_and_takes_options(tmp_path: Path) -> None:
    runner = Runner(tmp_path, GOOD_MACHINE)
    assert runner.step("Check", OPTIONS="--fail-on mandatory --profile dev") == 0
    assert runner.outputs()["code"] == "0"
    assert "profile dev" in runner.summary.read_text()
    assert runner.step("Gate", CODE=runner.outputs()["code"]) == 0


def test_the_workflow_fails_on_bad_input_and_has_no_report_then(tmp_path: Path) -> None:
    runner = Runner(tmp_path, GOOD_MACHINE)
    assert runner.step("Check", OPTIONS="--config none.yaml") == 0
    assert runner.outputs() == {"code": "2"}
    assert runner.step("Gate", CODE="2") == 2


def test_the_workflow_puts_nothing_of_a_pull_request_into_a_script_and_may_write_no_more_than_it_does() -> None:
    workflow = load(WORKFLOW)
    assert list(workflow[True] if True in workflow else workflow["on"]) == ["pull_request"]
    assert workflow["permissions"] == {
        "contents": "read",
        "pull-requests": "write",
        "security-events": "write",
    }
    scripts = [step["run"] for step in job()["steps"] if "run" in step]
    assert len(scripts) == 4
    assert not any("${{" in script for script in scripts)
    used = [step["uses"] for step in job()["steps"] if "uses" in step]
    assert all(re.fullmatch(r"(actions|github)/[\w/-]+@v\d+", name) for name in used), used
    (upload,) = [step for step in job()["steps"] if "upload-sarif" in step.get("uses", "")]
    assert upload["with"]["sarif_file"] == "gpuyard/report.sarif"


@pytest.mark.parametrize(("program", "code"), [(GOOD_MACHINE, 0), (BAD_MACHINE, 1)])
def test_the_pre_commit_hook_stops_a_bad_commit(tmp_path: Path, program: str, code: int) -> None:
    (hook,) = load(HOOKS)
    runner = Runner(tmp_path, program)
    path = f"{runner.bin}{os.pathsep}{os.environ['PATH']}"
    # pre-commit runs the entry with the user's arguments in the repository's folder, and no file names here.
    command = [*shlex.split(hook["entry"]), "dev"]
    done = subprocess.run(command, cwd=runner.root, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert hook["pass_filenames"] is False
    assert hook["id"] == "gpuyard-check"


def test_the_hook_runs_for_the_files_that_decide_a_stack() -> None:
    (hook,) = load(HOOKS)
    pattern = re.compile(hook["files"])
    for name in ("Pulumi.yaml", "stacks/Pulumi.aws-prod.yaml", "infra/__main__.py", "Pulumi.dev.yml"):
        assert pattern.search(name), name
    for name in ("README.md", "docs/check.md", "MyPulumi.yaml"):
        assert not pattern.search(name), name


def test_the_hook_and_the_documentation_name_the_sdk_that_gpuyard_asks_for() -> None:
    (hook,) = load(HOOKS)
    (needed,) = hook["additional_dependencies"]
    assert needed in (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    assert needed in (REPOSITORY / "docs" / "check.md").read_text(encoding="utf-8")
