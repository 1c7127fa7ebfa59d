import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.catalog.disks import MB_PER_MIB, Rate, block_disks

LEVELS = [(cloud, name) for cloud in ("aws", "alicloud", "tencentcloud") for name in block_disks(cloud)]


@pytest.mark.parametrize(
    ("cloud", "name", "size_gib", "iops", "iops_max", "mb_per_s", "mb_per_s_max"),
    [
        # Alibaba Cloud: min(1800 + 12 C, 10000) and min(100 + 0.25 C, 180) for PL0; 50 C and 120 + 0.5 C from PL1 on.
        ("alicloud", "cloud_essd PL0", 100, 3000, 3000, 125, 125),
        ("alicloud", "cloud_essd PL0", 2000, 10_000, 10_000, 180, 180),
        ("alicloud", "cloud_essd PL1", 40, 3800, 3800, 140, 140),
        ("alicloud", "cloud_essd PL1", 2000, 50_000, 50_000, 350, 350),
        ("alicloud", "cloud_essd PL2", 461, 24_850, 24_850, 350.5, 350.5),
        ("alicloud", "cloud_essd PL3", 65_536, 1_000_000, 1_000_000, 4000, 4000),
        # AutoPL: bought IOPS come on top, at most 50,000, and at most 1,000 a GiB in all.
        ("alicloud", "cloud_auto", 20, 2800, 20_000, None, None),
        ("alicloud", "cloud_auto", 100, 6800, 56_800, None, None),
        # AWS: gp3 has 3,000 IOPS and 125 MiB/s at any size; 500 IOPS a GiB and 0.25 MiB/s an IOPS can be bought.
        ("aws", "gp3", 1, 3000, 3000, 125 * MB_PER_MIB, 750 * MB_PER_MIB),
        ("aws", "gp3", 10, 3000, 5000, 125 * MB_PER_MIB, 1250 * MB_PER_MIB),
        ("aws", "gp3", 1000, 3000, 80_000, 125 * MB_PER_MIB, 2000 * MB_PER_MIB),
        ("aws", "io2", 100, 100, 100_000, 25.6 * MB_PER_MIB, 4000 * MB_PER_MIB),
        ("aws", "io1", 100, 100, 5000, None, None),
        # Tencent Cloud: more than 460 GiB may buy throughput, each MB/s with 128 IOPS.
        ("tencentcloud", "CLOUD_HSSD", 460, 24_800, 24_800, 350, 350),
        ("tencentcloud", "CLOUD_HSSD", 470, 25_300, 100_000, 350, 1000),
        ("tencentcloud", "CLOUD_TSSD", 1000, 50_000, None, None, None),
        ("tencentcloud", "CLOUD_SSD", 100, None, None, None, None),
    ],
)
def test_speed_is_a_function_of_the_size(
    cloud: str,
    name: str,
    size_gib: int,
    iops: float | None,
    iops_max: float | None,
    mb_per_s: float | None,
    mb_per_s_max: float | None,
) -> None:
    speed = block_disks(cloud)[name].performance(size_gib)
    assert (speed.iops, speed.iops_max) == (iops, iops_max)
    assert speed.throughput_mb_per_s == (None if mb_per_s is None else pytest.approx(mb_per_s))
    assert speed.throughput_max_mb_per_s == (None if mb_per_s_max is None else pytest.approx(mb_per_s_max))


@pytest.mark.parametrize(
    ("cloud", "name", "size_gib", "message"),
    [
        ("alicloud", "cloud_essd PL2", 460, "cloud_essd PL2 has no disk of 460 GiB: sizes are 461 to 65536 GiB."),
        ("aws", "gp3", 65_537, "gp3 has no disk of 65537 GiB: sizes are 1 to 65536 GiB."),
        ("aws", "gp3", 0, "gp3 has no disk of 0 GiB: sizes are 1 to 65536 GiB."),
        (
            "tencentcloud",
            "CLOUD_HSSD",
            105,
            "CLOUD_HSSD has no disk of 105 GiB: sizes are 1 to 32000 GiB in steps of 10.",
        ),
    ],
)
def test_a_size_that_is_not_sold_is_refused(cloud: str, name: str, size_gib: int, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        block_disks(cloud)[name].performance(size_gib)


@given(st.sampled_from(LEVELS), st.integers(127, 800), st.integers(1, 800))
def test_a_larger_disk_is_never_slower(level: tuple[str, str], size: int, more: int) -> None:
    disk = block_disks(level[0])[level[1]]
    smaller = disk.performance(10 * size)
    larger = disk.performance(10 * (size + more))
    for name in ("iops", "iops_max", "throughput_mb_per_s", "throughput_max_mb_per_s"):
        one, other = getattr(smaller, name), getattr(larger, name)
        assert (one is None) is (other is None)
        assert one is None or one <= other


@given(st.sampled_from(LEVELS), st.integers(127, 1600))
def test_buying_more_never_gives_less(level: tuple[str, str], size: int) -> None:
    speed = block_disks(level[0])[level[1]].performance(10 * size)
    assert speed.iops is None or speed.iops_max is None or speed.iops_max >= speed.iops
    have, most = speed.throughput_mb_per_s, speed.throughput_max_mb_per_s
    assert have is None or most is None or most >= have


def test_a_rate_with_an_unknown_part_is_unknown() -> None:
    assert Rate(None, None, 6000).at(100) is None
    assert Rate(100, None, 6000).at(100) is None
    assert Rate(100, 2, None).at(100) == 300


def test_the_limits_of_aws_disks_are_the_documented_ones() -> None:
    gp3 = block_disks("aws")["gp3"]
    assert gp3.total_iops is not None
    assert gp3.throughput is not None
    assert gp3.total_throughput is not None
    assert (gp3.iops.base, gp3.total_iops.max, gp3.total_iops.per_gib) == (3000, 80_000, 500)
    assert (gp3.throughput.base, gp3.total_throughput.max) == (125, 2000)
    assert gp3.throughput_per_iops == 0.25
    io2 = block_disks("aws")["io2"]
    assert io2.total_iops is not None
    assert (io2.size_min_gib, io2.iops.base, io2.total_iops.max) == (4, 100, 256_000)
    assert (io2.throughput and io2.throughput.base, io2.throughput_per_iops) == (25.6, 0.256)
