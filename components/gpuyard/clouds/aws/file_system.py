"""Parallel file systems on AWS: FSx for Lustre, linked to the checkpoint bucket."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi_aws as aws
from pulumi import Input, Output, Resource, ResourceOptions

from gpuyard.clouds.built import BuiltFileSystem
from gpuyard.planning.plans import CHECKPOINT_PREFIX, FileSystemPlan

EVENTS = ("NEW", "CHANGED", "DELETED")
MOUNT_POINT = "/fsx"


@dataclass(frozen=True)
class FileSystemLinks:
    """What a file system is connected to: subnet, security groups and, where there is one, the checkpoint bucket.

    ``ready`` are resources that have to exist first, such as the rules of the security groups: FSx looks at the ports
    when the file system is made.
    """

    subnet_id: Input[str]
    security_group_ids: Input[Sequence[Input[str]]]
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

    The command that mounts it is the same with and without EFA: the client finds its way to the servers over TCP, and
    once it is set up for EFA it moves data over that.

    Args:
        name: Name in front of every resource.
        plan: What to create.
        links: Subnet, security groups and bucket.
        tags: Tags on everything.
        parent: The component it belongs to.
        protect: Refuse to delete or replace it.

    Returns:
        Id, names and the command that mounts it.

    Source: https://docs.aws.amazon.com/fsx/latest/LustreGuide/configure-efa-clients.html
    """
    backups = plan.backup_keep_days > 0
    system = aws.fsx.LustreFileSystem(
        f"{name}-lustre",
        region=plan.place.region,
        deployment_type=plan.type_name,
        file_system_type_version=plan.lustre_version,
        storage_type="SSD",
        storage_capacity=plan.capacity_gib,
        per_unit_storage_throughput=plan.per_unit_mb_per_s_per_tib,
        data_compression_type="LZ4" if plan.compression else "NONE",
        efa_enabled=True if plan.rdma else None,
        metadata_configuration=_metadata(plan),
        subnet_ids=links.subnet_id,
        security_group_ids=links.security_group_ids,
        kms_key_id=plan.kms_key,
        automatic_backup_retention_days=plan.backup_keep_days if plan.persistent else None,
        daily_automatic_backup_start_time="03:00" if backups else None,
        copy_tags_to_backups=True if backups else None,
        skip_final_backup=not backups,
        weekly_maintenance_start_time="7:04:00",
        tags={**tags, "Name": f"{name}-lustre"},
        opts=ResourceOptions(parent=parent, protect=protect, depends_on=list(links.ready)),
    )
    if links.bucket_name is not None and (plan.imports or plan.exports):
        _link(
            name,
            plan,
            system,
            links.bucket_name,
            tags,
            ResourceOptions(parent=parent),
        )
    command = Output.concat(
        "sudo mount -t lustre -o relatime,flock ",
        system.dns_name,
        "@tcp:/",
        system.mount_name,
        f" {MOUNT_POINT}",
    )
    return BuiltFileSystem(
        file_system_id=system.id,
        arn=system.arn,
        dns_name=system.dns_name,
        mount_name=system.mount_name,
        mount_command=command,
        mount_protocol="lustre",
    )


def _metadata(plan: FileSystemPlan) -> aws.fsx.LustreFileSystemMetadataConfigurationArgs | None:
    """Metadata IOPS as asked for, else those that come with the capacity.

    It can be given when the file system is made and never later, so that every kind that takes it gets it.
    """
    if plan.metadata_iops is not None:
        return aws.fsx.LustreFileSystemMetadataConfigurationArgs(mode="USER_PROVISIONED", iops=plan.metadata_iops)
    return aws.fsx.LustreFileSystemMetadataConfigurationArgs(mode="AUTOMATIC") if plan.metadata else None


def _link(
    name: str,
    plan: FileSystemPlan,
    system: aws.fsx.LustreFileSystem,
    bucket_name: Input[str],
    tags: Mapping[str, str],
    opts: ResourceOptions,
) -> None:
    """What is written below ``/checkpoints`` goes to the bucket, what is in the bucket is seen there, or both."""
    aws.fsx.DataRepositoryAssociation(
        f"{name}-checkpoints",
        region=plan.place.region,
        file_system_id=system.id,
        file_system_path=f"/{CHECKPOINT_PREFIX}",
        data_repository_path=Output.concat("s3://", bucket_name, f"/{CHECKPOINT_PREFIX}"),
        batch_import_meta_data_on_create=plan.imports,
        s3=aws.fsx.DataRepositoryAssociationS3Args(
            auto_import_policy=aws.fsx.DataRepositoryAssociationS3AutoImportPolicyArgs(events=list(EVENTS))
            if plan.imports
            else None,
            auto_export_policy=aws.fsx.DataRepositoryAssociationS3AutoExportPolicyArgs(events=list(EVENTS))
            if plan.exports
            else None,
        ),
        tags={**tags, "Name": f"{name}-checkpoints"},
        opts=opts,
    )
