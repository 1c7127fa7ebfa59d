"""Facts of AWS resources: of raw ones as well as of gpuyard's own."""

from gpuyard_policy.facts.aws_access import roles
from gpuyard_policy.facts.aws_buckets import buckets
from gpuyard_policy.facts.aws_network import ingress, security_groups
from gpuyard_policy.facts.aws_operations import alarms, budgets, services, tagged
from gpuyard_policy.facts.aws_places import region_of
from gpuyard_policy.facts.aws_pools import node_pools
from gpuyard_policy.facts.aws_snapshots import schedules
from gpuyard_policy.facts.aws_storage import file_systems, volumes

READERS = (
    node_pools,
    file_systems,
    buckets,
    volumes,
    schedules,
    security_groups,
    ingress,
    roles,
    alarms,
    budgets,
    services,
    tagged,
)

__all__ = ["READERS", "region_of"]
