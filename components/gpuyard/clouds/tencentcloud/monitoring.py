"""Monitoring on Tencent Cloud: a notice template, alarms and a budget."""

from collections.abc import Mapping

from pulumi import Resource

from gpuyard.clouds.built import BuiltMonitoring
from gpuyard.clouds.tencentcloud.alarms import AlarmBuilder
from gpuyard.clouds.tencentcloud.budget import build_budget
from gpuyard.clouds.tencentcloud.messages import build_notice
from gpuyard.clouds.tencentcloud.region import in_region
from gpuyard.clouds.watched import Watched
from gpuyard.planning.plans import MonitoringPlan


def build_monitoring(
    name: str, plan: MonitoringPlan, watched: Watched, cluster: str, tags: Mapping[str, str], parent: Resource
) -> BuiltMonitoring:
    """Create the monitoring of pools.

    A file system is not watched, and there is no dashboard: the catalog says why (``monitoring_lacks``), and planning
    refuses both where they were asked for.

    Args:
        name: Name in front of every resource.
        plan: Thresholds, readers and budget.
        watched: Pools; a file system has no metric here.
        cluster: Name of the cluster, as its resources are tagged.
        tags: Tags on everything that takes some.
        parent: The component it belongs to.

    Returns:
        The notice template's id (None where nobody is to hear of anything), and the names of alarms and budget.
    """
    opts = in_region(f"{name}-monitoring", plan.place.region, parent)
    notice = build_notice(name, plan, tags, opts)
    builder = AlarmBuilder(name, plan, [] if notice is None else [notice.id], opts)
    for pool in watched.pools:
        builder.watch_pool(pool)
    budget = None
    if plan.budget_amount is not None:
        budget = build_budget(name, plan, plan.budget_amount, cluster, opts)
    return BuiltMonitoring(
        topic_arn=None if notice is None else notice.id,
        alarm_names=[alarm.policy_name for alarm in builder.alarms],
        dashboard_name=None,
        budget_name=None if budget is None else budget.budget_name,
    )
