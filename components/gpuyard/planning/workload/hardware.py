"""What the planner needs to know of one node of an instance type, read from the catalog."""

from dataclasses import dataclass

from gpuyard.catalog import Gpu, InstanceType
from gpuyard.planning.workload.assumptions import PCIE_GB_PER_S, USABLE_MEMORY
from gpuyard.planning.workload.memory import GIB, Precision

_LEAST_CAPABILITY: dict[Precision, tuple[int, int]] = {"fp16": (7, 0), "bf16": (8, 0), "fp8": (8, 9), "fp32": (0, 0)}


@dataclass(frozen=True, slots=True)
class Hardware:
    """One node as the arithmetic sees it; equal nodes are planned once.

    ``usable_bytes`` is what a job can use of one GPU. ``nvlink`` says whether the GPUs are joined by NVLink; unknown
    counts as no. ``link_gb_per_s`` is the rate each way between two GPUs of the node in GB/s. ``network_gbps`` is what
    the node carries each way in Gbps, by RDMA where it has it; ``dense_tflops`` the rate of one GPU in the precision;
    both are ``None`` when unknown.
    """

    gpus: int
    usable_bytes: float
    nvlink: bool
    link_gb_per_s: float
    network_gbps: float | None
    dense_tflops: float | None
    precision: Precision


def hardware_of(row: InstanceType, gpu: Gpu, precision: Precision) -> Hardware | None:
    """One node of an instance type.

    Args:
        row: The instance type.
        gpu: Its GPU.
        precision: Number format of the work.

    Returns:
        The node, or None when the catalog does not know the number or the memory of its GPUs.
    """
    memory_gib = gpu_memory_gib(row, gpu)
    if row.gpu_count is None or memory_gib is None:
        return None
    nvlink = row.has_nvlink is True
    both_ways = row.nvlink_gb_per_s_per_gpu or gpu.nvlink_gb_per_s
    rate = dense_tflops(gpu, precision)
    return Hardware(
        gpus=row.gpu_count,
        usable_bytes=memory_gib * GIB * USABLE_MEMORY.value,
        nvlink=nvlink and row.gpu_count > 1,
        link_gb_per_s=both_ways / 2 if nvlink and both_ways else PCIE_GB_PER_S.value,
        network_gbps=network_gbps(row),
        dense_tflops=None if rate is None else rate * (1 if row.gpu_partition is None else row.gpu_partition),
        precision=precision,
    )


def gpu_memory_gib(row: InstanceType, gpu: Gpu) -> float | None:
    """GiB of one GPU of the type: the type's own figure (a share of a GPU has less), else the GPU's."""
    return row.gpu_memory_gib if row.gpu_memory_gib is not None else gpu.memory_gib


def network_gbps(row: InstanceType) -> float | None:
    """Gbps that one node carries to others: over RDMA where it has it, else over its network; None when unknown."""
    if row.has_rdma:
        return row.rdma_gbps if row.rdma_gbps is not None else row.network_gbps
    return row.network_gbps


def dense_tflops(gpu: Gpu, precision: Precision) -> float | None:
    """Dense TFLOPS of one GPU in a precision (tensor cores; FP32 without them); None when unknown."""
    return {
        "bf16": gpu.bf16_dense_tflops,
        "fp16": gpu.fp16_dense_tflops,
        "fp8": gpu.fp8_dense_tflops,
        "fp32": gpu.fp32_tflops,
    }[precision]


def supports(gpu: Gpu, precision: Precision) -> bool | None:
    """Whether a GPU computes in a precision at the rate of its tensor cores.

    FP16 needs compute capability 7.0, BF16 8.0, FP8 8.9. Source: CUDA C++ Programming Guide, tensor core section of
    the compute capabilities, https://docs.nvidia.com/cuda/cuda-c-programming-guide/.

    Args:
        gpu: The GPU.
        precision: Number format.

    Returns:
        Yes or no; None when the catalog has neither a rate nor a compute capability.
    """
    if precision == "fp32" or dense_tflops(gpu, precision) is not None:
        return True
    if gpu.compute_capability is None:
        return None
    major, minor = gpu.compute_capability.split(".")
    return (int(major), int(minor)) >= _LEAST_CAPABILITY[precision]


def best_precision(gpu: Gpu) -> Precision:
    """What a GPU trains in by default: BF16 where it has it (no loss scaling), else FP16, else FP32."""
    if supports(gpu, "bf16"):
        return "bf16"
    return "fp16" if supports(gpu, "fp16") else "fp32"
