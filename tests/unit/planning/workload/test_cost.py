import pytest

from gpuyard.catalog.prices import PriceBook

from .helpers import FakePrices, FakeQuote, candidate, plan

TRAIN = {"task": "pretrain", "parameters": 7e9, "tokens": 1e12, "gpu": "A100", "gpus": 64}
P4D, P4DE = ("aws", "p4d.24xlarge", "us-east-1"), ("aws", "p4de.24xlarge", "us-east-1")
GN7E = ("alicloud", "ecs.ebmgn7e.32xlarge", "cn-beijing")


def test_without_prices_nothing_is_ranked_by_cost_and_the_plan_says_so():
    found = plan(**TRAIN)
    assert found.candidates
    assert all(one.cost is None and one.rank is None for one in found.candidates)
    count = len(found.candidates)
    assert f"{count} of {count} candidates are not ranked by cost: no price book was given." in found.reasons


def test_candidates_are_ranked_by_the_cost_of_the_whole_training():
    found = plan(FakePrices({P4D: FakeQuote(20), P4DE: FakeQuote(90)}), **TRAIN)
    cheap, dear = candidate(found, "p4d.24xlarge"), candidate(found, "p4de.24xlarge")
    assert (cheap.rank, dear.rank) == (1, 2)
    assert found.candidates[0] is cheap
    for one, price in ((cheap, 20), (dear, 90)):
        assert one.cost is not None
        assert one.duration is not None
        assert one.cost.per_hour == price * one.layout.nodes
        assert one.cost.total == pytest.approx(one.cost.per_hour * one.duration.hours)


def test_currencies_are_never_mixed():
    found = plan(FakePrices({P4D: FakeQuote(20), P4DE: FakeQuote(90), GN7E: FakeQuote(250, "CNY")}), **TRAIN)
    assert [(one.cost.currency, one.rank) for one in found.candidates if one.cost] == [
        ("CNY", 1),
        ("USD", 1),
        ("USD", 2),
    ]
    assert "Ranked within each currency (CNY, USD); currencies are not converted." in found.reasons


def test_a_type_without_a_price_comes_last_and_says_so():
    found = plan(FakePrices({P4D: FakeQuote(20)}), **TRAIN)
    without = candidate(found, "p4de.24xlarge")
    assert without.rank is None
    assert "No hourly price is known: it is not ranked by cost." in without.reasons
    assert found.candidates.index(without) > 0


def test_stale_prices_are_marked():
    found = candidate(plan(FakePrices({P4D: FakeQuote(20, date="2024-12-31")}), **TRAIN), "p4d.24xlarge")
    assert found.cost is not None
    assert found.cost.stale
    assert "The price is stale (2024-12-31): read a new one before you rely on the rank." in found.reasons


def test_a_monthly_price_is_not_taken_for_an_hourly_one():
    found = candidate(plan(FakePrices({P4D: FakeQuote(20, unit="month")}), **TRAIN), "p4d.24xlarge")
    assert found.cost is None


def test_the_cheapest_region_is_taken():
    prices = FakePrices({P4D: FakeQuote(20), ("aws", "p4d.24xlarge", "us-west-2"): FakeQuote(18)})
    found = candidate(plan(prices, **TRAIN), "p4d.24xlarge")
    assert found.cost is not None
    assert found.cost.region == "us-west-2"


def test_without_an_end_the_cost_of_the_work_done_ranks():
    fields = {key: value for key, value in TRAIN.items() if key != "tokens"}
    found = plan(FakePrices({P4D: FakeQuote(20), P4DE: FakeQuote(90)}), **fields)
    cheap = candidate(found, "p4d.24xlarge")
    assert cheap.cost is not None
    assert (cheap.rank, cheap.cost.total) == (1, None)
    assert "Ranked by the cost of a billion tokens at list prices on demand; storage and traffic are left out." in (
        found.reasons
    )


def test_the_price_book_of_the_catalog_fits():
    found = plan(PriceBook.load(), task="pretrain", parameters=70e9, tokens=1e12)
    assert {one.cost.currency for one in found.candidates if one.cost} >= {"CNY", "USD"}
    for currency in ("CNY", "USD"):
        totals = [one.cost.total for one in found.candidates if one.rank and one.cost and one.cost.currency == currency]
        assert totals == sorted(totals, key=lambda total: total or 0)


@pytest.mark.parametrize(
    ("tokens", "interruptions", "ways", "reason"),
    [
        (1e9, False, ("on_demand",), "days are short: no term pays within 20 days, so on demand."),
        (2.5e12, False, ("reserved", "on_demand"), "days are long: reserve or subscribe for the term"),
        (
            1e8,
            True,
            ("spot", "on_demand"),
            "The work may be interrupted and checkpoints limit what is lost: spot first.",
        ),
        (2.5e11, True, ("spot", "reserved", "on_demand"), "days are long: reserve or subscribe for the term"),
    ],
)
def test_purchase_is_on_demand_for_short_reserved_for_long_and_spot_for_interruptible(
    tokens, interruptions, ways, reason
):
    # What may be interrupted is one node: several that train together are another matter.
    fields = {**TRAIN, "tokens": tokens, "allow_interruptions": interruptions, "gpus": 8 if interruptions else 64}
    found = candidate(plan(**fields), "p4d.24xlarge").purchase
    assert found.ways == ways
    assert reason in "\n".join(found.reasons)


def test_spot_is_not_advised_where_a_type_may_not_be_sold_so():
    found = plan(task="pretrain", parameters=7e9, allow_interruptions=True, clouds=["aws"])
    unknown = candidate(found, "p6e-gb200.36xlarge").purchase
    assert "spot" not in unknown.ways
    assert unknown.reasons[-1] == (
        "Interruptions are allowed, but p6e-gb200.36xlarge may not be sold as spot: the catalog does not know."
    )


def test_a_served_model_is_reserved_for_its_base_and_bought_on_demand_for_peaks():
    found = candidate(plan(task="inference", parameters=7e9, clouds=["aws"]), "g6.12xlarge").purchase
    assert found.ways == ("reserved", "on_demand")
    assert found.reasons == ("Reserve the replicas that always run; buy those for peaks on demand.",)


def test_many_spot_nodes_at_once_are_warned_of():
    fields = {
        **TRAIN,
        "gpu": "V100",
        "gpus": 16,
        "parameters": 1e9,
        "clouds": ["alicloud"],
        "allow_interruptions": True,
    }
    found = [one for one in plan(**fields).candidates if one.layout.nodes > 1 and one.instance_type.spot]
    assert found
    for one in found:
        assert one.instance_type.has_rdma is not True
        assert one.purchase.ways[0] == "spot"
        text = (
            f"{one.layout.nodes} spot nodes at once and close together are rarely to be had, and one taken stops all."
        )
        assert one.purchase.reasons[-1] == text


def test_nodes_that_train_over_rdma_are_never_bought_as_spot():
    found = candidate(plan(**TRAIN, allow_interruptions=True), "p4d.24xlarge").purchase
    assert "spot" not in found.ways
    assert found.reasons[-1] == (
        "Interruptions are allowed, but 8 nodes that train together over RDMA are not bought as spot: one taken back "
        "stops all."
    )


def test_many_nodes_that_are_sold_in_capacity_blocks_are_pointed_there():
    found = plan(**TRAIN, clouds=["aws"])
    for one in found.candidates:
        pointed = any(reason.startswith("Capacity blocks hold many such nodes") for reason in one.purchase.reasons)
        assert pointed is (one.instance_type.capacity_block is True and one.layout.nodes > 1)
    assert any(one.instance_type.capacity_block for one in found.candidates)
