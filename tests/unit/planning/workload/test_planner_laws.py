"""What holds for every workload."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpuyard.planning.workload import layout as layouts
from gpuyard.planning.workload import plan_workload
from gpuyard.planning.workload.activations import activation_bytes
from gpuyard.planning.workload.hardware import Hardware
from gpuyard.planning.workload.job import job_of
from gpuyard.planning.workload.layout import layout_on, least_bytes_per_gpu, least_bytes_together
from gpuyard.planning.workload.memory import (
    GIB,
    adam_bytes_per_parameter,
    kv_cache_bytes,
    lora_parameters,
    model_state_bytes,
)
from gpuyard.planning.workload.request import WorkloadRequest, request_problems
from gpuyard.planning.workload.shape import shape_of
from gpuyard.planning.workload.sizing import fewest_nodes, size, tokens_per_s

SHARDINGS = st.sampled_from(["none", "zero1", "zero2", "zero3", "fsdp"])
NODES = st.sampled_from(
    [
        Hardware(1, 21.6 * GIB, False, 12, 10, 125, "bf16"),
        Hardware(4, 14.4 * GIB, True, 150, 25, 125, "fp16"),
        Hardware(8, 21.6 * GIB, False, 12, 100, None, "bf16"),
        Hardware(8, 36 * GIB, True, 300, 400, 312, "bf16"),
        Hardware(8, 72 * GIB, True, 450, 3200, 989, "bf16"),
        Hardware(8, 72 * GIB, True, 450, None, 989, "bf16"),
    ]
)
COUNTS = st.integers(1, 64)


@st.composite
def requests(draw):
    fields = {
        "task": draw(st.sampled_from(["pretrain", "full_finetune", "lora", "rl", "vision", "inference"])),
        "parameters": draw(st.floats(1e6, 1e14)),
        "architecture": draw(st.sampled_from(["transformer", "transformer", "diffusion"])),
        "tokens": draw(st.none() | st.floats(1e6, 1e15)),
        "target_days": draw(st.none() | st.floats(0.1, 1000)),
        "sharding": draw(st.none() | SHARDINGS),
        "recomputation": draw(st.none() | st.sampled_from(["none", "selective", "full"])),
        "sequence_length": draw(st.none() | st.integers(1, 200_000)),
        "micro_batch": draw(st.none() | st.integers(1, 64)),
        "quantization_bits": draw(st.none() | st.sampled_from([4, 8, 16])),
        "context_length": draw(st.none() | st.integers(1, 200_000)),
        "concurrent_sequences": draw(st.none() | st.integers(1, 500)),
        "gpus": draw(st.none() | st.integers(1, 20_000)),
        "clouds": draw(st.lists(st.sampled_from(["aws", "alicloud", "tencentcloud"]), min_size=1, unique=True)),
        "allow_interruptions": draw(st.booleans()),
    }
    given_fields = {key: value for key, value in fields.items() if value is not None}
    request = WorkloadRequest.model_validate(given_fields)
    wrong = {problem.path[0] for problem in request_problems(request)}
    request = WorkloadRequest.model_validate({key: value for key, value in given_fields.items() if key not in wrong})
    assume(not request_problems(request))
    return request


@settings(max_examples=60, deadline=None)
@given(requests())
def test_for_any_valid_workload_the_plan_fits_or_says_that_none_does(request):
    found = plan_workload(request)
    for one in found.candidates:
        assert one.layout.memory.fits
        assert one.layout.gpus == one.layout.nodes * (one.instance_type.gpu_count or 0)
        assert one.layout.tensor == 1 or one.instance_type.has_nvlink is True
        assert one.layout.tensor <= (one.instance_type.gpu_count or 0)
        assert one.reasons[0].startswith("Fits on ")
    if not found.candidates:
        assert found.reasons[-1] == (
            "Nothing fits: no instance type of the chosen clouds and regions can run this workload."
        )
    assert all(miss.reasons and all(miss.reasons) for miss in found.near_misses)


@given(
    st.floats(1e6, 1e13),
    st.floats(1, 50),
    SHARDINGS,
    st.sampled_from([1, 2, 8]),
    st.sampled_from([1, 2, 4, 16]),
    st.integers(1, 64),
    st.sampled_from(["none", "selective", "full"]),
)
def test_more_parameters_never_need_less_memory(parameters, times, sharding, tensor, pipeline, data, recomputation):
    needs = []
    for size_of_model in (parameters, parameters * times):
        shape = shape_of(size_of_model)
        state = model_state_bytes(size_of_model, adam_bytes_per_parameter("bf16"), sharding, data, tensor * pipeline)
        needs.append(
            (
                state,
                activation_bytes(shape, 2048, 1, tensor, pipeline, recomputation),
                kv_cache_bytes(shape, 4096, 4, 16, tensor, pipeline),
                lora_parameters(shape, 16),
            )
        )
    assert all(small <= large * (1 + 1e-12) for small, large in zip(*needs, strict=True))


@settings(max_examples=60, deadline=None)
@given(st.floats(1e8, 3e11), st.floats(1, 10), NODES, st.sampled_from(["full_finetune", "inference"]))
def test_more_parameters_never_fit_on_fewer_nodes(parameters, times, node, task):
    small, large = (
        fewest_nodes(job_of(WorkloadRequest(task=task, parameters=number)), node).layout
        for number in (parameters, parameters * times)
    )
    if large is not None:
        assert small is not None


@settings(max_examples=150, deadline=None)
@given(st.floats(1e8, 1e11), NODES, COUNTS, st.sampled_from(["pretrain", "full_finetune", "lora"]), st.booleans())
def test_more_nodes_never_lengthen_the_estimate_without_a_stated_reason(parameters, node, nodes, task, half):
    fewer_nodes = max(1, nodes // 2 if half else nodes - 1)
    request = WorkloadRequest(task=task, parameters=parameters, gpus=nodes * node.gpus)
    job = job_of(request)
    more, fewer = size(job, node), layout_on(job, node, fewer_nodes)
    assume(more.layout is not None and fewer is not None and fewer_nodes < nodes)
    fast, slow = tokens_per_s(job, fewer), tokens_per_s(job, more.layout)
    assume(fast is not None and slow is not None)
    if slow < fast:
        assert any(reason.startswith("Slower than ") and ": " in reason for reason in more.reasons)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["pretrain", "lora", "rl", "inference"]),
    st.floats(1e8, 3e11),
    st.none() | SHARDINGS,
    st.none() | st.sampled_from(["none", "selective", "full"]),
    st.sampled_from([512, 2048, 8192]),
    NODES,
    COUNTS,
)
def test_what_fits_is_never_called_impossible(task, parameters, sharding, recomputation, length, node, nodes):
    fields = {"task": task, "parameters": parameters}
    if task == "inference":
        fields |= {"context_length": length}
    else:
        fields |= {"sharding": sharding, "recomputation": recomputation, "sequence_length": length}
    job = job_of(WorkloadRequest.model_validate(fields))
    if layout_on(job, node, nodes) is not None:
        assert least_bytes_per_gpu(job, node) <= node.usable_bytes
        assert least_bytes_together(job, node) <= node.usable_bytes * node.gpus * nodes


@settings(max_examples=150, deadline=None)
@given(
    st.floats(1e8, 3e11),
    NODES,
    COUNTS,
    st.sampled_from(["pretrain", "full_finetune", "lora", "rl"]),
    st.integers(1, 3000),
    st.integers(1, 8),
)
def test_the_search_leaves_out_no_faster_layout(parameters, node, nodes, task, batch, micro_batch):
    assume(batch >= micro_batch)
    fields = {"task": task, "parameters": parameters, "global_batch": batch, "micro_batch": micro_batch}
    job = job_of(WorkloadRequest.model_validate(fields))
    chosen = layout_on(job, node, nodes)
    gpus = nodes * node.gpus
    every = [
        layout
        for tensor in layouts._tensor_choices(job, node)
        for pipeline in layouts._pipeline_choices(job, node, gpus, tensor)
        for layout in layouts._training_layouts(job, node, nodes, tensor, pipeline)
    ]
    assert (chosen is None) == (not every)
    if chosen is not None:
        most_bits = [layout for layout in every if layout.weight_bits == max(other.weight_bits for other in every)]
        fastest = min(layouts._relative_time(layout) for layout in most_bits)
        assert layouts._relative_time(chosen) <= fastest * (1 + 1e-12)
