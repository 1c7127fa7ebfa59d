"""The data of the simulated cloud, held against the SDK that it stands in for."""

from __future__ import annotations

import re

import pytest

from gpuyard.sandbox.behaviour import after_update, auto_name, behaviour, cloud, computed, look_up
from gpuyard.sandbox.schema import resource_schema

TYPES = cloud("aws").types
VPC = "aws:ec2/vpc:Vpc"
BUCKET = "aws:s3/bucket:Bucket"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


@pytest.mark.parametrize("token", TYPES)
def test_every_type_and_property_of_the_data_is_one_of_the_sdk(token: str) -> None:
    schema = resource_schema(token)
    assert schema is not None
    how = TYPES[token]
    assert set(how.replace_on) <= set(schema.inputs.properties)
    assert set(how.outputs) <= schema.output_names
    assert how.auto_name is None or how.auto_name in schema.inputs.properties
    assert how.source


def test_every_resource_that_gpuyard_makes_has_its_own_behaviour() -> None:
    from pathlib import Path

    made = set()
    for path in (Path(__file__).parents[3] / "components" / "gpuyard" / "clouds" / "aws").glob("*.py"):
        made |= set(re.findall(r"aws\.([a-z0-9]+\.[A-Z]\w+)\(\n? *f?\"", path.read_text()))
    known = {f"{token.split(':')[1].split('/')[0]}.{token.split(':')[2]}" for token in TYPES}
    assert len(made) > 20
    assert made <= known


def test_outputs_look_like_the_clouds_own() -> None:
    schema = resource_schema(VPC)
    assert schema is not None
    made_id, outputs = computed(VPC, schema, {"cidrBlock": "10.0.0.0/16", "tags": {"a": "b"}}, "cn-north-1", "aws-cn")
    assert re.fullmatch(r"vpc-[0-9a-f]{17}", made_id)
    assert outputs["arn"] == f"arn:aws-cn:ec2:cn-north-1:123456789012:vpc/{made_id}"
    assert outputs["tagsAll"] == {"a": "b"}
    assert outputs["cidrBlock"] == "10.0.0.0/16"
    assert outputs["region"] == "cn-north-1"


def test_a_name_is_the_logical_one_and_seven_digits_and_stays_for_one_seed() -> None:
    schema = resource_schema(BUCKET)
    assert schema is not None
    urn = "urn:pulumi:s::p::aws:s3/bucket:Bucket::My-Data"
    first, second = (auto_name(BUCKET, schema, {}, urn, b"seed") for _ in range(2))
    assert first == second
    assert re.fullmatch(r"my-data-[0-9a-f]{7}", first["bucket"])
    assert auto_name(BUCKET, schema, {"bucket": "mine"}, urn, b"seed") == {}
    assert auto_name(BUCKET, schema, {"bucketPrefix": "mine"}, urn, b"seed") == {}
    long = auto_name(BUCKET, schema, {}, urn + "x" * 200, b"seed")["bucket"]
    assert len(long) <= 63, "S3 takes no longer name"


def test_a_changed_template_has_a_new_version_and_keeps_its_id() -> None:
    old = {"latestVersion": 3, "defaultVersion": 3, "arn": "arn:x", "instanceType": "a"}
    new = after_update(TEMPLATE, old, {"instanceType": "b", "updateDefaultVersion": True})
    assert (new["latestVersion"], new["defaultVersion"], new["arn"], new["instanceType"]) == (4, 4, "arn:x", "b")
    assert after_update(TEMPLATE, old, {"instanceType": "b"})["defaultVersion"] == 3


def test_a_type_without_data_replaces_on_nothing_and_says_so() -> None:
    plain = behaviour("aws:sqs/queue:Queue")
    assert plain.replace_on == ()
    assert plain.id == "queue-{hex17}"
    assert "without data" in plain.source


def test_an_image_parameter_gives_the_same_image_in_one_region_and_another_elsewhere() -> None:
    def image(region: str) -> str:
        found = look_up("aws:ssm/getParameter:getParameter", {"name": "/a/ami-id"}, region, "aws", "1")
        assert found is not None
        return str(found["value"])

    assert re.fullmatch(r"ami-[0-9a-f]{17}", image("us-east-1"))
    assert image("us-east-1") == image("us-east-1") != image("us-west-2")
    assert look_up("aws:ec2/getVpc:getVpc", {}, "us-east-1", "aws", "1") is None
