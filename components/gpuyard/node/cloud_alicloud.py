"""Alibaba Cloud: how its metadata is asked, what its notices mean, its object storage, its scaler."""

import json
from functools import lru_cache
from typing import Any, Dict, Iterator, List, cast

from gpuyard.node import commands, metadata, settings
from gpuyard.node.notices import Notice, UnreadableError, json_of, seconds_of, spot_at

BASE = "http://100.100.100.200"
TOKEN = ("X-aliyun-ecs-metadata-token-ttl-seconds", "X-aliyun-ecs-metadata-token")
NOTICE_SECONDS = 300
_ISO = "%Y-%m-%dT%H:%M:%SZ"
_ROLE = "ram/security-credentials/"


def _spot(text: str) -> List[Notice]:
    return [spot_at(seconds_of(text, _ISO), text)] if text else []


def _maintenance(text: str) -> List[Notice]:
    """What this item holds is published nowhere. The names of the API's events are looked for, in any frame."""
    answer = None if text in ("", "None") else json_of(text)
    events = list(_events(answer))
    if answer and not events:
        raise UnreadableError("events of an unknown form")
    found: List[Notice] = []
    for event in events:
        state = _name(event.get("eventcyclestatus", event.get("eventstatus")))
        if state in ("Scheduled", "Executing", "Inquiring"):
            detail = f"{_name(event.get('eventtype'))} {event.get('eventid')}"
            # What is only asked about waits for its owner's word.
            found.append(Notice("maintenance", seconds_of(event["notbefore"], _ISO), state != "Inquiring", detail))
    return found


# Neither item tells of a scale-in. Sources:
#   https://www.alibabacloud.com/help/en/ecs/user-guide/query-the-interruption-events-of-preemptible-instances
#   https://www.alibabacloud.com/help/en/ecs/user-guide/instance-metadata-items
#   https://www.alibabacloud.com/help/en/ecs/developer-reference/api-ecs-2014-05-26-describeinstancesfullstatus
SOURCES = {
    "spot": ("instance/spot/termination-time", _spot),
    "maintenance": ("/latest/maintenance/active-system-events", _maintenance),
}


def copy_words(here: str, there: str) -> List[str]:
    """Source: https://www.alibabacloud.com/help/en/oss/developer-reference/cp-upload-file."""
    return ["ossutil", "cp", "-f", here, there, *_oss_options()]


def show_words(there: str) -> List[str]:
    """An object's content, to the standard output."""
    return ["ossutil", "cat", there, *_oss_options()]


def complete(which: str, result: str, hook: str) -> str:
    """Each wait has a token, which is looked up; without a hook's name every wait for this node is ended.

    Source: https://www.alibabacloud.com/help/en/auto-scaling/developer-reference/api-ess-2022-02-22-completelifecycleaction
    """
    from gpuyard.node.scaler import SECONDS, NotWaitingError

    client = metadata.Client("alicloud")
    instance, role = client.must("instance-id"), client.must(_ROLE)
    region, group = settings.value("REGION"), settings.value("SCALING_GROUP")

    def ess(*words: str) -> Dict[str, Any]:
        options = ["--mode", "EcsRamRole", "--ram-role-name", role, "--region", region, "--RegionId", region]
        return json.loads(commands.run(["aliyun", "ess", *words, *options], SECONDS) or "{}")

    hooks = _listed(ess("DescribeLifecycleHooks", "--ScalingGroupId", group), "LifecycleHooks") if hook else []
    mine = [one["LifecycleHookId"] for one in hooks if one["LifecycleHookName"] == hook]
    told = 0
    activities = ess("DescribeScalingActivities", "--ScalingGroupId", group, "--StatusCode", "InProgress")
    for activity in _listed(activities, "ScalingActivities"):
        more: List[str] = []
        while True:
            words = ["--ScalingActivityId", activity["ScalingActivityId"], "--LifecycleActionStatus", "Pending"]
            page = ess("DescribeLifecycleActions", *words, "--MaxResults", "50", *more)
            for one in _listed(page, "LifecycleActions"):
                if instance in _listed(one, "InstanceIds") and (not hook or one["LifecycleHookId"] in mine):
                    words = ["--LifecycleHookId", one["LifecycleHookId"]]
                    words += ["--LifecycleActionToken", one["LifecycleActionToken"]]
                    ess("CompleteLifecycleAction", *words, "--LifecycleActionResult", result)
                    told += 1
            if not page.get("NextToken"):
                break
            more = ["--NextToken", page["NextToken"]]
    if not told:
        raise NotWaitingError(f"no scaling activity waits for {instance}")
    return f"{group}: {result}"


@lru_cache(maxsize=None)
def _oss_options() -> List[str]:
    region, role = settings.value("REGION"), metadata.Client("alicloud").must(_ROLE)
    inside = f"https://oss-{region}-internal.aliyuncs.com"
    # The mode without 'Ali-' asks the metadata without a token, which hardened metadata refuses.
    return ["--mode", "Ali-EcsRamRole", "--ecs-role-name", role, "--region", region, "-e", inside]


def _events(answer: Any) -> Iterator[Dict[str, Any]]:
    if isinstance(answer, dict):
        event = {key.lower(): one for key, one in cast(Dict[str, Any], answer).items()}
        if "notbefore" in event:
            yield event
            return
        answer = list(event.values())
    for one in cast(List[Any], answer) if isinstance(answer, list) else []:
        yield from _events(one)


def _name(found: Any) -> str:
    return str(cast(Dict[str, Any], found).get("Name") if isinstance(found, dict) else found)


def _listed(found: Dict[str, Any], key: str) -> List[Any]:
    """A list; the older version of the API wraps each in an object of one key."""
    held = found.get(key)
    lists: List[Any] = list(cast(Dict[str, Any], held).values()) if isinstance(held, dict) else [held]
    return (lists[0] if lists else None) or []
