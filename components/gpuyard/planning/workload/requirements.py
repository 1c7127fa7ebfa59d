"""What a kind of work asks of the hardware whatever the arithmetic says, and whether a type has it."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpuyard.catalog import Gpu, InstanceType, instance_types
from gpuyard.planning.workload.hardware import gpu_memory_gib
from gpuyard.planning.workload.job import Job
from gpuyard.planning.workload.layout import WHOLE_NODE_GPUS

LARGE_MODEL_PARAMETERS = 65e9
"""The 70 B class begins at LLaMA 65B; Llama 2 70B has 69.0e9 parameters."""
LARGE_NVLINK_GB_PER_S = 600
"""A100 NVLink, both directions: the least that 70–175 B were trained on (Llama 2, GPT-3-class runs of Megatron)."""
LARGE_MEMORY_GB_PER_S = 1500
"""A100 40 GB has 1,555 GB/s; slower memory starves the optimizer step and attention."""
LARGE_RDMA_GBPS = 100
"""RDMA for each node; published A100 runs have 100 to 200 Gbps for each GPU or node."""
MANY_GPUS = 100
"""Above it a job is on many nodes, and one slow or shared node slows all: whole nodes with RDMA."""
IMAGE_GENERATION_MEMORY_GIB = 16
"""Stable Diffusion generates and takes LoRA adapters on a 16 GB T4 (Diffusers, pull request 2002)."""
IMAGE_TRAINING_MEMORY_GIB = 24
"""All weights of Stable Diffusion train on one 24 GB GPU with gradient checkpointing and mixed precision (Diffusers
0.15 documentation, Text-to-image, Hardware requirements)."""
INFERENCE_CLASS = ("T4", "A10", "A10G", "L4")
"""GPUs that NVIDIA's datasheets call inference or mainstream accelerators: 70 to 150 W, 16 to 24 GB."""


@dataclass(frozen=True, slots=True)
class Check:
    """One requirement against one type; ``met`` is None when the catalog does not know."""

    name: str
    met: bool | None
    reason: str


def is_large(job: Job) -> bool:
    """Whether the job trains all weights of a model of the 70 B class or above."""
    return job.parameters >= LARGE_MODEL_PARAMETERS and job.request.task in (
        "pretrain",
        "full_finetune",
        "rl",
        "vision",
    )


def class_checks(job: Job, row: InstanceType, gpu: Gpu) -> tuple[Check, ...]:
    """What the kind and size of the work ask of a type, before any layout.

    Args:
        job: The work.
        row: The instance type.
        gpu: Its GPU.

    Returns:
        One check for each requirement; none when the work asks nothing special.
    """
    return tuple(_class_checks(job, row, gpu))


def _class_checks(job: Job, row: InstanceType, gpu: Gpu) -> Iterator[Check]:
    if is_large(job):
        nvlink = 0.0 if row.has_nvlink is False else row.nvlink_gb_per_s_per_gpu
        yield _at_least("NVLink", nvlink, LARGE_NVLINK_GB_PER_S, "GB/s", "training 70 B and more")
        yield _at_least(
            "GPU memory bandwidth",
            gpu.memory_bandwidth_gb_per_s,
            LARGE_MEMORY_GB_PER_S,
            "GB/s",
            "training 70 B and more",
        )
        yield _at_least("RDMA", rdma_gbps(row), LARGE_RDMA_GBPS, "Gbps", "training 70 B and more")
    if job.request.architecture == "diffusion":
        all_weights = job.trains and job.request.task != "lora"
        least = IMAGE_TRAINING_MEMORY_GIB if all_weights else IMAGE_GENERATION_MEMORY_GIB
        yield _at_least("GPU memory", gpu_memory_gib(row, gpu), least, "GiB", "image generation")
    if job.trains and row.gpu_partition is not None and row.gpu_partition < 1:
        yield Check("whole GPU", False, f"has {row.gpu_partition:g} of a GPU; training needs whole ones.")


def scale_checks(row: InstanceType, gpus: int) -> tuple[Check, ...]:
    """What a number of GPUs that train together asks of a type: above 100, whole nodes or bare metal, with RDMA.

    Args:
        row: The instance type.
        gpus: GPUs of the whole job.

    Returns:
        The checks; none at 100 GPUs or fewer.
    """
    if gpus <= MANY_GPUS:
        return ()
    whole = True if row.bare_metal is True else is_whole_node(row)
    kind = "is bare metal" if row.bare_metal else "is a whole node" if whole else "is a part of a node"
    return (
        Check("whole node", whole, f"{kind}: above {MANY_GPUS} GPUs bare metal or whole nodes are required."),
        Check("RDMA", row.has_rdma, f"{_rdma_words(row)}: above {MANY_GPUS} GPUs RDMA is required."),
    )


def is_whole_node(row: InstanceType) -> bool | None:
    """Whether a type is all GPUs of its machine: the largest of its family, with a full board; None when unknown."""
    if row.gpu_count is None:
        return None
    # GB200 and GB300 boards have 4 GPUs, HGX boards 8.
    board = 4 if row.gpu_model is not None and row.gpu_model.startswith("GB") else WHOLE_NODE_GPUS
    family = [other.gpu_count or 0 for other in instance_types(row.cloud).values() if other.family == row.family]
    return row.gpu_count >= board and row.gpu_count == max([*family, row.gpu_count])


def rdma_gbps(row: InstanceType) -> float | None:
    """Gbps of a node's RDMA network, 0 without one; None when unknown."""
    if row.has_rdma is None:
        return None
    if not row.has_rdma:
        return 0.0
    return row.rdma_gbps


def _at_least(name: str, given: float | None, wanted: float, unit: str, why: str) -> Check:
    if given is None:
        return Check(name, None, f"{name} is unknown to the catalog; {why} needs at least {wanted:,.0f} {unit}.")
    has = f"no {name}" if given == 0 else f"{name} {given:,.0f} {unit}"
    return Check(name, given >= wanted, f"has {has}; {why} needs at least {wanted:,.0f} {unit}.")


def _rdma_words(row: InstanceType) -> str:
    if row.has_rdma is None:
        return "RDMA is unknown to the catalog"
    return f"has RDMA ({row.rdma})" if row.has_rdma else "has no RDMA"
