"""What the README shows is true: its program, its stack file, its commands."""

from __future__ import annotations

import re
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
