"""Elastic pools: a scaling group over equivalent types, and the configuration that its nodes are made by."""

from collections.abc import Mapping, Sequence

import pulumi_alicloud as alicloud
from pulumi import Input, ResourceOptions

from gpuyard.clouds.alicloud.node_disks import essd
from gpuyard.planning.plans import NodePoolPlan

# The cheapest types share the nodes, so that one recall does not take all of them at once.
_SPOT_TYPES_AT_ONCE = 3


def build_group(
    name: str,
    plan: NodePoolPlan,
    *,
    subnet_ids: Input[Sequence[Input[str]]],
    tags: Mapping[str, str],
    opts: ResourceOptions,
) -> alicloud.ess.ScalingGroup:
    """Create the scaling group; it has no nodes before its configuration is active.

    All types of a pool have as many GPUs, so that prices are compared by the node, not by the vCPU. Zeros are said:
    left out, they would mean something else.

    Args:
        name: Name in front of every resource.
        plan: What to create.
        subnet_ids: vSwitches of its zones.
        tags: Tags on the group.
        opts: Options of every resource.

    Returns:
        The group.

    Source: https://www.alibabacloud.com/help/en/auto-scaling/developer-reference/api-ess-2022-02-22-createscalinggroup
    """
    policy = plan.details.multi_az_policy
    optimized, composed = policy == "COST_OPTIMIZED", policy == "COMPOSABLE"
    return alicloud.ess.ScalingGroup(
        f"{name}-group",
        scaling_group_name=f"{name}-group",
        min_size=plan.min_nodes,
        max_size=plan.max_nodes,
        desired_capacity=plan.min_nodes if plan.desired_nodes is None else plan.desired_nodes,
        vswitch_ids=subnet_ids,
        multi_az_policy=policy,
        on_demand_base_capacity=plan.on_demand_nodes if optimized else None,
        on_demand_percentage_above_base_capacity=0 if optimized else None,
        spot_instance_pools=min(_SPOT_TYPES_AT_ONCE, len(plan.instance_types)) if optimized else None,
        spot_instance_remedy=True if optimized else None,
        compensate_with_on_demand=plan.details.compensate_with_on_demand if optimized else None,
        capacity_options_on_demand_base_capacity=plan.on_demand_nodes if composed else None,
        capacity_options_on_demand_percentage_above_base_capacity=0 if composed else None,
        capacity_options_price_comparison_mode="PricePerUnit" if optimized or composed else None,
        az_balance=False if composed else None,
        health_check_type="ECS",
        scaling_policy="release",
        # What is newest has the least to lose.
        removal_policies=["OldestScalingConfiguration", "NewestInstance"],
        tags=dict(tags),
        # Once it runs, a pool's size is its scaler's: an update must not throw nodes out.
        opts=ResourceOptions.merge(opts, ResourceOptions(ignore_changes=["desiredCapacity"])),
    )


def build_configuration(
    name: str,
    plan: NodePoolPlan,
    group: alicloud.ess.ScalingGroup,
    *,
    security_group_ids: Input[Sequence[Input[str]]],
    role_name: Input[str],
    image_id: Input[str],
    user_data: Input[str],
    snapshot_policy_id: Input[str] | None,
    tags: Mapping[str, str],
    opts: ResourceOptions,
) -> alicloud.ess.ScalingConfiguration:
    """Create the configuration that nodes are made by, and let the group begin with it.

    Disks are ESSD of a level that is said: the default of this resource is refused by gn7 and later families. A
    snapshot policy is part of the configuration, because nodes that come and go have no disks to attach one to.
    Metadata cannot be hardened here as on a machine: the resource has no setting for it.

    Args:
        name: Name in front of every resource.
        plan: What to create.
        group: The scaling group.
        security_group_ids: Groups of every node.
        role_name: Name of the nodes' role.
        image_id: Id of the image.
        user_data: What a node sets up, in base64.
        snapshot_policy_id: Snapshot policy of every disk, None without one.
        tags: Tags on nodes and disks.
        opts: Options of every resource.

    Returns:
        The configuration.
    """
    system = essd(plan.root_disk, plan.kms_key)
    floating = plan.image_query is not None
    reserved = plan.purchase == "reserved"
    return alicloud.ess.ScalingConfiguration(
        f"{name}-configuration",
        scaling_configuration_name=f"{name}-configuration",
        scaling_group_id=group.id,
        active=True,
        enable=True,
        # The last configuration of a group cannot be removed before the group.
        force_delete=True,
        instance_types=[row.instance_type for row in plan.instance_types],
        instance_name=name,
        image_id=image_id,
        security_enhancement_strategy="Active" if floating else "Deactive",
        security_group_ids=security_group_ids,
        internet_max_bandwidth_out=0,
        role_name=role_name,
        http_endpoint="enabled",
        spot_strategy=_spot_strategy(plan),
        spot_duration=plan.details.spot_protected_hours,
        spot_price_limits=_price_limits(plan),
        resource_pool_options_strategy="PrivatePoolOnly" if reserved else None,
        resource_pool_options_private_pool_ids=[plan.reservation_id] if plan.reservation_id else None,
        system_disk_category=system.category,
        system_disk_performance_level=system.performance_level,
        system_disk_size=system.size_gib,
        system_disk_encrypted=True,
        system_disk_kms_key_id=system.kms_key_id,
        system_disk_auto_snapshot_policy_id=snapshot_policy_id,
        data_disks=_data_disks(plan, snapshot_policy_id),
        user_data=user_data,
        tags={**tags, "Name": name},
        # A newer vendor image comes when 'image' names one.
        opts=ResourceOptions.merge(opts, ResourceOptions(ignore_changes=["imageId"] if floating else [])),
    )


def _spot_strategy(plan: NodePoolPlan) -> str:
    if plan.purchase != "spot":
        return "NoSpot"
    return "SpotAsPriceGo" if plan.spot_price_limit is None else "SpotWithPriceLimit"


def _price_limits(plan: NodePoolPlan) -> list[alicloud.ess.ScalingConfigurationSpotPriceLimitArgs] | None:
    if plan.spot_price_limit is None:
        return None
    return [
        alicloud.ess.ScalingConfigurationSpotPriceLimitArgs(
            instance_type=row.instance_type, price_limit=plan.spot_price_limit
        )
        for row in plan.instance_types
    ]


def _data_disks(
    plan: NodePoolPlan, snapshot_policy_id: Input[str] | None
) -> list[alicloud.ess.ScalingConfigurationDataDiskArgs] | None:
    if plan.data_disk is None:
        return None
    disk = essd(plan.data_disk, plan.kms_key)
    return [
        alicloud.ess.ScalingConfigurationDataDiskArgs(
            category=disk.category,
            performance_level=disk.performance_level,
            size=disk.size_gib,
            encrypted=True,
            kms_key_id=disk.kms_key_id,
            delete_with_instance=True,
            auto_snapshot_policy_id=snapshot_policy_id,
        )
    ]
