"""Node pools on AWS: identity, placement group, launch template, scaling group and what scales it."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi_aws as aws
from pulumi import Input, Output, Resource, ResourceOptions

from gpuyard.bootstrap.aws import LustreMount, NodeSetup, user_data
from gpuyard.bootstrap.payload import node_programs
from gpuyard.bootstrap.software import common_values, setup_seconds, shared_mount
from gpuyard.clouds.aws.node_identity import NodeRights, build_identity
from gpuyard.clouds.aws.node_scaling import (
    GROUP_METRICS,
    build_interruption_queue,
    build_scaling,
    hook_name,
    launch_hook_name,
)
from gpuyard.clouds.aws.node_template import build_template, image_of
from gpuyard.clouds.aws.partition import bucket_arn, repository_arns
from gpuyard.clouds.built import BuiltNodePool
from gpuyard.planning.plans import CHECKPOINT_PREFIX, NodePoolPlan

# Bare metal tests its memory and devices before it boots.
_BOOT_SECONDS = {False: 300, True: 1800}


@dataclass(frozen=True)
class NodePoolLinks:
    """What a pool is connected to: subnets, security groups and, where there are such, bucket and file system.

    ``bucket_prefixes`` are those that nodes may use beside the checkpoints'. ``ready`` are resources that have to
    exist before the first node boots, such as the way to the internet.
    """

    subnet_ids: Input[Sequence[Input[str]]]
    security_group_ids: Input[Sequence[Input[str]]]
    bucket_name: Input[str] | None = None
    bucket_key: Input[str] | None = None
    bucket_prefixes: Sequence[str] = ()
    file_system_dns_name: Input[str] | None = None
    file_system_mount_name: Input[str] | None = None
    file_system_rdma: bool = False
    ready: Sequence[Resource] = ()


def build_node_pool(
    name: str, plan: NodePoolPlan, links: NodePoolLinks, tags: Mapping[str, str], parent: Resource
) -> BuiltNodePool:
    """Create one pool.

    Nodes have no public address and no ingress of their own, take metadata requests with a session token only, and
    are reached through Systems Manager. Every disk is encrypted and tagged as the pool is, so that a snapshot policy
    finds it. With a key of one's own, the service-linked role of Auto Scaling needs a grant on that key, which its
    owner has to give.

    An elastic pool begins with ``desired`` nodes and is then left to its scaler; it has a lifecycle hook that waits
    for a checkpoint, and a queue that tells which nodes are about to go.

    Args:
        name: Name in front of every resource.
        plan: What to create.
        links: Subnets, security groups, bucket and file system.
        tags: Tags on everything, on nodes and their disks too.
        parent: The component it belongs to.

    Returns:
        Names and ids of the scaling group, template, placement group, role, image, log group and queue.
    """
    opts = ResourceOptions(parent=parent)
    region = plan.place.region
    elastic = plan.kind == "elastic"
    logs = aws.cloudwatch.LogGroup(
        f"{name}-logs", region=region, retention_in_days=plan.log_keep_days, tags=dict(tags), opts=opts
    )
    rights = NodeRights(
        log_group_arn=logs.arn,
        bucket_arn=None if links.bucket_name is None else bucket_arn(links.bucket_name, region),
        bucket_key_arn=links.bucket_key,
        prefixes=links.bucket_prefixes,
        file_system=links.file_system_dns_name is not None,
        image_repositories=repository_arns(plan.software.container_images, region),
    )
    identity = build_identity(name, region, rights, tags, opts)
    placement = (
        aws.ec2.PlacementGroup(f"{name}-placement", region=region, strategy="cluster", tags=dict(tags), opts=opts)
        if plan.clustered
        else None
    )
    image_id = image_of(plan, parent)
    template = build_template(
        name,
        plan,
        security_group_ids=links.security_group_ids,
        profile_arn=identity.profile.arn,
        placement_group=plan.reservation_placement_group if placement is None else placement.name,
        image_id=image_id,
        user_data=_user_data(name, plan, links, logs),
        tags=tags,
        opts=opts,
    )
    programs = [] if links.bucket_name is None else [_build_programs(name, region, links.bucket_name, opts)]
    # A node that boots before its role has its rights can neither be reached nor read a checkpoint.
    ready = ResourceOptions(depends_on=[*links.ready, *identity.permissions, *programs])
    group = _group(name, plan, links, tags, template, ResourceOptions.merge(opts, ready))
    if links.bucket_name is not None:
        _build_health_hook(name, plan, group, opts)
    queue = None
    if elastic:
        build_scaling(name, plan, group, opts)
        queue = build_interruption_queue(name, plan, group, tags, opts)
    return BuiltNodePool(
        group_name=group.name,
        template_id=template.id,
        placement_group_name=_placement_group_name(plan, placement),
        role_name=identity.role.name,
        role_arn=identity.role.arn,
        image_id=Output.from_input(image_id),
        log_group_name=logs.name,
        interruption_queue_url=None if queue is None else queue.url,
    )


def _placement_group_name(plan: NodePoolPlan, own: aws.ec2.PlacementGroup | None) -> Output[str] | None:
    if own is not None:
        return own.name
    reserved_in = plan.reservation_placement_group
    return None if reserved_in is None else Output.from_input(reserved_in)


def _user_data(name: str, plan: NodePoolPlan, links: NodePoolLinks, logs: aws.cloudwatch.LogGroup) -> Output[str]:
    return Output.all(
        log_group=logs.name,
        bucket_name=links.bucket_name,
        dns_name=links.file_system_dns_name,
        mount_name=links.file_system_mount_name,
    ).apply(lambda known: user_data(_setup(name, plan, links, known)))


def _setup(name: str, plan: NodePoolPlan, links: NodePoolLinks, known: Mapping[str, str]) -> NodeSetup:
    dns_name, mount_name, bucket = known["dns_name"], known["mount_name"], known["bucket_name"]
    elastic = plan.kind == "elastic"
    system = LustreMount(dns_name, mount_name, links.file_system_rdma) if dns_name and mount_name else None
    return NodeSetup(
        **common_values(name, plan, None if system is None else shared_mount("/fsx", "lustre")),
        log_group=known["log_group"],
        rdma=plan.kind == "rdma",
        file_system=system,
        programs=f"s3://{bucket}/{node_programs().key(name)}" if bucket else None,
        checkpoint_uri=f"s3://{bucket}/{CHECKPOINT_PREFIX}" if bucket else None,
        launch_hook=launch_hook_name(name) if bucket else None,
        hook=hook_name(name) if elastic else None,
    )


def _group(
    name: str,
    plan: NodePoolPlan,
    links: NodePoolLinks,
    tags: Mapping[str, str],
    template: aws.ec2.LaunchTemplate,
    opts: ResourceOptions,
) -> aws.autoscaling.Group:
    version = template.latest_version.apply(str)
    elastic = plan.kind == "elastic"
    boot_seconds = _BOOT_SECONDS[plan.instance_type.bare_metal is True]
    by_queue = plan.scaling is not None and plan.scaling.queue is not None
    return aws.autoscaling.Group(
        f"{name}-group",
        region=plan.place.region,
        min_size=plan.min_nodes,
        max_size=plan.max_nodes,
        desired_capacity=plan.desired_nodes if elastic else plan.max_nodes,
        vpc_zone_identifiers=links.subnet_ids,
        health_check_type="EC2",
        health_check_grace_period=boot_seconds,
        default_instance_warmup=boot_seconds if elastic else None,
        launch_template=None if elastic else aws.autoscaling.GroupLaunchTemplateArgs(id=template.id, version=version),
        mixed_instances_policy=_mixed(plan, template, version) if elastic else None,
        capacity_rebalance=True if plan.purchase == "spot" else None,
        enabled_metrics=list(GROUP_METRICS) if by_queue else None,
        metrics_granularity="1Minute" if by_queue else None,
        # Moving a node to even out zones would kill its job.
        suspended_processes=["AZRebalance"],
        initial_lifecycle_hooks=None
        if links.bucket_name is None
        else [aws.autoscaling.GroupInitialLifecycleHookArgs(**_health_hook(name, plan))],
        wait_for_capacity_timeout=_wait(plan),
        tags=[
            aws.autoscaling.GroupTagArgs(key=key, value=value, propagate_at_launch=False)
            for key, value in {**tags, "Name": name}.items()
        ],
        # Once it runs, an elastic pool's size is its scaler's: an update must not throw nodes out.
        opts=ResourceOptions.merge(opts, ResourceOptions(ignore_changes=_left_alone(elastic=elastic))),
    )


def _left_alone(*, elastic: bool) -> list[str]:
    """What an update of a group does not touch: hooks of its beginning, and the size that is its scaler's."""
    return ["initialLifecycleHooks", *(["desiredCapacity"] if elastic else [])]


def _health_hook(name: str, plan: NodePoolPlan) -> dict[str, Any]:
    """A node counts from the moment that its health gate says so: one that is not whole is replaced, not trained on."""
    return {
        "name": launch_hook_name(name),
        "lifecycle_transition": "autoscaling:EC2_INSTANCE_LAUNCHING",
        "heartbeat_timeout": setup_seconds(plan),
        "default_result": "ABANDON",
    }


def _build_health_hook(name: str, plan: NodePoolPlan, group: aws.autoscaling.Group, opts: ResourceOptions) -> None:
    """The hook as a resource of its own.

    A group has it from its beginning, so that its first nodes wait; this one brings it to a group that was made
    without, and follows what changes.

    Source: https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_PutLifecycleHook.html (creates or updates)
    """
    aws.autoscaling.LifecycleHook(
        f"{name}-healthy",
        region=plan.place.region,
        autoscaling_group_name=group.name,
        **_health_hook(name, plan),
        opts=opts,
    )


def _build_programs(name: str, region: str, bucket: Input[str], opts: ResourceOptions) -> aws.s3.BucketObjectv2:
    """The programs of the nodes, which user data has no room for."""
    found = node_programs()
    return aws.s3.BucketObjectv2(
        f"{name}-programs",
        region=region,
        bucket=bucket,
        key=found.key(name),
        content_base64=base64.b64encode(found.content).decode(),
        content_type="application/gzip",
        opts=opts,
    )


def _wait(plan: NodePoolPlan) -> str:
    """How long an update waits for all nodes.

    An elastic group may rightly be empty, and a block may begin later than the group is made.
    """
    if plan.kind == "elastic" or plan.purchase == "capacity_block":
        return "0"
    return f"{setup_seconds(plan) // 60 + 10}m"


def _mixed(
    plan: NodePoolPlan, template: aws.ec2.LaunchTemplate, version: Output[str]
) -> aws.autoscaling.GroupMixedInstancesPolicyArgs:
    spot = plan.purchase == "spot"
    return aws.autoscaling.GroupMixedInstancesPolicyArgs(
        instances_distribution=aws.autoscaling.GroupMixedInstancesPolicyInstancesDistributionArgs(
            on_demand_base_capacity=plan.on_demand_nodes,
            on_demand_percentage_above_base_capacity=0 if spot else 100,
            spot_allocation_strategy="price-capacity-optimized",
            spot_max_price=None if plan.spot_price_limit is None else str(plan.spot_price_limit),
        ),
        launch_template=aws.autoscaling.GroupMixedInstancesPolicyLaunchTemplateArgs(
            launch_template_specification=aws.autoscaling.GroupMixedInstancesPolicyLaunchTemplateLaunchTemplateSpecificationArgs(
                launch_template_id=template.id, version=version
            ),
            overrides=[
                aws.autoscaling.GroupMixedInstancesPolicyLaunchTemplateOverrideArgs(instance_type=row.instance_type)
                for row in plan.instance_types
            ],
        ),
    )
