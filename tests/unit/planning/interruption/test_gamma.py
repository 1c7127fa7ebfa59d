"""Quantiles of the gamma distribution, against closed forms and mpmath."""

from math import inf, log, nan

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard.planning.interruption.gamma import gamma_probability, gamma_quantile


@pytest.mark.parametrize("probability", [0.5, 0.9, 0.95, 0.9999])
def test_of_shape_one_it_is_the_exponential(probability: float) -> None:
    assert gamma_quantile(probability, 1) == pytest.approx(-log(1 - probability), rel=1e-12)


@pytest.mark.parametrize(
    ("shape", "probability", "half_chi_square"),
    [
        # Tables of chi-square with 2·shape degrees of freedom: 4.605, 7.779, 18.307, 124.342.
        (1, 0.90, 4.605 / 2),
        (2, 0.90, 7.779 / 2),
        (5, 0.95, 18.307 / 2),
        (50, 0.95, 124.342 / 2),
    ],
)
def test_it_is_half_a_quantile_of_chi_square(shape: float, probability: float, half_chi_square: float) -> None:
    assert gamma_quantile(probability, shape) == pytest.approx(half_chi_square, abs=5e-4)


@settings(deadline=None, max_examples=40)
@given(shape=st.floats(1, 3000), probability=st.floats(0.5, 0.9999))
def test_it_inverts_what_mpmath_sums(shape: float, probability: float) -> None:
    found = gamma_quantile(probability, shape)
    assert float(mpmath.gammainc(shape, 0, found, regularized=True)) == pytest.approx(probability, abs=1e-9)


def test_the_approximation_of_large_shapes_goes_on_where_the_series_ends() -> None:
    below, above = gamma_quantile(0.9, 99_999.9), gamma_quantile(0.9, 100_000.1)
    assert above - below == pytest.approx(0.2, abs=0.05)
    assert gamma_quantile(0.9, 1e12) == pytest.approx(1e12, rel=1e-5)


def test_nothing_is_below_zero() -> None:
    assert gamma_probability(0, 3) == gamma_probability(-1, 3) == 0


@pytest.mark.parametrize(
    ("probability", "shape"), [(0, 1), (1, 1), (nan, 1), (0.9, 0), (0.9, -1), (0.9, inf), (0.9, nan)]
)
def test_what_is_no_probability_or_shape_is_refused(probability: float, shape: float) -> None:
    with pytest.raises(ValueError, match="no quantile"):
        gamma_quantile(probability, shape)
