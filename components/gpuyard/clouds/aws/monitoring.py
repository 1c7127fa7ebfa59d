"""Monitoring on AWS: a topic for messages, alarms, a dashboard and a budget."""

from collections.abc import Mapping

from pulumi import Resource

from gpuyard.clouds.aws.alarms import AlarmBuilder
from gpuyard.clouds.aws.budget import build_budget
from gpuyard.clouds.aws.dashboard import build_dashboard
from gpuyard.clouds.aws.messages import build_topic
from gpuyard.clouds.built import BuiltMonitoring
from gpuyard.clouds.watched import Watched
from gpuyard.planning.plans import MonitoringPlan


def build_monitoring(
    name: str, plan: MonitoringPlan, watched: Watched, cluster: str, tags: Mapping[str, str], parent: Resource
) -> BuiltMonitoring:
    """Create the monitoring of pools and a file system.

    Args:
        name: Name in front of every resource.
        plan: Thresholds, readers and budget.
        watched: Pools and file system.
        cluster: Name of the cluster, as its resources are tagged.
        tags: Tags on everything.
        parent: The component it belongs to.

    Returns:
        The topic and the names of alarms, dashboard and budget.
    """
    topic, policy = build_topic(name, plan, tags, parent)
    builder = AlarmBuilder(name, plan, topic.arn, tags, parent)
    for pool in watched.pools:
        builder.watch_pool(pool)
    if watched.file_system is not None:
        builder.watch_file_system(watched.file_system)
    dashboard = budget = None
    if plan.dashboard:
        # The topic's name is the account's only one of its kind, which a dashboard's name has to be.
        dashboard = build_dashboard(name, topic.name, plan, watched, builder.alarms, parent)
    if plan.budget_amount is not None:
        budget = build_budget(name, plan, plan.budget_amount, cluster, topic.arn, tags, parent, ready=policy)
    return BuiltMonitoring(
        topic_arn=topic.arn,
        alarm_names=[alarm.name for alarm in builder.alarms],
        dashboard_name=None if dashboard is None else dashboard.dashboard_name,
        budget_name=None if budget is None else budget.name,
    )
