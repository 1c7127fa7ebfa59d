"""Pools of machines on Alibaba Cloud: machines, sets, scaling and provisioning groups, node pools of Kubernetes."""

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpuyard_policy.facts.alicloud_disks import disks_of
from gpuyard_policy.facts.alicloud_interruption import is_told
from gpuyard_policy.facts.alicloud_machines import (
    NO_TOKENS,
    NO_TOKENS_OF_A_SET,
    described,
    image_of,
    is_hardened,
    is_pinned,
    template_of,
)
from gpuyard_policy.facts.alicloud_network import NO_INTERFACES, groups_of, is_public, rdma_interfaces
from gpuyard_policy.facts.alicloud_places import CLOUD, named_by, number_of, region_of, zones_of
from gpuyard_policy.facts.among import Among, linked
from gpuyard_policy.facts.model import NodePoolFact, Record, Unknown
from gpuyard_policy.facts.reading import as_flag, as_list, as_tags, as_text, first_unknown, items_of, merged, read

INSTANCE = "alicloud:ecs/instance:Instance"
SET = "alicloud:ecs/ecsInstanceSet:EcsInstanceSet"
GROUP = "alicloud:ess/scalingGroup:ScalingGroup"
CONFIGURATION = "alicloud:ess/scalingConfiguration:ScalingConfiguration"
PROVISIONED = "alicloud:ecs/autoProvisioningGroup:AutoProvisioningGroup"
NODE_POOL = "alicloud:cs/nodePool:NodePool"
DEPLOYMENT_SET = "alicloud:ecs/ecsDeploymentSet:EcsDeploymentSet"
_SCALERS = (
    "alicloud:ess/scalingRule:ScalingRule",
    "alicloud:ess/scheduledTask:ScheduledTask",
    "alicloud:ess/schedule:Schedule",
    "alicloud:ess/alarm:Alarm",
)
_SPOT = ("SpotAsPriceGo", "SpotWithPriceLimit")
_NO_LIMIT = "SpotAsPriceGo"
_NO_TYPE = Unknown("it names no instance type")
_BY_ATTRIBUTES = Unknown("its machines are chosen by attributes, not by type")
_WEIGHTED = Unknown("its capacity is counted by weights of types, not by machines")
_OTHER_SET = Unknown("its deployment set is not in this stack")
_NO_CONFIGURATION = Unknown("its scaling configuration is not in this stack")


def node_pools(record: Record, among: Among) -> Iterable[NodePoolFact]:
    """The pool that a resource launches, if it launches one."""
    readers = {INSTANCE: _machine, SET: _set, GROUP: _group, PROVISIONED: _provisioned, NODE_POOL: _kubernetes}
    if record.type in readers:
        yield readers[record.type](record, among)


def _machine(record: Record, among: Among) -> NodePoolFact:
    return _pool(record, described(record, among), among, nodes_max=1, nodes_min=1, elastic=False)


def _set(record: Record, among: Among) -> NodePoolFact:
    amount = record.props.get("amount")
    nodes = 1 if amount is None else number_of(amount)
    machine = described(record, among)
    hardened = is_hardened(machine.props)
    told = hardened is not False or template_of(record, among) is not None
    return _pool(
        record,
        machine,
        among,
        nodes_max=nodes,
        nodes_min=nodes,
        elastic=False,
        metadata_hardened=hardened if told else NO_TOKENS_OF_A_SET,
    )


def _group(record: Record, among: Among) -> NodePoolFact:
    low, high = number_of(record.props.get("minSize")), number_of(record.props.get("maxSize"))
    scaled = any(linked(record, "scalingGroupId", among, *_SCALERS))
    differs = isinstance(low, int) and isinstance(high, int) and low != high
    common: dict[str, Any] = {
        "nodes_max": high,
        "nodes_min": low,
        "elastic": first_unknown(low, high) or scaled or differs,
    }
    tags = as_tags(record.props.get("tags"))
    configuration = _configuration_of(record, among)
    if configuration is None:
        return _templated_group(record, tags, common, among)
    props = configuration.props
    hardened = is_hardened(props)
    return _pool(
        record,
        described(configuration, among),
        among,
        instance_types=_configured_types(props),
        tags=merged(tags, as_tags(props.get("tags"))),
        purchase=_mixed(_purchase(props), record.props),
        # It can switch the metadata service off, but not ask for tokens.
        # Source: PyPI pulumi_alicloud 4.0.0, ess.ScalingConfiguration (it has http_endpoint and no http_tokens)
        metadata_hardened=NO_TOKENS if hardened is False and as_text(props.get("httpTokens")) is None else hardened,
        **common,
    )


def _templated_group(
    record: Record, tags: Mapping[str, Any] | Unknown, common: dict[str, Any], among: Among
) -> NodePoolFact:
    """A group without a scaling configuration: it takes its machines from a launch template."""
    template = template_of(record, among)
    if template is None:
        unread = {"instance_types", "metadata_hardened", "user_data", "disks", "purchase", "image", "image_pinned"}
        unread |= {"placement", "rdma_interfaces", "security_groups", "public_address", "spot_price_limit"}
        return _pool(record, record, among, tags=tags, **dict.fromkeys(unread, _NO_CONFIGURATION), **common)
    machine = described(replace(record, props={**record.props, "tags": None}), among)
    overrides = as_list(record.props.get("launchTemplateOverrides"))
    named = [read(one, "instanceType") for one in items_of(overrides)]
    limits = [read(one, "spotPriceLimit") for one in items_of(overrides)] or [machine.props.get("spotPriceLimit")]
    return _pool(
        record,
        machine,
        among,
        instance_types=first_unknown(overrides) or _types(named or [machine.props.get("instanceType")]),
        tags=merged(tags, as_tags(machine.props.get("tags"))),
        purchase=_mixed(_purchase(machine.props), record.props),
        spot_price_limit=_limit(machine.props.get("spotStrategy"), limits),
        **common,
    )


def _provisioned(record: Record, among: Among) -> NodePoolFact:
    """A group that keeps a capacity, of spot machines and others; what it keeps beyond both is spot without a word.

    Source: PyPI pulumi_alicloud 4.0.0, docstring of ecs.AutoProvisioningGroup, default_target_capacity_type
    """
    machine, props = described(record, among), record.props
    ways = as_list(props.get("launchTemplateConfigs"))
    types = [one for one in (read(way, "instanceType") for way in items_of(ways)) if one is not None]
    weights = [number_of(read(way, "weightedCapacity")) for way in items_of(ways)]
    nodes = number_of(props.get("totalTargetCapacity"))
    if any(isinstance(weight, int) and weight != 1 for weight in weights):
        nodes = _WEIGHTED
    switches = [read(way, "vswitchId") for way in items_of(ways)]
    sources = {"vswitchIds": record.depends_on.get("launchTemplateConfigs", ())}
    limits = [read(way, "maxPrice") for way in items_of(ways)]
    return _pool(
        record,
        machine,
        among,
        replace(record, props={"vswitchIds": switches if items_of(ways) else ways}, depends_on=sources),
        instance_types=first_unknown(ways) or _types(types or [machine.props.get("instanceType")]),
        nodes_max=nodes,
        nodes_min=nodes,
        purchase=_provisioned_purchase(props),
        spot_price_limit=_limit(None, limits or [props.get("maxSpotPrice")]),
        elastic=False,
    )


def _provisioned_purchase(props: Mapping[str, Any]) -> str | Unknown:
    keys = ("totalTargetCapacity", "payAsYouGoTargetCapacity", "spotTargetCapacity")
    counts = [number_of(props.get(key)) for key in keys]
    unknown = first_unknown(*counts, props.get("defaultTargetCapacityType"))
    if unknown is not None:
        return unknown
    total, paid, spot = (count if isinstance(count, int) else 0 for count in counts)
    rest = max(total - paid - spot, 0)
    if props.get("defaultTargetCapacityType") == "PayAsYouGo":
        paid += rest
    else:
        spot += rest
    return "on_demand" if not spot else "mixed" if paid else "spot"


def _kubernetes(record: Record, among: Among) -> NodePoolFact:
    machine = described(record, among)
    props, scaling = machine.props, record.props.get("scalingConfig")
    size = number_of(props.get("desiredSize") if props.get("nodeCount") is None else props.get("nodeCount"))
    enabled = as_flag(read(scaling, "enable")) or False
    taints, options = as_list(props.get("taints")), props.get("instanceMetadataOptions")
    named = as_list(props.get("instanceTypes"))
    patterns = props.get("instancePatterns")
    return _pool(
        record,
        machine,
        among,
        instance_types=_BY_ATTRIBUTES if patterns and not named else _types(named),
        nodes_max=_size(enabled, number_of(read(scaling, "maxSize")), size),
        nodes_min=_size(enabled, number_of(read(scaling, "minSize")), size),
        purchase=_mixed(_purchase(props), props),
        rdma_interfaces=NO_INTERFACES,
        metadata_hardened=first_unknown(options) or is_hardened({"httpTokens": read(options, "httpTokens")}),
        elastic=enabled,
        taints=taints if isinstance(taints, Unknown) else _keys_of(taints),
    )


def _pool(record: Record, machine: Record, among: Among, place: Record | None = None, **told: Any) -> NodePoolFact:
    """The fact of a pool: what describes its machines, and over it what the resource that launches them tells.

    Args:
        record: The resource that launches the machines.
        machine: What describes them, in the words of a machine by itself.
        among: All resources.
        place: What says where they are; a group itself, and what describes other machines, where left out.
        told: Fields that are read otherwise, and those that only a pool has.
    """
    props = machine.props
    script = told.get("user_data", _decoded(props.get("userData")))
    version = None if record.props.get("imageId") is not None else record.props.get("launchTemplateVersion")
    place = place or (record if record.type == GROUP else machine)
    limits = as_list(props.get("spotPriceLimits"))
    several = [read(one, "priceLimit") for one in items_of(limits)] or [
        limits if limits else props.get("spotPriceLimit")
    ]
    fields: dict[str, Any] = {
        "instance_types": _types([props.get("instanceType")]),
        "region": region_of(place, among),
        "zones": zones_of(place, among),
        "tags": as_tags(props.get("tags")),
        "purchase": _purchase(props),
        "spot_price_limit": _limit(props.get("spotStrategy"), several),
        "placement": _placement(machine, among),
        "rdma_interfaces": rdma_interfaces(machine, among),
        "public_address": is_public(machine, among),
        "metadata_hardened": is_hardened(props),
        "security_groups": groups_of(machine, among),
        "disks": disks_of(machine, record, among),
        "user_data": script,
        "image": image_of(props),
        "image_pinned": is_pinned(props, version),
        "handles_interruption": is_told(record, script, among),
    }
    return NodePoolFact(urn=record.urn, name=record.name, cloud=CLOUD, **{**fields, **told})


def _configuration_of(group: Record, among: Among) -> Record | None:
    """The configuration of a group, the active one where there are several."""
    found = linked(group, "scalingGroupId", among, CONFIGURATION)
    return next((one for one in found if one.props.get("active") is True), found[0] if found else None)


def _configured_types(props: Mapping[str, Any]) -> tuple[str, ...] | Unknown:
    if props.get("instancePatternInfos"):
        return first_unknown(props.get("instancePatternInfos")) or _BY_ATTRIBUTES
    several, overrides = as_list(props.get("instanceTypes")), as_list(props.get("instanceTypeOverrides"))
    if isinstance(several, Unknown) or isinstance(overrides, Unknown):
        return first_unknown(several, overrides) or ()
    named = [*several, *(read(one, "instanceType") for one in overrides)]
    return _types(named or [props.get("instanceType")])


def _types(values: Sequence[Any] | Unknown) -> tuple[str, ...] | Unknown:
    if isinstance(values, Unknown):
        return values
    return first_unknown(*values) or tuple(value for value in values if isinstance(value, str) and value) or _NO_TYPE


def _size(elastic: bool | Unknown, bound: Any, size: Any) -> int | None | Unknown:
    return elastic if isinstance(elastic, Unknown) else bound if elastic else size


def _keys_of(taints: list[Any]) -> tuple[str, ...] | Unknown:
    keys = [read(taint, "key") for taint in taints]
    return tuple(key for key in keys if isinstance(key, str)) or first_unknown(*taints, *keys) or ()


def _purchase(props: Mapping[str, Any]) -> str | Unknown:
    paid, spot = props.get("instanceChargeType"), props.get("spotStrategy")
    pool = props.get("privatePoolOptionsMatchCriteria") or props.get("resourcePoolOptionsStrategy")
    if paid == "PrePaid":
        return "prepaid"
    if spot in _SPOT and not isinstance(paid, Unknown):
        return "spot"
    return first_unknown(paid, spot, pool) or ("reserved" if pool in ("Target", "PrivatePoolOnly") else "on_demand")


def _mixed(purchase: str | Unknown, group: Mapping[str, Any]) -> str | Unknown:
    """What a group really buys: a spot configuration beside nodes on demand is both."""
    keys = ("onDemandBaseCapacity", "onDemandPercentageAboveBaseCapacity")
    own = [*keys, *(f"capacityOptions{key[0].upper()}{key[1:]}" for key in keys)]
    values = [number_of(group.get(key)) for key in own]
    if purchase != "spot":
        return purchase
    return first_unknown(*values) or ("mixed" if any(values) else "spot")


def _limit(strategy: Any, limits: Sequence[Any]) -> float | None | Unknown:
    """What a spot machine may cost an hour: the most of the limits of its types; none where the market decides."""
    if strategy == _NO_LIMIT:
        return None
    prices = [_price(one) for one in limits]
    return first_unknown(*prices) or max((one for one in prices if isinstance(one, float)), default=None)


def _price(value: Any) -> float | None | Unknown:
    if isinstance(value, Unknown):
        return value
    try:
        return None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None


def _placement(machine: Record, among: Among) -> str | None | Unknown:
    if machine.props.get("hpcClusterId") is not None:
        return "close"
    named = machine.props.get("deploymentSetId")
    if named is None:
        return None
    found = named_by(machine, "deploymentSetId", among, DEPLOYMENT_SET)
    if not found:
        return first_unknown(named) or _OTHER_SET
    strategy = as_text(found[0].props.get("strategy"))
    return strategy if isinstance(strategy, Unknown) else "close" if strategy == "LowLatency" else "spread"


def _decoded(value: Any) -> str | None | Unknown:
    text = as_text(value)
    if not isinstance(text, str):
        return text
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return text
