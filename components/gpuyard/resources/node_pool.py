"""GpuNodePool: equal GPU nodes, joined by RDMA, elastic on spot, or of fixed size."""

from collections.abc import Mapping, Sequence

import pulumi

from gpuyard.clouds.built import BuiltNodePool
from gpuyard.planning.node_pools import plan_node_pool
from gpuyard.planning.plans import NodePoolPlan, Place
from gpuyard.planning.subnet_room import subnet_problems
from gpuyard.resources._common import Arguments, OwnSpec, builder, links_of, waited_for
from gpuyard.resources.args import GpuNodePoolArgs
from gpuyard.spec import NodePoolSpec, Problem
from gpuyard.spec.values import Cidr, Flag, Text


class _OwnSpec(OwnSpec):
    bucket_prefixes: list[Text] = []
    file_system_rdma: Flag = False
    subnet_cidrs: list[Cidr] | None = None


class GpuNodePool(pulumi.ComponentResource):
    """A pool of equal GPU nodes in subnets that exist."""

    instance_types: list[str]
    """Instance types that nodes may have, smallest first."""
    group_name: pulumi.Output[str] | None
    """Name or id of the scaling group, where there is one."""
    template_id: pulumi.Output[str] | None
    """Id of the launch template or scaling configuration, where there is one."""
    instance_ids: pulumi.Output[Sequence[str]] | None
    """Ids of the nodes, where the pool is made of single machines."""
    placement_group_name: pulumi.Output[str] | None
    """Name of the placement group, where there is one."""
    role_name: pulumi.Output[str]
    """Name of the nodes' role."""
    role_arn: pulumi.Output[str]
    """ARN of the nodes' role."""
    disk_ids: Mapping[str, pulumi.Output[str]]
    """Ids of its disks by a name of their own, where a snapshot policy is attached to each disk."""
    image_id: pulumi.Output[str]
    """Id of the image that new nodes start from."""
    zones: list[str]
    """Zones that nodes may be in; one for a pool joined by RDMA."""
    security_group_ids: pulumi.Output[list[str]]
    """Security groups of every interface."""
    addresses_needed: int
    """Addresses of its subnets that all its nodes use."""
    log_group_name: pulumi.Output[str] | None
    """Name of the log group of the nodes, where there is one."""
    interruption_queue_url: pulumi.Output[str] | None
    """Address of the queue that tells which nodes are about to go, where the pool is elastic."""

    def __init__(self, name: str, args: GpuNodePoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Create the pool.

        Args:
            name: Name in front of every resource.
            args: Place, hardware, size, and the subnets and security groups it is put into.
            opts: Resource options.

        Raises:
            SpecError: The arguments cannot be built; nothing has been registered then.
        """
        arguments = Arguments(
            name,
            args,
            spec=NodePoolSpec,
            required=("subnet_ids", "security_group_ids"),
            own=_OwnSpec,
            optional=(
                "bucket_name",
                "bucket_key",
                "file_system_dns_name",
                "file_system_mount_name",
                "snapshot_policy_id",
            ),
        )
        own: _OwnSpec | None = arguments.own

        def planned(spec: NodePoolSpec, place: Place) -> tuple[NodePoolPlan | None, list[Problem]]:
            plan, problems = plan_node_pool(name, spec, place)
            if plan is not None and own is not None and own.subnet_cidrs is not None:
                problems += subnet_problems(plan, own.subnet_cidrs, ("subnet_cidrs",))
            return plan, problems

        plan = arguments.plan(planned)
        super().__init__("gpuyard:index:GpuNodePool", name, {}, opts)
        cloud = builder(arguments.built_in.cloud, "node_pool")
        tags = arguments.tags(pool=name, snapshot=arguments.cluster, task=plan.place.task)
        links = links_of(
            cloud.NodePoolLinks,
            arguments.inputs,
            bucket_prefixes=arguments.own.bucket_prefixes,
            file_system_rdma=arguments.own.file_system_rdma,
            ready=waited_for(opts),
        )
        built: BuiltNodePool = cloud.build_node_pool(name, plan, links, tags, self)
        self.instance_types = [row.instance_type for row in plan.instance_types]
        self.group_name = built.group_name
        self.template_id = built.template_id
        self.instance_ids = built.instance_ids
        self.disk_ids = built.disk_ids
        self.placement_group_name = built.placement_group_name
        self.role_name = built.role_name
        self.role_arn = built.role_arn
        self.image_id = built.image_id
        self.zones = list(plan.zones)
        self.security_group_ids = pulumi.Output.from_input(arguments.inputs["security_group_ids"])
        self.addresses_needed = plan.max_nodes * plan.addresses_per_node
        self.log_group_name = built.log_group_name
        self.interruption_queue_url = built.interruption_queue_url
        self.register_outputs(
            {
                "instanceTypes": self.instance_types,
                "groupName": self.group_name,
                "templateId": self.template_id,
                "instanceIds": self.instance_ids,
                "diskIds": self.disk_ids,
                "placementGroupName": self.placement_group_name,
                "roleName": self.role_name,
                "roleArn": self.role_arn,
                "imageId": self.image_id,
                "zones": self.zones,
                "securityGroupIds": self.security_group_ids,
                "addressesNeeded": self.addresses_needed,
                "logGroupName": self.log_group_name,
                "interruptionQueueUrl": self.interruption_queue_url,
            }
        )
