"""AWS: how its metadata is asked, what its notices mean, its object storage, its scaler."""

import json
import re
from typing import Any, Dict, List

from gpuyard.node import commands, metadata, settings
from gpuyard.node.notices import Notice, UnreadableError, json_of, seconds_of

BASE = "http://169.254.169.254"
TOKEN = ("X-aws-ec2-metadata-token-ttl-seconds", "X-aws-ec2-metadata-token")
NOTICE_SECONDS = 120
_ISO = "%Y-%m-%dT%H:%M:%SZ"
# Events that stop or reboot the machine. 'system-maintenance' leaves it running, without network or power for a while.
_ENDING = ("instance-stop", "instance-retirement", "instance-reboot", "system-reboot")


def _spot(text: str) -> List[Notice]:
    found = json_of(text, dict)
    action = found.get("action")
    if action not in ("terminate", "stop", "hibernate"):
        raise UnreadableError(f"the action is {action!r}")
    try:
        return [Notice("spot", seconds_of(found.get("time"), _ISO), True, action)]
    except UnreadableError:
        return [Notice("spot", None, True, action)]  # What is to happen is certain, and that is enough.


def _rebalance(text: str) -> List[Notice]:
    noticed = json_of(text, dict).get("noticeTime")
    seconds_of(noticed, _ISO)
    return [Notice("rebalance", None, False, noticed)]


def _maintenance(text: str) -> List[Notice]:
    found: List[Notice] = []
    for event in json_of(text, list):
        if event["State"] == "active":
            when = seconds_of(event["NotBefore"], "%d %b %Y %H:%M:%S GMT")
            found.append(Notice("maintenance", when, event["Code"] in _ENDING, f"{event['Code']} {event['EventId']}"))
    return found


def _target_state(text: str) -> List[Notice]:
    if not re.match(r"[A-Z][A-Za-z:]+\Z", text):
        raise UnreadableError(f"{text[:60]!r} is no state")
    return [Notice("scale_in", None, True, text)] if text.endswith("Terminated") else []


# Sources:
#   https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
#   https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/rebalance-recommendations.html
#   https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/viewing_scheduled_events.html
#   https://docs.aws.amazon.com/autoscaling/ec2/userguide/retrieving-target-lifecycle-state-through-imds.html
SOURCES = {
    "spot": ("spot/instance-action", _spot),
    "rebalance": ("events/recommendations/rebalance", _rebalance),
    "maintenance": ("events/maintenance/scheduled", _maintenance),
    "scale_in": ("autoscaling/target-lifecycle-state", _target_state),
}


def copy_words(here: str, there: str) -> List[str]:
    """Source: https://docs.aws.amazon.com/cli/latest/reference/s3/cp.html."""
    return ["aws", "s3", "cp", here, there, "--region", settings.value("REGION"), "--only-show-errors"]


def show_words(there: str) -> List[str]:
    """An object's content, to the standard output."""
    return copy_words(there, "-")


def complete(which: str, result: str, hook: str) -> str:
    """Source: https://docs.aws.amazon.com/cli/latest/reference/autoscaling/complete-lifecycle-action.html."""
    from gpuyard.node.scaler import SECONDS, NotWaitingError

    def scaling(*words: str) -> Dict[str, Any]:
        options = ["--region", settings.value("REGION"), "--output", "json"]
        return json.loads(commands.run(["aws", "autoscaling", *words, *options], SECONDS) or "{}")

    instance = metadata.Client("aws").must("instance-id")
    found = scaling("describe-auto-scaling-instances", "--instance-ids", instance)["AutoScalingInstances"]
    begun = {"launching": "Pending", "terminating": "Terminating"}[which]
    if not found or begun not in found[0]["LifecycleState"]:
        state = f"is {found[0]['LifecycleState']}" if found else "belongs to no group"
        raise NotWaitingError(f"no scaler waits: {instance} {state}")
    group = found[0]["AutoScalingGroupName"]
    words = ["--auto-scaling-group-name", group, "--lifecycle-hook-name", hook, "--instance-id", instance]
    scaling("complete-lifecycle-action", *words, "--lifecycle-action-result", result)
    return f"{group}: {result}"
