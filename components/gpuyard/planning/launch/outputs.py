"""What a stack tells its users about starting a job on a pool."""

import shlex
from typing import Any

from gpuyard.planning.launch.commands import RENDEZVOUS_PORT, placeholders, torchrun_words
from gpuyard.planning.launch.job import launch_job
from gpuyard.planning.plans import NodePoolPlan

_SCRIPT = ("train.py",)


def launch_outputs(plan: NodePoolPlan) -> dict[str, Any]:
    """How to start a job on all nodes of a pool, as plain data.

    Args:
        plan: The pool.

    Returns:
        Nodes, GPUs, ranks, the port where nodes meet, NCCL's variables, the layout of the stack's model (None where it
        is unknown), and the command with ``HOST0`` for the first node; empty for a pool where a job on several nodes
        makes no sense.
    """
    job, _ = launch_job(plan)
    if job is None:
        return {}
    layout = job.layout
    return {
        "nodes": job.nodes,
        "min_nodes": job.min_nodes,
        "gpus_per_node": job.gpus_per_node,
        "ranks": job.ranks,
        "rendezvous_port": RENDEZVOUS_PORT,
        "nccl_environment": dict(job.environment),
        "precision": job.precision,
        "layout": None
        if layout is None
        else {
            "data": layout.data,
            "tensor": layout.tensor,
            "pipeline": layout.pipeline,
            "sharding": layout.sharding,
            "recomputation": layout.recomputation,
        },
        "command": shlex.join(torchrun_words(job, placeholders(job.nodes), _SCRIPT)),
    }
