"""CheckpointStore: the bucket that checkpoints go to, and its copy elsewhere."""

import pulumi

from gpuyard.clouds.built import BuiltBucket
from gpuyard.planning.checkpoints import plan_checkpoints
from gpuyard.resources._common import Arguments, ProtectedSpec, builder
from gpuyard.resources.args import CheckpointStoreArgs
from gpuyard.spec import CheckpointSpec


class CheckpointStore(pulumi.ComponentResource):
    """A private, versioned, encrypted bucket whose content expires; with a copy in a second region where asked for."""

    bucket_name: pulumi.Output[str]
    """Name of the bucket."""
    bucket_arn: pulumi.Output[str]
    """ARN of the bucket."""
    uri: pulumi.Output[str]
    """Address below which checkpoints belong."""
    endpoint: pulumi.Output[str] | None
    """Endpoint by which nodes of its region reach it, where they have to be told one; without a fee for traffic."""
    replica_name: pulumi.Output[str] | None
    """Name of the copy, where there is one."""
    prefixes: list[str]
    """Prefixes whose objects have an end, ``checkpoints`` first."""

    def __init__(self, name: str, args: CheckpointStoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Create the bucket.

        Args:
            name: Name in front of every resource.
            args: Place, prefixes with their retention, and copy.
            opts: Resource options.

        Raises:
            SpecError: The arguments cannot be built; nothing has been registered then.
        """
        arguments = Arguments(name, args, spec=CheckpointSpec, own=ProtectedSpec)
        plan = arguments.plan(plan_checkpoints)
        super().__init__("gpuyard:index:CheckpointStore", name, {}, opts)
        built: BuiltBucket = builder(arguments.built_in.cloud, "checkpoints").build_checkpoints(
            name,
            plan,
            arguments.tags(),
            self,
            protect=arguments.protect_data,
            force_destroy=arguments.built_in.environment == "dev",
        )
        self.bucket_name = built.name
        self.bucket_arn = built.arn
        self.uri = built.uri
        self.endpoint = built.endpoint
        self.replica_name = built.replica_name
        self.prefixes = [prefix.prefix for prefix in plan.prefixes]
        self.register_outputs(
            {
                "bucketName": self.bucket_name,
                "bucketArn": self.bucket_arn,
                "uri": self.uri,
                "endpoint": self.endpoint,
                "replicaName": self.replica_name,
                "prefixes": self.prefixes,
            }
        )
