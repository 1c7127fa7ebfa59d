"""What each cloud's words mean, and how long a node has then."""

import calendar
import importlib
import json
import time
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from gpuyard.node import notices
from gpuyard.node.notices import Notice, Rules, UnreadableError, seconds_left

NOW = calendar.timegm((2026, 12, 1, 12, 0, 0))
RULES = Rules(
    notice_seconds=120, checkpoint_seconds=900, margin_seconds=30, leaves_on_rebalance=False, booted_at=NOW - 5000
)


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    # The module's clock alone: other tests run alongside.
    monkeypatch.setattr(notices, "time", SimpleNamespace(time=lambda: float(NOW), strptime=time.strptime))


def read(cloud: str, name: str, text: str) -> list[Notice]:
    return importlib.import_module(f"gpuyard.node.cloud_{cloud}").SOURCES[name][1](text)


EVENT = {
    "NotBefore": "21 Jan 2027 09:00:43 GMT",
    "Code": "system-reboot",
    "Description": "scheduled reboot",
    "EventId": "instance-event-0d59937288b749b32",
    "NotAfter": "21 Jan 2027 09:17:23 GMT",
    "State": "active",
}
EVENT_AT = calendar.timegm((2027, 1, 21, 9, 0, 43))
# The form of DescribeInstancesFullStatus and that of CloudMonitor's messages.
ALIBABA_EVENT = {
    "EventId": "e-1",
    "EventType": {"Code": 1, "Name": "SystemMaintenance.Reboot"},
    "EventCycleStatus": {"Code": 24, "Name": "Scheduled"},
    "NotBefore": "2027-01-21T09:00:43Z",
}
ALIBABA_MESSAGE = {
    "eventId": "e-1",
    "eventType": "SystemMaintenance.Reboot",
    "eventStatus": "Scheduled",
    "notBefore": "2027-01-21T09:00:43Z",
}
ALIBABA_NOTICE = Notice("maintenance", EVENT_AT, True, "SystemMaintenance.Reboot e-1")


@pytest.mark.parametrize(
    ("cloud", "name", "text", "expected"),
    [
        (
            "aws",
            "spot",
            '{"action": "terminate", "time": "2026-12-01T12:02:00Z"}',
            [Notice("spot", NOW + 120, True, "terminate")],
        ),
        ("aws", "spot", '{"action": "hibernate", "time": "soon"}', [Notice("spot", None, True, "hibernate")]),
        ("aws", "spot", '{"action": "stop"}', [Notice("spot", None, True, "stop")]),
        (
            "aws",
            "rebalance",
            '{"noticeTime": "2026-12-01T08:22:00Z"}',
            [Notice("rebalance", None, False, "2026-12-01T08:22:00Z")],
        ),
        ("aws", "maintenance", "[]", []),
        (
            "aws",
            "maintenance",
            json.dumps([EVENT]),
            [Notice("maintenance", EVENT_AT, True, "system-reboot instance-event-0d59937288b749b32")],
        ),
        ("aws", "maintenance", json.dumps([EVENT | {"State": "completed"}]), []),
        (
            "aws",
            "maintenance",
            json.dumps([EVENT | {"Code": "system-maintenance", "EventId": "e"}]),
            [Notice("maintenance", EVENT_AT, False, "system-maintenance e")],
        ),
        ("aws", "scale_in", "InService", []),
        ("aws", "scale_in", "Standby", []),
        ("aws", "scale_in", "Warmed:Stopped", []),
        ("aws", "scale_in", "Terminated", [Notice("scale_in", None, True, "Terminated")]),
        ("aws", "scale_in", "Warmed:Terminated", [Notice("scale_in", None, True, "Warmed:Terminated")]),
        ("alicloud", "spot", "2026-12-01T12:05:00Z", [Notice("spot", NOW + 300, True, "2026-12-01T12:05:00Z")]),
        ("alicloud", "spot", "", []),
        ("alicloud", "maintenance", "", []),
        ("alicloud", "maintenance", "None", []),
        ("alicloud", "maintenance", "[]", []),
        ("alicloud", "maintenance", json.dumps([ALIBABA_EVENT]), [ALIBABA_NOTICE]),
        (
            "alicloud",
            "maintenance",
            json.dumps({"ScheduledSystemEventSet": {"ScheduledSystemEventType": [ALIBABA_EVENT]}}),
            [ALIBABA_NOTICE],
        ),
        ("alicloud", "maintenance", json.dumps({"content": ALIBABA_MESSAGE}), [ALIBABA_NOTICE]),
        (
            "alicloud",
            "maintenance",
            json.dumps([ALIBABA_MESSAGE | {"eventStatus": "Inquiring"}]),
            [ALIBABA_NOTICE._replace(must=False)],
        ),
        ("alicloud", "maintenance", json.dumps([ALIBABA_MESSAGE | {"eventStatus": "Avoided"}]), []),
        ("tencentcloud", "spot", "2026-12-01 20:02:00", [Notice("spot", NOW + 120, True, "2026-12-01 20:02:00")]),
        ("tencentcloud", "spot", "", []),
    ],
)
def test_what_a_cloud_says(cloud: str, name: str, text: str, expected: list[Notice]) -> None:
    assert read(cloud, name, text) == expected


@pytest.mark.parametrize(
    ("cloud", "name", "text", "message"),
    [
        ("aws", "spot", "<html>", "'<html>' is no JSON"),
        ("aws", "spot", "[]", "'[]' is no dict"),
        ("aws", "spot", '{"action": "noop"}', "the action is 'noop'"),
        ("aws", "spot", '{"time": "2026-12-01T12:02:00Z"}', "the action is None"),
        ("aws", "rebalance", "{}", "'None' is no time"),
        ("aws", "maintenance", "{}", "'{}' is no list"),
        ("aws", "maintenance", json.dumps([EVENT | {"NotBefore": "tomorrow"}]), "'tomorrow' is no time"),
        ("aws", "scale_in", "<html>", "'<html>' is no state"),
        ("alicloud", "spot", "404 - Not Found", "'404 - Not Found' is no time"),
        ("alicloud", "spot", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z is no time of today"),
        ("alicloud", "spot", "2026-12-03T12:05:00Z", "2026-12-03T12:05:00Z is no time of today"),
        ("alicloud", "maintenance", '{"message": "denied"}', "events of an unknown form"),
        ("alicloud", "maintenance", '[{"notBefore": 5, "eventStatus": "Scheduled"}]', "'5' is no time"),
        ("tencentcloud", "spot", "2026-12-01T12:02:00Z", "'2026-12-01T12:02:00Z' is no time"),
    ],
)
def test_what_is_none_of_its_words(cloud: str, name: str, text: str, message: str) -> None:
    with pytest.raises(UnreadableError) as error:
        read(cloud, name, text)
    assert str(error.value) == message


SOURCES = [
    (cloud, name)
    for cloud, names in {
        "aws": ("spot", "rebalance", "maintenance", "scale_in"),
        "alicloud": ("spot", "maintenance"),
        "tencentcloud": ("spot",),
    }.items()
    for name in names
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["action", "State", "NotBefore", "Code", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(("cloud", "name"), SOURCES)
def test_no_garbage_makes_a_node_leave(cloud: str, name: str) -> None:
    @limits(max_examples=40, deadline=None)
    @given(st.text() | JSON.map(json.dumps))
    def law(text: str) -> None:
        try:
            found = read(cloud, name, text)
        # The watcher takes any error for unreadable.
        except Exception:  # noqa: BLE001
            return
        assert not [one for one in found if seconds_left(one, RULES, NOW) is not None]

    law()


def left(kind: str, when: float | None, must: bool = True, rules: Rules = RULES, **changed: Any) -> float | None:
    return seconds_left(Notice(kind, None if when is None else NOW + when, must, ""), rules._replace(**changed), NOW)


@pytest.mark.parametrize(
    ("when", "expected"),
    # A wrong zone or clock does not shorten what a cloud gives.
    [(120, 120), (45.5, 45.5), (240, 240), (None, 120), (0, 120), (-5, 120), (8 * 3600, 120), (-8 * 3600, 120)],
)
def test_a_spot_machine_has_what_its_cloud_gives(when: float | None, expected: float) -> None:
    assert left("spot", when) == expected


def test_a_machine_that_the_scaler_takes_in_has_the_time_of_the_hook() -> None:
    assert left("scale_in", None) == 900


def test_a_recommendation_is_obeyed_where_that_is_wanted() -> None:
    assert left("rebalance", None, False) is None
    assert left("rebalance", None, False, leaves_on_rebalance=True) == 900


@pytest.mark.parametrize(
    ("when", "must", "expected"),
    [
        (86400, True, None),
        (931, True, None),
        (930, True, 930),
        (100, True, 100),
        (5, True, 30),
        (-60, True, 30),
        (100, False, None),
        # The machine began after it: this was the reboot.
        (-5001, True, None),
        (None, True, None),
    ],
)
def test_maintenance_is_obeyed_within_the_time_of_a_checkpoint(
    when: float | None, must: bool, expected: float | None
) -> None:
    assert left("maintenance", when, must) == expected


@given(
    st.sampled_from(["spot", "scale_in", "rebalance", "maintenance"]), st.none() | st.floats(-1e6, 1e6), st.booleans()
)
def test_who_leaves_has_time_to_do_it(kind: str, when: float | None, must: bool) -> None:
    found = left(kind, when, must, leaves_on_rebalance=True)
    assert found is None or 0 < found <= 930
