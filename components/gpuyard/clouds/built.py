"""What a cloud's builders give back: the same for every cloud."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pulumi import Output


@dataclass(frozen=True)
class BuiltNetwork:
    """A network: private subnets by zone, and the security groups of nodes and of a file system (None without one)."""

    network_id: Output[str]
    subnet_ids: Mapping[str, Output[str]]
    node_security_group_id: Output[str]
    file_system_security_group_id: Output[str] | None


@dataclass(frozen=True)
class BuiltNodePool:
    """A pool: its scaling group, template, placement group, role, image, log group, and the queue of interruptions.

    Each of them is None where the pool has none. A pool of single machines has neither group nor template, and names
    its machines instead, and the disks that each snapshot policy is attached to, by a name of their own.
    """

    group_name: Output[str] | None
    template_id: Output[str] | None
    placement_group_name: Output[str] | None
    role_name: Output[str]
    role_arn: Output[str]
    image_id: Output[str]
    log_group_name: Output[str] | None
    interruption_queue_url: Output[str] | None
    instance_ids: Output[Sequence[str]] | None = None
    disk_ids: Mapping[str, Output[str]] = field(default_factory=dict[str, Output[str]])


@dataclass(frozen=True)
class BuiltFileSystem:
    """A file system, the command that mounts it, and how clients reach it, such as ``lustre`` or ``cpfs-nfs``."""

    file_system_id: Output[str]
    arn: Output[str]
    dns_name: Output[str]
    mount_name: Output[str]
    mount_command: Output[str]
    mount_protocol: str


@dataclass(frozen=True)
class BuiltBucket:
    """The checkpoint bucket, its copy (None without one), and its endpoint where nodes have to be told one."""

    name: Output[str]
    arn: Output[str]
    uri: Output[str]
    replica_name: Output[str] | None
    endpoint: Output[str] | None = None


@dataclass(frozen=True)
class BuiltSnapshots:
    """A snapshot schedule, and the tags by which it finds disks (none where it is attached to each disk)."""

    policy_id: Output[str]
    target_tags: Mapping[str, str]


@dataclass(frozen=True)
class BuiltMonitoring:
    """What messages go to (the ARN of a topic, or the name of a group of contacts), the alarms, and what else there is.

    What messages go to is None where nobody is to hear of it, dashboard and budget are None without one.
    """

    topic_arn: Output[str] | None
    alarm_names: Sequence[Output[str]]
    dashboard_name: Output[str] | None
    budget_name: Output[str] | None
