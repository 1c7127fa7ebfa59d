"""What the health gate of a node expects, from the catalog and from what the pool asks for."""

import json
from typing import Any

import pytest

from gpuyard.catalog import InstanceType, gpus, instance_type, instance_types
from gpuyard.catalog.instance_types import CLOUDS_WITH_TYPES
from gpuyard.planning.node_health import (
    MountDemand,
    NodeDemands,
    driver_minimum_of,
    expected_of,
    expected_of_pool,
    mount_floor_mb_per_s,
    name_words,
)

RDMA = NodeDemands(rdma=True)


def of(cloud: str, name: str, demands: NodeDemands | None = None) -> dict[str, Any]:
    row = instance_type(cloud, name)
    assert row is not None, name
    return expected_of(row, demands)


def test_an_rdma_node_of_a100_has_everything() -> None:
    found = of("aws", "p4d.24xlarge", RDMA)
    assert found["gpu"] == {"count": 8, "model": "A100-SXM4-40GB", "words": ["A100"], "memory_gib": 40}
    assert found["nvlink"] == {"links": 12, "gb_per_s": 25}
    assert found["fabric_manager"] == {"unit": True, "state": False}
    assert found["rdma"] == {"kind": "efa", "devices": 4, "gid_index": None}
    assert found["pcie"] == {"generation": 3}
    assert found["driver_minimum"] == "450.80.02"
    assert found["xid"]["79"] == "GPU has fallen off the bus"
    assert (found["ecc"], found["memlock"]) == (True, True)
    assert found["disks"] == [{"path": "/", "free_gib": 10}]
    assert found["skip"] == {
        "mtu": "the pool demands no frame size",
        "mounts": "the pool mounts no file system",
        "huge_pages": "the pool asks for none",
        "containers": "the pool asks for none",
    }


@pytest.mark.parametrize(
    ("cloud", "name", "nvlink", "fabric"),
    [
        ("aws", "p5.48xlarge", {"links": 18, "gb_per_s": 25}, {"unit": True, "state": True}),
        ("aws", "p6-b200.48xlarge", {"links": 18, "gb_per_s": 50}, {"unit": True, "state": True}),
        ("aws", "p6e-gb200.36xlarge", {"links": 18, "gb_per_s": 50}, {"unit": False, "state": True}),
        ("aws", "p3.16xlarge", {"links": 6, "gb_per_s": 25}, None),
        ("aws", "p3.8xlarge", {"links": None, "gb_per_s": 25}, None),
        ("alicloud", "ecs.gn7e-c16g1.8xlarge", {"links": 12, "gb_per_s": 25}, None),
        ("alicloud", "ecs.gn7-c13g1.13xlarge", {"links": 12, "gb_per_s": 25}, {"unit": False, "state": False}),
        ("tencentcloud", "GN10Xp.10XLARGE160", {"links": None, "gb_per_s": 25}, None),
        ("tencentcloud", "HCCPNV4h", {"links": 12, "gb_per_s": 25}, {"unit": True, "state": False}),
        ("tencentcloud", "HCCPNV6.96XLARGE2304", None, None),
        ("aws", "g5.48xlarge", None, None),
    ],
)
def test_links_and_switches_are_those_of_the_machine(cloud: str, name: str, nvlink: Any, fabric: Any) -> None:
    found = of(cloud, name)
    assert (found["nvlink"], found["fabric_manager"]) == (nvlink, fabric)


def test_what_is_unknown_has_no_reason_and_what_is_not_there_has_one() -> None:
    assert "nvlink" not in of("tencentcloud", "HCCPNV6.96XLARGE2304")["skip"]
    assert of("aws", "g5.48xlarge")["skip"]["nvlink"] == "the GPUs of g5.48xlarge are not joined by NVLink"
    unnamed = of("alicloud", "ecs.ebmgn9ge.64xlarge")
    assert unnamed["gpu"] == {"count": 8, "model": None, "words": None, "memory_gib": 72}
    assert not any(key.startswith("gpu") for key in unnamed["skip"])


def test_a_share_of_a_gpu_is_not_asked_for_what_its_host_knows() -> None:
    found = of(
        "tencentcloud", next(name for name, row in instance_types("tencentcloud").items() if row.gpu_partition == 0.25)
    )
    assert (found["pcie"], found["ecc"]) == (None, None)
    assert "share of a GPU" in found["skip"]["ecc"]
    assert found["gpu"]["count"] == 1


def test_accelerators_of_others_are_not_asked_by_nvidia_s_tools() -> None:
    found = of("aws", "trn1.32xlarge", RDMA)
    assert [found[key] for key in ("gpu", "pcie", "driver_minimum", "ecc", "xid", "nvlink")] == [None] * 6
    assert found["skip"]["gpu"] == "nvidia-smi does not see accelerators of AWS"
    assert found["rdma"]["devices"] == 8


def test_rdma_is_what_the_pool_asks_for_of_what_the_machine_has() -> None:
    assert of("aws", "p5.48xlarge")["skip"]["rdma"] == "the pool asks for no RDMA"
    assert of("aws", "p5.48xlarge")["skip"]["memlock"] == "only RDMA needs it"
    assert of("aws", "p5.48xlarge", NodeDemands(rdma=True, rdma_devices=16))["rdma"]["devices"] == 16
    assert of("aws", "p3.16xlarge", RDMA)["skip"]["rdma"] == "p3.16xlarge has no RDMA"
    roce = of("alicloud", "ecs.sccgn7ex.32xlarge", NodeDemands(rdma=True, gid_index=3))
    assert roce["rdma"] == {"kind": "roce", "devices": 8, "gid_index": 3}
    unknown = of("alicloud", "ecs.gn6e-c12g1.24xlarge", RDMA)
    assert (unknown["rdma"], "rdma" in unknown["skip"]) == (None, False)


def test_a_pool_may_know_of_switches_that_the_catalog_does_not() -> None:
    found = of("tencentcloud", "HCCPNV6.96XLARGE2304", NodeDemands(fabric_manager=True))
    assert found["fabric_manager"] == {"unit": True, "state": True}
    assert of("aws", "g5.48xlarge")["skip"]["fabric_manager"] == "g5.48xlarge is not known to have NVSwitches"


def test_demands_of_the_pool_are_taken_over() -> None:
    mount = MountDemand("/fsx", "lustre", 200, 150)
    demands = NodeDemands(
        mtu_bytes=8500, driver_minimum="550.54.14", fabric_manager=False, containers=True, huge_pages_gib=10,
        mounts=(mount,), root_free_gib=50, clock_offset_ms=5, ecc=False,
    )  # fmt: skip
    found = of("aws", "p4d.24xlarge", demands)
    assert found["mtu"] == {"interfaces": "*", "bytes": 8500}
    assert found["driver_minimum"] == "550.54.14"
    assert found["fabric_manager"]["unit"] is False
    assert (found["containers"], found["huge_pages"]) == (True, 5120)
    assert found["mounts"] == [{"path": "/fsx", "type": "lustre", "write_mb_per_s": 200, "read_mb_per_s": 150}]
    assert found["disks"][0]["free_gib"] == 50
    assert found["clock"] == {"offset_ms": 5}
    assert (found["ecc"], found["skip"]["ecc"]) == (None, "the pool does not ask for ECC")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("A100-SXM4-40GB", ["A100"]),
        ("A100-PCIE-80GB", ["A100"]),
        ("V100-SXM2-32GB", ["V100"]),
        ("H20-3e-141GB", ["H20", "3e"]),
        ("B300-SXM-288GB", ["B300"]),
        ("RTX-PRO-6000-SE", ["RTX", "PRO", "6000"]),
        ("T4", ["T4"]),
    ],
)
def test_words_of_a_model_are_those_of_the_driver_s_name(model: str, words: list[str]) -> None:
    assert name_words(model) == words


@pytest.mark.parametrize(
    ("model", "version"),
    [("H100-SXM5-80GB", "520.61.05"), ("B200-SXM-180GB", "570.26"), ("A10", "450.80.02"), ("MI300X", "450.80.02")],
)
def test_the_oldest_driver_is_that_of_the_first_cuda_release_for_the_gpu(model: str, version: str) -> None:
    assert driver_minimum_of(gpus()[model]) == version
    assert driver_minimum_of(None) == "450.80.02"


@pytest.mark.parametrize(("sold", "floor"), [(150, 15), (1000, 100), (6000, 200), (0, 0)])
def test_the_floor_of_a_mount_is_a_share_of_what_was_bought(sold: float, floor: float) -> None:
    assert mount_floor_mb_per_s(sold) == floor


def test_a_pool_of_several_types_expects_what_they_have_in_common() -> None:
    rows = [instance_types("aws")[name] for name in ("g5.xlarge", "g6.xlarge")]
    found = expected_of_pool(rows)
    assert found["gpu"] == {"count": 1, "model": None, "words": None, "memory_gib": 24}
    assert found["skip"]["gpu.words"] == "the types of this pool differ here"
    assert found["instance_type"] is None
    assert expected_of_pool(rows[:1]) == expected_of(rows[0])
    assert expected_of_pool([rows[0], rows[0], rows[0]]) == expected_of(rows[0])
    assert expected_of_pool([*rows, *rows])["gpu"] == found["gpu"]


def test_what_one_type_lacks_is_not_expected_of_a_pool() -> None:
    rows = [instance_types("aws")[name] for name in ("g5.12xlarge", "trn1.32xlarge")]
    found = expected_of_pool(rows)
    assert found["gpu"] is None
    assert found["skip"]["gpu"] == "the types of this pool differ here"


ALL = [row for cloud in CLOUDS_WITH_TYPES for row in instance_types(cloud).values()]


@pytest.mark.parametrize("demands", [NodeDemands(), RDMA], ids=["plain", "rdma"])
def test_every_type_of_the_catalog_gives_a_document_with_every_key(demands: NodeDemands) -> None:
    keys = set(expected_of(ALL[0]))
    for row in ALL:
        found = expected_of(row, demands)
        assert set(found) == keys
        assert json.loads(json.dumps(found)) == found
        for key in found["skip"]:
            assert found[key] is None, (row.instance_type, key)
        _check_links(row, found["nvlink"])


def _check_links(row: InstanceType, nvlink: dict[str, Any] | None) -> None:
    if nvlink is None or nvlink["links"] is None:
        return
    assert row.nvlink_gb_per_s_per_gpu == 2 * nvlink["links"] * nvlink["gb_per_s"], row.instance_type
