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

from gpuyard_policy.config import PackConfig
from gpuyard_policy.evaluate import evaluate
from gpuyard_policy.facts import Facts, Record, Unknown, aws, collect_facts
from gpuyard_policy.pack import UNDECIDED_POLICY, plain, policies
from gpuyard_policy.rules import ALL_RULES
from tests.policy.resources import BUCKET, GROUP, INSTANCE, LUSTRE, TEMPLATE, urn


def resource(kind: str, name: str, props: dict[str, Any]) -> PolicyResource:
    options = PolicyResourceOptions(False, [], False, [], [], None, [])
    provider = PolicyProviderResource("pulumi:providers:aws", {"region": "us-east-1"}, "urn", "default")
    return PolicyResource(kind, unknown_checking_proxy(props), urn(kind, name), name, options, provider, None, [], {})


def run(resources: list[PolicyResource], config: dict[str, Any] | None = None) -> dict[str, list[str]]:
    reported: dict[str, list[str]] = {}
    for policy in policies():
        assert isinstance(policy, StackValidationPolicy)
        messages = reported.setdefault(policy.name, [])
        args = StackValidationArgs(resources, config or {}, {})
        policy.validate(args, lambda text, at=None, into=messages: into.append(text))
    return reported


def test_the_two_headline_rules_are_mandatory_and_the_open_questions_advisory() -> None:
    levels = {policy.name: policy.enforcement_level for policy in policies()}
    assert levels == {
        "multi-gpu-training-needs-nvlink": EnforcementLevel.MANDATORY,
        "storage-in-the-nodes-region": EnforcementLevel.MANDATORY,
        UNDECIDED_POLICY: EnforcementLevel.ADVISORY,
    }


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
    assert len(reported[UNDECIDED_POLICY]) == 1
    assert "'instanceType' is known only after the update" in reported[UNDECIDED_POLICY][0]


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
    GROUP, TEMPLATE, INSTANCE, BUCKET, LUSTRE, aws.FLEET, aws.EKS_NODE_GROUP, aws.CONFIGURATION, *aws.REPLICATIONS,
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
        GROUP, TEMPLATE, INSTANCE, aws.FLEET, aws.EKS_NODE_GROUP, aws.SPOT_REQUEST
    }  # fmt: skip
    assert {types[item.urn] for item in facts.storage} <= {*aws.BUCKETS, *aws.FILE_SYSTEMS}
    assert not evaluate(records, PackConfig(), today=date(2026, 12, 1)).broken


def test_no_resources_are_no_facts() -> None:
    assert collect_facts([]) == Facts()


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.id)
def test_every_rule_says_what_why_and_what_to_do(rule: Any) -> None:
    assert rule.title.endswith(".")
    assert len(rule.rationale) > 40
    assert len(rule.remedy) > 20
