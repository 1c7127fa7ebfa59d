"""Bytes of activations that training keeps for the backward pass."""

from math import ceil
from typing import Literal

from gpuyard.planning.workload.shape import ModelShape

Recomputation = Literal["none", "selective", "full"]


def activation_bytes_per_layer(
    sequence_length: int,
    micro_batch: int,
    hidden_size: int,
    heads: int,
    tensor_parallel: int = 1,
    *,
    sequence_parallel: bool = False,
    recomputation: Recomputation = "none",
) -> float:
    """Bytes that one transformer layer keeps on one GPU in 16-bit training.

    With sequence s, micro-batch b, hidden h, heads a, tensor parallel t: sbh(34 + 5as/h) without parallelism;
    sbh(10 + 24/t + 5as/(ht)) with tensor parallel; sbh/t·(34 + 5as/h) with sequence parallel as well. Selective
    recomputation leaves out the attention term 5as/h, as FlashAttention does; full recomputation keeps the layer's
    input alone, 2sbh.

    Source: Korthikanti et al. 2022, Reducing Activation Recomputation in Large Transformer Models, Table 2.

    Args:
        sequence_length: Tokens of one sequence, s.
        micro_batch: Sequences of one forward pass, b.
        hidden_size: Hidden size h.
        heads: Attention heads a.
        tensor_parallel: GPUs that share the layer, t.
        sequence_parallel: Whether the norms and dropouts are divided along the sequence as well.
        recomputation: What is computed again in the backward pass.

    Returns:
        Bytes of one layer.
    """
    sbh = float(sequence_length) * micro_batch * hidden_size
    if recomputation == "full":
        return 2 * sbh
    attention = 0.0 if recomputation == "selective" else 5 * heads * sequence_length / hidden_size
    if sequence_parallel:
        return sbh / tensor_parallel * (34 + attention)
    return sbh * (10 + 24 / tensor_parallel + attention / tensor_parallel)


def activation_bytes(
    shape: ModelShape,
    sequence_length: int,
    micro_batch: int,
    tensor_parallel: int,
    pipeline_parallel: int,
    recomputation: Recomputation,
    bytes_per_value: int = 2,
) -> float:
    """Bytes of activations on the GPU that holds most: the first pipeline stage, or the only one.

    The first stage of a one-forward-one-backward pipeline has as many micro-batches in flight as there are stages, so
    it keeps stages × ⌈layers/stages⌉ layers' worth. Full recomputation adds one layer while it is computed again. A
    model without a pipeline also keeps the output: 4sbh/t·(1 + V/h). Tensor parallel is used with sequence parallel.

    Source: Korthikanti et al. 2022, sections 4.2.3 (pipeline) and 4.3 (embedding and output), Table 2.

    Args:
        shape: The model's shape.
        sequence_length: Tokens of one sequence.
        micro_batch: Sequences of one forward pass.
        tensor_parallel: GPUs that share each layer.
        pipeline_parallel: Pipeline stages.
        recomputation: What is computed again in the backward pass.
        bytes_per_value: 2 for 16-bit training, 4 for FP32: the formulas are for 16 bit and scale with it.

    Returns:
        Bytes on one GPU.
    """
    args = (sequence_length, micro_batch, shape.hidden_size, shape.heads, tensor_parallel)
    layers = pipeline_parallel * ceil(shape.layers / pipeline_parallel)
    kept = layers * activation_bytes_per_layer(*args, sequence_parallel=True, recomputation=recomputation)
    if recomputation == "full":
        kept += activation_bytes_per_layer(*args, sequence_parallel=True, recomputation="selective")
    sbh = float(sequence_length) * micro_batch * shape.hidden_size
    output = 4 * sbh / tensor_parallel * (1 + shape.vocabulary / shape.hidden_size) if pipeline_parallel == 1 else 0.0
    return (kept + output) * bytes_per_value / 2


def recomputation_flops_factor(recomputation: Recomputation, sequence_length: int, hidden_size: int) -> float:
    """FLOPs of a step over those of the same step without recomputation.

    Full: 4/3, one more forward pass. Selective: 1 + s/6h, the attention alone, never more than full.

    Source: Narayanan et al. 2021, section 5.1 (8·T·P against 6·T·P); Korthikanti et al. 2022, section 5 and appendix A.

    Args:
        recomputation: What is computed again in the backward pass.
        sequence_length: Tokens of one sequence, s.
        hidden_size: Hidden size h.

    Returns:
        A factor from 1 to 4/3.
    """
    if recomputation == "none":
        return 1.0
    if recomputation == "full":
        return 4 / 3
    return min(1 + sequence_length / (6 * hidden_size), 4 / 3)
