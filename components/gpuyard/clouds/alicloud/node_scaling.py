"""What changes the size of an elastic pool, and what is told before a node goes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256

import pulumi_alicloud as alicloud
from pulumi import Output, Resource, ResourceOptions

from gpuyard.bootstrap.software import setup_seconds
from gpuyard.catalog.limits import limit
from gpuyard.clouds.regions import invoke_options
from gpuyard.planning.alicloud.cron import utc_cron
from gpuyard.planning.plans import NodePoolPlan
from gpuyard.spec.node_pools import ScheduledSizeSpec

# Mean of the GPUs of all nodes in percent, as the agent on each node sends it.
# Source: Auto Scaling API 2022-02-22, CreateAlarm, MetricName
GPU_UTILIZATION = "GpuUtilizationAgent"
_PERIOD_SECONDS = 60
# A node more comes soon; one less only where a quarter of an hour shows that it is not needed.
_OUT_PERIODS, _IN_PERIODS = 3, 15
# Half of the target: with one node less of two, the other is just at it.
_IN_SHARE = 0.5
_COOLDOWN_SECONDS = 300
# Long enough for a scheduler that is down over a weekend to learn of what happened.
_KEEP_MESSAGES_SECONDS = 4 * 24 * 3600
_SUM_CHARACTERS = 8
_SPOT_EVENT = "Instance:PreemptibleInstanceInterruption"


@dataclass(frozen=True)
class Hooks:
    """The hooks of a group, and the queue that tells a scheduler which nodes are about to go."""

    hooks: Sequence[Resource]
    queue: alicloud.message.ServiceQueue


def launch_hook_name(name: str) -> str:
    """The hook that waits until a node is healthy."""
    return f"{name}-healthy"


def hook_name(name: str) -> str:
    """The hook that waits for a node's checkpoint."""
    return f"{name}-checkpoint"


def build_hooks(
    name: str,
    plan: NodePoolPlan,
    group: alicloud.ess.ScalingGroup,
    tags: Mapping[str, str],
    opts: ResourceOptions,
    *,
    has_programs: bool,
) -> Hooks:
    """Create the hooks that wait for a node's health and for its checkpoint, and the queue of those that are to go.

    A node counts from the moment that its health gate says so: one that is not whole is given back, not trained on.
    Without programs there is no gate, and nobody waits for it.

    The queue gets the checkpoint hook's messages, and for a spot pool the interruption of every spot instance of the
    account in the region: such an event names an instance and not its group. Messages lie unencrypted: the service
    encrypts only for accounts that were admitted to it by a ticket.

    Args:
        name: Name in front of every resource.
        plan: The pool.
        group: Its scaling group.
        tags: Tags on the queue.
        opts: Options of every resource.
        has_programs: Whether nodes have a health gate.

    Returns:
        Hooks and queue.

    Sources: https://www.alibabacloud.com/help/en/auto-scaling/developer-reference/api-ess-2022-02-22-createlifecyclehook
    and https://www.alibabacloud.com/help/en/ecs/user-guide/best-practices-for-preemptible-instances/
    """
    region = plan.place.region
    account = alicloud.get_account_output(opts=invoke_options(opts)).id
    queue = alicloud.message.ServiceQueue(
        f"{name}-interruptions",
        queue_name=f"{name}-interruptions",
        message_retention_period=_KEEP_MESSAGES_SECONDS,
        tags=dict(tags),
        opts=opts,
    )
    checkpoint = alicloud.ess.LifecycleHook(
        hook_name(name),
        name=hook_name(name),
        scaling_group_id=group.id,
        lifecycle_transition="SCALE_IN",
        heartbeat_timeout=plan.checkpoint_seconds,
        # The node goes in any case: a hook that abandoned would not keep it either.
        default_result="CONTINUE",
        notification_arn=Output.concat(f"acs:ess:{region}:", account, ":queue/", queue.queue_name),
        opts=opts,
    )
    if plan.purchase == "spot":
        alicloud.cms.EventRule(
            f"{name}-spot",
            rule_name=f"{name}-spot",
            description=f"Spot nodes of {name} that are taken back",
            status="ENABLED",
            event_pattern=alicloud.cms.EventRuleEventPatternArgs(
                product="ecs", event_type_lists=["*"], level_lists=["*"], name_lists=[_SPOT_EVENT]
            ),
            mns_parameters=[
                alicloud.cms.EventRuleMnsParameterArgs(mns_parameters_id="1", region=region, queue=queue.queue_name)
            ],
            opts=opts,
        )
    hooks: list[Resource] = [checkpoint]
    if has_programs:
        hooks.append(
            alicloud.ess.LifecycleHook(
                launch_hook_name(name),
                name=launch_hook_name(name),
                scaling_group_id=group.id,
                lifecycle_transition="SCALE_OUT",
                heartbeat_timeout=setup_seconds(plan),
                default_result="ABANDON",
                opts=opts,
            )
        )
    return Hooks(hooks, queue)


def build_scaling(name: str, plan: NodePoolPlan, group: alicloud.ess.ScalingGroup, opts: ResourceOptions) -> None:
    """Create the rules and schedules that were asked for.

    Utilization above the target brings a node more; below half of it for a quarter of an hour, a node less. A scheduled
    task repeats for a year at most: it is made anew by the first update of each month, so that one update a year keeps
    it going.

    Args:
        name: Name in front of every resource.
        plan: The pool.
        group: Its scaling group.
        opts: Options of every resource.
    """
    if plan.scaling is None:
        return
    percent = plan.scaling.gpu_utilization_percent
    if percent is not None:
        _on_utilization(f"{name}-gpu-out", group, 1, ">=", percent, _OUT_PERIODS, opts)
        _on_utilization(f"{name}-gpu-in", group, -1, "<", percent * _IN_SHARE, _IN_PERIODS, opts)
    for part, size in plan.scaling.schedule.items():
        _schedule(f"{name}-{part}", group, size, opts)


def last_day(today: date) -> date:
    """The day until which a scheduled task repeats: the same in one month, and never more than a year ahead.

    Args:
        today: The day of the update.

    Returns:
        The day before the first of this month in a year.
    """
    return date(today.year + 1, today.month, 1) - timedelta(days=1)


def _on_utilization(
    name: str,
    group: alicloud.ess.ScalingGroup,
    nodes: int,
    operator: str,
    percent: float,
    periods: int,
    opts: ResourceOptions,
) -> None:
    rule = alicloud.ess.ScalingRule(
        name,
        scaling_rule_name=name,
        scaling_group_id=group.id,
        scaling_rule_type="SimpleScalingRule",
        adjustment_type="QuantityChangeInCapacity",
        adjustment_value=nodes,
        cooldown=_COOLDOWN_SECONDS,
        opts=opts,
    )
    alicloud.ess.Alarm(
        name,
        name=name,
        description=f"Mean utilization of the GPUs {operator} {percent:g} %",
        scaling_group_id=group.id,
        alarm_actions=[rule.ari],
        metric_type="system",
        metric_name=GPU_UTILIZATION,
        statistics="Average",
        comparison_operator=operator,
        threshold=f"{percent:g}",
        period=_PERIOD_SECONDS,
        evaluation_count=periods,
        opts=opts,
    )


def _shortened(name: str) -> str:
    """A name that a scheduled task takes: a long one keeps its beginning, and the sum of all of it at its end."""
    most = limit("alicloud", "scheduled_task_name_characters_max").values[0]
    if len(name) <= most:
        return name
    return f"{name[: most - _SUM_CHARACTERS - 1]}-{sha256(name.encode()).hexdigest()[:_SUM_CHARACTERS]}"


def _schedule(name: str, group: alicloud.ess.ScalingGroup, size: ScheduledSizeSpec, opts: ResourceOptions) -> None:
    end = last_day(datetime.now(UTC).date())
    alicloud.ess.ScheduledTask(
        name,
        scheduled_task_name=_shortened(name),
        scaling_group_id=group.id,
        min_value=size.min,
        max_value=size.max,
        desired_capacity=size.desired,
        recurrence_type="Cron",
        recurrence_value=utc_cron(size),
        recurrence_end_time=f"{end.isoformat()}T00:00Z",
        # A year counts from the day a task is made, so that one more needs a new one; its name is taken until then.
        opts=ResourceOptions.merge(
            opts, ResourceOptions(replace_on_changes=["recurrenceEndTime"], delete_before_replace=True)
        ),
    )
