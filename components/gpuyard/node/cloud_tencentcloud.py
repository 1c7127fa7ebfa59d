"""Tencent Cloud: how its metadata is asked, what its notice means, its object storage, its scaler."""

import json
from functools import lru_cache
from typing import Any, Dict, List

from gpuyard.node import commands, metadata, settings
from gpuyard.node.notices import Notice, seconds_of, spot_at

BASE = "http://metadata.tencentyun.com"
TOKEN = ()
NOTICE_SECONDS = 120
# The time is of UTC+8, whatever the machine's own zone is.
_EAST_SECONDS = 8 * 3600


def _spot(text: str) -> List[Notice]:
    return [spot_at(seconds_of(text, "%Y-%m-%d %H:%M:%S") - _EAST_SECONDS, text)] if text else []


# The metadata tells neither of maintenance nor of a scale-in: the hook's own command runs 'leave'. Sources:
#   https://www.tencentcloud.com/document/product/213/32487
#   https://www.tencentcloud.com/document/product/213/4934
SOURCES = {"spot": ("spot/termination-time", _spot)}


def copy_words(here: str, there: str) -> List[str]:
    """Source: https://www.tencentcloud.com/document/product/436/46273."""
    return ["coscli", "cp", here, there, *_cos_options()]


def show_words(there: str) -> List[str]:
    """An object's content, to the standard output."""
    return ["coscli", "cat", there, *_cos_options()]


def complete(which: str, result: str, hook: str) -> str:
    """It needs PyPI tccli, and takes the instance instead of a token.

    Sources: https://www.tencentcloud.com/document/product/377/33200,
    https://cloud.tencent.com/document/product/440/96291 (--use-cvm-role)
    """
    from gpuyard.node.scaler import SECONDS, NotWaitingError

    def scaling(*words: str) -> Dict[str, Any]:
        options = ["--region", settings.value("REGION"), "--use-cvm-role"]
        return json.loads(commands.run(["tccli", "as", *words, *options], SECONDS) or "{}")

    instance = metadata.Client("tencentcloud").must("instance-id")
    found = scaling("DescribeAutoScalingInstances", "--InstanceIds", json.dumps([instance]))["AutoScalingInstanceSet"]
    if not found:
        raise NotWaitingError(f"no scaler waits: {instance} belongs to no group")
    group = found[0]["AutoScalingGroupId"]
    wanted = json.dumps([{"Name": "auto-scaling-group-id", "Values": [group]}])
    hooks = scaling("DescribeLifecycleHooks", "--Filters", wanted)["LifecycleHookSet"]
    mine = [one["LifecycleHookId"] for one in hooks if one["LifecycleHookName"] == hook]
    if not mine:
        raise NotWaitingError(f"{group} has no hook {hook}")
    words = ["--LifecycleHookId", mine[0], "--InstanceId", instance, "--LifecycleActionResult", result]
    scaling("CompleteLifecycleAction", *words)
    return f"{group}: {result}"


@lru_cache(maxsize=None)
def _cos_options() -> List[str]:
    """Without a file of its own the command would ask for keys.

    Source: https://www.tencentcloud.com/document/product/436/43251 (mode CvmRole)
    """
    path = settings.run_path("upload", "cos.yaml")
    role = metadata.Client("tencentcloud").must("cam/security-credentials/")
    # JSON is YAML.
    settings.write_json(path, {"cos": {"base": {"mode": "CvmRole", "cvmrolename": role, "protocol": "https"}}})
    return ["-e", f"cos.{settings.value('REGION')}.myqcloud.com", "-c", path]
