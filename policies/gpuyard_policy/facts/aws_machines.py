"""What one AWS machine gets, from whatever describes it: a launch template, a launch configuration, or the machine."""

import base64
import binascii
import gzip
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.catalog import node_images
from gpuyard_policy.facts.among import Among, linked
from gpuyard_policy.facts.aws_places import CLOUD, behind, region_of
from gpuyard_policy.facts.model import DiskFact, Record, Unknown
from gpuyard_policy.facts.reading import as_flag, as_list, as_number, as_tags, as_text, first_unknown, items_of, read

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
CONFIGURATION = "aws:ec2/launchConfiguration:LaunchConfiguration"
INTERFACE = "aws:ec2/networkInterface:NetworkInterface"
INTERFACE_ATTACHMENT = "aws:ec2/networkInterfaceAttachment:NetworkInterfaceAttachment"
PLACEMENT_GROUP = "aws:ec2/placementGroup:PlacementGroup"
SECURITY_GROUPS = ("aws:ec2/securityGroup:SecurityGroup", "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup")
ENCRYPTED_BY_DEFAULT = "aws:ebs/encryptionByDefault:EncryptionByDefault"
METADATA_DEFAULTS = "aws:ec2/instanceMetadataDefaults:InstanceMetadataDefaults"
_RDMA = ("efa", "efa-only")
_MARKETS = {"spot": "spot", "capacity-block": "capacity_block"}


@dataclass(frozen=True)
class Machine:
    """What describes a machine: the resource, and whether it is a machine itself and not a template of some."""

    record: Record
    is_machine: bool = False

    @property
    def props(self) -> Mapping[str, Any]:
        """Properties of the resource."""
        return self.record.props


def purchase_of(machine: Machine) -> str | Unknown:
    """How a machine is bought."""
    market = as_text(read(machine.props.get("instanceMarketOptions"), "marketType"))
    if isinstance(market, str):
        return _MARKETS.get(market) or Unknown(f"'{market}' is no market that is known")
    if machine.record.type == CONFIGURATION and machine.props.get("spotPrice") is not None:
        return "spot"
    reserved = reservation_of(machine.props.get("capacityReservationSpecification"))
    unknown = first_unknown(market, reserved)
    return unknown or ("reserved" if reserved else "on_demand")


def reservation_of(specification: Any) -> bool | Unknown:
    """Whether a specification asks for machines of a reservation only."""
    preference = read(specification, "capacityReservationPreference")
    target = read(specification, "capacityReservationTarget")
    if preference == "capacity-reservations-only" or (target is not None and not isinstance(target, Unknown)):
        return True
    return first_unknown(preference, target) or False


def price_limit_of(machine: Machine) -> float | None | Unknown:
    """Most that a spot machine may cost an hour."""
    options = machine.props.get("instanceMarketOptions")
    own = machine.props.get("spotPrice")
    return as_price(read(options, "spotOptions", "maxPrice") if own is None else own)


def as_price(value: Any) -> float | None | Unknown:
    """A price that may be written as text."""
    if isinstance(value, Unknown) or value in (None, ""):
        return None if value == "" else value
    try:
        return float(value)
    except (TypeError, ValueError):
        return Unknown(f"'{value}' is no price")


def placement_of(record: Record, key: str, value: Any, among: Among) -> str | None | Unknown:
    """How near machines are, by the placement group that a property names."""
    if value is None:
        return None
    found = behind(record, key, among, value, PLACEMENT_GROUP)
    if not found:
        return value if isinstance(value, Unknown) else Unknown("its placement group is not in this stack")
    strategy = as_text(found[0].props.get("strategy"))
    if isinstance(strategy, Unknown):
        return strategy
    return "close" if strategy == "cluster" else "spread"


def own_placement_of(machine: Machine, among: Among) -> str | None | Unknown:
    """How near machines are, by what describes them."""
    if machine.record.type == TEMPLATE:
        placement = machine.props.get("placement")
        group = read(placement, "groupName") or read(placement, "groupId")
        return placement_of(machine.record, "placement", group, among)
    for key in ("placementGroup", "placementGroupId"):
        if machine.props.get(key) is not None:
            return placement_of(machine.record, key, machine.props[key], among)
    return None


def interfaces_of(machine: Machine, among: Among) -> list[Any] | Unknown:
    """The properties of every network interface that is described; Unknown where one is not in the stack."""
    if not machine.is_machine:
        return as_list(machine.props.get("networkInterfaces"))
    attached = linked(machine.record, "instanceId", among, INTERFACE_ATTACHMENT)
    places = [(machine.record, key) for key in ("networkInterfaces", "primaryNetworkInterface")]
    found: dict[str, Record] = {}
    for owner, key in (*places, *((one, "networkInterfaceId") for one in attached)):
        items = as_list(owner.props.get(key))
        if not isinstance(items, Unknown) and not items:
            continue
        names = [item if isinstance(item, str) else read(item, "networkInterfaceId") for item in items_of(items)]
        here = behind(owner, key, among, names, INTERFACE)
        if not here or len(here) < len(names):
            return Unknown("one of its network interfaces is not in this stack")
        found.update({one.urn: one for one in here})
    return [one.props for one in found.values()]


def rdma_interfaces_of(interfaces: list[Any] | Unknown) -> int | Unknown:
    """How many interfaces are EFA ones."""
    if isinstance(interfaces, Unknown):
        return interfaces
    kinds = [read(one, "interfaceType") for one in interfaces]
    return first_unknown(*kinds) or sum(kind in _RDMA for kind in kinds)


def address_of(machine: Machine) -> bool | None | Unknown:
    """Whether machines get an address of the internet, as far as it is said; None where the subnet decides."""
    asked = [machine.props.get("associatePublicIpAddress")]
    if not machine.is_machine:
        interfaces = as_list(machine.props.get("networkInterfaces"))
        if isinstance(interfaces, Unknown):
            return interfaces
        asked += [read(one, "associatePublicIpAddress") for one in interfaces]
    flags = [as_flag(value) for value in asked]
    if True in flags:
        return True
    return first_unknown(*flags) or (False if False in flags else None)


def metadata_hardened_of(machine: Machine, among: Among) -> bool | Unknown:
    """Whether the metadata service asks for a token, or is off; what is left out is what the region's default says."""
    own = machine.props.get("metadataOptions")
    if isinstance(own, Unknown):
        return own
    tokens, endpoint = read(own, "httpTokens"), read(own, "httpEndpoint")
    if tokens == "required" or endpoint == "disabled":
        return True
    unknown = first_unknown(tokens, endpoint)
    if unknown is not None or tokens is not None:
        return unknown or False
    return _in_region(machine.record, METADATA_DEFAULTS, "httpTokens", among) == "required"


def security_groups_of(machine: Machine, interfaces: list[Any] | Unknown, among: Among) -> tuple[str, ...] | Unknown:
    """Security groups of a machine: URNs of those in the stack, ids of others."""
    record = machine.record
    places: list[tuple[str, Any]] = [(key, record.props.get(key)) for key in ("vpcSecurityGroupIds", "securityGroups")]
    if machine.is_machine:
        places += [("", read(one, "securityGroups")) for one in items_of(interfaces)]
    else:
        places += [("networkInterfaces", read(one, "securityGroups")) for one in items_of(interfaces)]
    found: list[str] = []
    for key, value in places:
        items = as_list(value)
        here = [group.urn for group in among.behind(record, key, *SECURITY_GROUPS)] if value is not None else []
        unknown = first_unknown(items, *items_of(items))
        if unknown is not None and not here:
            here = _interface_groups(machine, among)
        if unknown is not None and not here:
            return unknown
        texts = [item for item in items_of(items) if isinstance(item, str)]
        named = [(text, among.called(text, *SECURITY_GROUPS)) for text in texts]
        found += [*here, *(groups[0].urn if groups else text for text, groups in named)]
    if isinstance(interfaces, Unknown):
        return interfaces
    return tuple(dict.fromkeys(found))


def disks_of(
    machine: Machine, pool: Record, tags: Mapping[str, Any] | Unknown, among: Among
) -> tuple[DiskFact, ...] | Unknown:
    """Disks that each machine gets; a root disk that is not mapped is told only where it is encrypted by default."""
    props = machine.props
    mappings = props.get("blockDeviceMappings") if machine.record.type == TEMPLATE else props.get("ebsBlockDevices")
    root = props.get("rootBlockDevice")
    listed = as_list(mappings)
    unknown = first_unknown(listed, root)
    if unknown is not None:
        return unknown
    default = encrypted_by_default(machine.record, among)
    found: list[DiskFact] = []
    if root is not None:
        found.append(_disk(pool, "root", "root", read(root, 0) if isinstance(root, list) else root, tags, default))
    for item in items_of(listed):
        disk = read(item, "ebs") if machine.record.type == TEMPLATE else item
        device = read(item, "deviceName")
        left_out = read(item, "noDevice")
        # What is not known yet may well be a disk.
        if disk is None or (left_out and not isinstance(left_out, Unknown)):
            continue
        role = "root" if device in _root_devices() else "data"
        found.append(_disk(pool, role, device if isinstance(device, str) else "disk", disk, tags, default))
    if default is True and not any(disk.role == "root" for disk in found):
        found.append(_disk(pool, "root", "root", {}, tags, default))
    return tuple(found)


def encrypted_by_default(record: Record, among: Among) -> bool | Unknown:
    """Whether the stack makes every new EBS volume of the region encrypted."""
    enabled = _in_region(record, ENCRYPTED_BY_DEFAULT, "enabled", among, when_absent=True)
    return enabled if isinstance(enabled, Unknown) else as_flag(enabled) is True


def volume_tags_of(machine: Machine) -> Mapping[str, Any] | Unknown:
    """Tags of a machine's volumes."""
    if machine.record.type != TEMPLATE:
        volume = machine.props.get("volumeTags")
        root = read(machine.props.get("rootBlockDevice"), "tags")
        return as_tags(volume if root is None else root)
    specifications = as_list(machine.props.get("tagSpecifications"))
    if isinstance(specifications, Unknown):
        return specifications
    kinds = [read(one, "resourceType") for one in specifications]
    unknown = first_unknown(*kinds)
    if unknown is not None:
        return unknown
    tags = [as_tags(read(one, "tags")) for one, kind in zip(specifications, kinds, strict=True) if kind == "volume"]
    return tags[0] if tags else {}


def user_data_of(machine: Machine) -> str | None | Unknown:
    """What a machine runs when it boots, decoded; what is no text stays unread."""
    packed = as_text(machine.props.get("userDataBase64"))
    own = as_text(machine.props.get("userData"))
    if packed is None and machine.record.type == TEMPLATE:
        packed, own = own, None
    if packed is None or isinstance(packed, Unknown):
        return own if packed is None else packed
    try:
        data = base64.b64decode(packed, validate=True)
        return (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode()
    except (binascii.Error, OSError, EOFError, UnicodeDecodeError, ValueError):
        return Unknown("its user data is no text in base64")


def image_of(machine: Machine) -> str | None | Unknown:
    """The image as it is named."""
    key = "ami" if machine.is_machine else "imageId"
    return as_text(machine.props.get(key))


def is_pinned(image: str | None | Unknown, version: Any = None) -> bool | Unknown:
    """Whether an image stays: a plain id does; a parameter, or the newest version of a template, is looked up anew.

    Where the id came from cannot be seen any more: one that the program looks up at each run reads as a plain id.
    """
    # A version that is known only later is a number that a template of the stack gives itself.
    if version == "$Latest":
        return False
    return image if isinstance(image, Unknown) else image is not None and image.startswith("ami-")


def _interface_groups(machine: Machine, among: Among) -> list[str]:
    """Groups of the interfaces that a machine is given ready-made."""
    made = among.behind(machine.record, "networkInterfaces", INTERFACE)
    made += among.behind(machine.record, "primaryNetworkInterface", INTERFACE)
    return [group.urn for one in made for group in among.behind(one, "securityGroups", *SECURITY_GROUPS)]


def _in_region(record: Record, kind: str, key: str, among: Among, *, when_absent: Any = None) -> Any:
    """What the stack sets once for a whole region; None where it does not."""
    settings = among.once(("in region", kind), lambda: _by_region(kind, among))
    own = settings.get(region_of(record, among))
    return None if own is None else own.props.get(key, when_absent)


def _by_region(kind: str, among: Among) -> Mapping[str | Unknown, Record]:
    return {region_of(one, among): one for one in among.of_type(kind)}


def _root_devices() -> Iterable[str]:
    return {image.root_device for image in node_images(CLOUD).values()}


def _disk(
    pool: Record, role: str, device: str, disk: Any, tags: Mapping[str, Any] | Unknown, default: bool | Unknown
) -> DiskFact:
    own = as_flag(read(disk, "encrypted"))
    return DiskFact(
        urn=pool.urn,
        name=f"{pool.name} ({device})",
        cloud=CLOUD,
        role=role,
        disk_type=as_text(read(disk, "volumeType")),
        size_gib=as_number(read(disk, "volumeSize")),
        iops=as_number(read(disk, "iops")),
        throughput_mb_per_s=mb_per_s(read(disk, "throughput")),
        # A disk that asks for nothing, or for no encryption, is encrypted all the same where the region's default is.
        encrypted=True if own is True or default is True else first_unknown(own, default) or False,
        tags=tags,
        pool_urn=pool.urn,
    )


def mb_per_s(mib_per_s: Any) -> float | None | Unknown:
    """Throughput that AWS counts in MiB/s, in MB/s.

    Source: PyPI botocore 1.44.8, service model ec2, CreateVolume.Throughput (MiB/s).
    """
    value = as_number(mib_per_s)
    return value if value is None or isinstance(value, Unknown) else value * 1.048576
