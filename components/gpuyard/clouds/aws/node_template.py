"""The launch template of a pool: image, interfaces, disks, capacity and what a node sets up when it boots."""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_aws as aws
from pulumi import Input, Output, Resource, ResourceOptions

from gpuyard.planning.plans import DiskPlan, NodePoolPlan

DATA_DEVICE = "/dev/sdf"


def image_of(plan: NodePoolPlan, parent: Resource) -> Input[str]:
    """The id of the image that nodes start from: the one that was named, or the newest of the vendor's.

    Args:
        plan: The pool.
        parent: The component it belongs to.

    Returns:
        The id.
    """
    if plan.image_id is not None:
        return plan.image_id
    found = aws.ssm.get_parameter_output(
        name=plan.image_query,
        region=plan.place.region,
        opts=pulumi.InvokeOutputOptions(parent=parent),
    )
    # The parameter's value counts as secret in the SDK; a public image's id is none, and policies have to read it.
    return Output.unsecret(found.value)


def build_template(
    name: str,
    plan: NodePoolPlan,
    *,
    security_group_ids: Input[Sequence[Input[str]]],
    profile_arn: Input[str],
    placement_group: Input[str] | None,
    image_id: Input[str],
    user_data: Input[str],
    tags: Mapping[str, str],
    opts: ResourceOptions,
) -> aws.ec2.LaunchTemplate:
    """Create the template.

    Args:
        name: Name in front of every resource.
        plan: What to create.
        security_group_ids: Groups of every interface.
        profile_arn: ARN of the profile that gives nodes their role.
        placement_group: Name of the placement group, None without one.
        image_id: Id of the image.
        user_data: What a node sets up, as cloud-init takes it, in base64.
        tags: Tags on everything, on nodes and their disks too.
        opts: Resource options, the parent among them.

    Returns:
        The template.
    """
    node_tags = {**tags, "Name": name}
    floating = plan.image_query is not None
    return aws.ec2.LaunchTemplate(
        f"{name}-template",
        region=plan.place.region,
        description=f"GPU nodes of {name}",
        image_id=image_id,
        instance_type=plan.instance_type.instance_type,
        iam_instance_profile=aws.ec2.LaunchTemplateIamInstanceProfileArgs(arn=profile_arn),
        network_interfaces=_interfaces(plan, security_group_ids),
        block_device_mappings=_disks(plan),
        metadata_options=aws.ec2.LaunchTemplateMetadataOptionsArgs(
            http_endpoint="enabled",
            http_tokens="required",
            http_put_response_hop_limit=1,
        ),
        monitoring=aws.ec2.LaunchTemplateMonitoringArgs(enabled=True),
        placement=None if placement_group is None else aws.ec2.LaunchTemplatePlacementArgs(group_name=placement_group),
        instance_market_options=aws.ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type="capacity-block")
        if plan.purchase == "capacity_block"
        else None,
        capacity_reservation_specification=_reservation(plan),
        tag_specifications=[
            aws.ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=node_tags)
            for kind in ("instance", "volume", "network-interface")
        ],
        user_data=user_data,
        update_default_version=True,
        tags=node_tags,
        # A newer vendor image must not reach a pool in the middle of a training campaign: it is taken when 'image'
        # names one, or when the pool is made anew.
        opts=ResourceOptions.merge(opts, ResourceOptions(ignore_changes=["imageId"] if floating else [])),
    )


def _interfaces(
    plan: NodePoolPlan, security_group_ids: Input[Sequence[Input[str]]]
) -> list[aws.ec2.LaunchTemplateNetworkInterfaceArgs]:
    return [
        aws.ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=interface.network_card_index,
            device_index=interface.device_index,
            # 'interface' is the API's default and the only kind a template need not name.
            interface_type="efa-only" if interface.interface_type == "efa-only" else None,
            associate_public_ip_address="false" if interface.takes_address else None,
            delete_on_termination="true",
            security_groups=security_group_ids,
        )
        for interface in plan.interfaces
    ]


def _disks(plan: NodePoolPlan) -> list[aws.ec2.LaunchTemplateBlockDeviceMappingArgs]:
    disks = {plan.root_device: plan.root_disk}
    if plan.data_disk is not None:
        disks[DATA_DEVICE] = plan.data_disk
    return [
        aws.ec2.LaunchTemplateBlockDeviceMappingArgs(device_name=device, ebs=_disk(disk, plan.kms_key))
        for device, disk in disks.items()
    ]


def _disk(disk: DiskPlan, kms_key: str | None) -> aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs:
    return aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
        volume_type=disk.disk_type,
        volume_size=disk.size_gib,
        iops=disk.iops,
        throughput=disk.throughput_mib_per_s,
        encrypted="true",
        kms_key_id=kms_key,
        delete_on_termination="true",
    )


def _reservation(plan: NodePoolPlan) -> aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs | None:
    if plan.reservation_id is None and plan.reservation_group_arn is None:
        return None
    return aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs(
        capacity_reservation_target=aws.ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
            capacity_reservation_id=plan.reservation_id,
            capacity_reservation_resource_group_arn=plan.reservation_group_arn,
        )
    )
