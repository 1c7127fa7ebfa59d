"""The pack through the policy SDK's own wrappers, unknown values and all."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pulumi_policy import (
    EnforcementLevel,
    PolicyProviderResource,
    PolicyResource,
    PolicyResourceOptions,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, unknown_checking_proxy

from gpuyard_policy.config import PackConfig, parse_config
from gpuyard_policy.evaluate import evaluate
from gpuyard_policy.facts import Facts, Record, Unknown, collect_facts
from gpuyard_policy.facts.aws_buckets import BUCKETS
from gpuyard_policy.facts.aws_machines import CONFIGURATION
from gpuyard_policy.facts.aws_storage import FILE_SYSTEMS
from gpuyard_policy.facts.aws_templates import EKS_NODE_GROUP, FLEET, SPOT_REQUEST
from gpuyard_policy.pack import (
    ADVICE_POLICY,
    FINAL_POLICY,
    SETTINGS_POLICY,
    UNDECIDED_POLICY,
    plain,
    policies,
)
from gpuyard_policy.rules import ALL_RULES
from tests.policy.resources import BUCKET, GROUP, INSTANCE, LUSTRE, REPLICATION, TEMPLATE, urn


def resource(kind: str, name: str, props: dict[str, Any]) -> PolicyResource:
    options = PolicyResourceOptions(False, [], False, [], [], None, [])
    provider = PolicyProviderResource("pulumi:providers:aws", {"region": "us-east-1"}, "urn", "default")
    return PolicyResource(kind, unknown_checking_proxy(props), urn(kind, name), name, options, provider, None, [], {})


def run(
    resources: list[PolicyResource], config: dict[str, Any] | None = None, settings: PackConfig | None = None
) -> dict[str, list[str]]:
    reported: dict[str, list[str]] = {}
    for policy in policies(settings, lambda: date(2026, 12, 1)):
        assert isinstance(policy, StackValidationPolicy)
        messages = reported.setdefault(policy.name, [])
        args = StackValidationArgs(resources, config or {}, {})
        policy.validate(args, lambda text, at=None, into=messages: into.append(text))
    return reported


def test_each_rule_has_a_policy_with_the_strictest_level_it_can_have() -> None:
    levels = {policy.name: policy.enforcement_level for policy in policies()}
    assert len(levels) == len(ALL_RULES) + 4
    assert levels["multi-gpu-training-needs-nvlink"] is EnforcementLevel.MANDATORY
    assert levels["production-data-is-protected"] is EnforcementLevel.MANDATORY
    assert levels["spot-pool-has-several-types"] is EnforcementLevel.ADVISORY
    assert {levels[ADVICE_POLICY], levels[UNDECIDED_POLICY]} == {EnforcementLevel.ADVISORY}
    assert {levels[FINAL_POLICY], levels[SETTINGS_POLICY]} == {EnforcementLevel.MANDATORY}


def test_the_settings_decide_which_policies_there_are_and_how_strict_they_are() -> None:
    settings = parse_config({"profile": "dev", "rules": {"FAB001": {"level": "disabled"}}})
    levels = {policy.name: policy.enforcement_level for policy in policies(settings)}
    assert "multi-gpu-training-needs-nvlink" not in levels
    assert "production-data-is-protected" not in levels, "disabled in dev"
    assert levels["multi-node-training-needs-rdma"] is EnforcementLevel.ADVISORY


def test_what_is_only_advice_in_an_environment_is_reported_as_advice() -> None:
    tags = {"gpuyard:task": "inference", "gpuyard:environment": "dev"}
    open_node = {"instanceType": "g5.12xlarge", "associatePublicIpAddress": True, "tags": tags}
    dev = run([resource(INSTANCE, "dev", open_node)])
    assert dev["no-public-address-on-gpu-nodes"] == []
    assert any("[ACC002]" in text for text in dev[ADVICE_POLICY])
    prod = run([resource(INSTANCE, "prod", {**open_node, "tags": {**tags, "gpuyard:environment": "prod"}})])
    assert len(prod["no-public-address-on-gpu-nodes"]) == 1
    assert not any("[ACC002]" in text for text in prod[ADVICE_POLICY])


@pytest.mark.parametrize("undecided_fails", [True, False])
def test_a_mandatory_rule_that_stays_undecided_fails_where_that_is_set(undecided_fails: bool) -> None:
    settings = PackConfig(undecided_fails=undecided_fails)
    nothing_open = [resource(INSTANCE, "a", {"instanceType": "p9.666xlarge", "tags": {"gpuyard:task": "lora"}})]
    final = run(nothing_open, settings=settings)
    assert any("[FAB001] cannot tell" in text for text in final[FINAL_POLICY]) is undecided_fails
    assert any("[FAB001] cannot tell" in text for text in final[UNDECIDED_POLICY]) is not undecided_fails
    preview = run([*nothing_open, resource(BUCKET, "b", {"bucket": UNKNOWN_STRING_VALUE})], settings=settings)
    assert preview[FINAL_POLICY] == [], "in a preview more will become known"
    assert any("[FAB001] cannot tell" in text for text in preview[UNDECIDED_POLICY])


def test_a_run_that_judged_nothing_says_so() -> None:
    told = run([resource("random:index/x:X", "x", {})])[UNDECIDED_POLICY]
    assert told[0] == "nothing was judged, and that is no pass: of 1 resources none is of a cloud that is known."


def test_suppressed_findings_are_no_violations_and_useless_suppressions_are() -> None:
    bad = resource(INSTANCE, "bad", {"instanceType": "g5.12xlarge", "tags": {"gpuyard:task": "lora"}})
    named = {"rule": "FAB001", "reason": "accepted until the move"}
    settings = parse_config({"suppressions": [{**named, "resource": "bad"}, {**named, "resource": "nobody"}]})
    told = run([bad], settings=settings)
    assert told["multi-gpu-training-needs-nvlink"] == []
    assert ["suppresses nothing" in text for text in told[SETTINGS_POLICY]] == [True]


def test_a_policys_own_threshold_counts_for_its_rule() -> None:
    store = {"storageCapacity": 1200.0, "perUnitStorageThroughput": 250.0, "deploymentType": "PERSISTENT_2"}
    node = resource(INSTANCE, "a", {"instanceType": "p4d.24xlarge", "tags": {"gpuyard:task": "lora"}})
    told = [
        run([node, resource(LUSTRE, "fs", store)], {"throughput_mb_per_s": least})["file-system-is-fast-enough"]
        for least in (100.0, 10_000.0)
    ]
    assert told[0] == []
    assert "less than 10000" in told[1][0]


def test_the_facts_are_collected_once_for_all_policies_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuyard_policy import pack

    asked: list[int] = []

    def counted(records: list[Record]) -> Facts:
        asked.append(len(records))
        return collect_facts(records)

    monkeypatch.setattr(pack, "collect_facts", counted)
    run([resource(INSTANCE, "a", {"instanceType": "g5.12xlarge"})], {"task": "lora"})
    assert asked == [1]


def test_one_unknown_value_hides_neither_its_siblings_nor_the_next_resource() -> None:
    reported = run(
        [
            resource(INSTANCE, "late", {"instanceType": UNKNOWN_STRING_VALUE, "tags": {"gpuyard:task": "lora"}}),
            resource(
                INSTANCE,
                "bad",
                {"instanceType": "g5.12xlarge", "ami": UNKNOWN_STRING_VALUE, "tags": {"gpuyard:task": "lora"}},
            ),
            resource(BUCKET, "data", {"region": "eu-west-1", "bucket": UNKNOWN_STRING_VALUE}),
        ]
    )
    assert "pool 'bad' trains (lora)" in reported["multi-gpu-training-needs-nvlink"][0]
    assert "bucket 'data' is in eu-west-1" in reported["storage-in-the-nodes-region"][0]
    open_ones = [text for text in reported[UNDECIDED_POLICY] if "[FAB001]" in text]
    assert len(open_ones) == 1
    assert "'instanceType' is known only after the update" in open_ones[0]


def test_the_packs_config_names_the_work_of_untagged_pools() -> None:
    bad = resource(INSTANCE, "bad", {"instanceType": "g5.12xlarge"})
    assert run([bad], {"task": "pretrain"})["multi-gpu-training-needs-nvlink"]
    assert not run([bad], {"task": "inference"})["multi-gpu-training-needs-nvlink"]


def test_plain_keeps_known_values_beside_unknown_ones() -> None:
    proxy = unknown_checking_proxy({"a": 1.0, "b": [UNKNOWN_STRING_VALUE, {"c": "d", "e": UNKNOWN_STRING_VALUE}]})
    assert plain(proxy) == {
        "a": 1.0,
        "b": [
            Unknown("'b[0]' is known only after the update"),
            {"c": "d", "e": Unknown("'b[1].e' is known only after the update")},
        ],
    }


SCALARS = st.one_of(
    st.none(), st.booleans(), st.floats(allow_nan=False), st.text(max_size=8), st.just(Unknown("later")),
    st.sampled_from(["g5.12xlarge", "p4d.24xlarge", "us-east-1", "lt-1"]),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["instanceType", "tags", "launchTemplate", "mixedInstancesPolicy", "maxSize", "region", "tagSpecifications",
     "instanceTypes", "scalingConfig", "launchTemplateConfigs", "rules", "bucket", "arn", "id", "availabilityZones"]
)  # fmt: skip
TYPES = [
    GROUP, TEMPLATE, INSTANCE, BUCKET, LUSTRE, FLEET, EKS_NODE_GROUP, CONFIGURATION, REPLICATION,
    "aws:ec2/vpc:Vpc", "random:index/x:X",
]  # fmt: skip


@st.composite
def graphs(draw: st.DrawFn) -> list[Record]:
    kinds = draw(st.lists(st.sampled_from(TYPES), max_size=6))
    urns = [urn(kind, str(number)) for number, kind in enumerate(kinds)]
    links = st.dictionaries(KEYS, st.lists(st.sampled_from(urns or ["none"]), max_size=2), max_size=3)
    return [
        Record(at, kind, str(number), draw(st.dictionaries(KEYS, VALUES, max_size=5)), draw(links), {})
        for number, (kind, at) in enumerate(zip(kinds, urns, strict=True))
    ]


@settings(max_examples=300, deadline=None)
@given(graphs())
def test_random_resource_graphs_never_crash_facts_or_rules(records: list[Record]) -> None:
    facts = collect_facts(records)
    assert facts.problems == ()
    types = {record.urn: record.type for record in records}
    assert {types[pool.urn] for pool in facts.node_pools} <= {
        GROUP, TEMPLATE, INSTANCE, FLEET, EKS_NODE_GROUP, SPOT_REQUEST
    }  # fmt: skip
    assert {types[item.urn] for item in facts.storage} <= {*BUCKETS, *FILE_SYSTEMS}
    assert not evaluate(records, PackConfig(), today=date(2026, 12, 1)).broken


def test_no_resources_are_no_facts() -> None:
    assert collect_facts([]) == Facts()


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.id)
def test_every_rule_says_what_why_and_what_to_do(rule: Any) -> None:
    assert rule.title.endswith(".")
    assert len(rule.rationale) > 40
    assert len(rule.remedy) > 20
    assert all(rule.example)
    assert all(one.unit and one.meaning and one.source for one in rule.thresholds.values())
