"""What to switch to, and what interruptions cost."""

from dataclasses import replace
from math import sqrt
from typing import Any

import pytest

from gpuyard.catalog import instance_types
from gpuyard.planning.interruption import (
    Advisor,
    Checkpoints,
    Evidence,
    Settings,
    ShareRange,
    Switch,
    advise,
    expected_loss,
    risk_at,
    spot_of,
    spot_of_type,
)

from ..conftest import Pool
from .helpers import Seen, history_of, spot_pool

BAD, CALM = (50, 1000.0), (1, 5000.0)
SETTINGS = Settings()


def test_a_calm_pool_needs_nothing() -> None:
    found = advise(spot_pool("g5.xlarge"), history_of({("us-east-1a", "g5.xlarge"): CALM}), SETTINGS)
    assert (found.verdict, found.switch, found.others, found.reasons) == ("low", None, (), ())
    assert found.judged[0].reason == "1 interruption in 5,000 instance-hours"


def test_no_history_is_unknown_and_names_the_zones_that_have_some() -> None:
    found = advise(spot_pool("g5.xlarge"), history_of({("us-east-1b", "g5.xlarge"): CALM}), SETTINGS)
    [judged] = found.judged
    assert (found.verdict, judged.risk, judged.verdict) == ("unknown", None, "unknown")
    assert judged.reason == "no history here, but of us-east-1b"
    assert advise(spot_pool("g6.xlarge"), history_of({}), SETTINGS).judged[0].reason == "no history"


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        ((3, 0.0), "3 interruptions without running hours: a rate needs both"),
        ((2, 10.0), "all history is too long ago"),
    ],
)
def test_what_gives_no_rate_is_told(seen: tuple[int, float], reason: str) -> None:
    evidence = history_of({("us-east-1a", "g5.xlarge"): seen})
    forgotten = {key: replace(one, weighted_hours=0.0) for key, one in evidence.history.tallies.items()}
    found = advise(spot_pool("g5.xlarge"), Evidence(replace(evidence.history, tallies=forgotten)), SETTINGS)
    assert (found.verdict, found.judged[0].reason) == ("unknown", reason)


def test_the_next_equivalent_type_that_is_known_to_be_calm_is_advised() -> None:
    seen: Seen = {
        ("us-east-1a", "g5.xlarge"): BAD,
        ("us-east-1a", "g5.8xlarge"): (0, 9000.0),
        ("us-east-1a", "g5.4xlarge"): CALM,
    }
    found = advise(spot_pool("g5.xlarge"), history_of(seen), SETTINGS)
    # g5.2xlarge comes before it, but nothing is known of it; g5.8xlarge is calmer, and costs more.
    assert found.switch is not None
    assert (found.switch.key, found.switch.to) == ("instance_type", ("g5.4xlarge",))
    assert found.switch.reason == "g5.4xlarge has as many of the same GPUs and is interrupted with 1.9%, not 99.2%."
    assert "Of unknown risk, next in the catalog: g5.2xlarge, g5.16xlarge." in found.reasons
    gpus = {
        (instance_types("aws")[one.instance_type].gpu_model, instance_types("aws")[one.instance_type].gpu_count)
        for one in found.others
    }
    assert gpus == {("A10G", 1)}


def test_mix_gpu_memory_looks_at_other_gpus_of_the_same_memory() -> None:
    seen: Seen = {("us-east-1a", "g5.xlarge"): BAD, ("us-east-1a", "g6.xlarge"): CALM}
    assert advise(spot_pool("g5.xlarge"), history_of(seen), SETTINGS).switch is None
    found = advise(spot_pool("g5.xlarge", mix="gpu_memory"), history_of(seen), SETTINGS)
    assert found.switch is not None
    assert found.switch.to == ("g6.xlarge",)


def test_a_type_is_only_as_good_as_its_worst_zone() -> None:
    zones = ("us-east-1a", "us-east-1b")
    seen: Seen = {
        **{(zone, "g5.xlarge"): BAD for zone in zones},
        ("us-east-1a", "g5.2xlarge"): CALM,
        ("us-east-1b", "g5.2xlarge"): BAD,
        **{(zone, "g5.4xlarge"): CALM for zone in zones},
    }
    found = advise(spot_pool("g5.xlarge", zones=zones), history_of(seen), SETTINGS)
    assert found.switch is not None
    assert found.switch.to == ("g5.4xlarge",)


def test_a_bad_zone_is_left_where_a_known_one_remains() -> None:
    zones = ("us-east-1a", "us-east-1b", "us-east-1c")
    seen: Seen = {("us-east-1a", "g5.xlarge"): BAD, ("us-east-1b", "g5.xlarge"): CALM}
    found = advise(spot_pool("g5.xlarge", zones=zones), history_of(seen), SETTINGS)
    reason = "Every type is too high in us-east-1a, and not in us-east-1b."
    assert found.switch == Switch("zones", ("us-east-1b", "us-east-1c"), reason)


def test_a_zone_with_one_bad_type_is_left_for_one_that_has_none() -> None:
    zones, types = ("us-east-1a", "us-east-1b"), ("g5.xlarge", "g5.2xlarge")
    seen: Seen = {(zone, name): CALM for zone in (*zones, "us-east-1c") for name in types}
    found = advise(spot_pool(*types, zones=zones), history_of(seen | {(zones[0], types[0]): BAD}), SETTINGS)
    reason = "A type is too high in us-east-1a, and not in us-east-1b."
    assert found.switch == Switch("zones", ("us-east-1b",), reason)


def test_a_bad_zone_is_not_left_for_one_of_which_nothing_is_known() -> None:
    found = advise(
        spot_pool("g5.xlarge", zones=("us-east-1a", "us-east-1b")),
        history_of({("us-east-1a", "g5.xlarge"): BAD}),
        SETTINGS,
    )
    assert found.switch is None
    assert found.reasons[0] == "No equivalent type and no other zone is known to be interrupted less throughout."


def test_the_calmest_zone_of_the_region_is_advised_where_no_type_is() -> None:
    seen: Seen = {
        ("us-east-1a", "g5.xlarge"): BAD,
        ("us-east-1c", "g5.xlarge"): (2, 5000.0),
        ("us-east-1d", "g5.xlarge"): CALM,
    }
    found = advise(spot_pool("g5.xlarge"), history_of(seen), SETTINGS)
    assert found.switch is not None
    assert (found.switch.key, found.switch.to) == ("zones", ("us-east-1d",))
    assert found.switch.reason.endswith("A file system in another zone is slower and billed for traffic.")


def test_a_pool_that_mixes_types_is_judged_by_its_worst() -> None:
    seen: Seen = {("us-east-1a", "g5.xlarge"): CALM, ("us-east-1a", "g5.2xlarge"): BAD}
    found = advise(spot_pool("g5.xlarge", "g5.2xlarge"), history_of(seen), SETTINGS)
    assert (found.verdict, found.switch) == ("high", None)
    assert "Of the pool's own types, g5.xlarge is interrupted less: 'instance_type' names one." in found.reasons
    assert any("'mix: gpu_memory'" in reason for reason in found.reasons)


def test_worst_verdict_first() -> None:
    types = ("g5.xlarge", "g5.2xlarge", "g5.4xlarge")
    little: Seen = {("us-east-1a", "g5.xlarge"): CALM, ("us-east-1a", "g5.2xlarge"): (0, 10.0)}
    assert advise(spot_pool(*types[:2]), history_of(little), SETTINGS).verdict == "uncertain"
    assert advise(spot_pool(*types), history_of(little), SETTINGS).verdict == "unknown"


def test_the_advisor_stands_in_where_there_is_no_history() -> None:
    often = ShareRange(">20%", 0.2, None)
    evidence = replace(
        history_of({("us-east-1a", "g5.xlarge"): CALM}),
        advisor=Advisor({("us-east-1", name): often for name in ("g5.xlarge", "g6.xlarge")}),
    )
    own = advise(spot_pool("g5.xlarge"), evidence, SETTINGS).judged[0]
    assert own.risk is not None
    assert own.risk.basis == "history"
    other = advise(spot_pool("g6.xlarge", nodes=64), evidence, Settings(hours=48))
    assert other.verdict == "high"
    assert other.judged[0].reason == "no history; AWS's advisor: >20% a month"


def test_bare_metal_is_switched_for_bare_metal() -> None:
    row = instance_types("alicloud")["ecs.ebmgn7i.32xlarge"]
    spot = spot_of_type(row, "cn-beijing", "cn-beijing-h", 1)
    found = advise(spot, history_of({("cn-beijing-h", row.instance_type): BAD}, "alicloud", "cn-beijing"), SETTINGS)
    assert all(instance_types("alicloud")[one.instance_type].bare_metal for one in found.others)


def test_a_price_limit_of_the_old_type_is_told() -> None:
    seen: Seen = {("us-east-1a", "g5.xlarge"): BAD, ("us-east-1a", "g5.2xlarge"): CALM}
    found = advise(spot_pool("g5.xlarge", spot_price_limit=0.5), history_of(seen), SETTINGS)
    assert "'spot_price_limit: 0.5' was for g5.xlarge." in found.reasons


@pytest.mark.parametrize(
    ("values", "nodes"),
    [
        (
            {
                "purchase": "spot",
                "gpu": "A10G",
                "gpus_per_node": 1,
                "nodes": {"min": 1, "max": 8},
                "on_demand_nodes": 1,
            },
            7,
        ),
        ({"purchase": "spot", "instance_type": "g5.xlarge", "nodes": 3}, 3),
        ({"purchase": "on_demand", "instance_type": "g5.xlarge", "nodes": 3}, None),
        ({"purchase": "spot", "instance_type": "g5.xlarge", "nodes": 2, "on_demand_nodes": 2}, None),
    ],
)
def test_the_spot_nodes_of_a_pool_at_its_largest_are_judged(
    pool: Pool, values: dict[str, Any], nodes: int | None
) -> None:
    from gpuyard.spec import NodePoolSpec, parse_spec

    plan = pool(**values)
    found = spot_of(plan, parse_spec(NodePoolSpec, values))
    assert (None if found is None else found.nodes) == nodes
    assert found is None or found.named is ("instance_type" in values)


def test_a_type_without_a_stack() -> None:
    row = instance_types("alicloud")["ecs.gn7i-c8g1.2xlarge"]
    spot = spot_of_type(row, "cn-beijing", "cn-beijing-h", 2)
    seen: Seen = {("cn-beijing-h", row.instance_type): BAD, ("cn-beijing-h", "ecs.gn7i-c16g1.4xlarge"): CALM}
    found = advise(spot, history_of(seen, "alicloud", "cn-beijing"), SETTINGS)
    assert found.switch is not None
    assert found.switch.to == ("ecs.gn7i-c16g1.4xlarge",)


def test_what_interruptions_cost_by_hand() -> None:
    # 0.01 an hour and node, 4 nodes, 24 h: 0.96 expected. Each costs half of 30 min and 10 min to start: 25 min.
    risk = risk_at("history", 0.01, 0.02, 4, 24)
    loss = expected_loss(risk, Checkpoints(1800, write_s=60, restart_s=600))
    assert loss.hours == pytest.approx(0.96 * 25 / 60)
    assert loss.hours_upper == pytest.approx(1.92 * 25 / 60)
    # One in 25 h; Young's √(2·60·90000) = 3286 s, Daly's a little less.
    assert loss.best_interval_s == pytest.approx(sqrt(2 * 60 * 90_000), rel=0.02)


def test_nothing_costs_more_than_the_period_and_no_rate_has_no_best_interval() -> None:
    assert expected_loss(risk_at("history", 10, 20, 4, 24), Checkpoints(7200)).hours == 24
    calm = expected_loss(risk_at("history", 0, None, 4, 24), Checkpoints(7200, write_s=60))
    assert (calm.hours, calm.hours_upper, calm.best_interval_s) == (0, None, None)


def test_the_loss_is_that_of_the_riskiest_place() -> None:
    seen: Seen = {("us-east-1a", "g5.xlarge"): CALM, ("us-east-1a", "g5.2xlarge"): (2, 5000.0)}
    found = advise(spot_pool("g5.xlarge", "g5.2xlarge"), history_of(seen), SETTINGS, Checkpoints(3600))
    assert found.loss is not None
    assert found.loss.hours == pytest.approx(2 / 5000 * 96 * 0.5)
    assert advise(spot_pool("g6.xlarge"), history_of({}), SETTINGS, Checkpoints(3600)).loss is None
