"""Facts of Alibaba Cloud resources: of raw ones as well as of gpuyard's own."""

from gpuyard_policy.facts.alicloud_access import roles
from gpuyard_policy.facts.alicloud_buckets import buckets
from gpuyard_policy.facts.alicloud_disks import disks
from gpuyard_policy.facts.alicloud_file_systems import file_systems
from gpuyard_policy.facts.alicloud_network import security_groups
from gpuyard_policy.facts.alicloud_operations import alarms, services, tagged
from gpuyard_policy.facts.alicloud_pools import node_pools
from gpuyard_policy.facts.alicloud_snapshots import schedules

READERS = (
    node_pools,
    file_systems,
    buckets,
    disks,
    schedules,
    security_groups,
    roles,
    alarms,
    services,
    tagged,
)
