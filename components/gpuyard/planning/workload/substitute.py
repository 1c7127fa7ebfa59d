"""What to offer instead of a GPU that the chosen clouds do not rent."""

from math import log

from gpuyard.catalog import Gpu, InstanceType, gpus
from gpuyard.planning.workload.request import WorkloadRequest
from gpuyard.spec.problems import one_of


def nearest_rented(
    wanted: set[str], rows: list[InstanceType], request: WorkloadRequest
) -> tuple[str | None, list[str]]:
    """The rented GPU that is most like one that no chosen cloud rents.

    Args:
        wanted: Full names of the GPU asked for.
        rows: Instance types of the chosen clouds.
        request: The request.

    Returns:
        Its full name, or None when there is none; and what to say.
    """
    asked = gpus()[min(wanted)]
    clouds = one_of(request.clouds)
    facts = [f"{asked.memory_gib:g} GiB" if asked.memory_gib else "memory unknown"]
    rate = asked.bf16_dense_tflops or asked.fp16_dense_tflops
    facts.append(f"{rate:g} dense 16-bit TFLOPS" if rate else "tensor rate unknown")
    reasons = [f"No instance type of {clouds} in the catalog rents {asked.model} ({asked.vendor}; {', '.join(facts)})."]
    rented = {str(row.gpu_model) for row in rows if row.gpu_model in gpus()}
    known = [gpus()[model] for model in sorted(rented) if gpus()[model].vendor == "NVIDIA"]
    if not known:
        return None, [*reasons, "Nothing near it is rented there either."]
    nearest = min(known, key=lambda other: _distance(asked, other))
    reasons.append(f"The nearest that is rented: {nearest.model}; its types are the alternatives.")
    return nearest.model, reasons


def _distance(one: Gpu, other: Gpu) -> float:
    """How unlike two GPUs are: ratios of memory, bandwidth and 16-bit rate; a fact that only one has counts as 2×."""
    pairs = (
        (one.memory_gib, other.memory_gib),
        (one.memory_bandwidth_gb_per_s, other.memory_bandwidth_gb_per_s),
        (one.bf16_dense_tflops or one.fp16_dense_tflops, other.bf16_dense_tflops or other.fp16_dense_tflops),
    )
    return sum(abs(log(a / b)) if a and b else log(2) for a, b in pairs)
