"""The dashboard, held against CloudWatch's documented structure (CloudWatch-Dashboard-Body-Structure)."""

import json
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pytest

from ..recorder import Rendered
from .monitoring_helpers import RDMA_POOL, SMALLEST, WHOLE, monitoring

METRIC_PROPERTIES = {"title", "view", "region", "stat", "period", "metrics", "yAxis", "annotations"}
LINE_OPTIONS = {"id", "label", "visible", "expression"}
MANY = {f"p{number}": {**RDMA_POOL, "group_name": f"grp-{number}"} for number in range(40)}


def widgets(rendered: Rendered) -> list[dict[str, Any]]:
    body = json.loads(rendered.one("Dashboard").inputs["dashboardBody"])
    assert set(body) == {"widgets"}
    return body["widgets"]


def graph(rendered: Rendered, title: str) -> dict[str, Any]:
    (found,) = [widget["properties"] for widget in widgets(rendered) if widget["properties"]["title"] == title]
    return found


def check_line(line: Sequence[Any]) -> None:
    options = line[-1]
    assert set(options) <= LINE_OPTIONS
    if "expression" in options:
        assert len(line) == 1
        return
    namespace, metric_name, *dimensions = line[:-1]
    assert namespace in ("gpuyard/nodes", "AWS/FSx")
    assert metric_name
    assert len(dimensions) == 2
    assert all(isinstance(part, str) for part in dimensions)


@pytest.mark.parametrize("arguments", [SMALLEST, WHOLE, {**WHOLE, "node_pools": MANY}], ids=["least", "all", "many"])
def test_every_widget_has_the_documented_shape(arguments: dict[str, Any]):
    found = widgets(monitoring(arguments))
    assert 0 < len(found) <= 500
    for widget in found:
        assert set(widget) == {"type", "x", "y", "width", "height", "properties"}
        assert 0 <= widget["x"] <= 23
        assert 1 <= widget["width"] <= 24 - widget["x"]
        assert 1 <= widget["height"] <= 1_000
        properties = widget["properties"]
        if widget["type"] == "alarm":
            assert set(properties) == {"title", "alarms"}
            assert 1 <= len(properties["alarms"]) <= 100
            continue
        assert widget["type"] == "metric"
        assert set(properties) <= METRIC_PROPERTIES
        assert (properties["view"], properties["region"]) == ("timeSeries", "us-east-1")
        assert properties["stat"] in ("Average", "Maximum", "Sum")
        assert properties["period"] in (60, 300)
        assert 1 <= len(properties["metrics"]) <= 100
        for line in properties["metrics"]:
            check_line(line)
        for mark in properties.get("annotations", {"horizontal": []})["horizontal"]:
            assert set(mark) == {"label", "value"}
            assert isinstance(mark["value"], (int, float))


@pytest.mark.parametrize("arguments", [WHOLE, {**WHOLE, "node_pools": MANY}], ids=["all", "many"])
def test_no_widget_lies_on_another(arguments: dict[str, Any]):
    def apart(one: dict[str, Any], other: dict[str, Any]) -> bool:
        beside = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
        below = one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"]
        return beside or below

    assert all(apart(*pair) for pair in combinations(widgets(monitoring(arguments)), 2))


@pytest.mark.parametrize("arguments", [WHOLE, {**WHOLE, "node_pools": MANY}], ids=["all", "many"])
def test_every_alarm_is_shown_once(arguments: dict[str, Any]):
    rendered = monitoring(arguments)
    shown = [arn for widget in widgets(rendered) if widget["type"] == "alarm" for arn in widget["properties"]["alarms"]]
    # Resources are registered side by side, in no promised order.
    assert sorted(shown) == sorted(f"arn:mock:{alarm.name}" for alarm in rendered.all("MetricAlarm"))


def test_what_an_expression_names_is_a_line_of_its_graph():
    for widget in widgets(monitoring(WHOLE)):
        lines = widget["properties"].get("metrics", [])
        ids = {line[-1]["id"] for line in lines if "id" in line[-1]}
        assert len(ids) == sum("id" in line[-1] for line in lines)
        for line in lines:
            words = set(line[-1].get("expression", "").replace("(", " ").replace(")", " ").replace(",", " ").split())
            named = {word for word in words if word[0].islower()}
            assert named <= ids


def test_gpus_are_drawn_by_pool_with_their_thresholds():
    rendered = monitoring(WHOLE)
    utilization = graph(rendered, "GPU utilization, mean")
    assert utilization["metrics"] == [
        [
            "gpuyard/nodes",
            "nvidia_smi_utilization_gpu",
            "AutoScalingGroupName",
            f"grp-{pool}",
            {"label": pool},
        ]
        for pool in ("train", "prep")
    ]
    assert utilization["stat"] == "Average"
    assert utilization["annotations"] == {"horizontal": [{"label": "idle below", "value": 70}]}
    memory = graph(rendered, "GPU memory, fullest")
    assert [line[0]["expression"] for line in memory["metrics"] if len(line) == 1] == [
        "100 * used0 / total0",
        "100 * used1 / total1",
    ]
    assert memory["annotations"] == {"horizontal": [{"label": "full above", "value": 95}]}
    assert {line[1] for line in graph(rendered, "GPU temperature, hottest")["metrics"]} == {
        "nvidia_smi_temperature_gpu"
    }


def test_efa_is_drawn_for_rdma_pools_only():
    lines = graph(monitoring(WHOLE), "EFA trouble")["metrics"]
    assert {line[3] for line in lines} == {"grp-train"}
    assert [line[1] for line in lines] == ["efa_rx_dropped", "efa_retrans_pkts", "efa_unresponsive_remote_events"]
    assert "EFA trouble" not in str(widgets(monitoring(SMALLEST)))


def test_the_file_system_is_drawn_in_its_units_over_any_period():
    rendered = monitoring(WHOLE)
    throughput, free = graph(rendered, "File system: throughput"), graph(rendered, "File system: free")
    assert throughput["annotations"]["horizontal"] == [{"label": "promised", "value": 6_000}]
    assert throughput["yAxis"]["left"]["label"] == "MB/s"
    # The sum of a period holds the free bytes of each of its minutes.
    assert free["metrics"][0][0]["expression"] == "free / (PERIOD(free) / 60) / 1073741824"
    assert free["annotations"]["horizontal"] == [{"label": "full below", "value": 3_600}]
    assert (free["stat"], free["yAxis"]["left"]["label"]) == ("Sum", "GiB")


def test_its_name_is_the_topics_which_no_other_dashboard_has(preview: bool):
    rendered = monitoring(WHOLE, preview=preview)
    assert rendered.one("Dashboard").depends_on.count("x-messages") == 1
    if not preview:
        assert rendered.one("Dashboard").inputs["dashboardName"] == "x-messages"


def test_there_is_none_where_none_is_wanted():
    assert monitoring(WHOLE, dashboard=False).all("Dashboard") == []
