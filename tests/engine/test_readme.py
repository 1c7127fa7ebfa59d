"""What the README shows is true: its program, its stack file, its commands."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from gpuyard.planning.check import check_stack_file
from gpuyard.spec.stack_file import read_stack_file
from tests.engine.conftest import REPOSITORY, Sandbox

README = (REPOSITORY / "README.md").read_text()


def block(language: str, after: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", README[README.index(after) :], flags=re.S)
    assert found, f"no {language} block after {after!r}"
    return found[1]


def test_the_smallest_program_runs(program: Callable[..., Sandbox]) -> None:
    sandbox = program(block("python", "<!-- example: checkpoint-store -->"))
    up = sandbox.up("test")
    assert up.code == 0, up.output
    assert sandbox.session.outputs("test")["checkpoints"].startswith("s3://llm-checkpoints-")


def test_the_stack_file_is_one(tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.shown.yaml"
    path.write_text(block("yaml", "## A stack file"))
    plan = check_stack_file(read_stack_file(path), "shown")
    assert plan.node_pools[0].instance_type.instance_type == "p4de.24xlarge"


def test_every_make_command_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (REPOSITORY / "Makefile").read_text(), flags=re.M))
    shown = set(re.findall(r"(?:`|^)make ([a-z]+)", README, flags=re.M))
    assert {"up", "test", "destroy"} <= shown
    assert shown <= targets | {"setup"}


def test_every_rule_is_listed() -> None:
    from gpuyard_policy.rules import ALL_RULES

    for rule in ALL_RULES:
        assert f"`{rule.name}` ({rule.id})" in README


def test_the_planner_example_runs(capsys) -> None:
    exec(compile(block("python", "<!-- example: planner -->"), "README.md", "exec"), {})
    name, nodes, *_ = capsys.readouterr().out.split()
    assert name.endswith("xlarge")
    assert int(nodes) > 1


def test_every_catalog_and_plan_command_of_the_readme_runs(tmp_path: Path) -> None:
    shell = block("sh", "## What hardware a job needs") + block("sh", "three clouds and says why")
    commands = re.findall(r"^\.venv/bin/(gpuyard .*)$", shell.replace("\\\n", " "), flags=re.M)
    assert len(commands) == 7
    for command in commands:
        words = shlex.split(command, comments=True)
        words = [str(tmp_path / "Pulumi.lora.yaml") if word.startswith("stacks/") else word for word in words]
        done = subprocess.run(
            [sys.executable, "-m", "gpuyard.cli.main", *words[1:]], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        assert len(done.stdout) > 200
    written = tmp_path / "Pulumi.lora.yaml"
    assert check_stack_file(read_stack_file(written), "lora").node_pools
