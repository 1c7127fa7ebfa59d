"""What the scaler of Tencent Cloud can do, and what of the common description it cannot."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from gpuyard.catalog.limits import limit
from gpuyard.planning.plans import PoolKind
from gpuyard.spec.node_pools import NodePoolSpec, ScheduledSizeSpec
from gpuyard.spec.problems import Path, Problem

CLOUD = "tencentcloud"
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
# Target tracking takes less than all of a CPU.
_CPU_PERCENT_BELOW = 100


def scaling_problems(spec: NodePoolSpec, kind: PoolKind, path: Path) -> list[Problem]:
    """Problems of what changes a pool's size on this cloud.

    Args:
        spec: What was asked for.
        kind: Kind of the pool.
        path: Where the pool stands in the cluster description.

    Returns:
        Every problem found.

    Source: PyPI tencentcloud_iac_pulumi 0.2.3, docstrings of as_.ScalingPolicy and as_.Schedule
    """
    found = _cpu_problems(spec, kind, path)
    # Of a pool of fixed size it has been said before that nothing scales it.
    if kind != "elastic":
        return found
    most = limit(CLOUD, "autoscaling_group_size_max")
    if spec.nodes.max > most.values[0]:
        message = f"a scaling group has at most {most.values[0]} nodes, not {spec.nodes.max}."
        found.append(Problem((*path, "nodes"), message, f"Use several pools (source: {most.source})."))
    if spec.scaling is None:
        return found
    at = (*path, "scaling")
    if spec.scaling.gpu_utilization_percent is not None:
        message = "the scaler of Tencent Cloud knows no metric of GPUs."
        remedy = "Use 'tencentcloud: {cpu_utilization_percent: 60}' or 'schedule', or let your scheduler set the size."
        found.append(Problem((*at, "gpu_utilization_percent"), message, remedy))
    if spec.scaling.queue is not None:
        message = "the scaler of Tencent Cloud knows no waiting jobs."
        found.append(Problem((*at, "queue"), message, "Use 'schedule', or let your scheduler set the size."))
    for name, size in spec.scaling.schedule.items():
        found += _schedule_problems(size, (*at, "schedule", name))
    return found


def unix_cron(text: str) -> str:
    """A cron expression with numbers for the names of months and days, which Unix's own syntax does not know.

    Args:
        text: Minute, hour, day of month, month and day of week.

    Returns:
        The same times.
    """
    minute, hour, day, month, weekday = text.split()
    months = re.sub(r"[A-Za-z]{3}", lambda name: str(_MONTHS.index(name[0].upper()) + 1), month)
    weekdays = re.sub(r"[A-Za-z]{3}", lambda name: str(_WEEKDAYS.index(name[0].upper())), weekday)
    return " ".join((minute, hour, day, months, weekdays))


def _cpu_problems(spec: NodePoolSpec, kind: PoolKind, path: Path) -> list[Problem]:
    percent = spec.tencentcloud.cpu_utilization_percent if spec.tencentcloud else None
    at = (*path, "tencentcloud", "cpu_utilization_percent")
    if percent is None:
        return []
    if kind != "elastic":
        message = "a pool of fixed size is not scaled."
        return [Problem(at, message, "Give 'nodes' a min and a max and no RDMA, or remove it.")]
    if percent >= _CPU_PERCENT_BELOW:
        return [Problem(at, f"{percent} % is never exceeded.", f"Give less than {_CPU_PERCENT_BELOW}.")]
    # Nodes on demand are a group of their own and count for none of the spot group.
    fixed = spec.on_demand_nodes
    schedule = spec.scaling.schedule if spec.scaling else {}
    starts = any(max(size.desired or 0, size.min or 0) > fixed for size in schedule.values())
    if spec.nodes.min <= fixed and not starts:
        message = "an empty scaling group has no CPU whose utilization could bring its first node."
        remedy = f"Set 'nodes.min' to {fixed + 1} or more, or add a 'schedule' that starts one."
        return [Problem(at, message, remedy)]
    return []


def _schedule_problems(size: ScheduledSizeSpec, at: Path) -> list[Problem]:
    found: list[Problem] = []
    if size.desired is None and (size.min is not None or size.max is not None):
        message = "the scaler sets fewest, most and present nodes together."
        found.append(Problem((*at, "desired"), message, "Give 'desired', the nodes at that moment."))
    if not _is_beijing_time(size.time_zone):
        message = f"the scaler's clock is that of Beijing (UTC+8), not of {size.time_zone}."
        found.append(Problem((*at, "time_zone"), message, "Write 'time_zone: Asia/Shanghai' and 'cron' in that time."))
    return found


def _is_beijing_time(name: str) -> bool:
    try:
        zone = ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        # It has been said before that this is no time zone.
        return True
    days = (datetime(2026, month, 1, tzinfo=UTC) for month in range(1, 13))
    return all(day.astimezone(zone).utcoffset() == timedelta(hours=8) for day in days)
