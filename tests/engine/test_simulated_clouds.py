"""Programs for Alibaba Cloud and Tencent Cloud live their whole life on the real engine, in the sandbox."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuyard.sandbox.engine import Engine
from gpuyard.sandbox.session import Session
from gpuyard.sandbox.workspace import Workspace, read_project
from tests.engine.conftest import POLICIES, Sandbox

Program = Callable[..., Sandbox]
SETTINGS = {"alicloud": "alicloud:region: cn-hangzhou", "tencentcloud": "tencentcloud:region: ap-guangzhou"}

ALICLOUD = """
    import pulumi
    import pulumi_alicloud as alicloud

    network = alicloud.vpc.Network("net", vpc_name="net", cidr_block="10.0.0.0/16")
    switch = alicloud.vpc.Switch(
        "nodes", vpc_id=network.id, cidr_block="10.0.0.0/24", zone_id="cn-hangzhou-{zone}", vswitch_name="nodes"
    )
    group = alicloud.ecs.SecurityGroup("nodes", vpc_id=network.id, security_group_name="nodes")
    alicloud.ecs.SecurityGroupRule(
        "inside", security_group_id=group.id, type="ingress", ip_protocol="all", source_security_group_id=group.id
    )
    bucket = alicloud.oss.Bucket("data")
    alicloud.oss.BucketAcl("data", bucket=bucket.bucket, acl="private")
    image = alicloud.ecs.get_images(name_regex="^ubuntu_22_04_x64", owners="system").images[0]
    machine = alicloud.ecs.Instance(
        "node",
        instance_type="ecs.gn7i-c8g1.2xlarge",
        image_id=image.id,
        vswitch_id=switch.id,
        security_groups=[group.id],
        system_disk_category="cloud_essd",
        data_disks=[{{"category": "cloud_essd", "size": {size}, "performance_level": "{level}"}}],
        instance_name="node",
    )
    pulumi.export("bucket", bucket.bucket)
    pulumi.export("endpoint", bucket.intranet_endpoint)
    pulumi.export("machine", machine.id)
    pulumi.export("address", machine.primary_ip_address.apply(lambda it: "ssh " + it))
    pulumi.export("zones", alicloud.get_zones().ids)
    pulumi.export("account", alicloud.get_account().id)
"""
TENCENTCLOUD = """
    import pulumi
    import tencentcloud_iac_pulumi as tencentcloud

    network = tencentcloud.vpc.Instance("net", cidr_block="10.0.0.0/16")
    subnet = tencentcloud.subnet.Instance(
        "nodes", vpc_id=network.id, cidr_block="10.0.0.0/24", availability_zone="ap-guangzhou-{zone}"
    )
    group = tencentcloud.security.Group("nodes")
    tencentcloud.security.GroupRuleSet(
        "nodes",
        security_group_id=group.id,
        egresses=[{{"action": "ACCEPT", "cidr_block": "0.0.0.0/0", "protocol": "ALL", "port": "ALL"}}],
    )
    bucket = tencentcloud.cos.Bucket("data", bucket="data-" + tencentcloud.user.get_info().app_id, acl="private")
    image = tencentcloud.images.get_instance(image_name_regex="^TencentOS", image_types=["PUBLIC_IMAGE"]).images[0]
    machine = tencentcloud.instance.Instance(
        "node",
        instance_type="PNV4.7XLARGE116",
        image_id=image.image_id,
        availability_zone="ap-guangzhou-{zone}",
        vpc_id=network.id,
        subnet_id=subnet.id,
        orderly_security_groups=[group.id],
        data_disks=[{{"data_disk_type": "CLOUD_{level}", "data_disk_size": {size}}}],
    )
    pulumi.export("bucket", bucket.bucket)
    pulumi.export("endpoint", bucket.cos_bucket_url)
    pulumi.export("machine", machine.id)
    pulumi.export("address", machine.private_ip.apply(lambda it: "ssh " + it))
    pulumi.export("network", network.name)
    zones = tencentcloud.availability.get_zones_by_product(product="cvm").zones
    pulumi.export("zones", [zone.name for zone in zones])
"""
# A first program, a change that the real provider makes in place, and one that it replaces the machine for.
LIVES = {
    "alicloud": (ALICLOUD, {"zone": "i", "size": 100, "level": "PL1"}, {"level": "PL2"}, {"size": 200}),
    "tencentcloud": (TENCENTCLOUD, {"zone": 6, "size": 100, "level": "SSD"}, {"size": 200}, {"level": "HSSD"}),
}


@pytest.fixture
def clouds(tmp_path: Path, engine: Engine) -> Program:
    """A sandbox around a program for any of the clouds, given as text; its one stack is called 'test'."""

    def make(text: str, policies: bool = True) -> Sandbox:
        root = tmp_path / "program"
        (root / "infra").mkdir(parents=True, exist_ok=True)
        (root / "Pulumi.yaml").write_text("name: someone\nruntime: python\nmain: infra\n")
        (root / "Pulumi.test.yaml").write_text("config:\n" + "".join(f"  {line}\n" for line in SETTINGS.values()))
        (root / "infra" / "__main__.py").write_text(textwrap.dedent(text))
        return Sandbox(Session(Workspace(read_project(root), engine), [POLICIES] if policies else []), root)

    return make


@pytest.mark.parametrize("cloud", LIVES)
def test_a_small_program_lives_from_preview_to_destroy(clouds: Program, cloud: str) -> None:
    text, first, _, _ = LIVES[cloud]
    # It is about the simulation: what the policies demand besides is shown by tests of their own.
    sandbox = clouds(text.format(**first), policies=False)
    preview = sandbox.run("test", "preview")
    assert preview.code == 0, preview.output
    assert sandbox.cloud() == [], "a preview makes nothing"
    up = sandbox.up("test")
    assert up.code == 0, up.output
    assert "warning" not in up.output
    assert sorted(one.id for one in sandbox.cloud()) == sorted(sandbox.recorded_ids("test").values())
    again = sandbox.run("test", "up", "--yes", "--expect-no-changes")
    assert again.code == 0, again.output
    refreshed = sandbox.run("test", "refresh", "--yes", "--expect-no-changes")
    assert refreshed.code == 0, refreshed.output
    assert sandbox.run("test", "destroy", "--yes").code == 0
    assert sandbox.cloud() == []


@pytest.mark.parametrize("cloud", LIVES)
def test_a_change_is_made_in_place_or_replaces_as_the_real_provider_does(clouds: Program, cloud: str) -> None:
    text, first, in_place, replaced = LIVES[cloud]
    sandbox = clouds(text.format(**first), policies=False)
    assert sandbox.up("test").code == 0
    before = sandbox.session.outputs("test")
    changed = clouds(text.format(**first | in_place), policies=False)
    assert re.search(r"1 updated\n +\d+ unchanged", changed.up("test").output)
    assert changed.session.outputs("test") == before
    other = clouds(text.format(**first | in_place | replaced), policies=False)
    preview = other.run("test", "preview", "--diff")
    assert "1 to replace" in preview.output
    assert "dataDisks" in preview.output
    assert other.up("test").code == 0
    after = other.session.outputs("test")
    assert after["machine"] != before["machine"]
    assert after["bucket"] == before["bucket"], "a name that the provider gave stays"


def test_outputs_and_functions_of_alicloud_look_like_its_own(clouds: Program) -> None:
    text, first, _, _ = LIVES["alicloud"]
    sandbox = clouds(text.format(**first), policies=False)
    assert sandbox.up("test").code == 0
    outputs = sandbox.session.outputs("test")
    assert re.fullmatch(r"tf-oss-bucket-\d{26}", outputs["bucket"])
    assert outputs["endpoint"] == "oss-cn-hangzhou-internal.aliyuncs.com"
    assert re.fullmatch(r"i-bp1[a-z0-9]{17}", outputs["machine"])
    assert re.fullmatch(r"ssh 192\.0\.2\.\d+", outputs["address"])
    assert outputs["zones"] == ["cn-hangzhou-a", "cn-hangzhou-b"]
    assert outputs["account"] == "1234567890123456"


def test_outputs_and_functions_of_tencentcloud_look_like_its_own(clouds: Program) -> None:
    text, first, _, _ = LIVES["tencentcloud"]
    sandbox = clouds(text.format(**first), policies=False)
    assert sandbox.up("test").code == 0
    outputs = sandbox.session.outputs("test")
    assert outputs["bucket"] == "data-1250000000"
    assert outputs["endpoint"] == "data-1250000000.cos.ap-guangzhou.myqcloud.com"
    assert re.fullmatch(r"ins-[a-z0-9]{8}", outputs["machine"])
    assert re.fullmatch(r"ssh 192\.0\.2\.\d+", outputs["address"])
    assert re.fullmatch(r"net-[0-9a-f]{7}", outputs["network"])
    assert outputs["zones"] == ["ap-guangzhou-1", "ap-guangzhou-2"]


@pytest.mark.parametrize(
    ("token", "properties", "message"),
    [
        (
            "alicloud:vpc/network:Network",
            {"cidr": "10.0.0.0/8"},
            "unknown property 'cidr'.",
        ),
        ("alicloud:nas/fileSystem:FileSystem", {"protocolType": "cpfs"}, "is required, but was not given"),
        (
            "alicloud:ecs/ecsDeploymentSet:EcsDeploymentSet",
            {"strategy": "LowLatencies"},
            "should be Availability, AvailabilityGroup or LowLatency, not 'LowLatencies'. Did you mean 'LowLatency'?",
        ),
        ("alicloud:ecs/noSuch:NoSuch", {}, "the installed SDK has no resource type 'alicloud:ecs/noSuch:NoSuch'"),
        (
            "tencentcloud:Instance/instance:Instance",
            {"availabilityZne": "ap-guangzhou-6"},
            "unknown property 'availabilityZne'. Did you mean 'availabilityZone'?",
        ),
        (
            "tencentcloud:As/scalingGroup:ScalingGroup",
            {"configurationId": "asc-1", "scalingGroupName": "g", "vpcId": "vpc-1", "minSize": "few", "maxSize": 2},
            "should be a whole number, not 'few'",
        ),
        (
            "tencentcloud:Cos/bucket:Bucket",
            {"bucket": "data"},
            "should be a name that ends in the account's app id, such as data-1250000000, not 'data'",
        ),
    ],
    ids=["unknown", "missing", "value", "unknown type", "tencent unknown", "tencent type", "tencent bucket"],
)
def test_invalid_resource_fails_the_preview_with_name_property_and_what_would_be_right(
    clouds: Program, token: str, properties: dict[str, object], message: str
) -> None:
    text = f"""
    import pulumi
    class Raw(pulumi.CustomResource):
        pass
    Raw("{token}", "odd", {properties})
    """
    preview = clouds(text, policies=False).run("test", "preview")
    assert preview.code != 0
    assert "odd" in preview.output
    assert message in preview.output


REGIONS = """
    import pulumi
    import pulumi_alicloud as alicloud
    import tencentcloud_iac_pulumi as tencentcloud

    away = pulumi.ResourceOptions(provider=alicloud.Provider("away", region="{region}"))
    pulumi.export("here", alicloud.oss.Bucket("here").location)
    pulumi.export("away", alicloud.oss.Bucket("away", opts=away).location)
    pulumi.export("other", tencentcloud.cos.Bucket("other", bucket="other-1250000000").cos_bucket_url)
"""


def test_providers_of_several_regions_and_clouds_keep_apart_and_a_new_region_replaces(clouds: Program) -> None:
    assert clouds(REGIONS.format(region="cn-beijing"), policies=False).up("test").code == 0
    moved = clouds(REGIONS.format(region="cn-shanghai"), policies=False)
    outputs = moved.session.outputs("test")
    assert outputs == {
        "here": "oss-cn-hangzhou",
        "away": "oss-cn-beijing",
        "other": "other-1250000000.cos.ap-guangzhou.myqcloud.com",
    }
    up = moved.up("test")
    assert up.code == 0, up.output
    assert re.search(r"2 replaced\n", up.output), "the provider and its bucket"
    assert moved.session.outputs("test") == outputs | {"away": "oss-cn-shanghai"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "import pulumi_alicloud as alicloud\nalicloud.vpc.get_networks()\n",
            "the sandbox does not simulate the function alicloud:vpc/getNetworks:getNetworks",
        ),
        (
            "import tencentcloud_iac_pulumi as tencentcloud\ntencentcloud.vpc.get_route_tables()\n",
            "the sandbox does not simulate the function tencentcloud:Vpc/getRouteTables:getRouteTables",
        ),
    ],
)
def test_an_unknown_function_is_named(clouds: Program, text: str, message: str) -> None:
    preview = clouds(text, policies=False).run("test", "preview")
    assert preview.code != 0
    assert message in preview.output


@pytest.mark.parametrize("cloud", LIVES)
def test_without_a_region_the_setting_is_named(clouds: Program, cloud: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, first, _, _ = LIVES[cloud]
    monkeypatch.delitem(SETTINGS, cloud)
    preview = clouds(text.format(**first), policies=False).run("test", "preview")
    assert preview.code != 0
    assert f"no region: set {cloud}:region, or 'region' of the provider" in preview.output
