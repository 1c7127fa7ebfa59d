"""The files that start a job on several nodes: a script, the hosts, and the launcher's configuration."""

import json
import shlex
from collections.abc import Iterator
from typing import Any

from gpuyard.planning.launch.commands import (
    ACCELERATE_CONFIG,
    DEEPSPEED_CONFIG,
    HOSTFILE,
    RENDEZVOUS_PORT,
    Launcher,
    Words,
    accelerate_words,
    deepspeed_words,
    mpi_words,
    torchrun_words,
)
from gpuyard.planning.launch.job import ZERO_STAGES, LaunchJob
from gpuyard.spec.problems import Problem

LAUNCH_SCRIPT = "launch.sh"
_STAGE_MAX = 3


def stage_problems(job: LaunchJob, launcher: Launcher, zero_stage: int | None) -> list[Problem]:
    """Why a launcher that divides the model by ZeRO cannot be set up.

    Args:
        job: The job.
        launcher: The launcher.
        zero_stage: The stage that a person asks for, None to take the plan's.

    Returns:
        At most one problem.
    """
    at = ("--zero-stage",)
    if launcher not in ("accelerate", "deepspeed"):
        if zero_stage is None:
            return []
        return [Problem(at, f"is not for {launcher}.", "It is for --with deepspeed and --with accelerate.")]
    if zero_stage is not None:
        if 0 <= zero_stage <= _STAGE_MAX:
            return []
        return [Problem(at, f"{zero_stage} is none.", f"Give 0 to {_STAGE_MAX}.")]
    if job.zero_layout is not None:
        return []
    if job.layout is not None:
        layout = job.layout
        message = (
            f"the model needs tensor {layout.tensor} × pipeline {layout.pipeline}; ZeRO alone does not make it fit."
        )
        return [Problem(at, message, "Use --with torchrun and a framework that divides models, or give a stage.")]
    message = f"the plan knows no stage: {job.reasons[-1]}"
    return [Problem(at, message, f"Mend that, or give a stage from 0 to {_STAGE_MAX}.")]


def launch_files(
    job: LaunchJob, launcher: Launcher, hosts: Words, script: Words, zero_stage: int | None = None
) -> dict[str, str]:
    """The files for one launcher.

    Args:
        job: The job.
        launcher: The launcher.
        hosts: Hosts that take part, the first being where they meet; more than the job's nodes are spare.
        script: The training script and its arguments.
        zero_stage: ZeRO's stage; the plan's when left out.

    Returns:
        Texts by name, ``launch.sh`` first.
    """
    working = hosts[: job.nodes]
    stage = zero_stage if zero_stage is not None else _planned_stage(job)
    found = {LAUNCH_SCRIPT: _script(job, launcher, hosts, script), HOSTFILE: _hostfile(job, hosts)}
    if launcher == "accelerate":
        found[ACCELERATE_CONFIG] = _accelerate_config(job, len(working), stage)
    if launcher == "deepspeed":
        found[DEEPSPEED_CONFIG] = json.dumps(_deepspeed_config(job, stage), indent=2) + "\n"
    return found


def _planned_stage(job: LaunchJob) -> int:
    return 0 if job.zero_layout is None else ZERO_STAGES[job.zero_layout.sharding]


def _hostfile(job: LaunchJob, hosts: Words) -> str:
    """Hosts with their GPUs, as DeepSpeed and Open MPI read them; spare ones as comments."""
    lines = [f"{host} slots={job.gpus_per_node}" for host in hosts[: job.nodes]]
    lines += [f"# spare: {host} slots={job.gpus_per_node}" for host in hosts[job.nodes :]]
    return "\n".join(lines) + "\n"


def _deepspeed_config(job: LaunchJob, stage: int) -> dict[str, Any]:
    """Source: https://www.deepspeed.ai/docs/config-json/."""
    found: dict[str, Any] = {} if job.precision == "fp32" else {job.precision: {"enabled": True}}
    found["zero_optimization"] = {"stage": stage}
    found["train_micro_batch_size_per_gpu"] = 1
    if job.zero_layout is not None:
        found["gradient_accumulation_steps"] = job.zero_layout.micro_batches
    return found


def _accelerate_config(job: LaunchJob, nodes: int, stage: int) -> str:
    """Source: ``ClusterConfig`` in https://github.com/huggingface/accelerate, commands/config/config_args.py."""
    settings: dict[str, Any] = {"compute_environment": "LOCAL_MACHINE"}
    if stage == 0:
        settings["distributed_type"] = "MULTI_GPU"
    else:
        settings["distributed_type"] = "DEEPSPEED"
        settings["deepspeed_config"] = {
            "deepspeed_multinode_launcher": "standard",
            "gradient_accumulation_steps": 1 if job.zero_layout is None else job.zero_layout.micro_batches,
            "zero3_init_flag": stage == _STAGE_MAX,
            "zero_stage": stage,
        }
    settings |= {
        "mixed_precision": "no" if job.precision == "fp32" else job.precision,
        "num_machines": nodes,
        "num_processes": nodes * job.gpus_per_node,
        "main_process_port": RENDEZVOUS_PORT,
        "rdzv_backend": "static",
        "same_network": True,
        "use_cpu": False,
    }
    return "".join(_yaml_lines(settings))


def _yaml_lines(settings: dict[str, Any], indent: str = "") -> Iterator[str]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield f"{indent}{key}:\n"
            yield from _yaml_lines(value, indent + "  ")  # pyright: ignore[reportUnknownArgumentType]
        else:
            # A scalar of JSON is one of YAML, and 'no' has to be quoted.
            yield f"{indent}{key}: {json.dumps(value)}\n"


def _script(job: LaunchJob, launcher: Launcher, hosts: Words, script: Words) -> str:
    working = hosts[: job.nodes]
    what = f"{launcher} on {len(working)} nodes of {job.gpus_per_node} GPUs"
    head = [
        "#!/bin/bash",
        f"# Written by 'gpuyard launch': {what}, pool {job.pool} ({job.instance_type}, {job.fabric or 'TCP'}).",
        "# Run it in a folder that all nodes share, on a machine that reaches them by SSH without a password.",
    ]
    if launcher == "torchrun":
        command = torchrun_words(job, working, script)
        return "\n".join([*head, *_pdsh_note(job, working, command), *_by_ssh([(h, command) for h in working], job)])
    if launcher == "accelerate":
        ranked = [(host, accelerate_words(working, script, rank)) for rank, host in enumerate(working)]
        return "\n".join([*head, *_by_ssh(ranked, job)])
    command = mpi_words(job, working, script) if launcher == "mpi" else deepspeed_words(working, script)
    exports = [] if launcher == "mpi" else [f"export {name}={shlex.quote(v)}" for name, v in job.environment.items()]
    return "\n".join([*head, "set -euo pipefail", *exports, f"exec {shlex.join(command)}", ""])


def _pdsh_note(job: LaunchJob, hosts: Words, command: Words) -> list[str]:
    remote = shlex.join(_with_environment(job, command))
    text = shlex.join(("pdsh", "-R", "ssh", "-w", ",".join(hosts), f"cd FOLDER && {remote}"))
    # A line end in an argument would end the comment, and the rest of it would run.
    return [] if "\n" in text else ["# The same with pdsh, FOLDER being the shared one:", f"#   {text}"]


def _by_ssh(commands: list[tuple[str, Words]], job: LaunchJob) -> list[str]:
    runs = [
        f"start {shlex.quote(host)} {shlex.quote(shlex.join(_with_environment(job, command)))}"
        for host, command in commands
    ]
    return [
        "# A command by SSH has to find the launcher on its PATH, as 'ssh HOST command -v ...' tells.",
        "set -euo pipefail",
        "",
        "jobs=()",
        "# A terminal of its own ends the command when the connection ends.",
        "start() {",
        '  ssh -tt -o BatchMode=yes "$1" "cd $(printf %q "$PWD") && exec $2" < /dev/null &',
        "  jobs+=($!)",
        "}",
        "trap 'kill \"${jobs[@]}\" 2> /dev/null || true' EXIT",
        "",
        *runs,
        "failed=0",
        'for _ in "${jobs[@]}"; do',
        "  wait -n || failed=$((failed + 1))",
        "  # The others would wait for ever for nodes that they cannot do without.",
        f'  if [ "$failed" -gt {len(commands) - min(job.min_nodes, len(commands))} ]; then',
        '    echo "$failed of ${#jobs[@]} nodes failed" >&2',
        "    exit 1",
        "  fi",
        "done",
        "",
    ]


def _with_environment(job: LaunchJob, command: Words) -> Words:
    if not job.environment:
        return command
    return ("env", *(f"{name}={value}" for name, value in job.environment.items()), *command)
