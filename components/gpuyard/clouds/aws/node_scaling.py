"""What changes the size of an elastic pool, and what is told before a node goes."""

import re
from collections.abc import Mapping

import pulumi_aws as aws
from pulumi import Input, Output, ResourceOptions

from gpuyard.clouds.aws.partition import service_principal
from gpuyard.planning.metrics import GPU_UTILIZATION, METRIC_NAMESPACE, POOL_DIMENSION
from gpuyard.planning.plans import NodePoolPlan
from gpuyard.spec.node_pools import QueueScalingSpec, ScheduledSizeSpec

# Metrics of the group that the policy on waiting jobs divides by; the group does not send them by itself.
GROUP_METRICS = (aws.autoscaling.Metric.GROUP_IN_SERVICE_INSTANCES,)
# Long enough for a scheduler that is down over a weekend to learn of what happened.
_KEEP_MESSAGES_SECONDS = 4 * 24 * 3600
_SPOT_EVENTS = ("EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation")
_TERMINATING_EVENT = "EC2 Instance-terminate Lifecycle Action"


def hook_name(name: str) -> str:
    """Name of the lifecycle hook that holds a node of a pool until its checkpoint is written."""
    return f"{name}-checkpoint"


def launch_hook_name(name: str) -> str:
    """Name of the lifecycle hook that holds a new node of a pool until it is healthy."""
    return f"{name}-healthy"


def build_scaling(name: str, plan: NodePoolPlan, group: aws.autoscaling.Group, opts: ResourceOptions) -> None:
    """Create the hook that waits for a checkpoint, and the policies and schedules that were asked for.

    Args:
        name: Name in front of every resource.
        plan: The pool.
        group: Its scaling group.
        opts: Resource options, the parent among them.

    Source: https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-target-tracking-metric-math.html
    """
    region = plan.place.region
    aws.autoscaling.LifecycleHook(
        f"{name}-checkpoint",
        region=region,
        name=hook_name(name),
        autoscaling_group_name=group.name,
        lifecycle_transition="autoscaling:EC2_INSTANCE_TERMINATING",
        heartbeat_timeout=plan.checkpoint_seconds,
        # The node goes in any case: a hook that abandoned would not keep it either.
        default_result="CONTINUE",
        opts=opts,
    )
    if plan.scaling is None:
        return
    if plan.scaling.gpu_utilization_percent is not None:
        _policy(name, "gpu", region, group, _on_utilization(plan.scaling.gpu_utilization_percent, group), opts)
    if plan.scaling.queue is not None:
        _policy(name, "queue", region, group, _on_queue(plan.scaling.queue, group), opts)
    for part, size in plan.scaling.schedule.items():
        _schedule(f"{name}-{part}", region, group, size, opts)


def build_interruption_queue(
    name: str, plan: NodePoolPlan, group: aws.autoscaling.Group, tags: Mapping[str, str], opts: ResourceOptions
) -> aws.sqs.Queue:
    """Create the queue that tells a scheduler which nodes are about to go.

    It gets three events: the spot interruption warning, the rebalance recommendation, and the beginning of a node's
    termination by the scaler. The first two name an instance and not its group, so that they arrive for every spot
    instance of the account in the region: a reader passes over those that are not its own.

    Args:
        name: Name in front of every resource.
        plan: The pool.
        group: Its scaling group.
        tags: Tags on everything.
        opts: Resource options, the parent among them.

    Returns:
        The queue, encrypted and open to those events only.

    Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
    """
    region = plan.place.region
    queue = aws.sqs.Queue(
        f"{name}-interruptions",
        region=region,
        message_retention_seconds=_KEEP_MESSAGES_SECONDS,
        sqs_managed_sse_enabled=True,
        tags=dict(tags),
        opts=opts,
    )
    spot = {"source": ["aws.ec2"], "detail-type": list(_SPOT_EVENTS)}
    terminating = {
        "source": ["aws.autoscaling"],
        "detail-type": [_TERMINATING_EVENT],
        "detail": {"AutoScalingGroupName": [group.name]},
    }
    patterns: dict[str, Mapping[str, object]] = {"ends": terminating}
    if plan.purchase == "spot":
        patterns["spot"] = spot
    rules = [_event_rule(f"{name}-{part}", region, pattern, queue, tags, opts) for part, pattern in patterns.items()]
    aws.sqs.QueuePolicy(
        f"{name}-interruptions",
        region=region,
        queue_url=queue.url,
        policy=_only_from(queue.arn, [rule.arn for rule in rules], region),
        opts=opts,
    )
    return queue


def _event_rule(
    name: str,
    region: str,
    pattern: Mapping[str, object],
    queue: aws.sqs.Queue,
    tags: Mapping[str, str],
    opts: ResourceOptions,
) -> aws.cloudwatch.EventRule:
    rule = aws.cloudwatch.EventRule(
        name, region=region, event_pattern=Output.json_dumps(pattern), tags=dict(tags), opts=opts
    )
    aws.cloudwatch.EventTarget(name, region=region, rule=rule.name, arn=queue.arn, opts=opts)
    return rule


def _only_from(queue_arn: Input[str], rule_arns: list[Output[str]], region: str) -> Output[str]:
    return Output.json_dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Sid": "Events",
                    "Effect": "Allow",
                    "Principal": {"Service": service_principal("events", region)},
                    "Action": "sqs:SendMessage",
                    "Resource": queue_arn,
                    "Condition": {"ArnEquals": {"aws:SourceArn": rule_arns}},
                },
                {
                    "Sid": "RefusePlainHttp",
                    "Effect": "Deny",
                    "Principal": "*",
                    "Action": "sqs:*",
                    "Resource": queue_arn,
                    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                },
            ],
        }
    )


def _policy(
    name: str,
    part: str,
    region: str,
    group: aws.autoscaling.Group,
    target: aws.autoscaling.PolicyTargetTrackingConfigurationArgs,
    opts: ResourceOptions,
) -> None:
    aws.autoscaling.Policy(
        f"{name}-{part}",
        region=region,
        autoscaling_group_name=group.name,
        policy_type="TargetTrackingScaling",
        target_tracking_configuration=target,
        opts=opts,
    )


def _on_utilization(
    percent: int, group: aws.autoscaling.Group
) -> aws.autoscaling.PolicyTargetTrackingConfigurationArgs:
    specification = aws.autoscaling.PolicyTargetTrackingConfigurationCustomizedMetricSpecificationArgs(
        namespace=METRIC_NAMESPACE,
        metric_name=GPU_UTILIZATION,
        statistic="Average",
        unit="Percent",
        metric_dimensions=[
            aws.autoscaling.PolicyTargetTrackingConfigurationCustomizedMetricSpecificationMetricDimensionArgs(
                name=POOL_DIMENSION, value=group.name
            )
        ],
    )
    return aws.autoscaling.PolicyTargetTrackingConfigurationArgs(
        target_value=float(percent), customized_metric_specification=specification
    )


def _on_queue(
    queue: QueueScalingSpec, group: aws.autoscaling.Group
) -> aws.autoscaling.PolicyTargetTrackingConfigurationArgs:
    metric = aws.autoscaling.PolicyTargetTrackingConfigurationCustomizedMetricSpecificationMetricArgs
    # An empty group sends no number of nodes, and a division by nothing would never bring the first one.
    expression = "IF(FILL(nodes, 0) > 0, waiting / FILL(nodes, 1), waiting)"
    specification = aws.autoscaling.PolicyTargetTrackingConfigurationCustomizedMetricSpecificationArgs(
        metrics=[
            metric(
                id="waiting",
                label="Jobs that wait in the queue",
                metric_stat=_stat("AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", queue.name, "Sum"),
                return_data=False,
            ),
            metric(
                id="nodes",
                label="Nodes in service",
                metric_stat=_stat("AWS/AutoScaling", GROUP_METRICS[0].value, POOL_DIMENSION, group.name, "Average"),
                return_data=False,
            ),
            metric(id="per_node", label="Waiting jobs for each node", expression=expression, return_data=True),
        ]
    )
    return aws.autoscaling.PolicyTargetTrackingConfigurationArgs(
        target_value=float(queue.jobs_per_node), customized_metric_specification=specification
    )


def _stat(
    namespace: str, name: str, dimension: str, value: Input[str], statistic: str
) -> aws.autoscaling.PolicyTargetTrackingConfigurationCustomizedMetricSpecificationMetricMetricStatArgs:
    return aws.autoscaling.PolicyTargetTrackingConfigurationCustomizedMetricSpecificationMetricMetricStatArgs(
        stat=statistic,
        metric=aws.autoscaling.PolicyTargetTrackingConfigurationCustomizedMetricSpecificationMetricMetricStatMetricArgs(
            namespace=namespace,
            metric_name=name,
            dimensions=[
                aws.autoscaling.PolicyTargetTrackingConfigurationCustomizedMetricSpecificationMetricMetricStatMetricDimensionArgs(
                    name=dimension, value=value
                )
            ],
        ),
    )


def _schedule(
    name: str, region: str, group: aws.autoscaling.Group, size: ScheduledSizeSpec, opts: ResourceOptions
) -> None:
    aws.autoscaling.Schedule(
        name,
        region=region,
        scheduled_action_name=re.sub(r"[^A-Za-z0-9_-]", "-", name),
        autoscaling_group_name=group.name,
        recurrence=size.cron,
        time_zone=size.time_zone,
        # -1 leaves a size as it is; what is left out would be set to 0.
        min_size=-1 if size.min is None else size.min,
        max_size=-1 if size.max is None else size.max,
        desired_capacity=-1 if size.desired is None else size.desired,
        opts=opts,
    )
