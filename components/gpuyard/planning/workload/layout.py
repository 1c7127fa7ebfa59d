"""Data × tensor × pipeline: how a job is laid out on equal nodes so that it fits, and fast."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, inf

from gpuyard.planning.workload.activations import Recomputation, activation_bytes
from gpuyard.planning.workload.duration import training_seconds
from gpuyard.planning.workload.fabric import StepTime, even_share, pipeline_bubble, step_time, tensor_parallel_bytes
from gpuyard.planning.workload.hardware import Hardware
from gpuyard.planning.workload.job import Job
from gpuyard.planning.workload.memory import (
    GB,
    GIB,
    Sharding,
    StateBytes,
    adam_bytes_per_parameter,
    frozen_weight_bytes,
    kv_cache_bytes,
    kv_cache_bytes_per_token,
    model_state_parts,
    weight_bytes,
)

PIPELINE_MAX = 64
"""More stages than any published run has (Narayanan et al. 2021 use up to 64)."""
WHOLE_NODE_GPUS = 8
"""GPUs of a whole HGX node; a served copy spans nodes only from here on."""
PIPELINE_SHARDINGS: tuple[Sharding, ...] = ("none", "zero1")
"""What goes with a pipeline; see :func:`fastest_layout`."""
_TENSOR = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """GiB on the GPU that holds most; ``usable_gib`` is what it has for a job.

    ``weights_gib``, ``gradients_gib`` and ``optimizer_gib`` are of what is trained.
    """

    weights_gib: float
    gradients_gib: float
    optimizer_gib: float
    frozen_weights_gib: float
    activations_gib: float
    kv_cache_gib: float
    usable_gib: float

    @property
    def state_gib(self) -> float:
        """Weights, gradients and optimizer state of what is trained."""
        return self.weights_gib + self.gradients_gib + self.optimizer_gib

    @property
    def total_gib(self) -> float:
        """All that the job needs."""
        return self.state_gib + self.frozen_weights_gib + self.activations_gib + self.kv_cache_gib

    @property
    def fits(self) -> bool:
        """Whether it is no more than what is usable."""
        return self.total_gib <= self.usable_gib


@dataclass(frozen=True, slots=True)
class Layout:
    """How a job lies on equal nodes: data × tensor × pipeline GPUs, with what is divided and computed again.

    ``micro_batches`` are of one replica and step, 0 for serving; ``time`` is None for serving.
    """

    nodes: int
    data: int
    tensor: int
    pipeline: int
    sharding: Sharding
    recomputation: Recomputation
    weight_bits: int
    micro_batches: int
    memory: MemoryUse
    time: StepTime | None

    @property
    def gpus(self) -> int:
        """GPUs in use."""
        return self.data * self.tensor * self.pipeline


def fastest_layout(job: Job, node: Hardware, nodes: int) -> Layout | None:
    """The layout of a training job that fits and has the shortest step for its tokens.

    Tensor parallel stays inside a node and needs NVLink there (Narayanan et al. 2021, takeaway 1). A copy of the model
    fills a whole part of a node or whole nodes. With a pipeline only the optimizer state is divided, as gradients are
    summed over micro-batches (DeepSpeed, pipeline parallelism: works with ZeRO-1, not with ZeRO-2 and 3). Among
    the layouts with the most bits for frozen weights, the fastest wins.

    Args:
        job: The work, one that trains.
        node: One node.
        nodes: Number of nodes.

    Returns:
        The fastest layout that fits, or None.
    """
    best: tuple[int, float, int, Layout] | None = None
    gpus = nodes * node.gpus
    divisions = sorted(
        (_least_step_s(job, node, gpus, tensor, pipeline), tensor, pipeline)
        for tensor in _tensor_choices(job, node)
        for pipeline in _pipeline_choices(job, node, gpus, tensor)
    )
    for least_s, tensor, pipeline in divisions:
        # The rest is no faster; fewer bits are only looked at where more do not fit at all.
        if best is not None and best[0] == -max(job.weight_bits) and least_s >= best[1]:
            break
        for layout in _training_layouts(job, node, nodes, tensor, pipeline):
            key = (-layout.weight_bits, _relative_time(layout), tensor * pipeline)
            if best is None or key < best[:3]:
                best = (*key, layout)
    return None if best is None else best[3]


def smallest_replicas(job: Job, node: Hardware, nodes: int) -> Layout | None:
    """The layout of a served model: the fewest GPUs for each copy that hold weights and cache.

    A copy stays inside one node, unless a whole node of 8 is too small for it: tensor parallel in the node, pipeline
    across nodes (vLLM documentation, Parallelism and Scaling).

    Args:
        job: The work, one that serves.
        node: One node.
        nodes: Number of nodes.

    Returns:
        The layout, or None when no division fits.
    """
    gpus = nodes * node.gpus
    pairs = sorted(
        (tensor * pipeline, -tensor, pipeline)
        for tensor in _tensor_choices(job, node)
        for pipeline in _pipeline_choices(job, node, gpus, tensor)
    )
    for model_parallel, minus_tensor, pipeline in pairs:
        if model_parallel > _largest_copy(job, node):
            break
        tensor, data = -minus_tensor, gpus // model_parallel
        sequences = ceil(job.concurrent_sequences / data)
        cache = kv_cache_bytes(job.shape, job.context_length, sequences, job.kv_cache_bits, tensor, pipeline)
        cache = cache if job.is_transformer else 0.0
        for bits in job.weight_bits:
            weights = weight_bytes(job.frozen_parameters, bits) / model_parallel
            if weights + cache <= node.usable_bytes:
                use = MemoryUse(0.0, 0.0, 0.0, weights / GIB, 0.0, cache / GIB, node.usable_bytes / GIB)
                return Layout(nodes, data, tensor, pipeline, "none", "none", bits, 0, use, None)
    return None


def layout_on(job: Job, node: Hardware, nodes: int) -> Layout | None:
    """The layout of any job on a number of nodes; None when none fits."""
    return fastest_layout(job, node, nodes) if job.trains else smallest_replicas(job, node, nodes)


def least_bytes_per_gpu(job: Job, node: Hardware) -> float:
    """Bytes that one GPU needs however many there are: what no number of nodes can push under.

    Args:
        job: The work.
        node: One node.

    Returns:
        A lower bound in bytes.
    """
    tensor = max(_tensor_choices(job, node))
    bits = min(job.weight_bits)
    layers = job.shape.layers
    if not job.trains:
        stages = min(layers, PIPELINE_MAX, _largest_copy(job, node) // tensor) if job.is_transformer else 1
        cache = kv_cache_bytes_per_token(job.shape, job.kv_cache_bits) * job.context_length
        weights = weight_bytes(job.frozen_parameters, bits)
        return (weights + (cache if job.is_transformer else 0.0)) / tensor / stages
    pipeline = min(layers, PIPELINE_MAX) if job.is_transformer else 1
    return min(
        # As many stages as layers: no stage holds more than its share, and none holds the output as well.
        _activations(job, node, tensor, 1 if stages == 1 else layers, recomputation)
        + _state(job, node, sharding, inf, tensor * stages).total
        + frozen_weight_bytes(job.frozen_parameters, bits, sharding, inf, tensor * stages)
        for recomputation in job.recomputations
        for sharding in job.shardings
        for stages in {1, pipeline}
        if stages == 1 or sharding in PIPELINE_SHARDINGS
    )


def least_bytes_together(job: Job, node: Hardware) -> float:
    """Bytes of model state that all GPUs together must hold at least once."""
    state = adam_bytes_per_parameter(node.precision).total * job.trained_parameters
    return state + weight_bytes(job.frozen_parameters, min(job.weight_bits))


def _largest_copy(job: Job, node: Hardware) -> int:
    """Most GPUs that may share one copy of the model."""
    across_nodes = job.trains or node.gpus >= WHOLE_NODE_GPUS
    return max(_TENSOR) * PIPELINE_MAX if across_nodes else node.gpus


def _tensor_choices(job: Job, node: Hardware) -> list[int]:
    if not node.nvlink or not job.is_transformer:
        return [1]
    heads = job.shape.heads
    # An estimated number of heads stands for a model that is built to divide.
    return [
        t for t in _TENSOR if t <= node.gpus and node.gpus % t == 0 and (job.shape.estimated or heads % t == 0)
    ] or [1]


def _pipeline_choices(job: Job, node: Hardware, gpus: int, tensor: int) -> list[int]:
    if not job.is_transformer:
        return [1]
    most = min(job.shape.layers, PIPELINE_MAX, gpus // tensor)
    return [
        p
        for p in range(1, most + 1)
        if gpus % (tensor * p) == 0 and (node.gpus % (tensor * p) == 0 or (tensor * p) % node.gpus == 0)
    ]


def _least_step_s(job: Job, node: Hardware, gpus: int, tensor: int, pipeline: int) -> float:
    """Seconds that no layout with these divisions can beat; 0 when the rate is unknown."""
    if node.dense_tflops is None or not job.is_transformer:
        return 0.0
    tokens = float(job.global_batch) * job.sequence_length
    rate = node.dense_tflops * 1e12 * job.utilization
    seconds = training_seconds(job.parameters, tokens, gpus, rate, job.flops_per_token_parameter)
    data = gpus // (tensor * pipeline)
    micro_batches = ceil(job.global_batch / (data * job.micro_batch))
    sent = job.sequence_length * job.micro_batch * job.shape.hidden_size * (4 if node.precision == "fp32" else 2)
    tensor_bytes = tensor_parallel_bytes(sent, ceil(job.shape.layers / pipeline), micro_batches, tensor, "none")
    busiest_s = seconds / even_share(job, data, pipeline, micro_batches) + tensor_bytes / (node.link_gb_per_s * GB)
    return busiest_s * (1 + pipeline_bubble(pipeline, micro_batches))


def _training_layouts(job: Job, node: Hardware, nodes: int, tensor: int, pipeline: int) -> Iterator[Layout]:
    """For each recomputation the least sharding that fits; with the most bits for which any does."""
    data = nodes * node.gpus // (tensor * pipeline)
    each = data * job.micro_batch
    if each > job.global_batch:
        return
    micro_batches = ceil(job.global_batch / each)
    shardings: list[Sharding] = [s for s in job.shardings if pipeline == 1 or s in PIPELINE_SHARDINGS]
    found = False
    states: list[tuple[Sharding, StateBytes]] = [
        (sharding, _state(job, node, sharding, data, tensor * pipeline)) for sharding in shardings
    ]
    for bits in job.weight_bits:
        held: list[tuple[Sharding, StateBytes, float]] = [
            (sharding, state, frozen_weight_bytes(job.frozen_parameters, bits, sharding, data, tensor * pipeline))
            for sharding, state in states
        ]
        if all(state.total + frozen > node.usable_bytes for _, state, frozen in held):
            continue
        for recomputation in job.recomputations:
            activations = _activations(job, node, tensor, pipeline, recomputation)
            for sharding, state, frozen in held:
                if state.total + frozen + activations > node.usable_bytes:
                    continue
                found = True
                use = MemoryUse(
                    weights_gib=state.weight / GIB,
                    gradients_gib=state.gradient / GIB,
                    optimizer_gib=state.optimizer / GIB,
                    frozen_weights_gib=frozen / GIB,
                    activations_gib=activations / GIB,
                    kv_cache_gib=0.0,
                    usable_gib=node.usable_bytes / GIB,
                )
                time = step_time(job, node, nodes, tensor, pipeline, sharding, recomputation, micro_batches, bits)
                yield Layout(nodes, data, tensor, pipeline, sharding, recomputation, bits, micro_batches, use, time)
                break
        if found:
            return


def _state(job: Job, node: Hardware, sharding: Sharding, data: float, model_parallel: int) -> StateBytes:
    state = adam_bytes_per_parameter(node.precision)
    return model_state_parts(job.trained_parameters, state, sharding, data, model_parallel)


def _activations(job: Job, node: Hardware, tensor: int, pipeline: int, recomputation: Recomputation) -> float:
    if not job.is_transformer:
        return 0.0
    size = 4 if node.precision == "fp32" else 2
    return activation_bytes(job.shape, job.sequence_length, job.micro_batch, tensor, pipeline, recomputation, size)


def _relative_time(layout: Layout) -> float:
    """Seconds of a step, or a stand-in that ranks layouts alike where a rate is unknown."""
    time = layout.time
    if time is None:
        return inf
    if time.step_s is not None:
        return time.step_s
    again = {"none": 0, "selective": 1, "full": 2}[layout.recomputation]
    return 1e6 * (1 + time.bubble) * (1 + again) / time.evenness + (time.network_bytes + time.link_bytes) / 1e12
