"""The watcher as a process, against a metadata service that gives notice, or does worse."""

import contextlib
import os
import signal
import time
from typing import Any

import pytest

from .conftest import CLOUDS, Node, Promise, Promises

promises = Promises()
ISO = "%Y-%m-%dT%H:%M:%SZ"
SPOT = {
    "aws": "spot/instance-action",
    "alicloud": "instance/spot/termination-time",
    "tencentcloud": "spot/termination-time",
}
MAINTENANCE = "events/maintenance/scheduled"


def spot_notice(cloud: str, seconds: float) -> str:
    """What a cloud says when a spot machine ends in some seconds."""
    when = time.time() + seconds
    if cloud == "tencentcloud":
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(when + 8 * 3600))
    text = time.strftime(ISO, time.gmtime(when))
    return f'{{"action": "terminate", "time": "{text}"}}' if cloud == "aws" else text


def maintenance(seconds: float, code: str = "system-reboot", state: str = "active") -> str:
    when = time.strftime("%d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + seconds))
    return f'[{{"NotBefore": "{when}", "Code": "{code}", "EventId": "e-1", "State": "{state}", "NotAfter": "{when}"}}]'


def watching(node: Node, state: str = "watching") -> None:
    node.until(lambda: node.read("watcher.json").get("state") == state)


def rounds(node: Node, number: int = 3) -> None:
    """Until the watcher has asked so often from now on."""
    path = SPOT[node.cloud]
    before = node.service.asked.count(path)
    node.until(lambda: node.service.asked.count(path) >= before + number)


@promises(*CLOUDS)
def a_spot_notice_makes_the_node_leave_in_time(node: Node) -> None:
    job = node.job("writes")
    node.start("watch")
    watching(node)
    assert node.read("watcher.json")["reason"] == ""
    assert not node.read("leaving.json")
    node.service.answers[SPOT[node.cloud]] = spot_notice(node.cloud, 12)
    noticed = time.time()
    watching(node, "left")
    assert time.time() - noticed < 12
    left = node.read("left.json")
    assert (left["state"], left["reason"]) == ("done", "spot")
    assert left["checkpoint"] == {"name": "step-00000300", "new": True}
    assert node.uploads()[-1] == "latest"
    assert job.poll() is not None
    (noted,) = node.read("notice.json")["notices"]
    assert (noted["kind"], noted["must"]) == ("spot", True)
    assert abs(noted["when"] - noticed - 12) < 2


@promises("aws", "alicloud")
def a_token_that_is_forgotten_is_asked_for_again(node: Node) -> None:
    node.start("watch")
    watching(node)
    node.service.tokens.clear()
    node.service.answers[SPOT[node.cloud]] = spot_notice(node.cloud, 12)
    watching(node, "left")
    assert node.service.given == 2
    assert "unreadable" not in node.log()


def drip(handler: Any) -> None:
    """Byte by byte, without an end."""
    handler.send_response(200)
    handler.end_headers()
    with contextlib.suppress(OSError):
        while True:
            handler.wfile.write(b" ")
            time.sleep(0.1)


def hang_up(handler: Any) -> None:
    handler.connection.close()


def stay_silent(handler: Any) -> None:
    time.sleep(1)
    handler.close_connection = True


BAD: dict[str, Any] = {
    "html": "<html><body>502 Bad Gateway</body></html>",
    "a server's error": 500,
    "a redirection": 302,
    "no time": '{"action": "dance", "time": "2026-12-01T00:00:00Z"}',
    "another kind of JSON": "[1, 2]",
    "too long": "x" * 70000,
    "deep": "[" * 60000,
    "silence": stay_silent,
    "a drip": drip,
    "a broken line": hang_up,
}


@promises(*CLOUDS)
def what_cannot_be_read_is_no_notice_and_no_end_of_the_watcher(node: Node) -> None:
    node.settings["BLIND_AFTER"] = 4
    watcher = node.start("watch")
    watching(node)
    path = SPOT[node.cloud]
    for bad in BAD.values():
        before = node.read("watcher.json")["errors"]
        node.service.answers[path] = bad
        node.until(lambda before=before: node.read("watcher.json")["errors"] > before)
    watching(node, "blind")
    assert node.read("watcher.json")["reason"].startswith("spot: ")
    assert "spot" not in node.read("watcher.json")["sees"]
    assert watcher.poll() is None
    assert not node.read("leaving.json")
    assert 3 <= node.log().count("unreadable") <= 6
    # It sees again, and what it missed is not lost.
    del node.service.answers[path]
    watching(node)
    assert "spot can be read again" in node.log()
    node.service.answers[path] = spot_notice(node.cloud, 12)
    watching(node, "left")


@promises("aws", "alicloud")
def a_token_that_is_none_blinds_the_watcher(node: Node) -> None:
    node.service.answers["token"] = "<html>\r\nX-Evil: 1"
    node.start("watch")
    watching(node, "blind")
    assert "a token was asked for, and the answer with status 200 is none" in node.read("watcher.json")["reason"]


@promises()
def a_service_that_is_gone_blinds_the_watcher(node: Node) -> None:
    node.settings["METADATA"] = "http://127.0.0.1:1"
    node.start("watch")
    watching(node, "blind")
    assert "refused" in node.read("watcher.json")["reason"]
    assert not node.read("leaving.json")


@promises()
def a_notice_is_obeyed_though_other_items_cannot_be_read(node: Node) -> None:
    node.service.answers |= {MAINTENANCE: "<html>", "events/recommendations/rebalance": 500}
    node.start("watch")
    watching(node, "blind")
    node.service.answers[SPOT["aws"]] = spot_notice("aws", 12)
    watching(node, "left")


@promises()
def a_recommendation_is_noted_and_may_be_withdrawn(node: Node) -> None:
    node.service.answers["events/recommendations/rebalance"] = '{"noticeTime": "2026-11-05T08:22:00Z"}'
    node.start("watch")
    node.until(lambda: node.read("notice.json"))
    (noted,) = node.read("notice.json")["notices"]
    assert noted == {"kind": "rebalance", "when": None, "must": False, "detail": "2026-11-05T08:22:00Z"}
    del node.service.answers["events/recommendations/rebalance"]
    node.until(lambda: not node.read("notice.json")["notices"])
    node.until(lambda: node.read("watcher.json")["withdrawn"] == 1)
    assert "withdrawn before this node left" in node.log()
    assert not node.read("leaving.json")


@promises()
def a_flapping_service_takes_no_notice_back(node: Node) -> None:
    node.service.answers[MAINTENANCE] = maintenance(3600)
    node.start("watch")
    node.until(lambda: node.read("notice.json"))
    node.service.answers[MAINTENANCE] = 503
    node.until(lambda: node.read("watcher.json")["errors"] >= 2)
    assert len(node.read("notice.json")["notices"]) == 1
    assert node.read("watcher.json")["withdrawn"] == 0


@promises()
def a_recommendation_is_enough_where_the_pool_says_so(node: Node) -> None:
    node.settings["ON_REBALANCE"] = "leave"
    node.service.answers["events/recommendations/rebalance"] = '{"noticeTime": "2026-11-05T08:22:00Z"}'
    node.start("watch")
    watching(node, "left")
    assert node.read("left.json")["reason"] == "rebalance"
    assert node.read("left.json")["seconds"] == 5


@promises()
def maintenance_is_obeyed_when_it_is_near(node: Node) -> None:
    node.service.answers[MAINTENANCE] = maintenance(9)
    node.start("watch")
    node.until(lambda: node.read("notice.json"))
    assert not node.read("leaving.json")
    watching(node, "left")
    assert node.read("left.json")["reason"] == "maintenance"
    assert 5 <= node.read("left.json")["seconds"] <= 6.5


@promises()
def a_scaler_that_takes_the_node_in_is_told_when_it_may(node: Node) -> None:
    node.settings |= {"HOOK": "pool-checkpoint"}
    node.fake(
        "aws-scaler",
        """case "$*" in *describe-auto-scaling-instances*) echo '{"AutoScalingInstances": [
          {"AutoScalingGroupName": "group-1", "LifecycleState": "Terminating:Wait"}]}' ;; esac""",
    )
    job = node.job("writes")
    node.start("watch")
    node.service.answers["autoscaling/target-lifecycle-state"] = "InService"
    rounds(node)
    assert not node.read("leaving.json")
    node.service.answers["autoscaling/target-lifecycle-state"] = "Terminated"
    watching(node, "left")
    assert node.step("scaler")["message"] == "group-1: CONTINUE"
    words = (
        "autoscaling complete-lifecycle-action --auto-scaling-group-name group-1 --lifecycle-hook-name pool-checkpoint "
        "--instance-id i-1 --lifecycle-action-result CONTINUE --region region-1 --output json"
    )
    assert node.called("aws")[-1] == words
    assert job.poll() is not None


@promises()
def a_notice_that_comes_while_the_node_leaves_brings_the_end_forward(node: Node) -> None:
    node.settings |= {"CHECKPOINT_SECONDS": 60, "NOTICE_SECONDS": 3}
    node.job("deaf")
    node.start("watch")
    node.service.answers["autoscaling/target-lifecycle-state"] = "Terminated"
    node.until(lambda: node.read("left.json").get("steps"))
    node.service.answers[SPOT["aws"]] = spot_notice("aws", 3)
    watching(node, "left")
    assert node.read("left.json")["reason"] == "spot"
    assert node.read("left.json")["took"] < 12


@promises()
def a_notice_that_is_obeyed_stays_though_it_is_withdrawn(node: Node) -> None:
    node.job("writes")
    node.start("watch")
    node.service.answers[SPOT["aws"]] = spot_notice("aws", 12)
    node.until(lambda: node.read("leaving.json"))
    del node.service.answers[SPOT["aws"]]
    watching(node, "left")
    assert node.read("watcher.json")["withdrawn"] == 0
    assert node.uploads()[-1] == "latest"
    calls = node.calls.read_text()
    node.service.answers[SPOT["aws"]] = spot_notice("aws", 12)
    rounds(node)
    assert node.calls.read_text() == calls


@promises()
def leaving_goes_on_when_the_watcher_is_killed_and_is_taken_up_by_the_next(node: Node) -> None:
    node.settings |= {"POLL_SECONDS": 0.2, "NOTICE_SECONDS": 6}
    node.job("deaf")
    node.service.answers[SPOT["aws"]] = spot_notice("aws", 6)
    watcher = node.start("watch")
    node.until(lambda: node.read("left.json").get("steps"))
    del node.service.answers[SPOT["aws"]]
    os.killpg(watcher.pid, signal.SIGKILL)
    watcher.wait()
    (leaving,) = [int(path.name) for path in node.processes("leave")]
    os.kill(leaving, signal.SIGKILL)
    node.start("watch")
    watching(node, "left")
    assert node.uploads()[-1] == "latest"


@promises()
def it_ends_when_it_is_told(node: Node) -> None:
    watcher = node.start("watch")
    watching(node)
    watcher.send_signal(signal.SIGTERM)
    assert watcher.wait(5) == 0
    assert node.read("watcher.json")["state"] == "ended"


@promises()
def one_watches_at_a_time(node: Node) -> None:
    first = node.start("watch")
    watching(node)
    assert node.run("watch") == 3
    assert "another watcher runs" in node.log()
    assert first.poll() is None


@promises()
def a_node_of_no_cloud_says_what_it_lacks(node: Node) -> None:
    node.settings["CLOUD"] = "azure"
    assert node.run("watch") == 2
    assert "GPUYARD_CLOUD is 'azure': one of aws, alicloud, tencentcloud is needed" in node.log()


@promises()
def jobs_of_every_user_can_say_that_they_run(node: Node) -> None:
    node.start("watch")
    watching(node)
    assert (node.run_folder / "jobs").stat().st_mode & 0o7777 == 0o1777
    assert (node.run_folder / "watcher.lock").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("promise", promises.all, ids=lambda one: one.name)
def test_watcher(promise: Promise, outcomes: dict[str, Any]) -> None:
    outcomes[promise.name].result()
