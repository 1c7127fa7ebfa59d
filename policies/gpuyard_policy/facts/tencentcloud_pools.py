"""Node pools of Tencent Cloud: of raw resources as well as of gpuyard's own."""

from collections.abc import Iterable
from typing import Any

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import NodePoolFact, Record, Unknown
from gpuyard_policy.facts.reading import as_number, as_tags, first_unknown, merged, read
from gpuyard_policy.facts.tencentcloud_kubernetes import KUBERNETES, kubernetes_pools
from gpuyard_policy.facts.tencentcloud_machines import (
    disks_of,
    elastic_of,
    grouped_tags,
    groups_of,
    image_of,
    lies,
    pool_of,
    price_of,
    public_of,
    purchase_of,
    script_of,
    types_of,
    watches,
)
from gpuyard_policy.facts.tencentcloud_places import joined
from gpuyard_policy.facts.tencentcloud_templates import MACHINE, TEMPLATE, as_a_machine, is_launched_here, with_template

MACHINES = "tencentcloud:Instance/set:Set"
WORKSPACE = "tencentcloud:Thpc/workspaces:Workspaces"
GROUP = "tencentcloud:As/scalingGroup:ScalingGroup"
CONFIGURATION = "tencentcloud:As/scalingConfig:ScalingConfig"
HOOK = "tencentcloud:As/lifecycleHook:LifecycleHook"
ADDRESS = "tencentcloud:Eip/association:Association"
GROUP_ATTACHMENT = "tencentcloud:Cvm/securityGroupAttachment:SecurityGroupAttachment"
# What only a scaling configuration says.
_OF_A_CONFIGURATION = (
    *("instance_types", "purchase", "spot_price_limit", "public_address", "security_groups", "disks"),
    *("user_data", "image", "image_pinned", "placement", "rdma_interfaces"),
)
_ELSEWHERE = Unknown("its scaling configuration is not in this stack")


def node_pools(record: Record, among: Among) -> Iterable[NodePoolFact]:
    """The pools that a resource launches, if it launches any."""
    readers = {MACHINE: _machine, MACHINES: _machine, WORKSPACE: _workspace, GROUP: _group}
    if record.type in readers:
        yield readers[record.type](record, among)
    elif record.type in KUBERNETES:
        yield from kubernetes_pools(record, among)
    elif record.type == TEMPLATE and not is_launched_here(record, among):
        # Nobody in this stack launches it, so somebody else will: it is judged as it stands.
        yield _of_machines(as_a_machine(record), among, None)


def _machine(record: Record, among: Among) -> NodePoolFact:
    count = record.props.get("instanceCount") if record.type == MACHINES else None
    return _of_machines(with_template(record, among), among, 1 if count is None else as_number(count))


def _of_machines(record: Record, among: Among, count: int | None | Unknown) -> NodePoolFact:
    props = record.props
    tags = as_tags(props.get("tags"))
    user_data = script_of(props.get("userData"), raw=props.get("userDataRaw"))
    asked, bandwidth = props.get("allocatePublicIp"), props.get("internetMaxBandwidthOut")
    return pool_of(
        record,
        among,
        instance_types=types_of(props.get("instanceType")),
        nodes_min=count,
        nodes_max=count,
        tags=tags,
        purchase=purchase_of(props.get("instanceChargeType")),
        spot_price_limit=price_of(props.get("spotMaxPrice")),
        **lies(props.get("hpcClusterId"), props.get("placementGroupId")),
        public_address=bool(joined(record, ADDRESS, "instanceId", among)) or public_of(asked, bandwidth),
        security_groups=_groups_of_machine(record, among),
        disks=disks_of(
            record,
            tags,
            (props.get("systemDiskType"), props.get("systemDiskSize")),
            props.get("dataDisks"),
            ("dataDiskType", "dataDiskSize"),
        ),
        user_data=user_data,
        **image_of(props.get("imageId")),
        handles_interruption=watches(user_data),
        elastic=False,
    )


def _groups_of_machine(record: Record, among: Among) -> tuple[str, ...] | Unknown:
    """Security groups of a machine: its own, and those that are attached to it."""
    own = groups_of(record, among, record.props, "orderlySecurityGroups", "securityGroups")
    attachments = joined(record, GROUP_ATTACHMENT, "instanceId", among)
    attached = [groups_of(one, among, one.props, "securityGroupId") for one in attachments]
    unknown = first_unknown(own, *attached)
    if unknown is not None:
        return unknown
    return tuple(dict.fromkeys(name for part in (own, *attached) if not isinstance(part, Unknown) for name in part))


def _workspace(record: Record, among: Among) -> NodePoolFact:
    props = record.props
    tags = grouped_tags(props.get("tagSpecifications"))
    user_data, access, root = script_of(props.get("userData")), props.get("internetAccessible"), props.get("systemDisk")
    return pool_of(
        record,
        among,
        instance_types=Unknown("a THPC workspace names its machine in other words than the catalog"),
        nodes_min=1,
        nodes_max=1,
        tags=tags,
        purchase="prepaid",
        spot_price_limit=None,
        **lies(props.get("hpcClusterId"), props.get("disasterRecoverGroupId")),
        public_address=public_of(read(access, "publicIpAssigned"), read(access, "internetMaxBandwidthOut")),
        security_groups=groups_of(record, among, props, "securityGroupIds"),
        disks=disks_of(record, tags, (read(root, "diskType"), read(root, "diskSize")), props.get("dataDisks")),
        user_data=user_data,
        **image_of(props.get("imageId")),
        handles_interruption=watches(user_data),
        elastic=False,
    )


def _group(record: Record, among: Among) -> NodePoolFact:
    low, high = as_number(record.props.get("minSize")), as_number(record.props.get("maxSize"))
    own, elastic = as_tags(record.props.get("tags")), elastic_of(low, high)
    found = [
        *among.behind(record, "configurationId", CONFIGURATION),
        *among.called(record.props.get("configurationId"), CONFIGURATION),
    ]
    if not found:
        told: dict[str, Any] = dict.fromkeys(_OF_A_CONFIGURATION, _ELSEWHERE)
        told["handles_interruption"] = _is_told(record, _ELSEWHERE, among)
        return pool_of(record, among, nodes_min=low, nodes_max=high, tags=own, elastic=elastic, **told)
    configuration = found[0]
    props = configuration.props
    tags = merged(as_tags(props.get("tags")), as_tags(props.get("instanceTags")), own)
    user_data = script_of(props.get("userData"))
    return pool_of(
        record,
        among,
        instance_types=types_of(props.get("instanceTypes")),
        nodes_min=low,
        nodes_max=high,
        tags=tags,
        purchase=purchase_of(props.get("instanceChargeType")),
        spot_price_limit=price_of(props.get("spotMaxPrice")),
        **lies(None, props.get("disasterRecoverGroupIds")),
        public_address=public_of(props.get("publicIpAssigned"), props.get("internetMaxBandwidthOut")),
        security_groups=groups_of(configuration, among, props, "securityGroupIds"),
        # Source: PyPI tencentcloud_iac_pulumi 0.2.3, as_.ScalingConfigDataDiskArgs, has no argument for encryption.
        disks=disks_of(
            record,
            tags,
            (props.get("systemDiskType"), props.get("systemDiskSize")),
            props.get("dataDisks"),
            can_encrypt=False,
        ),
        user_data=user_data,
        **image_of(props.get("imageId"), props.get("imageFamily")),
        handles_interruption=_is_told(record, user_data, among),
        elastic=elastic,
    )


def _is_told(group: Record, user_data: str | None | Unknown, among: Among) -> bool | Unknown:
    """Whether a hook or what its machines run hears of their end."""
    hooks = joined(group, HOOK, "scalingGroupId", among)
    transitions = [hook.props.get("lifecycleTransition") for hook in hooks]
    if "INSTANCE_TERMINATING" in transitions:
        return True
    by_itself = watches(user_data)
    return by_itself if by_itself is True else first_unknown(by_itself, *transitions) or False
