"""Alarms, messages and budget on Tencent Cloud, as rendered for the engine."""

import json
from collections.abc import Iterator
from datetime import date
from typing import Any

import pulumi
import pytest

from gpuyard import GpuMonitoring, SpecError
from gpuyard.clouds.tencentcloud.alarms import alarm_metric

from ..recorder import Rendered, render
from .helpers import failures

MACHINES = {"instance_ids": ["ins-1", "ins-2"], "rdma": True}
GROUP = {"group_name": "asg-1", "pool_tag": "llm-prepare"}
WHOLE: dict[str, Any] = {
    "cloud": "tencentcloud",
    "region": "ap-guangzhou",
    "cluster_name": "llm",
    "node_pools": {"train": MACHINES, "prepare": GROUP},
    "notify": ["ml@example.com", "ops@example.com"],
}


@pytest.fixture(autouse=True)
def _region() -> Iterator[None]:
    """The stack's own region, so that the default provider will do."""
    pulumi.runtime.set_config("tencentcloud:region", "ap-guangzhou")
    yield
    pulumi.runtime.set_config("tencentcloud:region", "")


def monitoring(*, preview: bool = False, **changes: Any) -> Rendered:
    values: Any = {**WHOLE, **changes}
    return render(lambda: GpuMonitoring("x", values), preview=preview)


def refused(**changes: Any) -> list[str]:
    with pytest.raises(SpecError) as caught:
        monitoring(**changes)
    return [str(problem) for problem in caught.value.problems]


def alarm(rendered: Rendered, part: str) -> dict[str, Any]:
    return rendered.one("AlarmPolicy", f"x-{part}").inputs


def test_idle_gpus_and_full_memory_ring_under_the_names_that_alarms_have(preview: bool):
    rendered = monitoring(preview=preview, gpu_utilization_below_percent=60, for_minutes=30)
    idle, full = alarm(rendered, "train-gpu-idle"), alarm(rendered, "train-gpu-memory")
    assert (idle["monitorType"], idle["namespace"], idle["projectId"], idle["enable"]) == ("MT_QCE", "cvm_device", 0, 1)
    common = {"ruleType": "STATIC", "period": 300, "continuePeriod": 6, "noticeFrequency": 3600, "isPowerNotice": 0}
    assert idle["conditions"] == {
        "isUnionRule": 0,
        "rules": [{"metricName": "gpu_util", "operator": "lt", "value": "60", **common}],
    }
    assert full["conditions"]["rules"] == [{"metricName": "GpuMemUsage", "operator": "gt", "value": "95", **common}]
    assert idle["remark"] == "x, pool train: GPUs in use less than 60 % of the time for 30 min"


def test_a_metric_that_alarms_do_not_know_stops_the_update():
    assert alarm_metric("GpuUtil", ["CpuUsage", "gpuutil"]) == "gpuutil"
    with pytest.raises(
        ValueError, match="alarms of tencentcloud have no metric like GpuUtil: they have CpuUsage, MemUsage"
    ):
        alarm_metric("GpuUtil", ["MemUsage", "CpuUsage"])


def test_machines_are_bound_by_their_ids_and_lost_ones_are_reported():
    rendered = monitoring()
    bound = rendered.one("PolicyBindingObject", "x-train-gpu-idle")
    assert [json.loads(one["dimensionsJson"]) for one in bound.inputs["dimensions"]] == [
        {"unInstanceId": "ins-1"},
        {"unInstanceId": "ins-2"},
    ]
    assert bound.depends_on == ["x-train-gpu-idle"]
    lost = alarm(rendered, "train-node-lost")
    assert [one["metricName"] for one in lost["eventConditions"]] == ["ping_unreachable", "guest_reboot"]
    assert "conditions" not in lost
    assert "policyTags" not in alarm(rendered, "train-gpu-idle")


@pytest.mark.parametrize("known_later", ["all of them", "each"])
def test_ids_of_machines_may_be_outputs(known_later: str):
    ids: Any = ["ins-7", "ins-8"]
    later = (
        pulumi.Output.from_input(ids) if known_later == "all of them" else [pulumi.Output.from_input(i) for i in ids]
    )
    bound = monitoring(node_pools={"train": {"instance_ids": later}}).one("PolicyBindingObject", "x-train-gpu-idle")
    assert [json.loads(one["dimensionsJson"])["unInstanceId"] for one in bound.inputs["dimensions"]] == ids


def test_nodes_that_come_and_go_are_found_by_their_tag():
    rendered = monitoring()
    assert alarm(rendered, "prepare-gpu-idle")["policyTags"] == [{"key": "gpuyard:pool", "value": "llm-prepare"}]
    assert {found.name for found in rendered.all("AlarmPolicy")} == {
        "x-train-gpu-idle",
        "x-train-gpu-memory",
        "x-train-node-lost",
        "x-prepare-gpu-idle",
        "x-prepare-gpu-memory",
    }
    assert {found.name.split("-")[1] for found in rendered.all("PolicyBindingObject")} == {"train"}


def test_a_pool_is_named_by_machines_or_tag():
    assert refused(node_pools={"train": {"group_name": "asg-1"}}) == [
        "node_pools.train.instance_ids: is missing. tencentcloud watches a pool by one of instance_ids or pool_tag."
    ]


def test_names_and_remarks_fit_the_api():
    long = "a-pool-with-a-very-long-name-31"
    rendered = monitoring(node_pools={long: MACHINES, "train": MACHINES})
    names = [found.inputs["policyName"] for found in rendered.all("AlarmPolicy")]
    assert max(map(len, names)) <= 20
    assert len(set(names)) == 6
    assert "gpu-idle-train" in names
    assert all(len(found.inputs["remark"]) <= 100 for found in rendered.all("AlarmPolicy"))


def test_messages_go_to_users_who_can_do_nothing_but_read_mail():
    rendered = monitoring()
    users = rendered.all("User")
    assert [user.inputs["email"] for user in users] == WHOLE["notify"]
    for user in users:
        assert (user.inputs["consoleLogin"], user.inputs["useApi"], user.inputs["forceDelete"]) == (False, False, False)
        assert len(user.inputs["name"]) <= 60
    assert rendered.all("UserPolicyAttachment") == []
    notice = rendered.one("AlarmNotice").inputs
    assert (notice["noticeType"], notice["noticeLanguage"]) == ("ALL", "en-US")
    assert notice["userNotices"] == [
        {
            "receiverType": "USER",
            "userIds": [20_000_001, 20_000_001],
            "noticeWays": ["EMAIL"],
            "startTime": 0,
            "endTime": 86_399,
            "weekdays": [1, 2, 3, 4, 5, 6, 7],
        }
    ]
    assert all(found.inputs["noticeIds"] == ["x-messages-id"] for found in rendered.all("AlarmPolicy"))


def test_without_readers_there_is_no_template_and_alarms_are_seen_in_the_console():
    rendered = monitoring(notify=[])
    assert rendered.all("AlarmNotice") == rendered.all("User") == []
    assert all("noticeIds" not in found.inputs for found in rendered.all("AlarmPolicy"))


@pytest.mark.parametrize("currency", ["USD", "CNY"])
def test_a_budget_counts_what_carries_the_clusters_tag(currency: str):
    rendered = monitoring(budget={"monthly_amount": 40_000, "currency": currency, "alert_at_percent": [100, 50]})
    made = rendered.one("Budget")
    today = date.today()
    assert made.inputs == {
        "budgetName": "x-budget",
        "billType": "BILL",
        "feeType": "REAL_COST",
        "cycleType": "MONTH",
        "planType": "FIX",
        "budgetQuota": "40000.00",
        "periodBegin": f"{today.year}-{today.month:02}",
        "periodEnd": f"{today.year + 1}-12",
        "dimensionsRange": {"tags": [{"tagKey": "gpuyard:cluster", "tagValues": ["llm"]}]},
        "warnJsons": [
            {"warnType": "ACTUAL", "calType": "PERCENTAGE", "thresholdValue": "50"},
            {"warnType": "ACTUAL", "calType": "PERCENTAGE", "thresholdValue": "100"},
        ],
    }
    assert list(made.request.ignoreChanges) == ["periodBegin"]
    assert monitoring().all("Budget") == []


def test_what_cannot_be_watched_is_refused_where_it_was_asked_for():
    assert refused(dashboard=True, file_system_full_percent=90) == [
        "dashboard: the provider has no resource for dashboards of Cloud Monitor. Remove it.",
        "file_system_full_percent: no metric of CFS Turbo is documented that an alarm could watch, and the monitoring "
        "plugin of CFS reads NFS mounts only. Remove it.",
    ]
    system = {"file_system_id": "cfs-1", "capacity_gib": 20_480, "throughput_mb_per_s": 4_294}
    rendered = monitoring(watched_file_system=system, dashboard=False)
    assert not [found for found in rendered if "file-system" in found.name]


def test_the_simulated_provider_takes_all_of_it():
    assert failures(monitoring(budget={"monthly_amount": 40_000})) == []
