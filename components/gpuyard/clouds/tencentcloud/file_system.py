"""Parallel file systems on Tencent Cloud: CFS Turbo, in the nodes' network or through a CCN."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import tencentcloud_iac_pulumi as tencentcloud
from pulumi import CustomTimeouts, Input, Output, Resource, ResourceOptions

from gpuyard.clouds.built import BuiltFileSystem
from gpuyard.clouds.tencentcloud.account import file_system_resource
from gpuyard.clouds.tencentcloud.names import fitted
from gpuyard.clouds.tencentcloud.region import in_region
from gpuyard.planning.plans import FileSystemPlan
from gpuyard.planning.tencentcloud.file_system import CfsDetails

MOUNT_POINT = "/cfs"

# One is made in about 20 minutes, which is the provider's own limit: longer, so that a slow one is not given up.
_TIMEOUT = "60m"
# The provider refuses each change of these: only another file system can have another network.
_FOR_GOOD = ("netInterface", "ccnId", "cidrBlock")


@dataclass(frozen=True)
class FileSystemLinks:
    """What a file system is connected to: network, subnet, and the addresses of those who may mount it.

    ``ready`` are resources that have to exist first.
    """

    subnet_id: Input[str]
    network_id: Input[str]
    client_cidr: str
    ready: Sequence[Resource] = ()


def build_file_system(
    name: str,
    plan: FileSystemPlan,
    links: FileSystemLinks,
    tags: Mapping[str, str],
    parent: Resource,
    *,
    protect: bool,
) -> BuiltFileSystem:
    """Create one file system in the zone of the nodes, and the permission group that lets their network mount it.

    CFS Turbo takes no security group: the permission group is what closes it. Root stays root, because containers and
    the set-up of nodes write as root. A checkpoint bucket is not linked, no snapshot policy is made, and no key can be
    named: the provider has neither for Turbo.

    Args:
        name: Name in front of every resource.
        plan: What to create.
        links: Network, subnet and clients.
        tags: Tags on everything that takes some.
        parent: The component it belongs to.
        protect: Refuse to delete or replace it.

    Returns:
        Id, names and the command that mounts it.

    Source: CFS docs, "Using CFS Turbo on TKE" (github tencentyun/intlcloud-documents): mount command; PyPI
    tencentcloud_iac_pulumi 0.2.3, docstring of cfs.FileSystem
    """
    details: CfsDetails = plan.details
    opts = in_region(f"{name}-files", plan.place.region, parent)
    group = tencentcloud.cfs.AccessGroup(
        f"{name}-clients",
        name=fitted(f"{name}-clients"),
        description=f"Nodes that mount the file system of {name}",
        opts=opts,
    )
    rule = tencentcloud.cfs.AccessRule(
        f"{name}-clients",
        access_group_id=group.id,
        auth_client_ip=links.client_cidr,
        priority=1,
        rw_permission="RW",
        user_permission="no_root_squash",
        opts=opts,
    )
    in_ccn = details.ccn_id is not None
    system = tencentcloud.cfs.FileSystem(
        f"{name}-cfs",
        name=fitted(f"{name}-cfs"),
        availability_zone=plan.zone,
        protocol="TURBO",
        storage_type=details.storage_type,
        capacity=plan.capacity_gib,
        access_group_id=group.id,
        net_interface="CCN" if in_ccn else "VPC",
        ccn_id=details.ccn_id,
        cidr_block=details.ccn_cidr,
        vpc_id=None if in_ccn else links.network_id,
        subnet_id=None if in_ccn else links.subnet_id,
        tags={**tags, "Name": f"{name}-cfs"},
        opts=ResourceOptions.merge(
            opts,
            ResourceOptions(
                protect=protect,
                depends_on=[*links.ready, rule, *_attachment(name, plan, links, opts)],
                custom_timeouts=CustomTimeouts(create=_TIMEOUT, update=_TIMEOUT),
                replace_on_changes=list(_FOR_GOOD),
            ),
        ),
    )
    tree = Output.concat(system.fs_id, "/cfs")
    return BuiltFileSystem(
        file_system_id=system.id,
        arn=file_system_resource(plan.place.region, system.id, opts),
        dns_name=system.mount_ip,
        mount_name=tree,
        mount_command=Output.concat(
            "sudo mount.lustre -o user_xattr ", system.mount_ip, "@tcp0:/", tree, f" {MOUNT_POINT}"
        ),
        mount_protocol="lustre",
    )


def _attachment(
    name: str, plan: FileSystemPlan, links: FileSystemLinks, opts: ResourceOptions
) -> list[tencentcloud.ccn.AttachmentV2]:
    """The nodes' network in the CCN, where it is to be attached: without it nobody reaches the file system."""
    details: CfsDetails = plan.details
    if details.ccn_id is None or not details.ccn_attach:
        return []
    return [
        tencentcloud.ccn.AttachmentV2(
            f"{name}-ccn",
            ccn_id=details.ccn_id,
            instance_id=links.network_id,
            instance_region=plan.place.region,
            instance_type="VPC",
            opts=opts,
        )
    ]
