"""What a cloud's monitoring is told to watch: things that exist, with the facts that thresholds need."""

from collections.abc import Sequence
from dataclasses import dataclass

from pulumi import Input


@dataclass(frozen=True)
class WatchedPool:
    """A node pool: its name, its scaling group and log group, and whether its nodes are joined by RDMA."""

    name: str
    group_name: Input[str]
    log_group_name: Input[str]
    rdma: bool


@dataclass(frozen=True)
class WatchedFileSystem:
    """A file system; ``throughput_mb_per_s`` is None where its kind promises none."""

    file_system_id: Input[str]
    capacity_gib: int
    throughput_mb_per_s: float | None


@dataclass(frozen=True)
class Watched:
    """Everything that is watched."""

    pools: Sequence[WatchedPool]
    file_system: WatchedFileSystem | None
