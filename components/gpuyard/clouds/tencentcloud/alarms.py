"""Alarms on Tencent Cloud: GPUs of each pool, and nodes that do not answer."""

import json
from collections.abc import Sequence
from typing import cast

import tencentcloud_iac_pulumi as tencentcloud
from pulumi import Input, Output, ResourceOptions

from gpuyard.catalog.limits import limit
from gpuyard.clouds.regions import invoke_options
from gpuyard.clouds.tencentcloud.names import fitted
from gpuyard.clouds.watched import WatchedPool
from gpuyard.planning.plans import MonitoringPlan

CLOUD = "tencentcloud"
POOL_TAG = "gpuyard:pool"

_MONITOR_TYPE = "MT_QCE"
# Machines are made without a project, which puts them into the account's first one.
_PROJECT = 0
_REPEAT_SECONDS = 3600


class AlarmBuilder:
    """Makes alarms that all send to one notice template.

    Args:
        name: Name in front of every resource.
        plan: The thresholds.
        notice_ids: Where messages go; none where nobody is to hear of anything.
        opts: Options of the component's children.
    """

    def __init__(
        self, name: str, plan: MonitoringPlan, notice_ids: Sequence[Input[str]], opts: ResourceOptions
    ) -> None:
        self._name, self._plan, self._notice_ids, self._opts = name, plan, notice_ids, opts
        (self._namespace,) = limit(CLOUD, "alarm_namespace").values
        self._known = tencentcloud.monitor.get_alarm_metric_output(
            module="monitor", monitor_type=_MONITOR_TYPE, namespace=self._namespace, opts=invoke_options(opts)
        )
        self.alarms: list[tencentcloud.monitor.AlarmPolicy] = []

    def watch_pool(self, pool: WatchedPool) -> None:
        """Alarms of one pool: idle GPUs, full GPU memory, and nodes of a pool of machines that are lost.

        Machines are bound by their ids; nodes that come and go are found by their tag. Figures are of a whole machine.
        Xid errors, RDMA and the file system have no metric here: a node's own set-up tells of them.

        Args:
            pool: The pool.
        """
        plan = self._plan
        utilization, memory = limit(CLOUD, "alarm_gpu_metrics").values
        minutes = plan.period_seconds * plan.utilization_periods // 60
        low, high = plan.gpu_utilization_below_percent, plan.gpu_memory_above_percent
        idle = f"GPUs in use less than {low} % of the time for {minutes} min"
        self._alarm(pool, "gpu-idle", idle, [self._rule(utilization, "lt", low)])
        full = f"GPU memory more than {high} % full for {minutes} min"
        self._alarm(pool, "gpu-memory", full, [self._rule(memory, "gt", high)])
        if pool.instance_ids is not None:
            self._alarm(pool, "node-lost", "A node does not answer, or has started again", [])

    def _rule(self, metric: str, operator: str, percent: int) -> tencentcloud.monitor.AlarmPolicyConditionsRuleArgs:
        return tencentcloud.monitor.AlarmPolicyConditionsRuleArgs(
            metric_name=self._known.metrics.apply(
                lambda found: alarm_metric(metric, [one.metric_name for one in found])
            ),
            rule_type="STATIC",
            operator=operator,
            value=str(percent),
            period=self._plan.period_seconds,
            continue_period=self._plan.utilization_periods,
            notice_frequency=_REPEAT_SECONDS,
            is_power_notice=0,
        )

    def _alarm(
        self,
        pool: WatchedPool,
        part: str,
        message: str,
        rules: Sequence[tencentcloud.monitor.AlarmPolicyConditionsRuleArgs],
    ) -> None:
        """One policy and what it watches; without rules it waits for events of a lost machine."""
        conditions = tencentcloud.monitor.AlarmPolicyConditionsArgs(is_union_rule=0, rules=list(rules))
        events = [
            tencentcloud.monitor.AlarmPolicyEventConditionArgs(metric_name=event)
            for event in limit(CLOUD, "alarm_node_events").values
        ]
        policy = tencentcloud.monitor.AlarmPolicy(
            f"{self._name}-{pool.name}-{part}",
            policy_name=fitted(f"{part}-{pool.name}", "alarm_policy_name_characters_max"),
            remark=_remark(f"{self._name}, pool {pool.name}: {message}"),
            monitor_type=_MONITOR_TYPE,
            namespace=self._namespace,
            project_id=_PROJECT,
            enable=1,
            conditions=conditions if rules else None,
            event_conditions=None if rules else events,
            notice_ids=list(self._notice_ids) or None,
            policy_tags=None if pool.instance_ids is not None else _tag_of(pool),
            opts=self._opts,
        )
        self.alarms.append(policy)
        if pool.instance_ids is not None:
            tencentcloud.monitor.PolicyBindingObject(
                f"{self._name}-{pool.name}-{part}",
                policy_id=policy.id,
                dimensions=_machines(pool.instance_ids),
                opts=self._opts,
            )


def alarm_metric(documented: str, offered: Sequence[str]) -> str:
    """The name that alarms have for a metric: monitoring and alarms spell some in different ways.

    Args:
        documented: The name in the list of metrics, such as ``GpuUtil``.
        offered: Names that an alarm policy takes.

    Returns:
        The offered name that is the same but for case and underscores.

    Raises:
        ValueError: There is none, and an alarm under another name would never ring.

    Source: https://cloud.tencent.com/document/api/248/6843
    """
    found = [name for name in offered if _plain(name) == _plain(documented)]
    if not found:
        raise ValueError(f"alarms of {CLOUD} have no metric like {documented}: they have {', '.join(sorted(offered))}")
    return found[0]


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _machines(
    ids: Input[Sequence[Input[str]]],
) -> Output[Sequence[tencentcloud.monitor.PolicyBindingObjectDimensionArgs]]:
    # What is inside is awaited too.
    known = cast(Output[Sequence[str]], Output.from_input(ids))
    return known.apply(
        lambda machines: [
            tencentcloud.monitor.PolicyBindingObjectDimensionArgs(dimensions_json=json.dumps({"unInstanceId": machine}))
            for machine in machines
        ]
    )


def _tag_of(pool: WatchedPool) -> Input[Sequence[Input[tencentcloud.monitor.AlarmPolicyPolicyTagArgs]]]:
    """The tag of the pool's nodes, once its scaling group exists, which brings the tag into the account."""
    if pool.pool_tag is None:
        raise ValueError(f"pool {pool.name} has neither machines nor a tag")
    tag = pool.pool_tag
    value: Input[str] = tag if pool.group_name is None else Output.from_input(pool.group_name).apply(lambda _: tag)
    return [tencentcloud.monitor.AlarmPolicyPolicyTagArgs(key=POOL_TAG, value=value)]


def _remark(text: str) -> str:
    most: int = limit(CLOUD, "alarm_remark_characters_max").values[0]
    return text if len(text) <= most else f"{text[: most - 1]}…"
