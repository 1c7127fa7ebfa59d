"""The scenarios of the issue, on ranges and reasons."""

import pytest

from gpuyard.catalog import gpus
from gpuyard.planning.workload import Candidate

from .helpers import candidate, miss, plan


def text(reasons):
    return "\n".join(reasons)


@pytest.mark.parametrize("billions", [7, 8, 13])
@pytest.mark.parametrize("name", ["g5.xlarge", "ecs.gn7i-c8g1.2xlarge"])
def test_lora_of_7_to_13_b_runs_on_single_a10s(billions, name):
    found = candidate(plan(task="lora", parameters=billions * 1e9), name)
    assert found.layout.gpus == 1
    assert found.gpu.model in ("A10", "A10G")
    assert found.layout.memory.total_gib <= 24 * 0.9
    assert found.fabric is not None
    assert (found.fabric.nvlink, found.fabric.rdma) == (False, False)


@pytest.mark.parametrize("billions", [70, 100, 175])
def test_70_to_175_b_needs_600_gb_per_s_nvlink_1500_gb_per_s_memory_and_100_gbps_rdma(billions):
    found = plan(task="pretrain", parameters=billions * 1e9)
    assert found.candidates
    for one in found.candidates:
        assert (one.instance_type.nvlink_gb_per_s_per_gpu or 0) >= 600
        assert (one.gpu.memory_bandwidth_gb_per_s or 0) >= 1500
        assert (one.instance_type.rdma_gbps or 0) >= 100
        assert one.fabric is not None
        assert one.fabric.nvlink is True


def test_70_b_near_misses_say_which_of_the_three_is_missing():
    found = plan(task="pretrain", parameters=70e9)
    assert miss(found, "g6e.48xlarge").reasons == (
        "Has no NVLink; training 70 B and more needs at least 600 GB/s.",
        "Has GPU memory bandwidth 864 GB/s; training 70 B and more needs at least 1,500 GB/s.",
    )
    assert (
        "Has NVLink 300 GB/s; training 70 B and more needs at least 600 GB/s." in miss(found, "p3dn.24xlarge").reasons
    )
    assert "training 70 B and more needs at least 100 Gbps" in text(miss(found, "ecs.gn7e-c16g1.32xlarge").reasons)


def test_llama_2_70b_is_of_the_70_b_class_although_it_has_69_b():
    assert miss(plan(task="pretrain", model="llama-2-70b"), "g6e.48xlarge")


def test_lora_of_70_b_needs_no_rdma():
    found = plan(task="lora", parameters=70e9)
    assert any(one.instance_type.has_rdma is not True for one in found.candidates)


def test_above_100_gpus_only_bare_metal_or_whole_nodes_with_rdma():
    found = plan(task="pretrain", parameters=13e9, gpus=128)
    assert found.candidates
    for one in found.candidates:
        assert one.instance_type.has_rdma is True
        assert one.instance_type.bare_metal is True or (one.instance_type.gpu_count or 0) >= 4
        assert "above 100 GPUs RDMA is required." in text(one.reasons)
    part = miss(found, "p5.4xlarge")
    assert "Is a part of a node: above 100 GPUs bare metal or whole nodes are required." in part.reasons


def test_at_100_gpus_parts_of_nodes_are_still_allowed():
    found = plan(task="pretrain", parameters=13e9, gpus=100, clouds=["aws"])
    assert candidate(found, "p5.4xlarge").layout.gpus == 100


def test_vision_trains_on_4_to_8_a100_80_gb():
    # ViT-H/14, 90 epochs of ImageNet-21k: 14.2 M images of 256 patches.
    found = plan(task="vision", parameters=632e6, tokens=14.2e6 * 256 * 90, gpu="A100-80GB", target_days=28)
    whole = [one for one in found.candidates if (one.instance_type.gpu_count or 0) >= 4]
    assert whole
    for one in whole:
        assert 4 <= one.layout.gpus <= 8
        assert one.duration is not None
        assert one.duration.days <= 28
        assert one.storage is not None
        assert one.storage.read_mb_per_s >= 500


def test_8_a100_40_gb_train_13_b_with_zero():
    found = candidate(plan(task="full_finetune", parameters=13e9, clouds=["aws"]), "p4d.24xlarge")
    assert (found.layout.nodes, found.layout.gpus) == (1, 8)
    without = plan(task="full_finetune", parameters=13e9, sharding="none", recomputation="none", clouds=["aws"])
    assert all(one.layout.sharding == "none" for one in without.candidates)
    divided = plan(task="full_finetune", parameters=13e9, sharding="zero3", clouds=["aws"])
    assert "ZeRO-3 (weights, gradients and optimizer state divided)" in text(candidate(divided, "p4d.24xlarge").reasons)


def test_reinforcement_learning_runs_on_4_v100_with_local_or_fast_ssd():
    found = plan(task="rl", parameters=1.3e9, gpu="V100", gpus=4)
    four = [one for one in found.candidates if one.instance_type.gpu_count == 4]
    assert {one.instance_type.cloud for one in four} == {"alicloud", "tencentcloud"}
    for one in four:
        assert one.layout.gpus == 4
        assert one.precision == "fp16", "V100 has no BF16"
        assert "local NVMe" in text(one.reasons)
        assert one.storage is not None
        assert "use local NVMe or a fast SSD, not object storage" in text(one.storage.reasons)
    assert "four models of this size" in text(found.reasons)


def test_local_nvme_is_named_where_a_type_has_it():
    found = candidate(plan(task="rl", parameters=1.3e9, gpu="V100", clouds=["aws"]), "p3dn.24xlarge")
    assert "Has local NVMe for rollouts: 2 × 900 GB." in found.reasons


@pytest.mark.parametrize("task", ["inference", "lora"])
def test_stable_diffusion_runs_on_cards_of_16_gb_and_more(task):
    found = plan(task=task, parameters=1.07e9, architecture="diffusion", clouds=["aws"])
    assert candidate(found, "g4dn.xlarge").gpu.model == "T4"
    assert all((one.gpu.memory_gib or 0) >= 16 for one in found.candidates)
    small = next(one for one in found.near_misses if one.instance_type.instance_type.startswith("g6f."))
    assert "image generation needs at least 16 GiB" in text(small.reasons)


def test_training_all_of_stable_diffusion_needs_24_gb():
    found = plan(task="full_finetune", parameters=0.86e9, architecture="diffusion", clouds=["aws"])
    assert all((one.gpu.memory_gib or 0) >= 24 for one in found.candidates)
    assert "no time is estimated" in text(found.reasons)


@pytest.mark.parametrize("name", ["g4dn.12xlarge", "g5.xlarge", "g6.xlarge", "ecs.gn7i-c8g1.2xlarge"])
def test_inference_runs_on_t4_a10_and_l4_within_a_cold_start_of_90_seconds(name):
    found = candidate(plan(task="inference", model="llama-2-7b", concurrent_sequences=1), name)
    assert found.cold_start is not None
    assert found.cold_start.budget_s == 90
    assert found.cold_start.meets is True
    assert min(found.cold_start.pull_s, found.cold_start.load_s, found.cold_start.warm_up_s) > 0
    assert found.cold_start.total_s <= 90
    assert "is an inference card" in text(found.reasons)
    assert "Serves 1 × 4,096 tokens at a time; a token takes 0.5 MiB of key-value cache." in found.reasons
    assert found.storage is None


def test_inference_misses_the_cold_start_budget_on_a_slow_network():
    found = plan(task="inference", model="llama-2-7b", gpu="A10", concurrent_sequences=1, clouds=["tencentcloud"])
    first, second = miss(found, "GNV4.3XLARGE44").reasons
    assert first == "Cold start: pull 8.0 GB in 46 s, load 13.5 GB in 77 s, warm-up 20 s; 143 of 90 s."
    assert second.startswith("That needs 307 MB/s, the network gives 175: ")


@pytest.mark.parametrize(("gpu", "facts"), [("Ascend-910B3", "Huawei; 64 GiB"), ("MI300X", "AMD; 192 GiB")])
def test_ascend_and_amd_are_known_and_the_nearest_is_offered_where_no_cloud_rents_them(gpu, facts):
    found = plan(task="pretrain", parameters=7e9, gpu=gpu, clouds=["aws"])
    assert gpus()[gpu].fp16_dense_tflops
    assert found.candidates == ()
    assert f"No instance type of aws in the catalog rents {gpu} ({facts}" in text(found.reasons)
    assert found.alternatives
    assert all(isinstance(one, Candidate) and one.gpu.vendor == "NVIDIA" for one in found.alternatives)
    assert (
        f"The nearest that is rented: {found.alternatives[0].gpu.model}; its types are the alternatives."
        in found.reasons
    )


def test_what_is_not_offered_in_the_region_is_a_near_miss_that_says_so():
    found = plan(task="pretrain", parameters=70e9, clouds=["aws"], regions=["eu-north-1"])
    assert {one.instance_type.instance_type for one in found.candidates} >= {"p5.48xlarge"}
    assert "Is not offered in eu-north-1." in miss(found, "p4de.24xlarge").reasons
    assert all(one.regions == ("eu-north-1",) for one in found.candidates)


def test_a_target_sizes_the_cluster_to_the_time():
    fields = {"task": "pretrain", "parameters": 7e9, "tokens": 1e12, "gpu": "H100", "clouds": ["aws"]}
    slow, timely = plan(**fields, target_days=300), plan(**fields, target_days=60)
    one, many = candidate(slow, "p5.48xlarge"), candidate(timely, "p5.48xlarge")
    assert one.duration is not None
    assert many.duration is not None
    assert 300 >= one.duration.days > 60 >= many.duration.days
    assert many.layout.nodes > one.layout.nodes
    assert f"{many.layout.gpus:,} GPUs meet the target: {many.duration.days:,.1f} of 60 days." in many.reasons


@pytest.mark.parametrize("task", ["pretrain", "vision"])
def test_without_a_target_a_training_is_sized_to_end_within_30_days(task):
    fields = {"task": task, "parameters": 70e9, "tokens": 2e11, "clouds": ["aws"], "regions": ["us-east-1"]}
    found = plan(**fields)
    assert found.candidates
    for one in found.candidates:
        assert one.duration is not None
        assert 0 < one.duration.days <= 30
    sized = "Sized to end within 30 days, as no time is given; 'target_days' or 'gpus' changes that."
    assert sized in found.reasons
    for given in ({"target_days": 90}, {"gpus": 512}):
        assert sized not in plan(**fields, **given).reasons


def test_a_month_that_nobody_asked_for_is_given_up_where_no_number_of_nodes_keeps_it():
    # 64 sequences a step keep no more than 64 GPUs busy.
    fields = {"task": "lora", "parameters": 7e9, "tokens": 1e13, "gpu": "A100-80GB", "clouds": ["aws"]}
    one = candidate(plan(**fields), "p4de.24xlarge")
    assert one.duration is not None
    assert one.duration.days > 30
    expected = f"{one.layout.gpus:,} GPUs are the fastest: {one.duration.days:,.1f} days; no number of them takes 30 or"
    assert f"{expected} less." in one.reasons
    assert plan(**fields, target_days=30).candidates == ()


def test_an_unknown_time_leaves_the_fewest_nodes_where_the_month_is_assumed():
    found = plan(task="lora", parameters=7e9, tokens=1e9, gpu="RTX-PRO-6000-SE", clouds=["aws"])
    one = candidate(found, "g7e.48xlarge")
    assert (one.duration, one.layout.nodes) == (None, 1)
    assert "The time is unknown: these are the fewest nodes that fit." in one.reasons


def test_a_target_that_no_number_of_nodes_meets_is_a_near_miss():
    found = plan(task="lora", parameters=7e9, tokens=1e13, target_days=1, gpu="A100-80GB", clouds=["aws"])
    assert found.candidates == ()
    assert miss(found, "p4de.24xlarge").reasons[0].startswith("Misses the target: ")
    assert found.reasons[-1] == "Nothing fits: no instance type of the chosen clouds and regions can run this workload."


def test_an_unknown_tensor_rate_gives_no_time_and_says_so():
    found = candidate(plan(task="lora", parameters=7e9, tokens=1e9, clouds=["aws"]), "g7e.2xlarge")
    assert found.duration is None
    assert "The tensor rate in BF16 is unknown to the catalog: no time is estimated." in found.reasons


def test_gpus_are_rounded_up_to_whole_nodes_with_a_reason():
    found = candidate(plan(task="pretrain", parameters=7e9, gpus=12, clouds=["aws"]), "p5.48xlarge")
    assert found.layout.gpus == 16
    assert "16 GPUs instead of 12: nodes have 8." in found.reasons


def test_a_network_rate_that_is_a_peak_is_called_one():
    found = candidate(plan(task="inference", model="llama-2-7b", concurrent_sequences=1, clouds=["aws"]), "g5.xlarge")
    assert found.instance_type.network_burst is True
    assert "The network's rate is a peak ('up to'), so a cold start may take longer." in found.reasons


def test_an_fp8_plan_says_that_the_utilization_is_of_bf16():
    found = plan(task="pretrain", parameters=7e9, precision="fp8", clouds=["aws"])
    assert (
        "That is measured in BF16 on A100 and H100; give 'utilization' for FP8, where less of a higher rate is reached."
        in (found.reasons)
    )
    assert {one.precision for one in found.candidates} == {"fp8"}
    assert "A100-SXM4-40GB has no FP8." in miss(found, "p4d.24xlarge").reasons


def test_types_of_a_withheld_or_foreign_accelerator_are_left_out_aloud():
    reasons = text(plan(task="pretrain", parameters=7e9).reasons)
    assert "types are left out: their accelerator is no GPU that the catalog knows." in reasons
    assert "Types with Radeon-Pro-V520 are left out unless named with 'gpu': they run no CUDA programs." in reasons


def test_llama_3_405b_on_16384_h100_takes_about_the_published_gpu_hours():
    # Llama 3.1 model card: 30.84 M H100-hours; Llama Team 2024, section 3.4.1 and Table 4: 15.6 T tokens, batches of
    # 16 M tokens, 38 to 43 % of the BF16 rate.
    fields = {"task": "pretrain", "model": "llama-3-405b", "tokens": 15.6e12, "gpus": 16_384, "gpu": "H100"}
    found = candidate(plan(**fields, sequence_length=8192, global_batch=2048, clouds=["aws"]), "p5.48xlarge")
    assert found.duration is not None
    assert found.duration.gpu_hours == pytest.approx(30.84e6, rel=0.15)
    assert found.duration.model_flops_utilization == pytest.approx(0.40 * found.duration.efficiency)


def test_a_batch_too_small_for_its_gpus_is_said_to_be():
    found = candidate(plan(task="pretrain", parameters=405e9, gpus=16_384, gpu="H100", clouds=["aws"]), "p5.48xlarge")
    assert "A larger 'global_batch' shortens the bubble, where the training allows one." in found.reasons


def test_served_replicas_need_no_rdma_however_many_there_are():
    found = plan(task="inference", parameters=7e9, gpus=200, gpu="L4", clouds=["aws"])
    assert candidate(found, "g6.xlarge").layout.data == 200


def test_regions_of_one_cloud_leave_the_others_out_aloud():
    found = plan(task="lora", parameters=7e9, regions=["cn-beijing"])
    assert {one.instance_type.cloud for one in found.candidates} == {"alicloud"}
    assert {one.instance_type.cloud for one in found.near_misses} <= {"alicloud"}
    assert "No region asked for is one of aws or tencentcloud: left out." in found.reasons


def test_a_cloud_named_twice_is_looked_at_once():
    found = plan(task="lora", parameters=7e9, clouds=["aws", "aws"])
    names = [one.instance_type.instance_type for one in found.candidates]
    assert len(names) == len(set(names))


def test_nvlink_is_not_called_needed_where_pcie_would_cost_little():
    # 128 micro-batches a step: the gradients are exchanged once, 2 s of 176.
    one = candidate(plan(task="pretrain", parameters=7e9, gpus=8, clouds=["aws"]), "p4de.24xlarge")
    assert one.layout.tensor == 1
    assert one.fabric is not None
    assert one.fabric.nvlink is False
    assert one.fabric.reasons[0].startswith("NVLink is not needed: the GPUs of a node exchange ")
