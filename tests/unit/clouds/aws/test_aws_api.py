"""What is rendered, sent to AWS's own service models (botocore): every name, type, range and enumeration is right."""

from collections.abc import Callable
from typing import Any

import pytest

from ..conftest import STACKS
from ..recorder import Registered, Rendered, rendered_stack
from .api import faults, input_shape, to_api

ProdWith = Callable[[dict[str, Any]], Rendered]
TEMPLATE_NAMES = {"securityGroups": "Groups"}
KEY = "arn:aws:kms:us-east-1:123456789012:key/1"
BOUGHT = "node_pools.train.purchase"
VARIANTS: dict[str, dict[str, Any]] = {
    "reserved": {BOUGHT: "reserved", "node_pools.train.reservation": {"id": "cr-0123456789abcdef0"}},
    "group": {
        BOUGHT: "reserved",
        "node_pools.train.reservation": {
            "resource_group_arn": "arn:aws:resource-groups:us-east-1:123456789012:group/gpus"
        },
    },
    "block": {BOUGHT: "capacity_block", "node_pools.train.reservation": {"id": "cr-0123456789abcdef0"}},
    "32 cards": {"node_pools.train": {"instance_type": "p5.48xlarge", "nodes": 8, "interconnect": "rdma"}},
    "elastic": {"node_pools.train": {"gpu": "A10", "gpus_per_node": 1, "nodes": {"min": 0, "max": 8}}},
    "scratch": {"file_system": {"capacity_gib": 2400, "durability": "scratch"}},
    "backed up": {"checkpoints": ..., "node_pools.prepare": ..., "file_system.backup_keep_days": 90},
    "by jobs": {
        "node_pools.prepare.scaling": {
            "queue": {"name": "jobs", "jobs_per_node": 2},
            "schedule": {"night": {"cron": "0 20 * * *", "time_zone": "Asia/Tokyo", "min": 2, "max": 9, "desired": 4}},
        }
    },
    "fast disks": {"node_pools.train.data_disk_iops": 75_000, "node_pools.train.kms_key": KEY},
    "more addresses": {
        "node_pools.train": {
            "instance_type": "p5.48xlarge",
            "nodes": 8,
            "interconnect": "rdma",
            "aws": {"interface_layout": "high_ip"},
        }
    },
    "bare metal": {"node_pools.train": {"gpu": "T4", "bare_metal": True, "nodes": 2, "interconnect": "rdma"}},
    "own key": {"checkpoints.kms_key": KEY, "checkpoints.replicate_to": ...},
}


def without(inputs: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in inputs.items() if key not in ("region", *keys)}


def launch_template(found: Registered) -> dict[str, Any]:
    shape = input_shape("ec2", "CreateLaunchTemplate").members["LaunchTemplateData"]
    data = without(found.inputs, "description", "updateDefaultVersion", "tags")
    return {"LaunchTemplateName": found.name, "LaunchTemplateData": to_api(data, shape, TEMPLATE_NAMES)}


def scaling_group(found: Registered) -> dict[str, Any]:
    # The provider's own, or calls of their own; a list of subnets is one text in the API.
    own = ("waitForCapacityTimeout", "suspendedProcesses", "enabledMetrics", "metricsGranularity")
    inputs = without(found.inputs, "vpcZoneIdentifiers", *own)
    names = {
        "id": "LaunchTemplateId",
        "initialLifecycleHooks": "LifecycleHookSpecificationList",
        "name": "LifecycleHookName",
    }
    parameters = to_api(inputs, input_shape("autoscaling", "CreateAutoScalingGroup"), names)
    subnets = ",".join(found.inputs["vpcZoneIdentifiers"])
    return {"AutoScalingGroupName": found.name, "VPCZoneIdentifier": subnets, **parameters}


def file_system(found: Registered) -> dict[str, Any]:
    shape = input_shape("fsx", "CreateFileSystem")
    inputs = without(found.inputs, "skipFinalBackup")
    own = {member.lower() for member in shape.members}
    top = {key: value for key, value in inputs.items() if key.lower() in own}
    lustre = {key: value for key, value in inputs.items() if key.lower() not in own}
    return to_api({**top, "fileSystemType": "LUSTRE", "lustreConfiguration": lustre}, shape)


def association(found: Registered) -> dict[str, Any]:
    inputs = {**without(found.inputs), "fileSystemId": "fs-0123456789abcdef0"}
    return to_api(inputs, input_shape("fsx", "CreateDataRepositoryAssociation"))


def snapshots(found: Registered) -> dict[str, Any]:
    return to_api(without(found.inputs), input_shape("dlm", "CreateLifecyclePolicy"))


def lifecycle(found: Registered) -> dict[str, Any]:
    shape = input_shape("s3", "PutBucketLifecycleConfiguration")
    return to_api({"bucket": found.inputs["bucket"], "lifecycleConfiguration": {"rules": found.inputs["rules"]}}, shape)


def replication(found: Registered) -> dict[str, Any]:
    configuration = {key: found.inputs[key] for key in ("role", "rules")}
    shape = input_shape("s3", "PutBucketReplication")
    return to_api({"bucket": found.inputs["bucket"], "replicationConfiguration": configuration}, shape)


def encryption(found: Registered) -> dict[str, Any]:
    shape = input_shape("s3", "PutBucketEncryption")
    configuration = {"rules": found.inputs["rules"]}
    return to_api({"bucket": found.inputs["bucket"], "serverSideEncryptionConfiguration": configuration}, shape)


def group_metrics(found: Registered) -> dict[str, Any]:
    return {
        "AutoScalingGroupName": found.name,
        "Metrics": found.inputs["enabledMetrics"],
        "Granularity": found.inputs["metricsGranularity"],
    }


def hook(found: Registered) -> dict[str, Any]:
    names = {"name": "LifecycleHookName"}
    return to_api(without(found.inputs), input_shape("autoscaling", "PutLifecycleHook"), names)


def scaling_policy(found: Registered) -> dict[str, Any]:
    names = {"metricDimensions": "Dimensions"}
    shape = input_shape("autoscaling", "PutScalingPolicy")
    return {"PolicyName": found.name, **to_api(without(found.inputs), shape, names)}


def scheduled_action(found: Registered) -> dict[str, Any]:
    # The provider leaves out what is -1.
    inputs = {key: value for key, value in without(found.inputs).items() if value != -1}
    return to_api(inputs, input_shape("autoscaling", "PutScheduledUpdateGroupAction"))


def event_rule(found: Registered) -> dict[str, Any]:
    inputs = without(found.inputs, "tags")
    return {"Name": found.name, **to_api(inputs, input_shape("events", "PutRule"))}


def log_retention(found: Registered) -> dict[str, Any]:
    inputs = {"logGroupName": found.name, "retentionInDays": found.inputs["retentionInDays"]}
    return to_api(inputs, input_shape("logs", "PutRetentionPolicy"))


def queue(found: Registered) -> dict[str, Any]:
    attributes = {
        "MessageRetentionPeriod": str(int(found.inputs["messageRetentionSeconds"])),
        "SqsManagedSseEnabled": str(found.inputs["sqsManagedSseEnabled"]).lower(),
    }
    return {"QueueName": found.name, "Attributes": attributes, "tags": found.inputs["tags"]}


CALLS: dict[str, tuple[str, str, Callable[[Registered], dict[str, Any]]]] = {
    "LaunchTemplate": ("ec2", "CreateLaunchTemplate", launch_template),
    "Group": ("autoscaling", "CreateAutoScalingGroup", scaling_group),
    "LustreFileSystem": ("fsx", "CreateFileSystem", file_system),
    "DataRepositoryAssociation": ("fsx", "CreateDataRepositoryAssociation", association),
    "LifecyclePolicy": ("dlm", "CreateLifecyclePolicy", snapshots),
    "BucketLifecycleConfiguration": ("s3", "PutBucketLifecycleConfiguration", lifecycle),
    "BucketReplicationConfig": ("s3", "PutBucketReplication", replication),
    "BucketServerSideEncryptionConfiguration": ("s3", "PutBucketEncryption", encryption),
    "LifecycleHook": ("autoscaling", "PutLifecycleHook", hook),
    "Policy": ("autoscaling", "PutScalingPolicy", scaling_policy),
    "EventRule": ("events", "PutRule", event_rule),
    "LogGroup": ("logs", "PutRetentionPolicy", log_retention),
    "Queue": ("sqs", "CreateQueue", queue),
}
# Only some stacks have these.
RARE_CALLS: dict[str, tuple[str, str, Callable[[Registered], dict[str, Any]]]] = {
    "Schedule": ("autoscaling", "PutScheduledUpdateGroupAction", scheduled_action),
}


def judged(rendered: Rendered) -> list[str]:
    """Kinds of the resources that were sent to their API's model; every one must be without fault."""
    kinds: list[str] = []
    for kind, (service, operation, build) in {**CALLS, **RARE_CALLS}.items():
        for found in rendered.all(kind):
            assert faults(service, operation, build(found)) == [], found.name
            kinds.append(kind)
    return kinds


@pytest.mark.parametrize("name", STACKS)
def test_what_a_stack_renders_is_what_the_api_takes(name: str):
    kinds = judged(rendered_stack(name, preview=False))
    expected = {"LaunchTemplate", "Group", "LifecyclePolicy", "BucketLifecycleConfiguration"}
    assert expected <= set(kinds)
    if name == "aws-prod":
        assert set(kinds) == set(CALLS)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_renders_what_the_api_takes(variant: str, prod_with: ProdWith):
    assert "LaunchTemplate" in judged(prod_with(VARIANTS[variant]))


def test_the_judge_sees_a_wrong_name_type_and_enumeration():
    found = rendered_stack("aws-prod", preview=False).of_pool("LaunchTemplate")
    right = launch_template(found)
    data = right["LaunchTemplateData"]
    for wrong, fault in (
        ({"imageID": "ami-1"}, 'Unknown parameter in LaunchTemplateData: "imageID"'),
        ({"ImageId": 3}, "Invalid type for parameter LaunchTemplateData.ImageId"),
        ({"InstanceMarketOptions": {"MarketType": "capacity_block"}}, "MarketType: 'capacity_block' is none of"),
        ({"MetadataOptions": {"HttpTokens": "needed"}}, "HttpTokens: 'needed' is none of"),
    ):
        (message,) = faults("ec2", "CreateLaunchTemplate", {**right, "LaunchTemplateData": {**data, **wrong}})
        assert fault in message


def test_interfaces_reach_the_api_with_their_group_and_kind():
    found = rendered_stack("aws-prod", preview=False).of_pool("LaunchTemplate")
    first, second, *_ = launch_template(found)["LaunchTemplateData"]["NetworkInterfaces"]
    assert first == {
        "NetworkCardIndex": 0,
        "DeviceIndex": 0,
        "AssociatePublicIpAddress": False,
        "DeleteOnTermination": True,
        "Groups": ["aws-prod-network-nodes-sg-id"],
    }
    assert second["InterfaceType"] == "efa-only"


def test_the_metrics_that_scaling_divides_by_are_ones_that_a_group_can_send():
    group = rendered_stack("aws-dev", preview=False).one("Group")
    assert faults("autoscaling", "EnableMetricsCollection", group_metrics(group)) == []


def test_schedules_reach_the_api_with_what_they_change_alone():
    schedules = {one.name: one for one in rendered_stack("aws-dev", preview=False).all("Schedule")}
    assert scheduled_action(schedules["aws-dev-try-week"]) == {
        "AutoScalingGroupName": "aws-dev-try-group",
        "ScheduledActionName": "aws-dev-try-week",
        "Recurrence": "0 6 * * MON",
        "TimeZone": "Europe/Berlin",
        "MaxSize": 4,
    }
