"""A plan in words and figures for people: rounded, each with its unit."""

from collections.abc import Iterator

from gpuyard.planning.workload import Candidate, WorkloadPlan
from gpuyard.planning.workload.activations import recomputation_flops_factor
from gpuyard.planning.workload.choices import MemoryChoice, memory_choices
from gpuyard.planning.workload.cold_start import ColdStart
from gpuyard.planning.workload.hardware import network_gbps
from gpuyard.planning.workload.job import Job
from gpuyard.planning.workload.memory import GB, ZERO_STAGES, Sharding
from gpuyard.planning.workload.storage import rate_words

_TASKS = {
    "pretrain": "Pretraining",
    "full_finetune": "Fine-tuning all weights",
    "lora": "LoRA fine-tuning",
    "rl": "Reinforcement learning",
    "vision": "Training of a vision model",
    "inference": "Serving",
}
_Fact = tuple[str, str]


def count(value: float) -> str:
    """A large number as people say it: ``70 B``, ``1 T``, ``632 M``."""
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if value >= size:
            return f"{value / size:.4g} {letter}"
    return f"{value:,.4g}"


def question(plan: WorkloadPlan) -> str:
    """What was asked, in one sentence."""
    request, job = plan.request, plan.job
    size = f"{count(job.parameters)} parameters"
    parts = [f"{_TASKS[request.task]} of a {request.architecture} model of {size}"]
    if request.model is not None:
        parts = [f"{_TASKS[request.task]} of {request.model} ({size})"]
    elif request.task == "vision":
        parts = [f"{_TASKS[request.task]} of {size}"]
    if request.tokens is not None:
        parts.append(f"on {count(request.tokens)} tokens")
    if request.target_days is not None:
        parts.append(f"within {request.target_days:g} days")
    if request.gpus is not None:
        parts.append(f"on {request.gpus:,} GPUs")
    where = ", ".join(request.clouds) + (f" ({', '.join(request.regions)})" if request.regions else ", all regions")
    return f"{' '.join(parts)}; {where}."


def assumed(plan: WorkloadPlan) -> str:
    """What was filled in, each with the option that changes it."""
    return f"Assumed: {'; '.join(_assumed(plan.request.model_fields_set, plan.job))}."


def _assumed(given: set[str], job: Job) -> Iterator[str]:
    if job.target_is_assumed:
        yield f"ends within {job.target_days:g} days (--target-days, or --gpus)"
    if job.is_transformer and job.shape.estimated:
        yield f"about {job.shape.layers} layers of {job.shape.hidden_size:,} (--model, or --layers and the others)"
    if job.is_transformer and not job.trains and "context_length" not in given:
        yield f"{job.context_length:,} tokens of context (--context-length)"
    if job.is_transformer and not job.trains and "concurrent_sequences" not in given:
        yield f"{job.concurrent_sequences} sequences at a time (--concurrent-sequences)"
    if not job.trains and "server_image_gb" not in given:
        yield f"a container image of {job.server_image_gb:g} GB (--server-image-gb)"
    if job.trains:
        yield from _assumed_of_training(given, job)
    if "precision" not in given:
        yield "the best number format of each GPU (--precision)"


def _assumed_of_training(given: set[str], job: Job) -> Iterator[str]:
    if job.request.task == "vision" and not given & {"image_size", "patch_size", "sequence_length"}:
        yield f"images of {job.sequence_length:,} patches (--image-size, --patch-size)"
    elif job.is_transformer and job.request.task != "vision" and "sequence_length" not in given:
        yield f"sequences of {job.sequence_length:,} tokens (--sequence-length)"
    if "global_batch" not in given:
        yield f"{job.global_batch:,} {'sequences' if job.is_transformer else 'images'} a step (--global-batch)"
    if job.request.task == "lora" and "lora_rank" not in given:
        yield f"adapters of {count(job.trained_parameters)} parameters (--lora-rank)"
    if job.is_transformer and "utilization" not in given:
        yield f"{job.utilization:.0%} of the dense tensor rate, as published for BF16 on A100 and H100 (--utilization)"
    if "checkpoint_pause_share" not in given:
        yield f"at most {job.pause_share:.0%} of the time for checkpoints (--checkpoint-pause-share)"


def memory_rows(job: Job, best: Candidate) -> Iterator[list[str]]:
    """Rows of the memory table: what, GiB on one GPU, how it is divided."""
    layout, use = best.layout, best.layout.memory
    model_parallel = layout.tensor * layout.pipeline
    stage = ZERO_STAGES[layout.sharding]

    def divided(at_stage: int) -> str:
        parts = model_parallel * (layout.data if stage >= at_stage else 1)
        return "whole on each GPU" if parts == 1 else f"1/{parts:,} on each GPU"

    if job.trains:
        yield ["adapters" if job.request.task == "lora" else "weights", _gib(use.weights_gib), divided(3)]
        yield ["gradients", _gib(use.gradients_gib), divided(2)]
        yield ["optimizer (Adam)", _gib(use.optimizer_gib), divided(1)]
    if use.frozen_weights_gib:
        name = "frozen weights" if job.trains else "weights"
        yield [name, _gib(use.frozen_weights_gib), f"{layout.weight_bits} bits; {divided(3)}"]
    if job.trains and job.is_transformer:
        more = recomputation_flops_factor(layout.recomputation, job.sequence_length, job.shape.hidden_size) - 1
        how = {
            "none": "all kept",
            "selective": f"attention recomputed, {more:.1%} more FLOPs",
            "full": f"recomputed in full, {more:.0%} more FLOPs",
        }
        yield ["activations", _gib(use.activations_gib), how[layout.recomputation]]
    if job.trains and not job.is_transformer:
        yield ["activations", "?", "not counted: they depend on the network's own resolutions"]
    if use.kv_cache_gib:
        text = f"{job.concurrent_sequences:,} × {job.context_length:,} tokens, {job.kv_cache_bits} bits"
        yield ["key-value cache", _gib(use.kv_cache_gib), text]
    memory = use.usable_gib
    yield ["together", f"{use.total_gib:,.1f}", f"of {memory:,.1f} GiB usable ({use.total_gib / memory:.0%})"]


def choice_rows(job: Job, best: Candidate) -> Iterator[list[str]]:
    """Rows of what other shardings and recomputations would need: GiB of each GPU, and whether that fits."""
    by_sharding: dict[Sharding, list[MemoryChoice]] = {}
    for one in memory_choices(job, best.layout, best.precision):
        by_sharding.setdefault(one.sharding, []).append(one)
    for sharding, row in by_sharding.items():
        cells = [f"{one.total_gib:,.1f}{' fits' if one.fits else ' -   '}" for one in row]
        yield [sharding, _gib(row[0].state_gib), *cells]


def time_words(days: float) -> str:
    """Days, or hours where it is less than one."""
    return f"{days:,.1f} d" if days >= 1 else f"{days * 24:,.1f} h" if days >= 1 / 24 else f"{days * 24 * 60:,.0f} min"


def _gib(value: float) -> str:
    return f"{value:,.1f}" if value >= 0.1 else f"{value:.2g}"


def layout_facts(job: Job, best: Candidate) -> list[_Fact]:
    """How the job is divided, and why so."""
    layout = best.layout
    facts = [("GPUs", f"data {layout.data:,} × tensor {layout.tensor} × pipeline {layout.pipeline}")]
    if job.trains:
        facts.append(("sharding", layout.sharding))
        facts.append(("batch", f"{job.global_batch:,} a step: {layout.micro_batches:,} micro-batches on each replica"))
    facts.append(("number format", best.precision.upper()))
    why = [text for text in best.reasons if text.startswith(("Tensor parallel", "No tensor parallel"))]
    return [*facts, *((("why", text) if place == 0 else ("", text)) for place, text in enumerate(why))]


def fabric_facts(best: Candidate) -> list[_Fact]:
    """What crosses the fabric, what it must carry, and what the type has."""
    need, time, row = best.fabric, best.layout.time, best.instance_type
    if need is None or time is None:
        return []
    has = network_gbps(row)
    rate = "unknown" if has is None else f"{has:,.0f} Gbps"
    kind = f"{row.rdma} (RDMA)" if row.has_rdma else "no RDMA" if row.has_rdma is False else "RDMA unknown"
    facts = [
        ("each step", f"{time.network_bytes / GB:,.1f} GB leave each node, {time.link_bytes / GB:,.1f} GB each GPU"),
        ("the type has", f"network {rate} each node, {kind}; {_link_words(best)}"),
    ]
    if need.network_gbps is not None:
        facts.append(("needed", f"{need.network_gbps:,.1f} Gbps each node"))
    if time.step_s is not None and time.compute_s is not None:
        parts = {
            "tensor parallel": time.tensor_s,
            "pipeline messages": time.pipeline_s or 0.0,
            "exchange between replicas": time.data_parallel_s or 0.0,
            "of it not hidden": time.exposed_s or 0.0,
        }
        shown = "".join(f", {name} {took:,.2f} s" for name, took in parts.items() if took >= 0.005)
        facts.append(("time", f"a step takes {time.step_s:,.2f} s: computing {time.compute_s:,.2f} s{shown}"))
    scaling = [text for text in best.reasons if text.startswith("Scaling efficiency")]
    if time.efficiency is not None:
        facts.append(("scaling", scaling[0] if scaling else "nothing is lost to the fabric"))
    facts.append(("NVLink", need.reasons[0]))
    facts.append(("RDMA", " ".join(need.reasons[1:])))
    return facts


def _link_words(best: Candidate) -> str:
    row = best.instance_type
    if row.gpu_count == 1:
        return "one GPU a node"
    both_ways = row.nvlink_gb_per_s_per_gpu or best.gpu.nvlink_gb_per_s
    if row.has_nvlink:
        return "NVLink" + (
            " (rate unknown)" if both_ways is None else f" {both_ways:,.0f} GB/s, both directions together"
        )
    return "no NVLink" if row.has_nvlink is False else "NVLink unknown"


def storage_facts(best: Candidate) -> list[_Fact]:
    """What the storage must do."""
    need = best.storage
    if need is None:
        return []
    return [
        ("read", f"{need.read_mb_per_s:,.0f} MB/s. {need.reasons[0]}"),
        ("checkpoint", f"{need.checkpoint_gb:,.1f} GB every {need.interval_s / 60:,.0f} min"),
        ("write", f"{rate_words(need.write_gb_per_s)}, {need.write_s:,.0f} s for each checkpoint"),
        ("why", " ".join(need.reasons[2:])),
    ]


def cold_start_facts(start: ColdStart) -> list[_Fact]:
    """How the time to the first answer divides."""
    parts = [f"pull {start.pull_s:,.0f} s", f"load {start.load_s:,.0f} s", f"warm-up {start.warm_up_s:,.0f} s"]
    return [
        ("budget", f"{start.budget_s:,.0f} s"),
        ("takes", f"{start.total_s:,.0f} s: {', '.join(parts)}"),
        ("reads", f"{start.needed_mb_per_s:,.0f} MB/s at least, to stay in the budget"),
        *(("", text) for text in start.reasons[1:]),
    ]


def duration_words(plan: WorkloadPlan, best: Candidate) -> list[_Fact]:
    """How long it takes and what it costs."""
    facts: list[_Fact] = []
    duration, cost = best.duration, best.cost
    if duration is not None:
        text = f"{time_words(duration.days)}, {duration.gpu_hours:,.{0 if duration.gpu_hours >= 10 else 1}f} GPU-hours"
        use = f"{duration.model_flops_utilization:.0%} of the dense rate trains"
        facts.append(("time", f"{text}; {use}"))
    elif plan.job.trains:
        facts.append(("time", f"unknown: {_why_no_time(plan)}"))
    if cost is None:
        facts.append(("cost", "unknown: no hourly price is known"))
        return facts
    stale = ", stale: read a new one" if cost.stale else ""
    hourly = f"{cost.currency} {cost.per_hour:,.2f} an hour on demand"
    whole = "" if cost.total is None else f"{cost.currency} {cost.total:,.0f}; "
    facts.append(("cost", f"{whole}{hourly} in {cost.region} (price of {cost.price_date or 'unknown date'}{stale})"))
    if cost.spot_per_hour is not None and plan.request.allow_interruptions:
        facts.append(("on spot", f"{cost.currency} {cost.spot_per_hour:,.2f} an hour"))
    return facts


def _why_no_time(plan: WorkloadPlan) -> str:
    if not plan.job.is_transformer:
        return "the FLOPs of a diffusion model do not follow its parameters"
    return "without --tokens there is no end" if plan.request.tokens is None else "a rate is unknown to the catalog"
