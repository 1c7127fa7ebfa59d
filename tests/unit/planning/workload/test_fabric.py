import pytest

from gpuyard.planning.workload.fabric import (
    data_parallel_elements,
    fabric_need,
    pipeline_bubble,
    step_time,
    tensor_parallel_bytes,
)
from gpuyard.planning.workload.hardware import Hardware
from gpuyard.planning.workload.memory import GB, GIB

from .helpers import job

NODE = Hardware(8, 72 * GIB, True, 300, 400, 312, "bf16")


def step(wanted, node=NODE, nodes=4, tensor=1, pipeline=1, sharding="zero1", recomputation="none", micro_batches=8):
    return step_time(wanted, node, nodes, tensor, pipeline, sharding, recomputation, micro_batches, 16)


def test_zero_3_gathers_weights_again_for_each_micro_batch():
    assert data_parallel_elements(1e9, "zero3", micro_batches=4) == 9e9
    assert data_parallel_elements(1e9, "zero2", micro_batches=4) == 2e9


def test_tensor_parallel_volume_narayanan_2021():
    # Section 3.2: 8·b·s·h·(t−1)/t elements a layer and micro-batch.
    assert (
        tensor_parallel_bytes(2.0, layers=1, micro_batches=1, tensor_parallel=8, recomputation="none") / 2 == 8 * 7 / 8
    )
    assert tensor_parallel_bytes(2.0, 10, 4, 1, "none") == 0


def test_full_recomputation_repeats_the_forward_messages():
    none, full = (tensor_parallel_bytes(1.0, 1, 1, 8, recomputation) for recomputation in ("none", "full"))
    assert full == none * 1.5


@pytest.mark.parametrize(("stages", "micro_batches", "bubble"), [(1, 8, 0), (4, 8, 3 / 8), (8, 64, 7 / 64)])
def test_the_bubble_of_a_pipeline(stages, micro_batches, bubble):
    assert pipeline_bubble(stages, micro_batches) == bubble


def test_bytes_over_the_network_are_those_of_a_ring_of_nodes():
    wanted = job(task="pretrain", parameters=7e9, global_batch=256)
    assert step(wanted, nodes=4).network_bytes == pytest.approx(2 * 7e9 * 2 * 3 / 4)
    assert step(wanted, nodes=1).network_bytes == 0


def test_a_copy_over_several_nodes_sends_its_part_and_its_stages():
    wanted = job(task="pretrain", parameters=7e9, global_batch=64)
    found = step(wanted, nodes=8, tensor=8, pipeline=4, micro_batches=32)
    stages = 2 * 32 * 4096 * wanted.shape.hidden_size * 2
    assert found.network_bytes == pytest.approx(2 * 7e9 * 2 * (8 / 32) * (2 - 1) / 2 + stages)


def test_the_exchange_hides_behind_the_last_backward_pass():
    wanted = job(task="pretrain", parameters=7e9, global_batch=256)
    found = step(wanted, micro_batches=8)
    assert found.compute_s is not None
    assert found.data_parallel_s is not None
    assert found.window_s == pytest.approx(0.8 * 2 / 3 * found.compute_s / 8)
    assert found.exposed_s == pytest.approx(max(0, found.data_parallel_s - found.window_s))


def test_a_slower_network_is_never_more_efficient():
    wanted = job(task="pretrain", parameters=7e9, global_batch=256)
    rates = [step(wanted, Hardware(8, 72 * GIB, True, 300, gbps, 312, "bf16")).efficiency for gbps in (10, 100, 3200)]
    assert all(rate is not None for rate in rates)
    assert rates == sorted(rates)


def test_an_unknown_network_has_no_time_but_one_node_needs_none():
    wanted = job(task="pretrain", parameters=7e9, global_batch=256)
    unknown = Hardware(8, 72 * GIB, True, 300, None, 312, "bf16")
    assert step(wanted, unknown, nodes=4).step_s is None
    assert step(wanted, unknown, nodes=1).step_s is not None


def test_an_unknown_rate_has_no_time():
    found = step(job(task="pretrain", parameters=7e9), Hardware(8, 72 * GIB, True, 300, 400, None, "bf16"))
    assert (found.step_s, found.compute_s, found.efficiency) == (None, None, None)


def test_the_rate_that_is_needed_reaches_the_wanted_efficiency():
    wanted = job(task="pretrain", parameters=7e9, global_batch=256)
    needed = step(wanted).network_gbps_needed
    assert needed is not None
    efficiency = step(wanted, Hardware(8, 72 * GIB, True, 300, needed, 312, "bf16")).efficiency
    assert efficiency is not None
    assert efficiency >= 0.90


def test_uneven_shares_of_the_batch_are_lost():
    wanted = job(task="pretrain", parameters=7e9, global_batch=33)
    found = step(wanted, nodes=4, micro_batches=2)
    assert found.evenness == pytest.approx(33 / 64)


def test_needs_say_why():
    wanted = job(task="pretrain", parameters=7e9, global_batch=256)
    need = fabric_need(step(wanted, tensor=8), 4, 8, is_large=False)
    assert need.nvlink is True
    assert need.reasons[0].startswith("NVLink is needed: tensor parallel over 8 GPUs sends ")
    assert need.network_gbps is not None
    assert need.rdma is (need.network_gbps > 50)
    assert f"{need.network_gbps:,.1f} Gbps for each node keep 90% efficiency" in need.reasons[1]


def test_one_node_needs_no_rdma():
    need = fabric_need(step(job(task="pretrain", parameters=7e9), nodes=1), 1, 1, is_large=False)
    assert need.rdma is False
    assert need.reasons[1] == "RDMA is not needed for this layout: everything stays inside one node."


def test_a_large_model_needs_both_whatever_the_bytes_say():
    need = fabric_need(step(job(task="pretrain", parameters=70e9), nodes=4), 4, 1, is_large=True)
    assert (need.nvlink, need.rdma) == (True, True)
    assert need.reasons[0] == "NVLink is needed: a model of the 70 B class or above is trained on no less."


def test_what_cannot_be_told_is_neither_yes_nor_no():
    found = step(job(task="pretrain", parameters=7e9), Hardware(8, 72 * GIB, False, 12, 400, None, "bf16"))
    need = fabric_need(found, 4, 1, is_large=False)
    assert (need.nvlink, need.rdma, need.network_gbps) == (None, None, None)
    assert need.reasons[0].startswith("Whether NVLink is needed cannot be told: ")
    assert (
        need.reasons[1]
        == f"{found.network_bytes / GB:,.1f} GB leave each node a step; the rate that needs cannot be told."
    )
