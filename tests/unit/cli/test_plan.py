"""``gpuyard plan``: what it answers, in both formats, and its bad input."""

import inspect
import json
import re
from typing import Any

import pytest
from typer.testing import CliRunner

from gpuyard.cli.plan import plan
from gpuyard.cli.plan_input import OPTION_OF_FIELD, in_options_words
from gpuyard.planning.workload import WorkloadRequest, all_assumptions

from .plan_helpers import app, data, flat, refused, run

WIDTH = 100
ISSUE = ["--parameters", "70e9", "--task", "pretrain", "--tokens", "1e12", "--cloud", "aws", "--region", "us-east-1"]
LORA = ["--task", "lora", "--parameters", "7e9", "--tokens", "1e9", "--cloud", "aws", "--region", "us-east-1"]
SERVE = ["--task", "inference", "--parameters", "7e9", "--cloud", "aws", "--region", "us-east-1"]
VISION = ["--task", "vision", "--parameters", "632e6", "--gpu", "L40S"]
SHAPED = ["--task", "lora", "--parameters", "6.6e9", "--gpu", "L40S", "--hidden-size", "4096", "--heads", "32"]


def names(found: list[dict[str, Any]]) -> set[str]:
    return {one["instance_type"] for one in found}


def test_every_field_of_a_request_has_an_option() -> None:
    parameters = inspect.signature(plan).parameters
    assert set(WorkloadRequest.model_fields) <= set(parameters)
    told = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200", "TERM": "dumb"}).stdout
    assert [option for option in OPTION_OF_FIELD.values() if option not in told] == []


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        ([*LORA, "--architecture", "transformer"], "architecture", "transformer"),
        ([*LORA, "--target-days", "10"], "target_days", 10),
        ([*LORA, "--precision", "bf16"], "precision", "bf16"),
        ([*LORA, "--interruptible"], "allow_interruptions", True),
        ([*LORA, "--sharding", "fsdp"], "sharding", "fsdp"),
        ([*LORA, "--recomputation", "full"], "recomputation", "full"),
        ([*LORA, "--sequence-length", "1024"], "sequence_length", 1024),
        ([*LORA, "--micro-batch", "2"], "micro_batch", 2),
        ([*LORA, "--global-batch", "128"], "global_batch", 128),
        ([*LORA, "--utilization", "0.3"], "utilization", 0.3),
        ([*LORA, "--lora-rank", "8"], "lora_rank", 8),
        ([*LORA, "--checkpoint-pause-share", "0.02"], "checkpoint_pause_share", 0.02),
        ([*LORA, "--quantization-bits", "4"], "quantization_bits", 4),
        ([*LORA, "--gpu", "L40S"], "gpu", "L40S"),
        ([*LORA, "--gpus", "2"], "gpus", 2),
        ([*LORA, "--vocabulary", "32000"], "vocabulary", 32_000),
        ([*LORA, "--kv-heads", "8"], "kv_heads", 8),
        ([*SERVE, "--kv-cache-bits", "8"], "kv_cache_bits", 8),
        ([*SERVE, "--context-length", "8192"], "context_length", 8192),
        ([*SERVE, "--concurrent-sequences", "2"], "concurrent_sequences", 2),
        ([*SERVE, "--server-image-gb", "5"], "server_image_gb", 5),
        ([*VISION, "--image-size", "336"], "image_size", 336),
        ([*VISION, "--patch-size", "16"], "patch_size", 16),
        (["--task", "lora", "--model", "llama-2-7b", "--gpu", "L40S"], "model", "llama-2-7b"),
        ([*SHAPED, "--layers", "32"], "layers", 32),
        ([*SHAPED, "--layers", "32"], "hidden_size", 4096),
        ([*SHAPED, "--layers", "32"], "heads", 32),
    ],
)
def test_an_option_sets_its_field(arguments: list[str], field: str, value: object) -> None:
    request = data(*arguments)["request"]
    # What equals the default need not be repeated.
    assert request.get(field, WorkloadRequest.model_fields[field].default) == value


def test_clouds_and_regions_may_be_repeated() -> None:
    clouds = ["--cloud", "aws", "--cloud", "alicloud", "--cloud", "aws"]
    places = ["--region", "us-east-1", "--region", "cn-beijing"]
    found = data("--task", "lora", "--parameters", "7e9", *clouds, *places)
    assert found["request"]["clouds"] == ["aws", "alicloud"]
    assert found["request"]["regions"] == ["us-east-1", "cn-beijing"]
    assert {one["cloud"] for one in found["candidates"]} == {"aws", "alicloud"}


def test_the_issue_s_example_answers_all_seven_questions() -> None:
    text = flat(run(*ISSUE))
    assert text.startswith("Pretraining of a transformer model of 70 B parameters on 1 T tokens; aws (us-east-1).")
    for part in (
        "memory of each GPU GiB how",
        "optimizer (Adam)",
        "GiB of each GPU by sharding and recomputation, same division",
        "GPUs data ",
        "GB leave each node",
        "NVLink is needed",
        "RDMA is needed",
        "Storage read 500 MB/s.",
        "checkpoint 980.0 GB every ",
        " GPU-hours; ",
        "Candidates (the package's prices)",
        "Near misses",
        "Is not offered in us-east-1.",
    ):
        assert part in text
    assert "p5.48xlarge" in text


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (SERVE, "Serving of a transformer model of 7 B parameters; aws (us-east-1)."),
        (
            ["--task", "lora", "--model", "llama-2-7b", "--gpus", "8", "--cloud", "aws"],
            "LoRA fine-tuning of llama-2-7b (6.74 B parameters) on 8 GPUs; aws, all regions.",
        ),
        (
            [*VISION, "--tokens", "1e10", "--target-days", "9"],
            "Training of a vision model of 632 M parameters on 10 B tokens within 9 days; aws, alicloud, tencentcloud, "
            "all regions.",
        ),
    ],
)
def test_the_question_is_repeated_in_one_sentence(arguments: list[str], asked: str) -> None:
    assert flat(run(*arguments)).startswith(asked)


def test_what_was_assumed_is_said_with_the_option_that_changes_it() -> None:
    text = flat(run(*ISSUE))
    assert "ends within 30 days (--target-days, or --gpus)" in text
    assert "sequences of 4,096 tokens (--sequence-length)" in text
    assert "1,024 sequences a step (--global-batch)" in text
    assert "40% of the dense tensor rate, as published for BF16 on A100 and H100 (--utilization)" in text
    assert "at most 5% of the time for checkpoints (--checkpoint-pause-share)" in text
    given = ["--target-days", "60", "--sequence-length", "8192", "--global-batch", "512", "--utilization", "0.45"]
    text = flat(run(*ISSUE, *given, "--checkpoint-pause-share", "0.02", "--precision", "bf16"))
    assert text.count("Assumed: about 59 layers of 9,984 (--model, or --layers and the others). First candidate") == 1


def test_the_first_candidate_of_the_issue_s_example_ends_within_a_month() -> None:
    for one in data(*ISSUE)["candidates"]:
        assert one["duration"]["days"] <= 30
        assert one["layout"]["gpus"] >= 100


@pytest.mark.parametrize(
    "arguments",
    [
        ISSUE,
        ["--task", "lora", "--parameters", "7e9", "--tokens", "1e9", "--all"],
        ["--task", "inference", "--parameters", "13e9", "--explain"],
        ["--task", "vision", "--parameters", "632e6", "--gpu", "A100-80GB", "--tokens", "1e11"],
        ["--task", "rl", "--parameters", "1.3e9", "--gpu", "V100", "--gpus", "4", "--explain"],
        ["--task", "pretrain", "--parameters", "1e14", "--gpu", "T4"],
        ["--task", "full_finetune", "--parameters", "0.86e9", "--architecture", "diffusion"],
    ],
)
def test_the_text_fits_into_100_columns_when_piped(arguments: list[str]) -> None:
    text = run(*arguments)
    assert max(len(line) for line in text.splitlines()) <= WIDTH
    assert "None" not in text
    assert "nan" not in text.split()


def test_gb_per_s_and_gbps_are_not_mixed() -> None:
    for arguments in (ISSUE, SERVE, LORA):
        text = flat(run(*arguments, "--explain"))
        for wrong in ("Gb/s", "GBps", "Mbps", "gb/s", "GB/S"):
            assert wrong not in text
    assert "network 3,200 Gbps each node, efa (RDMA); NVLink " in flat(run(*ISSUE))


def test_lora_on_a_single_gpu_says_that_nothing_is_exchanged() -> None:
    text = flat(run("--task", "lora", "--parameters", "7e9", "--gpu", "L40S", "--cloud", "aws"))
    assert "First candidate: 1 node of g6e.xlarge" in text
    assert "frozen weights 13.0 16 bits; whole on each GPU" in text


def test_serving_splits_the_cold_start_budget() -> None:
    text = flat(run(*SERVE))
    assert "key-value cache" in text
    assert "Cold start budget 90 s takes " in text
    assert "s: pull " in text
    assert "4 sequences at a time (--concurrent-sequences)" in text
    assert "Storage" not in text


def test_what_is_not_known_of_a_diffusion_model_is_said() -> None:
    work = ["--task", "full_finetune", "--parameters", "0.86e9", "--architecture", "diffusion", "--cloud", "aws"]
    text = flat(run(*work))
    assert "activations ? not counted: they depend on the network's own resolutions" in text
    assert "time unknown: the FLOPs of a diffusion model do not follow its parameters" in text


def test_a_spot_price_is_shown_where_interruptions_are_allowed() -> None:
    assert "on spot USD " not in flat(run(*LORA))
    assert "on spot USD " in flat(run(*LORA, "--interruptible"))


def test_reinforcement_learning_asks_for_a_fast_disk() -> None:
    text = flat(run(*["--task", "rl", "--parameters", "1.3e9", "--gpu", "V100", "--gpus", "4"]))
    assert "use local NVMe or a fast SSD, not object storage." in text


def test_a_model_that_fits_nowhere_says_so_and_why() -> None:
    text = flat(run(*["--task", "pretrain", "--parameters", "1e14", "--gpu", "T4"]))
    assert text.count("Nothing fits: no instance type of the chosen clouds and regions can run this workload.") == 1
    assert "g4dn.metal aws Has no NVLink; training 70 B and more needs at least 600 GB/s." in text


def test_a_gpu_that_no_chosen_cloud_rents_gets_the_nearest_instead() -> None:
    text = flat(run(*["--task", "pretrain", "--parameters", "7e9", "--gpu", "Ascend-910B3", "--cloud", "aws"]))
    assert "No instance type of aws in the catalog rents Ascend-910B3 (Huawei; 64 GiB" in text
    assert "Nearest alternative: 1 node of p4de.24xlarge (aws), 8 × A100-SXM4-80GB" in text
    assert "Alternatives with the nearest GPU" in text


def test_without_prices_nothing_is_ranked_by_cost_and_it_says_so(tmp_path: Any) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"prices": []}))
    text = flat(run(*LORA, "--prices", str(prices)))
    assert "cost unknown: no hourly price is known" in text
    assert "candidates are not ranked by cost" in text
    assert f"Candidates ({prices})".replace(" ", "") in text.replace(" ", "")


def test_a_price_file_of_one_s_own_ranks_and_an_old_price_is_marked(tmp_path: Any) -> None:
    row = {"cloud": "aws", "region": "us-east-1", "unit": "hour", "currency": "USD", "source": "a test"}
    prices = tmp_path / "prices.json"
    old = {**row, "item": "g6.4xlarge", "on_demand": 1.25, "date": "2020-01"}
    prices.write_text(json.dumps({"prices": [old]}))
    text = flat(run(*LORA, "--gpu", "L4", "--prices", str(prices)))
    assert "First candidate: 1 node of g6.4xlarge (aws)" in text
    assert "USD 1.25 an hour on demand in us-east-1 (price of 2020-01, stale: read a new one)" in text
    assert "2020-01 stale on demand" in text


def test_currencies_are_listed_apart() -> None:
    found = data("--task", "lora", "--parameters", "7e9", "--tokens", "1e9")["candidates"]
    currencies = [one["cost"]["currency"] for one in found if one["cost"] and one["rank"]]
    assert currencies == sorted(currencies)
    assert set(currencies) >= {"CNY", "USD"}
    text = flat(run("--task", "lora", "--parameters", "7e9", "--tokens", "1e9"))
    assert "Ranked within each currency (CNY, USD); currencies are not converted." in text


def test_all_shows_every_candidate_and_near_miss() -> None:
    found = data(*ISSUE)
    few, every = run(*ISSUE), run(*ISSUE, "--all")
    assert "more with --all." in flat(few)
    assert "more with --all." not in every
    for name in names(found["candidates"]) | names(found["near_misses"]):
        assert name in every


def test_explain_shows_every_reason_and_who_says_each_assumed_figure() -> None:
    text = flat(run(*ISSUE, "--explain"))
    for name, one in all_assumptions().items():
        assert name in text
        assert one.meaning.split()[-1] in text
    assert "Source: Llama Team 2024, The Llama 3 Herd of Models, Table 4" in text
    assert re.search(r"Why p\S+\.48xlarge: - Fits on \d+ nodes of 8 × ", text)
    assert "--target-days or --gpus changes that." in text


def test_json_has_the_whole_answer() -> None:
    found = data(*ISSUE)
    assert set(found) == {"request", "job", "assumptions", "candidates", "near_misses", "alternatives", "reasons"}
    assert found["request"] == {
        "task": "pretrain",
        "parameters": 70e9,
        "tokens": 1e12,
        "clouds": ["aws"],
        "regions": ["us-east-1"],
    }
    assert found["job"]["target_days"] == 30
    assert found["assumptions"]["utilization"]["value"] == 0.4
    first = found["candidates"][0]
    assert set(first) == {
        "cloud",
        "instance_type",
        "gpu",
        "precision",
        "regions",
        "layout",
        "memory",
        "checks",
        "fabric",
        "storage",
        "cold_start",
        "duration",
        "cost",
        "rank",
        "purchase",
        "reasons",
    }
    assert (first["cloud"], first["rank"], first["regions"]) == ("aws", 1, ["us-east-1"])
    parts = ("state_gib", "frozen_weights_gib", "activations_gib", "kv_cache_gib")
    assert first["memory"]["total_gib"] == pytest.approx(sum(first["memory"][part] for part in parts))
    assert first["layout"]["gpus"] == first["layout"]["nodes"] * 8
    assert first["duration"]["days"] * 24 == pytest.approx(first["duration"]["hours"])
    assert all(one["reasons"] for one in found["near_misses"])


def test_unknown_is_null_in_json() -> None:
    found = data("--task", "lora", "--parameters", "7e9", "--gpu", "RTX-PRO-6000-SE", "--cloud", "aws")
    assert found["candidates"]
    assert {one["duration"] for one in found["candidates"]} == {None}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("--task pretrain --parameters 0", "--parameters: should be more than 0, not '0'."),
        ("--task pretrain --parameters=-7e9", "--parameters: should be more than 0, not '-7e9'."),
        (
            "--task pretrain --parameters 1e20",
            "--parameters: 1e+20 is more than any model has. At most 1e+14 (100,000 B); write 70e9 for 70 B.",
        ),
        ("--task pretrain --parameters many", "--parameters: should be a number, not 'many'."),
        ("--task pretrain", "--parameters: is missing. Give the number of parameters, such as 70e9, or a --model."),
        ("--task lora --model llama-2-7", "--model: the catalog knows no published model 'llama-2-7'. Did you mean "),
        (
            "--parameters 7e9",
            "--task: is missing. Allowed: pretrain, full_finetune, lora, rl, vision or inference.",
        ),
        (
            "--task lora --parameters 7e9 --gpu H10O",
            "--gpu: the catalog knows no GPU called 'H10O'. Did you mean 'H100'?",
        ),
        (
            "--task lora --parameters 7e9 --cloud aws --region cn-beijing",
            "--region: 'cn-beijing' is a region of alicloud, not of aws. Add the cloud, or name ",
        ),
        (
            "--task inference --parameters 7e9 --target-days 5",
            "--target-days: has no meaning for --task inference. It is for any task that trains.",
        ),
        (
            "--task pretrain --parameters 7e9 --target-days 5",
            "--target-days: needs --tokens: without them there is no end. Give the tokens to train on.",
        ),
        (
            "--task pretrain --parameters 7e9 --quantization-bits 4",
            "--quantization-bits: weights that are trained cannot be stored in 4 bits. It is for --task lora and ",
        ),
        ("--task lora --parameters 7e9 --format yaml", "--format: 'yaml' is no format. Allowed: text or json."),
        ("--task lora --parameters 7e9 --prices no.json", "no.json: cannot be read: No such file or directory."),
        (
            "--task lora --parameters 7e9 --zone us-east-1a",
            "--zone: is only for a stack file that is written. Add --write stacks/Pulumi.NAME.yaml.",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: str, told: str
) -> None:
    lines = refused(monkeypatch, capsys, *arguments.split())
    assert len(lines) == 1
    assert lines[0].startswith(told)


def test_all_bad_input_is_told_at_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (
        "--task pretain --parameters -3 --tokens x --cloud awss --gpu H10O --region cn-beijng --format tex "
        "--environment prod --prices no.json"
    )
    lines = refused(monkeypatch, capsys, *arguments.split())
    assert [line.split(":")[0] for line in lines] == [
        "--task",
        "--parameters",
        "--tokens",
        "--cloud",
        "--gpu",
        "--region",
        "--format",
        "--environment",
        "no.json",
    ]


def test_fields_become_options_and_other_quoted_words_stay() -> None:
    text = "'target_days' needs 'tokens'; 'task: lora' or 'regions'. 'rollouts' stay."
    assert in_options_words(text) == "--target-days needs --tokens; --task lora or --region. 'rollouts' stay."
