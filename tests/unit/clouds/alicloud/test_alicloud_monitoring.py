"""Alarms and contacts on Alibaba Cloud, as rendered for the engine."""

import json
from typing import Any

import pulumi
import pytest

from gpuyard import GpuMonitoring
from gpuyard.spec import SpecError

from ..recorder import Rendered, render

MACHINES = {"instance_ids": ["i-1", "i-2"], "pool_tag": "llm-train"}
ELASTIC = {"group_name": "asg-1", "pool_tag": "llm-prepare"}
CPFS = {"file_system_id": "cpfs-1", "capacity_gib": 12_000, "throughput_mb_per_s": 2_000}


def arguments(**values: Any) -> Any:
    base = {"cloud": "alicloud", "region": "cn-beijing", "node_pools": {"train": MACHINES}}
    return {**base, **values}


def monitoring(*, preview: bool = False, **values: Any) -> Rendered:
    return render(lambda: GpuMonitoring("x", arguments(**values)), preview=preview)


def refused(**values: Any) -> list[str]:
    with pytest.raises(SpecError) as error:
        monitoring(**values)
    return [str(problem) for problem in error.value.problems]


def test_machines_are_watched_by_their_ids(preview: bool):
    found = monitoring(preview=preview, for_minutes=30, gpu_utilization_below_percent=60, gpu_memory_above_percent=90)
    idle, memory = (found.one("Alarm", f"x-train-{part}").inputs for part in ("gpu-idle", "gpu-memory"))
    for alarm, metric, operator, threshold in (
        (idle, "instance_gpu_gpu_usedutilization", "<", "60"),
        (memory, "instance_gpu_memory_usedutilization", ">", "90"),
    ):
        assert (alarm["project"], alarm["metric"], alarm["period"]) == ("acs_ecs_dashboard", metric, 300)
        assert json.loads(alarm["metricDimensions"]) == [{"instanceId": "i-1"}, {"instanceId": "i-2"}]
        assert alarm["escalationsCritical"] == {
            "statistics": "Average",
            "comparisonOperator": operator,
            "threshold": threshold,
            "times": 6,
        }
        assert alarm["contactGroups"] == ["x-alarms"]
    assert not found.all("DynamicTagGroup")


def test_ids_of_machines_may_be_known_only_later():
    later = pulumi.Output.from_input(["i-3"])
    found = monitoring(node_pools={"train": {"instance_ids": later}})
    assert json.loads(found.one("Alarm", "x-train-gpu-idle").inputs["metricDimensions"]) == [{"instanceId": "i-3"}]


def test_nodes_that_come_and_go_are_found_by_their_tag(preview: bool):
    found = monitoring(preview=preview, node_pools={"prepare": ELASTIC}, for_minutes=30)
    group = found.one("DynamicTagGroup")
    assert group.inputs["tagKey"] == "gpuyard:pool"
    assert group.inputs["matchExpresses"] == [{"tagValue": "llm-prepare", "tagValueMatchFunction": "equals"}]
    assert group.inputs["contactGroupLists"] == ["x-alarms"]
    assert set(group.depends_on) == {"x-alarms", "x-prepare"}
    rules = {rule["ruleName"]: rule for rule in found.one("MetricRuleTemplate").inputs["alertTemplates"]}
    assert rules["x-prepare-gpu-idle"]["metricName"] == "instance_gpu_gpu_usedutilization"
    assert rules["x-prepare-gpu-idle"]["escalations"] == {
        "critical": {
            "statistics": "Average",
            "comparisonOperator": "LessThanThreshold",
            "threshold": "70",
            "times": "6",
        }
    }
    assert rules["x-prepare-gpu-memory"]["escalations"]["critical"]["comparisonOperator"] == "GreaterThanThreshold"
    assert not found.all("Alarm")


def test_a_template_s_rule_lasts_as_long_as_was_asked_or_longer():
    found = monitoring(node_pools={"prepare": ELASTIC}, for_minutes=7)
    rules = found.one("MetricRuleTemplate").inputs["alertTemplates"]
    # Two periods of five minutes: seven minutes cannot be said.
    assert {rule["escalations"]["critical"]["times"] for rule in rules} == {"2"}


def test_cpfs_is_watched_for_room_and_throughput():
    found = monitoring(watched_file_system=CPFS, file_system_full_percent=80)
    wanted = {
        "x-file-system-full": ("CPFSCapacityUsed", str(12_000 * 2**30 * 80 // 100)),
        "x-file-system-busy-reads": ("ThruputRead", "1800000000"),
        "x-file-system-busy-writes": ("ThruputWrite", "1800000000"),
    }
    for name, (metric, threshold) in wanted.items():
        alarm = found.one("Alarm", name).inputs
        assert (alarm["project"], alarm["metric"]) == ("acs_nas", metric)
        assert json.loads(alarm["metricDimensions"]) == [{"fileSystemId": "cpfs-1"}]
        assert alarm["escalationsCritical"]["threshold"] == threshold
        assert (alarm["period"], alarm["escalationsCritical"]["times"]) == (300, 3)


def test_a_nas_is_watched_for_room_alone():
    system = {"file_system_id": "extreme-1", "capacity_gib": 500, "throughput_mb_per_s": 300, "kind": "nas_extreme"}
    found = monitoring(watched_file_system=system)
    (alarm,) = [one for one in found.all("Alarm") if "file-system" in one.name]
    assert (alarm.name, alarm.inputs["metric"]) == ("x-file-system-full", "ExtremeCapacityUsed")


def test_each_address_is_a_contact_of_the_group():
    found = monitoring(notify=["ml@example.com", "ops@example.com"])
    contacts = {one.inputs["channelsMail"]: one for one in found.all("AlarmContact")}
    assert set(contacts) == {"ml@example.com", "ops@example.com"}
    names = [one.inputs["alarmContactName"] for one in contacts.values()]
    assert found.one("AlarmContactGroup").inputs["contacts"] == names
    assert all(list(one.request.ignoreChanges) == ["channelsMail"] for one in contacts.values())


def test_another_address_is_another_contact_and_names_are_short():
    long = "a-very-long-name-of-a-cluster-in-beijing-of-the-platform-team"

    def names(*addresses: str) -> list[str]:
        args = arguments(notify=list(addresses))
        found = render(lambda: GpuMonitoring(long, args), preview=False)
        return [one.inputs["alarmContactName"] for one in found.all("AlarmContact")]

    first, second = names("ml@example.com", "ops@example.com")
    assert first != second
    assert names("ops@example.com") == [second]
    assert max(len(first), len(second)) <= 40


def test_nobody_to_hear_of_it_is_an_empty_group():
    found = monitoring()
    assert found.one("AlarmContactGroup").inputs.get("contacts", []) == []
    assert not found.all("AlarmContact")


def test_what_the_provider_cannot_make_is_refused():
    assert refused(dashboard=True) == [
        "dashboard: the provider has no resource for dashboards of CloudMonitor. Remove it."
    ]
    assert refused(budget={"monthly_amount": 1_000, "currency": "CNY"}) == [
        "budget: the provider has no resource for budgets, which are set up in the console. Remove it."
    ]


def test_a_pool_that_names_nothing_cannot_be_watched():
    assert refused(node_pools={"train": {"group_name": "asg-1"}}) == [
        "node_pools.train.instance_ids: is missing. alicloud watches a pool by one of instance_ids or pool_tag."
    ]


def test_a_kind_of_file_system_that_is_not_known_is_refused():
    system = {"file_system_id": "x", "capacity_gib": 500, "kind": "lustre"}
    (message,) = refused(watched_file_system=system)
    assert message.startswith("watched_file_system.kind: ")
    assert "cpfs" in message
    assert "nas_extreme" in message
