"""The files: read back as their readers do, and run with stand-ins for ssh and the launchers."""

import json
import os
import re
import shlex
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gpuyard.planning.launch import LAUNCHERS, Launcher, LaunchJob, launch_files, launch_job, stage_problems
from gpuyard.planning.node_pools import plan_node_pool
from gpuyard.planning.plans import Place
from gpuyard.spec import NodePoolSpec, parse_spec

HOSTS = ("node-a", "node-b")
SCRIPT = ("train.py", "--name", 'it\'s a "test" $HOME', "--lr", "1e-4")

# Options that the parsers have: torch/distributed/run.py (https://docs.pytorch.org/docs/stable/elastic/run.html),
# accelerate 1.15.0 commands/launch.py, deepspeed 0.19.8 launcher/runner.py, Open MPI's mpirun(1).
OPTIONS = {
    "torchrun": {
        "--nnodes", "--nproc-per-node", "--max-restarts", "--rdzv-backend", "--rdzv-endpoint", "--rdzv-id"
    },
    "accelerate": {"--config_file", "--machine_rank", "--main_process_ip", "--main_process_port"},
    "deepspeed": {"--hostfile", "--master_addr", "--master_port"},
    "mpi": {"-n", "-N", "--hostfile", "--bind-to", "--mca", "-x"},
}  # fmt: skip
# Fields of ClusterConfig, accelerate 1.15.0 commands/config/config_args.py; unknown ones are refused.
ACCELERATE_FIELDS = {
    "compute_environment", "distributed_type", "mixed_precision", "use_cpu", "debug", "num_processes", "machine_rank",
    "num_machines", "gpu_ids", "main_process_ip", "main_process_port", "rdzv_backend", "same_network",
    "main_training_function", "enable_cpu_affinity", "deepspeed_config", "fsdp_config", "downcast_bf16",
}  # fmt: skip


def job(parameters: float | None = 70e9, **values: Any) -> LaunchJob:
    place = Place("aws", "us-east-1", "dev", "us-east-1d", "pretrain", parameters)
    asked = {"instance_type": "p4de.24xlarge", "nodes": 2, "interconnect": "rdma", **values}
    plan, problems = plan_node_pool("train", parse_spec(NodePoolSpec, asked), place)
    assert problems == []
    assert plan is not None
    found, _ = launch_job(plan)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def two() -> LaunchJob:
    return job(13e9)


@pytest.fixture(scope="module")
def elastic() -> LaunchJob:
    values = {"instance_type": None, "gpu": "A10G", "gpus_per_node": 4, "nodes": {"min": 1, "max": 2}}
    return job(1e9, **values, purchase="spot", interconnect="none")


def run(folder: Path, files: dict[str, str], fake: str) -> subprocess.CompletedProcess[str]:
    """Run the script with a stand-in for every launcher, and an ssh that runs its command here."""
    tools = folder / "bin"
    tools.mkdir()
    (tools / "ssh").write_text('#!/bin/bash\necho "ssh ${*: 1:4}" >> "$LOG.ssh"\nHOST="$4" exec bash -c "${*: -1}"\n')
    for name in ("torchrun", "accelerate", "deepspeed", "mpirun"):
        (tools / name).write_text(f"#!/bin/bash\n{fake}\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    work = folder / "a folder"
    work.mkdir()
    for name, text in files.items():
        (work / name).write_text(text)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "LOG": str(folder / "log")}
    return subprocess.run(
        ["bash", "launch.sh"], cwd=work, env=environment, capture_output=True, text=True, timeout=20, check=False
    )


RECORD = 'printf "%s\\n" "$(pwd) $HOST ${NCCL_SOCKET_IFNAME-none} $(printf "%q " "${0##*/}" "$@")" >> "$LOG"'


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("which", ["two", "elastic"])
def test_scripts_are_good_bash(launcher: Launcher, which: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    script = tmp_path / "launch.sh"
    for words in (SCRIPT, ("train.py", "--lr", "1e-4")):
        script.write_text(launch_files(request.getfixturevalue(which), launcher, HOSTS, words)["launch.sh"])
        subprocess.run(["bash", "-n", str(script)], check=True)
    # Of the plain one: an argument with a dollar sign in quotes is meant so.
    shellcheck = Path(sysconfig.get_path("scripts"), "shellcheck")
    found = subprocess.run([str(shellcheck), str(script)], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize("launcher", ["torchrun", "accelerate"])
def test_every_node_is_started_once_in_the_folder_with_the_arguments_whole(
    two: LaunchJob, launcher: Launcher, tmp_path: Path
) -> None:
    found = run(tmp_path, launch_files(two, launcher, HOSTS, SCRIPT), RECORD)
    assert (found.returncode, found.stderr) == (0, "")
    lines = sorted((tmp_path / "log").read_text().splitlines())
    assert len(lines) == 2
    for host, line in zip(HOSTS, lines, strict=True):
        folder, rest = line.split(f" {host} ", maxsplit=1)
        assert folder == str(tmp_path / "a folder")
        interface, *words = shlex.split(rest)
        assert interface == "^docker,lo,veth"
        assert words[0] == launcher
        assert tuple(words[-len(SCRIPT) :]) == SCRIPT
    if launcher == "accelerate":
        assert [re.findall(r"--machine_rank (\d)", line) for line in lines] == [["0"], ["1"]]
    assert "ssh -tt -o BatchMode=yes node-a" in (tmp_path / "log.ssh").read_text()


@pytest.mark.parametrize("launcher", ["deepspeed", "mpi"])
def test_launchers_with_hosts_of_their_own_are_started_once(two: LaunchJob, launcher: Launcher, tmp_path: Path) -> None:
    found = run(tmp_path, launch_files(two, launcher, HOSTS, SCRIPT), "HOST=here; " + RECORD)
    assert (found.returncode, found.stderr) == (0, "")
    [line] = (tmp_path / "log").read_text().splitlines()
    words = shlex.split(line.split(" here ")[1])
    if launcher == "deepspeed":
        assert words[0] == "^docker,lo,veth", "exported to the nodes by its launcher"
        assert tuple(words[words.index("train.py") :][: len(SCRIPT)]) == SCRIPT
        assert words[-3:] == ["--deepspeed", "--deepspeed_config", "ds_config.json"]
    else:
        assert "NCCL_SOCKET_IFNAME=^docker,lo,veth" in words
        assert tuple(words[-len(SCRIPT) :]) == SCRIPT
        assert words[words.index("-n") + 1] == "16"


def test_when_one_node_fails_the_others_are_ended(two: LaunchJob, tmp_path: Path) -> None:
    fake = '[ "$HOST" = node-a ] && exit 3; exec sleep 60'
    found = run(tmp_path, launch_files(two, "torchrun", HOSTS, SCRIPT), fake)
    assert found.returncode == 1
    assert found.stderr == "1 of 2 nodes failed\n"


def test_an_elastic_job_goes_on_without_a_node(elastic: LaunchJob, tmp_path: Path) -> None:
    fake = '[ "$HOST" = node-a ] && exit 3; sleep 0.2; echo done >> "$LOG"'
    found = run(tmp_path, launch_files(elastic, "torchrun", HOSTS, SCRIPT), fake)
    assert (found.returncode, (tmp_path / "log").read_text()) == (0, "done\n")


def test_an_elastic_job_ends_without_any_node(elastic: LaunchJob, tmp_path: Path) -> None:
    found = run(tmp_path, launch_files(elastic, "torchrun", HOSTS, SCRIPT), "exit 3")
    assert (found.returncode, found.stderr) == (1, "2 of 2 nodes failed\n")


def test_the_number_of_nodes_is_a_range_where_they_come_and_go(two: LaunchJob, elastic: LaunchJob) -> None:
    assert "--nnodes=2 " in launch_files(two, "torchrun", HOSTS, SCRIPT)["launch.sh"]
    text = launch_files(elastic, "torchrun", HOSTS, SCRIPT)["launch.sh"]
    assert "--nnodes=1:2 " in text
    assert "--max-restarts=100 " in text


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_only_options_that_the_launcher_has_are_used(two: LaunchJob, launcher: Launcher) -> None:
    text = launch_files(two, launcher, HOSTS, ("train.py",))["launch.sh"]
    command = next(line for line in text.splitlines() if line.startswith(("start node-a", "exec ")))
    words = shlex.split(shlex.split(command)[-1] if command.startswith("start") else command)
    own = words[: words.index("train.py")]
    used = {word.split("=")[0] for word in own if word.startswith("-")}
    assert used == OPTIONS[launcher]


def test_the_hostfile_is_what_deepspeed_and_open_mpi_read(two: LaunchJob) -> None:
    text = launch_files(two, "deepspeed", (*HOSTS, "node-c"), SCRIPT)["hostfile"]
    # deepspeed 0.19.8, launcher/runner.py: comments and empty lines are passed over.
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert [re.search(r"^(\S+)\s+slots=(\d+)$", line).groups() for line in lines] == [("node-a", "8"), ("node-b", "8")]  # type: ignore[union-attr]
    assert "# spare: node-c slots=8\n" in text


def test_deepspeeds_configuration_has_the_plans_stage() -> None:
    found = json.loads(launch_files(job(70e9, nodes=4), "deepspeed", ("a", "b", "c", "d"), SCRIPT)["ds_config.json"])
    assert found == {
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": 3},
        "train_micro_batch_size_per_gpu": 1,
        # 1,024 sequences a step on 32 GPUs.
        "gradient_accumulation_steps": 32,
    }


def test_a_stage_of_ones_own_is_taken() -> None:
    unknown = job(None)
    found = json.loads(launch_files(unknown, "deepspeed", HOSTS, SCRIPT, 2)["ds_config.json"])
    assert found["zero_optimization"] == {"stage": 2}
    assert "gradient_accumulation_steps" not in found


def test_accelerates_configuration_is_one_that_it_reads(two: LaunchJob) -> None:
    yaml: Any = YAML(typ="safe")
    found = yaml.load(launch_files(two, "accelerate", HOSTS, SCRIPT, 3)["accelerate.yaml"])
    assert set(found) <= ACCELERATE_FIELDS
    assert (found["distributed_type"], found["num_machines"], found["num_processes"]) == ("DEEPSPEED", 2, 16)
    assert (found["mixed_precision"], found["same_network"], found["rdzv_backend"]) == ("bf16", True, "static")
    assert found["deepspeed_config"]["zero_stage"] == 3
    assert found["deepspeed_config"]["zero3_init_flag"] is True
    assert found["deepspeed_config"]["deepspeed_multinode_launcher"] == "standard"


def test_without_sharding_accelerate_needs_no_deepspeed() -> None:
    yaml: Any = YAML(typ="safe")
    small = job(1e8)
    found = yaml.load(launch_files(small, "accelerate", HOSTS, SCRIPT)["accelerate.yaml"])
    assert found["distributed_type"] == "MULTI_GPU"
    assert "deepspeed_config" not in found


@pytest.mark.parametrize(
    ("which", "launcher", "stage", "told"),
    [
        (13e9, "torchrun", 1, "--zero-stage: is not for torchrun. It is for --with deepspeed and --with accelerate."),
        (13e9, "deepspeed", 4, "--zero-stage: 4 is none. Give 0 to 3."),
        (13e9, "deepspeed", -1, "--zero-stage: -1 is none. Give 0 to 3."),
        (None, "deepspeed", None, "--zero-stage: the plan knows no stage: The stack names no"),
        (5e12, "accelerate", None, "--zero-stage: the plan knows no stage: A model of 5e+12 parameters does not fit"),
    ],
)
def test_a_stage_that_cannot_be(which: float | None, launcher: Launcher, stage: int | None, told: str) -> None:
    [problem] = stage_problems(job(which), launcher, stage)
    assert str(problem).startswith(told)


def test_a_model_that_needs_more_than_zero_is_refused_by_deepspeed() -> None:
    # 65 B × 16 bytes on 32 × 40 GB leave 7 GB a GPU, too little for the activations of whole layers.
    large = job(65e9, nodes=4, instance_type="p4d.24xlarge")
    assert large.layout is not None
    assert large.zero_layout is None
    [problem] = stage_problems(large, "deepspeed", None)
    assert problem.message == "the model needs tensor 2 × pipeline 1; ZeRO alone does not make it fit."
    assert stage_problems(large, "deepspeed", 3) == []
    assert stage_problems(large, "torchrun", None) == []


@settings(max_examples=25, deadline=None)
@given(
    words=st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=3
    )
)
def test_any_argument_reaches_the_script_whole(two: LaunchJob, words: list[str]) -> None:
    text = launch_files(two, "torchrun", HOSTS, ("train.py", *words))["launch.sh"]
    start = text.index("start node-b ")
    remote = shlex.split(text[start : text.index("failed=0", start)])[2]
    assert shlex.split(remote)[-len(words) :] == words


def test_a_line_end_in_an_argument_runs_nothing(two: LaunchJob, tmp_path: Path) -> None:
    words = ("train.py", "--note", "one\ntouch $LOG.bad")
    found = run(tmp_path, launch_files(two, "torchrun", HOSTS, words), 'printf "%s" "${!#}" > "$LOG.$HOST"')
    assert (found.returncode, found.stderr) == (0, "")
    assert (tmp_path / "log.node-b").read_text() == words[-1]
    assert not (tmp_path / "log.bad").exists()
