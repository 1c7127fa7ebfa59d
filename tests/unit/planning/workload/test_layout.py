import re
from dataclasses import replace

import pytest

from gpuyard.catalog import gpus, instance_types
from gpuyard.planning.workload.hardware import Hardware, best_precision, hardware_of, network_gbps, supports
from gpuyard.planning.workload.layout import Layout, fastest_layout, layout_on, smallest_replicas
from gpuyard.planning.workload.memory import GIB
from gpuyard.planning.workload.sizing import fewest_nodes

from .helpers import job

A100_NODE = Hardware(8, 72 * GIB, True, 300, 400, 312, "bf16")
A10_NODE = Hardware(8, 21.6 * GIB, False, 12, 100, 125, "bf16")


def fitting(found: Layout | None) -> Layout:
    assert found is not None
    assert found.memory.fits
    return found


def test_tensor_parallel_stays_inside_the_nvlink_domain():
    found = fitting(fastest_layout(job(task="pretrain", parameters=175e9), A100_NODE, 64))
    assert 1 < found.tensor <= 8
    assert found.data * found.tensor * found.pipeline == 512


def test_there_is_no_tensor_parallel_without_nvlink():
    for nodes in (1, 2, 4, 16):
        found = layout_on(job(task="full_finetune", parameters=13e9), A10_NODE, nodes)
        assert found is None or found.tensor == 1


def test_unknown_nvlink_counts_as_none():
    row = replace(instance_types("aws")["p4d.24xlarge"], gpu_interconnect=None)
    node = hardware_of(row, gpus()["A100-SXM4-40GB"], "bf16")
    assert node is not None
    assert node.nvlink is False


def test_tensor_parallel_divides_the_heads_of_a_given_shape():
    odd = job(task="pretrain", parameters=2.1e9, layers=24, hidden_size=2640, heads=33)
    assert fitting(fastest_layout(odd, A100_NODE, 1)).tensor == 1


@pytest.mark.parametrize("nodes", [2, 3, 5, 8])
def test_a_copy_fills_a_part_of_a_node_or_whole_nodes(nodes):
    found = fitting(fastest_layout(job(task="pretrain", parameters=70e9), A100_NODE, nodes))
    copy = found.tensor * found.pipeline
    assert 8 % copy == 0 or copy % 8 == 0


@pytest.mark.parametrize("sharding", ["none", "zero1", "zero2", "zero3", "fsdp"])
def test_the_sharding_asked_for_is_used_and_zero_2_and_3_have_no_pipeline(sharding):
    sizing = fewest_nodes(job(task="pretrain", parameters=30e9, sharding=sharding), A100_NODE)
    found = fitting(sizing.layout)
    assert found.sharding == sharding
    assert found.pipeline == 1 or sharding in ("none", "zero1")


@pytest.mark.parametrize("recomputation", ["none", "selective", "full"])
def test_the_recomputation_asked_for_is_used(recomputation):
    wanted = job(task="pretrain", parameters=7e9, recomputation=recomputation)
    assert fitting(fewest_nodes(wanted, A100_NODE).layout).recomputation == recomputation


def test_lora_keeps_16_bits_where_they_fit_and_stores_fewer_where_not():
    seven, thirteen = (job(task="lora", parameters=p) for p in (7e9, 13e9))
    one_a10 = Hardware(1, 21.6 * GIB, False, 12, 10, 125, "bf16")
    assert fitting(layout_on(seven, one_a10, 1)).weight_bits == 16
    assert fitting(layout_on(thirteen, one_a10, 1)).weight_bits == 8
    assert fitting(layout_on(job(task="lora", parameters=30e9), one_a10, 1)).weight_bits == 4


def test_a_batch_is_not_divided_among_more_replicas_than_it_has_sequences():
    small = job(task="lora", parameters=1e9, global_batch=4)
    assert layout_on(small, Hardware(1, 72 * GIB, False, 12, 400, 312, "bf16"), 16) is not None
    found = layout_on(small, Hardware(1, 72 * GIB, False, 12, 400, 312, "bf16"), 8)
    assert found is None or found.data <= 4


def test_a_served_copy_stays_inside_a_small_node():
    big = job(task="inference", parameters=70e9)
    assert smallest_replicas(big, Hardware(4, 21.6 * GIB, False, 12, 40, 125, "bf16"), 16) is None
    sizing = fewest_nodes(big, Hardware(4, 21.6 * GIB, False, 12, 40, 125, "bf16"))
    assert sizing.layout is None
    assert "in a node that a served copy stays inside" in sizing.reasons[0]
    assert sizing.reasons[1] == "It may with 'quantization_bits: 4'."


def test_a_served_copy_takes_the_fewest_gpus_that_hold_it():
    found = fitting(smallest_replicas(job(task="inference", model="llama-3-70b"), A100_NODE, 1))
    assert (found.data, found.tensor, found.pipeline) == (4, 2, 1)


def test_the_fewest_nodes_are_the_fewest():
    wanted = job(task="pretrain", parameters=70e9)
    found = fitting(fewest_nodes(wanted, A100_NODE).layout)
    assert all(layout_on(wanted, A100_NODE, nodes) is None for nodes in range(1, found.nodes))


def test_what_never_fits_says_how_much_it_needs_and_what_may_help():
    sizing = fewest_nodes(job(task="pretrain", parameters=1e12, recomputation="none", micro_batch=2), A10_NODE)
    assert sizing.layout is None
    need = re.fullmatch(
        r"One GPU needs at least ([\d,.]+) GiB however many there are, and 21.6 GiB are usable.", sizing.reasons[0]
    )
    assert need is not None
    assert float(need[1].replace(",", "")) > 21.6
    assert sizing.reasons[1] == "It may with 'recomputation: full' or a smaller 'micro_batch'."


@pytest.mark.parametrize(
    ("model", "precision", "expected"),
    [
        ("V100-SXM2-32GB", "bf16", False),
        ("V100-SXM2-32GB", "fp16", True),
        ("T4", "bf16", False),
        ("A10G", "bf16", True),
        ("A100-SXM4-80GB", "fp8", False),
        ("L4", "fp8", True),
        ("H20-96GB", "fp8", True),
        ("P40", "fp16", False),
        ("MI300X", "bf16", True),
        ("Radeon-Pro-V520", "bf16", None),
    ],
)
def test_precisions_follow_the_compute_capability(model, precision, expected):
    assert supports(gpus()[model], precision) is expected


@pytest.mark.parametrize(
    ("model", "expected"), [("V100-SXM2-16GB", "fp16"), ("A10G", "bf16"), ("P40", "fp32"), ("H100-SXM5-80GB", "bf16")]
)
def test_the_default_precision_is_the_best_that_the_gpu_has(model, expected):
    assert best_precision(gpus()[model]) == expected


def test_the_network_is_rdma_where_there_is_rdma():
    row = instance_types("aws")["p4d.24xlarge"]
    assert network_gbps(replace(row, rdma_gbps=100.0)) == 100
    assert network_gbps(replace(row, rdma_gbps=None)) == 400
    assert network_gbps(replace(row, rdma="none", rdma_gbps=100.0)) == 400
    assert network_gbps(replace(row, rdma="none", network_gbps=None)) is None


def test_a_share_of_a_gpu_has_its_share_of_memory_and_rate():
    row = instance_types("aws")["g6f.4xlarge"]
    node = hardware_of(row, gpus()["L4"], "bf16")
    assert node is not None
    assert node.usable_bytes == pytest.approx(11.18 * GIB * 0.9)
    assert node.dense_tflops == 121 / 2
