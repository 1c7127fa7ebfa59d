"""``gpuyard launch``: printing and writing what starts a job on several nodes."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from gpuyard.cli import main

STACK = """\
config:
  aws:region: us-east-1
  gpuyard:cluster:
    cloud: aws
    region: us-east-1
    zone: us-east-1d
    environment: dev
    workload: {task: pretrain, model_parameters: 13e9}
    node_pools:
      train: {instance_type: p4de.24xlarge, nodes: 2, spare_nodes: 1, interconnect: rdma}
      serve: {instance_type: g5.xlarge, nodes: 4, task: inference}
    checkpoints: {keep_days: 30}
"""
PROJECT = Path(__file__).parents[3]


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    path = tmp_path / "Pulumi.try.yaml"
    path.write_text(STACK)
    return path


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["gpuyard", "launch", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main.run()
        told = capsys.readouterr()
        assert "Traceback" not in told.err
        return int(ended.value.code or 0), told.out, told.err

    return run


def test_the_pool_that_can_is_found_and_files_are_printed(launch: Any, stack: Path) -> None:
    code, out, err = launch(stack)
    assert code == 0
    assert out.startswith("==> launch.sh <==\n#!/bin/bash\n")
    assert "==> hostfile <==\nHOST0 slots=8\nHOST1 slots=8\n" in out
    assert "torchrun --nnodes=2 --nproc-per-node=8 --max-restarts=3" in out
    assert "Layout: data 16 × tensor 1 × pipeline 1, zero2 sharding" in err


def test_every_stack_of_the_project_has_a_pool_to_launch_on(launch: Any) -> None:
    for path in sorted((PROJECT / "stacks").glob("Pulumi.*.yaml")):
        code, out, _ = launch(path.name[7:-5], "-C", PROJECT, "--with", "mpi")
        assert (code, "exec mpirun -n " in out) == (0, True), path


def test_files_are_written_whole_and_the_script_can_be_run(launch: Any, stack: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    words = (stack, "--with", "deepspeed", "--hosts", "10.0.0.1, 10.0.0.2,spare-1", "-o", folder)
    code, out, err = launch(*words)
    assert (code, out) == (0, "")
    assert f"Wrote launch.sh, hostfile, ds_config.json to {folder}." in err
    assert sorted(path.name for path in folder.iterdir()) == ["ds_config.json", "hostfile", "launch.sh"]
    assert os.access(folder / "launch.sh", os.X_OK)
    assert (folder / "hostfile").read_text() == "10.0.0.1 slots=8\n10.0.0.2 slots=8\n# spare: spare-1 slots=8\n"
    code, _, err = launch(*words)
    assert code == 2
    assert f"--output: '{folder}' has launch.sh, hostfile, ds_config.json already. Name another folder" in err
    assert launch(*words, "--force")[0] == 0


def test_hosts_come_from_a_file_too(launch: Any, stack: Path, tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("# the nodes\nnode-a slots=8\n\nnode-b # the second\n")
    code, out, _ = launch(stack, "--hosts-file", path)
    assert (code, "start node-a " in out, "start node-b " in out) == (0, True, True)


def test_an_elastic_pool_is_launched_on_the_hosts_that_there_are(launch: Any, stack: Path) -> None:
    pools = "train: {gpu: A10G, gpus_per_node: 4, nodes: {min: 0, max: 8}, purchase: spot}"
    stack.write_text(
        STACK.replace(STACK[STACK.index("train:") : STACK.index("\n      serve")], pools).replace("13e9", "1e9")
    )
    code, out, err = launch(stack, "--hosts", "a,b,c")
    assert (code, "--nnodes=1:3" in out) == (0, True)
    assert "Nodes meet at the first host" in err
    _, _, err = launch(stack, "--with", "mpi")
    assert "mpi starts 8 nodes and ends when one goes: on nodes that come and go use torchrun." in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--with", "torchrn"), "--with: 'torchrn' is none of them. Did you mean 'torchrun'?"),
        (("--pool", "trian"), "--pool: the stack has no pool 'trian'. Did you mean 'train'? Pools: train or serve."),
        (("--pool", "serve"), "node_pools.serve: pool 'serve' serves models"),
        (("--hosts", "a"), "--hosts: 1 host is given, and pool 'train' has 2 to 3, 1 of them spare."),
        (("--hosts", "a,b,c,d"), "--hosts: 4 hosts are given"),
        (("--hosts", "a,a"), "--hosts: 'a' is named twice."),
        (("--hosts", "a,"), "--hosts: '' is no name of a host. Give names or IPv4 addresses, each once."),
        (("--hosts", "a,b;reboot"), "--hosts: 'b;reboot' is no name of a host."),
        (("--hosts", "-oProxyCommand=x,b"), "--hosts: '-oProxyCommand=x' is no name of a host."),
        (("--hosts", "a,b", "--hosts-file", "x"), "--hosts-file: is given beside --hosts."),
        (("--hosts-file", "none"), "none: cannot be read: No such file or directory."),
        (("--script", "train.py 'a"), "--script: cannot be split into words: No closing quotation."),
        (("--script", " "), "--script: is empty."),
        (("--script", "--lr 3"), "--script: begins with an option, '--lr'."),
        (("--zero-stage", "2"), "--zero-stage: is not for torchrun."),
        (("--with", "deepspeed", "--zero-stage", "7"), "--zero-stage: 7 is none. Give 0 to 3."),
    ],
)
def test_wrong_input_is_told_and_ends_with_2(
    launch: Any, stack: Path, words: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    code, out, err = launch(stack, *words)
    assert (code, out) == (2, "")
    assert told in err


def test_hosts_of_a_file_are_told_with_their_lines(launch: Any, stack: Path, tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("a\n\nb c\na\n$x\n")
    code, _, err = launch(stack, "--hosts-file", path)
    assert code == 2
    assert f"{path}:4: 'a' is named twice." in err
    assert f"{path}:5: '$x' is no name of a host." in err
    path.write_text("# none\n")
    assert f"{path}: names no host. Write one a line." in launch(stack, "--hosts-file", path)[2]
    path.write_bytes(b"\xff")
    assert f"{path}: is no UTF-8 text." in launch(stack, "--hosts-file", path)[2]


def test_several_pools_that_can_are_to_be_named(launch: Any, stack: Path) -> None:
    stack.write_text(STACK.replace(", task: inference", ""))
    code, _, err = launch(stack)
    assert (code, "--pool: 2 pools of the stack can run such a job. Name one: train or serve." in err) == (2, True)
    assert launch(stack, "--pool", "serve")[0] == 0


def test_a_stack_without_such_a_pool_says_why_of_each(launch: Any, stack: Path) -> None:
    stack.write_text(STACK.replace("nodes: 2, spare_nodes: 1", "nodes: 1"))
    code, _, err = launch(stack)
    assert code == 2
    assert "torchrun --standalone --nproc-per-node=8 train.py" in err
    assert "pool 'serve' serves models" in err


def test_a_stack_with_problems_is_not_launched(launch: Any, stack: Path) -> None:
    stack.write_text(STACK.replace("p4de.24xlarge", "p4dx.24xlarge"))
    code, _, err = launch(stack)
    assert (code, f"{stack}:10: " in err) == (2, True)
