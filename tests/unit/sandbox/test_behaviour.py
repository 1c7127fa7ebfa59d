"""The data of the simulated clouds, held against the SDKs that they stand in for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.sandbox.behaviour import (
    after_update,
    auto_name,
    behaviour,
    cloud,
    computed,
    known_after_update,
    replacing,
)
from gpuyard.sandbox.schema import PropertyType, ResourceSchema, Shape, resource_schema

CLOUDS = ("aws", "alicloud", "tencentcloud")
TYPES = {token: how for package in CLOUDS for token, how in cloud(package).types.items()}
BUILDERS = Path(__file__).parents[3] / "components" / "gpuyard" / "clouds"
VPC = "aws:ec2/vpc:Vpc"
BUCKET = "aws:s3/bucket:Bucket"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
INSTANCE = "alicloud:ecs/instance:Instance"
MACHINE = "tencentcloud:Instance/instance:Instance"


def schema_of(token: str) -> ResourceSchema:
    schema = resource_schema(token)
    assert schema is not None
    return schema


def inner(kind: PropertyType) -> PropertyType:
    while kind.kind == "list" and kind.item is not None:
        kind = kind.item
    return kind


def type_at(shape: Shape, path: str) -> PropertyType:
    """The type at a path of the data; a path that the SDK does not have is a KeyError."""
    *first, last = path.removesuffix("[]").split(".")
    for name in first:
        found = inner(shape.properties[name].type).shape
        assert found is not None, path
        shape = found
    return shape.properties[last].type


@pytest.mark.parametrize("token", TYPES)
def test_every_type_and_property_of_the_data_is_one_of_the_sdk(token: str) -> None:
    schema = schema_of(token)
    how = TYPES[token]
    for path in how.replace_on:
        kind = type_at(schema.inputs, path)
        assert not path.endswith("[]") or inner(kind).kind == "object", path
    assert set(how.outputs) <= schema.output_names
    assert how.auto_name is None or how.auto_name in schema.inputs.properties
    assert how.source
    for path, rule in how.allowed.items():
        assert inner(type_at(schema.inputs, path)).kind == "string", path
        assert bool(rule.values) != bool(rule.pattern), path


@pytest.mark.parametrize("token", TYPES)
def test_every_id_and_output_of_the_data_can_be_made(token: str) -> None:
    schema = schema_of(token)
    required = {name: f"given-{name}" for name, known in schema.inputs.properties.items() if known.required}
    made_id, outputs = computed(token, schema, required, "region-1", token.split(":")[0])
    assert made_id
    assert "{" not in made_id
    assert not [name for name in TYPES[token].outputs if "{" in str(outputs[name])]
    assert set(outputs) <= schema.output_names | set(schema.inputs.properties)
    assert known_after_update(token, schema, required) >= set(outputs) - set(required) - {"region"}


@pytest.mark.parametrize("package", [package for package in CLOUDS if (BUILDERS / package).is_dir()])
def test_every_resource_that_gpuyard_makes_has_its_own_behaviour(package: str) -> None:
    made: set[str] = set()
    for path in (BUILDERS / package).glob("*.py"):
        made |= set(re.findall(rf"{package}\.([a-z0-9_]+\.[A-Z]\w+)\(\n? *f?\"", path.read_text()))
    known = {f"{token.split(':')[1].split('/')[0].lower()}.{token.split(':')[2]}" for token in cloud(package).types}
    assert len(made) > 10
    # A folder whose name is a word of Python's has an underscore behind it.
    assert {name.replace("_.", ".") for name in made} <= known


def test_outputs_look_like_the_clouds_own() -> None:
    made_id, outputs = computed(
        VPC, schema_of(VPC), {"cidrBlock": "10.0.0.0/16", "tags": {"a": "b"}}, "cn-north-1", "aws-cn"
    )
    assert re.fullmatch(r"vpc-[0-9a-f]{17}", made_id)
    assert outputs["arn"] == f"arn:aws-cn:ec2:cn-north-1:123456789012:vpc/{made_id}"
    assert outputs["tagsAll"] == {"a": "b"}
    assert outputs["cidrBlock"] == "10.0.0.0/16"
    assert outputs["region"] == "cn-north-1"


@pytest.mark.parametrize(
    ("token", "inputs", "id_form", "output", "form"),
    [
        ("alicloud:vpc/network:Network", {}, r"vpc-bp1[a-z0-9]{18}", "routerId", r"vrt-bp1[a-z0-9]{18}"),
        ("alicloud:vpc/network:Network", {}, r"vpc-.*", "regionId", "region-1"),
        ("alicloud:vpc/switch:Switch", {}, r"vsw-bp1[a-z0-9]{18}", "status", "Available"),
        ("alicloud:ess/scalingGroup:ScalingGroup", {}, r"asg-bp1[a-z0-9]{17}", None, ""),
        ("alicloud:nas/fileSystem:FileSystem", {"fileSystemType": "cpfs"}, r"cpfs-[0-9a-f]{16}", "status", "Running"),
        ("alicloud:nas/fileSystem:FileSystem", {}, r"[0-9a-f]{10}", "fileSystemType", "standard"),
        (
            "alicloud:nas/mountTarget:MountTarget",
            {"fileSystemId": "cpfs-1"},
            r"cpfs-1:cpfs-1-[a-z0-9]{5}\.region-1\.cpfs\.aliyuncs\.com",
            "mountTargetDomain",
            r"cpfs-1-[a-z0-9]{5}\.region-1\.cpfs\.aliyuncs\.com",
        ),
        (
            "alicloud:oss/bucket:Bucket",
            {"bucket": "b"},
            "b",
            "intranetEndpoint",
            r"oss-region-1-internal\.aliyuncs.com",
        ),
        ("alicloud:ram/role:Role", {"roleName": "r"}, "r", "arn", "acs:ram::1234567890123456:role/r"),
        (MACHINE, {}, r"ins-[a-z0-9]{8}", "systemDiskId", r"disk-[a-z0-9]{8}"),
        ("tencentcloud:Subnet/instance:Instance", {}, r"subnet-[a-z0-9]{8}", None, ""),
        ("tencentcloud:Cfs/fileSystem:FileSystem", {}, r"cfs-[0-9a-f]{8}", "mountIp", r"192\.0\.2\.\d+"),
        (
            "tencentcloud:Cos/bucket:Bucket",
            {"bucket": "b-1250000000"},
            "b-1250000000",
            "cosBucketUrl",
            r"b-1250000000\.cos\.region-1\.myqcloud\.com",
        ),
    ],
)
def test_outputs_of_the_other_clouds_look_like_theirs(
    token: str, inputs: dict[str, Any], id_form: str, output: str | None, form: str
) -> None:
    made_id, outputs = computed(token, schema_of(token), inputs, "region-1", token.split(":")[0])
    assert re.fullmatch(id_form, made_id)
    assert output is None or re.fullmatch(form, outputs[output])
    assert "tagsAll" not in outputs, "what AWS adds to every resource is AWS's own"


def test_what_only_the_cloud_gives_is_unknown_before_the_update() -> None:
    unknown = known_after_update(INSTANCE, schema_of(INSTANCE), {"instanceType": "ecs.gn7i-c8g1.2xlarge"})
    assert {"primaryIpAddress", "privateIp"} <= unknown, "an address that the program did not give is the cloud's"
    assert "privateIp" not in known_after_update(INSTANCE, schema_of(INSTANCE), {"privateIp": "10.0.0.4"})
    assert "instanceType" not in unknown


def test_a_name_is_the_logical_one_and_seven_digits_and_stays_for_one_seed() -> None:
    schema = schema_of(BUCKET)
    urn = "urn:pulumi:s::p::aws:s3/bucket:Bucket::My-Data"
    first, second = (auto_name(BUCKET, schema, {}, urn, b"seed") for _ in range(2))
    assert first == second
    assert re.fullmatch(r"my-data-[0-9a-f]{7}", first["bucket"])
    assert auto_name(BUCKET, schema, {"bucket": "mine"}, urn, b"seed") == {}
    assert auto_name(BUCKET, schema, {"bucketPrefix": "mine"}, urn, b"seed") == {}
    long = auto_name(BUCKET, schema, {}, urn + "x" * 200, b"seed")["bucket"]
    assert len(long) <= 63, "S3 takes no longer name"


@pytest.mark.parametrize(
    ("token", "form"),
    [
        ("alicloud:oss/bucket:Bucket", r"tf-oss-bucket-\d{26}"),
        ("alicloud:cms/alarm:Alarm", r"Mine-[0-9a-f]{7}"),
        ("alicloud:vpc/network:Network", None),
        ("tencentcloud:Vpc/instance:Instance", r"Mine-[0-9a-f]{7}"),
        ("tencentcloud:Cos/bucket:Bucket", None),
    ],
    ids=["the provider's own", "bridge", "deprecated name", "bridge, tencent", "none"],
)
def test_each_provider_names_what_it_names_and_nothing_else(token: str, form: str | None) -> None:
    named = auto_name(token, schema_of(token), {}, f"urn:pulumi:s::p::{token}::Mine", b"seed")
    assert named == auto_name(token, schema_of(token), {}, f"urn:pulumi:s::p::{token}::Mine", b"seed")
    assert [bool(re.fullmatch(form or "", name)) for name in named.values()] == ([] if form is None else [True])


def test_a_changed_template_has_a_new_version_and_keeps_its_id() -> None:
    old = {"latestVersion": 3, "defaultVersion": 3, "arn": "arn:x", "instanceType": "a"}
    new = after_update(TEMPLATE, old, {"instanceType": "b", "updateDefaultVersion": True})
    assert (new["latestVersion"], new["defaultVersion"], new["arn"], new["instanceType"]) == (4, 4, "arn:x", "b")
    assert after_update(TEMPLATE, old, {"instanceType": "b"})["defaultVersion"] == 3
    theirs = after_update("alicloud:ecs/ecsLaunchTemplate:EcsLaunchTemplate", {"latestVersionNumber": 1}, {})
    assert theirs == {"latestVersionNumber": 2}


@pytest.mark.parametrize(
    ("token", "plain_id"),
    [("aws:mq/broker:Broker", "broker-{hex17}"), ("tencentcloud:Clb/instance:Instance", "instance-{hex17}")],
)
def test_a_type_without_data_replaces_on_nothing_and_says_so(token: str, plain_id: str) -> None:
    plain = behaviour(token)
    assert plain.replace_on == ()
    assert plain.id == plain_id
    assert "without data" in plain.source


DISKS = {"dataDisks": [{"dataDiskType": "CLOUD_SSD", "dataDiskSize": 100}]}


@pytest.mark.parametrize(
    ("token", "old", "new", "paths"),
    [
        (INSTANCE, {"dataDisks": [{"size": 40}]}, {"dataDisks": [{"size": 80}]}, {"dataDisks.size"}),
        (INSTANCE, {"dataDisks": [{"size": 40}]}, {"dataDisks": [{"size": 40, "performanceLevel": "PL1"}]}, set()),
        (INSTANCE, {"dataDisks": [{"size": 40}]}, {}, {"dataDisks.size"}),
        (INSTANCE, {"instanceType": "a"}, {"instanceType": "b"}, set()),
        (INSTANCE, {}, {"hpcClusterId": "hpc-1"}, {"hpcClusterId"}),
        (MACHINE, DISKS, {"dataDisks": [{"dataDiskType": "CLOUD_SSD", "dataDiskSize": 200}]}, set()),
        (MACHINE, DISKS, {"dataDisks": [*DISKS["dataDisks"]] * 2}, {"dataDisks[]", "dataDisks.dataDiskType"}),
        (MACHINE, {}, {"region": "elsewhere"}, set()),
        (VPC, {"region": "us-east-1"}, {"region": "us-west-2"}, {"region"}),
    ],
    ids=["in a list", "beside", "gone", "in place", "new", "size of a disk", "one more disk", "no region", "region"],
)
def test_a_change_replaces_exactly_where_the_real_provider_does(
    token: str, old: dict[str, Any], new: dict[str, Any], paths: set[str]
) -> None:
    assert replacing(token, old, new) == paths


LEAVES = st.one_of(st.none(), st.text("ab", max_size=2), st.integers(0, 3))
BLOCKS = st.fixed_dictionaries({}, optional={"size": LEAVES, "category": LEAVES, "performanceLevel": LEAVES})
INPUTS = st.fixed_dictionaries(
    {}, optional={"dataDisks": st.lists(BLOCKS, max_size=3), "hpcClusterId": LEAVES, "instanceType": LEAVES}
)


@given(INPUTS, INPUTS)
def test_what_replaces_does_so_in_both_directions_and_never_without_a_change(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    assert replacing(INSTANCE, old, new) == replacing(INSTANCE, new, old)
    assert replacing(INSTANCE, old, old) == set()
