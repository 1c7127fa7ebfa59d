"""What the examples on Alibaba Cloud show, told from what they made."""

from __future__ import annotations

import json

from gpuyard.sandbox.cloud import CloudResource


def of_type(things: list[CloudResource], token: str) -> list[CloudResource]:
    return [thing for thing in things if thing.token == f"alicloud:{token}"]


def shows_lora_on_spot(things: list[CloudResource]) -> None:
    """Every gn7i size with one A10, from none to four, found by its tag; checkpoints by the endpoint of the region."""
    (group,) = of_type(things, "ess/scalingGroup:ScalingGroup")
    assert (group.inputs["minSize"], group.inputs["maxSize"]) == (0, 4)
    assert len(set(group.inputs["vswitchIds"])) == 2
    (configuration,) = of_type(things, "ess/scalingConfiguration:ScalingConfiguration")
    types = set(configuration.inputs["instanceTypes"])
    assert {"ecs.gn7i-c8g1.2xlarge", "ecs.gn7i-c16g1.4xlarge"} <= types
    assert all(name.startswith("ecs.gn7i-c") for name in types)
    assert configuration.inputs["systemDiskCategory"] == "cloud_essd"
    (by_tag,) = of_type(things, "cms/dynamicTagGroup:DynamicTagGroup")
    (wanted,) = by_tag.inputs["matchExpresses"]
    assert configuration.inputs["tags"][by_tag.inputs["tagKey"]] == wanted["tagValue"], "it finds the nodes"
    (bucket,) = of_type(things, "oss/bucket:Bucket")
    assert bucket.outputs["intranetEndpoint"] == "oss-cn-hangzhou-internal.aliyuncs.com"
    rights = [one.inputs["policyDocument"] for one in of_type(things, "ram/policy:Policy")]
    assert sum(bucket.id in policy for policy in rights) == 1, "nodes may use the bucket"


def shows_erdma_and_cpfs_before_the_bucket(things: list[CloudResource]) -> None:
    """Eight nodes in one deployment set, one eRDMA interface each, and a data flow slower than the file system."""
    nodes = of_type(things, "ecs/instance:Instance")
    assert {node.inputs["instanceType"] for node in nodes} == {"ecs.ebmgn7ex.32xlarge"}
    assert len(nodes) == 8
    assert {node.inputs["networkInterfaceTrafficMode"] for node in nodes} == {"HighPerformance"}
    (close,) = of_type(things, "ecs/ecsDeploymentSet:EcsDeploymentSet")
    assert close.inputs["strategy"] == "LowLatency"
    assert {node.inputs["deploymentSetId"] for node in nodes} == {close.id}
    (files,) = of_type(things, "nas/fileSystem:FileSystem")
    assert (files.inputs["fileSystemType"], files.inputs["storageType"]) == ("cpfs", "advance_100")
    assert {node.inputs["vswitchId"] for node in nodes} == {files.inputs["vswitchId"]}, "in the zone of the nodes"
    (flow,) = of_type(things, "nas/dataFlow:DataFlow")
    (bucket,) = of_type(things, "oss/bucket:Bucket")
    assert flow.inputs["sourceStorage"] == f"oss://{bucket.id}"
    assert bucket.inputs["tags"]["cpfs-dataflow"] == "true"
    assert flow.inputs["throughput"] == 1200, "below the 1406 MB/s of 14,400 GiB"
    attached = {one.inputs["diskId"] for one in of_type(things, "ecs/ecsAutoSnapshotPolicyAttachment:" + ATTACHMENT)}
    assert attached == {node.outputs["systemDiskId"] for node in nodes}


def shows_roce_and_fast_disks(things: list[CloudResource]) -> None:
    """128 GPUs in one HPC cluster, paid ahead, a PL3 disk in each, and every disk under the policy."""
    nodes = of_type(things, "ecs/instance:Instance")
    assert {node.inputs["instanceType"] for node in nodes} == {"ecs.sccgn7ex.32xlarge"}
    assert len(nodes) * 8 == 128
    (close,) = of_type(things, "ecs/hpcCluster:HpcCluster")
    assert {node.inputs["hpcClusterId"] for node in nodes} == {close.id}
    assert {(node.inputs["instanceChargeType"], node.inputs["period"]) for node in nodes} == {("PrePaid", 6)}
    disks = of_type(things, "ecs/ecsDisk:EcsDisk")
    assert {(disk.inputs["performanceLevel"], disk.inputs["size"]) for disk in disks} == {("PL3", 8000)}
    (policy,) = of_type(things, "ecs/autoSnapshotPolicy:AutoSnapshotPolicy")
    # Sunday and Wednesday 20:00 UTC are Monday and Thursday 04:00 in UTC+8.
    assert (policy.inputs["repeatWeekdays"], policy.inputs["timePoints"]) == (["1", "4"], ["4"])
    attached = {one.inputs["diskId"] for one in of_type(things, "ecs/ecsAutoSnapshotPolicyAttachment:" + ATTACHMENT)}
    assert attached == {disk.id for disk in disks} | {node.outputs["systemDiskId"] for node in nodes}
    alarms = of_type(things, "cms/alarm:Alarm")
    watched = {one["instanceId"] for alarm in alarms for one in json.loads(alarm.inputs["metricDimensions"])}
    assert watched == {node.id for node in nodes}


ATTACHMENT = "EcsAutoSnapshotPolicyAttachment"
SHOWS = {
    "alicloud/finetune-70b-ebmgn7ex": shows_erdma_and_cpfs_before_the_bucket,
    "alicloud/lora-gn7i": shows_lora_on_spot,
    "alicloud/pretraining-sccgn7ex": shows_roce_and_fast_disks,
}
