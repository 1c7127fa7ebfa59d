"""GpuNodePool: equal GPU nodes, joined by RDMA, elastic on spot, or of fixed size."""

import pulumi

from gpuyard.clouds.built import BuiltNodePool
from gpuyard.planning.node_pools import plan_node_pool
from gpuyard.planning.plans import NodePoolPlan, Place
from gpuyard.resources._common import Arguments, builder, waited_for
from gpuyard.resources.args import GpuNodePoolArgs
from gpuyard.spec import NodePoolSpec, Problem


class GpuNodePool(pulumi.ComponentResource):
    """A pool of equal GPU nodes in subnets that exist."""

    instance_types: list[str]
    """Instance types that nodes may have, smallest first."""
    group_name: pulumi.Output[str]
    """Name of the scaling group."""
    template_id: pulumi.Output[str]
    """Id of the launch template."""
    placement_group_name: pulumi.Output[str] | None
    """Name of the placement group, where there is one."""
    role_name: pulumi.Output[str]
    """Name of the nodes' role."""
    role_arn: pulumi.Output[str]
    """ARN of the nodes' role."""
    image_id: pulumi.Output[str]
    """Id of the image that new nodes start from."""

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
            optional=("bucket_arn", "bucket_key_arn"),
        )

        def planned(spec: NodePoolSpec, place: Place) -> tuple[NodePoolPlan | None, list[Problem]]:
            return plan_node_pool(name, spec, place)

        plan = arguments.plan(planned)
        super().__init__("gpuyard:index:GpuNodePool", name, {}, opts)
        cloud = builder(arguments.built_in.cloud, "node_pool")
        tags = arguments.tags(pool=name, snapshot=arguments.cluster)
        links = cloud.NodePoolLinks(**arguments.inputs, ready=waited_for(opts))
        built: BuiltNodePool = cloud.build_node_pool(name, plan, links, tags, self)
        self.instance_types = [row.instance_type for row in plan.instance_types]
        self.group_name = built.group_name
        self.template_id = built.template_id
        self.placement_group_name = built.placement_group_name
        self.role_name = built.role_name
        self.role_arn = built.role_arn
        self.image_id = built.image_id
        self.register_outputs(
            {
                "instanceTypes": self.instance_types,
                "groupName": self.group_name,
                "templateId": self.template_id,
                "placementGroupName": self.placement_group_name,
                "roleName": self.role_name,
                "roleArn": self.role_arn,
                "imageId": self.image_id,
            }
        )
