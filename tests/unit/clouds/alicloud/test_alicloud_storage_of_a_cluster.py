"""Storage and monitoring of whole clusters on Alibaba Cloud: what the parts are told of each other."""

import json

import pytest

from ..recorder import Rendered, rendered_stack


@pytest.fixture
def prod(preview: bool) -> Rendered:
    return rendered_stack("alicloud-prod", preview=preview)


@pytest.fixture
def made() -> Rendered:
    """The same as an update: ids are known."""
    return rendered_stack("alicloud-prod", preview=False)


def test_br_061_system_and_data_disks_of_machines_are_attached(prod: Rendered):
    attached = {one.name for one in prod.all("EcsAutoSnapshotPolicyAttachment")}
    assert attached == {
        f"alicloud-prod-train-{number}-{disk}-snapshots" for number in range(4) for disk in ("system", "data")
    }
    for node in prod.all("alicloud:ecs/instance:Instance"):
        assert "systemDiskAutoSnapshotPolicyId" not in node.inputs
        assert not node.inputs.get("dataDisks")


def test_disks_that_a_scaling_group_makes_are_told_the_policy(made: Rendered):
    configuration = made.one("ScalingConfiguration").inputs
    policy = made.one("AutoSnapshotPolicy").name
    assert configuration["systemDiskAutoSnapshotPolicyId"] == f"{policy}-id"


def test_br_062_nothing_else_names_the_policy(made: Rendered):
    policy = f"{made.one('AutoSnapshotPolicy').name}-id"
    naming = {one.type for one in made if policy in json.dumps(one.inputs)}
    assert naming <= {
        "alicloud:ecs/ecsAutoSnapshotPolicyAttachment:EcsAutoSnapshotPolicyAttachment",
        "alicloud:ess/scalingConfiguration:ScalingConfiguration",
        "gpuyard:index:GpuNodePool",
    }


def test_the_flow_is_of_the_cluster_s_own_bucket_and_comes_after_its_mount_target(made: Rendered):
    flow = made.one("DataFlow")
    assert flow.inputs["sourceStorage"] == "oss://alicloud-prod-checkpoints-1a2b3c"
    assert "alicloud-prod-posix" in flow.depends_on


@pytest.mark.parametrize(
    ("stack", "mounted"),
    [("alicloud-prod", "nas/protocolMountTarget"), ("alicloud-dev", "nas/mountTarget")],
)
def test_nodes_wait_for_what_they_mount(stack: str, mounted: str):
    rendered = rendered_stack(stack, preview=False)
    waiting = [*rendered.all("ScalingConfiguration"), *rendered.all("alicloud:ecs/instance:Instance")]
    assert waiting
    for one in waiting:
        assert any(f"alicloud:{mounted}:" in urn for urn in one.request.dependencies), one.name


@pytest.mark.parametrize("stack", ["alicloud-dev", "alicloud-staging", "alicloud-prod"])
def test_br_064_a_file_system_is_in_the_zone_of_the_cluster(stack: str, preview: bool):
    rendered = rendered_stack(stack, preview=preview)
    system = rendered.one("alicloud:nas/fileSystem:FileSystem").inputs
    assert system["zoneId"] in {switch.inputs["zoneId"] for switch in rendered.all("alicloud:vpc/switch:Switch")}
    assert ("vpcId" in system) is (system["fileSystemType"] == "cpfs")


def test_a_nas_of_a_cluster_is_mounted_from_its_network():
    rendered = rendered_stack("alicloud-dev", preview=False)
    network = rendered.one("alicloud:vpc/network:Network").inputs
    assert rendered.one("AccessRule").inputs["sourceCidrIp"] == network["cidrBlock"]


def test_pools_are_watched_each_in_its_way(made: Rendered):
    machines = made.one("Alarm", "alicloud-prod-train-gpu-idle").inputs
    ids = [one["instanceId"] for one in json.loads(machines["metricDimensions"])]
    assert ids == [f"{node.name}-id" for node in made.all("alicloud:ecs/instance:Instance")]
    (group,) = made.all("DynamicTagGroup")
    (match,) = group.inputs["matchExpresses"]
    assert made.one("ScalingConfiguration").inputs["tags"]["gpuyard:pool"] == match["tagValue"]


def test_data_of_prod_is_protected_and_nothing_else(prod: Rendered):
    protected = {one.type for one in prod if one.request.protect}
    assert protected == {"alicloud:nas/fileSystem:FileSystem", "alicloud:oss/bucket:Bucket"}
