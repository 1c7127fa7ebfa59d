"""From interruptions and running hours to the probability of an interruption in the coming hours.

The number of interruptions is taken as Poisson: each running node is interrupted at a rate that changes slowly. What
was long ago counts less, by half with each half-life. No neural network: one type in one zone has tens of events, too
few to fit one, and a rate with a bound can be checked by hand.
"""

from dataclasses import dataclass
from math import expm1, isfinite
from typing import Literal

from gpuyard.planning.interruption.gamma import gamma_quantile
from gpuyard.spec.problems import Problem

Verdict = Literal["low", "uncertain", "high", "unknown"]
Basis = Literal["history", "advisor"]

HOURS, THRESHOLD, HALF_LIFE_HOURS, CONFIDENCE = 24.0, 0.30, 336.0, 0.90
"""Defaults: a day ahead; 30 %; two weeks, so that about a month of history counts, as in AWS's advisor; 90 %."""
_HOURS_MAX = 87_600.0
_LEAST_CONFIDENCE, _MOST_CONFIDENCE = 0.5, 0.9999


@dataclass(frozen=True, slots=True)
class Settings:
    """How risk is judged.

    ``hours`` is the coming period; ``threshold`` the probability above which it is too high; ``half_life_hours`` the
    age at which history counts half; ``confidence`` that of the upper bound. ``strict`` judges by the upper bound and
    counts unknown as too high.
    """

    hours: float = HOURS
    threshold: float = THRESHOLD
    half_life_hours: float = HALF_LIFE_HOURS
    confidence: float = CONFIDENCE
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Tally:
    """What was seen of one type in one zone: as it is, and weighted by age."""

    interruptions: int = 0
    instance_hours: float = 0.0
    weighted_interruptions: float = 0.0
    weighted_hours: float = 0.0

    def plus(self, other: "Tally") -> "Tally":
        """Both together."""
        return Tally(
            self.interruptions + other.interruptions,
            self.instance_hours + other.instance_hours,
            self.weighted_interruptions + other.weighted_interruptions,
            self.weighted_hours + other.weighted_hours,
        )


@dataclass(frozen=True, slots=True)
class Risk:
    """What is expected of a number of nodes in the coming period.

    ``rate_per_hour`` is of one node; ``probability`` that of at least one interruption among all; ``expected`` how many
    interruptions. Those that end in ``_upper`` are bounds, None where there is none.
    """

    basis: Basis
    nodes: int
    hours: float
    rate_per_hour: float
    rate_upper_per_hour: float | None
    probability: float
    probability_upper: float | None
    expected: float
    expected_upper: float | None


def setting_problems(settings: Settings) -> list[Problem]:
    """What is wrong with settings, each at its option.

    Args:
        settings: What was asked for.

    Returns:
        Every problem found.
    """
    found: list[Problem] = []
    for option, hours in (("--hours", settings.hours), ("--half-life-hours", settings.half_life_hours)):
        if not isfinite(hours) or not 0 < hours <= _HOURS_MAX:
            remedy = f"Give more than 0 hours, at most {_HOURS_MAX:,.0f} (10 years)."
            found.append(Problem((option,), f"{hours:g} makes no sense.", remedy))
    if not 0 < settings.threshold < 1:
        remedy = "Give a probability between 0 and 1, such as 0.3."
        found.append(Problem(("--threshold",), f"{settings.threshold:g} is none.", remedy))
    if not _LEAST_CONFIDENCE <= settings.confidence <= _MOST_CONFIDENCE:
        remedy = f"Give {_LEAST_CONFIDENCE} to {_MOST_CONFIDENCE}, such as 0.9."
        found.append(Problem(("--confidence",), f"{settings.confidence:g} bounds nothing.", remedy))
    return found


def age_weight(age_hours: float, half_life_hours: float) -> float:
    """How much something counts: 1 now, a half after each half-life.

    Args:
        age_hours: Hours since it happened; less than 0 counts as now.
        half_life_hours: The half-life.

    Returns:
        Between 0 and 1.
    """
    return 2.0 ** -(max(age_hours, 0.0) / half_life_hours)


def risk_of(tally: Tally, nodes: int, settings: Settings) -> Risk | None:
    """The risk of some nodes of one type in one zone, from their history.

    The rate is K/E, weighted interruptions over weighted instance-hours. Its upper bound is the gamma quantile of shape
    K + 1 over E: Garwood's exact bound where nothing is weighted. Weights are at most 1, so that K varies less than the
    Poisson count that the bound takes it for, and the bound covers more than it promises. It is above 0 without any
    interruption, and falls with each hour that passes without one.

    Source: Garwood 1936, Fiducial limits for the Poisson distribution, Biometrika 28, 437-442; weights as powers of the
    likelihood: Ibrahim and Chen 2000, Power prior distributions for regression models, Statistical Science 15, 46-60.

    Args:
        tally: What was seen.
        nodes: Nodes that run.
        settings: Period, half-life and confidence.

    Returns:
        The risk, None where no instance ran or all of it is too long ago.
    """
    if tally.weighted_hours <= 0:
        return None
    rate = tally.weighted_interruptions / tally.weighted_hours
    upper = gamma_quantile(settings.confidence, tally.weighted_interruptions + 1) / tally.weighted_hours
    return risk_at("history", rate, upper, nodes, settings.hours)


def risk_at(basis: Basis, rate_per_hour: float, upper: float | None, nodes: int, hours: float) -> Risk:
    """The risk at a known rate: P(at least one) = 1 - exp(-rate × hours × nodes).

    Nodes are taken as independent. A zone takes many back at once, which makes one interruption rarer and larger.

    Args:
        basis: Where the rate is from.
        rate_per_hour: Interruptions of one node in an hour.
        upper: Its upper bound, None where there is none.
        nodes: Nodes that run.
        hours: The period.

    Returns:
        The risk.
    """
    expected = rate_per_hour * hours * nodes
    most = None if upper is None else upper * hours * nodes
    return Risk(
        basis=basis,
        nodes=nodes,
        hours=hours,
        rate_per_hour=rate_per_hour,
        rate_upper_per_hour=upper,
        probability=-expm1(-expected),
        probability_upper=None if most is None else -expm1(-most),
        expected=expected,
        expected_upper=most,
    )


def verdict_of(risk: Risk | None, settings: Settings) -> Verdict:
    """How a risk is judged.

    Args:
        risk: The risk, None where it is unknown.
        settings: With the threshold.

    Returns:
        ``high``: the estimate is above the threshold, with ``strict`` its bound; ``uncertain``: only the bound is;
        ``low``: both are below; ``unknown``: never a number.
    """
    if risk is None:
        return "unknown"
    upper = 1.0 if risk.probability_upper is None else risk.probability_upper
    if risk.probability > settings.threshold or (settings.strict and upper > settings.threshold):
        return "high"
    return "uncertain" if upper > settings.threshold else "low"
