"""Pools of machines on Alibaba Cloud: machines by themselves, scaling groups, and node pools of Kubernetes."""

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpuyard_policy.facts.alicloud_machines import (
    image_of,
    is_configuration_hardened,
    is_hardened,
    is_pinned,
    template_of,
)
from gpuyard_policy.facts.alicloud_places import CLOUD, region_of, zones_of
from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import DiskFact, NodePoolFact, Record, Unknown
from gpuyard_policy.facts.reading import as_list, as_number, as_tags, as_text, merged, read

INSTANCE = "alicloud:ecs/instance:Instance"
GROUP = "alicloud:ess/scalingGroup:ScalingGroup"
CONFIGURATION = "alicloud:ess/scalingConfiguration:ScalingConfiguration"
NODE_POOL = "alicloud:cs/nodePool:NodePool"
DEPLOYMENT_SETS = ("alicloud:ecs/ecsDeploymentSet:EcsDeploymentSet",)
SECURITY_GROUP = "alicloud:ecs/securityGroup:SecurityGroup"
SCHEDULES = ("alicloud:ecs/autoSnapshotPolicy:AutoSnapshotPolicy", "alicloud:ecs/snapshotPolicy:SnapshotPolicy")
ATTACHMENT = "alicloud:ecs/ecsAutoSnapshotPolicyAttachment:EcsAutoSnapshotPolicyAttachment"
_SCALERS = (
    "alicloud:ess/scalingRule:ScalingRule",
    "alicloud:ess/scheduledTask:ScheduledTask",
    "alicloud:ess/schedule:Schedule",
    "alicloud:ess/alarm:Alarm",
)
_HOOK = "alicloud:ess/lifecycleHook:LifecycleHook"
_RDMA_MODE = "HighPerformance"
_SPOT = ("SpotAsPriceGo", "SpotWithPriceLimit")
_NO_TYPE = Unknown("it names no instance type")


def node_pools(record: Record, among: Among) -> Iterable[NodePoolFact]:
    """The pool that a resource launches, if it launches one."""
    readers = {INSTANCE: _machine, GROUP: _group, NODE_POOL: _kubernetes}
    if record.type in readers:
        yield readers[record.type](record, among)


def _machine(record: Record, among: Among) -> NodePoolFact:
    props = record.props
    return NodePoolFact(
        urn=record.urn,
        name=record.name,
        cloud=CLOUD,
        instance_types=_types([props.get("instanceType")]),
        nodes_max=1,
        nodes_min=1,
        region=region_of(record, among),
        zones=zones_of(record, among),
        tags=as_tags(props.get("tags")),
        purchase=_purchase(props),
        spot_price_limit=_price(props.get("spotPriceLimit")),
        placement=_placement(record, among),
        rdma_interfaces=_rdma_interfaces(props),
        public_address=_public(props),
        metadata_hardened=is_hardened(props),
        security_groups=_groups_of(record, "securityGroups", among),
        disks=_disks(record, record, among),
        user_data=_decoded(props.get("userData")),
        image=image_of(props),
        image_pinned=is_pinned(props),
        handles_interruption=False,
        elastic=False,
    )


def _group(record: Record, among: Among) -> NodePoolFact:
    low, high = as_number(record.props.get("minSize")), as_number(record.props.get("maxSize"))
    scaled = any(among.users_of(record.urn, *_SCALERS))
    differs = isinstance(low, int) and isinstance(high, int) and low != high
    configuration = _configuration_of(record, among)
    common: dict[str, Any] = {
        "urn": record.urn,
        "name": record.name,
        "cloud": CLOUD,
        "nodes_max": high,
        "nodes_min": low,
        "region": region_of(record, among),
        "zones": zones_of(record, among),
        "elastic": low if isinstance(low, Unknown) else high if isinstance(high, Unknown) else scaled or differs,
        "handles_interruption": any(among.users_of(record.urn, _HOOK)),
    }
    if isinstance(configuration, Unknown):
        return NodePoolFact(**_templated(record, configuration, among), **common)
    props = configuration.props
    limits = as_list(props.get("spotPriceLimits"))
    return NodePoolFact(
        instance_types=_configured_types(props),
        tags=merged(as_tags(record.props.get("tags")), as_tags(props.get("tags"))),
        purchase=_mixed(_purchase(props), record.props),
        spot_price_limit=limits if isinstance(limits, Unknown) else _price(read(limits, 0, "priceLimit")),
        placement=None,
        rdma_interfaces=_rdma_interfaces(props),
        public_address=_public(props),
        metadata_hardened=is_configuration_hardened(props),
        security_groups=_groups_of(configuration, "securityGroupIds", among),
        disks=_disks(configuration, record, among),
        user_data=_decoded(props.get("userData")),
        image=image_of(props),
        image_pinned=is_pinned(props),
        **common,
    )


def _templated(group: Record, no_configuration: Unknown, among: Among) -> dict[str, Any]:
    """What a group without a scaling configuration takes from its launch template."""
    template = template_of(group, among)
    tags = as_tags(group.props.get("tags"))
    if template is None or isinstance(template, Unknown):
        unknown = template or no_configuration
        told = ("instance_types", "metadata_hardened", "image", "image_pinned", "user_data")
        return {**dict.fromkeys(told, unknown), "tags": tags}
    props = template.props
    overrides = as_list(group.props.get("launchTemplateOverrides"))
    named = [] if isinstance(overrides, Unknown) else [read(one, "instanceType") for one in overrides]
    return {
        "instance_types": overrides if isinstance(overrides, Unknown) else _types(named or [props.get("instanceType")]),
        "tags": tags,
        "metadata_hardened": is_hardened(props),
        "user_data": _decoded(props.get("userData")),
        "image": image_of(props),
        "image_pinned": is_pinned(props, group.props.get("launchTemplateVersion")),
    }


def _kubernetes_hardened(options: Any) -> bool | Unknown:
    return options if isinstance(options, Unknown) else is_hardened({"httpTokens": read(options, "httpTokens")})


def _kubernetes(record: Record, among: Among) -> NodePoolFact:
    props = record.props
    scaling = props.get("scalingConfig")
    size = as_number(props.get("desiredSize") or props.get("nodeCount"))
    elastic = read(scaling, "enable") is True
    taints = as_list(props.get("taints"))
    return NodePoolFact(
        urn=record.urn,
        name=record.name,
        cloud=CLOUD,
        instance_types=_types(as_list(props.get("instanceTypes"))),
        nodes_max=as_number(read(scaling, "maxSize")) if elastic else size,
        nodes_min=as_number(read(scaling, "minSize")) if elastic else size,
        region=region_of(record, among),
        zones=zones_of(record, among),
        tags=as_tags(props.get("tags")),
        purchase=_mixed(_purchase(props), props),
        placement=_placement(record, among),
        public_address=_public(props),
        metadata_hardened=_kubernetes_hardened(props.get("instanceMetadataOptions")),
        security_groups=_groups_of(record, "securityGroupIds", among),
        disks=_disks(record, record, among),
        user_data=_decoded(props.get("userData")),
        image=image_of(props),
        image_pinned=is_pinned(props),
        handles_interruption=False,
        elastic=elastic,
        taints=taints if isinstance(taints, Unknown) else _texts(read(taint, "key") for taint in taints),
    )


def _configuration_of(group: Record, among: Among) -> Record | Unknown:
    """The configuration of a group, the active one where there are several."""
    found = among.users_of(group.urn, CONFIGURATION)
    own = group.props.get("id")
    if not found and isinstance(own, str):
        found = [one for one in among.of_type(CONFIGURATION) if one.props.get("scalingGroupId") == own]
    if not found:
        return Unknown("its scaling configuration is not in this stack")
    return next((one for one in found if one.props.get("active") is True), found[0])


def _configured_types(props: Mapping[str, Any]) -> tuple[str, ...] | Unknown:
    if props.get("instancePatternInfos"):
        return Unknown("its machines are chosen by attributes, not by type")
    several = as_list(props.get("instanceTypes"))
    if isinstance(several, Unknown):
        return several
    overrides = as_list(props.get("instanceTypeOverrides"))
    if isinstance(overrides, Unknown):
        return overrides
    named = [*several, *(read(one, "instanceType") for one in overrides)]
    return _types(named or [props.get("instanceType")])


def _types(values: Sequence[Any] | Unknown) -> tuple[str, ...] | Unknown:
    if isinstance(values, Unknown):
        return values
    unknown = next((value for value in values if isinstance(value, Unknown)), None)
    return unknown or _texts(values) or _NO_TYPE


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str) and value)


def _purchase(props: Mapping[str, Any]) -> str | Unknown:
    paid, spot = props.get("instanceChargeType"), props.get("spotStrategy")
    pool = props.get("privatePoolOptionsMatchCriteria") or props.get("resourcePoolOptionsStrategy")
    unknown = next((value for value in (paid, spot, pool) if isinstance(value, Unknown)), None)
    if unknown is not None:
        return unknown
    if paid == "PrePaid":
        return "prepaid"
    if spot in _SPOT:
        return "spot"
    return "reserved" if pool in ("Target", "PrivatePoolOnly") else "on_demand"


def _price(value: Any) -> float | None | Unknown:
    if isinstance(value, Unknown):
        return value
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _mixed(purchase: str | Unknown, group: Mapping[str, Any]) -> str | Unknown:
    """What a group really buys: a spot configuration beside nodes on demand is both."""
    keys = ("onDemandBaseCapacity", "onDemandPercentageAboveBaseCapacity")
    own = [*keys, *(f"capacityOptions{key[0].upper()}{key[1:]}" for key in keys)]
    values = [as_number(group.get(key)) for key in own]
    if purchase != "spot":
        return purchase
    unknown = next((value for value in values if isinstance(value, Unknown)), None)
    return unknown or ("mixed" if any(values) else "spot")


def _placement(record: Record, among: Among) -> str | None | Unknown:
    if record.props.get("hpcClusterId") is not None:
        return "close"
    named = record.props.get("deploymentSetId")
    if named is None:
        return None
    found = among.behind(record, "deploymentSetId", *DEPLOYMENT_SETS) or among.called(named, *DEPLOYMENT_SETS)
    if not found:
        return Unknown("its deployment set is not in this stack")
    strategy = as_text(found[0].props.get("strategy"))
    return strategy if isinstance(strategy, Unknown) else "close" if strategy == "LowLatency" else "spread"


def _rdma_interfaces(props: Mapping[str, Any]) -> int | Unknown:
    if props.get("hpcClusterId") is not None:
        return 1
    others = as_list(props.get("networkInterfaces"))
    if isinstance(others, Unknown):
        return others
    modes = [props.get("networkInterfaceTrafficMode"), *(read(one, "networkInterfaceTrafficMode") for one in others)]
    unknown = next((mode for mode in modes if isinstance(mode, Unknown)), None)
    return unknown or sum(mode == _RDMA_MODE for mode in modes)


def _public(props: Mapping[str, Any]) -> bool | Unknown:
    bandwidth = as_number(props.get("internetMaxBandwidthOut"))
    return bandwidth if isinstance(bandwidth, Unknown) else bool(bandwidth) or props.get("allocatePublicIp") is True


def _groups_of(record: Record, key: str, among: Among) -> tuple[str, ...] | Unknown:
    behind = among.behind(record, key, SECURITY_GROUP)
    if behind:
        return tuple(group.urn for group in behind)
    named = as_list(record.props.get(key))
    if isinstance(named, Unknown):
        return named
    own = named or as_list(record.props.get("securityGroupId"))
    if isinstance(own, Unknown):
        return own
    return tuple(found[0].urn if (found := among.called(value, SECURITY_GROUP)) else value for value in _texts(own))


def _disks(record: Record, pool: Record, among: Among) -> tuple[DiskFact, ...] | Unknown:
    """The system disk and those that come with the machine; disks by themselves are facts of their own."""
    props = record.props
    others = as_list(props.get("dataDisks"))
    if isinstance(others, Unknown):
        return others
    system = {
        "category": props.get("systemDiskCategory"),
        "performanceLevel": props.get("systemDiskPerformanceLevel"),
        "size": props.get("systemDiskSize"),
        "encrypted": props.get("systemDiskEncrypted"),
        "autoSnapshotPolicyId": props.get("systemDiskAutoSnapshotPolicyId"),
    }
    tags = as_tags(props.get("volumeTags") or props.get("tags"))
    own = _attached_to(record, among)
    found = [_disk(record, pool, "root", system, tags, own or _named_schedule(record, system, "system", among))]
    return (
        *found,
        *(_disk(record, pool, "data", one, tags, _named_schedule(record, one, "data", among)) for one in others),
    )


def _disk(
    record: Record,
    pool: Record,
    role: str,
    disk: Any,
    tags: Mapping[str, Any] | Unknown,
    schedules: tuple[str, ...],
) -> DiskFact:
    encrypted = read(disk, "encrypted")
    return DiskFact(
        urn=record.urn,
        name=f"{record.name} ({'system' if role == 'root' else 'data'} disk)",
        cloud=CLOUD,
        role=role,
        disk_type=disk_type_of(disk),
        size_gib=as_number(read(disk, "size")),
        iops=as_number(read(disk, "provisionedIops")),
        throughput_mb_per_s=None,
        encrypted=encrypted if isinstance(encrypted, Unknown) else encrypted in (True, "true"),
        tags=tags,
        pool_urn=pool.urn,
        schedules=schedules,
    )


def disk_type_of(disk: Any) -> str | None | Unknown:
    """A disk's class in the catalog's words: its category, for ESSD with the level behind it."""
    category, level = as_text(read(disk, "category")), as_text(read(disk, "performanceLevel"))
    if isinstance(category, Unknown) or category is None or level is None:
        return category
    return level if isinstance(level, Unknown) else f"{category} {level}"


def _attached_to(machine: Record, among: Among) -> tuple[str, ...]:
    """Policies that are attached to the system disk of a machine."""
    attachments = among.users_of(machine.urn, ATTACHMENT)
    return tuple(policy.urn for one in attachments for policy in policies_of(one, among))


def policies_of(attachment: Record, among: Among) -> list[Record]:
    """The policies that an attachment names."""
    key = "autoSnapshotPolicyId"
    return among.behind(attachment, key, *SCHEDULES) or among.called(attachment.props.get(key), *SCHEDULES)


def _named_schedule(record: Record, disk: Any, part: str, among: Among) -> tuple[str, ...]:
    """The policy that a disk of a machine names in line."""
    key = "systemDiskAutoSnapshotPolicyId" if part == "system" else "dataDisks"
    named = read(disk, "autoSnapshotPolicyId")
    if named is None:
        return ()
    found = among.behind(record, key, *SCHEDULES) or among.called(named, *SCHEDULES)
    return tuple(policy.urn for policy in found)


def _decoded(value: Any) -> str | None | Unknown:
    text = as_text(value)
    if not isinstance(text, str):
        return text
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return text
