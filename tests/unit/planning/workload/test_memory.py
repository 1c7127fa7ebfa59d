import pytest

from gpuyard.planning.workload.activations import (
    activation_bytes,
    activation_bytes_per_layer,
    recomputation_flops_factor,
)
from gpuyard.planning.workload.memory import (
    adam_bytes_per_parameter,
    frozen_weight_bytes,
    kv_cache_bytes,
    lora_parameters,
    model_state_bytes,
)
from gpuyard.planning.workload.shape import ModelShape, published_models

LLAMA_70B = published_models()["llama-2-70b"].shape
GPT3 = published_models()["gpt3-175b"].shape


@pytest.mark.parametrize("precision", ["bf16", "fp16", "fp8", "fp32"])
def test_adam_takes_16_bytes_a_parameter_in_every_precision(precision):
    assert adam_bytes_per_parameter(precision).total == 16


def test_fp32_needs_no_second_copy_of_the_weights():
    assert adam_bytes_per_parameter("fp32").optimizer == 8


def test_tensor_and_pipeline_parallel_divide_the_state():
    state = adam_bytes_per_parameter("bf16")
    assert model_state_bytes(175e9, state, "none", 4, model_parallel=64) == 175e9 * 16 / 64
    assert model_state_bytes(175e9, state, "zero1", 4, model_parallel=64) == 175e9 / 64 * (4 + 12 / 4)


@pytest.mark.parametrize(
    ("sharding", "gpus_that_share"), [("none", 1), ("zero1", 1), ("zero2", 1), ("zero3", 8), ("fsdp", 8)]
)
def test_only_zero_3_divides_weights_that_are_not_trained(sharding, gpus_that_share):
    assert frozen_weight_bytes(70e9, 4, sharding, data_parallel=8) == 35e9 / gpus_that_share


def test_adapters_are_a_small_part_of_the_model():
    shape = published_models()["llama-2-7b"].shape
    assert lora_parameters(shape, 16) == 18 * 16 * 4096 * 32
    assert lora_parameters(shape, 16) / 6.74e9 < 0.01


def test_grouped_query_attention_makes_the_cache_eight_times_smaller():
    everyone = ModelShape(80, 8192, 64, 64, 32000, estimated=False, reason="")
    cache = [kv_cache_bytes(shape, 4096, 1, 16, 1, 1) for shape in (everyone, LLAMA_70B)]
    assert cache[0] == 8 * cache[1]


def test_a_gpu_holds_at_least_one_key_value_head():
    assert kv_cache_bytes(LLAMA_70B, 4096, 1, 16, 16, 1) == kv_cache_bytes(LLAMA_70B, 4096, 1, 16, 8, 1)


def test_a_cache_of_8_bits_is_half():
    assert kv_cache_bytes(LLAMA_70B, 4096, 3, 8, 1, 1) * 2 == kv_cache_bytes(LLAMA_70B, 4096, 3, 16, 1, 1)


def test_selective_recomputation_leaves_out_the_attention_term():
    # Korthikanti et al. 2022, section 5: for GPT-3 with s=2048 this saves about 70 % of the activations.
    kept = activation_bytes_per_layer(2048, 1, 12288, 96, recomputation="selective")
    assert 1 - kept / activation_bytes_per_layer(2048, 1, 12288, 96) == pytest.approx(0.70, abs=0.01)


def test_the_first_stage_of_a_pipeline_keeps_as_much_as_a_model_without_one():
    without_output = activation_bytes(GPT3, 2048, 1, 8, 8, "selective")
    layer = activation_bytes_per_layer(2048, 1, 12288, 96, 8, sequence_parallel=True, recomputation="selective")
    assert without_output == 96 * layer


def test_full_recomputation_keeps_one_layer_more_than_the_inputs():
    kept = activation_bytes(GPT3, 2048, 1, 8, 8, "full")
    layer = activation_bytes_per_layer(2048, 1, 12288, 96, 8, sequence_parallel=True, recomputation="selective")
    assert kept == 96 * 2 * 2048 * 12288 + layer


def test_a_model_without_a_pipeline_also_keeps_its_output():
    pipeline, alone = (activation_bytes(GPT3, 2048, 1, 1, p, "none") for p in (2, 1))
    assert alone - pipeline == 4 * 2048 * (12288 + 50257)


@pytest.mark.parametrize(
    ("hidden_size", "sequence_length", "more"),
    [(12288, 2048, 0.027), (20480, 2048, 0.016)],
    ids=["gpt3", "mt-nlg-530b"],
)
def test_selective_recomputation_costs_what_korthikanti_2022_says(hidden_size, sequence_length, more):
    assert recomputation_flops_factor("selective", sequence_length, hidden_size) - 1 == pytest.approx(more, abs=0.0015)


def test_selective_recomputation_is_never_dearer_than_full():
    assert recomputation_flops_factor("selective", 1_000_000, 1024) == recomputation_flops_factor("full", 2048, 1024)


def test_fp32_activations_are_twice_as_large():
    assert activation_bytes(GPT3, 2048, 1, 1, 1, "none", 4) == 2 * activation_bytes(GPT3, 2048, 1, 1, 1, "none")
