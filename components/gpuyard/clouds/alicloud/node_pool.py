"""Node pools on Alibaba Cloud: identity, and single machines or a scaling group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi_alicloud as alicloud
from pulumi import Input, Output, Resource, ResourceOptions

from gpuyard.bootstrap.alicloud import NfsMount, NodeSetup, user_data
from gpuyard.bootstrap.payload import node_programs
from gpuyard.bootstrap.software import common_values, shared_mount
from gpuyard.clouds.alicloud.node_group import build_configuration, build_group
from gpuyard.clouds.alicloud.node_identity import NodeRights, build_identity
from gpuyard.clouds.alicloud.node_machines import build_machines
from gpuyard.clouds.alicloud.node_scaling import build_hooks, build_scaling, hook_name, launch_hook_name
from gpuyard.clouds.alicloud.region import in_region
from gpuyard.clouds.built import BuiltNodePool
from gpuyard.clouds.regions import invoke_options
from gpuyard.planning.plans import CHECKPOINT_PREFIX, NodePoolPlan


@dataclass(frozen=True)
class NodePoolLinks:
    """What a pool is connected to: subnets, security groups and, where there are such, bucket and file system.

    ``bucket_prefixes`` are those that nodes may use beside the checkpoints'. ``snapshot_policy_id`` is for the disks of
    an elastic pool; those of single machines are attached to a policy one by one. ``ready`` are resources that have to
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
    snapshot_policy_id: Input[str] | None = None
    ready: Sequence[Resource] = ()


def build_node_pool(
    name: str, plan: NodePoolPlan, links: NodePoolLinks, tags: Mapping[str, str], parent: Resource
) -> BuiltNodePool:
    """Create one pool.

    Pools of fixed size are single machines: a scaling configuration has neither network card nor queue pairs of an
    interface, and a launch template no traffic mode, so that only a machine by itself can have eRDMA on several cards,
    a deployment set, an HPC cluster or months that are paid ahead. Such a machine cannot be removed before its months
    are over. Elastic pools are a scaling group, which hands out pay-as-you-go and spot nodes.

    Nodes have no public address and no ingress of their own, and are reached through Cloud Assistant's sessions. Every
    disk is encrypted. With a bucket nodes have programs: a watcher, and a health gate, whose word a scaling group waits
    for and a single machine tells by a tag of its own.

    Args:
        name: Name in front of every resource.
        plan: What to create.
        links: Subnets, security groups, bucket and file system.
        tags: Tags on everything, on nodes and their disks too.
        parent: The component it belongs to.

    Returns:
        Names and ids of what was made: of an elastic pool the scaling group, configuration and queue, of another one
        the machines and their disks; and of the role and the image.
    """
    opts = in_region(name, plan.place.region, parent)
    elastic = plan.kind == "elastic"
    group = build_group(name, plan, subnet_ids=links.subnet_ids, tags=tags, opts=opts) if elastic else None
    rights = NodeRights(
        bucket_name=links.bucket_name,
        bucket_key=links.bucket_key,
        prefixes=links.bucket_prefixes,
        group_id=None if group is None else group.id,
    )
    identity = build_identity(name, plan.place.region, rights, tags, opts)
    image_id = _image_of(plan, opts)
    data = _user_data(name, plan, links, group)
    programs = [] if links.bucket_name is None else [_build_programs(name, links.bucket_name, opts)]
    before: list[Resource] = [*links.ready, *identity.permissions, *programs]
    if group is None:
        machines = build_machines(
            name,
            plan,
            subnet_ids=links.subnet_ids,
            security_group_ids=links.security_group_ids,
            identity=identity,
            image_id=image_id,
            user_data=data,
            tags=tags,
            opts=opts,
            ready=ResourceOptions(depends_on=before),
        )
        return BuiltNodePool(
            group_name=None,
            template_id=None,
            placement_group_name=machines.close_id,
            role_name=identity.role.role_name.apply(str),
            role_arn=identity.role.arn,
            image_id=Output.from_input(image_id),
            log_group_name=None,
            interruption_queue_url=None,
            instance_ids=Output.all(*machines.instance_ids),
            disk_ids=machines.disk_ids,
        )
    told = build_hooks(name, plan, group, tags, opts, has_programs=links.bucket_name is not None)
    configuration = build_configuration(
        name,
        plan,
        group,
        security_group_ids=links.security_group_ids,
        role_name=identity.role.role_name.apply(str),
        image_id=image_id,
        user_data=data,
        snapshot_policy_id=links.snapshot_policy_id,
        tags=tags,
        # The group begins with the configuration, and its first node is waited for like every other.
        opts=ResourceOptions.merge(opts, ResourceOptions(depends_on=[*before, *told.hooks])),
    )
    build_scaling(name, plan, group, opts)
    return BuiltNodePool(
        group_name=group.id,
        template_id=configuration.id,
        placement_group_name=None,
        role_name=identity.role.role_name.apply(str),
        role_arn=identity.role.arn,
        image_id=Output.from_input(image_id),
        log_group_name=None,
        interruption_queue_url=told.queue.queue_name,
    )


def _image_of(plan: NodePoolPlan, opts: ResourceOptions) -> Input[str]:
    """The id of the image that nodes start from: the one that was named, or the newest of the vendor's."""
    if plan.image_id is not None:
        return plan.image_id
    found = alicloud.ecs.get_images_output(
        name_regex=plan.image_query,
        owners="system",
        architecture=plan.instance_type.cpu_arch,
        most_recent=True,
        status="Available",
        opts=invoke_options(opts),
    )
    return found.images[0].image_id


def _build_programs(name: str, bucket: Input[str], opts: ResourceOptions) -> alicloud.oss.BucketObject:
    """The programs of the nodes, which user data has no room for; the provider takes text and files only."""
    found = node_programs()
    return alicloud.oss.BucketObject(
        f"{name}-programs",
        bucket=bucket,
        key=found.text_key(name),
        content=found.text,
        content_type="text/plain",
        opts=opts,
    )


def _user_data(
    name: str, plan: NodePoolPlan, links: NodePoolLinks, group: alicloud.ess.ScalingGroup | None
) -> Output[str]:
    return Output.all(
        bucket_name=links.bucket_name,
        dns_name=links.file_system_dns_name,
        mount_name=links.file_system_mount_name,
        group_id=None if group is None else group.id,
    ).apply(lambda known: user_data(_setup(name, plan, known)))


def _setup(name: str, plan: NodePoolPlan, known: Mapping[str, str | None]) -> NodeSetup:
    dns_name, mount_name, bucket = known["dns_name"], known["mount_name"], known["bucket_name"]
    system = NfsMount(dns_name, mount_name) if dns_name and mount_name else None
    group = known["group_id"]
    # The client of CPFS is what decides how a mount is called.
    shared = None if system is None else shared_mount("/shared", None)
    return NodeSetup(
        **common_values(name, plan, shared),
        rdma=plan.instance_type.rdma if plan.kind == "rdma" else None,
        jumbo_frames=plan.details.jumbo_frames,
        own_image=plan.image_id is not None,
        file_system=system,
        programs=f"oss://{bucket}/{node_programs().text_key(name)}" if bucket else None,
        health_tag=group is None,
        checkpoint_uri=f"oss://{bucket}/{CHECKPOINT_PREFIX}" if bucket else None,
        scaling_group=group,
        launch_hook=launch_hook_name(name) if group and bucket else None,
        hook=hook_name(name) if group else None,
    )
