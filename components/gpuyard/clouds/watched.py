"""What a cloud's monitoring is told to watch: things that exist, with the facts that thresholds need."""

from collections.abc import Sequence
from dataclasses import dataclass

from pulumi import Input


@dataclass(frozen=True)
class WatchedPool:
    """A node pool: its name, its scaling group and log group or its machines, and whether RDMA joins its nodes.

    ``pool_tag`` is the value of its nodes' tag ``gpuyard:pool``, for clouds that find nodes by it.
    """

    name: str
    group_name: Input[str] | None
    log_group_name: Input[str] | None
    instance_ids: Input[Sequence[Input[str]]] | None
    rdma: bool
    pool_tag: str | None = None

    @property
    def scaling_group(self) -> Input[str]:
        """Its scaling group.

        Raises:
            ValueError: The pool has none; where the cloud needs one, the component has refused that before.
        """
        if self.group_name is None:
            raise ValueError(f"pool {self.name} has no scaling group")
        return self.group_name


@dataclass(frozen=True)
class WatchedFileSystem:
    """A file system; ``throughput_mb_per_s`` is None where its kind promises none.

    ``kind`` says which of the cloud's kinds it is, None where the cloud has only one.
    """

    file_system_id: Input[str]
    capacity_gib: int
    throughput_mb_per_s: float | None
    kind: str | None = None


@dataclass(frozen=True)
class Watched:
    """Everything that is watched."""

    pools: Sequence[WatchedPool]
    file_system: WatchedFileSystem | None
