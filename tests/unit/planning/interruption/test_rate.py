"""From counts to a probability: known values, laws, and simulated interruptions."""

from dataclasses import replace
from math import exp, inf, log, nan
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard.planning.interruption import Risk, Settings, Tally, risk_at, risk_of, setting_problems, verdict_of
from gpuyard.planning.interruption.rate import age_weight

COUNTS = st.floats(0, 1000)
HOURS = st.floats(0.1, 1e6)
CONFIDENCES = st.floats(0.5, 0.9999)


def risk(interruptions: float, hours: float, nodes: int = 1, how: Settings | None = None) -> Risk:
    found = risk_of(Tally(0, 0.0, interruptions, hours), nodes, how or Settings())
    assert found is not None
    return found


def upper(one: Risk) -> float:
    assert one.rate_upper_per_hour is not None
    return one.rate_upper_per_hour


def test_by_hand() -> None:
    # 3 in 1,000 instance-hours, 4 nodes for 24 h: 0.288 are expected. Garwood's bound at 90 % is half the quantile of
    # chi-square with 8 degrees of freedom, 13.362 / 2 = 6.681.
    found = risk(3, 1000, 4)
    assert found.rate_per_hour == 0.003
    assert found.expected == pytest.approx(0.288)
    assert found.probability == pytest.approx(1 - exp(-0.288))
    assert upper(found) == pytest.approx(6.681e-3, abs=1e-6)
    assert found.probability_upper == pytest.approx(1 - exp(-6.681e-3 * 96), abs=1e-4)


def test_the_rule_of_three_without_an_interruption() -> None:
    found = risk(0, 1000, 1, Settings(confidence=0.95))
    assert (found.rate_per_hour, found.probability) == (0, 0)
    assert upper(found) == pytest.approx(-log(0.05) / 1000)
    assert upper(found) == pytest.approx(3 / 1000, rel=0.01)


def test_without_running_hours_the_risk_is_unknown_and_never_zero() -> None:
    assert risk_of(Tally(), 1, Settings()) is None
    assert risk_of(Tally(2, 0.0, 2.0, 0.0), 1, Settings()) is None
    assert verdict_of(None, Settings()) == "unknown"


@given(few=COUNTS, more=COUNTS, hours=HOURS, confidence=CONFIDENCES)
def test_more_interruptions_are_no_less_risk(few: float, more: float, hours: float, confidence: float) -> None:
    few, more = sorted((few, more))
    one, other = (risk(count, hours, 1, Settings(confidence=confidence)) for count in (few, more))
    assert one.rate_per_hour <= other.rate_per_hour
    assert upper(one) <= upper(other) * (1 + 1e-9)


@given(count=COUNTS, little=HOURS, much=HOURS)
def test_more_hours_for_as_many_interruptions_are_no_more_risk(count: float, little: float, much: float) -> None:
    little, much = sorted((little, much))
    one, other = risk(count, little), risk(count, much)
    assert one.rate_per_hour >= other.rate_per_hour
    assert upper(one) >= upper(other) * (1 - 1e-9)


@given(count=COUNTS, hours=HOURS, confidence=CONFIDENCES)
def test_the_bound_is_above_the_estimate_and_above_zero(count: float, hours: float, confidence: float) -> None:
    found = risk(count, hours, 3, Settings(confidence=confidence))
    assert upper(found) > max(found.rate_per_hour, 0)
    assert found.probability_upper is not None
    assert 0 <= found.probability <= found.probability_upper <= 1


@given(count=COUNTS, hours=HOURS, low=CONFIDENCES, high=CONFIDENCES)
def test_more_confidence_is_a_higher_bound(count: float, hours: float, low: float, high: float) -> None:
    low, high = sorted((low, high))
    one, other = (risk(count, hours, 1, Settings(confidence=confidence)) for confidence in (low, high))
    assert upper(one) <= upper(other) * (1 + 1e-9)


@given(count=COUNTS, hours=HOURS, scale=st.floats(0.01, 100))
def test_the_unit_of_time_does_not_matter(count: float, hours: float, scale: float) -> None:
    one = risk(count, hours, 2, Settings(hours=24))
    other = risk(count, hours * scale, 2, Settings(hours=24 * scale))
    assert other.probability == pytest.approx(one.probability, rel=1e-9)
    assert other.probability_upper == pytest.approx(one.probability_upper, rel=1e-9)


@given(count=COUNTS, hours=HOURS, nodes=st.integers(1, 1000))
def test_nodes_and_hours_are_exchangeable(count: float, hours: float, nodes: int) -> None:
    many, long = risk(count, hours, nodes), risk(count, hours, 1, Settings(hours=24 * nodes))
    assert many.probability == pytest.approx(long.probability, rel=1e-9)


@given(age=st.floats(0, 1e9), half_life=st.floats(0.01, 1e5))
def test_a_half_life_later_it_counts_half(age: float, half_life: float) -> None:
    now, later = age_weight(age, half_life), age_weight(age + half_life, half_life)
    assert 0 <= later <= now <= 1
    assert later == pytest.approx(now / 2, rel=1e-6, abs=1e-300)


def test_what_is_to_come_counts_as_now() -> None:
    assert age_weight(-3, 24) == 1


@given(count=st.floats(0, 50), hours=HOURS, weight=st.floats(1e-6, 1))
def test_old_history_says_the_same_with_less_certainty(count: float, hours: float, weight: float) -> None:
    fresh, old = risk(count, hours), risk(count * weight, hours * weight)
    assert old.rate_per_hour == pytest.approx(fresh.rate_per_hour)
    assert upper(old) >= upper(fresh) * (1 - 1e-9)


def test_all_of_a_history_is_forgotten_in_the_end() -> None:
    weight = age_weight(1e9, 24)
    assert weight == 0
    assert risk_of(Tally(5, 100.0, 5 * weight, 100 * weight), 1, Settings()) is None


def test_a_calm_month_outweighs_a_bad_one_before() -> None:
    month, how = 720.0, Settings(half_life_hours=168)
    ages = [month * 2 - day * 24 for day in range(60)]
    hours = sum(96 * age_weight(age, 168) for age in ages)
    bad = sum(2 * age_weight(age, 168) for age in ages[:30])
    evenly = risk_of(Tally(0, 0.0, 60.0, 96.0 * 60), 1, how)
    decayed = risk_of(Tally(0, 0.0, bad, hours), 1, how)
    assert evenly is not None
    assert decayed is not None
    assert decayed.rate_per_hour < evenly.rate_per_hour / 5


def poisson(random: Random, mean: float) -> int:
    """Knuth's: how many uniform variables multiply to less than e^-mean."""
    limit, product, count = exp(-mean), random.random(), 0
    while product > limit:
        count, product = count + 1, product * random.random()
    return count


@pytest.mark.parametrize("half_life_hours", [1e9, 336.0])
@pytest.mark.parametrize("rate", [0.002, 0.02])
def test_the_bound_covers_the_rate_of_simulated_interruptions(rate: float, half_life_hours: float) -> None:
    random, how, trials, covered = Random(7), Settings(confidence=0.9, half_life_hours=half_life_hours), 600, 0
    estimates: list[float] = []
    for _ in range(trials):
        weights = [age_weight(24.0 * day, half_life_hours) for day in range(30)]
        counts = [poisson(random, rate * 96) for _ in weights]
        tally = Tally(0, 0.0, sum(c * w for c, w in zip(counts, weights, strict=True)), sum(96 * w for w in weights))
        found = risk_of(tally, 1, how)
        assert found is not None
        covered += upper(found) >= rate
        estimates.append(found.rate_per_hour)
    # Three deviations of a binomial count below the promise; and no bound that covers everything.
    assert 0.9 - 3 * (0.9 * 0.1 / trials) ** 0.5 <= covered / trials < 0.999
    assert sum(estimates) / trials == pytest.approx(rate, rel=0.05)


@pytest.mark.parametrize(
    ("probability", "most", "strict", "verdict"),
    [
        (0.31, 0.5, False, "high"),
        (0.30, 0.5, False, "uncertain"),
        (0.1, 0.31, True, "high"),
        (0.1, 0.30, True, "low"),
        (0.1, 0.2, False, "low"),
        (0.1, None, False, "uncertain"),
        (0.1, None, True, "high"),
    ],
)
def test_verdicts(probability: float, most: float | None, *, strict: bool, verdict: str) -> None:
    found = replace(risk_at("history", 0.1, None, 1, 1), probability=probability, probability_upper=most)
    assert verdict_of(found, Settings(strict=strict)) == verdict


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"hours": 0}, "--hours: 0 makes no sense. Give more than 0 hours, at most 87,600 (10 years)."),
        ({"hours": nan}, "--hours: nan makes no sense."),
        ({"hours": inf}, "--hours: inf makes no sense."),
        ({"half_life_hours": -1}, "--half-life-hours: -1 makes no sense."),
        ({"threshold": 30}, "--threshold: 30 is none. Give a probability between 0 and 1, such as 0.3."),
        ({"threshold": nan}, "--threshold: nan is none."),
        ({"confidence": 1}, "--confidence: 1 bounds nothing. Give 0.5 to 0.9999, such as 0.9."),
        ({"confidence": 0.4}, "--confidence: 0.4 bounds nothing."),
    ],
)
def test_settings_that_make_no_sense(change: dict[str, float], told: str) -> None:
    [problem] = setting_problems(replace(Settings(), **change))
    assert str(problem).startswith(told)


def test_every_wrong_setting_is_told() -> None:
    wrong = Settings(hours=-1, threshold=2, half_life_hours=0, confidence=0)
    assert [one.path for one in setting_problems(wrong)] == [
        ("--hours",),
        ("--half-life-hours",),
        ("--threshold",),
        ("--confidence",),
    ]
    assert setting_problems(Settings()) == []


@settings(max_examples=30)
@given(rate=st.floats(0, 1e6), nodes=st.integers(1, 10**5), hours=st.floats(0.1, 87_600))
def test_huge_rates_stay_probabilities(rate: float, nodes: int, hours: float) -> None:
    found = risk_at("history", rate, rate * 2, nodes, hours)
    assert 0 <= found.probability <= 1
