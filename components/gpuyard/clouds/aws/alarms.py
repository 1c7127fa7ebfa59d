"""Alarms on AWS: GPUs, their errors and RDMA of each pool, and the file system."""

from collections.abc import Mapping
from typing import Any

import pulumi_aws as aws
from pulumi import Input, Output, Resource, ResourceOptions

from gpuyard.catalog.xid_errors import hardware_xid_errors
from gpuyard.clouds.watched import WatchedFileSystem, WatchedPool
from gpuyard.planning.metrics import (
    EFA_DROPPED_PACKETS,
    EFA_UNRESPONSIVE_PEERS,
    GPU_MEMORY_TOTAL,
    GPU_MEMORY_USED,
    GPU_UTILIZATION,
    METRIC_NAMESPACE,
    POOL_DIMENSION,
)
from gpuyard.planning.plans import MonitoringPlan

FILE_SYSTEM_NAMESPACE = "AWS/FSx"
FILE_SYSTEM_DIMENSION = "FileSystemId"
FREE_BYTES = "FreeDataStorageCapacity"
READ_BYTES = "DataReadBytes"
WRITTEN_BYTES = "DataWriteBytes"
BYTES_PER_GIB = 2**30
# MB/s of all clients together. A period in which nothing is written has no bytes written, and the sum needs both.
THROUGHPUT_MB_PER_S = "(FILL(read, 0) + FILL(written, 0)) / PERIOD(read) / 1000000"
# The fullest GPU of the pool: it is one GPU that runs out of memory, however much the others have left.
GPU_MEMORY_PERCENT = "100 * used / total"

_PERIOD_SECONDS = 300
_FREE_PERIOD_SECONDS = 60
# What lasts a quarter of an hour is no burst.
_LASTING_SECONDS = 900
# Share of the promised throughput above which the file system is what jobs wait for.
_BUSY_SHARE = 0.9
# EFA sends again what was dropped, so that single drops cost microseconds: a second with one, for a quarter of an hour,
# is a receiver that does not keep up. A peer that does not answer stops every collective: one is enough.
_DROPS_PER_SECOND = 1
_UNRESPONSIVE_PEERS = 1


class AlarmBuilder:
    """Makes alarms that all send to one topic.

    Args:
        name: Name in front of every resource.
        plan: The thresholds.
        topic_arn: Where messages go.
        tags: Tags on every alarm.
        parent: The component they belong to.
    """

    def __init__(
        self, name: str, plan: MonitoringPlan, topic_arn: Input[str], tags: Mapping[str, str], parent: Resource
    ) -> None:
        self._name, self._plan, self._topic_arn, self._tags = name, plan, topic_arn, tags
        self._opts = ResourceOptions(parent=parent)
        self.alarms: list[aws.cloudwatch.MetricAlarm] = []

    def watch_pool(self, pool: WatchedPool) -> None:
        """Alarms of one pool.

        An empty pool sends nothing, which counts as good: an alarm is about nodes that run. Utilization is NVML's,
        the share of the time in which any kernel ran. It finds idle GPUs; a job may keep it high and use little of the
        arithmetic all the same.

        Args:
            pool: The pool.
        """
        self._watch_gpus(pool)
        self._watch_xid_errors(
            pool, "xid", '"NVRM: Xid"', f"A GPU of pool {pool.name} reported an error (Xid) in its node's kernel log."
        )
        meanings = ", ".join(f"{error.code} {error.meaning}" for error in hardware_xid_errors())
        message = f"A GPU of pool {pool.name} is failing: an Xid error of its hardware. Replace its node. {meanings}."
        self._watch_xid_errors(pool, "xid-hardware", hardware_xid_pattern(), message)
        if pool.rdma:
            self._watch_rdma(pool)

    def watch_file_system(self, system: WatchedFileSystem) -> None:
        """Alarms of a file system: too little room, and all the throughput that it promises in use.

        Args:
            system: The file system.

        Source: https://docs.aws.amazon.com/fsx/latest/LustreGuide/fs-metrics.html
        """
        dimensions = {FILE_SYSTEM_DIMENSION: system.file_system_id}
        percent = self._plan.file_system_full_percent
        self._alarm(
            "file-system-full",
            f"The file system is more than {percent} % full. Remove old data, or make it larger.",
            namespace=FILE_SYSTEM_NAMESPACE,
            metric_name=FREE_BYTES,
            dimensions=dimensions,
            # Each storage target sends its free bytes once a minute: over a longer period their sum counts them again.
            statistic="Sum",
            period=_FREE_PERIOD_SECONDS,
            evaluation_periods=_LASTING_SECONDS // _FREE_PERIOD_SECONDS,
            comparison_operator="LessThanThreshold",
            threshold=free_gib_threshold(system, self._plan) * BYTES_PER_GIB,
            # A lost minute neither rings nor calms.
            treat_missing_data="ignore",
        )
        if system.throughput_mb_per_s is None:
            return
        self._alarm(
            "file-system-busy",
            f"The file system gives {_BUSY_SHARE:.0%} of its {system.throughput_mb_per_s:g} MB/s: jobs wait for it.",
            metric_queries=[
                _query("read", FILE_SYSTEM_NAMESPACE, READ_BYTES, dimensions, "Sum", _PERIOD_SECONDS),
                _query("written", FILE_SYSTEM_NAMESPACE, WRITTEN_BYTES, dimensions, "Sum", _PERIOD_SECONDS),
                _expression("throughput", THROUGHPUT_MB_PER_S, "MB/s"),
            ],
            evaluation_periods=_LASTING_SECONDS // _PERIOD_SECONDS,
            comparison_operator="GreaterThanThreshold",
            threshold=system.throughput_mb_per_s * _BUSY_SHARE,
        )

    def _watch_gpus(self, pool: WatchedPool) -> None:
        plan, dimensions = self._plan, {POOL_DIMENSION: pool.scaling_group}
        period, minutes = plan.period_seconds, plan.period_seconds * plan.utilization_periods // 60
        self._alarm(
            f"{pool.name}-gpu-idle",
            f"The GPUs of pool {pool.name} were in use less than {plan.gpu_utilization_below_percent} % of the time "
            f"for {minutes} minutes. That is the time in which any kernel ran, not how well it used the GPU.",
            namespace=METRIC_NAMESPACE,
            metric_name=GPU_UTILIZATION,
            dimensions=dimensions,
            statistic="Average",
            period=period,
            evaluation_periods=plan.utilization_periods,
            comparison_operator="LessThanThreshold",
            threshold=plan.gpu_utilization_below_percent,
        )
        self._alarm(
            f"{pool.name}-gpu-memory",
            f"A GPU of pool {pool.name} had more than {plan.gpu_memory_above_percent} % of its memory in use for "
            f"{minutes} minutes.",
            metric_queries=[
                _query("used", METRIC_NAMESPACE, GPU_MEMORY_USED, dimensions, "Maximum", period),
                _query("total", METRIC_NAMESPACE, GPU_MEMORY_TOTAL, dimensions, "Maximum", period),
                _expression("percent", GPU_MEMORY_PERCENT, "memory in use, %"),
            ],
            evaluation_periods=plan.utilization_periods,
            comparison_operator="GreaterThanThreshold",
            threshold=plan.gpu_memory_above_percent,
        )

    def _watch_xid_errors(self, pool: WatchedPool, part: str, pattern: str, message: str) -> None:
        # A filter of unstructured lines can give its metric no dimension, so that the pool is part of the name.
        metric_name = Output.concat(f"{part}-errors/", pool.scaling_group)
        aws.cloudwatch.LogMetricFilter(
            f"{self._name}-{pool.name}-{part}",
            region=self._plan.place.region,
            log_group_name=pool.log_group_name,
            pattern=pattern,
            metric_transformation=aws.cloudwatch.LogMetricFilterMetricTransformationArgs(
                name=metric_name, namespace=METRIC_NAMESPACE, value="1", unit="Count"
            ),
            opts=self._opts,
        )
        self._alarm(
            f"{pool.name}-{part}",
            message,
            namespace=METRIC_NAMESPACE,
            metric_name=metric_name,
            statistic="Sum",
            period=_PERIOD_SECONDS,
            evaluation_periods=1,
            comparison_operator="GreaterThanOrEqualToThreshold",
            threshold=1,
        )

    def _watch_rdma(self, pool: WatchedPool) -> None:
        common: dict[str, Any] = {
            "namespace": METRIC_NAMESPACE,
            "dimensions": {POOL_DIMENSION: pool.scaling_group},
            "statistic": "Sum",
            "period": _PERIOD_SECONDS,
            "comparison_operator": "GreaterThanOrEqualToThreshold",
        }
        self._alarm(
            f"{pool.name}-efa-drops",
            f"EFA of pool {pool.name} has dropped a packet a second or more for {_LASTING_SECONDS // 60} minutes.",
            metric_name=EFA_DROPPED_PACKETS,
            evaluation_periods=_LASTING_SECONDS // _PERIOD_SECONDS,
            threshold=_DROPS_PER_SECOND * _PERIOD_SECONDS,
            **common,
        )
        self._alarm(
            f"{pool.name}-efa-unresponsive",
            f"A node of pool {pool.name} did not answer another over EFA: jobs over both hang or end.",
            metric_name=EFA_UNRESPONSIVE_PEERS,
            evaluation_periods=1,
            threshold=_UNRESPONSIVE_PEERS,
            **common,
        )

    def _alarm(self, part: str, message: str, *, treat_missing_data: str = "notBreaching", **condition: Any) -> None:
        alarm = aws.cloudwatch.MetricAlarm(
            f"{self._name}-{part}",
            region=self._plan.place.region,
            alarm_description=message,
            alarm_actions=[self._topic_arn],
            treat_missing_data=treat_missing_data,
            tags=dict(self._tags),
            opts=self._opts,
            **condition,
        )
        self.alarms.append(alarm)


def hardware_xid_pattern() -> str:
    """The filter pattern of lines with an Xid error of the hardware: ``NVRM: Xid (PCI:0000:00:1e): 79, ...``.

    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html; a regular expression
    there knows no groups.
    """
    lines = [rf"Xid\s\S+\s{error.code}," for error in hardware_xid_errors()]
    return f"%{'|'.join(lines)}%"


def free_gib_threshold(system: WatchedFileSystem, plan: MonitoringPlan) -> float:
    """Free GiB under which a file system is called full."""
    return system.capacity_gib * (100 - plan.file_system_full_percent) / 100


def _query(
    query_id: str, namespace: str, metric_name: str, dimensions: Mapping[str, Input[str]], statistic: str, period: int
) -> aws.cloudwatch.MetricAlarmMetricQueryArgs:
    return aws.cloudwatch.MetricAlarmMetricQueryArgs(
        id=query_id,
        metric=aws.cloudwatch.MetricAlarmMetricQueryMetricArgs(
            namespace=namespace, metric_name=metric_name, dimensions=dimensions, stat=statistic, period=period
        ),
        return_data=False,
    )


def _expression(query_id: str, expression: str, label: str) -> aws.cloudwatch.MetricAlarmMetricQueryArgs:
    return aws.cloudwatch.MetricAlarmMetricQueryArgs(id=query_id, expression=expression, label=label, return_data=True)
