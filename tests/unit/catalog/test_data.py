"""Every data file holds what its rows promise: right types, known words, one row per key, a source and a date."""

import json
from collections import Counter
from dataclasses import MISSING, fields
from datetime import date
from importlib.resources import files
from typing import Any

import pytest
from pydantic import TypeAdapter

from gpuyard.catalog import FileSystemType, Gpu, InstanceType, NodeImage, Region
from gpuyard.catalog.corrections import Correction
from gpuyard.catalog.disks import BlockDisk
from gpuyard.catalog.file_stores import ObjectStorageClass, ParallelFileSystem
from gpuyard.catalog.instance_types import CLOUDS_WITH_TYPES
from gpuyard.catalog.limits import Limit
from gpuyard.catalog.nccl import NcclVariable
from gpuyard.catalog.prices import PriceQuote
from gpuyard.catalog.software import CudaRelease, ImageContents, PyTorchBuild
from gpuyard.catalog.topology import Topology
from gpuyard.catalog.xid_errors import XidError

DATA = files("gpuyard.catalog") / "data"

# File, class of its rows, fields that together name one row.
TABLES: dict[str, tuple[type, tuple[str, ...]]] = {
    "gpus.json": (Gpu, ("model",)),
    "corrections.json": (Correction, ("claim",)),
    "object_storage.json": (ObjectStorageClass, ("cloud", "name")),
    "cuda_releases.json": (CudaRelease, ("cuda",)),
    "pytorch_builds.json": (PyTorchBuild, ("pytorch", "cuda")),
    "image_contents.json": (ImageContents, ("name",)),
    "topologies.json": (Topology, ("cloud", "instance_types")),
    "xid_errors.json": (XidError, ("code",)),
    "nccl_environment.json": (NcclVariable, ("cloud", "fabric", "variable")),
    "aws_file_systems.json": (FileSystemType, ("cloud", "name")),
    "aws_images.json": (NodeImage, ("cloud", "name")),
    "alicloud_images.json": (NodeImage, ("cloud", "name")),
    "tencentcloud_images.json": (NodeImage, ("cloud", "name")),
}
for _cloud in CLOUDS_WITH_TYPES:
    TABLES[f"{_cloud}_instance_types.json"] = (InstanceType, ("cloud", "instance_type"))
    TABLES[f"{_cloud}_regions.json"] = (Region, ("cloud", "region"))
    TABLES[f"{_cloud}_disks.json"] = (BlockDisk, ("cloud", "name"))
    TABLES[f"{_cloud}_parallel_file_systems.json"] = (ParallelFileSystem, ("cloud", "name"))

WORDS = {
    "cloud": set(CLOUDS_WITH_TYPES),
    "cpu_arch": {"x86_64", "arm64", None},
    "gpu_interconnect": {"nvswitch", "nvlink", "pcie", "none", None},
    "rdma": {"efa", "erdma", "roce", "none", None},
    "vendor": {"NVIDIA", "AMD", "Huawei"},
    "accelerator_vendor": {"NVIDIA", "AMD", "AWS", "Qualcomm"},
    "throughput_unit": {"MB/s", "MiB/s"},
    "stability": {"stable", "experimental"},
}
# Accelerators that are no GPUs: their rows name a device that the GPU table does not hold.
VENDORS_WITHOUT_GPUS = {"AWS", "Qualcomm"}


def rows_of(file_name: str) -> list[dict[str, Any]]:
    return json.loads((DATA / file_name).read_text(encoding="utf-8"))["rows"]


def all_types() -> list[dict[str, Any]]:
    return [row for cloud in CLOUDS_WITH_TYPES for row in rows_of(f"{cloud}_instance_types.json")]


def test_every_data_file_of_the_catalog_is_checked_here() -> None:
    elsewhere = {"prices.json", "model_shapes.json"}
    limits = {path.name for path in DATA.iterdir() if path.name.endswith("_limits.json")}
    there = {path.name for path in DATA.iterdir() if path.name.endswith(".json")}
    assert there - elsewhere - limits == set(TABLES)


@pytest.mark.parametrize("file_name", sorted(TABLES))
def test_every_row_has_exactly_the_fields_and_types_of_its_class(file_name: str) -> None:
    kind, _ = TABLES[file_name]
    adapter = TypeAdapter(kind)
    known = {field.name for field in fields(kind)}
    required = {field.name for field in fields(kind) if field.default is MISSING}
    for row in rows_of(file_name):
        assert required <= set(row) <= known, row
        adapter.validate_json(json.dumps(row), strict=True)


@pytest.mark.parametrize("file_name", sorted(TABLES))
def test_every_row_has_its_own_key_a_source_and_a_date(file_name: str) -> None:
    _, key = TABLES[file_name]
    rows = rows_of(file_name)
    assert rows, "the file is empty"
    repeated = [name for name, count in Counter(str([row[part] for part in key]) for row in rows).items() if count > 1]
    assert repeated == []
    for row in rows:
        assert len(row["source"]) > 10, row
        assert 2023 <= date.fromisoformat(row["as_of"]).year <= 2026, row


@pytest.mark.parametrize("file_name", sorted(TABLES))
def test_every_word_is_one_that_the_code_knows(file_name: str) -> None:
    for row in rows_of(file_name):
        for field, words in WORDS.items():
            assert field not in row or row[field] in words, f"{field} of {row}"


@pytest.mark.parametrize("file_name", sorted(TABLES))
def test_no_number_is_negative_and_no_text_is_empty(file_name: str) -> None:
    for row in rows_of(file_name):
        for field, value in row.items():
            if isinstance(value, int | float):
                assert value >= 0, f"{field} of {row}"
            if isinstance(value, str):
                assert value.strip() == value != "", f"{field} of {row}"


def test_limits_have_the_fields_of_their_class() -> None:
    adapter = TypeAdapter(Limit)
    tables = [path.name for path in DATA.iterdir() if path.name.endswith("_limits.json")]
    assert "aws_limits.json" in tables
    for row in (row for table in tables for row in rows_of(table)):
        adapter.validate_json(json.dumps(row), strict=True)


def test_every_gpu_of_an_instance_type_is_in_the_gpu_table() -> None:
    models = {row["model"] for row in rows_of("gpus.json")}
    missing = {
        row["gpu_model"]
        for row in all_types()
        if row["accelerator_vendor"] not in VENDORS_WITHOUT_GPUS and row["gpu_model"] not in models | {None}
    }
    assert missing == set()


def test_whole_gpus_have_the_memory_of_the_gpu_table() -> None:
    memory = {row["model"]: row["memory_gib"] for row in rows_of("gpus.json")}
    for row in all_types():
        if row["gpu_partition"] == 1 and row["gpu_model"] in memory and row["gpu_memory_gib"] is not None:
            assert row["gpu_memory_gib"] == pytest.approx(memory[row["gpu_model"]], rel=0.01), row["instance_type"]


def test_a_slice_of_a_gpu_has_its_share_of_the_memory() -> None:
    memory = {row["model"]: row["memory_gib"] for row in rows_of("gpus.json")}
    slices = [row for row in all_types() if row["gpu_partition"] not in (None, 1)]
    assert {row["gpu_model"] for row in slices} >= {"T4", "A10"}
    for row in slices:
        assert row["gpu_memory_gib"] == pytest.approx(memory[row["gpu_model"]] * row["gpu_partition"], rel=0.08), row


def test_nvlink_speeds_stand_only_with_nvlink_and_single_gpus_have_no_link() -> None:
    for row in all_types():
        if row["nvlink_gb_per_s_per_gpu"] is not None:
            assert row["gpu_interconnect"] in ("nvlink", "nvswitch"), row["instance_type"]
        if row["gpu_count"] == 1 and row["gpu_interconnect"] is not None:
            assert row["gpu_interconnect"] in ("none", "nvlink", "nvswitch"), row["instance_type"]


def test_a_type_without_rdma_has_no_rdma_bandwidth_and_no_interfaces() -> None:
    for row in all_types():
        if row["rdma"] == "none":
            assert (row["rdma_gbps"], row["rdma_interfaces"]) == (0, 0), row["instance_type"]
        if row["rdma"] is None:
            assert row["rdma_gbps"] is None, row["instance_type"]
        if row["rdma_gbps"]:
            assert row["rdma"] in ("efa", "erdma", "roce"), row["instance_type"]


@pytest.mark.parametrize("cloud", CLOUDS_WITH_TYPES)
def test_the_regions_of_every_type_are_regions_of_its_cloud(cloud: str) -> None:
    known = {row["region"] for row in rows_of(f"{cloud}_regions.json")}
    for row in rows_of(f"{cloud}_instance_types.json"):
        assert set(row["regions"] or []) <= known, row["instance_type"]


def test_the_zone_ids_of_every_type_belong_to_its_regions() -> None:
    from gpuyard.catalog.regions import zone_belongs_to

    for row in all_types():
        for zone in row["zone_ids"] or []:
            assert any(zone_belongs_to(zone, region) for region in row["regions"]), (row["instance_type"], zone)


def test_only_aws_rows_carry_facts_that_only_aws_has() -> None:
    for row in all_types():
        if row["cloud"] != "aws":
            assert (row["ebs_bandwidth_mbps"], row["ebs_max_iops"], row["zone_ids"]) == (None, None, None)
            assert row["capacity_block"] is False


def test_the_links_of_a_gpu_carry_what_the_gpu_carries() -> None:
    known = [row for row in rows_of("gpus.json") if row["nvlink_link_gb_per_s"] is not None]
    assert {"V100-SXM2-16GB", "A100-SXM4-80GB", "H100-SXM5-80GB", "B200-SXM-180GB"} <= {row["model"] for row in known}
    for row in known:
        assert row["nvlink_gb_per_s"] == 2 * row["nvlink_links"] * row["nvlink_link_gb_per_s"], row["model"]


def test_what_a_gpu_lacks_is_null_and_never_a_figure() -> None:
    for row in rows_of("gpus.json"):
        assert all(row[field] is None for field in row["lacks"]), row["model"]


def test_corrections_name_gpus_or_families_that_exist() -> None:
    known = {row["model"] for row in rows_of("gpus.json")} | {row["family"] for row in all_types()}
    for row in rows_of("corrections.json"):
        assert set(row["applies_to"]) <= known, row["applies_to"]


def test_topologies_place_every_gpu_and_rdma_card_of_their_types_once() -> None:
    types = {row["instance_type"]: row for row in all_types()}
    for topology in rows_of("topologies.json"):
        for name in topology["instance_types"]:
            row = types[name]
            gpus = [number for group in topology["groups"] for number in group["gpus"]]
            nics = [number for group in topology["groups"] for number in group["nics"]]
            assert sorted(gpus) == list(range(row["gpu_count"])), name
            assert sorted(nics) == row["rdma_cards"], name
            numas = {group["numa"] for group in topology["groups"]} - {None}
            assert len(numas) == row["numa_nodes"], name


def test_every_node_image_has_a_row_of_contents() -> None:
    with_driver = {row["name"] for row in rows_of("aws_images.json") if row.get("brings_driver", True)}
    assert with_driver <= {row["name"] for row in rows_of("image_contents.json")}


def test_every_cuda_of_a_pytorch_build_has_its_driver() -> None:
    releases = {row["cuda"] for row in rows_of("cuda_releases.json")}
    assert {row["cuda"] for row in rows_of("pytorch_builds.json")} <= releases


def test_every_pytorch_release_of_two_has_one_build_on_pypi() -> None:
    on_pypi = Counter(row["pytorch"] for row in rows_of("pytorch_builds.json") if row["on_pypi"])
    releases = {row["pytorch"] for row in rows_of("pytorch_builds.json") if row["pytorch"].startswith("2.")}
    assert on_pypi == dict.fromkeys(releases, 1)


def test_the_package_s_prices_are_prices_of_known_clouds_with_a_source() -> None:
    table = json.loads((DATA / "prices.json").read_text(encoding="utf-8"))
    adapter = TypeAdapter(PriceQuote)
    keys: Counter[tuple[str, ...]] = Counter()
    for row in table["prices"]:
        quote = adapter.validate_json(json.dumps(row), strict=True)
        keys[quote.cloud, quote.item, quote.region, quote.unit, quote.currency] += 1
        assert quote.cloud in CLOUDS_WITH_TYPES
        assert any(price is not None for price in (quote.on_demand, quote.spot, quote.reserved_1y)), row
        assert quote.source
        assert quote.newest_day is None or 2021 <= quote.newest_day.year <= 2026
    assert [key for key, count in keys.items() if count > 1] == []
    assert table["notes"]
