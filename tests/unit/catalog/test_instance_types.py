import pytest

from gpuyard.catalog import find_instance_types, instance_type, instance_types
from gpuyard.catalog.instance_types import about_instance_types


def test_all_rows_of_three_clouds_are_there() -> None:
    assert {cloud: len(instance_types(cloud)) for cloud in ("aws", "alicloud", "tencentcloud")} == {
        "aws": 90,
        "alicloud": 86,
        "tencentcloud": 67,
    }
    assert instance_types("azure") == {}


@pytest.mark.parametrize(
    ("cloud", "name", "rdma", "rdma_gbps"),
    [
        ("aws", "p4d.24xlarge", "efa", 400),
        ("aws", "p5.48xlarge", "efa", 3200),
        ("aws", "p6-b200.48xlarge", "efa", 3200),
        ("aws", "p6-b300.48xlarge", "efa", 6400),
        ("aws", "p6e-gb200.36xlarge", "efa", 1600),
        ("aws", "g5.xlarge", "none", 0),
        ("aws", "trn2.3xlarge", "efa", None),
        ("alicloud", "ecs.ebmgn7ex.32xlarge", "erdma", 160),
        ("alicloud", "ecs.sccgn7ex.32xlarge", "roce", 800),
        ("alicloud", "ecs.gn7e-c16g1.32xlarge", None, None),
        ("alicloud", "ecs.gn9gc-8x.64xlarge", "erdma", None),
        ("tencentcloud", "HCCPNV6.96XLARGE2304", "roce", 3200),
        ("tencentcloud", "PNV6.96XLARGE2304", "none", 0),
        ("tencentcloud", "GT4.41XLARGE948", "none", 0),
        ("tencentcloud", "GN10Xp.20XLARGE320", None, None),
    ],
)
def test_rdma_kind_and_bandwidth(cloud: str, name: str, rdma: str | None, rdma_gbps: float | None) -> None:
    row = instance_type(cloud, name)
    assert row is not None
    assert (row.rdma, row.rdma_gbps) == (rdma, rdma_gbps)
    assert row.has_rdma is (None if rdma is None else rdma != "none")


def test_unknown_is_neither_yes_nor_no() -> None:
    row = instance_type("tencentcloud", "PNV6.32XLARGE1280")
    assert row is not None
    assert row.has_nvlink is None
    assert row not in find_instance_types("tencentcloud", interconnect="nvlink")
    assert row not in find_instance_types("tencentcloud", interconnect="pcie")


def test_a_region_whose_offerings_were_not_read_in_full_is_unknown_and_not_a_no() -> None:
    p5 = instance_type("aws", "p5.48xlarge")
    gn7e = instance_type("alicloud", "ecs.gn7e-c16g1.32xlarge")
    assert p5 is not None
    assert gn7e is not None
    assert p5.offered_in("us-east-1") is True
    assert p5.offered_in("eu-south-2") is False
    assert p5.offered_in("us-gov-west-1") is None
    assert p5.offered_in("moon-1") is None
    assert gn7e.offered_in("cn-beijing") is True
    assert gn7e.offered_in("eu-west-1") is None


def test_contradictions_of_the_sources_stay_visible() -> None:
    notes = {row.family: row.note or "" for row in instance_types("alicloud").values()}
    assert all("Contradiction" in notes[family] for family in ("gn6v", "ebmgn8v", "gn9gc", "gn8v", "gn7", "ebmgn7ix"))
    tencent = {row.family: row.note or "" for row in instance_types("tencentcloud").values()}
    assert all("Contradiction" in tencent[family] for family in ("GN6S", "GN10Xp", "HCCPNV4h", "BMGNV4"))


def test_what_holds_for_all_types_of_a_cloud_is_told() -> None:
    assert "null is unknown" in about_instance_types("alicloud")


def test_found_types_come_smallest_first_and_meet_every_condition() -> None:
    found = find_instance_types("alicloud", gpu="A100-80GB", gpu_count=8, rdma=True, bare_metal=True)
    assert [row.instance_type for row in found] == ["ecs.ebmgn7ex.32xlarge", "ecs.sccgn7ex.32xlarge"]
    arm = find_instance_types("alicloud", cpu_arch="arm64")
    assert {row.family for row in arm} == {"gn7r", "ebmgn6ia"}
