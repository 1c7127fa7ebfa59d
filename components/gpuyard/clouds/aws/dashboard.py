"""The dashboard on AWS: alarms, GPUs by pool, EFA and the file system."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pulumi_aws as aws
from pulumi import Input, Output, Resource, ResourceOptions

from gpuyard.catalog.limits import limit
from gpuyard.clouds.aws.alarms import (
    BYTES_PER_GIB,
    FILE_SYSTEM_DIMENSION,
    FILE_SYSTEM_NAMESPACE,
    FREE_BYTES,
    GPU_MEMORY_PERCENT,
    READ_BYTES,
    THROUGHPUT_MB_PER_S,
    WRITTEN_BYTES,
    free_gib_threshold,
)
from gpuyard.clouds.watched import Watched, WatchedFileSystem, WatchedPool
from gpuyard.planning.metrics import (
    EFA_DROPPED_PACKETS,
    EFA_RESENT_PACKETS,
    EFA_UNRESPONSIVE_PEERS,
    GPU_MEMORY_TOTAL,
    GPU_MEMORY_USED,
    GPU_TEMPERATURE,
    GPU_UTILIZATION,
    METRIC_NAMESPACE,
    POOL_DIMENSION,
)
from gpuyard.planning.plans import MonitoringPlan

Widget = dict[str, Any]

_EFA_COUNTERS = {
    EFA_DROPPED_PACKETS: "dropped",
    EFA_RESENT_PACKETS: "sent again",
    EFA_UNRESPONSIVE_PEERS: "unresponsive peers",
}
# The most lines of one pool in one graph: three EFA counters, or used and total memory with their quotient.
_LINES_PER_POOL = 3
_GRAPH_WIDTH, _GRAPH_HEIGHT, _COLUMNS = 12, 6, 24
# Free bytes come once a minute from each storage target: the sum of a longer period, by the minutes in it.
_FREE_GIB = f"free / (PERIOD(free) / 60) / {BYTES_PER_GIB}"


def build_dashboard(
    name: str,
    dashboard_name: Input[str],
    plan: MonitoringPlan,
    watched: Watched,
    alarms: Sequence[aws.cloudwatch.MetricAlarm],
    parent: Resource,
) -> aws.cloudwatch.Dashboard:
    """Create the dashboard.

    Args:
        name: Name in front of every resource.
        dashboard_name: Its name in the account; a second dashboard of that name would overwrite it without a word.
        plan: The thresholds that are drawn.
        watched: Pools and file system.
        alarms: Alarms whose state is shown.
        parent: The component it belongs to.

    Returns:
        The dashboard.

    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
    """
    region = plan.place.region
    widgets = [*_alarm_states(alarms), *_placed(list(_graphs(plan, watched)), below=_alarm_rows(len(alarms)))]
    return aws.cloudwatch.Dashboard(
        f"{name}-dashboard",
        region=region,
        dashboard_name=dashboard_name,
        dashboard_body=Output.json_dumps({"widgets": widgets}),
        opts=ResourceOptions(parent=parent),
    )


def _alarm_states(alarms: Sequence[aws.cloudwatch.MetricAlarm]) -> list[Widget]:
    most = _alarms_per_widget()
    return [
        {
            "type": "alarm",
            "x": 0,
            "y": first // most * _GRAPH_HEIGHT,
            "width": _COLUMNS,
            "height": _GRAPH_HEIGHT,
            "properties": {"title": "Alarms", "alarms": [alarm.arn for alarm in alarms[first : first + most]]},
        }
        for first in range(0, len(alarms), most)
    ]


def _alarm_rows(alarms: int) -> int:
    return -(-alarms // _alarms_per_widget())


def _alarms_per_widget() -> int:
    return int(limit("aws", "dashboard_alarms_per_widget_max").values[0])


def _placed(graphs: Sequence[Widget], *, below: int) -> list[Widget]:
    """Graphs side by side, in rows under those that are taken."""
    by_row = _COLUMNS // _GRAPH_WIDTH
    return [
        {
            "type": "metric",
            "x": number % by_row * _GRAPH_WIDTH,
            "y": (below + number // by_row) * _GRAPH_HEIGHT,
            "width": _GRAPH_WIDTH,
            "height": _GRAPH_HEIGHT,
            "properties": properties,
        }
        for number, properties in enumerate(graphs)
    ]


def _graphs(plan: MonitoringPlan, watched: Watched) -> Iterator[Widget]:
    for pools in _batches(watched.pools):
        yield _utilization(plan, pools)
        yield _memory(plan, pools)
        yield _graph(plan, "GPU temperature, hottest", _pool_lines(pools, GPU_TEMPERATURE), "°C", stat="Maximum")
    for pools in _batches([pool for pool in watched.pools if pool.rdma]):
        lines = [
            _line(pool, counter, label=f"{pool.name}: {meaning}")
            for pool in pools
            for counter, meaning in _EFA_COUNTERS.items()
        ]
        yield _graph(plan, "EFA trouble", lines, "events", stat="Sum")
    if watched.file_system is not None:
        yield _throughput(plan, watched.file_system)
        yield _free(plan, watched.file_system)


def _batches(pools: Sequence[WatchedPool]) -> Iterator[Sequence[WatchedPool]]:
    size = limit("aws", "dashboard_metrics_per_widget_max").values[0] // _LINES_PER_POOL
    return (pools[first : first + size] for first in range(0, len(pools), size))


def _utilization(plan: MonitoringPlan, pools: Sequence[WatchedPool]) -> Widget:
    # NVML's figure is the time in which any kernel ran.
    lines = _pool_lines(pools, GPU_UTILIZATION)
    mark = ("idle below", plan.gpu_utilization_below_percent)
    return _graph(plan, "GPU utilization, mean", lines, "%", stat="Average", mark=mark, top=100)


def _memory(plan: MonitoringPlan, pools: Sequence[WatchedPool]) -> Widget:
    lines: list[list[Any]] = []
    for number, pool in enumerate(pools):
        ids = {"used": f"used{number}", "total": f"total{number}"}
        expression = GPU_MEMORY_PERCENT.replace("used", ids["used"]).replace("total", ids["total"])
        lines.append([{"id": f"percent{number}", "expression": expression, "label": pool.name}])
        lines.append(_line(pool, GPU_MEMORY_USED, id=ids["used"], visible=False))
        lines.append(_line(pool, GPU_MEMORY_TOTAL, id=ids["total"], visible=False))
    mark = ("full above", plan.gpu_memory_above_percent)
    return _graph(plan, "GPU memory, fullest", lines, "%", stat="Maximum", mark=mark, top=100)


def _throughput(plan: MonitoringPlan, system: WatchedFileSystem) -> Widget:
    lines = [
        [{"id": "throughput", "expression": THROUGHPUT_MB_PER_S, "label": "read and written"}],
        _file_system_line(system, READ_BYTES, "read"),
        _file_system_line(system, WRITTEN_BYTES, "written"),
    ]
    promised = system.throughput_mb_per_s
    mark = None if promised is None else ("promised", promised)
    return _graph(plan, "File system: throughput", lines, "MB/s", stat="Sum", mark=mark)


def _free(plan: MonitoringPlan, system: WatchedFileSystem) -> Widget:
    lines = [
        [{"id": "gib", "expression": _FREE_GIB, "label": "free"}],
        _file_system_line(system, FREE_BYTES, "free"),
    ]
    mark = ("full below", free_gib_threshold(system, plan))
    return _graph(plan, "File system: free", lines, "GiB", stat="Sum", mark=mark)


def _pool_lines(pools: Sequence[WatchedPool], metric_name: str) -> list[list[Any]]:
    return [_line(pool, metric_name, label=pool.name) for pool in pools]


def _line(pool: WatchedPool, metric_name: str, **options: Any) -> list[Any]:
    return [METRIC_NAMESPACE, metric_name, POOL_DIMENSION, pool.scaling_group, options]


def _file_system_line(system: WatchedFileSystem, metric_name: str, line_id: str) -> list[Any]:
    options = {"id": line_id, "visible": False}
    return [FILE_SYSTEM_NAMESPACE, metric_name, FILE_SYSTEM_DIMENSION, system.file_system_id, options]


def _graph(
    plan: MonitoringPlan,
    title: str,
    lines: Sequence[Sequence[Any]],
    unit: str,
    *,
    stat: str,
    mark: tuple[str, float] | None = None,
    top: float | None = None,
) -> Widget:
    axis: Mapping[str, Any] = {"label": unit, "showUnits": False, "min": 0}
    properties: Widget = {
        "title": title,
        "view": "timeSeries",
        "region": plan.place.region,
        "stat": stat,
        "period": plan.period_seconds,
        "metrics": list(lines),
        "yAxis": {"left": dict(axis) if top is None else {**axis, "max": top}},
    }
    if mark is not None:
        label, value = mark
        properties["annotations"] = {"horizontal": [{"label": label, "value": value}]}
    return properties
