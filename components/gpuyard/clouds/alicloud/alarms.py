"""Alarms on Alibaba Cloud: GPUs of each pool, and the file system."""

from collections.abc import Sequence
from math import ceil

import pulumi_alicloud as alicloud
from pulumi import Input, Output, ResourceOptions

from gpuyard.catalog.limits import limit
from gpuyard.clouds.watched import WatchedFileSystem, WatchedPool
from gpuyard.planning.plans import MonitoringPlan

POOL_TAG = "gpuyard:pool"
SERVERS, FILE_SYSTEMS = "acs_ecs_dashboard", "acs_nas"
BYTES_PER_GIB, BYTES_PER_MB = 2**30, 10**6

_CLOUD = "alicloud"
_PERIOD_SECONDS = 300
# What lasts a quarter of an hour is no burst.
_LASTING_SECONDS = 900
# Share of the promised throughput above which the file system is what jobs wait for.
_BUSY_SHARE = 0.9
_DEFAULT_KIND = "cpfs"


class AlarmBuilder:
    """Makes alarms that all send to one group of contacts.

    Args:
        name: Name in front of every resource.
        plan: The thresholds.
        group: Who hears of it.
        tags: Tags on every alarm.
        opts: Options of the component's children.
    """

    def __init__(
        self,
        name: str,
        plan: MonitoringPlan,
        group: alicloud.cms.AlarmContactGroup,
        tags: dict[str, str],
        opts: ResourceOptions,
    ) -> None:
        self._name, self._plan, self._group, self._tags, self._opts = name, plan, group, tags, opts
        self.alarm_names: list[Output[str]] = []

    def watch_pool(self, pool: WatchedPool) -> None:
        """Alarms of one pool: idle GPUs and full GPU memory, of each node by itself.

        Machines are named by their ids. Nodes that come and go are found by their tag, and get the rules of a template
        as soon as they are there; such a rule has a period of five minutes, whatever was asked for. CloudMonitor has no
        metric of Xid errors and of eRDMA: the nodes' kernel log holds them.

        Args:
            pool: The pool.

        Source: PyPI pulumi_alicloud 4.0.0, docstrings of cms.DynamicTagGroup and cms.MetricRuleTemplate
        """
        if pool.instance_ids is not None:
            self._watch_machines(pool, pool.instance_ids)
        elif pool.pool_tag is not None:
            self._watch_by_tag(pool, pool.pool_tag)

    def watch_file_system(self, system: WatchedFileSystem) -> None:
        """Alarms of a file system: too little room, and of CPFS all its throughput in use.

        Args:
            system: The file system.

        Source: https://www.alibabacloud.com/help/en/cpfs/cpfsonecs/user-guide/cpfs-monitoring-overview
        """
        used, *rates = limit(_CLOUD, f"alarm_{system.kind or _DEFAULT_KIND}_metrics").values
        dimensions = Output.json_dumps([{"fileSystemId": system.file_system_id}])
        full_bytes = system.capacity_gib * BYTES_PER_GIB * self._plan.file_system_full_percent // 100
        periods = _LASTING_SECONDS // _PERIOD_SECONDS
        self._alarm("file-system-full", FILE_SYSTEMS, used, dimensions, ">", full_bytes, _PERIOD_SECONDS, periods)
        if system.throughput_mb_per_s is None:
            return
        busy = int(system.throughput_mb_per_s * _BUSY_SHARE * BYTES_PER_MB)
        for part, rate in zip(("reads", "writes"), rates, strict=False):
            self._alarm(f"file-system-busy-{part}", FILE_SYSTEMS, rate, dimensions, ">", busy, _PERIOD_SECONDS, periods)

    def _watch_machines(self, pool: WatchedPool, instance_ids: Input[Sequence[Input[str]]]) -> None:
        plan = self._plan
        utilization, memory = limit(_CLOUD, "alarm_gpu_metrics").values
        dimensions = Output.json_dumps(Output.from_input(instance_ids).apply(_of_instances))
        low, high = plan.gpu_utilization_below_percent, plan.gpu_memory_above_percent
        period, periods = plan.period_seconds, plan.utilization_periods
        self._alarm(f"{pool.name}-gpu-idle", SERVERS, utilization, dimensions, "<", low, period, periods)
        self._alarm(f"{pool.name}-gpu-memory", SERVERS, memory, dimensions, ">", high, period, periods)

    def _watch_by_tag(self, pool: WatchedPool, tag: str) -> None:
        plan = self._plan
        utilization, memory = limit(_CLOUD, "alarm_gpu_metrics").values
        name = f"{self._name}-{pool.name}"
        rules = [
            (f"{name}-gpu-idle", utilization, "LessThanThreshold", plan.gpu_utilization_below_percent),
            (f"{name}-gpu-memory", memory, "GreaterThanThreshold", plan.gpu_memory_above_percent),
        ]
        template = alicloud.cms.MetricRuleTemplate(
            name,
            metric_rule_template_name=name,
            description=f"Nodes of {name}",
            alert_templates=[self._template_rule(*rule) for rule in rules],
            opts=self._opts,
        )
        alicloud.cms.DynamicTagGroup(
            name,
            tag_key=POOL_TAG,
            match_expresses=[
                alicloud.cms.DynamicTagGroupMatchExpressArgs(tag_value=tag, tag_value_match_function="equals")
            ],
            match_express_filter_relation="and",
            contact_group_lists=[self._group.alarm_contact_group_name.apply(str)],
            template_id_lists=[template.id],
            opts=self._opts,
        )
        self.alarm_names += [Output.from_input(rule) for rule, *_ in rules]

    def _template_rule(
        self, rule: str, metric: str, operator: str, percent: int
    ) -> alicloud.cms.MetricRuleTemplateAlertTemplateArgs:
        plan = self._plan
        (period,) = limit(_CLOUD, "alarm_template_period_seconds").values
        times = ceil(plan.period_seconds * plan.utilization_periods / period)
        return alicloud.cms.MetricRuleTemplateAlertTemplateArgs(
            category="ecs",
            namespace=SERVERS,
            metric_name=metric,
            rule_name=rule,
            escalations=alicloud.cms.MetricRuleTemplateAlertTemplateEscalationsArgs(
                critical=alicloud.cms.MetricRuleTemplateAlertTemplateEscalationsCriticalArgs(
                    statistics="Average", comparison_operator=operator, threshold=str(percent), times=str(times)
                )
            ),
        )

    def _alarm(
        self,
        part: str,
        namespace: str,
        metric: str,
        dimensions: Output[str],
        operator: str,
        threshold: int,
        period: int,
        times: int,
    ) -> None:
        alarm = alicloud.cms.Alarm(
            f"{self._name}-{part}",
            project=namespace,
            metric=metric,
            metric_dimensions=dimensions,
            period=period,
            contact_groups=[self._group.alarm_contact_group_name.apply(str)],
            escalations_critical=alicloud.cms.AlarmEscalationsCriticalArgs(
                statistics="Average", comparison_operator=operator, threshold=str(threshold), times=times
            ),
            tags=self._tags,
            opts=self._opts,
        )
        self.alarm_names.append(alarm.name)


def _of_instances(instance_ids: Sequence[Input[str]]) -> list[dict[str, Input[str]]]:
    return [{"instanceId": instance_id} for instance_id in instance_ids]
