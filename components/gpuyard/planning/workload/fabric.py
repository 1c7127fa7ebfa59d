"""What training sends between GPUs, how long that takes, and what the network must carry."""

from dataclasses import dataclass

from gpuyard.planning.workload.activations import Recomputation
from gpuyard.planning.workload.assumptions import (
    BACKWARD_SHARE,
    EFFICIENCY_WANTED,
    OVERLAP,
    PCIE_GB_PER_S,
    SOCKET_GBPS,
)
from gpuyard.planning.workload.duration import training_seconds
from gpuyard.planning.workload.hardware import Hardware
from gpuyard.planning.workload.job import Job
from gpuyard.planning.workload.memory import GB, Sharding


def data_parallel_elements(parameters: float, sharding: Sharding, micro_batches: int = 1) -> float:
    """Elements that each GPU sends a step to keep its data-parallel peers equal, for large groups.

    All-reduce (none, ZeRO-1, ZeRO-2): 2Ψ, a reduce-scatter and an all-gather. ZeRO-3 and FSDP: 3Ψ with one micro-batch,
    as the weights are gathered for the forward and again for the backward pass; each further micro-batch gathers them
    twice more: (2m + 1)Ψ.

    Source: Rajbhandari et al. 2020, ZeRO, section 7.

    Args:
        parameters: Trained parameters Ψ.
        sharding: What is divided.
        micro_batches: Forward passes of one step on one replica, m.

    Returns:
        Elements, not bytes.
    """
    return (2 * micro_batches + 1) * parameters if sharding in ("zero3", "fsdp") else 2 * parameters


def ring_all_reduce_bytes(members: int, message_bytes: float) -> float:
    """Bytes that each member of a ring sends for an all-reduce: 2·(n−1)/n·m, half of it for each of its two phases.

    Source: Patarasu & Yuan 2009, Bandwidth optimal all-reduce algorithms for clusters of workstations.

    Args:
        members: Members n of the ring; one member sends nothing.
        message_bytes: Bytes m that each member holds.

    Returns:
        Bytes.
    """
    return 2 * (members - 1) / members * message_bytes


def ring_all_reduce_s(members: int, message_bytes: float, bytes_per_s: float) -> float:
    """Seconds of a ring all-reduce: 2·(n−1)/n·m/B.

    Source: Patarasu & Yuan 2009, Bandwidth optimal all-reduce algorithms for clusters of workstations.

    Args:
        members: Members n of the ring; one member sends nothing.
        message_bytes: Bytes m that each member holds.
        bytes_per_s: Bytes a second B that each member sends.

    Returns:
        Seconds, latency left out.
    """
    return ring_all_reduce_bytes(members, message_bytes) / bytes_per_s


def tensor_parallel_bytes(
    activation_bytes: float, layers: float, micro_batches: int, tensor_parallel: int, recomputation: Recomputation
) -> float:
    """Bytes that each GPU sends a step for tensor parallel.

    Four all-reduces of the activations a layer and micro-batch, two forward and two backward, each 2·(t−1)/t of the
    activations in a ring; full recomputation repeats the forward two. With sequence parallel a reduce-scatter and an
    all-gather take the place of each, with the same volume.

    Source: Shoeybi et al. 2019, Megatron-LM, section 3; Narayanan et al. 2021, section 3.2; Korthikanti et al. 2022,
    section 4.2.2.

    Args:
        activation_bytes: Bytes of one micro-batch's activations between two layers: s·b·h values.
        layers: Layers on this GPU.
        micro_batches: Forward passes of one step.
        tensor_parallel: GPUs that share each layer, t.
        recomputation: What is computed again.

    Returns:
        Bytes.
    """
    times = 6 if recomputation == "full" else 4
    return times * layers * micro_batches * 2 * (tensor_parallel - 1) / tensor_parallel * activation_bytes


def pipeline_bubble(stages: int, micro_batches: int) -> float:
    """Idle time of a pipeline over its busy time: (p − 1)/m.

    Source: Narayanan et al. 2021, section 2.2.1.

    Args:
        stages: Pipeline stages p.
        micro_batches: Micro-batches m of one step.

    Returns:
        A ratio, 0 without a pipeline.
    """
    return (stages - 1) / micro_batches


@dataclass(frozen=True, slots=True)
class StepTime:
    """One training step: seconds of each part, bytes sent, and the share of the time that computes.

    ``compute_s`` is of the busiest GPU and ``evenness`` the share of it that all GPUs compute, as the batch and the
    layers may not divide evenly. ``network_bytes`` leave each node a step, ``link_bytes`` each GPU over NVLink or PCIe.
    The data-parallel exchange can hide in ``window_s``; ``exposed_s`` is what does not. ``efficiency`` is the time of
    computing, if all GPUs did, over the whole. ``None`` when the tensor rate or the network's rate is unknown.
    ``network_gbps_needed`` would reach the wanted efficiency if nothing else slowed the job; ``None`` within one node
    or when it is unknown.
    """

    step_s: float | None
    compute_s: float | None
    data_parallel_s: float | None
    window_s: float | None
    exposed_s: float | None
    tensor_s: float
    pipeline_s: float | None
    bubble: float
    evenness: float
    network_bytes: float
    link_bytes: float
    efficiency: float | None
    network_gbps_needed: float | None


def step_time(
    job: Job,
    node: Hardware,
    nodes: int,
    tensor: int,
    pipeline: int,
    sharding: Sharding,
    recomputation: Recomputation,
    micro_batches: int,
    weight_bits: int,
) -> StepTime:
    """Time of one training step on equal nodes.

    Data parallel is hierarchical: a ring among the nodes that hold the same part of the model, over the network, after
    one inside the node. It hides behind part (``assumptions.OVERLAP``) of the last micro-batch's backward pass, before
    which the gradients are not complete; with ZeRO-3 behind part of the whole step, as weights are fetched ahead.
    Tensor- and pipeline-parallel messages are not hidden. The bubble of a pipeline lengthens the rest.

    Source: Li et al. 2020, PyTorch Distributed, section 3.2 (overlap, gradient accumulation); Narayanan et al. 2021,
    section 3 (pipeline and tensor parallel).

    Args:
        job: The work.
        node: One node.
        nodes: Number of nodes.
        tensor: GPUs that share each layer.
        pipeline: Pipeline stages.
        sharding: What is divided among data-parallel GPUs.
        recomputation: What is computed again.
        micro_batches: Forward passes of one step on one replica.
        weight_bits: Bits of a frozen weight.

    Returns:
        The parts.
    """
    model_parallel = tensor * pipeline
    data = nodes * node.gpus // model_parallel
    value_bytes = 4 if node.precision == "fp32" else 2
    replicas_in_node = max(1, node.gpus // model_parallel)
    part_in_node = min(1.0, node.gpus / model_parallel)
    rings = nodes if model_parallel <= node.gpus else data

    sent = data_parallel_elements(job.trained_parameters, sharding, micro_batches) * value_bytes
    if sharding in ("zero3", "fsdp"):
        sent += job.frozen_passes * micro_batches * job.frozen_parameters * weight_bits / 8
    # Half, as an all-reduce of a message sends it twice and both are counted in what is sent.
    across = ring_all_reduce_bytes(rings, sent / 2 * part_in_node)
    inside_s = ring_all_reduce_s(replicas_in_node, sent / 2 / model_parallel, node.link_gb_per_s * GB)

    sbh_bytes = job.sequence_length * job.micro_batch * job.shape.hidden_size * value_bytes
    layers = -(-job.shape.layers // pipeline)
    tensor_bytes = tensor_parallel_bytes(sbh_bytes, layers, micro_batches, tensor, recomputation)
    stage_bytes = 2 * micro_batches * sbh_bytes if pipeline > 1 else 0.0
    over_network = stage_bytes if model_parallel > node.gpus else 0.0
    link = node.link_gb_per_s * GB
    over_link = tensor_bytes + inside_s * link + (0.0 if over_network else stage_bytes / tensor)

    tensor_s = tensor_bytes / link
    bubble = pipeline_bubble(pipeline, micro_batches)
    network = None if node.network_gbps is None else node.network_gbps * GB / 8
    crosses = across + over_network > 0
    known = not crosses or network is not None
    data_s = inside_s + (across / network if network else 0.0) if known else None
    pipeline_s = (
        (over_network / network if over_network and network else stage_bytes / tensor / link) if known else None
    )

    compute = None
    evenness = even_share(job, data, pipeline, micro_batches)
    if node.dense_tflops is not None and job.is_transformer:
        tokens = float(job.global_batch) * job.sequence_length
        rate = node.dense_tflops * 1e12 * job.utilization
        flops = job.flops_with(recomputation)
        compute = training_seconds(job.parameters, tokens, nodes * node.gpus, rate, flops) / evenness
    window = None
    exposed = step = efficiency = None
    if compute is not None:
        whole_step = sharding in ("zero3", "fsdp")
        window = OVERLAP.value * compute * (1 if whole_step else BACKWARD_SHARE.value / micro_batches)
        if data_s is not None and pipeline_s is not None:
            exposed = max(0.0, data_s - window)
            step = (compute + tensor_s + pipeline_s) * (1 + bubble) + exposed
            efficiency = compute * evenness / step
    return StepTime(
        step_s=step,
        compute_s=compute,
        data_parallel_s=data_s,
        window_s=window,
        exposed_s=exposed,
        tensor_s=tensor_s,
        pipeline_s=pipeline_s,
        bubble=bubble,
        evenness=evenness,
        network_bytes=across + over_network,
        link_bytes=over_link,
        efficiency=efficiency,
        network_gbps_needed=_gbps_needed(compute, window, across, over_network, inside_s),
    )


def even_share(job: Job, data: int, pipeline: int, micro_batches: int) -> float:
    """Share of the busiest GPU's work that all GPUs have, as the batch and the layers may not divide evenly.

    Args:
        job: The work.
        data: Replicas.
        pipeline: Pipeline stages.
        micro_batches: Forward passes of one step on one replica.

    Returns:
        A share, 1 where all divides evenly.
    """
    slots = data * micro_batches * job.micro_batch
    layers = -(-job.shape.layers // pipeline)
    return min(1.0, job.global_batch / slots) * job.shape.layers / (layers * pipeline)


def _gbps_needed(
    compute_s: float | None, window_s: float | None, across: float, over_network: float, inside_s: float
) -> float | None:
    if compute_s is None or window_s is None or across + over_network == 0:
        return None
    spare = compute_s * (1 / EFFICIENCY_WANTED.value - 1)
    # Pipeline messages get half of the spare time, the exchange of gradients its window and the other half.
    seconds = max(0.0, window_s + spare / 2 - inside_s)
    if across and not seconds:
        return None
    bytes_per_s = (across / seconds if across else 0.0) + (over_network / (spare / 2) if over_network else 0.0)
    return bytes_per_s * 8 / GB


@dataclass(frozen=True, slots=True)
class FabricNeed:
    """Whether NVLink and RDMA are needed and how much the network must carry.

    ``network_gbps`` is what each node must carry each way in Gbps; ``nvlink`` and ``rdma`` are ``None`` when it cannot
    be told.
    """

    nvlink: bool | None
    rdma: bool | None
    network_gbps: float | None
    reasons: tuple[str, ...]


def fabric_need(time: StepTime, nodes: int, tensor: int, *, is_large: bool) -> FabricNeed:
    """What the fabric must be for this layout, and why.

    Args:
        time: The step on this layout.
        nodes: Number of nodes.
        tensor: GPUs that share each layer.
        is_large: Whether the model is of the class that needs NVLink and RDMA whatever the bytes say.

    Returns:
        The need, with reasons.
    """
    nvlink, nvlink_why = _nvlink(time, tensor, is_large=is_large)
    reasons = [nvlink_why]
    if nodes == 1:
        reasons.append("RDMA is not needed for this layout: everything stays inside one node.")
        return FabricNeed(nvlink, False, None, tuple(reasons))
    if is_large:
        reasons.append("RDMA is needed: a model of the 70 B class or above is trained on no less.")
    needed = time.network_gbps_needed
    sent = f"{time.network_bytes / GB:,.1f} GB leave each node a step"
    if needed is None:
        reasons.append(f"{sent}; the rate that needs cannot be told.")
        return FabricNeed(nvlink, True if is_large else None, None, tuple(reasons))
    over = needed > SOCKET_GBPS.value
    reasons.append(
        f"{sent}; {needed:,.1f} Gbps for each node keep {EFFICIENCY_WANTED.value:.0%} efficiency. TCP sockets carry "
        f"about {SOCKET_GBPS.value:.0f} Gbps, so for this traffic RDMA is {'' if over else 'not '}needed."
    )
    return FabricNeed(nvlink, over or is_large, needed, tuple(reasons))


def _nvlink(time: StepTime, tensor: int, *, is_large: bool) -> tuple[bool | None, str]:
    if tensor > 1:
        return True, (
            f"NVLink is needed: tensor parallel over {tensor} GPUs sends {time.link_bytes / GB:,.0f} GB a step from "
            "each GPU, and none of it hides behind the computation."
        )
    if is_large:
        return True, "NVLink is needed: a model of the 70 B class or above is trained on no less."
    if time.link_bytes == 0:
        return False, "NVLink is not needed: the GPUs of one node exchange nothing."
    over_pcie_s = time.link_bytes / (PCIE_GB_PER_S.value * GB)
    text = f"the GPUs of a node exchange {time.link_bytes / GB:,.1f} GB a step, {over_pcie_s:,.1f} s over PCIe"
    if time.window_s is None or time.compute_s is None:
        return None, f"Whether NVLink is needed cannot be told: {text}, and the time of a step is unknown."
    exposed_s = max(0.0, over_pcie_s - time.window_s)
    kept = time.compute_s / (time.compute_s + exposed_s)
    hidden = f"{text}, of which {time.compute_s:,.1f} s of computing hide all but {exposed_s:,.1f} s"
    if kept < EFFICIENCY_WANTED.value:
        return True, f"NVLink is needed: {hidden}; efficiency would be {kept:.0%}, not {EFFICIENCY_WANTED.value:.0%}."
    return False, f"NVLink is not needed: {hidden}."
