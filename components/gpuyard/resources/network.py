"""ClusterNetwork: a closed network that RDMA and parallel file systems work in."""

from collections.abc import Mapping

import pulumi

from gpuyard.clouds.built import BuiltNetwork
from gpuyard.planning.network import plan_network
from gpuyard.planning.plans import NetworkPlan, Place
from gpuyard.resources._common import Arguments, builder
from gpuyard.resources.args import ClusterNetworkArgs
from gpuyard.spec import AccessSpec, NetworkSpec, Problem, parse_spec


class ClusterNetwork(pulumi.ComponentResource):
    """A private network with one subnet for each zone, closed from outside and open among its nodes."""

    network_id: pulumi.Output[str]
    """Id of the network."""
    subnet_ids: Mapping[str, pulumi.Output[str]]
    """Ids of the private subnets by zone."""
    node_security_group_id: pulumi.Output[str]
    """Security group of the nodes: open to itself in both directions, as EFA needs."""
    file_system_security_group_id: pulumi.Output[str] | None
    """Security group of a Lustre file system that the nodes reach, where one is wanted."""

    def __init__(self, name: str, args: ClusterNetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Create the network.

        Args:
            name: Name in front of every resource.
            args: Region, zones, addresses and who may use SSH.
            opts: Resource options.

        Raises:
            SpecError: The arguments cannot be built; nothing has been registered then.
        """
        arguments = Arguments(name, args, own=("zones", "ssh_from", "lustre"))
        lustre = bool(arguments.own.get("lustre", True))
        access = parse_spec(AccessSpec, {"ssh_from": list(arguments.own.get("ssh_from", []))})
        zones = tuple(arguments.own.get("zones", ()))

        def planned(spec: NetworkSpec, place: Place) -> tuple[NetworkPlan | None, list[Problem]]:
            return plan_network(spec, access, place, zones, (), lustre=lustre)

        plan = arguments.plan(NetworkSpec, planned)
        super().__init__("gpuyard:index:ClusterNetwork", name, {}, opts)
        built: BuiltNetwork = builder(arguments.place.cloud, "network").build_network(
            name, plan, arguments.tags(), self
        )
        self.network_id = built.network_id
        self.subnet_ids = built.subnet_ids
        self.node_security_group_id = built.node_security_group_id
        self.file_system_security_group_id = built.file_system_security_group_id
        self.register_outputs(
            {
                "networkId": self.network_id,
                "subnetIds": self.subnet_ids,
                "nodeSecurityGroupId": self.node_security_group_id,
                "fileSystemSecurityGroupId": self.file_system_security_group_id,
            }
        )
