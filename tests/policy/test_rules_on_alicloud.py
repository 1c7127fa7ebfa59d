"""Every rule on raw resources of Alibaba Cloud: fails, passes, cannot tell yet, and is suppressed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from gpuyard.catalog import find_instance_types
from gpuyard.sandbox.behaviour import behaviour
from gpuyard.sandbox.check import check_inputs, check_values
from gpuyard.sandbox.schema import resource_schema
from gpuyard.sandbox.wire import UNKNOWN
from gpuyard_policy.evaluate import Evaluation, evaluate
from gpuyard_policy.facts import Record, Unknown
from gpuyard_policy.rules import ALL_RULES, Finding, Verdict
from gpuyard_policy.settings_file import settings_of
from tests.policy.alicloud_programs import CASES, NOT_HERE, Case
from tests.policy.resources import with_one_unknown

DAY = date(2026, 12, 1)
FILE = Path("gpuyard-policy.yaml")
VERDICTS = ("fail", "pass", "undecided", "suppressed")
REASON = "accepted until the move of January"
# Of each rule the program that a suppression is tried on: one that fails, or cannot be judged where none can fail.
OPEN = {case.rule: case for verdict in ("undecided", "fail") for case in CASES if case.verdict == verdict}


def judged(case: Case, *suppressions: Mapping[str, Any], today: date = DAY) -> Evaluation:
    """What a rule says of a program, with settings as their file is read."""
    settings = settings_of({"profile": "prod", **case.settings, "suppressions": list(suppressions)}, FILE)
    rules = [rule for rule in ALL_RULES if rule.id == case.rule]
    return evaluate(case.program, settings, today=today, rules=rules)


def told(case: Case) -> Finding:
    """The finding that a case is about."""
    found = judged(case).findings
    matching = [one for one in found if one.verdict.value == case.verdict and case.message in one.message]
    assert matching, found
    return matching[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}-{case.verdict}")
def test_a_rule_says_of_a_raw_program_what_it_should(case: Case) -> None:
    assert told(case).rule_id == case.rule
    if case.verdict == "pass":
        assert {one.verdict for one in judged(case).findings} == {Verdict.PASS}


@pytest.mark.parametrize("case", OPEN.values(), ids=lambda case: case.rule)
def test_a_finding_on_a_raw_program_is_suppressed_with_a_reason_until_it_expires(case: Case) -> None:
    meant = told(case)
    assert meant.urn is not None
    one = {"rule": case.rule, "resource": meant.urn, "reason": REASON, "expires": "2027-02-01"}
    found = [each for each in judged(case, one).findings if each.urn == meant.urn]
    assert (Verdict.SUPPRESSED, REASON) in [(each.verdict, each.reason) for each in found]
    assert {each.verdict for each in found} <= {Verdict.SUPPRESSED, Verdict.PASS}
    after = judged(case, one, today=date(2027, 2, 1))
    assert meant in after.findings
    assert [each.message for each in after.findings if "expired" in each.message]


def test_cases_and_exceptions_cover_every_rule_and_verdict_exactly_once() -> None:
    shown = [(case.rule, case.verdict) for case in CASES] + [(rule, "suppressed") for rule in OPEN]
    assert len(shown) == len(set(shown))
    assert not set(shown) & set(NOT_HERE)
    assert {*shown, *NOT_HERE} == {(rule.id, verdict) for rule in ALL_RULES for verdict in VERDICTS}


def test_what_the_exceptions_say_of_the_cloud_is_so() -> None:
    rows = find_instance_types("alicloud")
    assert not [row.instance_type for row in rows if row.has_rdma is False], "FAB006 can fail now"
    assert not [row.instance_type for row in rows if (row.gpu_memory_gib or 16) < 16], "FAB005 can fail by itself"


@pytest.mark.parametrize("case", [case for case in CASES if case.verdict == "fail"], ids=lambda case: case.rule)
def test_no_fault_passes_because_a_part_of_a_resource_is_not_known_yet(case: Case) -> None:
    for place, one in enumerate(case.program):
        for props in islice(with_one_unknown(one.props), 1, None):
            program = [*case.program[:place], replace(one, props=props), *case.program[place + 1 :]]
            found = judged(replace(case, program=program))
            assert {each.verdict for each in found.findings} - {Verdict.PASS}, props
            assert not found.broken


def sent(value: Any) -> Any:
    """A value as a provider is sent it."""
    if isinstance(value, Unknown):
        return UNKNOWN
    if isinstance(value, Mapping):
        return {key: sent(inner) for key, inner in value.items() if inner is not None}
    return [sent(inner) for inner in value] if isinstance(value, Sequence) and not isinstance(value, str) else value


def refusals(one: Record) -> list[str]:
    """What the simulated provider would not take of a resource."""
    schema = resource_schema(one.type)
    assert schema is not None, f"the SDK has no {one.type}"
    inputs = {key: value for key, value in sent(one.props).items() if key != "id"}
    found = [*check_inputs(schema.inputs, inputs), *check_values(behaviour(one.type).allowed, inputs)]
    return [f"{one.name}: {failure.path} {failure.reason}" for failure in found]


@pytest.mark.parametrize("rule", sorted({case.rule for case in CASES}))
def test_a_provider_takes_every_resource_of_the_programs(rule: str) -> None:
    programs = [case.program for case in CASES if case.rule == rule]
    assert [text for program in programs for one in program for text in refusals(one)] == []


def test_what_a_provider_would_not_take_is_told() -> None:
    wrong = {"instanceType": "ecs.gn7i-c8g1.2xlarge", "imageID": "m-1", "internetMaxBandwidthOut": "much"}
    assert refusals(Record("urn", "alicloud:ecs/instance:Instance", "node", wrong)) == [
        "node: imageID unknown property 'imageID'. Did you mean 'imageId'?",
        "node: internetMaxBandwidthOut should be a whole number, not 'much'",
    ]
