"""All rules over a stack: levels, suppressions, and rules that break."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from gpuyard_policy.config import PackConfig, parse_config
from gpuyard_policy.evaluate import READING_RULE, SETTINGS_RULE, evaluate
from gpuyard_policy.facts import Record
from gpuyard_policy.rules import ALL_RULES, Context, Finding, Verdict
from gpuyard_policy.rules.rule import everywhere
from tests.policy.resources import INSTANCE, record, urn

DAY = date(2026, 12, 1)
RULE = next(rule for rule in ALL_RULES if rule.id == "FAB001")


def machine(name: str, environment: Any = None) -> Record:
    tags = {"gpuyard:task": "lora"} | ({} if environment is None else {"gpuyard:environment": environment})
    return record(INSTANCE, name, {"instanceType": "g5.12xlarge", "tags": tags})


def suppressed(resource: str, expires: str | None = None) -> PackConfig:
    one = {"rule": "FAB001", "resource": resource, "reason": "accepted until the move"}
    return parse_config({"suppressions": [one if expires is None else one | {"expires": date.fromisoformat(expires)}]})


def test_a_rule_that_breaks_keeps_what_it_found_and_the_others_go_on() -> None:
    def breaks(context: Context) -> Iterable[Finding]:
        yield context.finding(Verdict.FAIL, urn(INSTANCE, "a"), "found before.")
        raise KeyError("oops")

    found = evaluate([machine("a")], PackConfig(), today=DAY, rules=[replace(RULE, id="BAD999", check=breaks), RULE])
    assert [(one.rule_id, one.verdict) for one in found.findings] == [
        ("BAD999", Verdict.FAIL),
        ("BAD999", Verdict.ERROR),
        ("FAB001", Verdict.FAIL),
    ]
    assert found.findings[1].message == "the rule itself broke: KeyError: 'oops'"
    assert found.broken


@pytest.mark.parametrize(
    ("environments", "profile"),
    [((), "prod"), (("dev",), "dev"), (("dev", "staging"), "staging"), (("prod", "dev"), "prod"), (("qa",), "prod"),
     ((["dev"],), "prod"), (({"a": 1}, "dev"), "dev")],
)  # fmt: skip
def test_the_profile_is_the_strictest_that_a_tag_names_whatever_else_stands_there(
    environments: tuple[Any, ...], profile: str
) -> None:
    machines = [machine("untagged"), *(machine(str(place), one) for place, one in enumerate(environments))]
    assert evaluate(machines, PackConfig(), today=DAY).profile == profile
    assert evaluate(machines, PackConfig(profile="staging"), today=DAY).profile == "staging"


def test_findings_carry_the_level_of_the_profile_or_of_the_setting() -> None:
    rule = replace(RULE, levels={"dev": "advisory", "staging": "mandatory", "prod": "disabled"})

    def levels(config: PackConfig) -> list[str]:
        return [one.level for one in evaluate([machine("a")], config, today=DAY, rules=[rule]).findings]

    assert levels(PackConfig(profile="dev")) == ["advisory"]
    assert levels(PackConfig(profile="staging")) == ["mandatory"]
    assert levels(PackConfig(profile="prod")) == []
    assert levels(parse_config({"profile": "prod", "rules": {"FAB001": {"level": "advisory"}}})) == ["advisory"]
    assert evaluate([], PackConfig(profile="prod"), today=DAY, rules=[rule]).rules == ()


def test_br_097_a_suppression_hides_one_resource_with_its_reason_and_no_other() -> None:
    found = evaluate([machine("a"), machine("b")], suppressed("a"), today=DAY, rules=[RULE])
    assert [(one.urn, one.verdict, one.reason) for one in found.findings] == [
        (urn(INSTANCE, "a"), Verdict.SUPPRESSED, "accepted until the move"),
        (urn(INSTANCE, "b"), Verdict.FAIL, None),
    ]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (suppressed("a", "2026-12-01"), "expired on 2026-12-01. Mend the finding, or say anew why it is accepted."),
        (suppressed("nobody"), "suppresses nothing: it would hide the next fault unseen. Remove it."),
        (suppressed("*"), "would hide every resource. Name the ones that are meant."),
    ],
)
def test_a_suppression_that_is_expired_unused_or_too_wide_hides_nothing_and_fails(
    config: PackConfig, message: str
) -> None:
    rule = replace(RULE, levels=everywhere("advisory"))
    found = evaluate([machine("a")], config, today=DAY, rules=[rule]).findings
    assert [(one.rule_id, one.verdict, one.level) for one in found] == [
        ("FAB001", Verdict.FAIL, "advisory"),
        (SETTINGS_RULE, Verdict.FAIL, "mandatory"),
    ]
    assert found[1].message.endswith(message)


def test_a_suppression_counts_until_the_day_it_expires() -> None:
    found = evaluate([machine("a")], suppressed("a", "2026-12-02"), today=DAY, rules=[RULE]).findings
    assert [one.verdict for one in found] == [Verdict.SUPPRESSED]


def test_a_resource_that_no_fact_can_be_built_of_is_an_error_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from gpuyard_policy.facts import aws

    def breaks(one: Record, among: Any) -> Iterable[Any]:
        if one.name == "odd":
            raise TypeError("no such shape")
        return ()

    monkeypatch.setattr(aws, "READERS", (breaks, *aws.READERS))
    found = evaluate([machine("odd"), machine("a")], PackConfig(), today=DAY, rules=[RULE])
    errors = found.of(Verdict.ERROR)
    assert [(one.rule_id, one.urn) for one in errors] == [(READING_RULE, urn(INSTANCE, "odd"))]
    assert errors[0].message == "the resource could not be read: TypeError: no such shape"
    assert [one.urn for one in found.of(Verdict.FAIL)] == [urn(INSTANCE, "a")]
    assert found.judged == 2


def test_a_suppression_for_another_stack_is_neither_used_nor_useless() -> None:
    def verdicts(stack: str) -> list[tuple[str, Verdict]]:
        one = {"rule": "FAB001", "resource": "a", "reason": "accepted until the move", "stack": stack}
        found = evaluate([machine("a")], parse_config({"suppressions": [one]}), today=DAY, rules=[RULE])
        return [(each.rule_id, each.verdict) for each in found.findings]

    assert verdicts("test") == verdicts("te*") == [("FAB001", Verdict.SUPPRESSED)]
    assert verdicts("prod") == [("FAB001", Verdict.FAIL)]
