import pytest

from gpuyard.catalog import gpu_models_named, gpus
from gpuyard.catalog.selection import clouds_renting, find_gpus, nearest_rented
from gpuyard.spec.problems import SpecError


@pytest.mark.parametrize(
    ("name", "models"),
    [
        ("A100-80GB", {"A100-SXM4-80GB", "A100-PCIE-80GB"}),
        ("a100 sxm4", {"A100-SXM4-40GB", "A100-SXM4-80GB"}),
        ("T4", {"T4"}),
        ("P4", {"P4"}),
        ("A16", {"A16"}),
        ("H20", {"H20-96GB", "H20-3e-141GB"}),
        ("", set()),
        ("K80", set()),
    ],
)
def test_a_short_name_covers_its_models(name: str, models: set[str]) -> None:
    assert set(gpu_models_named(name)) == models


def test_a10_covers_the_variant_of_aws_too() -> None:
    assert set(gpu_models_named("A10")) == {"A10", "A10G"}


def test_what_a_gpu_has_not_is_told_apart_from_what_is_unknown() -> None:
    t4, a10g = gpus()["T4"], gpus()["A10G"]
    assert {"nvlink_gb_per_s", "nvlink_links", "nvlink_link_gb_per_s"} <= set(t4.lacks)
    assert a10g.bf16_dense_tflops == 70
    assert gpus()["A16"].memory_bandwidth_gb_per_s is None
    assert "bf16_dense_tflops" not in a10g.lacks


def test_facts_of_ascend_and_amd_are_known_though_no_cloud_rents_them() -> None:
    assert (gpus()["Ascend-910B3"].vendor, gpus()["MI300X"].vendor) == ("Huawei", "AMD")
    assert clouds_renting("Ascend-910B3") == clouds_renting("MI300X") == ()
    assert clouds_renting("T4") == ("aws", "alicloud", "tencentcloud")


def test_the_nearest_rented_gpu_is_near_in_memory_and_rate() -> None:
    near = nearest_rented(gpus()["Ascend-910B3"], ("aws",))
    assert near is not None
    assert near.model == "A100-SXM4-80GB"
    assert nearest_rented(gpus()["T4G"], ("aws",)) is None, "its rate is unknown"


def test_an_unknown_gpu_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(SpecError) as refused:
        find_gpus("A1000")
    assert str(refused.value) == "the catalog knows no GPU 'A1000'. Did you mean 'A100'?"
