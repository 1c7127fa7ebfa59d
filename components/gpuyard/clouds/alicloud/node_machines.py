"""Pools of single machines: RDMA and fixed ones, each machine with its interfaces, disks, role and placement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi_alicloud as alicloud
from pulumi import Input, Output, ResourceOptions

from gpuyard.clouds.alicloud.node_disks import essd
from gpuyard.clouds.alicloud.node_identity import NodeIdentity
from gpuyard.planning.plans import InterfacePlan, NodePoolPlan

_RDMA_MODE = "HighPerformance"


@dataclass(frozen=True)
class Machines:
    """What was built: the machines, the disks that a snapshot policy attaches to, and what keeps the nodes close."""

    instance_ids: list[Output[str]]
    disk_ids: dict[str, Output[str]]
    close_id: Output[str] | None


def build_machines(
    name: str,
    plan: NodePoolPlan,
    *,
    subnet_ids: Input[Sequence[Input[str]]],
    security_group_ids: Input[Sequence[Input[str]]],
    identity: NodeIdentity,
    image_id: Input[str],
    user_data: Input[str],
    tags: Mapping[str, str],
    opts: ResourceOptions,
    ready: ResourceOptions,
) -> Machines:
    """Create the machines of a pool of fixed size.

    A scaling configuration has neither network card nor queue pairs of an interface, and a launch template no traffic
    mode: only a machine by itself can be given eRDMA on several cards, a deployment set or an HPC cluster.

    Args:
        name: Name in front of every resource.
        plan: What to create.
        subnet_ids: vSwitches of its zones, in order; machines take them in turn.
        security_group_ids: Groups of every interface.
        identity: The nodes' role.
        image_id: Id of the image.
        user_data: What a node sets up, in base64.
        tags: Tags on machines and disks.
        opts: Options of every resource.
        ready: Options of the machines on top: what has to exist before they boot.

    Returns:
        Ids of the machines, of their disks, and of the deployment set or HPC cluster.
    """
    close = _Close(name, plan, opts)
    built = Machines([], {}, close.id)
    switches = Output.from_input(subnet_ids)
    for number in range(plan.max_nodes):
        place = number % len(plan.zones)
        part = f"{name}-{number}"
        machine = _machine(
            part,
            plan,
            switch=switches[place],
            security_group_ids=security_group_ids,
            image_id=image_id,
            user_data=user_data,
            close=close,
            tags=tags,
            opts=ResourceOptions.merge(opts, ready),
        )
        alicloud.ecs.RamRoleAttachment(
            part, instance_id=machine.id, ram_role_name=identity.role.role_name.apply(str), opts=opts
        )
        built.instance_ids.append(machine.id)
        built.disk_ids[f"{number}-system"] = machine.system_disk_id
        disk = _data_disk(part, plan, plan.zones[place], machine, tags, opts)
        if disk is not None:
            built.disk_ids[f"{number}-data"] = disk.id
    return built


class _Close:
    """The deployment set or the HPC cluster that a pool's machines join; nothing where they may be anywhere."""

    def __init__(self, name: str, plan: NodePoolPlan, opts: ResourceOptions) -> None:
        self.set: alicloud.ecs.EcsDeploymentSet | None = None
        self.cluster: alicloud.ecs.HpcCluster | None = None
        if plan.details.hpc_cluster:
            self.cluster = alicloud.ecs.HpcCluster(
                f"{name}-hpc", name=f"{name}-hpc", description=f"GPU nodes of {name}", opts=opts
            )
        elif plan.clustered:
            self.set = alicloud.ecs.EcsDeploymentSet(
                f"{name}-close",
                deployment_set_name=f"{name}-close",
                description=f"GPU nodes of {name}",
                strategy="LowLatency",
                opts=opts,
            )

    @property
    def id(self) -> Output[str] | None:
        found = self.set or self.cluster
        return None if found is None else found.id


def _machine(
    name: str,
    plan: NodePoolPlan,
    *,
    switch: Input[str],
    security_group_ids: Input[Sequence[Input[str]]],
    image_id: Input[str],
    user_data: Input[str],
    close: _Close,
    tags: Mapping[str, str],
    opts: ResourceOptions,
) -> alicloud.ecs.Instance:
    primary, *others = plan.interfaces
    disk = essd(plan.root_disk, plan.kms_key)
    prepaid = plan.purchase == "prepaid"
    reserved = plan.purchase == "reserved"
    months = plan.details.renew_months
    floating = plan.image_query is not None
    return alicloud.ecs.Instance(
        name,
        instance_name=name,
        instance_type=plan.instance_type.instance_type,
        image_id=image_id,
        # Hardening works on the cloud's own images only.
        security_enhancement_strategy="Active" if floating else "Deactive",
        vswitch_id=switch,
        security_groups=security_group_ids,
        internet_max_bandwidth_out=0,
        network_interface_traffic_mode=_mode(primary),
        network_card_index=primary.network_card_index if _mode(primary) else None,
        queue_pair_number=primary.queue_pairs,
        network_interfaces=_second_interface(others, switch, security_group_ids),
        # With eRDMA it has to agree with the MTU that the node sets; elsewhere the type's default will do.
        enable_jumbo_frame=plan.details.jumbo_frames if _mode(primary) or plan.details.jumbo_frames else None,
        deployment_set_id=None if close.set is None else close.set.id,
        hpc_cluster_id=None if close.cluster is None else close.cluster.id,
        system_disk_category=disk.category,
        system_disk_performance_level=disk.performance_level,
        system_disk_size=disk.size_gib,
        system_disk_encrypted=True,
        system_disk_kms_key_id=disk.kms_key_id,
        instance_charge_type="PrePaid" if prepaid else "PostPaid",
        period=plan.prepaid_months,
        period_unit="Month" if prepaid else None,
        renewal_status=("AutoRenewal" if plan.prepaid_renew else "Normal") if prepaid else None,
        auto_renew_period=months,
        private_pool_options_match_criteria="Target" if reserved else "None",
        private_pool_options_id=plan.reservation_id,
        http_endpoint="enabled",
        http_tokens="required",
        user_data=user_data,
        tags={**tags, "Name": name},
        volume_tags={**tags, "Name": name},
        opts=ResourceOptions.merge(opts, _changes(plan)),
    )


def _changes(plan: NodePoolPlan) -> ResourceOptions:
    """What must not reach a running node, and what it cannot take.

    A newer vendor image comes when 'image' names one; new user data would boot the node once more in the middle of its
    job. A bare-metal machine cannot become another type.
    """
    ignored = ["userData", "imageId"] if plan.image_query is not None else ["userData"]
    bare = plan.instance_type.bare_metal is True
    return ResourceOptions(ignore_changes=ignored, replace_on_changes=["instanceType"] if bare else [])


def _mode(interface: InterfacePlan) -> str | None:
    return _RDMA_MODE if interface.interface_type == "erdma" else None


def _second_interface(
    others: Sequence[InterfacePlan], switch: Input[str], security_group_ids: Input[Sequence[Input[str]]]
) -> alicloud.ecs.InstanceNetworkInterfacesArgs | None:
    # The planner gives a machine two interfaces at most: a machine is made with one besides the primary.
    for interface in others:
        return alicloud.ecs.InstanceNetworkInterfacesArgs(
            network_card_index=interface.network_card_index,
            network_interface_traffic_mode=_mode(interface),
            queue_pair_number=interface.queue_pairs,
            vswitch_id=switch,
            security_group_ids=security_group_ids,
        )
    return None


def _data_disk(
    name: str,
    plan: NodePoolPlan,
    zone: str,
    machine: alicloud.ecs.Instance,
    tags: Mapping[str, str],
    opts: ResourceOptions,
) -> alicloud.ecs.EcsDisk | None:
    """A disk by itself: of a disk that comes with a machine the provider does not tell the id, which snapshots need."""
    if plan.data_disk is None:
        return None
    wanted = essd(plan.data_disk, plan.kms_key)
    disk = alicloud.ecs.EcsDisk(
        f"{name}-data",
        disk_name=f"{name}-data",
        zone_id=zone,
        category=wanted.category,
        performance_level=wanted.performance_level,
        size=wanted.size_gib,
        encrypted=True,
        kms_key_id=wanted.kms_key_id,
        delete_auto_snapshot=False,
        payment_type="PayAsYouGo",
        tags={**tags, "Name": f"{name}-data"},
        opts=opts,
    )
    alicloud.ecs.EcsDiskAttachment(f"{name}-data", disk_id=disk.id, instance_id=machine.id, opts=opts)
    return disk
