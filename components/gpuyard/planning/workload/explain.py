"""Layouts in words: why they are as they are and what they lose."""

from collections.abc import Iterator

from gpuyard.catalog import Gpu, InstanceType
from gpuyard.planning.workload.activations import recomputation_flops_factor
from gpuyard.planning.workload.hardware import Hardware
from gpuyard.planning.workload.job import Job
from gpuyard.planning.workload.layout import Layout
from gpuyard.planning.workload.memory import Sharding, kv_cache_bytes_per_token

LARGE_LOSS = 0.1
"""Share of a step from which a loss comes with advice."""
_SHARDING_WORDS: dict[Sharding, str] = {
    "none": "nothing divided among data-parallel GPUs",
    "zero1": "ZeRO-1 (optimizer state divided)",
    "zero2": "ZeRO-2 (gradients and optimizer state divided)",
    "zero3": "ZeRO-3 (weights, gradients and optimizer state divided)",
    "fsdp": "FSDP (weights, gradients and optimizer state divided)",
}


def layout_reasons(job: Job, row: InstanceType, gpu: Gpu, node: Hardware, layout: Layout) -> tuple[str, ...]:
    """What a person should know of a layout.

    Args:
        job: The work.
        row: The instance type.
        gpu: Its GPU.
        node: One node.
        layout: The layout.

    Returns:
        Sentences, the most important first.
    """
    return tuple(_reasons(job, row, gpu, node, layout))


def _reasons(job: Job, row: InstanceType, gpu: Gpu, node: Hardware, layout: Layout) -> Iterator[str]:
    use = layout.memory
    nodes = "1 node" if layout.nodes == 1 else f"{layout.nodes:,} nodes"
    parts = {
        "model state": use.state_gib,
        "frozen weights" if job.trains else "weights": use.frozen_weights_gib,
        "activations": use.activations_gib,
        "key-value cache": use.kv_cache_gib,
    }
    shown = ", ".join(f"{name} {gib:,.1f}" for name, gib in parts.items() if gib > 0)
    yield (
        f"Fits on {nodes} of {node.gpus} × {gpu.model}: each GPU needs {use.total_gib:,.1f} of {use.usable_gib:,.1f} "
        f"GiB usable ({shown})."
    )
    yield from _division(job, row, node, layout)
    if job.trains:
        yield from _training(job, node, layout)
    elif job.is_transformer:
        token = kv_cache_bytes_per_token(job.shape, job.kv_cache_bits)
        yield (
            f"Serves {job.concurrent_sequences:,} × {job.context_length:,} tokens at a time; a token takes "
            f"{token / 2**20:,.3g} MiB of key-value cache."
        )
    if layout.weight_bits < 16:
        how = "as asked"
        if job.request.quantization_bits is None and job.request.task == "lora":
            eight = layout.weight_bits == 8
            how = "as LLM.int8 does (Dettmers et al. 2022)" if eight else "as QLoRA does (Dettmers et al. 2023)"
        yield f"Weights are stored in {layout.weight_bits} bits, {how}."


def _division(job: Job, row: InstanceType, node: Hardware, layout: Layout) -> Iterator[str]:
    if layout.gpus > 1:
        what = _SHARDING_WORDS[layout.sharding] if job.trains else "each copy serves on its own"
        yield (f"Layout: data {layout.data} × tensor {layout.tensor} × pipeline {layout.pipeline}; {what}.")
    if layout.tensor > 1:
        yield f"Tensor parallel stays inside the node, whose {node.gpus} GPUs NVLink joins."
    elif node.gpus > 1 and not node.nvlink and job.is_transformer:
        joined = "by an unknown link" if row.gpu_interconnect is None else "by PCIe"
        yield f"No tensor parallel: the GPUs of a node are joined {joined}, not by NVLink."


def _training(job: Job, node: Hardware, layout: Layout) -> Iterator[str]:
    more = recomputation_flops_factor(layout.recomputation, job.sequence_length, job.shape.hidden_size) - 1
    if layout.recomputation == "full":
        yield f"Activations are recomputed in full: one more forward pass, {more:.0%} more FLOPs if all weights train."
    elif layout.recomputation == "selective":
        yield (
            f"The attention core is recomputed, as FlashAttention does: {more:.1%} more FLOPs, which the utilization "
            "counts already."
        )
    time = layout.time
    if time is None:
        return
    if not job.is_transformer:
        yield "No time is estimated: the FLOPs of a diffusion model do not follow its parameters."
    elif time.compute_s is None:
        yield f"The tensor rate in {node.precision.upper()} is unknown to the catalog: no time is estimated."
    elif time.efficiency is None:
        yield "The network's rate is unknown to the catalog: no time is estimated."
    elif time.efficiency < 0.995 and time.step_s is not None and time.exposed_s is not None:
        losses = {
            "uneven shares of batch or layers": time.compute_s * (1 - time.evenness),
            "the pipeline's bubble": (time.compute_s + time.tensor_s + (time.pipeline_s or 0)) * time.bubble,
            "waiting for other replicas": time.exposed_s,
            "tensor parallel": time.tensor_s,
            "messages between pipeline stages": time.pipeline_s or 0,
        }
        shown = ", ".join(
            f"{name} {lost / time.step_s:.1%}"
            for name, lost in sorted(losses.items(), key=lambda item: -item[1])
            if lost / time.step_s >= 0.001
        )
        yield f"Scaling efficiency {time.efficiency:.0%}; lost to {shown}."
        if losses["the pipeline's bubble"] / time.step_s > LARGE_LOSS:
            yield "A larger 'global_batch' shortens the bubble, where the training allows one."


def slower_reason(layout: Layout, fewer: Layout) -> str:
    """Why more nodes take longer than fewer.

    Args:
        layout: The layout on more nodes.
        fewer: A faster one on fewer nodes.

    Returns:
        One sentence that names both and what grew.
    """
    text = f"Slower than {fewer.nodes:,} node{'s' if fewer.nodes > 1 else ''}"
    time, before = layout.time, fewer.time
    if time is None or before is None or not time.step_s or not before.step_s:
        return f"{text}."
    computed = [(one.compute_s or 0) * one.evenness * of.nodes for one, of in ((time, layout), (before, fewer))]
    grown = {
        "more is computed again": computed[0] / computed[1] - 1,
        "the exchange between nodes grows": (time.exposed_s or 0) / time.step_s
        - (before.exposed_s or 0) / before.step_s,
        "the pipeline idles more": time.bubble - before.bubble,
        "batch or layers divide less evenly": before.evenness - time.evenness,
        "tensor parallel sends more": time.tensor_s / time.step_s - before.tensor_s / before.step_s,
        "pipeline stages send over the network": (time.pipeline_s or 0) / time.step_s
        - (before.pipeline_s or 0) / before.step_s,
    }
    why = max(grown, key=lambda name: grown[name])
    return f"{text}: {why}."
