"""File systems on Alibaba Cloud: CPFS with a data flow to the checkpoint bucket, or an Extreme NAS."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi_alicloud as alicloud
from pulumi import CustomTimeouts, Input, Output, Resource, ResourceOptions

from gpuyard.clouds.alicloud.region import in_region
from gpuyard.clouds.built import BuiltFileSystem
from gpuyard.planning.alicloud.file_system import BUCKET_FOLDER, AlicloudFileSystemDetails
from gpuyard.planning.alicloud.keys import key_id
from gpuyard.planning.plans import FileSystemPlan

MOUNT_POINT = "/shared"
# What a protocol service and a NAS call their root.
EXPORT = "/share"
# CPFS takes 15 to 20 minutes and its protocol service 5 to 10; the provider waits for 10 or less.
CREATE_TIMEOUT = "60m"

_MOUNT = "sudo mount -t nfs -o vers=3,nolock,proto=tcp,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noresvport "
# The group that the provider's own example takes for a protocol service: it lets in what is in the VPC.
_VPC_ACCESS_GROUP = "DEFAULT_VPC_GROUP_NAME"
_OWN_KEY, _SERVICE_KEY = 2, 1


@dataclass(frozen=True)
class FileSystemLinks:
    """What a file system is connected to: network and vSwitch, and, where there is one, the checkpoint bucket.

    ``client_cidr`` are the addresses that may mount a NAS. ``ready`` are resources that have to exist first.
    """

    subnet_id: Input[str]
    security_group_ids: Input[Sequence[Input[str]]]
    network_id: Input[str]
    client_cidr: str | None = None
    bucket_name: Input[str] | None = None
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
    """Create one file system in the zone of the nodes.

    CPFS is mounted over NFS by its protocol service, which is free and needs nothing on a node that is not there; the
    cloud's own client (``mount -t cpfs-nfs``) takes the same address and spreads the load of one node over the servers.
    POSIX clients are faster, but a node joins them only by the hand of a person in the console. The service's address
    is put together from the ids of file system and service, as the client's documentation shows it: the provider tells
    it nowhere. The service uses up to 32 addresses of the vSwitch. CPFS is open to its VPC, because the provider makes
    access groups for a NAS alone.

    A NAS never gets network and vSwitch: the API does not give them back, and the provider would replace it for them.
    Only its mount target is told them. Neither kind asks for security groups.

    Args:
        name: Name in front of every resource.
        plan: What to create.
        links: Network, vSwitch, who may mount it, and bucket.
        tags: Tags on everything.
        parent: The component it belongs to.
        protect: Refuse to delete or replace it.

    Returns:
        Id, address, exported tree and the command that mounts it.

    Source: https://www.alibabacloud.com/help/en/cpfs/cpfsonecs/user-guide/mounting-overview;
    https://github.com/aliyun/alibabacloud-nas-utils (README, mount.cpfs-nfs);
    https://www.alibabacloud.com/help/en/cpfs/cpfsonecs/developer-reference/api-nas-2017-06-26-createprotocolservice-cpfs;
    PyPI pulumi_alicloud 4.0.0, docstrings of nas.FileSystem and nas.ProtocolMountTarget
    """
    builder = _FileSystemBuilder(name, plan, links, tags, in_region(name, plan.place.region, parent), protect=protect)
    details: AlicloudFileSystemDetails = plan.details
    return builder.cpfs(details) if details.kind == "cpfs" else builder.nas(details)


class _FileSystemBuilder:
    def __init__(
        self,
        name: str,
        plan: FileSystemPlan,
        links: FileSystemLinks,
        tags: Mapping[str, str],
        opts: ResourceOptions,
        *,
        protect: bool,
    ) -> None:
        self.name, self.plan, self.links, self.tags = name, plan, links, dict(tags)
        timeouts = CustomTimeouts(create=CREATE_TIMEOUT)
        for_data = ResourceOptions(protect=protect, depends_on=list(links.ready), custom_timeouts=timeouts)
        self.for_data = ResourceOptions.merge(opts, for_data)
        # A file system has one protocol service and one POSIX mount target, a folder one export and one flow: another
        # one is refused while the old one is there.
        one_only = ResourceOptions(delete_before_replace=True, custom_timeouts=timeouts)
        self.opts = ResourceOptions.merge(opts, one_only)

    def cpfs(self, details: AlicloudFileSystemDetails) -> BuiltFileSystem:
        """CPFS and the way in over NFS; with a bucket also the flow to it."""
        system = alicloud.nas.FileSystem(
            f"{self.name}-cpfs",
            file_system_type="cpfs",
            protocol_type="cpfs",
            storage_type=details.storage_type,
            capacity=self.plan.capacity_gib,
            zone_id=self.plan.zone,
            vpc_id=self.links.network_id,
            vswitch_id=self.links.subnet_id,
            description=f"{self.name}-cpfs",
            tags=self.tags,
            opts=self.for_data,
        )
        service = alicloud.nas.ProtocolService(
            f"{self.name}-nfs",
            file_system_id=system.id,
            protocol_type="NFS",
            protocol_spec="General",
            vpc_id=self.links.network_id,
            vswitch_id=self.links.subnet_id,
            opts=self.opts,
        )
        export = alicloud.nas.ProtocolMountTarget(
            f"{self.name}-nfs",
            file_system_id=system.id,
            protocol_service_id=service.protocol_service_id,
            path="/",
            vpc_id=self.links.network_id,
            vswitch_id=self.links.subnet_id,
            access_group_name=_VPC_ACCESS_GROUP,
            opts=self.opts,
        )
        if self.links.bucket_name is not None and details.flow_mb_per_s is not None:
            self._flow(system, self.links.bucket_name, details.flow_mb_per_s)
        region = self.plan.place.region
        # Told by the export, so that whoever mounts it waits for that, not for the service alone.
        service_part = export.protocol_service_id.apply(lambda found: found.removeprefix("ptc-"))
        domain = Output.concat(export.file_system_id, "-", service_part, f".{region}.cpfs.aliyuncs.com")
        return self._built(system, domain, "cpfs-nfs")

    def nas(self, details: AlicloudFileSystemDetails) -> BuiltFileSystem:
        """An Extreme NAS, encrypted, that the network's own addresses may mount."""
        key = self.plan.kms_key
        system = alicloud.nas.FileSystem(
            f"{self.name}-nas",
            file_system_type="extreme",
            protocol_type="NFS",
            storage_type=details.storage_type,
            capacity=self.plan.capacity_gib,
            zone_id=self.plan.zone,
            encrypt_type=_SERVICE_KEY if key is None else _OWN_KEY,
            kms_key_id=None if key is None else key_id(key),
            description=f"{self.name}-nas",
            tags=self.tags,
            opts=self.for_data,
        )
        group = alicloud.nas.AccessGroup(
            f"{self.name}-clients",
            access_group_name=f"{self.name}-clients",
            access_group_type="Vpc",
            file_system_type="extreme",
            description=f"Clients of {self.name}",
            opts=self.opts,
        )
        rule = alicloud.nas.AccessRule(
            f"{self.name}-clients",
            access_group_name=group.access_group_name,
            file_system_type="extreme",
            source_cidr_ip=self.links.client_cidr,
            rw_access_type="RDWR",
            # Nodes write as root, as jobs in containers do.
            user_access_type="no_squash",
            priority=1,
            opts=self.opts,
        )
        target = alicloud.nas.MountTarget(
            f"{self.name}-nas",
            file_system_id=system.id,
            network_type="Vpc",
            vpc_id=self.links.network_id,
            vswitch_id=self.links.subnet_id,
            access_group_name=group.access_group_name,
            opts=ResourceOptions.merge(self.opts, ResourceOptions(depends_on=[rule])),
        )
        return self._built(system, target.mount_target_domain, "nfs")

    def _flow(self, system: alicloud.nas.FileSystem, bucket_name: Input[str], mb_per_s: int) -> None:
        """What is in the bucket is seen in one folder, and what is written there can be exported.

        The mount target comes first and the fileset after it, as in the provider's example. What was in the folder is
        erased when the flow is made, so that it is one that nothing else makes. The flow goes over TLS: the bucket
        refuses anything else.
        """
        target = alicloud.nas.MountTarget(
            f"{self.name}-posix",
            file_system_id=system.id,
            network_type="Vpc",
            vpc_id=self.links.network_id,
            vswitch_id=self.links.subnet_id,
            opts=self.opts,
        )
        fileset = alicloud.nas.Fileset(
            f"{self.name}-bucket",
            file_system_id=system.id,
            file_system_path=f"/{BUCKET_FOLDER}/",
            description=f"{self.name}-bucket",
            opts=ResourceOptions.merge(self.opts, ResourceOptions(depends_on=[target])),
        )
        alicloud.nas.DataFlow(
            f"{self.name}-bucket",
            file_system_id=system.id,
            fset_id=fileset.fileset_id,
            source_storage=Output.concat("oss://", bucket_name),
            source_security_type="SSL",
            throughput=mb_per_s,
            description=f"{self.name}-bucket",
            opts=ResourceOptions.merge(self.opts, ResourceOptions(depends_on=[target])),
        )

    @staticmethod
    def _built(system: alicloud.nas.FileSystem, domain: Output[str], protocol: str) -> BuiltFileSystem:
        command = Output.concat(_MOUNT, domain, f":{EXPORT} {MOUNT_POINT}")
        return BuiltFileSystem(
            file_system_id=system.id,
            arn=Output.concat("acs:nas:*:*:filesystem/", system.id),
            dns_name=domain,
            mount_name=Output.from_input(EXPORT),
            mount_command=command,
            mount_protocol=protocol,
        )
