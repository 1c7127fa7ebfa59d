import pytest

from gpuyard.catalog import gpus
from gpuyard.catalog.corrections import corrections, corrections_for


@pytest.mark.parametrize(
    ("model", "right"),
    [
        ("T4", "320 Turing tensor cores"),
        ("A100-SXM4-40GB", "600 GB/s is the sum of both directions"),
        ("A100-SXM4-80GB", "600 GB/s is the sum of both directions"),
        ("H100-SXM5-80GB", "1,979 TFLOPS dense; 3,958 only with 2:4 structured sparsity, per GPU"),
    ],
)
def test_marketing_errors_are_corrected_with_the_right_figure_and_why(model: str, right: str) -> None:
    found = [each for each in corrections_for(model) if right in each.right]
    assert len(found) == 1
    assert found[0].why
    assert found[0].source


def test_the_corrected_figures_are_those_of_the_gpu_table() -> None:
    h100, a100, t4 = gpus()["H100-SXM5-80GB"], gpus()["A100-SXM4-80GB"], gpus()["T4"]
    assert h100.fp8_dense_tflops == pytest.approx(1979, abs=1)
    assert a100.nvlink_gb_per_s == 600
    assert t4.fp16_dense_tflops == 65


def test_corrections_of_a_family_are_found_by_the_family() -> None:
    assert [each.fact for each in corrections_for("GT4")] == ["RDMA"]
    assert corrections_for("no such thing", None) == ()


def test_a_claim_and_its_correction_are_never_the_same() -> None:
    assert all(each.claim != each.right for each in corrections())
