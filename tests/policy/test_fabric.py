"""FAB001: training on several GPUs needs NVLink between them."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from gpuyard_policy.config import PackConfig
from gpuyard_policy.evaluate import evaluate
from gpuyard_policy.facts import Record, Unknown
from gpuyard_policy.rules import ALL_RULES, Finding, Verdict
from tests.policy.resources import FLEET, GROUP, INSTANCE, NODE_GROUP, TEMPLATE, pool, record

RULE = [rule for rule in ALL_RULES if rule.id == "FAB001"]
TODAY = date(2026, 12, 1)
LATER = Unknown("'x' is known only after the update")


def findings(records: list[Record], settings: PackConfig | None = None) -> list[Finding]:
    return list(evaluate(records, settings or PackConfig(), today=TODAY, rules=RULE).findings)


def only(records: list[Record], settings: PackConfig | None = None) -> Finding:
    found = findings(records, settings)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("instance_type", "task", "verdict", "message"),
    [
        ("g5.12xlarge", "pretrain", Verdict.FAIL, "whose 4 × A10G are joined by pcie only"),
        ("g6e.48xlarge", "lora", Verdict.FAIL, "whose 8 × L40S are joined by pcie only"),
        ("p4d.24xlarge", "pretrain", Verdict.PASS, "joined by NVLink"),
        ("p3.16xlarge", "rl", Verdict.PASS, "joined by NVLink"),
        ("g5.12xlarge", "inference", Verdict.PASS, "'inference' is no training"),
        ("g5.2xlarge", "lora", Verdict.PASS, "one GPU for a job"),
        ("g5.2xlarge", "pretrain", Verdict.FAIL, "over up to 2 × g5.2xlarge of one GPU each"),
        ("trn2.48xlarge", "pretrain", Verdict.UNDECIDED, "does not know how trn2.48xlarge joins its 16 Trainium2"),
        ("p9.666xlarge", "pretrain", Verdict.UNDECIDED, "which the catalog does not know"),
        (LATER, "pretrain", Verdict.UNDECIDED, "cannot tell yet what machines pool 'trainers' has"),
        (None, "pretrain", Verdict.UNDECIDED, "it names no instance type"),
        (17.0, "pretrain", Verdict.UNDECIDED, "it names no instance type"),
        ("g5.12xlarge", LATER, Verdict.UNDECIDED, "cannot tell yet what pool 'trainers' is for"),
    ],
)
def test_a_pool_is_judged_by_its_type_and_work(instance_type: Any, task: Any, verdict: Verdict, message: str) -> None:
    found = only(pool(instance_type, task))
    assert (found.verdict, found.rule_id) == (verdict, "FAB001")
    assert message in found.message
    assert found.urn is not None
    assert found.urn.endswith("::trainers")


def test_one_single_gpu_node_is_one_job() -> None:
    assert only(pool("g5.2xlarge", nodes=1.0)).verdict is Verdict.PASS


def test_unknown_size_of_single_gpu_nodes_is_undecided() -> None:
    assert only(pool("g5.2xlarge", nodes=LATER)).verdict is Verdict.UNDECIDED


def test_no_work_known_is_said_once_for_all_pools() -> None:
    found = only([*pool("g5.12xlarge", task=None), record(INSTANCE, "lone", {"instanceType": "g5.48xlarge"})])
    assert (found.verdict, found.urn) == (Verdict.UNDECIDED, None)
    assert "no work is known for 2 pool(s) (lone, trainers): tag them 'gpuyard:task'" in found.message


def test_the_packs_own_task_serves_untagged_pools_and_yields_to_a_tag() -> None:
    settings = PackConfig(task="pretrain")
    assert only(pool("g5.12xlarge", task=None), settings).verdict is Verdict.FAIL
    assert only(pool("g5.12xlarge", task="inference"), settings).verdict is Verdict.PASS


def test_the_tag_key_can_be_set() -> None:
    records = [record(INSTANCE, "a", {"instanceType": "g5.12xlarge", "tags": {"work": "lora"}})]
    assert only(records, PackConfig(task_tag="work")).verdict is Verdict.FAIL


def test_any_bad_type_of_a_mixed_group_fails() -> None:
    template = record(TEMPLATE, "t", {"instanceType": "p4d.24xlarge", "tags": {"gpuyard:task": "vision"}})
    mixed = {"launchTemplate": {"overrides": [{"instanceType": "p4d.24xlarge"}, {"instanceType": "g5.12xlarge"}]}}
    group = record(
        GROUP, "g", {"maxSize": 4.0, "mixedInstancesPolicy": mixed}, {"mixedInstancesPolicy": [template.urn]}
    )
    assert "g5.12xlarge" in only([template, group]).message


def test_machines_chosen_by_attributes_are_undecided() -> None:
    mixed = {"launchTemplate": {"overrides": [{"instanceRequirements": {"vcpuCount": {"min": 8}}}]}}
    group = record(GROUP, "g", {"mixedInstancesPolicy": mixed, "tags": [{"key": "gpuyard:task", "value": "lora"}]})
    assert "chosen by attributes" in only([group]).message


def test_an_eks_node_group_is_judged_by_its_own_types_or_its_template() -> None:
    tags = {"gpuyard:task": "full_finetune"}
    own = record(NODE_GROUP, "own", {"instanceTypes": ["g5.48xlarge"], "tags": tags})
    template = record(TEMPLATE, "t", {"instanceType": "g6.12xlarge"})
    by_template = record(NODE_GROUP, "by", {"launchTemplate": {}, "tags": tags}, {"launchTemplate": [template.urn]})
    verdicts = {found.urn: found.verdict for found in findings([own, template, by_template])}
    assert verdicts == {own.urn: Verdict.FAIL, by_template.urn: Verdict.FAIL}


def test_a_fleet_and_a_lone_template_are_judged() -> None:
    fleet = record(
        FLEET,
        "f",
        {"launchTemplateConfigs": [{"overrides": [{"instanceType": "g5.12xlarge"}]}], "tags": {"gpuyard:task": "lora"}},
    )
    lone = record(TEMPLATE, "lone", {"instanceType": "g5.12xlarge", "tags": {"gpuyard:task": "lora"}})
    assert {found.verdict for found in findings([fleet, lone])} == {Verdict.FAIL}
    assert len(findings([fleet, lone])) == 2


def test_a_template_joined_by_its_id_in_stored_state_is_found() -> None:
    template = record(TEMPLATE, "t", {"id": "lt-1", "instanceType": "g5.12xlarge", "tags": {"gpuyard:task": "lora"}})
    group = record(GROUP, "g", {"maxSize": 1.0, "launchTemplate": {"id": "lt-1"}})
    assert only([template, group]).verdict is Verdict.FAIL


def test_a_template_of_another_stack_is_undecided() -> None:
    tags = [{"key": "gpuyard:task", "value": "lora"}]
    group = record(GROUP, "g", {"launchTemplate": {"id": "lt-elsewhere"}, "tags": tags})
    assert "its launch template is not in this stack" in only([group]).message


def test_a_broken_rule_is_its_own_error_and_the_others_go_on() -> None:
    from dataclasses import replace

    def broken(*_: object) -> list[Finding]:
        raise KeyError("oops")

    rules = [replace(RULE[0], id="BAD999", check=broken), *RULE]
    found = evaluate(pool("g5.12xlarge"), PackConfig(), today=TODAY, rules=rules).findings
    assert [(one.rule_id, one.verdict) for one in found] == [("BAD999", Verdict.ERROR), ("FAB001", Verdict.FAIL)]
    assert "the rule itself broke: KeyError: 'oops'" in found[0].message
