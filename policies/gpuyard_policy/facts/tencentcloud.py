"""Facts of Tencent Cloud resources: of raw ones as well as of gpuyard's own."""

from gpuyard_policy.facts.tencentcloud_access import roles
from gpuyard_policy.facts.tencentcloud_costs import budgets, services, tagged
from gpuyard_policy.facts.tencentcloud_network import security_groups
from gpuyard_policy.facts.tencentcloud_operations import alarms
from gpuyard_policy.facts.tencentcloud_pools import node_pools
from gpuyard_policy.facts.tencentcloud_snapshots import disks, schedules
from gpuyard_policy.facts.tencentcloud_storage import storage

READERS = (node_pools, storage, disks, schedules, security_groups, roles, alarms, budgets, services, tagged)
