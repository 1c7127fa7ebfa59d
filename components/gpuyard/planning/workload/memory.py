"""Bytes of GPU memory that a model's state takes: weights, gradients, optimizer, adapters, key-value cache.

GB are powers of ten as in the papers, GiB powers of two as GPUs are sold; every function here returns bytes.
"""

from dataclasses import dataclass
from math import ceil
from typing import Literal

from gpuyard.planning.workload.shape import ModelShape

GIB = 2**30
GB = 10**9

Precision = Literal["bf16", "fp16", "fp8", "fp32"]
Sharding = Literal["none", "zero1", "zero2", "zero3", "fsdp"]
ZERO_STAGES: dict[Sharding, int] = {"none": 0, "zero1": 1, "zero2": 2, "zero3": 3, "fsdp": 3}
"""ZeRO's stages divide the optimizer state first, then the gradients as well, then the weights as well."""


@dataclass(frozen=True, slots=True)
class StateBytes:
    """Bytes that one trained parameter needs as weight, gradient and optimizer state."""

    weight: float
    gradient: float
    optimizer: float

    @property
    def total(self) -> float:
        """All three together."""
        return self.weight + self.gradient + self.optimizer


def adam_bytes_per_parameter(precision: Precision) -> StateBytes:
    """Bytes of one parameter trained with Adam.

    Mixed precision: 2 (weight) + 2 (gradient) + 12 (FP32 copy, momentum, variance) = 16. FP32: 4 + 4 + 8 = 16, the
    copy being the weight itself. FP8 counts as mixed precision: the weights stay in BF16 and are cast for each step.

    Source: Rajbhandari et al. 2020, ZeRO, section 3.1; Transformer Engine user guide (FP8).

    Args:
        precision: Number format of the computation.

    Returns:
        Bytes of weight, gradient and optimizer state.
    """
    return StateBytes(4, 4, 8) if precision == "fp32" else StateBytes(2, 2, 12)


def model_state_bytes(
    parameters: float, state: StateBytes, sharding: Sharding, data_parallel: float, model_parallel: int = 1
) -> float:
    """Bytes of weights, gradients and optimizer state on one GPU.

    With Ψ parameters of this GPU's part of the model and N data-parallel GPUs: none (w+g+o)·Ψ, ZeRO-1
    (w+g)·Ψ + o·Ψ/N, ZeRO-2 w·Ψ + (g+o)·Ψ/N, ZeRO-3 and FSDP (w+g+o)·Ψ/N. Tensor and pipeline parallel divide Ψ.

    Source: Rajbhandari et al. 2020, ZeRO, Figure 1 and section 5.

    Args:
        parameters: Trained parameters of the whole model.
        state: Bytes of one parameter.
        sharding: What is divided among the data-parallel GPUs.
        data_parallel: Number of data-parallel GPUs N.
        model_parallel: GPUs that share one copy of the model: tensor × pipeline.

    Returns:
        Bytes on one GPU.
    """
    return model_state_parts(parameters, state, sharding, data_parallel, model_parallel).total


def model_state_parts(
    parameters: float, state: StateBytes, sharding: Sharding, data_parallel: float, model_parallel: int = 1
) -> StateBytes:
    """The bytes of :func:`model_state_bytes`, weights, gradients and optimizer state apart.

    Source: Rajbhandari et al. 2020, ZeRO, Figure 1 and section 5.

    Args:
        parameters: Trained parameters of the whole model.
        state: Bytes of one parameter.
        sharding: What is divided among the data-parallel GPUs.
        data_parallel: Number of data-parallel GPUs N.
        model_parallel: GPUs that share one copy of the model: tensor × pipeline.

    Returns:
        Bytes of each on one GPU.
    """
    part = parameters / model_parallel
    share, stage = part / data_parallel, ZERO_STAGES[sharding]
    return StateBytes(
        weight=state.weight * (share if stage >= 3 else part),
        gradient=state.gradient * (share if stage >= 2 else part),
        optimizer=state.optimizer * (share if stage >= 1 else part),
    )


def frozen_weight_bytes(
    parameters: float, bits: float, sharding: Sharding, data_parallel: float, model_parallel: int = 1
) -> float:
    """Bytes of weights that are used but not trained, on one GPU: Ψ·bits/8, divided by ZeRO-3 and FSDP only.

    Source: arithmetic; Rajbhandari et al. 2020, ZeRO, section 5.3 (only stage 3 divides weights).

    Args:
        parameters: Parameters of the whole model.
        bits: Bits of one stored weight: 16, 8 or 4.
        sharding: What is divided among the data-parallel GPUs.
        data_parallel: Number of data-parallel GPUs.
        model_parallel: GPUs that share one copy of the model.

    Returns:
        Bytes on one GPU.
    """
    share = data_parallel if sharding in ("zero3", "fsdp") else 1
    return weight_bytes(parameters, bits) / model_parallel / share


def weight_bytes(parameters: float, bits: float) -> float:
    """Bytes of a model's weights: Ψ·bits/8; 175 B parameters in FP16 are 350 GB.

    Args:
        parameters: Number of parameters.
        bits: Bits of one stored weight.

    Returns:
        Bytes of the whole model.
    """
    return parameters * bits / 8


def lora_parameters(shape: ModelShape, rank: int) -> float:
    """Trained parameters of LoRA adapters on every linear layer of every block.

    A d×k matrix gets r·(d+k). With four h×h attention matrices and two h×4h matrices, as in the law P = 12·l·h², one
    block has r·(4·2h + 2·5h) = 18·r·h.

    Source: Hu et al. 2021, LoRA, section 4.1; Dettmers et al. 2023, QLoRA, section 4 (adapters on all linear layers).

    Args:
        shape: The model's shape.
        rank: Rank r of the adapters.

    Returns:
        Parameters of all adapters.
    """
    return 18.0 * rank * shape.hidden_size * shape.layers


def kv_cache_bytes_per_token(shape: ModelShape, bits: float = 16) -> float:
    """Bytes that one token of context takes in the key-value cache: 2·layers·kv_heads·head_size·bits/8.

    Source: Pope et al. 2022, Efficiently Scaling Transformer Inference, section 3.3; Llama-2-7B in FP16: 0.5 MiB.

    Args:
        shape: The model's shape.
        bits: Bits of one cached value.

    Returns:
        Bytes for all layers of the whole model.
    """
    return 2 * shape.layers * shape.kv_heads * shape.head_size * bits / 8


def kv_cache_bytes(
    shape: ModelShape, context: int, sequences: int, bits: float, tensor_parallel: int, pipeline_parallel: int
) -> float:
    """Bytes of the key-value cache on one GPU.

    Heads are divided among the tensor-parallel GPUs (a GPU holds at least one), layers among the pipeline stages.

    Source: Pope et al. 2022, section 3.3; the figure for one token as in :func:`kv_cache_bytes_per_token`.

    Args:
        shape: The model's shape.
        context: Tokens of one sequence, prompt and answer.
        sequences: Sequences that one replica serves at a time.
        bits: Bits of one cached value.
        tensor_parallel: GPUs that share each layer.
        pipeline_parallel: Pipeline stages.

    Returns:
        Bytes on the GPU that holds most.
    """
    heads = ceil(shape.kv_heads / tensor_parallel)
    layers = ceil(shape.layers / pipeline_parallel)
    return 2 * layers * heads * shape.head_size * bits / 8 * context * sequences
