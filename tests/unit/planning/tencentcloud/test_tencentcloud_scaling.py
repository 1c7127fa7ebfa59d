"""What scales a pool on Tencent Cloud, and what of the common description its scaler cannot do."""

from typing import Any

import pytest

from gpuyard.planning.plans import Place
from gpuyard.planning.pool_size import is_cron
from gpuyard.planning.tencentcloud.scaling import unix_cron

from ..conftest import Pool, Refused

PLACE = Place("tencentcloud", "ap-beijing", "dev", zone="ap-beijing-5")
SPOT: dict[str, Any] = {"gpu": "A10", "nodes": {"min": 1, "max": 8}, "purchase": "spot", "spot_price_limit": 2.5}
CPU = {"cpu_utilization_percent": 60}


def day(**values: Any) -> dict[str, Any]:
    size = {"cron": "0 8 * * *", "time_zone": "Asia/Shanghai", "desired": 4, **values}
    return {"schedule": {"day": {key: value for key, value in size.items() if value is not None}}}


@pytest.mark.parametrize(
    ("scaling", "said"),
    [
        (
            {"gpu_utilization_percent": 70},
            "scaling.gpu_utilization_percent: the scaler of Tencent Cloud knows no metric of GPUs. "
            "Use 'tencentcloud: {cpu_utilization_percent: 60}' or 'schedule'",
        ),
        (
            {"queue": {"name": "jobs", "jobs_per_node": 2}},
            "scaling.queue: the scaler of Tencent Cloud knows no waiting jobs. Use 'schedule'",
        ),
        (
            day(time_zone="Etc/UTC"),
            "scaling.schedule.day.time_zone: the scaler's clock is that of Beijing (UTC+8), not of Etc/UTC. "
            "Write 'time_zone: Asia/Shanghai'",
        ),
        (
            day(time_zone="Europe/Berlin"),
            "scaling.schedule.day.time_zone: the scaler's clock is that of Beijing (UTC+8), not of Europe/Berlin.",
        ),
        (
            day(desired=None, min=2),
            "scaling.schedule.day.desired: the scaler sets fewest, most and present nodes together. Give 'desired'",
        ),
    ],
)
def test_what_the_scaler_cannot_do_is_refused_with_what_it_can(scaling: dict[str, Any], said: str, refused: Refused):
    (problem,) = refused(PLACE, **SPOT, scaling=scaling)
    assert problem.startswith(said)


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "Asia/Singapore", "Etc/GMT-8"])
def test_every_zone_of_beijings_time_will_do(zone: str, pool: Pool):
    assert pool(PLACE, **SPOT, scaling=day(time_zone=zone)).scaling is not None


def test_no_zone_at_all_is_said_once(refused: Refused):
    (problem,) = refused(PLACE, **SPOT, scaling=day(time_zone="Asia/Nowhere"))
    assert "is no time zone" in problem


def test_the_utilization_of_the_cpus_scales_an_elastic_pool(pool: Pool):
    assert pool(PLACE, **SPOT, tencentcloud=CPU).details.cpu_utilization_percent == 60


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"gpu": "A100", "gpus_per_node": 8}, "a pool of fixed size is not scaled."),
        ({**SPOT, "tencentcloud": {"cpu_utilization_percent": 100}}, "100 % is never exceeded. Give less than 100."),
        ({**SPOT, "nodes": {"min": 0, "max": 8}}, "Set 'nodes.min' to 1 or more, or add a 'schedule'"),
        ({**SPOT, "nodes": {"min": 2, "max": 8}, "on_demand_nodes": 2}, "Set 'nodes.min' to 3 or more"),
        ({**SPOT, "on_demand_nodes": 4, "scaling": day()}, "an empty scaling group has no CPU"),
    ],
)
def test_cpus_that_cannot_scale_are_refused(values: dict[str, Any], said: str, refused: Refused):
    (problem,) = refused(PLACE, **{"tencentcloud": CPU, **values})
    assert problem.startswith("tencentcloud.cpu_utilization_percent:")
    assert said in problem


def test_a_schedule_brings_the_first_node_of_an_empty_group(pool: Pool):
    plan = pool(PLACE, **{**SPOT, "nodes": {"min": 0, "max": 8}}, scaling=day(), tencentcloud=CPU)
    assert plan.min_nodes == 0


def test_a_group_has_a_most(refused: Refused):
    problems = refused(PLACE, **{**SPOT, "nodes": {"min": 1, "max": 2001}})
    assert any("a scaling group has at most 2000 nodes, not 2001." in problem for problem in problems)


def test_the_two_minutes_of_a_spot_node_are_said(pool: Pool):
    assert "A spot node ends 120 s after its notice" in " ".join(pool(PLACE, **SPOT).reasons)


@pytest.mark.parametrize(
    ("text", "unix"),
    [
        ("0 8 * * MON-FRI", "0 8 * * 1-5"),
        ("0 20 * * fri", "0 20 * * 5"),
        ("30 6 1 JAN,jul *", "30 6 1 1,7 *"),
        ("*/15 0-6 1-7 12 SUN,SAT", "*/15 0-6 1-7 12 0,6"),
        ("0 8 * * 1-5", "0 8 * * 1-5"),
    ],
)
def test_names_of_days_and_months_are_numbers_for_the_scaler(text: str, unix: str):
    assert is_cron(text)
    assert unix_cron(text) == unix
