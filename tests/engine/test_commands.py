"""The commands as a person runs them: what they print, and how they end."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpuyard.sandbox.engine import Engine
from tests.engine.conftest import POLICIES, child_environment


def gpuyard(*arguments: str, root: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpuyard.cli.main", *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=300,
        env=child_environment(**environment),
        check=False,
    )


def test_up_shows_progress_tree_policies_outputs_and_what_it_was(project_copy: Path, engine: Engine) -> None:
    up = gpuyard("up", "aws-dev", "--policy-pack", str(POLICIES), root=project_copy)
    assert up.returncode == 0, up.stdout + up.stderr
    for expected in (
        "against simulated providers",
        "g5.xlarge, g5.2xlarge",
        "aws:ec2:Vpc aws-dev-network-vpc created",
        "gpuyard:index:GpuNodePool aws-dev-try",
        "└── pulumi:pulumi:Stack gpuyard-aws-dev",
        "gpuyard@v0.1.0",
        "Outputs:",
        "Done, in the sandbox: the real Pulumi engine ran 'aws-dev' against simulated aws providers.",
        "pulumi up -s aws-dev",
        "pulumi login",
    ):
        assert expected in up.stdout, expected

    shown = gpuyard("outputs", "aws-dev", root=project_copy)
    assert json.loads(shown.stdout)["node_pools"]["try"]["instance_types"][0] == "g5.xlarge"

    again = gpuyard("up", "aws-dev", root=project_copy)
    assert again.returncode == 0
    assert "unchanged" in again.stdout
    assert " created" not in again.stdout
    assert gpuyard("refresh", "aws-dev", root=project_copy).returncode == 0

    destroy = gpuyard("destroy", "aws-dev", root=project_copy)
    assert destroy.returncode == 0, destroy.stdout + destroy.stderr
    assert "Stack 'aws-dev' is gone from the sandbox." in destroy.stdout
    assert "nothing to remove" in gpuyard("destroy", "aws-dev", root=project_copy).stdout


def test_destroy_of_prod_says_that_protection_is_lifted_and_removes_everything(sandbox, project_copy: Path) -> None:
    assert sandbox.up("aws-prod").code == 0
    destroy = gpuyard("destroy", "aws-prod", root=project_copy)
    assert destroy.returncode == 0, destroy.stdout + destroy.stderr
    assert "3 resources are protected" in destroy.stdout
    assert sandbox.cloud() == []


def test_a_rejected_update_exits_with_1(project_copy: Path, engine: Engine) -> None:
    path = project_copy / "stacks" / "Pulumi.aws-dev.yaml"
    text = (
        path.read_text()
        .replace("gpu: A10", "instance_type: g5.12xlarge")
        .replace("gpus_per_node: 1", "gpus_per_node: 4")
    )
    path.write_text(text)
    up = gpuyard("up", "aws-dev", "--policy-pack", str(POLICIES), root=project_copy)
    assert up.returncode == 1, up.stdout + up.stderr
    assert "[FAB001]" in up.stdout
    assert "did not succeed" in up.stdout
    assert "Done, in the sandbox" not in up.stdout


@pytest.mark.parametrize(
    ("old", "new", "line_holds", "message"),
    [
        (
            "gpu: A100-80GB\n        gpus_per_node: 8\n",
            "instance_type: g5.2xlarge\n",
            "interconnect: rdma",
            "g5.2xlarge has no EFA, the RDMA network of AWS. These fit:",
        ),
        (
            "keep_days: 30\n      replicate_to",
            "keep_days: 30\n      region: eu-west-1\n      replicate_to",
            "region: eu-west-1",
            "the checkpoint bucket is in eu-west-1, the nodes are in us-east-1.",
        ),
        (
            "gpu: A100-80GB",
            "gpu: A100-81GB",
            "gpu: A100-81GB",
            "the catalog knows no GPU called 'A100-81GB'. Did you mean",
        ),
    ],
    ids=["rdma on a type without EFA", "bucket in another region", "unknown GPU"],
)
def test_a_bad_edit_is_one_message_with_its_line_and_exit_code_2(
    project_copy: Path, old: str, new: str, line_holds: str, message: str
) -> None:
    path = project_copy / "stacks" / "Pulumi.aws-prod.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    line = next(number for number, content in enumerate(path.read_text().splitlines(), 1) if line_holds in content)
    up = gpuyard("up", "aws-prod", root=project_copy)
    assert up.returncode == 2
    assert up.stdout == ""
    assert f"stacks/Pulumi.aws-prod.yaml:{line}: gpuyard:cluster." in up.stderr
    assert message in up.stderr
    assert up.stderr.startswith("1 problem, nothing was started:")
    assert "Traceback" not in up.stderr
    assert not (project_copy / ".sandbox").exists()


def test_an_unknown_stack_lists_the_known_ones(project_copy: Path) -> None:
    up = gpuyard("up", "aws-prd", root=project_copy)
    assert up.returncode == 2
    stacks = [f"{cloud}-{kind}" for cloud in ("alicloud", "aws", "tencentcloud") for kind in ("dev", "prod", "staging")]
    listed = f"{', '.join(stacks[:-1])} or {stacks[-1]}"
    told = " ".join(up.stderr.split())
    assert f"there is no stack 'aws-prd'. Did you mean 'aws-prod'? Stacks: {listed}." in told


def test_a_folder_without_a_project_is_said(tmp_path: Path) -> None:
    up = gpuyard("up", "aws-prod", root=tmp_path)
    assert up.returncode == 2
    assert (
        "Pulumi.yaml: cannot be read: No such file or directory. Run it in the folder of a Pulumi project." in up.stderr
    )


def test_a_missing_engine_names_all_three_ways(project_copy: Path, tmp_path: Path) -> None:
    """Neither on PATH, nor by the installer (the network refuses), nor by Go (there is none)."""
    up = gpuyard(
        "up",
        "aws-dev",
        root=project_copy,
        PATH=str(tmp_path),
        GPUYARD_CACHE=str(tmp_path / "cache"),
        GPUYARD_PULUMI="",
        HTTPS_PROXY="http://127.0.0.1:9",
        https_proxy="http://127.0.0.1:9",
    )
    assert up.returncode == 3
    for expected in (
        "the Pulumi CLI on PATH",
        "internet access, for the official installer",
        "Go 1.26 or newer",
        "PATH: there is no 'pulumi' on it",
        "official installer: ",
        "Go module: there is no 'go' on PATH",
    ):
        assert expected in up.stderr, up.stderr
    assert "Traceback" not in up.stderr


def test_a_too_old_engine_on_path_is_passed_over_with_its_reason(project_copy: Path, tmp_path: Path) -> None:
    fake = tmp_path / "pulumi"
    fake.write_text("#!/bin/sh\necho v3.100.0\n")
    fake.chmod(0o755)
    up = gpuyard(
        "engine",
        root=project_copy,
        PATH=f"{tmp_path}:/bin:/usr/bin",
        GPUYARD_CACHE=str(tmp_path / "cache"),
        GPUYARD_PULUMI="",
        HTTPS_PROXY="http://127.0.0.1:9",
        https_proxy="http://127.0.0.1:9",
    )
    if shutil.which("go", path="/bin:/usr/bin"):
        pytest.fail("this machine has Go in /usr/bin: the test needs a PATH without it")
    assert up.returncode == 3
    assert "is v3.100.0, at least 3.229.0 is needed" in up.stderr


def test_a_read_only_project_is_one_clear_error(project_copy: Path, engine: Engine) -> None:
    if os.geteuid() == 0:
        # Root may write anywhere: a file where the folder should be has the same effect.
        (project_copy / ".sandbox").write_text("")
    else:
        project_copy.chmod(0o500)
    up = gpuyard("up", "aws-dev", root=project_copy)
    assert up.returncode == 3, up.stderr
    assert ".sandbox" in up.stderr
    assert "Traceback" not in up.stderr


def test_version() -> None:
    shown = gpuyard("--version", root=Path.cwd())
    assert shown.stdout.strip() == "gpuyard 0.1.0"


def test_any_other_program_runs_in_the_sandbox_too(program) -> None:
    sandbox = program("import pulumi_aws as aws\naws.s3.Bucket('data')\n")
    (sandbox.root / "gpuyard-policy.yaml").write_text("profile: dev\n")
    up = gpuyard("up", "test", "--policy-pack", str(POLICIES), root=sandbox.root)
    assert up.returncode == 0, up.stdout + up.stderr
    assert "aws:s3:Bucket data" in up.stdout
    assert "gpuyard destroy test" in up.stdout
    assert len(sandbox.cloud()) == 1


def test_gpuyards_own_project_needs_a_description(project_copy: Path) -> None:
    (project_copy / "stacks" / "Pulumi.bare.yaml").write_text("config:\n  aws:region: us-east-1\n")
    up = gpuyard("up", "bare", root=project_copy)
    assert up.returncode == 2
    assert "there is no cluster description. Put it under config: gpuyard:cluster:" in up.stderr
