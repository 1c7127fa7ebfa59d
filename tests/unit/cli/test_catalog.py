"""Every command of ``gpuyard catalog`` in every format, and its bad input."""

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gpuyard.cli.catalog import catalog_app
from gpuyard.spec.problems import SpecError

WIDTH = 100


def run(*arguments: str) -> str:
    """What a command prints to standard output; notes for people go to standard error with JSON and CSV."""
    result = CliRunner().invoke(catalog_app, list(arguments))
    if result.exception is not None:
        raise result.exception
    assert result.exit_code == 0
    return result.stdout


def data(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--format", "json"))


def rows(*arguments: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(run(*arguments, "--format", "csv"))))


def flat(text: str) -> str:
    """A table's text without the folding of its lines."""
    return " ".join(text.split())


def test_list_finds_the_type_of_the_issue_s_example() -> None:
    asked = "list --gpu A100 --nvlink --rdma --min-vram 40 --region cn-beijing --cloud alicloud"
    arguments = asked.split()
    text = run(*arguments)
    assert "ecs.ebmgn7ex.32xlarge  8 × A100-SXM4-80GB   80  NVLink 600  erdma 160  160" in text
    assert "more types may match: the catalog does not know their RDMA (9)" in flat(text)
    assert [row["instance_type"] for row in data(*arguments)] == ["ecs.ebmgn7ex.32xlarge"]
    assert [row["instance_type"] for row in rows(*arguments)] == ["ecs.ebmgn7ex.32xlarge"]


@pytest.mark.parametrize(
    ("option", "field", "value"),
    [
        ("--bare-metal", "bare_metal", True),
        ("--virtual", "bare_metal", False),
        ("--spot", "spot", True),
        ("--no-spot", "spot", False),
        ("--no-rdma", "rdma", "none"),
    ],
)
def test_list_filters_by_flags_both_ways(option: str, field: str, value: object) -> None:
    found = data("list", option)
    assert found
    assert {row[field] for row in found} == {value}


def test_list_takes_several_clouds() -> None:
    assert {row["cloud"] for row in data("list", "--cloud", "aws", "--cloud", "tencentcloud")} == {
        "aws",
        "tencentcloud",
    }


def test_list_without_a_match_says_so_and_offers_the_nearest_gpu() -> None:
    text = flat(run("list", "--gpu", "Ascend", "--cloud", "alicloud"))
    assert "No instance type is known to match." in text
    assert "alicloud does not rent Ascend-910B3. The nearest in memory and rate is A100-SXM4-80GB." in text
    amd = flat(run("list", "--gpu", "MI300X"))
    assert "None of aws, alicloud, tencentcloud rents MI300X." in amd


def test_data_for_programs_is_free_of_sentences_for_people() -> None:
    assert data("list", "--gpu", "MI300X") == []
    assert run("list", "--gpu", "MI300X", "--format", "csv").count("\n") == 1


def test_unknown_is_shown_as_unknown_in_every_format() -> None:
    arguments = ("list", "--cloud", "tencentcloud", "--gpu", "H20-96GB", "--rdma")
    assert "HCCPNV6.96XLARGE2304  8 × H20-96GB   96  ?     roce 3200    ?     ?  ?      ?" in run(*arguments)
    assert data(*arguments)[0]["network_gbps"] is None
    assert rows(*arguments)[0]["network_gbps"] == ""


def test_show_tells_facts_gpu_corrections_prices_and_sources() -> None:
    text = flat(run("show", "p5.48xlarge"))
    for part in (
        "p5.48xlarge (aws)",
        "rdma_gbps 3200",
        "GPU H100-SXM5-80GB",
        "memory_bandwidth_gb_per_s 3350",
        "Often said wrong: FP8",
        "1,979 TFLOPS dense; 3,958 only with 2:4 structured sparsity",
        "us-east-1 hour 55.04 18.9815 ? USD 2026-07-20",
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html",
        "as_of 2026-10-27",
        "null is unknown",
    ):
        assert part in text


def test_show_marks_stale_prices_and_says_when_there_is_none() -> None:
    assert "CNY 2024-12-31 stale" in flat(run("show", "ecs.gn7e-c16g1.32xlarge"))
    assert "No price is known (the package's prices)." in flat(run("show", "ecs.gn8v.4xlarge"))


def test_show_as_data() -> None:
    found = data("show", "ecs.ebmgn7e.32xlarge")
    assert found["instance_type"]["gpu_model"] == found["gpu"]["model"] == "A100-SXM4-80GB"
    assert {each["fact"] for each in found["corrections"]} == {"NVLink", "RDMA"}
    assert {price["currency"] for price in found["prices"]} == {"CNY"}
    assert all(price["stale"] in (True, False) for price in found["prices"])
    facts = {row["fact"]: row["value"] for row in rows("show", "ecs.ebmgn7e.32xlarge")}
    assert (facts["bare_metal"], facts["rdma"], facts["gpu.vendor"]) == ("yes", "", "NVIDIA")


def test_show_of_a_type_whose_gpu_has_no_name() -> None:
    found = data("show", "ecs.gn9gc.4xlarge")
    assert found["gpu"] is None
    assert "gpu_model ?" in flat(run("show", "ecs.gn9gc.4xlarge"))


def test_show_takes_a_price_file_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    row = {"cloud": "aws", "item": "p5.48xlarge", "region": "us-east-1", "unit": "hour", "on_demand": 31.5}
    path.write_text(json.dumps({"prices": [{**row, "currency": "USD", "date": "2026-11", "source": "contract"}]}))
    (price,) = data("show", "p5.48xlarge", "--prices", str(path))["prices"]
    assert (price["on_demand"], price["source"]) == (31.5, "contract")


def test_compare_marks_what_differs() -> None:
    lines = run("compare", "p4d.24xlarge", "p5.48xlarge").splitlines()
    by_fact = {line[3:].split()[0]: line[0] for line in lines if line[3:].strip()}
    assert by_fact["rdma_gbps"] == "*"
    assert by_fact["gpu_count"] == " "
    assert [row["instance_type"] for row in data("compare", "p4d.24xlarge", "p5.48xlarge")] == [
        "p4d.24xlarge",
        "p5.48xlarge",
    ]
    facts = {row["fact"]: row for row in rows("compare", "p4d.24xlarge", "p5.48xlarge")}
    assert facts["pcie_gen"] == {"fact": "pcie_gen", "p4d.24xlarge": "3", "p5.48xlarge": "5"}


def test_topology_draws_what_is_known() -> None:
    text = run("topology", "p4d.24xlarge")
    assert "│   ├── PCIe 3.0 switch: GPU 0, GPU 1, EFA card 0" in text
    assert "topology/p4d-24xl-topo.xml" in text
    assert "NUMA nodes: unknown" in run("topology", "GT4.41XLARGE948")
    assert data("topology", "p4d.24xlarge")["node"]["parts"][1]["part"] == "NUMA node 0"
    assert data("topology", "GT4.41XLARGE948")["source"] is None
    assert rows("topology", "p4d.24xlarge")[0] == {"depth": "0", "part": "p4d.24xlarge (aws)"}


def test_gpus_lists_all_models_or_shows_one_in_full() -> None:
    text = run("gpus")
    assert "T4                16    320       -      65       -       -   7.5" in text
    assert "A10G              24    600      70      70       -       -   8.6" in text
    assert "A16" in text
    full = flat(run("gpus", "T4"))
    assert "nvlink_gb_per_s none" in full
    assert "The T4 has 320 Turing tensor cores" in full
    assert "Rented by: aws, alicloud, tencentcloud." in full
    assert {gpu["model"] for gpu in data("gpus", "A100-80GB")} == {"A100-SXM4-80GB", "A100-PCIE-80GB"}
    assert rows("gpus", "T4")[0]["fp16_dense_tflops"] == "65"


def test_storage_shows_speed_at_a_size() -> None:
    found = data("storage", "--cloud", "alicloud", "--size", "500", "--capacity", "36000")
    by_name = {row["name"]: row for row in found}
    assert by_name["cloud_essd PL1"]["iops"] == 26_800
    assert by_name["cloud_essd PL3"]["iops"] is None
    assert by_name["CPFS advance_200"]["mb_per_s"] == 7031.2
    assert all(row["source"] and row["as_of"] for row in found)
    text = flat(run("storage", "--size", "100"))
    assert "cloud_essd PL2 461 to 65536 GiB; not 100" in text
    assert "tencentcloud CLOUD_SSD ? to 32000 GiB ? ≤ 26000" in text
    assert rows("storage", "--cloud", "tencentcloud")[0]["name"] == "CLOUD_PREMIUM"


def test_stack_answers_what_driver_and_cuda_pytorch_2_3_needs() -> None:
    text = flat(run("stack", "--pytorch", "2.3"))
    assert "PyTorch 2.3 for CUDA 12.1 (experimental, the one on PyPI)" in text
    assert "driver on Linux 525.60.13 or newer; 530.30.02 for all of CUDA 12.1" in text
    assert "runs unknown: the driver is unknown" in text


def test_stack_answers_whether_an_image_has_them() -> None:
    text = flat(run("stack", "--pytorch", "2.12", "--image", "dlami-single-cuda-ubuntu-22.04"))
    assert "driver 580.105.08, CUDA 13.0, cuDNN ?" in text
    assert "runs yes: driver 580.105.08 is new enough for all of CUDA 13.0." in text
    assert "compiles extensions yes: CUDA toolkit 13.0 is there" in text
    assert "compiles extensions no: no CUDA 12.x toolkit is there (13.0)" in text


def test_stack_says_that_the_contents_of_an_image_are_unknown() -> None:
    found = data("stack", "--pytorch", "2.3", "--image", "dlami-ubuntu-22.04")
    assert found["image"]["driver"] is None
    assert {answer["runs"] for answer in found["answers"]} == {None}
    assert "driver ?, CUDA ?, cuDNN ?" in flat(run("stack", "--pytorch", "2.3", "--image", "dlami-ubuntu-22.04"))


def test_stack_checks_a_driver_toolkits_and_a_gpu() -> None:
    answers = rows("stack", "--pytorch", "2.13", "--driver", "570.1", "--cuda", "12.6", "--gpu", "V100")
    assert [(row["cuda"], row["runs"], row["toolkit"], row["gpu_supported"]) for row in answers] == [
        ("12.6", "yes", "yes", "yes"),
        ("13.0", "no", "no", "no"),
        ("13.2", "no", "no", "no"),
    ]


def test_stack_without_a_release_shows_the_whole_table() -> None:
    assert "2.13     13.0  9.20.0.48  2.29.7  580.65.06    580.65.06" in run("stack")
    assert set(data("stack")) == {"pytorch", "cuda", "images"}
    assert rows("stack")[0]["pytorch"] == "2.15"


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("show", "p6-b300.48xlarge"),
        ("show", "ecs.sccgn7ex.32xlarge"),
        ("compare", "p5.48xlarge", "ecs.ebmgn7ex.32xlarge", "HCCPNV4h"),
        ("topology", "p5.48xlarge"),
        ("gpus",),
        ("gpus", "A100"),
        ("storage",),
        ("stack",),
        ("stack", "--pytorch", "2.7", "--image", "ack-default-driver"),
        ("prices",),
    ],
)
def test_tables_fit_into_100_columns_when_piped(arguments: tuple[str, ...]) -> None:
    wide = [line for line in run(*arguments).splitlines() if len(line) > WIDTH]
    assert wide == []


def test_names_are_never_folded_in_the_list() -> None:
    text = run("list")
    for row in data("list"):
        assert f"\n{row['instance_type']} " in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("list --cloud azure", "--cloud: 'azure' is no cloud of the catalog. Allowed: aws, alicloud or tencentcloud."),
        ("list --gpu A1000", "--gpu: the catalog knows no GPU 'A1000'. Did you mean 'A100'?"),
        (
            "list --region cn-beijing --cloud aws",
            "--region: 'cn-beijing' is no region of aws. It is a region of alicloud.",
        ),
        ("list --format xml", "--format: 'xml' is no format. Allowed: table, json or csv."),
        ("list --format jsn", "--format: 'jsn' is no format. Did you mean 'json'? Allowed: table, json or csv."),
        ("show p5.48xlarg", "the catalog knows no instance type 'p5.48xlarg'. Did you mean 'p5.48xlarge'?"),
        ("compare p5.48xlarge", "a comparison needs two instance types or more. Name them one after another."),
        ("compare p5.48xlarge P5.48XLARGE", "a comparison needs two instance types or more."),
        ("topology nothing", "the catalog knows no instance type 'nothing'. 'gpuyard catalog list' shows the 243"),
        ("gpus K80", "the catalog knows no GPU 'K80'."),
        ("storage --size 0", "--size: 0 GiB makes no sense. Give a size of 1 GiB or more."),
        ("storage --cloud alcloud", "--cloud: 'alcloud' is no cloud of the catalog. Did you mean 'alicloud'?"),
        ("stack --pytorch 9.9", "--pytorch: the table has no PyTorch 9.9. It has 2.15, 2.14"),
        ("stack --driver 550", "--pytorch: is missing. Give one of 2.15, 2.14"),
        ("stack --pytorch 2.3 --image dlami", "--image: the catalog knows no image 'dlami'."),
        ("stack --pytorch 2.3 --driver new", "--driver: 'new' is no version. Write it like 550.54.14 or 12.4."),
        (
            "stack --pytorch 2.3 --image dlami-ubuntu-22.04 --driver 550",
            "--image: says what is installed, and so do --driver and --cuda. Give one or the other.",
        ),
        ("stack --pytorch 2.3 --gpu K80", "the catalog knows no GPU 'K80'."),
        ("show p5.48xlarge --prices nowhere.json", "nowhere.json:"),
    ],
)
def test_bad_input_is_one_line_that_says_what_is_wrong_and_what_is_allowed(arguments: str, message: str) -> None:
    with pytest.raises(SpecError) as refused:
        run(*arguments.split())
    assert len(refused.value.problems) == 1
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_several_problems_are_told_together() -> None:
    with pytest.raises(SpecError) as refused:
        run("stack", "--driver", "x", "--image", "y")
    assert [problem.path for problem in refused.value.problems] == [
        ("--pytorch",),
        ("--image",),
        ("--image",),
        ("--driver",),
    ]


def test_prices_lists_what_an_item_costs_where() -> None:
    text = flat(run("prices", "p5.48xlarge", "--cloud", "aws"))
    assert "p5.48xlarge us-east-1 hour 55.04 18.9815 ? USD 2026-07-20" in text
    assert "Source: github aws/karpenter-provider-aws" in text
    assert {row["region"] for row in rows("prices", "GT4", "--region", "ap-nanjing")} == {"cn-mainland"}
    found = data("prices", "essd-pl1")
    assert {price["item"] for price in found["prices"]} == {"essd-pl1"}
    assert found["notes"]
    assert all(price["stale"] in (True, False) for price in found["prices"])


def test_prices_without_an_item_tells_the_notes_of_the_book() -> None:
    assert "Note: Instance prices are Linux, shared tenancy, tax excluded" in flat(run("prices", "--cloud", "aws"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "prices p5.48xlargo",
            "no price of 'p5.48xlargo' is known (the package's prices). Did you mean 'p5.48xlarge'?",
        ),
        ("prices --region moon --cloud aws", "--region: 'moon' is no region of aws. Known: af-south-1"),
        ("prices --cloud azure", "--cloud: 'azure' is no cloud of the catalog."),
    ],
)
def test_bad_input_of_prices_is_one_line(arguments: str, message: str) -> None:
    with pytest.raises(SpecError) as refused:
        run(*arguments.split())
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
