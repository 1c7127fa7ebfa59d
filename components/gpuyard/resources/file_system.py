"""ParallelFileSystem: a parallel file system in the zone of the nodes."""

from collections.abc import Sequence

import pulumi

from gpuyard.clouds.built import BuiltFileSystem
from gpuyard.planning.file_systems import plan_file_system
from gpuyard.planning.plans import FileSystemPlan, Place
from gpuyard.resources._common import Arguments, ProtectedSpec, builder, links_of, needed_problems, waited_for
from gpuyard.resources.args import ParallelFileSystemArgs
from gpuyard.spec import FileSystemSpec, Problem
from gpuyard.spec.values import Cidr, PositiveCount


class _OwnSpec(ProtectedSpec):
    gpus: PositiveCount | None = None
    client_cidr: Cidr | None = None


class ParallelFileSystem(pulumi.ComponentResource):
    """A parallel file system, linked to a checkpoint bucket where one is given."""

    file_system_id: pulumi.Output[str]
    """Id of the file system."""
    dns_name: pulumi.Output[str]
    """Name that clients mount it by."""
    mount_name: pulumi.Output[str]
    """Name of the exported tree."""
    mount_command: pulumi.Output[str]
    """Command that mounts it on a node, over TCP and RDMA alike: for RDMA the client is set up before."""
    mount_protocol: str
    """How clients reach it: lustre, cpfs-nfs (CPFS by its protocol service), nfs ..."""
    zone: str
    """Zone that it is in."""
    security_group_ids: pulumi.Output[Sequence[str]]
    """Security groups of its network interfaces."""
    throughput_mb_per_s: float | None
    """Throughput of the whole file system in MB/s, where its kind promises one."""

    def __init__(self, name: str, args: ParallelFileSystemArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Create the file system.

        Args:
            name: Name in front of every resource.
            args: Place, size, throughput, and the subnet and security groups it is put into.
            opts: Resource options.

        Raises:
            SpecError: The arguments cannot be built; nothing has been registered then.
        """
        arguments = Arguments(
            name,
            args,
            spec=FileSystemSpec,
            own=_OwnSpec,
            required=("subnet_id", "security_group_ids"),
            optional=("bucket_name", "network_id"),
        )

        own: _OwnSpec | None = arguments.own

        def planned(spec: FileSystemSpec, place: Place) -> tuple[FileSystemPlan | None, list[Problem]]:
            linked = "bucket_name" in arguments.inputs
            plan, problems = plan_file_system(spec, place, linked=linked, gpus=None if own is None else own.gpus)
            given = [*arguments.inputs, *([] if own is None or own.client_cidr is None else ["client_cidr"])]
            kind = "file_system" if spec.alicloud is None else spec.alicloud.kind
            return plan, [*problems, *needed_problems(place.cloud, kind, given)]

        plan = arguments.plan(planned)
        super().__init__("gpuyard:index:ParallelFileSystem", name, {}, opts)
        cloud = builder(arguments.built_in.cloud, "file_system")
        client_cidr = arguments.own.client_cidr
        built: BuiltFileSystem = cloud.build_file_system(
            name,
            plan,
            links_of(cloud.FileSystemLinks, arguments.inputs, client_cidr=client_cidr, ready=waited_for(opts)),
            arguments.tags(),
            self,
            protect=arguments.protect_data,
        )
        self.file_system_id = built.file_system_id
        self.dns_name = built.dns_name
        self.mount_name = built.mount_name
        self.mount_command = built.mount_command
        self.mount_protocol = built.mount_protocol
        self.zone = plan.zone
        self.security_group_ids = pulumi.Output.from_input(arguments.inputs["security_group_ids"])
        self.throughput_mb_per_s = plan.throughput_mb_per_s
        self.register_outputs(
            {
                "fileSystemId": self.file_system_id,
                "dnsName": self.dns_name,
                "mountName": self.mount_name,
                "mountCommand": self.mount_command,
                "mountProtocol": self.mount_protocol,
                "zone": self.zone,
                "securityGroupIds": self.security_group_ids,
                "throughputMbPerS": self.throughput_mb_per_s,
            }
        )
