"""Completion as a shell asks for it: Typer's own protocol, one process for each question."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
PROGRAM = "import sys; sys.argv = ['gpuyard', *sys.argv[1:]]; from gpuyard.cli.main import run; run()"


def asked(line: str, shell: str = "bash", cwd: Path = REPOSITORY) -> list[str]:
    """What the shell gets for a line with the cursor at its end."""
    words = line.split()
    place = len(words) if line.endswith(" ") else len(words) - 1
    protocol = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(place)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **protocol, "_GPUYARD_COMPLETE": f"complete_{shell}"},
        capture_output=True, text=True, check=True, cwd=cwd,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "proposed"),
    [
        ("gpuyard che", ["check", "checkpoint"]),
        ("gpuyard up aws-", ["aws-dev", "aws-prod", "aws-staging"]),
        ("gpuyard check aws-dev tencentcloud-p", ["tencentcloud-prod"]),
        ("gpuyard launch aws-prod --pool ", ["train", "prepare"]),
        ("gpuyard launch --pool p", []),
        ("gpuyard rules FAB01", ["FAB010", "FAB011", "FAB012", "FAB013"]),
        ("gpuyard plan --cloud a", ["aws", "alicloud"]),
        ("gpuyard plan --cloud alicloud --region cn-sh", ["cn-shanghai", "cn-shenzhen"]),
        ("gpuyard init lab --cloud t", ["tencentcloud"]),
        ("gpuyard catalog to", ["topology"]),
        ("gpuyard catalog show p5.4", ["p5.48xlarge", "p5.4xlarge"]),
        ("gpuyard up --sand", ["--sandbox"]),
        ("gpuyard up no-such-", []),
    ],
)
def test_bash_gets(line: str, proposed: list[str]) -> None:
    assert asked(line) == proposed


def test_the_other_shells_get_the_same() -> None:
    assert asked("gpuyard up aws-p", "fish") == ["aws-prod"]
    assert '"aws-prod"' in " ".join(asked("gpuyard up aws-p", "zsh"))


def test_stacks_are_those_of_the_project_that_the_line_names(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: other\nruntime: python\n")
    (tmp_path / "Pulumi.mine.yaml").write_text("config: {}\n")
    assert asked(f"gpuyard up -C {tmp_path} ") == ["mine"]


@pytest.mark.parametrize(
    "text",
    ["- a list", "name: other\nruntime: python\nstackConfigDir: s", "{broken"],
    ids=["no project", "no stacks", "no YAML"],
)
def test_where_nothing_can_be_read_nothing_is_proposed_and_nothing_is_said(tmp_path: Path, text: str) -> None:
    assert asked("gpuyard up ", cwd=tmp_path) == []
    (tmp_path / "Pulumi.yaml").write_text(text)
    assert asked("gpuyard up ", cwd=tmp_path) == []


@pytest.mark.parametrize(
    "file", ["- a list", "config: {cluster: text}", "config: {cluster: {node_pools: 3}}", "{broken"]
)
def test_a_stack_file_that_is_broken_has_no_pools(tmp_path: Path, file: str) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: other\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text(file)
    assert asked("gpuyard launch dev --pool ", cwd=tmp_path) == []


def test_only_the_module_of_the_command_is_loaded() -> None:
    code = f"{PROGRAM.replace('run()', '')}\nimport atexit\n"
    code += "atexit.register(lambda: print('gpuyard.cli.plan' in sys.modules, file=sys.stderr))\nrun()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "COMP_WORDS": "gpuyard rules F", "COMP_CWORD": "2", "_GPUYARD_COMPLETE": "complete_bash"},
        capture_output=True, text=True, check=True, cwd=REPOSITORY,
    )  # fmt: skip
    assert done.stderr.strip() == "False"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_names_the_protocol(shell: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "--show-completion", shell], capture_output=True, text=True, check=True
    )
    assert f"_GPUYARD_COMPLETE=complete_{shell}" in done.stdout


def test_bash_itself_completes_with_the_script_that_is_installed(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash
    home = {**os.environ, "HOME": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    program = tmp_path / "gpuyard"
    program.write_text(f"#!{sys.executable}\nfrom gpuyard.cli.main import run\nrun()\n")
    program.chmod(0o755)
    subprocess.run([program, "--install-completion", "bash"], env=home, check=True, capture_output=True)
    script = tmp_path / ".bash_completions" / "gpuyard.sh"
    lines = f"""
        . {script}
        COMP_WORDS=(gpuyard up aws-p) COMP_CWORD=2
        _gpuyard_completion gpuyard
        echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run([bash, "-c", lines], env=home, capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert done.stdout.split() == ["aws-prod"]
