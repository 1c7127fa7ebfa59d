"""Node pools on AWS: identity, placement group, launch template and scaling group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws
from pulumi import Input, Output, Resource, ResourceOptions

from gpuyard.clouds.aws.identity import role_for_service
from gpuyard.clouds.aws.partition import managed_policy_arn
from gpuyard.clouds.built import BuiltNodePool
from gpuyard.planning.plans import CHECKPOINT_PREFIX, NodePoolPlan

DATA_DEVICE = "/dev/sdf"


@dataclass(frozen=True)
class NodePoolLinks:
    """What a pool is connected to: its subnets, security groups and, where there is one, the checkpoint bucket.

    ``ready`` are resources that have to exist before the first node boots, such as the way to the internet.
    """

    subnet_ids: Input[Sequence[Input[str]]]
    security_group_ids: Input[Sequence[Input[str]]]
    bucket_arn: Input[str] | None = None
    bucket_key_arn: Input[str] | None = None
    ready: Sequence[Resource] = ()


def build_node_pool(
    name: str, plan: NodePoolPlan, links: NodePoolLinks, tags: Mapping[str, str], parent: Resource
) -> BuiltNodePool:
    """Create one pool.

    Nodes have no public address and no ingress of their own, take metadata requests with a session token only, and
    are reached through Systems Manager. Every disk is encrypted and tagged as the pool is, so that a snapshot policy
    finds it.

    Args:
        name: Name in front of every resource.
        plan: What to create.
        links: Subnets, security groups and bucket.
        tags: Tags on everything, on nodes and their disks too.
        parent: The component it belongs to.

    Returns:
        Names and ids of the scaling group, template, placement group, role and image.
    """
    opts = ResourceOptions(parent=parent)
    identity = _identity(name, plan, links, tags, opts)
    placement = (
        aws.ec2.PlacementGroup(
            f"{name}-placement", region=plan.place.region, strategy="cluster", tags=dict(tags), opts=opts
        )
        if plan.clustered
        else None
    )
    image_id = _image_id(plan, parent)
    template = _template(name, plan, links, tags, identity.profile, placement, image_id, opts)
    # A node that boots before its role has its rights can neither be reached nor read a checkpoint.
    ready = ResourceOptions(depends_on=[*links.ready, *identity.permissions])
    group = _group(name, plan, links, tags, template, ResourceOptions.merge(opts, ready))
    return BuiltNodePool(
        group_name=group.name,
        template_id=template.id,
        placement_group_name=None if placement is None else placement.name,
        role_name=identity.role.name,
        role_arn=identity.role.arn,
        image_id=Output.from_input(image_id),
    )


@dataclass(frozen=True)
class _Identity:
    role: aws.iam.Role
    profile: aws.iam.InstanceProfile
    permissions: Sequence[Resource]


def _identity(
    name: str, plan: NodePoolPlan, links: NodePoolLinks, tags: Mapping[str, str], opts: ResourceOptions
) -> _Identity:
    region = plan.place.region
    role = role_for_service(f"{name}-role", "ec2", region, f"GPU nodes of {name}", tags, opts)
    permissions: list[Resource] = [
        aws.iam.RolePolicyAttachment(
            f"{name}-ssm",
            role=role.name,
            policy_arn=managed_policy_arn("AmazonSSMManagedInstanceCore", region),
            opts=opts,
        )
    ]
    if links.bucket_arn is not None:
        policy = _bucket_policy(links.bucket_arn, links.bucket_key_arn)
        permissions.append(aws.iam.RolePolicy(f"{name}-checkpoints", role=role.name, policy=policy, opts=opts))
    profile = aws.iam.InstanceProfile(f"{name}-profile", role=role.name, tags=dict(tags), opts=opts)
    return _Identity(role, profile, permissions)


def _bucket_policy(bucket_arn: Input[str], key_arn: Input[str] | None) -> Output[str]:
    statements: list[dict[str, object]] = [
        {
            "Sid": "ListCheckpoints",
            "Effect": "Allow",
            "Action": ["s3:ListBucket", "s3:ListBucketMultipartUploads"],
            "Resource": bucket_arn,
            "Condition": {"StringLike": {"s3:prefix": [CHECKPOINT_PREFIX, f"{CHECKPOINT_PREFIX}/*"]}},
        },
        {
            "Sid": "UseCheckpoints",
            "Effect": "Allow",
            "Action": [
                "s3:GetObject",
                "s3:PutObject",
                "s3:DeleteObject",
                "s3:AbortMultipartUpload",
                "s3:ListMultipartUploadParts",
            ],
            "Resource": Output.format("{0}/{1}/*", bucket_arn, CHECKPOINT_PREFIX),
        },
    ]
    if key_arn is not None:
        statements.append(
            {
                "Sid": "UseCheckpointKey",
                "Effect": "Allow",
                "Action": ["kms:Decrypt", "kms:GenerateDataKey"],
                "Resource": key_arn,
            }
        )
    return Output.json_dumps({"Version": "2012-10-17", "Statement": statements})


def _image_id(plan: NodePoolPlan, parent: Resource) -> Input[str]:
    if plan.image_id is not None:
        return plan.image_id
    found = aws.ssm.get_parameter_output(
        name=plan.image_ssm_parameter,
        region=plan.place.region,
        opts=pulumi.InvokeOutputOptions(parent=parent),
    )
    # The parameter's value counts as secret in the SDK; a public image's id is none, and policies have to read it.
    return Output.unsecret(found.value)


def _template(
    name: str,
    plan: NodePoolPlan,
    links: NodePoolLinks,
    tags: Mapping[str, str],
    profile: aws.iam.InstanceProfile,
    placement: aws.ec2.PlacementGroup | None,
    image_id: Input[str],
    opts: ResourceOptions,
) -> aws.ec2.LaunchTemplate:
    node_tags = {**tags, "Name": name}
    floating = plan.image_ssm_parameter is not None
    return aws.ec2.LaunchTemplate(
        f"{name}-template",
        region=plan.place.region,
        description=f"GPU nodes of {name}",
        image_id=image_id,
        instance_type=plan.instance_type.instance_type,
        iam_instance_profile=aws.ec2.LaunchTemplateIamInstanceProfileArgs(arn=profile.arn),
        network_interfaces=_interfaces(plan, links),
        block_device_mappings=_disks(plan),
        metadata_options=aws.ec2.LaunchTemplateMetadataOptionsArgs(
            http_endpoint="enabled",
            http_tokens="required",
            http_put_response_hop_limit=1,
        ),
        monitoring=aws.ec2.LaunchTemplateMonitoringArgs(enabled=True),
        placement=None if placement is None else aws.ec2.LaunchTemplatePlacementArgs(group_name=placement.name),
        instance_market_options=aws.ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type="capacity-block")
        if plan.purchase == "capacity_block"
        else None,
        capacity_reservation_specification=_reservation(plan),
        tag_specifications=[
            aws.ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=node_tags)
            for kind in ("instance", "volume", "network-interface")
        ],
        update_default_version=True,
        tags=node_tags,
        # A newer vendor image must not reach a pool in the middle of a training campaign: it is taken when 'image'
        # names one, or when the pool is made anew.
        opts=ResourceOptions.merge(opts, ResourceOptions(ignore_changes=["imageId"] if floating else [])),
    )


def _interfaces(plan: NodePoolPlan, links: NodePoolLinks) -> list[aws.ec2.LaunchTemplateNetworkInterfaceArgs]:
    return [
        aws.ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=interface.network_card_index,
            device_index=interface.device_index,
            # 'interface' is the API's default and the only kind a template need not name.
            interface_type="efa-only" if interface.interface_type == "efa-only" else None,
            associate_public_ip_address="false" if interface.takes_address else None,
            delete_on_termination="true",
            security_groups=links.security_group_ids,
        )
        for interface in plan.interfaces
    ]


def _disks(plan: NodePoolPlan) -> list[aws.ec2.LaunchTemplateBlockDeviceMappingArgs]:
    sizes = {plan.root_device: plan.root_disk_gib}
    if plan.data_disk_gib is not None:
        sizes[DATA_DEVICE] = plan.data_disk_gib
    return [
        aws.ec2.LaunchTemplateBlockDeviceMappingArgs(
            device_name=device,
            ebs=aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
                volume_type="gp3", volume_size=size_gib, encrypted="true", delete_on_termination="true"
            ),
        )
        for device, size_gib in sizes.items()
    ]


def _reservation(plan: NodePoolPlan) -> aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs | None:
    if plan.reservation_id is None and plan.reservation_group_arn is None:
        return None
    return aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs(
        capacity_reservation_target=aws.ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
            capacity_reservation_id=plan.reservation_id,
            capacity_reservation_resource_group_arn=plan.reservation_group_arn,
        )
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
    return aws.autoscaling.Group(
        f"{name}-group",
        region=plan.place.region,
        min_size=plan.min_nodes,
        max_size=plan.max_nodes,
        desired_capacity=None if elastic else plan.max_nodes,
        vpc_zone_identifiers=links.subnet_ids,
        health_check_type="EC2",
        launch_template=None if elastic else aws.autoscaling.GroupLaunchTemplateArgs(id=template.id, version=version),
        mixed_instances_policy=_mixed(plan, template, version) if elastic else None,
        capacity_rebalance=True if plan.purchase == "spot" else None,
        # Moving a node to even out zones would kill its job.
        suspended_processes=["AZRebalance"],
        # An elastic group may rightly be empty, and a block may begin later than the group is made.
        wait_for_capacity_timeout="0" if elastic or plan.purchase == "capacity_block" else "30m",
        tags=[
            aws.autoscaling.GroupTagArgs(key=key, value=value, propagate_at_launch=False)
            for key, value in {**tags, "Name": name}.items()
        ],
        opts=opts,
    )


def _mixed(
    plan: NodePoolPlan, template: aws.ec2.LaunchTemplate, version: Output[str]
) -> aws.autoscaling.GroupMixedInstancesPolicyArgs:
    spot = plan.purchase == "spot"
    return aws.autoscaling.GroupMixedInstancesPolicyArgs(
        instances_distribution=aws.autoscaling.GroupMixedInstancesPolicyInstancesDistributionArgs(
            on_demand_base_capacity=0,
            on_demand_percentage_above_base_capacity=0 if spot else 100,
            spot_allocation_strategy="price-capacity-optimized",
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
