"""What a cloud's builders give back: the same for every cloud."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    its machines instead.
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


@dataclass(frozen=True)
class BuiltFileSystem:
    """A file system and the command that mounts it."""

    file_system_id: Output[str]
    arn: Output[str]
    dns_name: Output[str]
    mount_name: Output[str]
    mount_command: Output[str]


@dataclass(frozen=True)
class BuiltBucket:
    """The checkpoint bucket and its copy (None without one)."""

    name: Output[str]
    arn: Output[str]
    uri: Output[str]
    replica_name: Output[str] | None


@dataclass(frozen=True)
class BuiltSnapshots:
    """A snapshot schedule."""

    policy_id: Output[str]
    target_tags: Mapping[str, str]


@dataclass(frozen=True)
class BuiltMonitoring:
    """The topic that messages go to, the alarms, and dashboard and budget (None without one)."""

    topic_arn: Output[str]
    alarm_names: Sequence[Output[str]]
    dashboard_name: Output[str] | None
    budget_name: Output[str] | None
