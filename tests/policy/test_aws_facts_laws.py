"""What holds of AWS facts for every graph: nothing raises, nothing is built of another type, and time is linear."""

from __future__ import annotations

import time
from dataclasses import fields, is_dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard_policy.facts import (
    Record,
    Unknown,
    aws_access,
    aws_buckets,
    aws_interruption,
    aws_machines,
    aws_network,
    aws_operations,
    aws_snapshots,
    aws_storage,
    aws_templates,
    collect_facts,
)
from tests.policy.resources import BUCKET, GROUP, TEMPLATE, record

MODULES = (
    aws_access,
    aws_buckets,
    aws_interruption,
    aws_machines,
    aws_network,
    aws_operations,
    aws_snapshots,
    aws_storage,
    aws_templates,
)


def _tokens() -> list[str]:
    found: set[str] = set()
    for module in MODULES:
        for value in vars(module).values():
            for text in value if isinstance(value, (tuple, frozenset, dict)) else (value,):
                if isinstance(text, str) and text.startswith("aws:"):
                    found.add(text)
    return sorted(found)


TOKENS = _tokens()
KEYS = [
    "acl",
    "availabilityZone",
    "blockDeviceMappings",
    "bucket",
    "capacityReservationSpecification",
    "capacityType",
    "cidrBlocks",
    "dashboardBody",
    "defaultPolicy",
    "deploymentType",
    "destination",
    "ebs",
    "ebsBlockDevices",
    "egress",
    "encrypted",
    "eventPattern",
    "expression",
    "fileSystemId",
    "groupName",
    "id",
    "imageId",
    "ingress",
    "initialLifecycleHooks",
    "inlinePolicies",
    "instanceMarketOptions",
    "instanceRequirements",
    "instanceType",
    "instanceTypes",
    "instancesDistribution",
    "ipProtocol",
    "launchConfiguration",
    "launchTemplate",
    "launchTemplateConfigs",
    "launchTemplateSpecification",
    "limitAmount",
    "lifecycleRules",
    "managedPolicyArns",
    "maxSize",
    "metadataOptions",
    "metricName",
    "metricQueries",
    "minSize",
    "mixedInstancesPolicy",
    "name",
    "networkInterfaceId",
    "networkInterfaces",
    "overrides",
    "placement",
    "placementGroup",
    "policy",
    "policyArn",
    "policyDetails",
    "protocol",
    "region",
    "resourceTypes",
    "resources",
    "rootBlockDevice",
    "rule",
    "rules",
    "s3",
    "scalingConfig",
    "schedules",
    "securityGroupId",
    "securityGroups",
    "selectionTags",
    "self",
    "subnetId",
    "subnetIds",
    "tagSpecifications",
    "tags",
    "tagsAll",
    "taints",
    "targetTags",
    "type",
    "userData",
    "version",
    "vpcSecurityGroupIds",
    "vpcZoneIdentifiers",
    "planId",
    "Statement",
    "Effect",
    "Action",
    "Principal",
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 5),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "x", "sg-1", "-1", "*", "us-east-1a", "Enabled", "Allow", "spot", '{"Statement": [1]}', "[]"]),
    st.builds(Unknown, st.just("later")),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
PROPS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8)


@st.composite
def graphs(draw: st.DrawFn) -> list[Record]:
    kinds = draw(st.lists(st.sampled_from([*TOKENS, "aws:sqs/queue:Queue"]), min_size=1, max_size=8))
    urns = [f"urn:pulumi:s::p::{kind}::r{place}" for place, kind in enumerate(kinds)]
    links = st.dictionaries(st.sampled_from(KEYS), st.lists(st.sampled_from(urns), max_size=3), max_size=4)
    return [
        Record(urn, kind, f"r{place}", draw(PROPS), draw(links), draw(st.sampled_from([{}, {"region": "us-east-1"}])))
        for place, (urn, kind) in enumerate(zip(urns, kinds, strict=True))
    ]


def _shape(value: Any) -> Any:
    return {field.name: getattr(value, field.name) for field in fields(value)} if is_dataclass(value) else value


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_br_092_no_graph_makes_a_reader_raise(graph: list[Record]) -> None:
    facts = collect_facts(graph)
    assert facts.problems == ()
    assert facts.judged == len(graph)


READS = {
    "node_pools": (*aws_templates._LAUNCHERS, aws_machines.TEMPLATE),  # pyright: ignore[reportPrivateUsage]
    "storage": (*aws_storage.FILE_SYSTEMS, *aws_buckets.BUCKETS),
    "disks": (aws_storage.VOLUME,),
    "schedules": (aws_snapshots.POLICY, aws_snapshots.PLAN),
    "security_groups": aws_machines.SECURITY_GROUPS,
    "ingress": (*aws_machines.SECURITY_GROUPS, aws_network.RULE, aws_network.INGRESS_RULE),
    "roles": (aws_access.ROLE, *aws_access.POLICIES, *aws_access.ATTACHMENTS),
    "alarms": (aws_operations.ALARM, aws_operations.DASHBOARD, aws_operations.RULE_GROUP),
    "budgets": (aws_operations.BUDGET,),
}


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_no_fact_is_built_of_another_type(graph: list[Record]) -> None:
    kinds = {one.urn: one.type for one in graph}
    facts = collect_facts(graph)
    for name, allowed in READS.items():
        assert {kinds[fact.urn] for fact in getattr(facts, name)} <= set(allowed), name


@settings(max_examples=50, deadline=None)
@given(graphs())
def test_the_order_of_resources_changes_no_pool_and_no_group(graph: list[Record]) -> None:
    def groups(records: list[Record]) -> dict[str, Any]:
        return {fact.urn: _shape(fact) for fact in collect_facts(records).security_groups}

    assert groups(graph) == groups(graph[::-1])


def _stack(count: int) -> list[Record]:
    found: list[Record] = []
    for place in range(count // 5):
        template = record(TEMPLATE, f"t{place}", {"instanceType": "p5.48xlarge", "tags": {"a": "b"}})
        found += [
            template,
            record(GROUP, f"g{place}", {"launchTemplate": {}}, {"launchTemplate": [template.urn]}),
            record(BUCKET, f"b{place}", {"bucket": f"b{place}"}),
            record("aws:s3/bucketPolicy:BucketPolicy", f"p{place}", {"bucket": f"b{place}", "policy": "{}"}),
            record("aws:ec2/securityGroup:SecurityGroup", f"s{place}", {"ingress": [{"protocol": "-1", "self": True}]}),
        ]
    return found


def _seconds(records: list[Record]) -> float:
    start = time.process_time()
    facts = collect_facts(records)
    assert len(facts.node_pools) == len(records) // 5
    return time.process_time() - start


def test_ten_times_the_resources_take_about_ten_times_as_long() -> None:
    small, large = _stack(1000), _stack(10_000)
    least = min(_seconds(small) for _ in range(3))
    # A scan of all resources for each would take a hundred times as long.
    assert min(_seconds(large) for _ in range(2)) < 40 * max(least, 0.005)
