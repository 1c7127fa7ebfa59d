"""``gpuyard init``."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from gpuyard.cli import init as init_module
from gpuyard.cli import init_project, init_questions
from gpuyard.cli.init import init
from gpuyard.planning.check import check_stack_file
from gpuyard.planning.plans import ClusterPlan
from gpuyard.sandbox.workspace import read_project
from gpuyard.spec.problems import SpecError
from gpuyard.spec.stack_file import read_stack_file
from gpuyard.spec.values import NAME_RULE
from tests.unit.cli.check_helpers import check

ROOT = Path(__file__).parents[3]
LORA = "--scenario lora --parameters 7e9 --cloud aws --zone us-east-1a"

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(init)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "clusters").mkdir()
    return tmp_path / "clusters"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Callable[..., Result]:
    """Runs the command as on a terminal, with what a person types."""

    def run(arguments: str, *typed: str) -> Result:
        monkeypatch.setattr(init_module, "_somebody_is_there", lambda: True)
        text = "".join(f"{line}\n" for line in typed)
        return CliRunner().invoke(app, [*arguments.split(), "-C", str(folder)], input=text)

    return run


def run(folder: Path, arguments: str) -> str:
    """What the command prints without a terminal; it must go well."""
    result = CliRunner().invoke(app, [*arguments.split(), "-C", str(folder)])
    if result.exception is not None:
        raise result.exception
    return result.stdout


def problems(folder: Path, arguments: str) -> list[str]:
    with pytest.raises(SpecError) as refused:
        run(folder, arguments)
    return [str(problem) for problem in refused.value.problems]


def cluster(folder: Path, name: str) -> ClusterPlan:
    return check_stack_file(read_stack_file(folder / "stacks" / f"Pulumi.{name}.yaml"), name)


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("work", "task"),
    [
        ("--scenario pretrain --parameters 70e9 --cloud aws --zone us-east-1a", "pretrain"),
        ("--scenario finetune --parameters 13e9 --cloud alicloud --zone cn-beijing-l", "full_finetune"),
        ("--scenario lora --parameters 7e9 --cloud tencentcloud --zone ap-beijing-6", "lora"),
        ("--scenario rl --parameters 7e9 --cloud aws --zone use1-az6", "rl"),
        ("--scenario vision --parameters 632e6 --cloud alicloud --zone cn-beijing-l", "vision"),
        ("--scenario inference --parameters 13e9 --cloud tencentcloud --zone ap-beijing-6", "inference"),
    ],
)
def test_every_scenario_gives_a_stack_file_that_passes_the_project_s_check(folder: Path, work: str, task: str) -> None:
    run(folder, f"one {work}")
    plan = cluster(folder, "one")
    assert (plan.name, plan.place.task, plan.place.environment) == ("one", task, "dev")
    assert plan.monitoring is not None
    text = files(folder)["stacks/Pulumi.one.yaml"]
    assert text.startswith("# Written by 'gpuyard init' on 20")
    assert text.count("#") > 6


def test_an_empty_folder_becomes_a_project(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / "README.md").write_text("mine")
    said = run(folder, f"one {LORA}")
    project = read_project(folder)
    assert (project.name, project.stacks()) == ("clusters", ["one"])
    assert project.program == folder.resolve() / "infra"
    assert (folder / "infra" / "__main__.py").read_text() == (ROOT / "infra" / "__main__.py").read_text()
    assert ".sandbox/" in (folder / ".gitignore").read_text().splitlines()
    for name in ("Pulumi.yaml", "infra/__main__.py", ".gitignore", "stacks/Pulumi.one.yaml"):
        assert f"Wrote {folder / name}." in said
    assert said.endswith("Look at it, then: gpuyard check one; gpuyard up one\n")


def test_what_a_folder_has_already_is_left_as_it_is(folder: Path) -> None:
    (folder / ".gitignore").write_text("mine\n")
    run(folder, f"one {LORA}")
    assert (folder / ".gitignore").read_text() == "mine\n"


def test_a_folder_with_other_things_in_it_is_refused(folder: Path) -> None:
    (folder / "thesis.tex").write_text("")
    (told,) = problems(folder, f"one {LORA}")
    assert told.endswith(
        "holds no Pulumi project, but other things, such as 'thesis.tex'. Run it in a project's "
        "folder, or in an empty one."
    )
    assert list(files(folder)) == ["thesis.tex"]


def test_a_folder_that_is_not_there_is_said(folder: Path) -> None:
    (told,) = problems(folder / "none", f"one {LORA}")
    assert told == f"--project: there is no folder '{folder / 'none'}'. Make it, or name another."


def test_an_existing_project_gets_the_stack_file_only_where_it_keeps_them(folder: Path) -> None:
    (folder / "Pulumi.yaml").write_text("name: mine\nruntime: python\nstackConfigDir: config\n")
    run(folder, f"one {LORA}")
    assert sorted(files(folder)) == ["Pulumi.yaml", "config/Pulumi.one.yaml"]


def test_a_project_with_the_schema_gets_the_editor_s_line(folder: Path) -> None:
    (folder / "Pulumi.yaml").write_text("name: mine\nruntime: python\nstackConfigDir: stacks\n")
    (folder / "schemas").mkdir()
    (folder / "schemas" / "stack.schema.json").write_text("{}")
    run(folder, f"one {LORA}")
    first = files(folder)["stacks/Pulumi.one.yaml"].splitlines()[0]
    assert first == "# yaml-language-server: $schema=../schemas/stack.schema.json"


def test_a_stack_file_is_written_over_only_when_forced(folder: Path) -> None:
    run(folder, f"one {LORA}")
    before = files(folder)
    path = folder / "stacks" / "Pulumi.one.yaml"
    assert problems(folder, f"one {LORA} --nodes 2") == [
        f"NAME: '{path}' exists. Choose another name, or add --force to write over it."
    ]
    assert files(folder) == before
    run(folder, f"one {LORA} --nodes 2 --force")
    assert cluster(folder, "one").node_pools[0].max_nodes == 2


def test_without_a_terminal_every_missing_answer_is_named_with_what_may_be_given(folder: Path) -> None:
    assert problems(folder, "") == [
        f"NAME: is missing. Name the stack: {NAME_RULE}.",
        "--scenario: is missing. Allowed: pretrain, finetune, lora, rl, vision or inference.",
        "--parameters: is missing. Give the number of parameters of the model, such as 70e9.",
        "--cloud: is missing. Allowed: aws, alicloud or tencentcloud.",
        "--zone: is missing. Name one in which you have capacity, written like us-east-1a.",
    ]
    (zone,) = problems(folder, "one --scenario lora --parameters 7e9 --cloud tencentcloud --region ap-beijing")
    assert zone == "--zone: is missing. Name one in which you have capacity, written like ap-beijing-1."
    assert files(folder) == {}


def test_the_command_ends_with_2_and_one_line_for_each_problem(folder: Path) -> None:
    command = [sys.executable, "-m", "gpuyard.cli.main", "init", "one", "--scenario", "loar", "--cloud", "aws"]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "3 problems:"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("One", "NAME: 'One' cannot be a name. A name is lower-case letters, digits and hyphens, at most 32"),
        ("one --scenario loar", "--scenario: 'loar' is not allowed. Did you mean 'lora'? Allowed: pretrain, finetune"),
        ("one --cloud gcp", "--cloud: 'gcp' is not allowed. Allowed: aws, alicloud or tencentcloud."),
        ("one --parameters seven", "--parameters: should be a number, not 'seven'."),
        ("one --parameters -7", "--parameters: should be more than 0"),
        ("one --region us-east-11", "--region: no region of aws is called 'us-east-11'. Did you mean 'us-east-1'?"),
        ("one --zone mars-1", "--zone: 'mars-1' is no zone of aws. A zone is written like "),
        ("one --region us-west-2", "--zone: 'us-east-1a' is no zone of us-west-2. A zone is written like us-west-2a."),
        ("one --nodes 0", "--nodes: should be a whole number from 1 to 100,000, not '0'."),
        ("one --nodes two", "--nodes: should be a whole number from 1 to 100,000, not 'two'."),
        ("one --environment prd", "--environment: 'prd' is not allowed. Did you mean 'prod'? Allowed: dev, staging or"),
        (
            "one --environment prod",
            "--second-region: is missing. In prod, copies of checkpoints and snapshots are kept",
        ),
        ("one --second-region us-east-1", "--second-region: 'us-east-1' is the region of the nodes. Name another"),
        ("one --second-region mars", "--second-region: no region of aws is called 'mars'."),
        ("one --nodes 100000 --parameters 70e9", "--nodes: no type of aws runs this work on 100000 nodes. The fewest"),
        ("one --nodes 1 --parameters 1e12 --scenario pretrain", "--nodes: no type of aws runs this work on 1 nodes. "),
        ("one --parameters 9e13 --scenario pretrain", "nothing fits, so there is nothing to write."),
    ],
)
def test_a_wrong_answer_is_refused_with_what_would_be_right(folder: Path, arguments: str, told: str) -> None:
    # An option that is given twice counts as given last.
    words = arguments.split()
    (line,) = problems(folder, f"{words[0]} {LORA} {' '.join(words[1:])}")
    assert line.startswith(told)
    assert files(folder) == {}


def test_nodes_are_as_many_as_asked_for(folder: Path) -> None:
    run(folder, "one --scenario pretrain --parameters 70e9 --cloud aws --zone us-east-1a --nodes 4")
    (pool,) = cluster(folder, "one").node_pools
    assert (pool.min_nodes, pool.max_nodes) == (4, 4)
    assert pool.kind == "rdma"


def test_production_keeps_copies_in_a_second_region(folder: Path) -> None:
    run(folder, f"one {LORA} --environment prod --second-region us-west-2")
    plan = cluster(folder, "one")
    assert plan.checkpoints is not None
    assert plan.snapshots is not None
    assert (plan.checkpoints.replica_region, plan.snapshots.copy_region) == ("us-west-2", "us-west-2")
    assert plan.protect_data


def test_what_is_written_passes_gpuyard_check_in_production_too(folder: Path) -> None:
    run(folder, f"dev {LORA}")
    run(folder, f"prod {LORA} --environment prod --second-region us-west-2")
    done = check("--format", "json", cwd=folder)
    assert done.code == 0, done.out + done.err
    assert [stack["stack"] for stack in done.data["stacks"]] == ["dev", "prod"]


def test_a_person_is_asked_for_what_is_missing(asked: Callable[..., Result], folder: Path) -> None:
    result = asked("", "lora", "7e9", "aws", "us-east-1", "us-east-1b", "1", "", "mine", "y")
    assert result.exit_code == 0, result.output
    plan = cluster(folder, "mine")
    assert (plan.place.region, plan.place.zone, plan.place.environment) == ("us-east-1", "us-east-1b", "dev")
    assert "What does it, the best first:" in result.output
    assert "1 × g6e.xlarge (1 × L40S-48GB each)" in result.output or "1 × g6e.xlarge (1 × L40S each)" in result.output


def test_what_was_given_is_not_asked_again(asked: Callable[..., Result], folder: Path) -> None:
    result = asked(f"one {LORA} --nodes 1 --environment dev", "y")
    assert result.exit_code == 0, result.output
    assert "Scenario" not in result.output
    assert cluster(folder, "one").place.zone == "us-east-1a"


def test_a_wrong_answer_is_asked_for_again(asked: Callable[..., Result], folder: Path) -> None:
    result = asked(f"{LORA} --nodes 1", "production", "prod", "us-east-1", "us-west-2", "My Stack", "mine", "y")
    assert result.exit_code == 0, result.output
    assert "'production' is not allowed." in result.output
    assert "'us-east-1' is the region of the nodes." in result.output
    assert "'My Stack' cannot be a name." in result.output
    assert cluster(folder, "mine").place.environment == "prod"


def test_what_is_proposed_is_what_the_catalog_knows(asked: Callable[..., Result], folder: Path) -> None:
    result = asked("", "rl", "7e9", "aws", "us-east-1", "", "", "", "", "y")
    assert result.exit_code == 0, result.output
    plan = cluster(folder, "aws-dev")
    assert plan.place.zone in (plan.node_pools[0].instance_type.zone_ids or ())


def test_a_person_who_says_no_leaves_nothing(asked: Callable[..., Result], folder: Path) -> None:
    result = asked(f"one {LORA} --nodes 1 --environment dev", "n")
    assert (result.exit_code, files(folder)) == (1, {})
    assert "Nothing was written." in result.output


def test_a_person_who_gives_up_leaves_nothing(asked: Callable[..., Result], folder: Path) -> None:
    result = asked("", "lora")
    assert (result.exit_code, list(folder.iterdir())) == (130, [])
    assert "Nothing was written." in result.output


def test_with_yes_nobody_is_asked(asked: Callable[..., Result], folder: Path) -> None:
    result = asked("one --yes")
    assert isinstance(result.exception, SpecError)
    assert result.output == ""


def test_a_write_that_fails_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Path] = []

    def interrupted(path: Path, text: str) -> None:
        if written:
            raise KeyboardInterrupt
        written.append(path)
        path.write_text(text)

    monkeypatch.setattr(init_project, "write_whole", interrupted)
    result = CliRunner().invoke(app, ["one", *LORA.split(), "-C", str(folder)])
    assert result.exit_code == 130
    assert list(folder.iterdir()) == []


def test_a_write_that_fails_leaves_what_was_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(folder, f"one {LORA}")
    before = files(folder)

    def full(descriptor: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = CliRunner().invoke(app, ["one", *LORA.split(), "--nodes", "2", "--force", "-C", str(folder)])
    assert isinstance(result.exception, OSError)
    assert files(folder) == before


def test_the_words_of_scenarios_are_all_explained() -> None:
    assert list(init_questions.WORDS) == list(init_questions.SCENARIOS)
