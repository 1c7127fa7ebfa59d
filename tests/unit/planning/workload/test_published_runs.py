"""Every published figure that the planner must reproduce, one test for each, named after its source."""

import math
from dataclasses import replace

import pytest

from gpuyard.catalog import instance_types
from gpuyard.planning.workload import parse_request, plan_workload
from gpuyard.planning.workload.activations import activation_bytes_per_layer, recomputation_flops_factor
from gpuyard.planning.workload.assumptions import FAILURES_PER_GPU_HOUR, UTILIZATION
from gpuyard.planning.workload.duration import implied_utilization, training_seconds
from gpuyard.planning.workload.fabric import data_parallel_elements, ring_all_reduce_s
from gpuyard.planning.workload.memory import (
    GB,
    adam_bytes_per_parameter,
    kv_cache_bytes_per_token,
    model_state_bytes,
    weight_bytes,
)
from gpuyard.planning.workload.shape import published_models
from gpuyard.planning.workload.storage import daly_interval_s, mean_time_between_failures_h, young_interval_s

S, B, H, A, T = 2048, 4, 12288, 96, 8
SBH = S * B * H


@pytest.mark.parametrize(
    ("parameters", "tokens", "gpus", "tflops", "days"),
    [
        pytest.param(175e9, 300e9, 1024, 140, 34, id="175B-narayanan-2021"),
        pytest.param(1e12, 450e9, 3072, 163, 84, id="1T-narayanan-2021"),
    ],
)
def test_training_time_of_narayanan_2021(parameters, tokens, gpus, tflops, days):
    seconds = training_seconds(parameters, tokens, gpus, tflops * 1e12, flops_per_token_parameter=8)
    assert seconds / 86400 == pytest.approx(days, rel=0.05)


def test_gpu_hours_of_llama_2_70b_touvron_2023():
    implied = implied_utilization(70e9, 2.0e12, 1_720_320, 312)
    assert 0.35 <= implied <= 0.55
    assert 0.35 <= UTILIZATION.value <= 0.55


def test_gpu_hours_of_llama_2_70b_touvron_2023_from_the_whole_planner():
    # Section 2.2.1 of the paper: up to 2,000 A100 80 GB with 200 Gbps for each GPU.
    cluster = replace(instance_types("aws")["p4de.24xlarge"], rdma_gbps=8 * 200, network_gbps=8 * 200)
    request = parse_request({"model": "llama-2-70b", "task": "pretrain", "tokens": 2e12, "gpus": 2048})
    (found,) = plan_workload(request, types=[cluster]).candidates
    assert found.duration is not None
    assert found.duration.gpu_hours == pytest.approx(1_720_320, rel=0.1)
    assert 0.35 <= implied_utilization(68.98e9, 2.0e12, found.duration.gpu_hours, 312) <= 0.55


@pytest.mark.parametrize(
    ("sharding", "gigabytes"), [("none", 120), ("zero1", 31.4), ("zero2", 16.6), ("zero3", 1.9), ("fsdp", 1.9)]
)
def test_model_state_of_7_5b_on_64_gpus_rajbhandari_2020_figure_1(sharding, gigabytes):
    state = model_state_bytes(7.5e9, adam_bytes_per_parameter("bf16"), sharding, data_parallel=64)
    assert state / GB == pytest.approx(gigabytes, rel=0.02)


def test_bytes_a_parameter_with_mixed_precision_adam_rajbhandari_2020():
    state = adam_bytes_per_parameter("fp16")
    assert (state.weight, state.gradient, state.optimizer, state.total) == (2, 2, 12, 16)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, SBH * (34 + 5 * A * S / H), id="no-parallelism"),
        pytest.param({"tensor_parallel": T}, SBH * (10 + 24 / T + 5 * A * S / (H * T)), id="tensor-parallel"),
        pytest.param(
            {"tensor_parallel": T, "sequence_parallel": True}, SBH / T * (34 + 5 * A * S / H), id="sequence-parallel"
        ),
        pytest.param({"recomputation": "full"}, 2 * SBH, id="full-recomputation"),
        pytest.param({"tensor_parallel": T, "recomputation": "full"}, 2 * SBH, id="full-recomputation-tensor-parallel"),
    ],
)
def test_activation_memory_a_layer_korthikanti_2022(options, expected):
    assert activation_bytes_per_layer(S, B, H, A, **options) == pytest.approx(expected, rel=1e-12)


def test_recomputation_cost_korthikanti_2022():
    factor = recomputation_flops_factor("full", S, H)
    assert 1.30 <= factor <= 1.40
    assert factor == pytest.approx(4 / 3)


@pytest.mark.parametrize(("sharding", "times"), [("none", 2), ("zero1", 2), ("zero2", 2), ("zero3", 3), ("fsdp", 3)])
def test_communication_volume_rajbhandari_2020(sharding, times):
    assert data_parallel_elements(7.5e9, sharding) == times * 7.5e9


@pytest.mark.parametrize("members", [1, 2, 8, 1024])
def test_ring_all_reduce_patarasu_2009(members):
    assert ring_all_reduce_s(members, 1e9, 50e9) == pytest.approx(2 * (members - 1) / members * 1e9 / 50e9)


def test_failures_of_llama_3_2024():
    hours = mean_time_between_failures_h(16_384)
    assert hours == pytest.approx(54 * 24 / 419)
    assert FAILURES_PER_GPU_HOUR.value * 16_384 * 54 * 24 == pytest.approx(419)


@pytest.mark.parametrize("write_s", [10, 60, 300])
def test_checkpoint_interval_for_the_failures_of_llama_3_2024_by_young_and_daly(write_s):
    mean_s = 54 * 86400 / 419
    young = young_interval_s(write_s, mean_time_between_failures_h(16_384) * 3600)
    assert young == pytest.approx(math.sqrt(2 * write_s * mean_s))
    daly = daly_interval_s(write_s, mean_s)
    assert daly == pytest.approx(young - write_s * (2 / 3), rel=0.02), "the first correction terms are δ/3 − δ"


def test_checkpoint_interval_by_daly_when_writing_takes_longer_than_two_failures_apart():
    assert daly_interval_s(write_s=500, mean_time_between_failures_s=200) == 200


def test_weights_of_175b_in_fp16():
    assert weight_bytes(175e9, 16) == 350 * GB


def test_kv_cache_a_token_of_llama_2_7b_in_fp16():
    shape = published_models()["llama-2-7b"].shape
    assert (shape.layers, shape.kv_heads, shape.head_size) == (32, 32, 128)
    assert kv_cache_bytes_per_token(shape) == 0.5 * 2**20
