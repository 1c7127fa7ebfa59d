"""Scaling groups of an elastic pool on Tencent Cloud, as rendered for the engine."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.bootstrap.tencentcloud import hook_command
from gpuyard.clouds.tencentcloud.node_scaling import beijing_times

from .helpers import OTHER_ZONE, SPOT, ZONE, failures, of_type, rendered

TRAIN = "node_pools.train"
DAY = {"cron": "0 8 * * 1-5", "time_zone": "Asia/Shanghai", "min": 2, "desired": 5}


def named(found: Any, token: str, key: str) -> dict[str, dict[str, Any]]:
    return {one[key]: one for one in of_type(found, token)}


def test_br_067_a_spot_group_has_both_options_of_spot():
    (found,) = of_type(rendered(SPOT), "As/scalingConfig")
    assert found["instanceChargeType"] == "SPOTPAID"
    assert found["spotInstanceType"] == "one-time", "small letters here, capitals on a single machine"
    assert found["spotMaxPrice"] == "2.5"


@pytest.mark.parametrize(("price", "text"), [(0.00005, "0.00005"), (12, "12.0"), (3.1415, "3.1415")])
def test_the_price_is_a_decimal_text(price: float, text: str):
    (found,) = of_type(rendered(SPOT, {f"{TRAIN}.spot_price_limit": price}), "As/scalingConfig")
    assert found["spotMaxPrice"] == text


def test_an_elastic_pool_mixes_equal_types_over_all_zones():
    found = rendered(SPOT, {f"{TRAIN}.zones": [ZONE, OTHER_ZONE]})
    (configuration,) = of_type(found, "As/scalingConfig")
    assert configuration["instanceTypes"] == ["GNV4.3XLARGE44", "GNV4v.7XLARGE116", "PNV4.7XLARGE116"]
    assert len(configuration["instanceTypes"]) <= 10
    (group,) = of_type(found, "As/scalingGroup")
    assert group["subnetIds"] == [f"tc-network-private-{zone}-id" for zone in (ZONE, OTHER_ZONE)]
    assert group["multiZoneSubnetPolicy"] == "EQUALITY"
    assert (group["minSize"], group["maxSize"]) == (1, 8)
    assert "desiredCapacity" not in group, "the scaler's, from the beginning"
    assert group["vpcId"] == f"vpc-of-tc-network-private-{ZONE}-id"


def test_nodes_of_a_group_have_no_public_address_and_are_watched():
    (found,) = of_type(rendered(SPOT), "As/scalingConfig")
    assert (found["publicIpAssigned"], found["internetMaxBandwidthOut"]) == (False, 0)
    assert found["enhancedMonitorService"] is True
    assert found["enhancedAutomationToolsService"] is True, "the hook's command needs it"
    assert found["securityGroupIds"] == ["tc-network-nodes-sg-id"]
    assert found["instanceTags"]["gpuyard:pool"] == "tc-train"
    assert found["systemDiskType"] in ("CLOUD_PREMIUM", "CLOUD_SSD"), "all that a scaling configuration takes"


def test_spot_and_on_demand_are_two_groups():
    found = rendered({**SPOT, "on_demand_nodes": 2, "nodes": {"min": 3, "max": 8, "desired": 5}})
    groups = named(found, "As/scalingGroup", "scalingGroupName")
    sizes = {name: (one["minSize"], one["maxSize"], one["desiredCapacity"]) for name, one in groups.items()}
    assert sizes == {"tc-train-on-demand": (2, 2, 2), "tc-train-spot": (1, 6, 3)}
    paid = {one["configurationName"]: one["instanceChargeType"] for one in of_type(found, "As/scalingConfig")}
    assert paid == {"tc-train-on-demand-config": "POSTPAID_BY_HOUR", "tc-train-spot-config": "SPOTPAID"}
    assert failures(found) == []


def test_an_elastic_pool_on_demand_buys_no_spot():
    found = rendered({"gpu": "A10", "nodes": {"min": 0, "max": 3}})
    (one,) = of_type(found, "As/scalingConfig")
    assert one["instanceChargeType"] == "POSTPAID_BY_HOUR"
    assert not {"spotInstanceType", "spotMaxPrice"} & set(one)
    assert [one["scalingGroupName"] for one in of_type(found, "As/scalingGroup")] == ["tc-train-group"]


def test_an_update_does_not_throw_nodes_out():
    found = rendered({**SPOT, "on_demand_nodes": 1})
    ignored = {one.name: list(one.request.ignoreChanges) for one in found.all("ScalingGroup")}
    assert ignored == {"tc-train-spot": ["desiredCapacity"], "tc-train-on-demand": []}


def test_the_scaler_waits_while_a_node_runs_the_command_that_tells_its_jobs():
    pool = {**SPOT, "on_demand_nodes": 1, "checkpoint_seconds": 900}
    found = rendered(pool, {"checkpoints": {"keep_days": 14}})
    hooks = [one for one in of_type(found, "As/lifecycleHook") if one["lifecycleTransition"] == "INSTANCE_TERMINATING"]
    assert {one["scalingGroupId"] for one in hooks} == {"tc-train-spot-id", "tc-train-on-demand-id"}
    for hook in hooks:
        assert (hook["heartbeatTimeout"], hook["defaultResult"]) == (900, "CONTINUE")
        assert hook["lifecycleCommand"] == {"commandId": "tc-train-leave-id"}
        assert not {key for key in hook if key.startswith("notification")}, "either a message or a command"
    command = named(found, "Tat/command", "commandName")["tc-train-leave"]
    assert command["content"] == hook_command("leave", 885), "the command ends before the hook does"
    assert command["timeout"] == 900
    assert len(command["tags"]) <= 10


def test_a_node_counts_when_its_health_gate_says_so_and_is_released_otherwise():
    found = rendered({**SPOT, "on_demand_nodes": 1}, {"checkpoints": {"keep_days": 14}})
    hooks = [one for one in of_type(found, "As/lifecycleHook") if one["lifecycleTransition"] == "INSTANCE_LAUNCHING"]
    assert {one["scalingGroupId"] for one in hooks} == {"tc-train-spot-id", "tc-train-on-demand-id"}
    for hook in hooks:
        assert (hook["heartbeatTimeout"], hook["defaultResult"]) == (1800, "ABANDON")
        assert hook["lifecycleTransitionType"] == "NORMAL"
        assert hook["lifecycleCommand"] == {"commandId": "tc-train-ready-id"}
    command = named(found, "Tat/command", "commandName")["tc-train-ready"]
    assert (command["content"], command["timeout"]) == (hook_command("ready", 1785), 1800)
    assert failures(found) == []


def test_without_a_bucket_nobody_waits_for_programs_that_are_not_there():
    found = rendered(SPOT)
    assert of_type(found, "As/lifecycleHook") == of_type(found, "Tat/command") == []


def test_the_size_follows_the_cpus_where_asked():
    found = rendered(SPOT, {f"{TRAIN}.tencentcloud": {"cpu_utilization_percent": 60}})
    (policy,) = of_type(found, "As/scalingPolicy")
    assert (policy["policyType"], policy["predefinedMetricType"]) == ("TARGET_TRACKING", "ASG_AVG_CPU_UTILIZATION")
    assert (policy["targetValue"], policy["scalingGroupId"]) == (60, "tc-train-spot-id")
    assert of_type(rendered(SPOT), "As/scalingPolicy") == []


def test_a_scheduled_size_counts_without_the_nodes_on_demand_and_is_repeated():
    found = rendered({**SPOT, "on_demand_nodes": 1, "scaling": {"schedule": {"day": DAY}}})
    (size,) = of_type(found, "As/schedule")
    assert (size["minSize"], size["maxSize"], size["desiredCapacity"]) == (1, 7, 4)
    assert size["recurrence"] == "0 8 * * 1-5"
    assert size["scalingGroupId"] == "tc-train-spot-id"
    (registered,) = found.all("Schedule")
    assert sorted(registered.request.ignoreChanges) == ["endTime", "startTime"], "br_074: no change the second time"


@given(st.datetimes(datetime(2020, 1, 1), datetime(2100, 1, 1)))
def test_a_schedule_begins_after_now_and_on_the_hour(now: datetime):
    moment = now.replace(tzinfo=UTC)
    start, end = (datetime.fromisoformat(text) for text in beijing_times(moment))
    assert timedelta(hours=1) < start - moment <= timedelta(hours=2)
    assert (start.minute, start.second, start.utcoffset()) == (0, 0, timedelta(hours=8))
    assert end.year == start.year + 10
