"""The simulated provider refuses and replaces as the real one does, through the real engine."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.engine.conftest import Sandbox

Program = Callable[..., Sandbox]
RAW = """
    import pulumi
    class Raw(pulumi.CustomResource):
        pass
    Raw("{token}", "odd", {properties})
"""


@pytest.mark.parametrize(
    ("token", "properties", "message"),
    [
        (
            "aws:ec2/launchTemplate:LaunchTemplate",
            {"instanceTyp": "p4d.24xlarge"},
            "unknown property 'instanceTyp'. Did you mean 'instanceType'?",
        ),
        (
            "aws:ec2/launchTemplate:LaunchTemplate",
            {"networkInterfaces": [{"deviceIndx": 0}]},
            "unknown property 'deviceIndx'. Did you mean 'deviceIndex'?",
        ),
        ("aws:fsx/lustreFileSystem:LustreFileSystem", {"storageCapacity": 1200}, "is required, but was not given"),
        (
            "aws:autoscaling/group:Group",
            {"minSize": "many", "maxSize": 2},
            "should be a whole number, not 'many'",
        ),
        ("aws:s3/bucket:Bucket", {"tags": ["a"]}, "should be a mapping, not a list"),
        ("aws:ec2/noSuch:NoSuch", {}, "the installed SDK has no resource type 'aws:ec2/noSuch:NoSuch'"),
    ],
    ids=["unknown", "unknown nested", "missing", "wrong scalar", "wrong shape", "unknown type"],
)
def test_invalid_resource_fails_the_preview_with_name_property_and_nearest(
    program: Program, token: str, properties: dict[str, object], message: str
) -> None:
    preview = program(RAW.format(token=token, properties=properties), policies=False).run("test", "preview")
    assert preview.code != 0
    assert "odd" in preview.output
    assert message in preview.output


def test_computed_outputs_look_like_the_real_thing(program: Program) -> None:
    sandbox = program(
        """
        import pulumi, pulumi_aws as aws
        bucket = aws.s3.Bucket("data")
        system = aws.fsx.LustreFileSystem("fast", subnet_ids="subnet-1", storage_capacity=1200)
        pulumi.export("bucket", bucket.arn)
        pulumi.export("domain", bucket.bucket_regional_domain_name)
        pulumi.export("dns", system.dns_name)
        """,
        region="eu-central-1",
        policies=False,
    )
    assert sandbox.up("test").code == 0
    outputs = sandbox.session.outputs("test")
    name = outputs["bucket"].removeprefix("arn:aws:s3:::")
    assert name.startswith("data-")
    assert outputs["domain"] == f"{name}.s3.eu-central-1.amazonaws.com"
    assert outputs["dns"].startswith("fs-")
    assert outputs["dns"].endswith(".fsx.eu-central-1.amazonaws.com")


def test_china_has_its_own_partition(program: Program) -> None:
    sandbox = program(
        "import pulumi, pulumi_aws as aws\npulumi.export('arn', aws.s3.Bucket('data').arn)\n",
        region="cn-north-1",
        policies=False,
    )
    assert sandbox.up("test").code == 0
    assert sandbox.session.outputs("test")["arn"].startswith("arn:aws-cn:s3:::data-")


SYSTEM = """
    import pulumi, pulumi_aws as aws
    aws.fsx.LustreFileSystem("fast", subnet_ids="{subnet}", storage_capacity={capacity}, deployment_type="PERSISTENT_2",
        per_unit_storage_throughput=125, opts=pulumi.ResourceOptions(protect={protect}))
"""


def test_a_change_that_the_real_provider_replaces_on_shows_as_a_replacement(program: Program) -> None:
    sandbox = program(SYSTEM.format(subnet="subnet-1", capacity=1200, protect=False), policies=False)
    assert sandbox.up("test").code == 0
    grown = program(SYSTEM.format(subnet="subnet-1", capacity=2400, protect=False), policies=False)
    assert "1 to update" in grown.run("test", "preview").output
    moved = program(SYSTEM.format(subnet="subnet-2", capacity=1200, protect=False), policies=False)
    preview = moved.run("test", "preview", "--diff")
    assert "1 to replace" in preview.output
    assert "subnetIds" in preview.output


def test_a_protected_file_system_is_not_replaced(program: Program) -> None:
    sandbox = program(SYSTEM.format(subnet="subnet-1", capacity=1200, protect=True), policies=False)
    assert sandbox.up("test").code == 0
    before = sandbox.cloud()
    moved = program(SYSTEM.format(subnet="subnet-2", capacity=1200, protect=True), policies=False)
    up = moved.up("test")
    assert up.code != 0
    assert "marked for protection" in up.output
    assert moved.cloud() == before


def test_a_taken_bucket_name_is_refused(program: Program) -> None:
    text = """
    import pulumi_aws as aws
    first = aws.s3.Bucket("one", bucket="taken")
    import pulumi
    aws.s3.Bucket("two", bucket="taken", opts=pulumi.ResourceOptions(depends_on=[first]))
    """
    up = program(text, policies=False).up("test")
    assert up.code != 0
    assert "'taken' already exists" in up.output


def test_an_unknown_function_is_named(program: Program) -> None:
    text = "import pulumi_aws as aws\naws.ec2.get_vpc(default=True)\n"
    preview = program(text, policies=False).run("test", "preview")
    assert preview.code != 0
    assert "the sandbox does not simulate the function aws:ec2/getVpc:getVpc" in preview.output
