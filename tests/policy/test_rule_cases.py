"""Every rule over facts made by hand: it fails, passes, cannot tell, and is suppressed; and it never breaks."""

from __future__ import annotations

from dataclasses import fields
from datetime import date
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpuyard_policy.config import PackConfig, parse_config
from gpuyard_policy.evaluate import evaluate_facts
from gpuyard_policy.facts import Facts, Unknown
from gpuyard_policy.facts.model import (
    AlarmFact,
    BudgetFact,
    CopyFact,
    DiskFact,
    IngressFact,
    NodePoolFact,
    RoleFact,
    SecurityGroupFact,
    ServiceFact,
    SnapshotScheduleFact,
    StorageFact,
    TaggedFact,
)
from gpuyard_policy.rules import ALL_RULES, Finding, Rule, Verdict
from tests.policy.rule_cases import CASES, CLOUDS, Case, bucket, files, pool

DAY = date(2026, 12, 1)
BY_ID = {rule.id: rule for rule in ALL_RULES}
# What these rules have no verdict for, because there is nothing to be wrong, right or unknown about.
WITHOUT = {
    ("FAB012", "pass"): "pools without a capacity block are no concern of it",
    ("FAB013", "fail"): "a type that nobody knows is never called wrong",
    ("CST005", "pass"): "it speaks of the product where there is one",
    ("CST005", "undecided"): "that a product is there is known from its type",
    ("CST006", "pass"): "it speaks of the connection where there is one",
}


def said(case: Case, config: PackConfig | None = None) -> list[Finding]:
    given_config = parse_config({"profile": "prod", **case.settings}) if config is None else config
    return list(evaluate_facts(case.facts, given_config, today=DAY, rules=[BY_ID[case.rule]]).findings)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}-{case.verdict}-{case.message[:30]}")
def test_a_rule_says_of_facts_what_it_should(case: Case) -> None:
    found = said(case)
    if case.verdict is None:
        assert found == []
        return
    matching = [one for one in found if one.verdict.value == case.verdict and case.message in one.message]
    assert matching, found
    assert matching[0].rule_id == case.rule
    if case.verdict == "pass":
        assert {one.verdict for one in found} == {Verdict.PASS}
    else:
        assert len(matching[0].message) > len("cannot tell"), "it says what and why"


@pytest.mark.parametrize("case", [one for one in CASES if one.verdict == "fail"], ids=lambda case: case.rule)
def test_a_failing_rule_can_be_suppressed_with_a_reason(case: Case) -> None:
    failing = next(one for one in said(case) if one.verdict is Verdict.FAIL)
    one = {"rule": case.rule, "resource": failing.urn, "reason": "accepted until the move"}
    config = parse_config({"profile": "prod", **case.settings, "suppressions": [one]})
    found = [each for each in said(case, config) if each.urn == failing.urn]
    assert all(each.verdict in (Verdict.SUPPRESSED, Verdict.PASS) for each in found), found
    assert [each.reason for each in found if each.verdict is Verdict.SUPPRESSED][0] == "accepted until the move"


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.id)
def test_every_rule_has_every_case(rule: Rule) -> None:
    shown = {case.verdict for case in CASES if case.rule == rule.id}
    for verdict in ("fail", "pass", "undecided"):
        assert verdict in shown or (rule.id, verdict) in WITHOUT, f"{rule.id} has no case that is '{verdict}'"
        assert not (verdict in shown and (rule.id, verdict) in WITHOUT), "an exception that is none"


def test_ids_and_names_are_unique_and_stable_in_form() -> None:
    assert len(BY_ID) == len({rule.name for rule in ALL_RULES}) == len(ALL_RULES)
    prefixes = {"fabric": "FAB", "storage": "STO", "snapshots": "SNP", "spot": "SPT", "cost": "CST"}
    prefixes |= {"access": "ACC", "operations": "OPS"}
    for rule in ALL_RULES:
        assert rule.id[:3] == prefixes[rule.family]
        assert rule.id[3:].isdigit()
        assert set(rule.levels) == {"dev", "staging", "prod"}


def test_br_011_no_two_rules_ask_a_pool_on_a_capacity_block_for_opposite_things() -> None:
    for placement in (None, "close"):
        facts = Facts(node_pools=(pool(purchase="capacity_block", placement=placement),))
        found = evaluate_facts(facts, PackConfig(), today=DAY).of(Verdict.FAIL)
        about = {one.rule_id for one in found if "placement group" in one.message}
        assert about == (set() if placement is None else {"FAB012"})


@pytest.mark.parametrize("purchase", ["spot", "mixed"])
def test_br_011_spot_is_never_told_both_to_have_and_to_lack_a_placement_group(purchase: str) -> None:
    for placement in (None, "close", "spread"):
        facts = Facts(node_pools=(pool(purchase=purchase, placement=placement),))
        found = {one.rule_id for one in evaluate_facts(facts, PackConfig(), today=DAY).of(Verdict.FAIL)}
        assert not {"FAB010", "SPT005"} <= found
        assert ("SPT005" in found) is (placement == "close")


def test_storage_of_one_cluster_is_judged_by_the_nodes_of_that_cluster() -> None:
    here = pool(tags={"gpuyard:task": "lora", "gpuyard:cluster": "here"})
    there = pool(region="eu-west-1", tags={"gpuyard:task": "lora", "gpuyard:cluster": "there"})
    stores = (bucket(tags={"gpuyard:cluster": "there"}), files(tags={"gpuyard:cluster": "here"}))
    found = evaluate_facts(
        Facts(node_pools=(here, there), storage=stores), PackConfig(), today=DAY, rules=[BY_ID["STO001"]]
    )
    assert [(one.urn, one.verdict) for one in found.findings] == [
        (stores[0].urn, Verdict.FAIL),
        (stores[1].urn, Verdict.PASS),
    ]


TEXTS = st.sampled_from(
    [
        "aws",
        "alicloud",
        "tencentcloud",
        "us-east-1",
        "us-east-1d",
        "use1-az4",
        "spot",
        "mixed",
        "capacity_block",
        "close",
        "p4d.24xlarge",
        "g5.12xlarge",
        "ecs.gn7i-c8g1.2xlarge",
        "trn2.48xlarge",
        "p9.666xlarge",
        "gp3",
        "cloud_essd PL2",
        "tcp",
        "0.0.0.0/0",
        "::/0",
        "no range",
        "pretrain",
        "lora",
        "inference",
        "pip install torch==2.14.0",
        "urn",
        "",
        "70000000000",
    ]
)
TAGS = st.dictionaries(
    st.sampled_from(["gpuyard:task", "gpuyard:model-parameters", "gpuyard:cluster", "backup"]),
    st.one_of(TEXTS, st.just(Unknown("later")), st.integers(), st.none()),
    max_size=3,
)
LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "str": TEXTS,
    "int": st.integers(min_value=-3, max_value=100_000),
    "float": st.floats(min_value=-5, max_value=1e6),
    "bool": st.booleans(),
}


def strategy_of(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field's own type, by its annotation."""
    if hint is Unknown:
        return st.just(Unknown("later"))
    if hint is type(None):
        return st.none()
    if hint in (str, int, float, bool):
        return LEAVES[hint.__name__]
    arguments = get_args(hint)
    origin = getattr(hint, "__origin__", None)
    if origin is tuple:
        inner = arguments[0]
        if len(arguments) == 2 and arguments[1] is not Ellipsis:
            return st.tuples(*(strategy_of(one) for one in arguments))
        return st.lists(facts_of(inner) if inner in (DiskFact, CopyFact) else strategy_of(inner), max_size=2).map(tuple)
    if origin is not None and "Mapping" in str(origin):
        return TAGS
    return st.one_of(*(strategy_of(one) for one in arguments))


def facts_of(kind: Any) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind)
    # A reader of a cloud names its own cloud.
    given_fields = {one.name: strategy_of(hints[one.name]) for one in fields(kind) if one.name != "cloud"}
    named = {"cloud": st.sampled_from(CLOUDS)} if "cloud" in hints else {}
    return st.builds(kind, **given_fields, **named)


ANY_FACTS = st.builds(
    Facts,
    **{
        name: st.lists(facts_of(kind), max_size=2).map(tuple)
        for name, kind in {
            "node_pools": NodePoolFact,
            "storage": StorageFact,
            "disks": DiskFact,
            "schedules": SnapshotScheduleFact,
            "security_groups": SecurityGroupFact,
            "ingress": IngressFact,
            "roles": RoleFact,
            "alarms": AlarmFact,
            "budgets": BudgetFact,
            "services": ServiceFact,
            "tagged": TaggedFact,
        }.items()
    },
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(ANY_FACTS, st.sampled_from([{}, {"task": "pretrain", "model_parameters": 70e9, "monthly_budget": 10}]))
def test_no_facts_make_a_rule_break_and_every_finding_says_why(facts: Facts, config: dict[str, Any]) -> None:
    found = evaluate_facts(facts, parse_config({"profile": "prod", **config}), today=DAY)
    assert [one for one in found.findings if one.verdict is Verdict.ERROR] == []
    assert all(one.message and one.message[-1] in ".)" for one in found.findings)


def test_no_budget_is_said_once_and_stops_nobody() -> None:
    found = evaluate_facts(Facts(node_pools=(pool(),)), PackConfig(profile="prod"), today=DAY, rules=[BY_ID["CST001"]])
    stack = "urn:pulumi:test::project::pulumi:pulumi:Stack::project-test"
    assert [(one.verdict, one.level, one.urn) for one in found.findings] == [(Verdict.UNDECIDED, "advisory", stack)]
