"""Node pools on Tencent Cloud: identity and image, then single machines or scaling groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import tencentcloud_iac_pulumi as tencentcloud
from pulumi import Input, Output, Resource, ResourceOptions

from gpuyard.bootstrap.payload import node_programs
from gpuyard.bootstrap.software import common_values, shared_mount
from gpuyard.bootstrap.tencentcloud import NodeSetup, TurboMount, user_data
from gpuyard.clouds.built import BuiltNodePool
from gpuyard.clouds.regions import invoke_options
from gpuyard.clouds.tencentcloud.machines import build_machines
from gpuyard.clouds.tencentcloud.node_identity import NodeIdentity, NodeRights, build_identity
from gpuyard.clouds.tencentcloud.node_parts import NodeParts
from gpuyard.clouds.tencentcloud.node_scaling import build_elastic
from gpuyard.clouds.tencentcloud.region import in_region
from gpuyard.planning.plans import CHECKPOINT_PREFIX, NodePoolPlan
from gpuyard.planning.tencentcloud.pools import PoolDetails


@dataclass(frozen=True)
class NodePoolLinks:
    """What a pool is connected to: subnets, security groups and, where there are such, bucket and file system.

    ``bucket_prefixes`` are those that nodes may use beside the checkpoints'. ``ready`` are resources that have to
    exist before the first node boots, such as the way to the internet.
    """

    subnet_ids: Input[Sequence[Input[str]]]
    security_group_ids: Input[Sequence[Input[str]]]
    bucket_name: Input[str] | None = None
    bucket_prefixes: Sequence[str] = ()
    file_system_dns_name: Input[str] | None = None
    file_system_mount_name: Input[str] | None = None
    ready: Sequence[Resource] = ()


def build_node_pool(
    name: str, plan: NodePoolPlan, links: NodePoolLinks, tags: Mapping[str, str], parent: Resource
) -> BuiltNodePool:
    """Create one pool.

    A pool of fixed size is a set of single machines. Joined by RDMA they are in one HPC cluster of one zone: scaling
    configurations and Kubernetes pools of the provider take no HPC cluster, so such a pool is never scaled. Nodes close
    together are found in an HPC cluster only, as placement groups of this cloud spread machines. An elastic pool is a
    scaling group, with on-demand nodes beside spot in a second one.

    Nodes have no public address and no ingress of their own, and are reached through the console (OrcaTerm, TAT). Data
    disks are encrypted; the provider can neither ask for encryption of a system disk nor for session tokens of the
    metadata service, and keeps no logs of nodes. Nobody is told of interruptions but the node itself. With a bucket
    nodes have programs: a watcher, and a health gate, whose word a scaling group waits for and a single machine tells
    by a tag of its own. A prepaid machine may refuse to be deleted before its months end, and goes to the recycle bin
    then.

    Args:
        name: Name in front of every resource.
        plan: What to create.
        links: Subnets, security groups, bucket and file system.
        tags: Tags on everything, on nodes and their disks too.
        parent: The component it belongs to.

    Returns:
        Ids of the group or of the machines and their disks; the HPC cluster stands for the placement group.
    """
    opts = in_region(name, plan.place.region, parent)
    elastic = plan.kind == "elastic"
    rights = NodeRights(links.bucket_name, links.bucket_prefixes, health_tag=not elastic)
    identity = build_identity(name, plan.place.region, rights, tags, opts)
    image_id = _image_of(plan, opts)
    # The ids of a list are known when the list is.
    subnet_ids = cast("Output[Sequence[str]]", Output.from_input(links.subnet_ids))
    parts = NodeParts(
        network_id=_network_of(subnet_ids, opts),
        subnet_ids=subnet_ids,
        security_group_ids=links.security_group_ids,
        role_name=identity.role.name,
        image_id=image_id,
        user_data=_user_data(name, plan, links),
    )
    programs = [] if links.bucket_name is None else [_build_programs(name, links.bucket_name, opts)]
    # A node that boots before its role has its rights can read neither its programs nor a checkpoint.
    before: list[Resource] = [*links.ready, *identity.permissions, *programs]
    after = ResourceOptions.merge(opts, ResourceOptions(depends_on=before))
    if elastic:
        made = build_elastic(name, plan, parts, tags, after, has_programs=links.bucket_name is not None)
        return _built(identity, image_id, group_name=made.group.id, template_id=made.configuration.id)
    machines = build_machines(name, plan, parts, tags, after)
    return _built(
        identity,
        image_id,
        placement_group_name=machines.hpc_cluster_id,
        instance_ids=machines.instance_ids,
        disk_ids=machines.disk_ids,
    )


def _built(identity: NodeIdentity, image_id: Input[str], **more: Any) -> BuiltNodePool:
    rest: dict[str, Any] = {"group_name": None, "template_id": None, "placement_group_name": None, **more}
    return BuiltNodePool(
        role_name=identity.role.name,
        role_arn=identity.role.role_arn,
        image_id=Output.from_input(image_id),
        log_group_name=None,
        interruption_queue_url=None,
        **rest,
    )


def _image_of(plan: NodePoolPlan, opts: ResourceOptions) -> Input[str]:
    """The id of the image that nodes start from: the one that was named, or the newest of those the machine takes."""
    if plan.image_id is not None:
        return plan.image_id
    details: PoolDetails = plan.details
    found = tencentcloud.images.get_instance_output(
        image_name_regex=plan.image_query,
        image_types=["PUBLIC_IMAGE"],
        instance_type=details.machine_types[0],
        opts=invoke_options(opts),
    )
    return found.images.apply(lambda images: _first_image(images, str(plan.image_query), details.machine_types[0]))


def _first_image(images: Sequence[Any], pattern: str, machine: str) -> str:
    if not images:
        message = f"{machine} takes no public image whose name fits '{pattern}': give 'image: img-…'"
        raise LookupError(message)
    return images[0].image_id


def _network_of(subnet_ids: Output[Sequence[str]], opts: ResourceOptions) -> Output[str]:
    """The network that the pool's subnets are in: the provider asks for both."""
    found = tencentcloud.vpc.get_subnets_output(
        subnet_id=subnet_ids.apply(lambda known: known[0]), opts=invoke_options(opts)
    )
    return found.instance_lists.apply(lambda subnets: subnets[0].vpc_id)


def _build_programs(name: str, bucket: Input[str], opts: ResourceOptions) -> tencentcloud.cos.BucketObject:
    """The programs of the nodes, which user data has no room for; the provider takes text and files only."""
    found = node_programs()
    return tencentcloud.cos.BucketObject(
        f"{name}-programs",
        bucket=bucket,
        key=found.text_key(name),
        content=found.text,
        content_type="text/plain",
        opts=opts,
    )


def _user_data(name: str, plan: NodePoolPlan, links: NodePoolLinks) -> Output[str]:
    return Output.all(
        bucket_name=links.bucket_name,
        address=links.file_system_dns_name,
        mount_name=links.file_system_mount_name,
    ).apply(lambda known: user_data(_setup(name, plan, known)))


def _setup(name: str, plan: NodePoolPlan, known: Mapping[str, str | None]) -> NodeSetup:
    address, mount_name, bucket = known["address"], known["mount_name"], known["bucket_name"]
    system = TurboMount(address, mount_name) if address and mount_name else None
    return NodeSetup(
        **common_values(name, plan, None if system is None else shared_mount("/cfs", "lustre")),
        rdma=plan.kind == "rdma",
        file_system=system,
        programs=f"cos://{bucket}/{node_programs().text_key(name)}" if bucket else None,
        health_tag=plan.kind != "elastic",
        checkpoint_bucket=bucket,
        checkpoint_prefix=CHECKPOINT_PREFIX,
    )
