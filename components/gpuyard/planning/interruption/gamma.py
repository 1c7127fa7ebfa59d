"""Quantiles of the gamma distribution, which bound a Poisson rate."""

from math import exp, inf, lgamma, log, sqrt

_SHAPE_MAX = 100_000.0
"""Above it Wilson and Hilferty's approximation is better than one part in a million, and the series long."""
_TAIL_MIN = 1e-9
_HALVINGS = 200


def gamma_quantile(probability: float, shape: float) -> float:
    """The value that a gamma variable of scale 1 stays below with a given probability.

    P(a, x) is summed by its series and inverted by halving. A library (scipy) would bring 100 MB for this one number;
    tests compare it with mpmath.

    Source: DLMF 8.7.1, https://dlmf.nist.gov/8.7. Large shapes: Wilson and Hilferty 1931, The distribution of
    chi-square, PNAS 17, 684-688.

    Args:
        probability: From 1e-9 to 1 - 1e-9.
        shape: Shape a, more than 0.

    Returns:
        The quantile.

    Raises:
        ValueError: A probability or a shape out of these ranges.
    """
    if not _TAIL_MIN <= probability <= 1 - _TAIL_MIN or not 0 < shape < inf:
        raise ValueError(f"no quantile at probability {probability} and shape {shape}")
    if shape > _SHAPE_MAX:
        from statistics import NormalDist

        ninth = 1 / (9 * shape)
        return shape * (1 - ninth + NormalDist().inv_cdf(probability) * sqrt(ninth)) ** 3
    # Less than 1e-9 of the variable is above.
    low, high = 0.0, shape + 8 * sqrt(shape) + 25
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if gamma_probability(middle, shape) < probability:
            low = middle
        else:
            high = middle
    return high


def gamma_probability(value: float, shape: float) -> float:
    """The probability P(a, x) that a gamma variable of scale 1 and this shape is at most a value.

    Source: DLMF 8.7.1: P(a, x) = xᵃ e⁻ˣ / Γ(a+1) · (1 + x/(a+1) + x²/((a+1)(a+2)) + …), https://dlmf.nist.gov/8.7.

    Args:
        value: The value x, at least 0 and not far above the shape.
        shape: Shape a, more than 0.

    Returns:
        Between 0 and 1.
    """
    if value <= 0:
        return 0.0
    term = total = 1.0
    step = 0
    while term > total * 1e-17:
        step += 1
        term *= value / (shape + step)
        total += term
    # All in logarithms: the power and the exponential would each leave the range of a float.
    return min(1.0, exp(shape * log(value) - value - lgamma(shape + 1) + log(total)))
