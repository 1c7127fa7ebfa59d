"""A bucket and a file system that exist become part of the components, with everything that is in them."""

from collections.abc import Mapping

import pulumi

from gpuyard import CheckpointStore, ParallelFileSystem

config = pulumi.Config()
region = pulumi.Config("aws").require("region")
bucket, file_system = config.require("bucket"), config.require("file_system_id")


def adopting(type_: str, id_: str, given: Mapping[str, str], unread: list[str]) -> pulumi.ResourceOptions:
    """Options of a component whose child of a type exists already.

    Args:
        type_: Type of the child.
        id_: Id of what exists.
        given: Properties to give beside the component's own, such as a name that the provider would make up.
        unread: Properties that the cloud does not tell: a difference would replace what exists.
    """

    def adopt(child: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
        if child.type_ != type_:
            return None
        adopted = pulumi.ResourceOptions(import_=id_, ignore_changes=unread)
        return pulumi.ResourceTransformResult(
            {**child.props, **given}, pulumi.ResourceOptions.merge(child.opts, adopted)
        )

    return pulumi.ResourceOptions(transforms=[adopt])


store = CheckpointStore(
    "speech",
    # In prod data is protected: a description that only another bucket could fulfil is refused.
    {"region": region, "keep_days": 90, "environment": "prod"},
    adopting("aws:s3/bucket:Bucket", bucket, {"bucket": bucket}, []),
)
files = ParallelFileSystem(
    "speech",
    {
        "region": region,
        "zone": f"{region}a",
        "capacity_gib": 4800,
        "throughput_mb_per_s": 1200,
        "subnet_id": config.require("subnet_id"),
        "security_group_ids": [config.require("security_group_id")],
        "bucket_name": store.bucket_name,
        "environment": "prod",
    },
    adopting("aws:fsx/lustreFileSystem:LustreFileSystem", file_system, {}, ["securityGroupIds"]),
)

pulumi.export("checkpoints", store.uri)
pulumi.export("mount", files.mount_command)
