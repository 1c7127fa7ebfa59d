"""What a job on all nodes of a pool needs to start: nodes, ranks, NCCL's environment, and how the model is laid out."""

from dataclasses import dataclass, replace

from gpuyard.catalog import InstanceType, gpus
from gpuyard.catalog.nccl import nccl_environment, nccl_variables
from gpuyard.planning.plans import NodePoolPlan
from gpuyard.planning.workload.hardware import Hardware, best_precision, hardware_of
from gpuyard.planning.workload.job import job_of
from gpuyard.planning.workload.layout import PIPELINE_SHARDINGS, Layout, layout_on
from gpuyard.planning.workload.memory import Precision, Sharding
from gpuyard.planning.workload.request import WorkloadRequest
from gpuyard.spec.problems import Path, Problem

ZERO_STAGES: dict[Sharding, int] = {"none": 0, "zero1": 1, "zero2": 2, "zero3": 3, "fsdp": 3}
"""ZeRO's stages by what the planner calls them; FSDP divides what stage 3 does (Zhao et al. 2023, PyTorch FSDP)."""

_ELASTIC = (
    "Nodes meet at the first host, and the job ends with it: name one first that is bought on demand.",
    "The layout is for all nodes: the script divides its work anew when their number changes.",
)


@dataclass(frozen=True, slots=True)
class LaunchJob:
    """One job on the nodes of a pool.

    ``nodes`` take part, at least ``min_nodes`` where nodes come and go; ``spare_nodes`` stand by. ``fabric`` is the
    RDMA of the nodes, None for TCP. ``layout`` is the planner's for the stack's model, ``zero_layout`` the one that
    divides by ZeRO alone, as DeepSpeed and accelerate do without a change of the model's code; both are None where the
    stack names no model, or the model does not fit so.
    """

    pool: str
    cloud: str
    instance_type: str
    fabric: str | None
    min_nodes: int
    nodes: int
    spare_nodes: int
    gpus_per_node: int
    precision: Precision
    environment: dict[str, str]
    layout: Layout | None
    zero_layout: Layout | None
    reasons: tuple[str, ...]

    @property
    def elastic(self) -> bool:
        """Whether nodes may come and go while it runs."""
        return self.min_nodes < self.nodes

    @property
    def ranks(self) -> int:
        """Processes of the job, one for each GPU."""
        return self.nodes * self.gpus_per_node


def launch_job(plan: NodePoolPlan, nodes: int | None = None, path: Path = ()) -> tuple[LaunchJob | None, list[Problem]]:
    """The job of a pool.

    Args:
        plan: The pool.
        nodes: Nodes that take part; all but the spare ones when left out.
        path: Where the pool stands, for the problems' paths.

    Returns:
        The job, or None and why a job on several nodes makes no sense there.
    """
    row = plan.instance_type
    most = plan.max_nodes - plan.spare_nodes
    problems = _problems(plan, row, most, path)
    if problems or row.gpu_count is None:
        return None, problems
    count = min(nodes or most, most)
    fabric = row.rdma if plan.kind == "rdma" and row.has_rdma else None
    gpu = gpus().get(row.gpu_model or "")
    precision = "bf16" if gpu is None else best_precision(gpu)
    node = None if gpu is None else hardware_of(row, gpu, precision)
    layout, zero_layout, reasons = _layouts(plan, node, count)
    least = count if plan.kind != "elastic" else min(count, max(1, plan.min_nodes))
    job = LaunchJob(
        pool=plan.name,
        cloud=plan.place.cloud,
        instance_type=row.instance_type,
        fabric=fabric,
        min_nodes=least,
        nodes=count,
        spare_nodes=plan.spare_nodes,
        gpus_per_node=row.gpu_count,
        precision=precision,
        environment=nccl_environment(plan.place.cloud, fabric),
        layout=layout,
        zero_layout=zero_layout,
        reasons=(*_fabric_reasons(plan, row, fabric), *reasons, *(_ELASTIC if least < count else ())),
    )
    return job, []


def host_problems(job: LaunchJob, hosts: tuple[str, ...]) -> list[Problem]:
    """Problems of hosts that do not fit a job: too few, or more than the pool has.

    Args:
        job: The job, planned for all nodes of its pool.
        hosts: Names or addresses.

    Returns:
        At most one problem.
    """
    most = job.nodes + job.spare_nodes
    if job.min_nodes <= len(hosts) <= most and len(hosts) > 1:
        return []
    wanted = f"{job.nodes}" if most == job.min_nodes else f"{max(2, job.min_nodes)} to {most}"
    spare = f", {job.spare_nodes} of them spare" if job.spare_nodes else ""
    message = f"{len(hosts)} {'host is' if len(hosts) == 1 else 'hosts are'} given, and pool '{job.pool}' has {wanted}"
    return [Problem(("--hosts",), f"{message}{spare}.", "Give the pool's nodes, each once.")]


def _problems(plan: NodePoolPlan, row: InstanceType, most: int, path: Path) -> list[Problem]:
    name, count = plan.name, row.gpu_count
    if plan.place.task == "inference":
        message = f"pool '{name}' serves models: each replica starts by itself, not as one job on all nodes."
        return [Problem(path, message, "Name a pool that trains, or start the server on each node.")]
    if most < 2:
        remedy = "Raise its nodes."
        if count is not None:
            remedy = f"Start it there: torchrun --standalone --nproc-per-node={count} train.py"
        return [Problem(path, f"pool '{name}' has one node, which needs no launch over several.", remedy)]
    if count is None:
        message = f"the catalog does not know how many GPUs {row.instance_type} has."
        return [Problem(path, message, "Choose a type whose GPUs are known.")]
    if row.gpu_partition is not None and row.gpu_partition < 1:
        message = f"{row.instance_type} has a share of a GPU, on which NCCL joins no nodes."
        return [Problem(path, message, "Choose a type with whole GPUs.")]
    return []


def _fabric_reasons(plan: NodePoolPlan, row: InstanceType, fabric: str | None) -> list[str]:
    found: list[str] = []
    if fabric is None:
        found.append("The nodes exchange over TCP: NCCL finds the interface by itself, and large models wait for it.")
    elif not nccl_environment(plan.place.cloud, fabric):
        found.append(f"Nothing is documented for NCCL over {fabric} of {plan.place.cloud}: its defaults stand.")
    variables = nccl_variables(plan.place.cloud, fabric)
    asked = [one.variable for one in variables if one.rule == "ask_node"]
    if asked:
        found.append(f"{', '.join(asked)} differs between machines; the nodes have it in /etc/nccl.conf.")
    left_out = [one.variable for one in variables if one.rule == "leave_out"]
    if left_out:
        found.append(f"Left out on purpose: {', '.join(left_out)}.")
    models = {one.gpu_model for one in plan.instance_types}
    if len(models) > 1:
        found.append(f"The pool mixes GPUs ({', '.join(sorted(map(str, models)))}): the slowest sets the pace.")
    if row.gpu_model not in gpus():
        found.append("The GPU is unknown to the catalog, and so is its precision: BF16 is assumed.")
    return found


def _layouts(plan: NodePoolPlan, node: Hardware | None, nodes: int) -> tuple[Layout | None, Layout | None, list[str]]:
    """The planner's layout, the one by ZeRO alone, and what is to be said about them."""
    parameters, task = plan.place.model_parameters, plan.place.task
    if parameters is None or task is None:
        return None, None, ["The stack names no 'workload.model_parameters': how to lay the model out is unknown."]
    if node is None:
        return None, None, ["The catalog knows too little of the GPU to lay the model out."]
    request = WorkloadRequest.model_validate({"task": task, "parameters": parameters, "precision": node.precision})
    layout = layout_on(job_of(request), node, nodes)
    if layout is None:
        return None, None, [f"A model of {parameters:.3g} parameters does not fit {nodes} nodes in any layout."]
    zero = layout if layout.tensor == layout.pipeline == 1 else _by_zero_alone(request, node, nodes)
    parts = f"data {layout.data} × tensor {layout.tensor} × pipeline {layout.pipeline}"
    text = f"Layout: {parts}, {layout.sharding} sharding, {layout.recomputation} recomputation."
    if layout.tensor * layout.pipeline > 1 and layout.sharding in PIPELINE_SHARDINGS:
        text += f" Megatron-LM: {_megatron_words(layout)}."
    return layout, zero, [text]


def _megatron_words(layout: Layout) -> str:
    """Source: https://github.com/NVIDIA/Megatron-LM, megatron/training/arguments.py."""
    words = [f"--tensor-model-parallel-size {layout.tensor}", f"--pipeline-model-parallel-size {layout.pipeline}"]
    if layout.sharding == "zero1":
        words.append("--use-distributed-optimizer")
    return " ".join(words)


def _by_zero_alone(request: WorkloadRequest, node: Hardware, nodes: int) -> Layout | None:
    """The least stage of ZeRO with which the model fits without tensor or pipeline parallelism."""
    # Tensor parallelism is planned only where NVLink is.
    apart = replace(node, nvlink=False)
    for sharding in ("none", "zero1", "zero2", "zero3"):
        layout = layout_on(job_of(request.model_copy(update={"sharding": sharding})), apart, nodes)
        if layout is not None and layout.tensor == layout.pipeline == 1:
            return layout
    return None
