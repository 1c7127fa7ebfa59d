import pytest

from gpuyard.catalog import file_system_types
from gpuyard.catalog.file_stores import object_storage_classes, parallel_file_systems


@pytest.mark.parametrize(
    ("cloud", "name", "capacity_gib", "takes", "mb_per_s"),
    [
        ("aws", "SCRATCH_2", 1200, True, 240),
        ("aws", "PERSISTENT_2", 2400, True, 2400),
        ("aws", "PERSISTENT_2", 2500, False, 2500),
        ("aws", "SCRATCH_1", 2400, True, None),
        ("aws", "SCRATCH_1", 3600, True, None),
        ("aws", "SCRATCH_1", 4800, False, None),
        ("aws", "PERSISTENT_1 HDD 12", 6000, True, 72),
        ("aws", "PERSISTENT_1 HDD 40", 1800, True, 72),
        ("aws", "PERSISTENT_1 HDD 40", 6000, False, 240),
        ("aws", "PERSISTENT_2 INTELLIGENT_TIERING", 2400, None, None),
        ("alicloud", "CPFS advance_100", 3600, True, 351.5625),
        ("alicloud", "CPFS advance_100", 2400, False, 234.375),
        ("alicloud", "CPFS advance_200", 1_048_800, False, 20_000),
        ("alicloud", "CPFS for Lingjun", 10_240, True, 4000),
        ("alicloud", "CPFS next generation P400", 10_240, None, None),
        ("tencentcloud", "TURBO TB", 40_960, True, 4296),
        ("tencentcloud", "TURBO TB", 20_480, False, 2148),
        ("tencentcloud", "TURBO TP", 20_480, True, 4294),
    ],
)
def test_capacity_steps_and_throughput(
    cloud: str, name: str, capacity_gib: int, takes: bool | None, mb_per_s: float | None
) -> None:
    kind = parallel_file_systems(cloud)[name]
    assert kind.takes_capacity(capacity_gib) is takes
    found = kind.throughput_mb_per_s(capacity_gib)
    assert found == (None if mb_per_s is None else pytest.approx(mb_per_s))


def test_throughput_stops_at_the_maximum_of_one_file_system() -> None:
    assert parallel_file_systems("alicloud")["CPFS advance_200"].throughput_mb_per_s(1_000_000) == 20_000
    assert parallel_file_systems("tencentcloud")["TURBO TP"].throughput_mb_per_s(10_000_000) == 104_857.6


def test_the_types_that_the_planner_builds_are_shown_with_the_same_facts() -> None:
    for name, kind in file_system_types("aws").items():
        shown = parallel_file_systems("aws")[name]
        assert shown.throughput_mb_per_s_per_tib in (
            kind.throughput_mb_per_s_per_tib,
            (kind.baseline_mb_per_s_per_tib,),
        )
        for capacity in range(0, 20_000, 600):
            assert shown.takes_capacity(capacity) is kind.takes_capacity(capacity), (name, capacity)


def test_the_sources_that_contradict_each_other_are_named() -> None:
    for kind in parallel_file_systems("tencentcloud").values():
        assert kind.note is not None
        assert "Contradiction" in kind.note


def test_every_cloud_has_object_storage_with_its_least_time_billed() -> None:
    assert object_storage_classes("aws")["DEEP_ARCHIVE"].min_storage_days == 180
    assert object_storage_classes("alicloud")["Archive"].min_storage_days == 60
    assert object_storage_classes("tencentcloud")["ARCHIVE"].min_storage_days == 90
    assert object_storage_classes("tencentcloud")["INTELLIGENT_TIERING"].min_storage_days is None
