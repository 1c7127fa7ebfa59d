"""Every rule on raw resources of Tencent Cloud: it fails, passes, cannot tell, and is suppressed with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pytest

from gpuyard.catalog.limits import limit_values
from gpuyard.catalog.prices import PriceBook
from gpuyard.sandbox.behaviour import behaviour
from gpuyard.sandbox.check import check_inputs, check_values
from gpuyard.sandbox.schema import resource_schema
from gpuyard.sandbox.wire import UNKNOWN
from gpuyard_policy.evaluate import Evaluation, evaluate
from gpuyard_policy.facts import Record, Unknown
from gpuyard_policy.rules import ALL_RULES, Verdict
from gpuyard_policy.settings_file import settings_of
from tests.policy.resources import with_one_unknown
from tests.policy.tencentcloud_programs import LATER, NEVER_TOLD, NOT_HERE, PROGRAMS, Program, budget, machine

CLOUD = "tencentcloud"
FILE = Path("gpuyard-policy.yaml")
REASON = "accepted until the move to another region"
VERDICTS = ("fail", "pass", "undecided", "suppressed")
# What is suppressed is what fails; where nothing can, what cannot be told.
OPEN = {
    rule.id: PROGRAMS[rule.id, verdict]
    for rule in ALL_RULES
    for verdict in ("undecided", "fail")
    if (rule.id, verdict) in PROGRAMS
}
RECORDS = {
    f"{rule}-{verdict}-{one.name}-{place}": one
    for (rule, verdict), program in PROGRAMS.items()
    for place, one in enumerate(program.records)
}


def judged(rule: str, program: Program, **more: Any) -> Evaluation:
    config = settings_of({**program.settings, **more}, FILE)
    chosen = [one for one in ALL_RULES if one.id == rule]
    found = evaluate(program.records, config, today=date(2026, 12, 1), rules=chosen)
    assert not found.broken, found.findings
    assert found.judged == len(program.records)
    return found


@pytest.mark.parametrize(("rule", "verdict"), PROGRAMS, ids=map("-".join, PROGRAMS))
def test_a_rule_says_of_a_raw_program_what_it_should(rule: str, verdict: str) -> None:
    program = PROGRAMS[rule, verdict]
    found = judged(rule, program).findings
    worst = [one for one in found if one.verdict is Verdict(verdict)]
    assert worst, found
    assert program.says in worst[0].message
    allowed = {"fail": set(Verdict), "pass": {Verdict.PASS}, "undecided": {Verdict.PASS, Verdict.UNDECIDED}}
    assert {one.verdict for one in found} <= allowed[verdict], found


@pytest.mark.parametrize("rule", OPEN)
def test_what_is_open_can_be_suppressed_with_a_reason(rule: str) -> None:
    program = OPEN[rule]
    open_ones = judged(rule, program).of(Verdict.FAIL, Verdict.UNDECIDED)
    resources = {one.urn for one in open_ones}
    assert None not in resources, "a suppression names a resource"
    accepted = [{"rule": rule, "resource": urn, "reason": REASON} for urn in resources]
    found = judged(rule, program, suppressions=accepted)
    assert found.of(Verdict.FAIL, Verdict.UNDECIDED) == []
    assert {one.reason for one in found.of(Verdict.SUPPRESSED)} == {REASON}
    assert [one.urn for one in found.of(Verdict.SUPPRESSED)] == [one.urn for one in open_ones]


def test_every_rule_has_every_verdict_or_says_why_not() -> None:
    shown = {*PROGRAMS, *((rule, "suppressed") for rule in OPEN)}
    assert shown.isdisjoint(NOT_HERE)
    assert {*shown, *NOT_HERE} == {(rule.id, verdict) for rule in ALL_RULES for verdict in VERDICTS}
    assert all(NOT_HERE.values())


@pytest.mark.parametrize("rule", [rule for rule, verdict in PROGRAMS if verdict == "undecided"])
def test_what_cannot_be_told_hangs_on_a_value_that_is_not_known_yet(rule: str) -> None:
    records = PROGRAMS[rule, "undecided"].records
    assert any(UNKNOWN in str(as_sent([one.props, one.provider])) for one in records) or rule in NEVER_TOLD


@pytest.mark.parametrize("rule", [rule for rule, verdict in PROGRAMS if verdict == "fail"])
def test_no_fault_passes_because_a_part_of_a_resource_is_not_known_yet(rule: str) -> None:
    program = PROGRAMS[rule, "fail"]
    for place, one in enumerate(program.records):
        for props in islice(with_one_unknown(one.props), 1, None):
            changed = [*program.records[:place], replace(one, props=props), *program.records[place + 1 :]]
            found = judged(rule, replace(program, records=tuple(changed))).findings
            assert {each.verdict for each in found} - {Verdict.PASS}, props


def test_the_catalog_is_what_makes_rules_silent_here() -> None:
    """When one of these fails, the catalog has learned something, and a program should take the reason's place."""
    assert not limit_values(CLOUD, "modern_disk_families"), NOT_HERE["STO005", "fail"]
    spot = [one.item for one in PriceBook.load().prices if one.cloud == CLOUD and one.spot is not None]
    assert spot == [], NOT_HERE["SPT006", "fail"]


@pytest.mark.parametrize("props", [{}, {"budgetQuota": LATER}, {"cycleType": "DAY", "budgetQuota": "20000"}])
def test_a_budget_of_this_cloud_says_that_it_names_no_currency(props: dict[str, Any]) -> None:
    """The bills of an account are in CNY on the domestic site and in USD on the international one."""
    month = budget(**props)
    program = Program([machine(), month], "")
    (only,) = judged("CST001", program).findings
    assert (only.verdict, only.urn, only.level) == (Verdict.UNDECIDED, month.urn, "advisory")
    assert only.message == (
        "cannot tell what budget 'month' allows: the budget names no currency. Set 'monthly_budget' and "
        "'budget_currency' for the pack."
    )
    accepted = [{"rule": "CST001", "resource": "month", "reason": REASON}]
    assert [one.verdict for one in judged("CST001", program, suppressions=accepted).findings] == [Verdict.SUPPRESSED]
    (told,) = judged("CST001", program, monthly_budget=1000, budget_currency="CNY").findings
    assert (told.verdict, "over the budget of 1,000" in told.message) == (Verdict.FAIL, True)


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_the_installed_sdk_takes_every_resource(record: Record) -> None:
    schema = resource_schema(record.type)
    assert schema is not None
    inputs = cast("Mapping[str, Any]", as_sent(record.props))
    assert check_inputs(schema.inputs, inputs) == []
    assert check_values(behaviour(record.type).allowed, inputs) == []
    assert {*record.depends_on} <= {*record.props}, "what a property comes from is told of a property"


def as_sent(value: Any) -> Any:
    """A value as the engine sends it."""
    if isinstance(value, Unknown):
        return UNKNOWN
    if isinstance(value, Mapping):
        return {key: as_sent(one) for key, one in cast("Mapping[str, Any]", value).items()}
    return [as_sent(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value
