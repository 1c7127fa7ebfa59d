"""The commands that start a job on several nodes, as words for a shell to quote."""

from typing import Literal

from gpuyard.planning.launch.job import LaunchJob

Launcher = Literal["torchrun", "accelerate", "deepspeed", "mpi"]
LAUNCHERS: tuple[Launcher, ...] = ("torchrun", "accelerate", "deepspeed", "mpi")
RENDEZVOUS_PORT = 29500
HOSTFILE, ACCELERATE_CONFIG, DEEPSPEED_CONFIG = "hostfile", "accelerate.yaml", "ds_config.json"
_RESTARTS, _RESTARTS_ELASTIC = 3, 100
"""Restarts before torchrun gives up; where nodes come and go, each change of their number is one."""

Words = tuple[str, ...]


def placeholders(nodes: int) -> Words:
    """Names that stand for hosts: ``HOST0`` and so on."""
    return tuple(f"HOST{number}" for number in range(nodes))


def torchrun_words(job: LaunchJob, hosts: Words, script: Words) -> Words:
    """``torchrun`` as every node runs it; nodes find each other and their ranks at the first host.

    Source: https://docs.pytorch.org/docs/stable/elastic/run.html

    Args:
        job: The job.
        hosts: Hosts, the first being where they meet.
        script: The training script and its arguments.

    Returns:
        The words of the command.
    """
    nodes = f"{job.min_nodes}:{len(hosts)}" if job.min_nodes < len(hosts) else f"{len(hosts)}"
    return (
        "torchrun",
        f"--nnodes={nodes}",
        f"--nproc-per-node={job.gpus_per_node}",
        f"--max-restarts={_RESTARTS_ELASTIC if job.min_nodes < len(hosts) else _RESTARTS}",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={hosts[0]}:{RENDEZVOUS_PORT}",
        f"--rdzv-id={job.pool}",
        *script,
    )


def accelerate_words(hosts: Words, script: Words, rank: int) -> Words:
    """``accelerate launch`` as the node of one rank runs it, with the configuration beside it.

    Source: https://huggingface.co/docs/accelerate/package_reference/cli#accelerate-launch

    Args:
        hosts: Hosts in the order of their ranks.
        script: The training script and its arguments.
        rank: Rank of the node.

    Returns:
        The words of the command.
    """
    return (
        "accelerate",
        "launch",
        "--config_file",
        ACCELERATE_CONFIG,
        "--machine_rank",
        f"{rank}",
        "--main_process_ip",
        hosts[0],
        "--main_process_port",
        f"{RENDEZVOUS_PORT}",
        *script,
    )


def deepspeed_words(hosts: Words, script: Words) -> Words:
    """``deepspeed`` as the first node runs it; it starts the others by pdsh over SSH, with this shell's NCCL variables.

    Source: https://www.deepspeed.ai/getting-started/#resource-configuration-multi-node

    Args:
        hosts: Hosts, the first being where they meet.
        script: The training script and its arguments.

    Returns:
        The words of the command.
    """
    return (
        "deepspeed",
        "--hostfile",
        HOSTFILE,
        "--master_addr",
        hosts[0],
        "--master_port",
        f"{RENDEZVOUS_PORT}",
        *script,
        "--deepspeed",
        "--deepspeed_config",
        DEEPSPEED_CONFIG,
    )


def mpi_words(job: LaunchJob, hosts: Words, script: Words) -> Words:
    """Open MPI's ``mpirun`` as the first node runs it; MPI itself stays on TCP, data goes by NCCL.

    The script reads its rank from ``OMPI_COMM_WORLD_RANK``, and meets the others at ``MASTER_ADDR``.

    Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start-nccl.html (NCCL tests) and
    https://docs.open-mpi.org/en/main/man-openmpi/man1/mpirun.1.html

    Args:
        job: The job.
        hosts: Hosts, the first being where they meet.
        script: The training script and its arguments.

    Returns:
        The words of the command.
    """
    variables = {**job.environment, "MASTER_ADDR": hosts[0], "MASTER_PORT": f"{RENDEZVOUS_PORT}"}
    exports = [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]
    return (
        "mpirun",
        "-n",
        f"{len(hosts) * job.gpus_per_node}",
        "-N",
        f"{job.gpus_per_node}",
        "--hostfile",
        HOSTFILE,
        "--bind-to",
        "none",
        "--mca",
        "pml",
        "^cm,ucx",
        "--mca",
        "btl",
        "tcp,self",
        "--mca",
        "btl_tcp_if_exclude",
        "lo,docker0",
        "-x",
        "PATH",
        "-x",
        "LD_LIBRARY_PATH",
        *exports,
        "python",
        *script,
    )
