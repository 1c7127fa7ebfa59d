"""Scaling groups on Tencent Cloud, what changes their size, and what is told before a node goes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import tencentcloud_iac_pulumi as tencentcloud
from pulumi import ResourceOptions

from gpuyard.clouds.tencentcloud.names import fitted
from gpuyard.clouds.tencentcloud.node_hooks import NodeHooks
from gpuyard.clouds.tencentcloud.node_parts import NodeParts
from gpuyard.planning.plans import NodePoolPlan
from gpuyard.planning.tencentcloud.pools import PoolDetails
from gpuyard.planning.tencentcloud.scaling import unix_cron
from gpuyard.spec.node_pools import ScheduledSizeSpec

_BEIJING = timezone(timedelta(hours=8))
_SCHEDULE_YEARS = 10
# A GPU node installs its driver before it is of use.
_WARM_UP_SECONDS = 900


@dataclass(frozen=True)
class ElasticGroup:
    """The group that is scaled, and its scaling configuration."""

    group: tencentcloud.as_.ScalingGroup
    configuration: tencentcloud.as_.ScalingConfig


def build_elastic(
    name: str,
    plan: NodePoolPlan,
    parts: NodeParts,
    tags: Mapping[str, str],
    opts: ResourceOptions,
    *,
    has_programs: bool,
) -> ElasticGroup:
    """Create the groups of one elastic pool, with hooks, policies and schedules.

    Spot and on demand do not mix in one group of the provider: nodes that are to be on demand are a second group of
    their own, of fixed size, and the sizes of the first are counted without them. All types of a pool are tried in the
    order of the plan, each in every zone.

    With programs on the nodes, a new one counts when it is healthy, and one that is taken away is waited for. Hooks
    need their group: the nodes that it begins with start before there is one. A spot machine that the cloud takes back
    is told by its metadata two minutes ahead, which the node itself watches; the cloud sends no message anywhere.

    Args:
        name: Name in front of every resource.
        plan: The pool.
        parts: Network, role, image and user data.
        tags: Tags on everything, on nodes and their disks too.
        opts: Resource options, the parent and what nodes wait for among them.
        has_programs: Whether nodes have a health gate and a watcher.

    Returns:
        The group that is scaled.

    Source: PyPI tencentcloud_iac_pulumi 0.2.3, docstrings of as_.ScalingConfig and as_.ScalingGroup
    """
    return _ElasticBuilder(name, plan, parts, tags, opts, has_programs).build()


def beijing_times(now: datetime) -> tuple[str, str]:
    """When a schedule begins and ends, as the scaler takes it: it refuses a beginning that has passed.

    Args:
        now: The present.

    Returns:
        The second full hour from now, and that hour ten years later, both in Beijing's time.

    Source: PyPI tencentcloud_iac_pulumi 0.2.3, docstring of as_.Schedule; API as 2018-04-19, error
    InvalidParameterValue.StartTimeBeforeCurrentTime
    """
    hour = now.astimezone(_BEIJING).replace(minute=0, second=0, microsecond=0)
    start = hour + timedelta(hours=2)
    # The 28th is in every month of every year.
    end = start.replace(year=start.year + _SCHEDULE_YEARS, day=min(start.day, 28))
    return start.isoformat(), end.isoformat()


class _ElasticBuilder:
    def __init__(
        self,
        name: str,
        plan: NodePoolPlan,
        parts: NodeParts,
        tags: Mapping[str, str],
        opts: ResourceOptions,
        has_programs: bool,
    ) -> None:
        self.name, self.plan, self.parts, self.tags, self.opts = name, plan, parts, dict(tags), opts
        self.has_programs = has_programs
        self.details: PoolDetails = plan.details
        self.spot = plan.purchase == "spot"
        self.fixed = plan.on_demand_nodes

    def build(self) -> ElasticGroup:
        self.hooks = NodeHooks(self.name, self.plan, self.tags, self.opts) if self.has_programs else None
        if self.fixed:
            self._group("on-demand", spot=False, low=self.fixed, high=self.fixed, desired=self.fixed)
        desired = self.plan.desired_nodes
        made = self._group(
            "spot" if self.spot else "group",
            spot=self.spot,
            low=self._without_fixed(self.plan.min_nodes),
            high=self._without_fixed(self.plan.max_nodes),
            desired=None if desired is None else self._without_fixed(desired),
        )
        if self.details.cpu_utilization_percent is not None:
            tencentcloud.as_.ScalingPolicy(
                f"{self.name}-cpu",
                scaling_group_id=made.group.id,
                policy_name=fitted(f"{self.name}-cpu"),
                policy_type="TARGET_TRACKING",
                predefined_metric_type="ASG_AVG_CPU_UTILIZATION",
                target_value=self.details.cpu_utilization_percent,
                estimated_instance_warmup=_WARM_UP_SECONDS,
                disable_scale_in=False,
                opts=self.opts,
            )
        schedule = self.plan.scaling.schedule if self.plan.scaling else {}
        for part, size in schedule.items():
            self._schedule(part, size, made.group)
        return made

    def _without_fixed(self, nodes: int) -> int:
        return max(nodes - self.fixed, 0)

    def _group(self, part: str, *, spot: bool, low: int, high: int, desired: int | None) -> ElasticGroup:
        name = f"{self.name}-{part}"
        configuration = self._configuration(name, spot)
        group = tencentcloud.as_.ScalingGroup(
            name,
            scaling_group_name=fitted(name, "scaling_name_characters_max"),
            configuration_id=configuration.id,
            min_size=low,
            max_size=high,
            desired_capacity=desired,
            vpc_id=self.parts.network_id,
            subnet_ids=self.parts.subnet_ids,
            multi_zone_subnet_policy="EQUALITY",
            retry_policy="INCREMENTAL_INTERVALS",
            health_check_type="CVM",
            replace_monitor_unhealthy=True,
            # The youngest node has the least work to lose.
            termination_policies="NEWEST_INSTANCE",
            tags={**self.tags, "Name": name},
            # Once it runs, an elastic pool's size is its scaler's: an update must not throw nodes out.
            opts=ResourceOptions.merge(
                self.opts, ResourceOptions(ignore_changes=["desiredCapacity"] if low != high else [])
            ),
        )
        if self.hooks is not None:
            self.hooks.hang_on(name, group)
        return ElasticGroup(group, configuration)

    def _configuration(self, name: str, spot: bool) -> tencentcloud.as_.ScalingConfig:
        disk = self.plan.root_disk
        node_tags = {**self.tags, "Name": name}
        floating = ["imageId"] if self.plan.image_query is not None else []
        return tencentcloud.as_.ScalingConfig(
            f"{name}-config",
            configuration_name=fitted(f"{name}-config"),
            instance_types=list(self.details.machine_types),
            image_id=self.parts.image_id,
            security_group_ids=self.parts.security_group_ids,
            cam_role_name=self.parts.role_name,
            system_disk_type=disk.disk_type,
            system_disk_size=disk.size_gib,
            # A zone that has no such disks gives another class instead of no node.
            disk_type_policy="AUTOMATIC",
            public_ip_assigned=False,
            internet_max_bandwidth_out=0,
            enhanced_monitor_service=True,
            enhanced_security_service=True,
            enhanced_automation_tools_service=True,
            instance_name_settings=tencentcloud.as_.ScalingConfigInstanceNameSettingsArgs(instance_name=fitted(name)),
            instance_tags=node_tags,
            tags=node_tags,
            user_data=self.parts.user_data,
            # A newer vendor image is taken when 'image' names one, or when the pool is made anew.
            opts=ResourceOptions.merge(self.opts, ResourceOptions(ignore_changes=floating)),
            **self._paid(spot),
        )

    def _paid(self, spot: bool) -> dict[str, Any]:
        if not spot:
            return {"instance_charge_type": "POSTPAID_BY_HOUR"}
        return {
            "instance_charge_type": "SPOTPAID",
            # In capitals on a single machine, in small letters here.
            "spot_instance_type": "one-time",
            "spot_max_price": format(Decimal(str(self.plan.spot_price_limit)), "f"),
        }

    def _schedule(self, part: str, size: ScheduledSizeSpec, group: tencentcloud.as_.ScalingGroup) -> None:
        start, end = beijing_times(datetime.now(UTC))
        low = self.plan.min_nodes if size.min is None else size.min
        high = self.plan.max_nodes if size.max is None else size.max
        tencentcloud.as_.Schedule(
            f"{self.name}-{part}",
            schedule_action_name=fitted(f"{self.name}-{part}"),
            scaling_group_id=group.id,
            min_size=self._without_fixed(low),
            max_size=self._without_fixed(high),
            desired_capacity=self._without_fixed(low if size.desired is None else size.desired),
            start_time=start,
            end_time=end,
            recurrence=unix_cron(size.cron),
            # When it began is no part of what was asked for.
            opts=ResourceOptions.merge(self.opts, ResourceOptions(ignore_changes=["startTime", "endTime"])),
        )
