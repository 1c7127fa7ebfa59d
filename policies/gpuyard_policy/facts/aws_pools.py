"""Pools of machines on AWS: scaling groups, fleets, node groups of EKS, machines, and templates nobody launches."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpuyard_policy.facts.among import Among, linked
from gpuyard_policy.facts.aws_interruption import is_told
from gpuyard_policy.facts.aws_machines import (
    CONFIGURATION,
    TEMPLATE,
    Machine,
    address_of,
    as_price,
    disks_of,
    image_of,
    interfaces_of,
    is_pinned,
    metadata_hardened_of,
    own_placement_of,
    placement_of,
    price_limit_of,
    purchase_of,
    rdma_interfaces_of,
    reservation_of,
    security_groups_of,
    user_data_of,
    volume_tags_of,
)
from gpuyard_policy.facts.aws_places import CLOUD, behind, region_of, subnets_of, tags_of, zones_of
from gpuyard_policy.facts.aws_templates import (
    EKS_NODE_GROUP,
    FLEET,
    GROUP,
    INSTANCE,
    NO_TYPE,
    SPOT_REQUEST,
    is_launched_here,
    overridden,
    template_of,
    template_tags,
    texts_of,
    types_of,
)
from gpuyard_policy.facts.model import NodePoolFact, Record, Unknown
from gpuyard_policy.facts.reading import (
    as_flag,
    as_list,
    as_number,
    as_text,
    first_unknown,
    items_of,
    merged,
    read,
)

_POLICIES = ("aws:autoscaling/policy:Policy", "aws:autoscaling/schedule:Schedule")
_ADDRESSES = (("aws:ec2/eip:Eip", "instance"), ("aws:ec2/eipAssociation:EipAssociation", "instanceId"))
_EKS_PURCHASES = {"ON_DEMAND": "on_demand", "SPOT": "spot", "CAPACITY_BLOCK": "capacity_block"}
_OF_EKS = Unknown("EKS decides it where no launch template does")


def node_pools(record: Record, among: Among) -> Iterable[NodePoolFact]:
    """The pool that a resource launches, if it launches one."""
    readers = {
        GROUP: _group,
        FLEET: _fleet,
        EKS_NODE_GROUP: _eks_node_group,
        INSTANCE: _machine,
        SPOT_REQUEST: _machine,
    }
    if record.type in readers:
        yield readers[record.type](record, among)
    elif record.type == TEMPLATE and not is_launched_here(record, among):
        # Nobody in this stack launches it, so somebody else will: it is judged as it stands.
        machine = Machine(record)
        facts = _described(record, machine, among)
        yield _pool(record, among, facts, instance_types=types_of(machine), nodes_max=None, nodes_min=None)


def _group(record: Record, among: Among) -> NodePoolFact:
    props = record.props
    low, high = as_number(props.get("minSize")), as_number(props.get("maxSize"))
    mixed = props.get("mixedInstancesPolicy")
    machine, reference = _machine_of_group(record, among)
    facts = _described(record, machine, among, version=read(reference, "version"))
    if mixed is not None:
        facts["instance_types"] = overridden(read(mixed, "launchTemplate", "overrides"), machine)
        facts["purchase"] = _mixed_purchase(read(mixed, "instancesDistribution"), facts["purchase"])
        if (limit := read(mixed, "instancesDistribution", "spotMaxPrice")) is not None:
            facts["spot_price_limit"] = as_price(limit)
    if props.get("placementGroup") is not None:
        facts["placement"] = placement_of(record, "placementGroup", props["placementGroup"], among)
    if reservation_of(props.get("capacityReservationSpecification")) is True and facts["purchase"] == "on_demand":
        facts["purchase"] = "reserved"
    scaled = bool(linked(record, "autoscalingGroupName", among, *_POLICIES))
    elastic = True if scaled else first_unknown(low, high) or low != high
    facts["handles_interruption"] = is_told(record, facts["user_data"], among)
    return _pool(record, among, facts, nodes_min=low, nodes_max=high, elastic=elastic)


def _fleet(record: Record, among: Among) -> NodePoolFact:
    props = record.props
    target = props.get("targetCapacitySpecification")
    nodes = as_number(read(target, "totalTargetCapacity"))
    configs = as_list(props.get("launchTemplateConfigs"))
    machines: list[Machine | Unknown] = []
    types: tuple[str, ...] | Unknown = configs if isinstance(configs, Unknown) else ()
    overrides: list[Any] = []
    for config in items_of(configs):
        reference = read(config, "launchTemplateSpecification")
        machine = template_of(record, "launchTemplateConfigs", among, reference)
        machines.append(machine)
        overrides += items_of(read(config, "overrides"))
        types = _joined(types, overridden(read(config, "overrides"), machine))
    zones = tuple(read(one, "availabilityZone") for one in overrides)
    subnets = [read(one, "subnetId") for one in overrides]
    one_machine = _only(configs, machines)
    version = read(configs, 0, "launchTemplateSpecification", "version")
    place = (record, "launchTemplateConfigs", [one for one in subnets if one is not None])
    facts = _described(record, one_machine, among, place, zones=zones, version=version)
    facts["purchase"] = _fleet_purchase(target, facts["purchase"])
    facts["handles_interruption"] = is_told(record, facts["user_data"], among)
    facts["instance_types"] = types
    facts["tags"] = merged(*(template_tags(one) for one in machines), tags_of(record))
    return _pool(record, among, facts, nodes_min=nodes, nodes_max=nodes, elastic=False)


def _eks_node_group(record: Record, among: Among) -> NodePoolFact:
    props = record.props
    reference = props.get("launchTemplate")
    low = as_number(read(props.get("scalingConfig"), "minSize"))
    high = as_number(read(props.get("scalingConfig"), "maxSize"))
    machine: Machine | Unknown = _OF_EKS
    if reference is not None:
        machine = template_of(record, "launchTemplate", among, reference)
    facts = _described(record, machine, among, version=read(reference, "version"))
    types = as_list(props.get("instanceTypes"))
    if isinstance(types, Unknown) or types:
        facts["instance_types"] = texts_of(types)
    elif reference is None:
        facts["instance_types"] = NO_TYPE
    if reference is None:
        # EKS maps no encrypted root disk and runs nothing of the user's, where it is given no template.
        facts.update(disks=(), user_data=None, placement=None, rdma_interfaces=0, spot_price_limit=None)
        facts["public_address"] = _by_subnets(subnets_of(record, among))
    capacity = as_text(props.get("capacityType"))
    if capacity is not None or facts["purchase"] == _OF_EKS:
        known = _EKS_PURCHASES.get(capacity or "ON_DEMAND") if not isinstance(capacity, Unknown) else capacity
        facts["purchase"] = known or Unknown(f"'{capacity}' is no capacity type that is known")
    if facts["image"] is None or facts["image"] == _OF_EKS:
        release = as_text(props.get("releaseVersion"))
        facts["image"] = as_text(props.get("amiType"))
        facts["image_pinned"] = release if isinstance(release, Unknown) else release is not None
    taints = as_list(props.get("taints"))
    facts["taints"] = taints if isinstance(taints, Unknown) else texts_of([read(one, "key") for one in taints])
    # EKS cordons and drains a machine of its own when the notice comes.
    # Source: https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html#managed-node-group-capacity-types
    facts["handles_interruption"] = True
    elastic = first_unknown(low, high) or low != high
    return _pool(record, among, facts, nodes_min=low, nodes_max=high, elastic=elastic)


def _machine(record: Record, among: Among) -> NodePoolFact:
    reference = record.props.get("launchTemplate")
    own = Machine(record, is_machine=True)
    facts = _described(record, own, among)
    if reference is not None:
        template = template_of(record, "launchTemplate", among, reference)
        by_template = _described(record, template, among, version=read(reference, "version"))
        said = {key for key, sources in _SAID_BY.items() if any(record.props.get(one) is not None for one in sources)}
        facts.update({key: value for key, value in by_template.items() if key not in said})
    if record.type == SPOT_REQUEST:
        facts["purchase"] = "spot"
    facts["handles_interruption"] = is_told(record, facts["user_data"], among)
    if any(linked(record, key, among, kind) for kind, key in _ADDRESSES):
        facts["public_address"] = True
    return _pool(record, among, facts, nodes_min=1, nodes_max=1, elastic=False)


# Properties of a machine by which it overrides a fact of its template.
_SAID_BY: Mapping[str, Sequence[str]] = {
    "instance_types": ("instanceType",),
    "purchase": ("instanceMarketOptions", "capacityReservationSpecification"),
    "spot_price_limit": ("instanceMarketOptions", "spotPrice"),
    "placement": ("placementGroup", "placementGroupId"),
    "rdma_interfaces": ("networkInterfaces", "primaryNetworkInterface"),
    "public_address": ("associatePublicIpAddress", "networkInterfaces", "primaryNetworkInterface"),
    "metadata_hardened": ("metadataOptions",),
    "security_groups": ("vpcSecurityGroupIds", "securityGroups", "networkInterfaces", "primaryNetworkInterface"),
    "disks": ("rootBlockDevice", "ebsBlockDevices"),
    "user_data": ("userData", "userDataBase64"),
    "image": ("ami",),
    "image_pinned": ("ami",),
    "zones": ("availabilityZone", "subnetId"),
}


def _described(
    record: Record,
    machine: Machine | Unknown,
    among: Among,
    *places: tuple[Record, str, Any],
    zones: tuple[Any, ...] = (),
    version: Any = None,
) -> dict[str, Any]:
    """Facts of a pool that the description of its machines tells."""
    tags = merged(template_tags(machine), tags_of(record)) if isinstance(tags_of(record), Mapping) else tags_of(record)
    if isinstance(machine, Unknown):
        told = ("purchase", "spot_price_limit", "placement", "rdma_interfaces", "public_address", "metadata_hardened")
        told += ("security_groups", "disks", "user_data", "image", "image_pinned", "instance_types")
        unknown: dict[str, Any] = dict.fromkeys(told, machine)
        return {**unknown, "tags": tags, "zones": zones_of(record, among, *places, zones=zones)}
    source = machine.record
    if source.type == TEMPLATE:
        more = [read(one, "subnetId") for one in items_of(source.props.get("networkInterfaces"))]
        places = (*places, (source, "networkInterfaces", [one for one in more if one is not None]))
        zones = (*zones, read(source.props.get("placement"), "availabilityZone"))
    interfaces = interfaces_of(machine, among)
    address = address_of(machine)
    image = image_of(machine)
    return {
        "instance_types": types_of(machine),
        "tags": tags,
        "zones": zones_of(record, among, *places, zones=zones),
        "purchase": purchase_of(machine),
        "spot_price_limit": price_limit_of(machine),
        "placement": own_placement_of(machine, among),
        "rdma_interfaces": rdma_interfaces_of(interfaces),
        "public_address": _by_subnets(subnets_of(record, among, *places)) if address is None else address,
        "metadata_hardened": metadata_hardened_of(machine, among),
        "security_groups": security_groups_of(machine, interfaces, among),
        "disks": disks_of(machine, record, volume_tags_of(machine), among),
        "user_data": user_data_of(machine),
        "image": image,
        "image_pinned": is_pinned(image, version),
    }


def _pool(record: Record, among: Among, facts: Mapping[str, Any], **more: Any) -> NodePoolFact:
    common: dict[str, Any] = {
        "urn": record.urn,
        "name": record.name,
        "cloud": CLOUD,
        "region": region_of(record, among),
    }
    return NodePoolFact(**{**common, **facts, **more})


def _by_subnets(subnets: list[Record] | None | Unknown) -> bool | None | Unknown:
    """Whether subnets give every machine an address of the internet."""
    if not isinstance(subnets, list):
        return None
    flags = [as_flag(subnet.props.get("mapPublicIpOnLaunch")) for subnet in subnets]
    return True if True in flags else first_unknown(*flags) or False


def _machine_of_group(record: Record, among: Among) -> tuple[Machine | Unknown, Any]:
    mixed = record.props.get("mixedInstancesPolicy")
    if mixed is not None:
        reference = read(mixed, "launchTemplate", "launchTemplateSpecification")
        return template_of(record, "mixedInstancesPolicy", among, reference), reference
    named = record.props.get("launchConfiguration")
    if named is not None:
        found = behind(record, "launchConfiguration", among, named, CONFIGURATION)
        unknown = Unknown("its launch configuration is not in this stack")
        return (Machine(found[0]) if found else unknown), None
    reference = record.props.get("launchTemplate")
    return template_of(record, "launchTemplate", among, reference), reference


def _only(configs: Any, machines: list[Machine | Unknown]) -> Machine | Unknown:
    """The one description of all machines of a fleet."""
    if isinstance(configs, Unknown):
        return configs
    if not machines:
        return Unknown("it names no launch template")
    same = {one.record.urn if isinstance(one, Machine) else one for one in machines}
    return machines[0] if len(same) == 1 else Unknown("it launches from several launch templates")


def _mixed_purchase(distribution: Any, purchase: str | Unknown) -> str | Unknown:
    """What a mixed group buys: everything on demand, unless a share is left to spot.

    Source: https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstancesDistribution.html
    """
    base = as_number(read(distribution, "onDemandBaseCapacity"))
    share = as_number(read(distribution, "onDemandPercentageAboveBaseCapacity"))
    unknown = first_unknown(base, share)
    if unknown is not None:
        return unknown
    if share is None or share == 100:  # noqa: PLR2004 - a percentage
        return purchase
    return "mixed" if base or share else "spot"


def _fleet_purchase(target: Any, purchase: str | Unknown) -> str | Unknown:
    spot, on_demand = as_number(read(target, "spotTargetCapacity")), as_number(read(target, "onDemandTargetCapacity"))
    kind = as_text(read(target, "defaultTargetCapacityType"))
    unknown = first_unknown(spot, on_demand, kind)
    if unknown is not None:
        return unknown
    if kind == "capacity-block":
        return "capacity_block"
    if kind == "spot" or spot:
        return "mixed" if on_demand else "spot" if kind == "spot" else "mixed"
    return purchase


def _joined(first: tuple[str, ...] | Unknown, second: tuple[str, ...] | Unknown) -> tuple[str, ...] | Unknown:
    if isinstance(first, Unknown):
        return first
    return second if isinstance(second, Unknown) else tuple(dict.fromkeys((*first, *second)))
