"""TrainingCluster: network, node pools, file system, checkpoints, snapshots and monitoring from one description."""

from collections.abc import Mapping
from typing import Any

import pulumi
from pydantic import BaseModel

from gpuyard.planning.cluster import gpus_of_the_job, plan_cluster
from gpuyard.planning.file_systems import reaches_over_rdma
from gpuyard.planning.plans import ClusterPlan, NodePoolPlan
from gpuyard.resources._common import ArgumentsError, refuse_outputs
from gpuyard.resources.args import TrainingClusterArgs
from gpuyard.resources.checkpoints import CheckpointStore
from gpuyard.resources.file_system import ParallelFileSystem
from gpuyard.resources.monitoring import GpuMonitoring
from gpuyard.resources.network import ClusterNetwork
from gpuyard.resources.node_pool import GpuNodePool
from gpuyard.resources.snapshots import SnapshotPolicy
from gpuyard.spec import ClusterSpec, SpecError, parse_spec


class TrainingCluster(pulumi.ComponentResource):
    """A whole GPU cluster from the description that a stack file holds under ``gpuyard:cluster``."""

    network_id: pulumi.Output[str]
    """Id of the network."""
    subnet_ids: Mapping[str, pulumi.Output[str]]
    """Ids of the private subnets by zone."""
    node_security_group_id: pulumi.Output[str]
    """Security group of the nodes."""
    group_names: Mapping[str, pulumi.Output[str] | None]
    """Names of the pools' scaling groups by pool."""
    mount_command: pulumi.Output[str] | None
    """Command that mounts the file system on a node, where there is one."""
    checkpoint_uri: pulumi.Output[str] | None
    """Address below which checkpoints belong, where there is a bucket."""

    def __init__(self, name: str, args: TrainingClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Create the cluster.

        Args:
            name: Name in front of every resource, unless the description has one.
            args: The description.
            opts: Resource options.

        Raises:
            SpecError: The description cannot be built; nothing has been registered then.
        """
        refuse_outputs(args)
        try:
            spec = parse_spec(ClusterSpec, {"cloud": "aws", "environment": "dev", **args})
            plan = plan_cluster(spec, name)
        except SpecError as error:
            raise ArgumentsError(error.problems) from None
        super().__init__("gpuyard:index:TrainingCluster", name, {}, opts)
        self._name = plan.name
        self._child = pulumi.ResourceOptions(parent=self)
        self._shared: dict[str, Any] = {
            "cloud": spec.cloud,
            "region": spec.region,
            "environment": spec.environment,
            "cluster_name": plan.name,
            "tags": spec.tags,
        }
        self._protect_data = plan.protect_data
        self._plan = plan
        zones = [subnet.zone for subnet in plan.network.subnets]
        self.network = ClusterNetwork(
            f"{plan.name}-network",
            self._args(
                spec.network,
                spec.access,
                zones=zones,
                file_system=plan.network.file_system,
                file_system_rdma=plan.network.file_system_rdma,
            ),
            self._child,
        )
        # Nodes need the way out and the rules of their group when they boot, Lustre needs its ports when it is made.
        self._after_network = pulumi.ResourceOptions(parent=self, depends_on=[self.network])
        self.checkpoints = self._checkpoints(spec)
        self.file_system = self._file_system(spec, plan)
        # A schedule is attached to the disks of machines that exist, and a scaling group is told it for those to come.
        built = {pool.name: self._node_pool(spec, pool, None) for pool in plan.node_pools if pool.kind != "elastic"}
        self.snapshots = self._snapshots(spec, built)
        policy = None if self.snapshots is None else self.snapshots.policy_id
        built |= {pool.name: self._node_pool(spec, pool, policy) for pool in plan.node_pools if pool.kind == "elastic"}
        self.node_pools = {pool.name: built[pool.name] for pool in plan.node_pools}
        self.monitoring = self._monitoring(spec, plan)
        self.network_id = self.network.network_id
        self.subnet_ids = self.network.subnet_ids
        self.node_security_group_id = self.network.node_security_group_id
        self.group_names = {pool: built.group_name for pool, built in self.node_pools.items()}
        self.mount_command = None if self.file_system is None else self.file_system.mount_command
        self.checkpoint_uri = None if self.checkpoints is None else self.checkpoints.uri
        self.register_outputs(
            {
                "networkId": self.network_id,
                "subnetIds": self.subnet_ids,
                "nodeSecurityGroupId": self.node_security_group_id,
                "groupNames": self.group_names,
                "mountCommand": self.mount_command,
                "checkpointUri": self.checkpoint_uri,
            }
        )

    def summary(self) -> dict[str, Any]:
        """What another stack needs of the cluster, as plain names and outputs."""
        found: dict[str, Any] = {
            "network_id": self.network.network_id,
            "subnet_ids": self.network.subnet_ids,
            "node_security_group_id": self.network.node_security_group_id,
            "node_pools": {
                name: {
                    "instance_types": pool.instance_types,
                    "group_name": pool.group_name,
                    "template_id": pool.template_id,
                    "instance_ids": pool.instance_ids,
                    "placement_group_name": pool.placement_group_name,
                    "role_arn": pool.role_arn,
                    "image_id": pool.image_id,
                    "zones": pool.zones,
                    "security_group_ids": pool.security_group_ids,
                    "log_group_name": pool.log_group_name,
                    "interruption_queue_url": pool.interruption_queue_url,
                }
                for name, pool in self.node_pools.items()
            },
        }
        # The planner is slow to load, and only what is told to others needs it.
        from gpuyard.planning.launch import launch_outputs

        launch = {pool.name: how for pool in self._plan.node_pools if (how := launch_outputs(pool))}
        if launch:
            found["launch"] = launch
        if self.file_system is not None:
            found["file_system"] = {
                "id": self.file_system.file_system_id,
                "mount_command": self.file_system.mount_command,
                "mount_protocol": self.file_system.mount_protocol,
                "throughput_mb_per_s": self.file_system.throughput_mb_per_s,
            }
        if self.checkpoints is not None:
            found["checkpoints"] = {"uri": self.checkpoints.uri, "replica": self.checkpoints.replica_name}
            if self.checkpoints.endpoint is not None:
                found["checkpoints"]["endpoint"] = self.checkpoints.endpoint
        if self.snapshots is not None:
            found["snapshots"] = {"policy_id": self.snapshots.policy_id}
        if self.monitoring is not None:
            found["monitoring"] = {
                "topic_arn": self.monitoring.topic_arn,
                "dashboard_name": self.monitoring.dashboard_name,
            }
        return found

    def _args(self, *parts: BaseModel, **more: Any) -> Any:
        """Arguments of a part: what all share, what was asked for of it, and its links; nothing that is None."""
        # What nobody set is left to the component's own defaults: a default is not a wish.
        given = {
            key: value
            for part in parts
            for key, value in part.model_dump(exclude_none=True, exclude_unset=True).items()
        }
        return {**self._shared, **given, **{key: value for key, value in more.items() if value is not None}}

    def _checkpoints(self, spec: ClusterSpec) -> CheckpointStore | None:
        if spec.checkpoints is None:
            return None
        args = self._args(spec.checkpoints, protect_data=self._protect_data)
        return CheckpointStore(self._name, args, self._child)

    @staticmethod
    def _workload(spec: ClusterSpec) -> dict[str, Any] | None:
        return None if spec.workload is None else spec.workload.model_dump(exclude_none=True)

    def _file_system(self, spec: ClusterSpec, plan: ClusterPlan) -> ParallelFileSystem | None:
        group = self.network.file_system_security_group_id
        if spec.file_system is None or spec.zone is None or group is None:
            return None
        args = self._args(
            spec.file_system,
            zone=spec.zone,
            protect_data=self._protect_data,
            subnet_id=self.network.subnet_ids[spec.zone],
            security_group_ids=[group],
            network_id=self.network.network_id,
            client_cidr=plan.network.cidr,
            bucket_name=None if self.checkpoints is None else self.checkpoints.bucket_name,
            workload=self._workload(spec),
            gpus=gpus_of_the_job(plan.node_pools),
        )
        return ParallelFileSystem(self._name, args, self._after_network)

    def _node_pool(
        self, spec: ClusterSpec, pool: NodePoolPlan, snapshot_policy_id: pulumi.Output[str] | None
    ) -> GpuNodePool:
        system, store = self.file_system, self.checkpoints
        rdma = spec.file_system is not None and spec.file_system.rdma and reaches_over_rdma(pool) is not False
        args = self._args(
            spec.node_pools[pool.name],
            zone=spec.zone,
            workload=self._workload(spec),
            subnet_ids=[self.network.subnet_ids[zone] for zone in pool.zones],
            security_group_ids=[self.network.node_security_group_id],
            bucket_name=None if store is None else store.bucket_name,
            bucket_key=None if spec.checkpoints is None else spec.checkpoints.kms_key,
            bucket_prefixes=None if store is None else store.prefixes,
            file_system_dns_name=None if system is None else system.dns_name,
            file_system_mount_name=None if system is None else system.mount_name,
            file_system_rdma=rdma,
            snapshot_policy_id=snapshot_policy_id,
        )
        return GpuNodePool(f"{self._name}-{pool.name}", args, self._after_network)

    def _snapshots(self, spec: ClusterSpec, pools: Mapping[str, GpuNodePool]) -> SnapshotPolicy | None:
        if spec.snapshots is None:
            return None
        keys = list(dict.fromkeys(pool.kms_key for pool in spec.node_pools.values() if pool.kms_key is not None))
        args = self._args(
            spec.snapshots,
            target_tags={"gpuyard:snapshot": self._name},
            disks={
                f"{name}-{disk}": disk_id for name, pool in pools.items() for disk, disk_id in pool.disk_ids.items()
            },
            volume_key_arns=keys or None,
        )
        return SnapshotPolicy(self._name, args, self._child)

    def _monitoring(self, spec: ClusterSpec, plan: ClusterPlan) -> GpuMonitoring | None:
        if spec.monitoring is None:
            return None
        pools = {
            pool.name: {
                "rdma": pool.kind == "rdma",
                "pool_tag": f"{self._name}-{pool.name}",
                **_watched_by(self.node_pools[pool.name]),
            }
            for pool in plan.node_pools
        }
        args = self._args(spec.monitoring, node_pools=pools, watched_file_system=self._watched_file_system(spec, plan))
        return GpuMonitoring(self._name, args, self._child)

    def _watched_file_system(self, spec: ClusterSpec, plan: ClusterPlan) -> dict[str, Any] | None:
        if self.file_system is None or plan.file_system is None:
            return None
        watched: dict[str, Any] = {
            "file_system_id": self.file_system.file_system_id,
            "capacity_gib": plan.file_system.capacity_gib,
        }
        if plan.file_system.throughput_mb_per_s is not None:
            watched["throughput_mb_per_s"] = plan.file_system.throughput_mb_per_s
        if spec.file_system is not None and spec.file_system.alicloud is not None:
            watched["kind"] = spec.file_system.alicloud.kind
        return watched


def _watched_by(pool: GpuNodePool) -> dict[str, Any]:
    """The names that a pool is watched by, of those that it has."""
    names = {"group_name": pool.group_name, "log_group_name": pool.log_group_name, "instance_ids": pool.instance_ids}
    return {key: value for key, value in names.items() if value is not None}
