"""Single machines on Tencent Cloud: ordinary ones, those of an HPC cluster, and prepaid THPC workspaces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tencentcloud_iac_pulumi as tencentcloud
from pulumi import Output, ResourceOptions

from gpuyard.catalog.limits import limit
from gpuyard.clouds.tencentcloud.names import fitted
from gpuyard.clouds.tencentcloud.node_parts import NodeParts
from gpuyard.planning.plans import DiskPlan, NodePoolPlan
from gpuyard.planning.tencentcloud.disks import extra_throughput_mb_per_s
from gpuyard.planning.tencentcloud.pools import PoolDetails

# The second generation: the first is for older machines only, and the two do not mix.
_ENCRYPTION = "ENCRYPT_V2"


@dataclass(frozen=True)
class Machines:
    """Single machines: their ids, the ids of their data disks by name, and of their HPC cluster, None without one."""

    instance_ids: Output[Sequence[str]]
    disk_ids: Mapping[str, Output[str]]
    hpc_cluster_id: Output[str] | None


def build_machines(
    name: str, plan: NodePoolPlan, parts: NodeParts, tags: Mapping[str, str], opts: ResourceOptions
) -> Machines:
    """Create a fixed set of machines, each with its own data disk.

    Machines of several zones take turns. A data disk is a resource of its own, so that it outlives its machine and a
    snapshot policy finds it by its id; it is encrypted, which the system disk cannot be asked to be.

    Args:
        name: Name in front of every resource.
        plan: What to create.
        parts: Network, role, image and user data.
        tags: Tags on everything.
        opts: Resource options, the parent and what machines wait for among them.

    Returns:
        The machines.
    """
    return _MachineBuilder(name, plan, parts, tags, opts).build()


class _MachineBuilder:
    def __init__(
        self, name: str, plan: NodePoolPlan, parts: NodeParts, tags: Mapping[str, str], opts: ResourceOptions
    ) -> None:
        self.name, self.plan, self.parts, self.tags = name, plan, parts, dict(tags)
        self.details: PoolDetails = plan.details
        self.opts = opts
        # A newer image would reinstall a running machine: it is taken when 'image' names one, or by a new machine.
        floating = ["imageId"] if plan.image_query is not None else []
        self.machine_opts = ResourceOptions.merge(opts, ResourceOptions(ignore_changes=floating))

    def build(self) -> Machines:
        self.cluster_id = self._hpc_cluster() if self.details.hpc_cluster else None
        ids: list[Output[str]] = []
        disks: dict[str, Output[str]] = {}
        for number in range(self.plan.max_nodes):
            machine = f"{self.name}-{number}"
            place = number % len(self.plan.zones)
            subnet_id = self.parts.subnet_ids.apply(
                lambda known, place=place: _subnet_of(known, place, self.plan.zones)
            )
            made = self._workspace if self.details.workspace_type is not None else self._instance
            machine_id = made(machine, self.plan.zones[place], subnet_id)
            ids.append(machine_id)
            if self.plan.data_disk is not None:
                disks[f"{number}-data"] = self._data_disk(
                    machine, self.plan.zones[place], self.plan.data_disk, machine_id
                )
        return Machines(Output.all(*ids), disks, self.cluster_id)

    def _hpc_cluster(self) -> Output[str]:
        cluster = tencentcloud.cvm.HpcCluster(
            f"{self.name}-hpc",
            name=fitted(f"{self.name}-hpc"),
            zone=self.plan.zones[0],
            remark=f"RDMA network of {self.name}",
            opts=self.opts,
        )
        return cluster.id

    def _instance(self, name: str, zone: str, subnet_id: Output[str]) -> Output[str]:
        disk = self.plan.root_disk
        machine = tencentcloud.instance.Instance(
            name,
            instance_name=fitted(name),
            availability_zone=zone,
            instance_type=self.details.machine_types[0],
            hpc_cluster_id=self.cluster_id,
            image_id=self.parts.image_id,
            vpc_id=self.parts.network_id,
            subnet_id=subnet_id,
            orderly_security_groups=self.parts.security_group_ids,
            allocate_public_ip=False,
            cam_role_name=self.parts.role_name,
            system_disk_type=disk.disk_type,
            system_disk_size=disk.size_gib,
            system_disk_name=fitted(f"{name}-root"),
            user_data=self.parts.user_data,
            disable_monitor_service=False,
            disable_automation_service=False,
            tags={**self.tags, "Name": name},
            opts=self.machine_opts,
            **self._paid(),
        )
        return machine.id

    def _paid(self) -> dict[str, Any]:
        if self.plan.prepaid_months is None:
            return {"instance_charge_type": "POSTPAID_BY_HOUR"}
        return {
            "instance_charge_type": "PREPAID",
            "instance_charge_type_prepaid_period": self.plan.prepaid_months,
            "instance_charge_type_prepaid_renew_flag": _renewal(self.plan.prepaid_renew),
        }

    def _workspace(self, name: str, zone: str, subnet_id: Output[str]) -> Output[str]:
        thpc = tencentcloud.thpc
        workspace = thpc.Workspaces(
            name,
            space_name=fitted(name),
            space_type=self.details.workspace_type,
            space_charge_type="PREPAID",
            space_charge_prepaid=thpc.WorkspacesSpaceChargePrepaidArgs(
                period=self.plan.prepaid_months, renew_flag=_renewal(self.plan.prepaid_renew)
            ),
            placement=thpc.WorkspacesPlacementArgs(zone=zone),
            hpc_cluster_id=self.cluster_id,
            image_id=self.parts.image_id,
            virtual_private_cloud=thpc.WorkspacesVirtualPrivateCloudArgs(
                vpc_id=self.parts.network_id, subnet_id=subnet_id, as_vpc_gateway=False
            ),
            security_group_ids=self.parts.security_group_ids,
            cam_role_name=self.parts.role_name,
            system_disk=thpc.WorkspacesSystemDiskArgs(
                disk_type=limit("tencentcloud", "workspace_system_disk_type").values[0],
                disk_size=self.plan.root_disk.size_gib,
            ),
            enhanced_service=thpc.WorkspacesEnhancedServiceArgs(
                monitor_service=thpc.WorkspacesEnhancedServiceMonitorServiceArgs(enabled=True),
                security_service=thpc.WorkspacesEnhancedServiceSecurityServiceArgs(enabled=True),
                automation_service=thpc.WorkspacesEnhancedServiceAutomationServiceArgs(enabled=True),
            ),
            tag_specifications=[
                thpc.WorkspacesTagSpecificationArgs(
                    tags=[
                        thpc.WorkspacesTagSpecificationTagArgs(key=key, value=value)
                        for key, value in {**self.tags, "Name": name}.items()
                    ]
                )
            ],
            user_data=self.parts.user_data,
            opts=self.machine_opts,
        )
        return workspace.resource_id

    def _data_disk(self, name: str, zone: str, disk: DiskPlan, machine_id: Output[str]) -> Output[str]:
        # Always paid by the hour: it can leave at any time, also from a machine that is paid ahead.
        storage = tencentcloud.cbs.Storage(
            f"{name}-data",
            storage_name=fitted(f"{name}-data"),
            availability_zone=zone,
            storage_type=disk.disk_type,
            storage_size=disk.size_gib,
            throughput_performance=extra_throughput_mb_per_s(disk),
            charge_type="POSTPAID_BY_HOUR",
            encrypt=True,
            encrypt_type=_ENCRYPTION,
            kms_key_id=self.plan.kms_key,
            tags={**self.tags, "Name": f"{name}-data"},
            opts=self.opts,
        )
        tencentcloud.cbs.StorageAttachment(
            f"{name}-data", storage_id=storage.id, instance_id=machine_id, opts=self.opts
        )
        return storage.id


def _subnet_of(subnet_ids: Sequence[str], place: int, zones: Sequence[str]) -> str:
    if len(subnet_ids) != len(zones):
        message = (
            f"the pool has the zones {', '.join(zones)} and needs a subnet in each: it was given {len(subnet_ids)}"
        )
        raise LookupError(message)
    return subnet_ids[place]


def _renewal(renew: bool) -> str:
    return "NOTIFY_AND_AUTO_RENEW" if renew else "NOTIFY_AND_MANUAL_RENEW"
