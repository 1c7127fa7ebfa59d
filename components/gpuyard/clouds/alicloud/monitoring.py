"""Monitoring on Alibaba Cloud: contacts and alarms."""

from collections.abc import Mapping

from pulumi import Resource

from gpuyard.clouds.alicloud.alarms import AlarmBuilder
from gpuyard.clouds.alicloud.messages import build_contacts
from gpuyard.clouds.alicloud.region import in_region
from gpuyard.clouds.built import BuiltMonitoring
from gpuyard.clouds.watched import Watched
from gpuyard.planning.plans import MonitoringPlan


def build_monitoring(
    name: str,
    plan: MonitoringPlan,
    watched: Watched,
    cluster: str,  # noqa: ARG001 a budget is of a cluster, and there is none here
    tags: Mapping[str, str],
    parent: Resource,
) -> BuiltMonitoring:
    """Create the monitoring of pools and a file system.

    There is neither a dashboard nor a budget: the catalog says why (``monitoring_lacks``), and planning refuses both
    where they were asked for.

    Args:
        name: Name in front of every resource.
        plan: Thresholds and readers.
        watched: Pools and file system.
        cluster: Name of the cluster, as its resources are tagged.
        tags: Tags on everything that takes some.
        parent: The component it belongs to.

    Returns:
        The name of the group of contacts and the names of the alarms.
    """
    opts = in_region(f"{name}-monitoring", plan.place.region, parent)
    group = build_contacts(name, plan, opts)
    builder = AlarmBuilder(name, plan, group, dict(tags), opts)
    for pool in watched.pools:
        builder.watch_pool(pool)
    if watched.file_system is not None:
        builder.watch_file_system(watched.file_system)
    return BuiltMonitoring(
        topic_arn=group.alarm_contact_group_name.apply(str),
        alarm_names=builder.alarm_names,
        dashboard_name=None,
        budget_name=None,
    )
