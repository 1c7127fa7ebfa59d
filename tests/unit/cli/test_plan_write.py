"""``gpuyard plan --write``."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gpuyard.cli import plan_write
from gpuyard.planning.check import check_stack_file
from gpuyard.planning.plans import ClusterPlan
from gpuyard.spec.problems import SpecError
from gpuyard.spec.stack_file import read_stack_file

from .plan_helpers import app, flat, refused, run

PRETRAIN = ["--task", "pretrain", "--parameters", "70e9", "--tokens", "1e12", "--cloud", "aws", "--zone", "us-east-1a"]
LORA = ["--task", "lora", "--parameters", "7e9", "--cloud", "aws", "--zone", "us-east-1a"]


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    return tmp_path / "Pulumi.try.yaml"


def written(path: Path) -> ClusterPlan:
    return check_stack_file(read_stack_file(path), "try")


@pytest.mark.parametrize(
    "work",
    [
        "--task pretrain --parameters 70e9 --tokens 1e12",
        "--task pretrain --parameters 175e9 --tokens 3e11",
        "--task full_finetune --parameters 13e9 --tokens 1e9",
        "--task lora --parameters 13e9",
        "--task lora --parameters 7e9 --interruptible",
        "--task vision --parameters 632e6 --tokens 3.3e11 --gpu A100-80GB",
        "--task rl --parameters 7e9",
        "--task inference --parameters 13e9",
        "--task inference --model llama-3-70b",
        "--task lora --parameters 1e9 --architecture diffusion",
    ],
)
def test_write_writes_a_stack_file_that_passes_the_check(stack: Path, work: str) -> None:
    run(*work.split(), "--zone", "us-east-1a", "--write", str(stack))
    cluster = written(stack)
    assert (cluster.place.region, cluster.place.zone, cluster.place.environment) == ("us-east-1", "us-east-1a", "dev")
    assert cluster.place.task == work.split()[1]


def test_what_was_written_is_told_beside_the_plan(stack: Path) -> None:
    result = CliRunner().invoke(app, [*LORA, "--write", str(stack), "--format", "json"])
    assert result.exit_code == 0
    assert result.stdout.startswith("{")
    assert result.stderr.startswith(f"Wrote {stack} for candidate 1 of ")
    assert " of aws." in result.stderr


def test_environment_and_name_stand_in_the_file(stack: Path) -> None:
    run(*LORA, "--environment", "prod", "--name", "adapters", "--write", str(stack))
    cluster = written(stack)
    assert (cluster.name, cluster.place.environment, cluster.protect_data) == ("adapters", "prod", True)


def test_a_zone_id_is_a_zone(stack: Path) -> None:
    run(*LORA[:-1], "use1-az6", "--write", str(stack))
    assert (written(stack).place.region, written(stack).place.zone) == ("us-east-1", "use1-az6")


def test_the_zone_sets_the_region_that_is_ranked(stack: Path) -> None:
    text = flat(run(*LORA[:-1], "us-west-2b", "--write", str(stack)))
    assert "aws (us-west-2)" in text
    assert written(stack).place.region == "us-west-2"


def test_candidates_of_clouds_that_are_not_built_are_passed_over_aloud(
    stack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_write, "BUILT_CLOUDS", ("aws",))
    # Both clouds call a region us-east-1 and its zones alike; a price in CNY puts its candidate first.
    row = {"cloud": "alicloud", "item": "ecs.gn6v-c8g1.2xlarge", "region": "us-east-1", "unit": "hour", "on_demand": 10}
    prices = stack.with_name("prices.json")
    prices.write_text(json.dumps({"prices": [{**row, "currency": "CNY", "date": "2026-11", "source": "a test"}]}))
    work = ["--task", "lora", "--parameters", "7e9", "--zone", "us-east-1a", "--prices", str(prices)]
    result = CliRunner().invoke(app, [*work, "--write", str(stack)])
    passed_over, wrote = result.stderr.splitlines()
    found = re.fullmatch(
        r"(\d+) candidates of alicloud ranked before it: passed over, so far gpuyard builds aws only.", passed_over
    )
    assert found is not None
    assert wrote.startswith(f"Wrote {stack} for candidate {int(found[1]) + 1} of ")
    assert written(stack).place.cloud == "aws"


def test_a_candidate_that_the_check_refuses_is_passed_over_aloud(stack: Path) -> None:
    result = CliRunner().invoke(app, [*PRETRAIN, "--gpu", "GB200", "--write", str(stack)])
    assert isinstance(result.exception, SpecError)
    problem = result.exception.problems[0]
    assert problem.path == ("--write",)
    assert problem.message.startswith("p6e-gb200.36xlarge: node_pools.train")
    assert not stack.exists()


def test_clouds_that_are_not_built_yet_end_with_exit_code_2(
    stack: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plan_write, "BUILT_CLOUDS", ("aws",))
    work = ["--task", "lora", "--parameters", "7e9", "--cloud", "alicloud", "--zone", "cn-beijing-a", "--write"]
    assert refused(monkeypatch, capsys, *work, str(stack)) == [
        "--write: no candidate is of aws, and stack files of other clouds cannot be built yet. "
        "Add --cloud aws and a zone of it."
    ]
    assert not stack.exists()


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (
            "--task pretrain --parameters 1e14 --gpu T4",
            "--write: nothing fits, so there is nothing to write. See the plan for why.",
        ),
        (
            "--task pretrain --parameters 7e9 --gpu Ascend-910B3",
            "--write: nothing fits, so there is nothing to write. The nearest that is rented: --gpu A100-SXM4-80GB.",
        ),
    ],
)
def test_where_nothing_fits_nothing_is_written(
    stack: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], work: str, told: str
) -> None:
    lines = refused(monkeypatch, capsys, *work.split(), "--cloud", "aws", "--zone", "us-east-1a", "--write", str(stack))
    assert lines == [told]
    assert not stack.exists()


def test_a_zone_must_be_given(stack: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(monkeypatch, capsys, *PRETRAIN[:-2], "--write", str(stack)) == [
        "--zone: is missing: a stack file names the zone that its nodes are in. Name one where you have capacity, "
        "such as us-east-1a."
    ]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (["--zone", "mars-1a"], "--zone: 'mars-1a' is no zone of aws. A zone is written like 'us-east-1a'."),
        (["--region", "us-west-2"], "--zone: 'us-east-1a' is no zone of us-west-2. A zone is written like "),
        (["--environment", "pord"], "--environment: 'pord' is not allowed. Did you mean 'prod'? Allowed: dev, "),
        (["--name", "My Cluster"], "--name: 'My Cluster' cannot be a name. Use lower-case letters, digits and "),
    ],
)
def test_what_stands_in_the_file_is_checked(
    stack: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], changed: list[str], told: str
) -> None:
    (line,) = refused(monkeypatch, capsys, *LORA, *changed, "--write", str(stack))
    assert line.startswith(told)
    assert not stack.exists()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("stack.yaml", "--write: 'stack.yaml' is no name of a stack file. Write it like stacks/Pulumi.aws-dev.yaml."),
        ("none/Pulumi.a.yaml", "--write: there is no folder '"),
        ("Pulumi.folder.yaml", "--write: '"),
    ],
)
def test_the_path_is_checked_before_anything_is_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, told: str
) -> None:
    (tmp_path / "Pulumi.folder.yaml").mkdir()
    (line,) = refused(monkeypatch, capsys, *LORA, "--force", "--write", str(tmp_path / name))
    assert line.startswith(told)


def test_a_file_that_exists_is_only_written_over_when_forced(
    stack: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stack.write_text("mine")
    assert refused(monkeypatch, capsys, *LORA, "--write", str(stack)) == [
        f"--write: '{stack}' exists. Name another file, or add --force to write over it."
    ]
    assert stack.read_text() == "mine"
    run(*LORA, "--force", "--write", str(stack))
    assert written(stack).place.task == "lora"


def test_a_write_that_fails_leaves_the_old_file_whole(stack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack.write_text("mine")

    def full(descriptor: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = CliRunner().invoke(app, [*LORA, "--force", "--write", str(stack)])
    assert isinstance(result.exception, OSError)
    assert stack.read_text() == "mine"
    assert list(stack.parent.iterdir()) == [stack]


def test_a_link_is_followed(stack: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "Pulumi.real.yaml"
    real.write_text("mine")
    stack.symlink_to(real)
    run(*LORA, "--force", "--write", str(stack))
    assert stack.is_symlink()
    assert written(real).place.task == "lora"
