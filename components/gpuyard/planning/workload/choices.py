"""What a job would need of a GPU with the same layout under every sharding and recomputation."""

from dataclasses import dataclass
from typing import get_args

from gpuyard.planning.workload.activations import Recomputation, activation_bytes
from gpuyard.planning.workload.job import Job
from gpuyard.planning.workload.layout import Layout
from gpuyard.planning.workload.memory import (
    GIB,
    Precision,
    Sharding,
    adam_bytes_per_parameter,
    frozen_weight_bytes,
    model_state_bytes,
)


@dataclass(frozen=True, slots=True)
class MemoryChoice:
    """GiB on one GPU under one sharding and one recomputation; ``fits`` says whether that is no more than usable."""

    sharding: Sharding
    recomputation: Recomputation
    state_gib: float
    activations_gib: float
    fits: bool

    @property
    def total_gib(self) -> float:
        """All that the job needs of one GPU."""
        return self.state_gib + self.activations_gib


def memory_choices(job: Job, layout: Layout, precision: Precision) -> tuple[MemoryChoice, ...]:
    """What each sharding and recomputation needs, with the data × tensor × pipeline division of a layout.

    Source: the formulas of :func:`~gpuyard.planning.workload.memory.model_state_bytes` (ZeRO) and
    :func:`~gpuyard.planning.workload.activations.activation_bytes` (Megatron activation recomputation).

    Args:
        job: A transformer that is trained.
        layout: The division of the job among GPUs.
        precision: Number format of the training.

    Returns:
        One choice for each pair, in the order of their names in the papers; FSDP needs what ZeRO-3 does.
    """
    model_parallel = layout.tensor * layout.pipeline
    state_bytes = adam_bytes_per_parameter(precision)
    value_bytes = 4 if precision == "fp32" else 2
    found: list[MemoryChoice] = []
    for sharding in get_args(Sharding):
        state = model_state_bytes(job.trained_parameters, state_bytes, sharding, layout.data, model_parallel)
        state += frozen_weight_bytes(job.frozen_parameters, layout.weight_bits, sharding, layout.data, model_parallel)
        for recomputation in get_args(Recomputation):
            activations = activation_bytes(
                job.shape,
                job.sequence_length,
                job.micro_batch,
                layout.tensor,
                layout.pipeline,
                recomputation,
                value_bytes,
            )
            fits = (state + activations) / GIB <= layout.memory.usable_gib
            found.append(MemoryChoice(sharding, recomputation, state / GIB, activations / GIB, fits))
    return tuple(found)
