"""Elastic pools on Alibaba Cloud: scaling group, configuration, hook, rules and schedules."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.clouds.alicloud.node_scaling import last_day

from ..recorder import Rendered
from .cluster import cluster


def group(**serve: Any) -> dict[str, Any]:
    return cluster(serve=serve).one("ScalingGroup").inputs


def configuration(**serve: Any) -> dict[str, Any]:
    return cluster(serve=serve).one("ScalingConfiguration").inputs


# --- the group


def test_br_058_a_spot_pool_says_its_zeros():
    found = group()
    assert found["multiAzPolicy"] == "COST_OPTIMIZED"
    assert (found["onDemandBaseCapacity"], found["onDemandPercentageAboveBaseCapacity"]) == (0, 0)
    assert found["compensateWithOnDemand"] is False
    assert (found["spotInstancePools"], found["spotInstanceRemedy"]) == (3, True)
    assert not {"azBalance", "capacityOptionsOnDemandBaseCapacity"} & set(found)


def test_on_demand_nodes_and_compensation_are_passed_on():
    found = group(on_demand_nodes=2, alicloud={"compensate_with_on_demand": True})
    assert (found["onDemandBaseCapacity"], found["compensateWithOnDemand"]) == (2, True)


def test_br_058_composable_has_fields_of_its_own_and_none_of_the_others():
    found = group(on_demand_nodes=1, alicloud={"multi_az_policy": "COMPOSABLE"})
    assert found["multiAzPolicy"] == "COMPOSABLE"
    # Left out, it would be 100: a spot pool without any spot.
    assert found["capacityOptionsOnDemandPercentageAboveBaseCapacity"] == 0
    assert found["capacityOptionsOnDemandBaseCapacity"] == 1
    assert found["azBalance"] is False
    cost_optimized = {
        "onDemandBaseCapacity",
        "onDemandPercentageAboveBaseCapacity",
        "spotInstancePools",
        "spotInstanceRemedy",
        "compensateWithOnDemand",
    }
    assert not cost_optimized & set(found)


def test_a_pool_on_demand_takes_the_first_type_that_there_is():
    found = group(purchase="on_demand")
    assert found["multiAzPolicy"] == "PRIORITY"
    assert not {"onDemandBaseCapacity", "spotInstancePools", "capacityOptionsPriceComparisonMode"} & set(found)


def test_prices_are_compared_by_the_node():
    assert group()["capacityOptionsPriceComparisonMode"] == "PricePerUnit"


@pytest.mark.parametrize(("nodes", "size"), [({"min": 0, "max": 4}, 0), ({"min": 1, "max": 8, "desired": 2}, 2)])
def test_br_046_the_size_is_left_to_the_scaler(nodes: dict[str, int], size: int):
    found = cluster(serve={"nodes": nodes}).one("ScalingGroup")
    assert (found.inputs["minSize"], found.inputs["maxSize"]) == (nodes["min"], nodes["max"])
    assert found.inputs["desiredCapacity"] == size
    assert list(found.request.ignoreChanges) == ["desiredCapacity"]


# --- the configuration


def test_a_group_begins_with_an_active_configuration():
    found = configuration()
    assert (found["active"], found["enable"], found["forceDelete"]) == (True, True, True)
    assert found["scalingGroupId"] == "ali-serve-group-id"


def test_all_types_have_one_card():
    types = configuration()["instanceTypes"]
    assert types[:2] == ["ecs.gn7i-c8g1.2xlarge", "ecs.gn7i-c16g1.4xlarge"]
    assert 1 < len(types) <= 10


@pytest.mark.parametrize(("flag", "hours"), [(True, 1), (False, 0)])
def test_br_059_the_protected_hour_is_rendered_even_when_it_is_0(flag: bool, hours: int):
    found = configuration(alicloud={"spot_protected_hour": flag})
    assert "spotDuration" in found
    assert found["spotDuration"] == hours


def test_without_a_limit_the_price_goes_as_the_market_does():
    found = configuration()
    assert found["spotStrategy"] == "SpotAsPriceGo"
    assert "spotPriceLimits" not in found


def test_a_limit_is_said_for_every_type():
    found = configuration(spot_price_limit=4.25)
    assert found["spotStrategy"] == "SpotWithPriceLimit"
    assert {one["instanceType"]: one["priceLimit"] for one in found["spotPriceLimits"]} == dict.fromkeys(
        found["instanceTypes"], 4.25
    )


def test_on_demand_is_no_spot():
    found = configuration(purchase="on_demand")
    assert found["spotStrategy"] == "NoSpot"
    assert "spotDuration" not in found


def test_a_private_pool_is_the_only_source_of_reserved_nodes():
    found = configuration(purchase="reserved", reservation={"id": "crp-1"})
    assert found["resourcePoolOptionsStrategy"] == "PrivatePoolOnly"
    assert found["resourcePoolOptionsPrivatePoolIds"] == ["crp-1"]
    assert len(found["instanceTypes"]) == 1


def test_disks_are_essd_of_a_level_and_encrypted():
    found = configuration(data_disk_gib=500, data_disk_iops=20_000)
    assert (found["systemDiskCategory"], found["systemDiskPerformanceLevel"]) == ("cloud_essd", "PL0")
    assert found["systemDiskEncrypted"] is True
    assert found["dataDisks"] == [
        {
            "category": "cloud_essd",
            "performanceLevel": "PL1",
            "size": 500,
            "encrypted": True,
            "deleteWithInstance": True,
        }
    ]


def test_nodes_that_come_and_go_have_their_snapshot_policy_in_the_configuration():
    rendered = cluster(serve={"data_disk_gib": 100}, snapshots={"hours_utc": [2], "keep_days": 7})
    policy = rendered.one("AutoSnapshotPolicy").name
    found = rendered.one("ScalingConfiguration").inputs
    assert found["systemDiskAutoSnapshotPolicyId"] == f"{policy}-id"
    assert found["dataDisks"][0]["autoSnapshotPolicyId"] == f"{policy}-id"


def test_a_newer_image_does_not_change_the_configuration():
    assert list(cluster().one("ScalingConfiguration").request.ignoreChanges) == ["imageId"]
    assert list(cluster(serve={"image": "m-1"}).one("ScalingConfiguration").request.ignoreChanges) == []


def test_nodes_boot_with_their_rights():
    assert {"ali-serve-checkpoints", "ali-serve-release"} <= set(cluster().one("ScalingConfiguration").depends_on)


# --- what is told before a node goes


def test_a_node_is_held_for_its_checkpoint_and_a_queue_hears_of_it():
    rendered = cluster(serve={"checkpoint_seconds": 120})
    hook = rendered.one("LifecycleHook", "ali-serve-checkpoint").inputs
    assert (hook["lifecycleTransition"], hook["heartbeatTimeout"]) == ("SCALE_IN", 120)
    assert hook["defaultResult"] == "CONTINUE"
    assert hook["notificationArn"] == "acs:ess:cn-beijing:1234567890123456:queue/ali-serve-interruptions"
    assert rendered.one("ServiceQueue").inputs["messageRetentionPeriod"] == 345_600


def test_a_recall_of_spot_goes_to_the_queue():
    rule = cluster().one("EventRule").inputs
    assert rule["eventPattern"]["nameLists"] == ["Instance:PreemptibleInstanceInterruption"]
    (target,) = rule["mnsParameters"]
    assert (target["queue"], target["region"]) == ("ali-serve-interruptions", "cn-beijing")


def test_a_pool_on_demand_hears_of_no_recall():
    assert cluster(serve={"purchase": "on_demand"}).all("EventRule") == []


# --- rules and schedules


def scaled(**scaling: Any) -> Rendered:
    return cluster(serve={"nodes": {"min": 1, "max": 4}, "scaling": scaling})


def test_utilization_brings_a_node_and_takes_one():
    rendered = scaled(gpu_utilization_percent=70)
    alarms = {one.name: one.inputs for one in rendered.all("Alarm")}
    out, back = alarms["ali-serve-gpu-out"], alarms["ali-serve-gpu-in"]
    for alarm in (out, back):
        assert (alarm["metricType"], alarm["metricName"]) == ("system", "GpuUtilizationAgent")
        assert (alarm["scalingGroupId"], alarm["period"], alarm["statistics"]) == ("ali-serve-group-id", 60, "Average")
    assert (out["comparisonOperator"], out["threshold"], out["evaluationCount"]) == (">=", "70", 3)
    assert (back["comparisonOperator"], back["threshold"], back["evaluationCount"]) == ("<", "35", 15)
    rules = {one.name: one.inputs for one in rendered.all("ScalingRule")}
    assert [rules[name]["adjustmentValue"] for name in ("ali-serve-gpu-out", "ali-serve-gpu-in")] == [1, -1]
    assert out["alarmActions"] == ["ari:ali-serve-gpu-out"]


def test_periodic_work_has_its_size_by_the_clock_in_utc():
    size = {"cron": "0 9 * * MON-FRI", "time_zone": "Asia/Shanghai", "max": 4, "desired": 1}
    task = scaled(schedule={"day": size}).one("ScheduledTask")
    assert (task.inputs["recurrenceType"], task.inputs["recurrenceValue"]) == ("Cron", "0 1 * * MON,TUE,WED,THU,FRI")
    assert (task.inputs["maxValue"], task.inputs["desiredCapacity"]) == (4, 1)
    assert "minValue" not in task.inputs
    # A task cannot repeat for longer than a year from the day it is made, nor can two have one name.
    assert list(task.request.replaceOnChanges) == ["recurrenceEndTime"]
    assert task.request.deleteBeforeReplace


@given(st.dates(min_value=date(2024, 1, 1), max_value=date(2100, 1, 1)))
def test_a_task_repeats_most_of_a_year_and_never_more(today: date):
    end = last_day(today)
    assert 333 <= (end - today).days <= 365
    assert end == last_day(today.replace(day=1)), "the same all month: a second update changes nothing"


def test_a_long_name_of_a_task_is_shortened_and_stays_its_own():
    size = {"cron": "0 1 * * *", "min": 1}
    names = ("schedule-of-the-week-with-a-long", "schedule-of-the-week-with-a-lone")
    rendered = scaled(schedule=dict.fromkeys(names, size))
    found = [one.inputs["scheduledTaskName"] for one in rendered.all("ScheduledTask")]
    assert len(set(found)) == 2
    assert {len(name) for name in found} == {40}
