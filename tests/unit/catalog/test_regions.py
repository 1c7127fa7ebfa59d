import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.catalog.regions import regions, zone_belongs_to, zone_example

PLACES = [(cloud, region) for cloud in ("aws", "alicloud", "tencentcloud") for region in regions(cloud)]


@pytest.mark.parametrize(
    ("zone", "region", "cloud", "belongs"),
    [
        ("us-east-1a", "us-east-1", "aws", True),
        ("us-east-1-dfw-2a", "us-east-1", "aws", True),
        ("use1-az4", "us-east-1", "aws", True),
        ("usw2-az4", "us-east-1", "aws", False),
        ("cn-beijing-h", "cn-beijing", "alicloud", True),
        ("cn-beijingh", "cn-beijing", "alicloud", False),
        ("cn-hangzhou-h", "cn-beijing", "alicloud", False),
        ("us-east-1b", "us-east-1", "alicloud", True),
        ("us-east-1-b", "us-east-1", "alicloud", False),
        ("use1-az4", "us-east-1", "alicloud", False),
        ("cn-hongkong-c", "cn-hongkong", "alicloud", True),
        ("ap-guangzhou-6", "ap-guangzhou", "tencentcloud", True),
        ("ap-guangzhou-a", "ap-guangzhou", "tencentcloud", False),
        ("ap-guangzhou", "ap-guangzhou", "tencentcloud", False),
    ],
)
def test_each_cloud_writes_its_zones_its_own_way(zone: str, region: str, cloud: str, belongs: bool) -> None:
    assert zone_belongs_to(zone, region, cloud) is belongs


@given(st.sampled_from(PLACES))
def test_the_example_of_a_zone_belongs_to_its_region(place: tuple[str, str]) -> None:
    cloud, region = place
    assert zone_belongs_to(zone_example(region, cloud), region, cloud)


@given(st.sampled_from(PLACES), st.sampled_from(PLACES))
def test_no_zone_belongs_to_two_regions_of_a_cloud(one: tuple[str, str], other: tuple[str, str]) -> None:
    if one[0] == other[0] and one != other:
        assert not zone_belongs_to(zone_example(one[1], one[0]), other[1], one[0])


def test_mainland_china_is_known_for_every_cloud() -> None:
    assert [name for name, region in regions("aws").items() if region.mainland_china] == [
        "cn-north-1",
        "cn-northwest-1",
    ]
    assert regions("alicloud")["cn-beijing"].mainland_china
    assert not regions("alicloud")["cn-hongkong"].mainland_china
    assert regions("tencentcloud")["ap-guangzhou"].mainland_china
    assert not regions("tencentcloud")["ap-hongkong"].mainland_china
