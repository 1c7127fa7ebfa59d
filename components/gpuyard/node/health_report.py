"""Telling others whether this node is healthy: the scaler that waits for it, and the instance's tags."""

import json
from typing import List, Tuple

from gpuyard.node import commands, scaler, settings
from gpuyard.node.metadata import Client

TAG = "gpuyard:health"
CALL_SECONDS = 60


def report(healthy: bool) -> Tuple[List[str], List[str]]:
    """Tell whoever the settings name: the tags by ``GPUYARD_HEALTH_TAG=1``, the scaler by ``GPUYARD_LAUNCH_HOOK``.

    Args:
        healthy: What the checks said.

    Returns:
        What was told, and what could not be told with the reason; one does not keep the other from being tried.
    """
    told: List[str] = []
    failed: List[str] = []
    # The tag first: a node that is given up is gone soon.
    for name, wanted, tell in (
        ("HEALTH_TAG", settings.flag("HEALTH_TAG"), _tag),
        ("LAUNCH_HOOK", bool(settings.value("LAUNCH_HOOK")), _complete),
    ):
        try:
            if wanted:
                told.append(tell(healthy))
        except Exception as error:  # noqa: BLE001 - whatever keeps it from being told is said, and fails the run
            failed.append(f"GPUYARD_{name}: {error}")
    return told, failed


def _complete(healthy: bool) -> str:
    try:
        return scaler.complete("launching", "CONTINUE" if healthy else "ABANDON")
    except scaler.NotWaitingError as reason:
        # So at every boot but the first.
        return str(reason)


def _tag(healthy: bool) -> str:
    """Tag the instance.

    Sources:
        https://docs.aws.amazon.com/cli/latest/reference/ec2/create-tags.html
        https://www.alibabacloud.com/help/en/ecs/developer-reference/api-ecs-2014-05-26-tagresources
        https://www.tencentcloud.com/document/product/651/46533 (a key that is there gets the new value)
    """
    cloud, region, value = settings.cloud(), settings.value("REGION"), "healthy" if healthy else "unhealthy"
    client = Client(cloud)
    instance = client.must("instance-id")
    if cloud == "aws":
        words = ["aws", "ec2", "create-tags", "--region", region]
        words += ["--resources", instance, "--tags", f"Key={TAG},Value={value}"]
    elif cloud == "alicloud":
        words = ["aliyun", "ecs", "TagResources", "--region", region, "--RegionId", region, "--mode", "EcsRamRole"]
        words += ["--ram-role-name", client.must("ram/security-credentials/"), "--ResourceType", "instance"]
        words += ["--ResourceId.1", instance, "--Tag.1.Key", TAG, "--Tag.1.Value", value]
    else:
        role = ["--region", region, "--use-cvm-role"]
        account = json.loads(commands.run(["tccli", "sts", "GetCallerIdentity", *role], CALL_SECONDS))["AccountId"]
        words = ["tccli", "tag", "TagResources", *role, "--Tags", json.dumps([{"TagKey": TAG, "TagValue": value}])]
        words += ["--ResourceList", json.dumps([f"qcs::cvm:{region}:uin/{account}:instance/{instance}"])]
    answer = commands.run(words, CALL_SECONDS)
    if cloud == "tencentcloud" and json.loads(answer).get("FailedResources"):
        raise commands.CommandError(f"tccli tag TagResources: {answer}")
    return f"{TAG}={value}"
