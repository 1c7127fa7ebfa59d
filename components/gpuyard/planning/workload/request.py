"""What a person asks the planner: one workload, and where it may run."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from gpuyard.catalog import gpu_models_named, gpus, regions
from gpuyard.planning.workload.activations import Recomputation
from gpuyard.planning.workload.hardware import supports
from gpuyard.planning.workload.memory import Precision, Sharding
from gpuyard.planning.workload.shape import published_models, shape_of
from gpuyard.spec.base import Task
from gpuyard.spec.parse import parse_what_is_right
from gpuyard.spec.problems import Path, Problem, SpecError, did_you_mean, one_of
from gpuyard.spec.values import Flag, PositiveCount, Real, Text, Whole

Cloud = Literal["aws", "alicloud", "tencentcloud"]
Architecture = Literal["transformer", "diffusion"]

PARAMETERS_MAX = 1e14
"""Fifty times the largest model published; more is a slip of the keyboard."""
WEIGHT_BITS = (4, 8, 16)
KV_CACHE_BITS = (8, 16)
TRAINING_ONLY = (
    "tokens",
    "target_days",
    "sharding",
    "recomputation",
    "sequence_length",
    "micro_batch",
    "global_batch",
    "utilization",
    "checkpoint_pause_share",
)
SERVING_ONLY = ("context_length", "concurrent_sequences", "kv_cache_bits", "server_image_gb")

TRANSFORMERS_ONLY = (
    "tokens",
    "target_days",
    "sequence_length",
    "context_length",
    "concurrent_sequences",
    "kv_cache_bits",
    "model",
    "layers",
    "hidden_size",
    "heads",
    "kv_heads",
    "vocabulary",
)


class WorkloadRequest(BaseModel):
    """One workload; what is left out is chosen by the planner, with a reason."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)

    task: Task
    """Kind of work."""
    parameters: Annotated[Real, Field(gt=0)] | None = None
    """Number of parameters of the model, such as 70e9."""
    model: Text | None = None
    """A published model of the catalog instead, such as ``llama-3-70b``."""
    architecture: Architecture = "transformer"
    """``diffusion``: an image generator such as Stable Diffusion."""
    tokens: Annotated[Real, Field(gt=0, le=1e17)] | None = None
    """Tokens to train on, such as 1e12; image patches for vision."""
    target_days: Annotated[Real, Field(gt=0, le=3650)] | None = None
    """Days in which the training should end; sets the number of nodes."""
    precision: Precision | None = None
    """Number format; the best that each GPU has when left out."""
    sharding: Sharding | None = None
    """What is divided among data-parallel GPUs; the least that fits when left out."""
    recomputation: Recomputation | None = None
    """Which activations are computed again; the least that fits when left out."""
    sequence_length: Annotated[Whole, Field(ge=1, le=10_000_000)] | None = None
    """Tokens of one training sequence."""
    micro_batch: Annotated[Whole, Field(ge=1, le=100_000)] | None = None
    """Sequences of one forward pass on one replica; 1 when left out."""
    global_batch: Annotated[Whole, Field(ge=1, le=100_000_000)] | None = None
    """Sequences of one step on all GPUs."""
    lora_rank: Annotated[Whole, Field(ge=1, le=4096)] | None = None
    """Rank of the adapters, for ``lora``."""
    quantization_bits: Whole | None = None
    """Bits of a stored weight that is not trained (4, 8, 16), for ``lora`` and ``inference``."""
    context_length: Annotated[Whole, Field(ge=1, le=10_000_000)] | None = None
    """Tokens of prompt and answer, for ``inference``."""
    concurrent_sequences: PositiveCount | None = None
    """Sequences served at a time by all replicas, for ``inference``."""
    kv_cache_bits: Whole | None = None
    """Bits of a cached key or value (8, 16), for ``inference``."""
    server_image_gb: Annotated[Real, Field(gt=0, le=1000)] | None = None
    """Size of the server's container image in GB, for ``inference``."""
    image_size: Annotated[Whole, Field(ge=8, le=16_384)] | None = None
    """Edge of a square image in pixels, for ``vision``."""
    patch_size: Annotated[Whole, Field(ge=1, le=1024)] | None = None
    """Edge of a patch in pixels, for ``vision``."""
    layers: PositiveCount | None = None
    """Layers, with ``hidden_size`` and ``heads``; estimated from the parameters when left out."""
    hidden_size: Annotated[Whole, Field(ge=1, le=1_000_000)] | None = None
    """Hidden size."""
    heads: PositiveCount | None = None
    """Attention heads."""
    kv_heads: PositiveCount | None = None
    """Key-value heads: fewer than heads with grouped-query attention."""
    vocabulary: Annotated[Whole, Field(ge=1, le=100_000_000)] | None = None
    """Size of the vocabulary."""
    utilization: Annotated[Real, Field(gt=0, le=1)] | None = None
    """Share of the dense tensor rate that training reaches on a network that does not hinder it."""
    checkpoint_pause_share: Annotated[Real, Field(gt=0, le=0.5)] | None = None
    """Share of the time that the job may stand still to write checkpoints."""
    allow_interruptions: Flag = False
    """Whether nodes may be taken away (spot)."""
    clouds: Annotated[list[Cloud], Field(min_length=1)] = ["aws", "alicloud", "tencentcloud"]
    """Clouds to look at."""
    regions: list[Text] = []
    """Regions to look at; all when empty."""
    gpu: Text | None = None
    """Only this GPU, by full or short name."""
    gpus: PositiveCount | None = None
    """Number of GPUs to use, rounded up to whole nodes; the fewest that do when left out."""


def parse_request(data: object) -> WorkloadRequest:
    """A request from plain data.

    Args:
        data: A mapping with the fields of :class:`WorkloadRequest`.

    Returns:
        The checked request.

    Raises:
        SpecError: With every problem: of the structure, of names the catalog does not know, of contradictions.
    """
    request, problems = parse_what_is_right(WorkloadRequest, data)
    if request is not None:
        known = {problem.path for problem in problems}
        problems += [problem for problem in request_problems(request) if problem.path not in known]
    elif isinstance(data, Mapping):
        problems += _problems_without_task(cast(Mapping[str, object], data), {problem.path for problem in problems})
    if problems or request is None:
        raise SpecError(problems)
    return request


def request_problems(request: WorkloadRequest) -> list[Problem]:
    """What is wrong with a request whose fields are each well-formed.

    Args:
        request: The request.

    Returns:
        Unknown names, regions of other clouds and options that contradict each other; empty when it can be planned.
    """
    return [
        *_model_problems(request),
        *_shape_problems(request),
        *_task_problems(request),
        *_bits_problems(request),
        *_image_problems(request),
        *_hardware_problems(request),
        *_region_problems(request),
    ]


def _problems_without_task(data: Mapping[str, object], known: set[Path]) -> list[Problem]:
    """What is wrong with model, hardware and place, which can be judged whatever the task is."""
    fields = {key: value for key, value in data.items() if key in ("parameters", "model", "gpu", "clouds", "regions")}
    request, _ = parse_what_is_right(WorkloadRequest, {**fields, "task": "pretrain"})
    if request is None:
        return []
    found = [*_model_problems(request), *_hardware_problems(request), *_region_problems(request)]
    return [problem for problem in found if problem.path not in known]


def _model_problems(request: WorkloadRequest) -> Iterator[Problem]:
    known = published_models()
    if request.model is None and request.parameters is None:
        yield Problem(("parameters",), "is missing.", "Give the number of parameters, such as 70e9, or a 'model'.")
    if request.model is not None and request.parameters is not None:
        yield Problem(("parameters",), "contradicts 'model', which has its own number.", "Give one of the two.")
    if request.model is not None and request.model not in known:
        hint = did_you_mean(request.model, known)
        message = f"the catalog knows no published model '{request.model}'."
        yield Problem(("model",), message, f"{hint} Known: {', '.join(known)}.".strip())
    if request.parameters is not None and request.parameters < 1:
        yield Problem(("parameters",), f"{request.parameters:g} is less than one parameter.", "Write 7e9 for 7 B.")
    if request.parameters is not None and request.parameters > PARAMETERS_MAX:
        message = f"{request.parameters:g} is more than any model has."
        yield Problem(("parameters",), message, f"At most {PARAMETERS_MAX:g} (100,000 B); write 70e9 for 70 B.")


def _shape_problems(request: WorkloadRequest) -> Iterator[Problem]:
    given = {key: getattr(request, key) for key in ("layers", "hidden_size", "heads")}
    some = [key for key, value in given.items() if value is not None]
    if some and len(some) < 3:
        missing = [key for key in given if key not in some]
        message = f"is given without {one_of(missing).replace(' or ', ' and ')}."
        yield Problem((some[0],), message, "Give 'layers', 'hidden_size' and 'heads' together, or none of them.")
        return
    if request.model is not None:
        for key in [*some, *[key for key in ("kv_heads", "vocabulary") if getattr(request, key) is not None]]:
            yield Problem((key,), "contradicts 'model', which has its own shape.", "Leave one of the two out.")
        return
    layers, hidden, heads = request.layers, request.hidden_size, request.heads
    if layers is None or hidden is None or heads is None:
        usual = None if request.parameters is None else shape_of(request.parameters).heads
        if request.kv_heads is not None and usual is not None and request.kv_heads > usual:
            message = f"{request.kv_heads} is more than the {usual} heads that a model of this size has."
            yield Problem(("kv_heads",), message, "Key-value heads are as many as heads or fewer.")
        return
    if hidden % heads:
        yield Problem(("heads",), f"{heads} does not divide hidden_size {hidden}.", "Each head has the same size.")
    if request.kv_heads is not None and heads % request.kv_heads:
        yield Problem(
            ("kv_heads",), f"{request.kv_heads} does not divide heads {heads}.", "Heads share in equal groups."
        )
    law = 12.0 * layers * hidden**2 + (request.vocabulary or 0) * hidden
    if request.parameters is not None and not 0.5 <= law / request.parameters <= 2:
        message = (
            f"{layers} layers of {hidden} make about {law:.3g} parameters (12·l·h²), not {request.parameters:.3g}."
        )
        yield Problem(("layers",), message, "Correct one of the two.")


def _task_problems(request: WorkloadRequest) -> Iterator[Problem]:
    given = _given(request)
    inference = request.task == "inference"
    for key in TRAINING_ONLY if inference else SERVING_ONLY:
        if key in given:
            other = "any task that trains" if inference else "'task: inference'"
            yield Problem((key,), f"has no meaning for 'task: {request.task}'.", f"It is for {other}.")
    if "lora_rank" in given and request.task != "lora":
        yield Problem(("lora_rank",), f"has no meaning for 'task: {request.task}'.", "It is for 'task: lora'.")
    if request.target_days is not None and not inference and request.tokens is None:
        yield Problem(("target_days",), "needs 'tokens': without them there is no end.", "Give the tokens to train on.")
    if request.global_batch is not None and (request.micro_batch or 1) > request.global_batch:
        message = f"{request.micro_batch} is more than global_batch {request.global_batch}."
        yield Problem(("micro_batch",), message, "A step holds at least one micro-batch.")


def _bits_problems(request: WorkloadRequest) -> Iterator[Problem]:
    bits = request.quantization_bits
    if bits is not None and request.task not in ("lora", "inference"):
        message = f"weights that are trained cannot be stored in {bits} bits."
        yield Problem(("quantization_bits",), message, "It is for 'task: lora' and 'task: inference'.")
    elif bits is not None and bits not in WEIGHT_BITS:
        yield Problem(("quantization_bits",), f"{bits} is not allowed.", f"Allowed: {one_of(WEIGHT_BITS)}.")
    if request.kv_cache_bits not in (None, *KV_CACHE_BITS):
        yield Problem(
            ("kv_cache_bits",), f"{request.kv_cache_bits} is not allowed.", f"Allowed: {one_of(KV_CACHE_BITS)}."
        )


def _image_problems(request: WorkloadRequest) -> Iterator[Problem]:
    given = _given(request)
    for key in ("image_size", "patch_size"):
        if key in given and request.task != "vision":
            yield Problem((key,), f"has no meaning for 'task: {request.task}'.", "It is for 'task: vision'.")
        elif key in given and request.sequence_length is not None:
            yield Problem((key,), "contradicts 'sequence_length'.", "An image's patches are its sequence; give one.")
    if request.patch_size is not None and request.image_size is not None and request.patch_size > request.image_size:
        message = f"{request.patch_size} pixels are more than the image's {request.image_size}."
        yield Problem(("patch_size",), message, "A patch is a part of the image.")
    if request.architecture == "transformer":
        return
    for key in TRANSFORMERS_ONLY:
        if key in given:
            yield Problem((key,), "has no meaning for 'architecture: diffusion'.", "It is for transformers.")
    if request.task == "rl":
        message = "'diffusion' does not go with 'task: rl'."
        yield Problem(("architecture",), message, "Allowed tasks: pretrain, full_finetune, lora, vision or inference.")


def _given(request: WorkloadRequest) -> set[str]:
    return {key for key in request.model_fields_set if getattr(request, key) is not None}


def _hardware_problems(request: WorkloadRequest) -> Iterator[Problem]:
    if request.gpu is None:
        return
    models = gpu_models_named(request.gpu)
    if not models:
        short = dict.fromkeys(name.split("-")[0] for name in gpus())
        hint = did_you_mean(request.gpu, [*gpus(), *short])
        message = f"the catalog knows no GPU called '{request.gpu}'."
        yield Problem(("gpu",), message, f"{hint} Known: {', '.join(gpus())}.".strip())
        return
    precision = request.precision
    if precision is not None and all(supports(gpus()[model], precision) is False for model in models):
        can = [other for other in ("bf16", "fp16", "fp8", "fp32") if supports(gpus()[models[0]], other)]
        yield Problem(("precision",), f"{request.gpu} has no {precision.upper()}.", f"It has {one_of(can)}.")


def _region_problems(request: WorkloadRequest) -> Iterator[Problem]:
    clouds: tuple[Cloud, ...] = ("aws", "alicloud", "tencentcloud")
    chosen = {region for cloud in request.clouds for region in regions(cloud)}
    for place, region in enumerate(request.regions):
        if region in chosen:
            continue
        owners = [cloud for cloud in clouds if region in regions(cloud)]
        if owners:
            message = f"'{region}' is a region of {one_of(owners)}, not of {one_of(request.clouds)}."
            yield Problem(("regions", place), message, f"Add the cloud, or name a region of {one_of(request.clouds)}.")
            continue
        hint = did_you_mean(region, chosen) or f"Regions: {', '.join(sorted(chosen))}."
        yield Problem(("regions", place), f"no region of {one_of(request.clouds)} is called '{region}'.", hint)
