"""Bad input: one line for each problem, what is wrong and what is allowed."""

import pytest

from gpuyard.planning.workload import WorkloadRequest, parse_request, plan_workload
from gpuyard.spec.problems import SpecError

GOOD = {"task": "pretrain", "parameters": 7e9}
SERVE = {"task": "inference", "parameters": 7e9}


def problems(**fields):
    with pytest.raises(SpecError) as caught:
        parse_request(fields)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parameters": 0}, "parameters: should be more than 0, not 0."),
        ({"parameters": -7e9}, "parameters: should be more than 0, not -7000000000.0."),
        ({"parameters": "many"}, "parameters: should be a number, not 'many'."),
        ({"parameters": 0.5}, "parameters: 0.5 is less than one parameter. Write 7e9 for 7 B."),
        (
            {"parameters": 1e20},
            "parameters: 1e+20 is more than any model has. At most 1e+14 (100,000 B); write 70e9 for 70 B.",
        ),
        ({"parameters": None}, "parameters: is missing. Give the number of parameters, such as 70e9, or a 'model'."),
        (
            {"task": "pretraining"},
            "task: 'pretraining' is not allowed. Did you mean 'pretrain'? "
            "Allowed: pretrain, full_finetune, lora, rl, vision or inference.",
        ),
        ({"gpu_count": 8}, "gpu_count: unknown key 'gpu_count'. "),
        ({"gpus": 0}, "gpus: should be at least 1, not 0."),
        ({"utilization": 40}, "utilization: should be at most 1, not 40."),
        (
            {"target_days": 30},
            "target_days: needs 'tokens': without them there is no end. Give the tokens to train on.",
        ),
        ({"lora_rank": 8}, "lora_rank: has no meaning for 'task: pretrain'. It is for 'task: lora'."),
        (
            {"quantization_bits": 4},
            "quantization_bits: weights that are trained cannot be stored in 4 bits. "
            "It is for 'task: lora' and 'task: inference'.",
        ),
        (
            {"concurrent_sequences": 4},
            "concurrent_sequences: has no meaning for 'task: pretrain'. It is for 'task: inference'.",
        ),
        ({"image_size": 224}, "image_size: has no meaning for 'task: pretrain'. It is for 'task: vision'."),
        (
            {"layers": 32},
            "layers: is given without hidden_size and heads. "
            "Give 'layers', 'hidden_size' and 'heads' together, or none of them.",
        ),
        (
            {"layers": 32, "hidden_size": 4096, "heads": 30},
            "heads: 30 does not divide hidden_size 4096. Each head has the same size.",
        ),
        (
            {"layers": 3, "hidden_size": 4096, "heads": 32},
            "layers: 3 layers of 4096 make about 6.04e+08 parameters (12·l·h²), not 7e+09. Correct one of the two.",
        ),
        (
            {"layers": 32, "hidden_size": 4096, "heads": 32, "kv_heads": 5},
            "kv_heads: 5 does not divide heads 32. Heads share in equal groups.",
        ),
        (
            {"kv_heads": 64},
            "kv_heads: 64 is more than the 32 heads that a model of this size has. "
            "Key-value heads are as many as heads or fewer.",
        ),
        (
            {"model": "llama-2-7b"},
            "parameters: contradicts 'model', which has its own number. Give one of the two.",
        ),
        (
            {"micro_batch": 8, "global_batch": 4},
            "micro_batch: 8 is more than global_batch 4. A step holds at least one micro-batch.",
        ),
        ({"precision": "bf16", "gpu": "V100"}, "precision: V100 has no BF16. It has fp16 or fp32."),
        ({"precision": "fp8", "gpu": "A100"}, "precision: A100 has no FP8. It has bf16, fp16 or fp32."),
        (
            {"clouds": ["aws"], "regions": ["cn-beijing"]},
            "regions[0]: 'cn-beijing' is a region of alicloud, not of aws. Add the cloud, or name a region of aws.",
        ),
        (
            {"clouds": ["aws"], "regions": ["eu-nort-1"]},
            "regions[0]: no region of aws is called 'eu-nort-1'. Did you mean 'eu-north-1'?",
        ),
        (
            {"clouds": ["gcp"]},
            "clouds[0]: 'gcp' is not allowed. Allowed: aws, alicloud or tencentcloud.",
        ),
        (
            {"architecture": "diffusion", "tokens": 1e9},
            "tokens: has no meaning for 'architecture: diffusion'. It is for transformers.",
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_bad_training_input_says_what_is_wrong_and_what_is_allowed(changes, message):
    found = problems(**{**GOOD, **changes})
    assert len(found) == 1, found
    assert found[0].startswith(message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokens": 1e12}, "tokens: has no meaning for 'task: inference'. It is for any task that trains."),
        ({"sharding": "zero3"}, "sharding: has no meaning for 'task: inference'. It is for any task that trains."),
        ({"quantization_bits": 5}, "quantization_bits: 5 is not allowed. Allowed: 4, 8 or 16."),
        ({"kv_cache_bits": 4}, "kv_cache_bits: 4 is not allowed. Allowed: 8 or 16."),
    ],
)
def test_bad_serving_input_says_what_is_wrong_and_what_is_allowed(changes, message):
    assert problems(**{**SERVE, **changes}) == [message]


def test_an_unknown_gpu_is_answered_with_the_nearest_name():
    (found,) = problems(**GOOD, gpu="H1000")
    assert found.startswith("gpu: the catalog knows no GPU called 'H1000'. Did you mean 'H100'? Known: V100-SXM2-16GB,")


def test_an_unknown_model_is_answered_with_the_nearest_name():
    (found,) = problems(task="pretrain", model="llama-3-7b")
    assert found.startswith("model: the catalog knows no published model 'llama-3-7b'. Did you mean 'llama-3-70b'?")


def test_all_problems_come_at_once():
    found = problems(
        task="inference", parameters=1e20, tokens=1e12, gpu="H1000", clouds=["aws"], regions=["cn-beijing"]
    )
    assert [line.split(":")[0] for line in found] == ["parameters", "tokens", "gpu", "regions[0]"]


def test_model_and_hardware_are_judged_without_a_task_too():
    found = problems(task="pretain", model="llama-9", gpu="H1000", clouds=["aws"], regions=["cn-beijing"])
    assert [line.split(":")[0] for line in found] == ["task", "model", "gpu", "regions[0]"]


def test_structural_and_other_problems_come_together():
    found = problems(task="pretrain", parameters=7e9, gpus="some", gpu="H1000")
    assert [line.split(":")[0] for line in found] == ["gpus", "gpu"]


def test_numbers_may_be_text_as_pulumi_config_stores_them():
    request = parse_request({"task": "pretrain", "parameters": "70e9", "gpus": "16", "allow_interruptions": "true"})
    assert (request.parameters, request.gpus, request.allow_interruptions) == (70e9, 16, True)


def test_the_planner_refuses_a_contradicting_request_that_was_built_by_hand():
    with pytest.raises(SpecError, match="lora_rank: has no meaning for 'task: pretrain'"):
        plan_workload(WorkloadRequest(task="pretrain", parameters=7e9, lora_rank=8))
