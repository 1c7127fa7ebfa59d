"""Rules about what joins the GPUs of one node, and how much memory they have."""

from collections.abc import Callable

from gpuyard.catalog import InstanceType, gpus
from gpuyard_policy.facts import NodePoolFact
from gpuyard_policy.rules.fabric_network import NETWORK_RULES
from gpuyard_policy.rules.judging import (
    ONE_JOB_ON_ALL_NODES,
    TRAINING_TASKS,
    Answer,
    CannotTellError,
    better_type,
    failed,
    fault_of,
    is_alone,
    nodes_max_of,
    on_pools,
    parameters_of,
    passed,
    row_of,
    stated,
    types_of,
    work_of,
)
from gpuyard_policy.rules.rule import Context, Rule, Threshold, everywhere, stricter

_IMAGE_TASKS = ("vision", "inference")
LARGE_MODEL = Threshold(
    70e9,
    "parameters",
    "size from which a model counts as large",
    "https://arxiv.org/abs/2104.04473 (tensor parallelism inside a node for models that no single GPU holds)",
)


def _judge_nvlink(context: Context, pool: NodePoolFact) -> Answer:
    task = work_of(context, pool)
    if task not in TRAINING_TASKS:
        return passed(f"'{task}' is no training.")
    fault = fault_of(pool, lambda row: _nvlink_fault(pool, task, row))
    if fault is not None:
        return failed(fault)
    return passed(f"{', '.join(types_of(pool))}: joined by NVLink, or one GPU for a job.")


def _nvlink_fault(pool: NodePoolFact, task: str, row: InstanceType) -> str | None:
    name = row.instance_type
    if row.gpu_count is None:
        raise CannotTellError(f"cannot tell: the catalog does not know how many accelerators {name} has.")
    if row.gpu_count > 1:
        if row.has_nvlink is None:
            unknown = f"how {name} joins its {row.gpu_count} {row.gpu_model}"
            raise CannotTellError(f"cannot tell: the catalog does not know {unknown}.")
        if row.has_nvlink:
            return None
        return (
            f"pool '{pool.name}' trains ({task}) on {name}, whose {row.gpu_count} × {row.gpu_model} are joined by "
            f"{row.gpu_interconnect} only: gradients would crawl between them. Use a type with NVLink or "
            f"NVSwitch{better_type(pool.cloud, _is_nvswitch_node)}, or one GPU a job."
        )
    if task not in ONE_JOB_ON_ALL_NODES or is_alone(pool):
        return None
    nodes = nodes_max_of(pool)
    if nodes <= 1:
        return None
    return (
        f"pool '{pool.name}' spreads one job ({task}) over up to {nodes} × {name} of one GPU each, with no NVLink "
        f"anywhere between its GPUs. Use whole nodes of several GPUs with NVLink or "
        f"NVSwitch{better_type(pool.cloud, _is_nvswitch_node)}."
    )


def _is_nvswitch_node(row: InstanceType) -> bool:
    return row.has_nvlink is True and (row.gpu_count or 0) > 1 and (_nvlink_of(row) or 0) >= 600  # noqa: PLR2004


def _nvlink_of(row: InstanceType) -> float | None:
    """Speed of NVLink between GPUs of a node in GB/s; None where the catalog does not know it."""
    if row.nvlink_gb_per_s_per_gpu is not None:
        return row.nvlink_gb_per_s_per_gpu
    gpu = gpus().get(row.gpu_model or "")
    return None if gpu is None else gpu.nvlink_gb_per_s


def _judge_nvlink_speed(context: Context, pool: NodePoolFact) -> Answer:
    least = context.threshold("nvlink_gb_per_s")

    def fault(row: InstanceType) -> str | None:
        if (row.gpu_count or 0) < 2 or row.has_nvlink is False:  # noqa: PLR2004 - FAB001 says what one GPU needs
            return None
        speed = stated(_nvlink_of(row), row, "the speed of NVLink")
        return None if speed >= least else f"{row.instance_type} moves {speed:g} GB/s over NVLink for each GPU"

    return _of_large_training(context, pool, fault, f"at least {least:g} GB/s", "NVLink")


def _judge_bandwidth(context: Context, pool: NodePoolFact) -> Answer:
    least = context.threshold("memory_bandwidth_gb_per_s")

    def fault(row: InstanceType) -> str | None:
        gpu = gpus().get(row.gpu_model or "")
        speed = stated(None if gpu is None else gpu.memory_bandwidth_gb_per_s, row, "the memory bandwidth of the GPU")
        return None if speed >= least else f"the memory of {row.gpu_model} in {row.instance_type} moves {speed:g} GB/s"

    return _of_large_training(context, pool, fault, f"at least {least:g} GB/s", "memory")


def _of_large_training(
    context: Context, pool: NodePoolFact, fault: Callable[[InstanceType], str | None], right: str, what: str
) -> Answer:
    """Judge what only training of a large model needs: the size is asked for only where something would be wrong."""
    if not _trains(context, pool):
        return passed("no training.")
    found = fault_of(pool, fault)
    if found is None:
        return passed(f"{what} of {', '.join(types_of(pool))} is fast enough for any model.")
    size, large = parameters_of(context, pool), context.threshold("model_parameters")
    if size < large:
        return passed(f"a model of {size / 1e9:g} B parameters does not need it.")
    return failed(
        f"pool '{pool.name}' trains a model of {size / 1e9:g} B parameters, but {found}. Use GPUs with {right}"
        f"{better_type(pool.cloud, _is_large_model_node)}."
    )


def _is_large_model_node(row: InstanceType) -> bool:
    gpu = gpus().get(row.gpu_model or "")
    fast = gpu is not None and (gpu.memory_bandwidth_gb_per_s or 0) >= 1500  # noqa: PLR2004 - as in the issue
    return fast and _is_nvswitch_node(row) and (row.rdma_gbps or 0) >= 100  # noqa: PLR2004


def _trains(context: Context, pool: NodePoolFact) -> bool:
    return work_of(context, pool) in TRAINING_TASKS


def _judge_training_memory(context: Context, pool: NodePoolFact) -> Answer:
    least, large = context.threshold("memory_gb"), context.threshold("model_parameters")
    if not _trains(context, pool):
        return passed("no training.")

    def fault(row: InstanceType) -> str | None:
        count = stated(row.gpu_count, row, "the number of GPUs")
        one_job = work_of(context, pool) in ONE_JOB_ON_ALL_NODES
        if count < 2 and not (one_job and nodes_max_of(pool) > 1):  # noqa: PLR2004 - one GPU
            return None
        memory = stated(row.gpu_memory_gib, row, "the memory of a GPU")
        return None if memory >= least else f"a GPU of {row.instance_type} has {memory:g} GB"

    found = fault_of(pool, fault)
    if found is None:
        return passed(f"{', '.join(types_of(pool))}: enough memory, or one GPU for a job.")
    size = parameters_of(context, pool)
    if size <= large:
        return passed(f"a model of {size / 1e9:g} B parameters does not need more.")
    return failed(
        f"pool '{pool.name}' trains a model of {size / 1e9:g} B parameters on several GPUs, but {found}. "
        f"Use GPUs of at least {least:g} GB."
    )


def _judge_image_memory(context: Context, pool: NodePoolFact) -> Answer:
    task, least = work_of(context, pool), context.threshold("memory_gb")
    if task not in _IMAGE_TASKS:
        return passed(f"'{task}' makes no images and answers no requests.")

    def fault(row: InstanceType) -> str | None:
        memory = stated(row.gpu_memory_gib, row, "the memory of a GPU")
        return None if memory >= least else f"a GPU of {row.instance_type} has {memory:g} GB"

    found = fault_of(pool, fault)
    if found is None:
        return passed(f"{', '.join(types_of(pool))}: enough memory.")
    return failed(f"pool '{pool.name}' does {task}, but {found}. Use GPUs, or shares of one, of at least {least:g} GB.")


def _judge_known_types(context: Context, pool: NodePoolFact) -> Answer:
    names = types_of(pool)
    fault_of(pool, lambda row: None)
    return passed(f"the catalog knows {', '.join(row_of(pool, name).instance_type for name in names)}.")


RULES = (
    Rule(
        id="FAB001",
        name="multi-gpu-training-needs-nvlink",
        family="fabric",
        title="Training on several GPUs needs NVLink or NVSwitch between them.",
        severity="high",
        levels=everywhere("mandatory"),
        rationale=(
            "Every step exchanges all gradients between the GPUs of a job. PCIe moves some 30 to 60 GB/s between two "
            "GPUs and shares it; NVLink moves 300 to 1800 GB/s for each. Without it most of what is paid for waits."
        ),
        remedy="Choose an instance type whose GPUs are joined by NVLink or NVSwitch, or give each job one GPU.",
        check=on_pools(_judge_nvlink),
        example=(
            "task pretrain on g5.12xlarge: 4 × A10G on PCIe",
            "task pretrain on p4d.24xlarge: 8 × A100 on NVSwitch",
        ),
    ),
    Rule(
        id="FAB002",
        name="large-model-training-needs-fast-nvlink",
        family="fabric",
        title="Training a large model needs NVLink of 600 GB/s or more.",
        severity="high",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale=(
            "A model that no GPU holds is cut into slices that exchange every layer's results. V100, A800 and H800 "
            "have half to two thirds of the NVLink of A100 and H100, and the slices wait for it in every layer."
        ),
        remedy="Choose GPUs with faster NVLink, such as A100, H100 or H200.",
        check=on_pools(_judge_nvlink_speed),
        example=("70 B parameters on p3.16xlarge: 300 GB/s", "70 B parameters on p4de.24xlarge: 600 GB/s"),
        thresholds={
            "nvlink_gb_per_s": Threshold(
                600,
                "GB/s",
                "least speed of NVLink of one GPU, all links, both ways",
                "https://www.nvidia.com/en-us/data-center/a100/ (third generation NVLink)",
            ),
            "model_parameters": LARGE_MODEL,
        },
    ),
    Rule(
        id="FAB003",
        name="large-model-training-needs-fast-gpu-memory",
        family="fabric",
        title="Training a large model needs GPU memory of 1.5 TB/s or more.",
        severity="medium",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale=(
            "Optimizer steps, attention and normalization read and write all weights and states: their time is that of "
            "the memory. GDDR cards have a third of the bandwidth of HBM2e."
        ),
        remedy="Choose GPUs with HBM2e or newer, such as A100, H100 or H20.",
        check=on_pools(_judge_bandwidth),
        example=("70 B parameters on L40S: 864 GB/s", "70 B parameters on A100 80 GB: 2039 GB/s"),
        thresholds={
            "memory_bandwidth_gb_per_s": Threshold(
                1500,
                "GB/s",
                "least memory bandwidth of one GPU",
                "https://www.nvidia.com/en-us/data-center/a100/ (A100 40 GB: 1555 GB/s)",
            ),
            "model_parameters": LARGE_MODEL,
        },
    ),
    Rule(
        id="FAB004",
        name="multi-gpu-training-needs-gpu-memory",
        family="fabric",
        title="Training more than 7 B parameters on several GPUs needs 24 GB of memory on each.",
        severity="medium",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale=(
            "Weights, gradients and optimizer states take 16 bytes a parameter before any activation. Spread over GPUs "
            "of less than 24 GB, a model of more than 7 B leaves too little for a batch that keeps them busy."
        ),
        remedy="Choose GPUs of 24 GB or more.",
        check=on_pools(_judge_training_memory),
        example=("13 B parameters on 8 × V100 16 GB", "13 B parameters on 8 × A100 40 GB"),
        thresholds={
            "memory_gb": Threshold(
                24, "GB", "least memory of one GPU", "https://arxiv.org/abs/1910.02054 (section 3.1)"
            ),
            "model_parameters": Threshold(
                7e9, "parameters", "size above which it counts", "https://arxiv.org/abs/1910.02054 (section 3.1)"
            ),
        },
    ),
    Rule(
        id="FAB005",
        name="images-and-serving-need-gpu-memory",
        family="fabric",
        title="Image generation and inference need 16 GB of GPU memory.",
        severity="medium",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale=(
            "A 7 B model in 16 bits, or a diffusion model with its encoder and decoder, takes most of 16 GB. Less "
            "means failing with an out-of-memory error on the first large request."
        ),
        remedy="Choose GPUs, or shares of one, of 16 GB or more.",
        check=on_pools(_judge_image_memory),
        example=("inference on g4ad.xlarge: 8 GB", "inference on g5.xlarge: 24 GB"),
        thresholds={
            "memory_gb": Threshold(
                16,
                "GB",
                "least memory of one GPU",
                "https://huggingface.co/docs/transformers/llm_tutorial_optimization (2 bytes a parameter in 16 bits)",
            )
        },
    ),
    *NETWORK_RULES,
    Rule(
        id="FAB013",
        name="instance-type-is-known",
        family="fabric",
        title="The catalog knows every instance type.",
        severity="low",
        levels=everywhere("advisory"),
        rationale="Of a type that the catalog does not know no rule can tell anything: its pool is judged by nobody.",
        remedy="Use a type that `gpuyard catalog list` knows, or suppress the finding where no GPUs are meant.",
        check=on_pools(_judge_known_types),
        example=("p9.96xlarge", "p5.48xlarge"),
    ),
)
