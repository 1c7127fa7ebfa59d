"""What the simulated provider refuses, and what it calls a change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.sandbox.behaviour import behaviour
from gpuyard.sandbox.check import check_inputs, check_values
from gpuyard.sandbox.diff import changes
from gpuyard.sandbox.schema import resource_schema
from gpuyard.sandbox.wire import SIGNATURE, UNKNOWN, from_struct, to_struct


def failures(token: str, inputs: dict) -> list[tuple[str, str]]:
    schema = resource_schema(token)
    assert schema is not None
    return [(one.path, one.reason) for one in check_inputs(schema.inputs, inputs)]


TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GROUP = "aws:autoscaling/group:Group"


@pytest.mark.parametrize(
    ("token", "inputs", "expected"),
    [
        (TEMPLATE, {"instanceType": "p4d.24xlarge"}, []),
        (
            TEMPLATE,
            {"instance_type": "x"},
            [("instance_type", "unknown property 'instance_type'. Did you mean 'instanceType'?")],
        ),
        (
            TEMPLATE,
            {"blockDeviceMappings": [{"ebs": {"volumeSize": "big", "encrypted": True}}]},
            [
                ("blockDeviceMappings[0].ebs.volumeSize", "should be a whole number, not 'big'"),
                ("blockDeviceMappings[0].ebs.encrypted", "should be text, not True"),
            ],
        ),
        (TEMPLATE, {"tags": {"a": 1}}, [("tags.a", "should be text, not 1")]),
        (GROUP, {"minSize": 1}, [("maxSize", "is required, but was not given")]),
        (GROUP, {"minSize": 1.5, "maxSize": "2"}, [("minSize", "should be a whole number, not 1.5")]),
        (GROUP, {"minSize": UNKNOWN, "maxSize": {SIGNATURE: "secret"}, "tags": UNKNOWN}, []),
        (
            GROUP,
            {"minSize": 1, "maxSize": 1, "capacityRebalance": "yes"},
            [("capacityRebalance", "should be true or false, not 'yes'")],
        ),
        (GROUP, {"minSize": 1, "maxSize": 1, "__defaults": []}, []),
        (GROUP, {"minSize": None, "maxSize": 1}, [("minSize", "is required, but was not given")]),
    ],
)
def test_inputs_are_checked_at_every_depth(token: str, inputs: dict, expected: list[tuple[str, str]]) -> None:
    assert failures(token, inputs) == expected


@pytest.mark.parametrize(
    ("token", "inputs", "expected"),
    [
        ("alicloud:ecs/ecsDeploymentSet:EcsDeploymentSet", {"strategy": "LowLatency"}, []),
        (
            "alicloud:ecs/ecsDeploymentSet:EcsDeploymentSet",
            {"strategy": "LowLatencies"},
            [
                (
                    "strategy",
                    "should be Availability, AvailabilityGroup or LowLatency, not 'LowLatencies'. "
                    "Did you mean 'LowLatency'?",
                )
            ],
        ),
        (
            "alicloud:ecs/instance:Instance",
            {"networkInterfaces": [{}, {"networkInterfaceTrafficMode": "RDMA"}, UNKNOWN]},
            [
                (
                    "networkInterfaces[1].networkInterfaceTrafficMode",
                    "should be Standard or HighPerformance, not 'RDMA'",
                )
            ],
        ),
        ("alicloud:ecs/instance:Instance", {"spotStrategy": UNKNOWN, "httpTokens": {SIGNATURE: "secret"}}, []),
        ("alicloud:oss/bucket:Bucket", {"versioning": {"status": "enabled"}}, ["versioning.status"]),
        ("tencentcloud:Cfs/fileSystem:FileSystem", {"storageType": "TURBO", "protocol": "TURBO"}, ["storageType"]),
        ("tencentcloud:Cos/bucket:Bucket", {"bucket": "data-1250000000"}, []),
        (
            "tencentcloud:Cos/bucket:Bucket",
            {"bucket": "data"},
            [("bucket", "should be a name that ends in the account's app id, such as data-1250000000, not 'data'")],
        ),
    ],
)
def test_a_value_outside_the_documented_set_is_refused_with_the_set(
    token: str, inputs: dict, expected: list[tuple[str, str] | str]
) -> None:
    found = [(one.path, one.reason) for one in check_values(behaviour(token).allowed, inputs)]
    whole = [one if isinstance(wanted, tuple) else one[0] for one, wanted in zip(found, expected, strict=True)]
    assert whole == expected


@pytest.mark.parametrize(
    ("token", "inputs", "expected"),
    [
        (
            "alicloud:ecs/instance:Instance",
            {"dataDisks": [{"category": "cloud_essd"}]},
            [("dataDisks[0].size", "is required, but was not given")],
        ),
        (
            "alicloud:nas/fileSystem:FileSystem",
            {"protocolType": "cpfs", "storageType": "advance_200", "capacity": "much"},
            [("capacity", "should be a whole number, not 'much'")],
        ),
        (
            "tencentcloud:As/scalingConfig:ScalingConfig",
            {"configurationName": "c", "instanceTypes": "PNV4.7XLARGE116"},
            [("instanceTypes", "should be a list, not 'PNV4.7XLARGE116'")],
        ),
        (
            "tencentcloud:Subnet/instance:Instance",
            {"vpcId": "vpc-1", "cidrBlok": "10.0.0.0/24", "availabilityZone": "ap-guangzhou-6"},
            [
                ("cidrBlok", "unknown property 'cidrBlok'. Did you mean 'cidrBlock'?"),
                ("cidrBlock", "is required, but was not given"),
            ],
        ),
        (
            "tencentcloud:Instance/instance:Instance",
            {"availabilityZone": "ap-guangzhou-6", "disasterRecoverGroupIds": ["ps-1"]},
            [("disasterRecoverGroupIds", "unknown property 'disasterRecoverGroupIds'.")],
        ),
    ],
    ids=["nested", "number", "list", "misspelt", "newer than the SDK"],
)
def test_the_other_clouds_inputs_are_checked_at_every_depth(
    token: str, inputs: dict, expected: list[tuple[str, str]]
) -> None:
    assert failures(token, inputs) == expected


def test_a_type_that_contains_itself_is_read() -> None:
    statement = {"orStatement": {"statements": [{"notStatement": {"statements": [{"oddStatement": {}}]}}]}}
    rule = {"name": "r", "priority": 1, "visibilityConfig": {}, "statement": statement}
    found = failures(
        "aws:wafv2/ruleGroup:RuleGroup", {"capacity": 1, "scope": "REGIONAL", "visibilityConfig": {}, "rules": [rule]}
    )
    assert any("oddStatement" in path for path, _ in found)


VALUES = st.recursive(
    st.one_of(st.booleans(), st.integers(-9, 9), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("abc", max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text("abc", min_size=1, max_size=2), VALUES, max_size=4)


@given(OBJECTS)
def test_nothing_differs_from_itself(inputs: dict) -> None:
    assert changes(inputs, inputs) == []


@given(OBJECTS, OBJECTS)
def test_a_difference_is_seen_from_both_sides_as_each_others_opposite(old: dict, new: dict) -> None:
    opposite = {"add": "delete", "delete": "add", "update": "update"}
    there = {(one.path, one.kind) for one in changes(old, new)}
    back = {(one.path, opposite[one.kind]) for one in changes(new, old)}
    assert there == back
    assert bool(there) == (old != new)


@given(OBJECTS)
def test_values_survive_the_wire(inputs: dict) -> None:
    assert from_struct(to_struct(inputs)) == inputs
