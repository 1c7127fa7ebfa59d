"""ClusterNetwork: a closed network that RDMA and parallel file systems work in."""

from collections.abc import Mapping
from typing import Annotated

import pulumi
from pydantic import Field

from gpuyard.catalog import zone_belongs_to
from gpuyard.clouds.built import BuiltNetwork
from gpuyard.planning.network import plan_network
from gpuyard.planning.node_pools import zone_written_like
from gpuyard.planning.plans import NetworkPlan, Place
from gpuyard.resources._common import Arguments, OwnSpec, builder
from gpuyard.resources.args import ClusterNetworkArgs
from gpuyard.spec import AccessSpec, NetworkSpec, Problem
from gpuyard.spec.values import Cidr, Flag, Text


class _OwnSpec(OwnSpec):
    zones: Annotated[list[Text], Field(min_length=1)]
    ssh_from: list[Cidr] = []
    file_system: Flag = True
    file_system_rdma: Flag = False

    @property
    def access(self) -> AccessSpec:
        return AccessSpec(ssh_from=self.ssh_from)


class ClusterNetwork(pulumi.ComponentResource):
    """A private network with one subnet for each zone, closed from outside and open among its nodes."""

    network_id: pulumi.Output[str]
    """Id of the network."""
    subnet_ids: Mapping[str, pulumi.Output[str]]
    """Ids of the private subnets by zone."""
    node_security_group_id: pulumi.Output[str]
    """Security group of the nodes: open to itself in both directions, as EFA needs."""
    file_system_security_group_id: pulumi.Output[str] | None
    """Security group of a parallel file system that the nodes reach, where one is wanted."""

    def __init__(self, name: str, args: ClusterNetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Create the network.

        Args:
            name: Name in front of every resource.
            args: Region, zones, addresses, whether a file system is in it, and who may use SSH.
            opts: Resource options.

        Raises:
            SpecError: The arguments cannot be built; nothing has been registered then.
        """
        arguments = Arguments(name, args, spec=NetworkSpec, own=_OwnSpec)
        own: _OwnSpec = arguments.own

        def planned(spec: NetworkSpec, place: Place) -> tuple[NetworkPlan | None, list[Problem]]:
            wrong = _zone_problems(own.zones, place)
            if wrong:
                return None, wrong
            return plan_network(
                spec,
                own.access,
                place,
                tuple(own.zones),
                (),
                file_system=own.file_system,
                file_system_rdma=own.file_system_rdma,
            )

        plan = arguments.plan(planned)
        super().__init__("gpuyard:index:ClusterNetwork", name, {}, opts)
        built: BuiltNetwork = builder(arguments.built_in.cloud, "network").build_network(
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


def _zone_problems(zones: list[str], place: Place) -> list[Problem]:
    elsewhere = [
        Problem(
            ("zones", number),
            f"'{zone}' is no zone of {place.region}.",
            zone_written_like(place.region, place.cloud),
        )
        for number, zone in enumerate(zones)
        if not zone_belongs_to(zone, place.region, place.cloud)
    ]
    twice = sorted({zone for zone in zones if zones.count(zone) > 1})
    return elsewhere + [Problem(("zones",), f"'{zone}' is named twice.", "Name it once.") for zone in twice]
