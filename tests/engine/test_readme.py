"""What the README shows is true: its program, its stack file, what is printed; test_docs_blocks runs the rest."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from gpuyard.planning.check import check_stack_file
from gpuyard.spec.stack_file import read_stack_file
from tests.engine.conftest import POLICIES, REPOSITORY, Sandbox, child_environment

README = (REPOSITORY / "README.md").read_text()


def block(language: str, after: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", README[README.index(after) :], flags=re.S)
    assert found, f"no {language} block after {after!r}"
    return found[1]


def test_an_up_of_prod_prints_what_is_shown(sandbox: Sandbox) -> None:
    up = subprocess.run(
        [sys.executable, "-m", "gpuyard.cli.main", "up", "aws-prod", "--policy-pack", str(POLICIES)],
        capture_output=True,
        text=True,
        check=False,
        env=child_environment(),
        cwd=sandbox.root,
    )
    assert up.returncode == 0, up.stderr
    rest = up.stdout
    shown = block("text", "`make up` ends like this").splitlines()
    for line in (line for line in shown if line.strip() != "..."):
        # Three dots stand for what is left out; version, origin and random ends of names differ from run to run.
        pattern = re.escape(line.strip()).replace(r"\.\.\.", ".*")
        pattern = re.sub(r"v3\\\.\S+ \\\(cache\\\)", r"v\\S+ \\(.*\\)", pattern)
        pattern = re.sub(r"\\-[0-9a-f]{7}(?=[\"/])", "-[0-9a-f]{7}", pattern)
        found = re.search(pattern, rest)
        assert found, f"{line!r} is not printed there:\n{rest}"
        rest = rest[found.end() :]


def test_the_smallest_program_runs(program: Callable[..., Sandbox]) -> None:
    sandbox = program(block("python", "<!-- example: checkpoint-store -->"))
    up = sandbox.up("test")
    assert up.code == 0, up.output
    assert sandbox.session.outputs("test")["checkpoints"].startswith("s3://llm-checkpoints-")


def test_the_stack_file_is_one(tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.shown.yaml"
    path.write_text(block("yaml", "## A stack file"))
    plan = check_stack_file(read_stack_file(path), "shown")
    train, prepare = plan.node_pools
    assert (train.instance_type.instance_type, train.kind) == ("p4de.24xlarge", "rdma")
    assert (prepare.kind, prepare.place.task) == ("elastic", "inference")
    assert {row.gpu_model for row in prepare.instance_types} > {"A10G"}, "mixed with other GPUs of 24 GB"
    assert plan.file_system is not None
    assert plan.file_system.throughput_mb_per_s == 3_000, "derived from the work"
    assert plan.monitoring is not None
    assert plan.monitoring.budget_amount == 120_000


def test_a_wrong_key_prints_what_is_shown(project_copy: Path) -> None:
    path = project_copy / "stacks" / "Pulumi.aws-prod.yaml"
    text = path.read_text()
    wrong = text.replace("gpu: A100-80GB\n        gpus_per_node: 8\n", "instance_type: g5.2xlarge\n", 1)
    assert wrong != text
    path.write_text(wrong)
    preview = subprocess.run(
        [sys.executable, "-m", "gpuyard.cli.main", "preview", "aws-prod"],
        capture_output=True, text=True, check=False, env=child_environment(), cwd=project_copy,
    )  # fmt: skip
    assert preview.returncode == 2
    shown = " ".join(block("text", "Errors before the engine starts").split())
    pattern = re.sub(r":\d+:", r":\\d+:", re.escape(shown).replace(r"\.\.\.\ and", ".*and").replace(r"\ ", " "))
    assert re.search(pattern, " ".join(preview.stderr.split())), f"{shown}\nis not printed:\n{preview.stderr}"


def test_every_make_command_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (REPOSITORY / "Makefile").read_text(), flags=re.M))
    shown = set(re.findall(r"(?:`|^)make ([a-z]+)", README, flags=re.M))
    assert {"up", "test", "destroy"} <= shown
    assert shown <= targets | {"setup"}


def test_every_stack_and_every_component_is_named() -> None:
    import gpuyard

    for path in (REPOSITORY / "stacks").glob("Pulumi.aws-*.yaml"):
        assert f"| `{path.stem.removeprefix('Pulumi.')}` |" in README
    components = {name for name in gpuyard.__all__ if f"{name}Args" in gpuyard.__all__}
    assert len(components) == 7
    for name in components:
        assert f"`{name}`" in README


def test_the_rules_are_named_by_family_and_where_all_are_listed() -> None:
    from gpuyard_policy.rules import ALL_RULES

    assert f"{len(ALL_RULES)} rules" in README
    assert "(docs/rules/README.md)" in README
    for family in {rule.family for rule in ALL_RULES}:
        listed = [rule.id for rule in ALL_RULES if rule.family == family]
        assert f"| {family} | {listed[0]} to {listed[-1]} |" in README
