"""A request with everything filled in: what the arithmetic works on."""

from dataclasses import dataclass, replace
from math import ceil

from gpuyard.planning.workload.activations import Recomputation
from gpuyard.planning.workload.assumptions import (
    CHECKPOINT_PAUSE_SHARE,
    SERVER_IMAGE_GB,
    TARGET_DAYS,
    UTILIZATION,
)
from gpuyard.planning.workload.memory import Sharding, lora_parameters
from gpuyard.planning.workload.request import WorkloadRequest
from gpuyard.planning.workload.shape import ModelShape, published_models, shape_of

SEQUENCE_LENGTH = 4096
"""Llama 2 was pretrained with 4,096 tokens (Touvron et al. 2023, Table 1)."""
FINE_TUNING_SEQUENCE_LENGTH = 2048
"""Alpaca-like instruction data fits in 2,048 tokens."""
PRETRAIN_BATCH_TOKENS = 2**22
"""Llama 2 was pretrained with batches of 4 M tokens, 1,024 sequences (Touvron et al. 2023, Table 1)."""
FINE_TUNING_BATCH = 64
"""Llama 2 was fine-tuned with batches of 64 sequences (Touvron et al. 2023, section 3.1)."""
VISION_BATCH = 4096
"""ViT was trained with batches of 4,096 images (Dosovitskiy et al. 2021, section 4.1)."""
IMAGE_SIZE, PATCH_SIZE = 224, 14
"""ViT-H/14 at its pretraining resolution (Dosovitskiy et al. 2021)."""
LORA_RANK = 16
"""Between the ranks 8 and 64 of Hu et al. 2021 and Dettmers et al. 2023."""
CONTEXT_LENGTH, CONCURRENT_SEQUENCES = 4096, 4
"""A small service; the cache grows with both."""


@dataclass(frozen=True, slots=True)
class Job:
    """One workload, complete.

    ``trained_parameters`` get gradients and optimizer state, ``frozen_parameters`` are only read (the base of LoRA, the
    reference and reward model of RL, a served model), in one of ``weight_bits``. ``global_batch`` counts sequences.
    ``target_days`` is None where the number of GPUs is given or the work has no end. ``flops_per_token_parameter`` and
    ``forward_flops`` are for one token and one parameter of the model: a step, and the part of it that full
    recomputation repeats.
    """

    request: WorkloadRequest
    parameters: float
    shape: ModelShape
    trained_parameters: float
    frozen_parameters: float
    weight_bits: tuple[int, ...]
    frozen_passes: int
    flops_per_token_parameter: float
    forward_flops: float
    sequence_length: int
    micro_batch: int
    global_batch: int
    shardings: tuple[Sharding, ...]
    recomputations: tuple[Recomputation, ...]
    target_days: float | None
    utilization: float
    pause_share: float
    context_length: int
    concurrent_sequences: int
    kv_cache_bits: int
    server_image_gb: float
    reasons: tuple[str, ...]

    @property
    def trains(self) -> bool:
        """Whether there is a backward pass."""
        return self.trained_parameters > 0

    @property
    def target_is_assumed(self) -> bool:
        """Whether the target time is the planner's own choice."""
        return self.target_days is not None and self.request.target_days is None

    @property
    def is_transformer(self) -> bool:
        """Whether layers, activations and FLOPs follow the parameters; a diffusion model's do not."""
        return self.request.architecture == "transformer"

    def flops_with(self, recomputation: Recomputation) -> float:
        """FLOPs of one trained token and parameter, with what is computed again.

        Selective recomputation adds none here: the runs that the utilization is from used FlashAttention, which
        computes the attention again, so their utilization counts that already.
        """
        again = self.forward_flops if recomputation == "full" else 0.0
        return self.flops_per_token_parameter + again


def job_of(request: WorkloadRequest) -> Job:
    """Fill in what a request leaves out.

    FLOPs for one token and parameter: 6 to train (2 forward, 4 backward; Narayanan et al. 2021). LoRA 4: the backward
    pass needs no gradients of the frozen weights. RL with PPO 18: actor and critic train (12), reference and reward
    model score (4), the actor generates (2); Ouyang et al. 2022 and DeepSpeed-Chat (Yao et al. 2023) hold these four
    models.

    Args:
        request: A request without problems.

    Returns:
        The job, with a reason for each choice.
    """
    reasons: list[str] = []
    parameters, shape = _model(request)
    reasons.append(shape.reason if request.architecture == "transformer" else _DIFFUSION)
    if request.kv_heads is not None or request.vocabulary is not None:
        shape = replace(
            shape, kv_heads=request.kv_heads or shape.kv_heads, vocabulary=request.vocabulary or shape.vocabulary
        )
    trained, frozen, passes, flops, forward, why = _work(request, parameters, shape)
    reasons += why
    sequence = _sequence_length(request)
    batch = request.global_batch or _default_batch(request, sequence)
    if request.task != "inference":
        origin = "as asked" if request.global_batch else "by default"
        what = f"sequences of {sequence:,} tokens" if request.architecture == "transformer" else "images"
        reasons.append(f"Each step takes {batch:,} {what} ({origin}).")
        if sequence > 6 * shape.hidden_size:
            reasons.append(
                f"With {sequence:,} tokens the attention itself outweighs the weights; 6·T·P does not count its FLOPs, "
                "so the time is a lower bound."
            )
        if request.utilization is None and request.architecture == "transformer":
            reasons.append(f"Utilization {UTILIZATION.value:.0%} of the dense rate is assumed ({UTILIZATION.source}).")
            others = "FP8, where less of a higher rate is reached" if request.precision == "fp8" else "other GPUs"
            reasons.append(f"That is measured in BF16 on A100 and H100; give 'utilization' for {others}.")
    if _target_days(request) is not None and request.target_days is None:
        how = "'target_days' or 'gpus' changes that"
        reasons.append(f"Sized to end within {TARGET_DAYS.value:.0f} days, as no time is given; {how}.")
    return Job(
        request=request,
        parameters=parameters,
        shape=shape,
        trained_parameters=trained,
        frozen_parameters=frozen,
        weight_bits=_weight_bits(request),
        frozen_passes=passes,
        flops_per_token_parameter=flops,
        forward_flops=forward,
        sequence_length=sequence,
        micro_batch=request.micro_batch or 1,
        global_batch=batch,
        shardings=(request.sharding,) if request.sharding else ("none", "zero1", "zero2", "zero3"),
        recomputations=(request.recomputation,) if request.recomputation else ("none", "selective", "full"),
        target_days=_target_days(request),
        utilization=request.utilization or UTILIZATION.value,
        pause_share=request.checkpoint_pause_share or CHECKPOINT_PAUSE_SHARE.value,
        context_length=request.context_length or CONTEXT_LENGTH,
        concurrent_sequences=request.concurrent_sequences or CONCURRENT_SEQUENCES,
        kv_cache_bits=request.kv_cache_bits or 16,
        server_image_gb=request.server_image_gb or SERVER_IMAGE_GB.value,
        reasons=tuple(reasons),
    )


_DIFFUSION = (
    "A diffusion model: weights, gradients and optimizer are counted. Its activations and FLOPs depend on the "
    "network's own resolutions: the least card size stands for the first, and no time is estimated."
)


def _model(request: WorkloadRequest) -> tuple[float, ModelShape]:
    if request.model is not None:
        published = published_models()[request.model]
        return float(published.parameters), published.shape
    parameters = float(request.parameters or 0)
    if request.layers is None or request.hidden_size is None or request.heads is None:
        return parameters, shape_of(parameters)
    given = ModelShape(
        request.layers,
        request.hidden_size,
        request.heads,
        request.kv_heads or request.heads,
        request.vocabulary or shape_of(parameters).vocabulary,
        estimated=False,
        reason=f"Shape as given: {request.layers} layers of {request.hidden_size}, {request.heads} heads.",
    )
    return parameters, given


def _work(
    request: WorkloadRequest, parameters: float, shape: ModelShape
) -> tuple[float, float, int, float, float, list[str]]:
    if request.task == "inference":
        return 0.0, parameters, 0, 2.0, 0.0, []
    if request.task == "lora":
        rank = request.lora_rank or LORA_RANK
        adapters = lora_parameters(shape, rank)
        why = f"LoRA of rank {rank} trains {adapters / 1e6:,.0f} M parameters; the model itself is only read."
        return adapters, parameters, 2, 4.0, 2.0, [why]
    if request.task == "rl":
        why = (
            "RL is counted as PPO with four models of this size: actor and critic are trained, reference and reward "
            "model are read. Generating answers is bound by memory bandwidth, so the time is a lower bound."
        )
        return 2 * parameters, 2 * parameters, 1, 18.0, 4.0, [why]
    return parameters, 0.0, 0, 6.0, 2.0, []


def _weight_bits(request: WorkloadRequest) -> tuple[int, ...]:
    if request.quantization_bits is not None:
        return (request.quantization_bits,)
    if request.precision == "fp32":
        return (32,)
    if request.task == "lora":
        return (16, 8, 4)
    return (8,) if request.task == "inference" and request.precision == "fp8" else (16,)


def _sequence_length(request: WorkloadRequest) -> int:
    if request.sequence_length is not None:
        return request.sequence_length
    if request.task == "vision":
        return ceil((request.image_size or IMAGE_SIZE) / (request.patch_size or PATCH_SIZE)) ** 2
    return SEQUENCE_LENGTH if request.task == "pretrain" else FINE_TUNING_SEQUENCE_LENGTH


def _target_days(request: WorkloadRequest) -> float | None:
    if request.target_days is not None:
        return request.target_days
    # Only tokens have an end, and a number of GPUs is an answer of its own.
    return None if request.tokens is None or request.gpus is not None else TARGET_DAYS.value


def _default_batch(request: WorkloadRequest, sequence: int) -> int:
    if request.task == "pretrain":
        batch = ceil(PRETRAIN_BATCH_TOKENS / sequence)
    else:
        batch = VISION_BATCH if request.task == "vision" else FINE_TUNING_BATCH
    return max(batch, request.micro_batch or 1)
