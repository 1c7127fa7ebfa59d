"""What the examples of each component alone, and of two clouds in one program, show: told from what they made."""

from __future__ import annotations

import json

from gpuyard.sandbox.cloud import CloudResource

NETWORK = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet", "aws:ec2/securityGroup:SecurityGroup"


def of_type(things: list[CloudResource], token: str) -> list[CloudResource]:
    return [thing for thing in things if thing.token == token]


def shows_a_closed_network_with_a_way_in(things: list[CloudResource]) -> None:
    """No way to the internet, and the way in is in the group that is open to itself."""
    made = {thing.token for thing in things}
    assert not made & {"aws:ec2/internetGateway:InternetGateway", "aws:ec2/natGateway:NatGateway"}
    subnets = of_type(things, "aws:ec2/subnet:Subnet")
    assert {subnet.inputs["availabilityZone"] for subnet in subnets} == {"us-west-2a", "us-west-2b"}
    assert {subnet.inputs["cidrBlock"].split(".")[1] for subnet in subnets} == {"72"}
    (way_in,) = of_type(things, "aws:ec2transitgateway/instanceConnectEndpoint:InstanceConnectEndpoint")
    assert way_in.inputs["subnetId"] in {subnet.id for subnet in subnets}
    rules = [
        rule.inputs
        for kind in ("Ingress", "Egress")
        for rule in of_type(things, f"aws:vpc/securityGroup{kind}Rule:SecurityGroup{kind}Rule")
    ]
    (group,) = way_in.inputs["securityGroupIds"]
    open_to_itself = [
        rule for rule in rules if rule["securityGroupId"] == rule.get("referencedSecurityGroupId") == group
    ]
    assert [rule["ipProtocol"] for rule in open_to_itself] == ["-1", "-1"], "in both directions"


def shows_spot_machines_where_others_decide_the_network(things: list[CloudResource]) -> None:
    """Types of 24 GB in both subnets that exist, from none to six, and a right to the bucket that exists."""
    assert not {thing.token for thing in things} & {*NETWORK, "aws:s3/bucket:Bucket"}
    (group,) = of_type(things, "aws:autoscaling/group:Group")
    assert group.inputs["vpcZoneIdentifiers"] == ["subnet-0a1b2c3d4e5f60718", "subnet-0b1c2d3e4f5a60729"]
    assert (group.inputs["minSize"], group.inputs["maxSize"]) == (0, 6)
    launch = group.inputs["mixedInstancesPolicy"]
    assert launch["instancesDistribution"]["onDemandPercentageAboveBaseCapacity"] == 0
    assert len({one["instanceType"] for one in launch["launchTemplate"]["overrides"]}) > 1
    policies = [one.inputs["policy"] for one in of_type(things, "aws:iam/rolePolicy:RolePolicy")]
    assert any("arn:aws:s3:::acme-checkpoints-eu-west-1/checkpoints/*" in policy for policy in policies)


def shows_lustre_in_front_of_a_bucket_that_exists(things: list[CloudResource]) -> None:
    """4800 MB/s, and a link that only reads."""
    files, link = things
    assert files.token == "aws:fsx/lustreFileSystem:LustreFileSystem"
    assert files.inputs["storageCapacity"] * files.inputs["perUnitStorageThroughput"] == 4800 * 1000
    assert (files.inputs["subnetIds"], files.inputs["securityGroupIds"]) == (
        "subnet-0a1b2c3d4e5f60718",
        ["sg-0a1b2c3d4e5f60718"],
    )
    assert link.inputs["fileSystemId"] == files.id
    assert link.inputs["dataRepositoryPath"] == "s3://acme-datasets-us-east-1/checkpoints"
    assert set(link.inputs["s3"]) == {"autoImportPolicy"}, "nothing is written back"


def shows_a_bucket_and_its_copy_under_keys_of_ones_own(things: list[CloudResource]) -> None:
    """Two buckets in two regions, each under the key of its region, and an end for every prefix."""
    regions = {bucket.id: bucket.outputs["region"] for bucket in of_type(things, "aws:s3/bucket:Bucket")}
    assert sorted(regions.values()) == ["eu-central-1", "eu-west-1"]
    token = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
    for encryption in of_type(things, token):
        (rule,) = encryption.inputs["rules"]
        key = rule["applyServerSideEncryptionByDefault"]["kmsMasterKeyId"]
        assert key.split(":")[3] == regions[encryption.inputs["bucket"]]
    for lifecycle in of_type(things, "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"):
        ends = {rule["filter"]["prefix"]: rule.get("expiration", {}).get("days") for rule in lifecycle.inputs["rules"]}
        assert (ends["checkpoints/"], ends["releases/"]) == (90, 1095)


def shows_snapshots_of_disks_of_others(things: list[CloudResource]) -> None:
    """Nothing but a schedule with its role, which may use the key of the volumes."""
    assert {thing.token.split(":")[1].split("/")[0] for thing in things} == {"dlm", "iam"}
    (schedule,) = of_type(things, "aws:dlm/lifecyclePolicy:LifecyclePolicy")
    assert schedule.inputs["policyDetails"]["targetTags"] == {"backup": "nightly"}
    (policy,) = of_type(things, "aws:iam/rolePolicy:RolePolicy")
    used = {key for one in json.loads(policy.inputs["policy"])["Statement"] for key in one["Resource"]}
    assert used == {"arn:aws:kms:ap-northeast-1:123456789012:key/1a2b3c4d-5e6f-4a1b-8c2d-3e4f5a6b7c8d"}


def shows_alarms_for_nodes_of_others(things: list[CloudResource]) -> None:
    """Every alarm is about the group or the file system that exist, and speaks to one topic; the budget is by tag."""
    assert {thing.token.split(":")[1].split("/")[0] for thing in things} == {"cloudwatch", "kms", "sns", "budgets"}
    alarms = of_type(things, "aws:cloudwatch/metricAlarm:MetricAlarm")
    (topic,) = of_type(things, "aws:sns/topic:Topic")
    assert {one for alarm in alarms for one in alarm.inputs["alarmActions"]} == {topic.outputs["arn"]}
    assert "speech-train" in json.dumps([alarm.inputs for alarm in alarms])
    assert "fs-0a1b2c3d4e5f60718" in json.dumps([alarm.inputs for alarm in alarms])
    filters = of_type(things, "aws:cloudwatch/logMetricFilter:LogMetricFilter")
    assert {one.inputs["logGroupName"] for one in filters} == {"/speech/train"}
    (idle,) = [alarm for alarm in alarms if "gpu-idle" in alarm.id]
    assert (idle.inputs["threshold"], idle.inputs["comparisonOperator"]) == (15, "LessThanThreshold")
    (budget,) = of_type(things, "aws:budgets/budget:Budget")
    assert float(budget.inputs["limitAmount"]) == 40_000
    assert "user:gpuyard:cluster$speech" in json.dumps(budget.inputs)


def shows_two_clouds_in_one_program(things: list[CloudResource]) -> None:
    """Nodes joined by EFA in one cloud, servers on spot in the other, and each cloud's bucket beside its machines."""
    (template,) = of_type(things, "aws:ec2/launchTemplate:LaunchTemplate")
    assert template.inputs["instanceType"] == "p4d.24xlarge"
    assert [one.get("interfaceType") for one in template.inputs["networkInterfaces"]].count("efa-only") == 4
    (bucket,) = of_type(things, "aws:s3/bucket:Bucket")
    assert bucket.outputs["region"] == template.outputs["region"] == "us-east-1"
    (group,) = of_type(things, "alicloud:ess/scalingGroup:ScalingGroup")
    assert (group.inputs["minSize"], group.inputs["maxSize"]) == (1, 6)
    (models,) = of_type(things, "alicloud:oss/bucket:Bucket")
    assert models.outputs["intranetEndpoint"] == "oss-ap-southeast-1-internal.aliyuncs.com"
    switches = {one.id: one.inputs["zoneId"] for one in of_type(things, "alicloud:vpc/switch:Switch")}
    assert {switches[one] for one in group.inputs["vswitchIds"]} == {"ap-southeast-1a", "ap-southeast-1b"}


SHOWS = {
    "components/checkpoint-store": shows_a_bucket_and_its_copy_under_keys_of_ones_own,
    "components/file-system": shows_lustre_in_front_of_a_bucket_that_exists,
    "components/monitoring": shows_alarms_for_nodes_of_others,
    "components/network": shows_a_closed_network_with_a_way_in,
    "components/node-pool": shows_spot_machines_where_others_decide_the_network,
    "components/snapshot-policy": shows_snapshots_of_disks_of_others,
    "two-clouds": shows_two_clouds_in_one_program,
}
