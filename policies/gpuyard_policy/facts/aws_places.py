"""Where AWS resources are, and what joins them."""

import re
from collections.abc import Mapping
from typing import Any

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import Record, Unknown
from gpuyard_policy.facts.reading import as_list, as_tags, as_text, first_unknown, items_of, merged, parsed, read

CLOUD = "aws"
SUBNETS = ("aws:ec2/subnet:Subnet", "aws:ec2/defaultSubnet:DefaultSubnet")
SUBNET_KEYS = ("subnetIds", "subnetId", "vpcZoneIdentifiers")
_ARN_REGION = re.compile(r"^arn:[^:]*:[^:]*:([a-z0-9-]+):")
_ZONE = re.compile(r"^([a-z]{2,}(?:-[a-z]+)+-\d+)(?:-[a-z]{3}-\d+)?[a-z]$")


def region_of(record: Record, among: Among) -> str | Unknown:
    """Where a resource is: its own region, a zone or ARN that it names, its provider's region, or a subnet's zone."""
    own = as_text(record.props.get("region"))
    if own is not None:
        return own
    for zone in (record.props.get("availabilityZone"), *items_of(record.props.get("availabilityZones"))):
        if isinstance(zone, str) and (found := _ZONE.match(zone)):
            return found[1]
    by_arn = region_in(record.props.get("arn"))
    if by_arn is not None:
        return by_arn
    provided = as_text(record.provider.get("region"))
    if provided is not None:
        return provided
    for key in SUBNET_KEYS:
        for subnet in among.behind(record, key, *SUBNETS):
            if subnet.urn != record.urn and record.type not in SUBNETS:
                return region_of(subnet, among)
    return Unknown("neither the resource nor its provider names a region")


def region_in(arn: Any) -> str | None:
    """The region that an ARN names."""
    found = _ARN_REGION.match(arn) if isinstance(arn, str) else None
    return found[1] if found else None


def tags_of(record: Record) -> Mapping[str, Any] | Unknown:
    """A resource's tags, those that its provider gives to everything among them.

    Unknown ones leave all unknown: nothing says which are not among them.
    """
    default = parsed(record.provider.get("defaultTags"))
    given = default if isinstance(default, Unknown) else as_tags(read(default, "tags"))
    every, own = record.props.get("tagsAll"), as_tags(record.props.get("tags"))
    if isinstance(every, Mapping):
        return merged(as_tags(every), {} if isinstance(own, Unknown) else own)
    return first_unknown(given, own) or merged(given, own)


def behind(record: Record, property_name: str, among: Among, value: Any, *types: str) -> list[Record]:
    """Resources of some types that a value of a property names: in text, else by where the property comes from."""
    named = [found for item in items_of(value) for found in among.called(item, *types)]
    return named or among.behind(record, property_name, *types)


def subnets_of(record: Record, among: Among, *more: tuple[Record, str, Any]) -> list[Record] | None | Unknown:
    """The subnets of a resource in the stack.

    Args:
        record: The resource.
        among: Every resource.
        more: Further places that may name subnets: the resource, the property, and the value in it.

    Returns:
        The subnets, None where it names none, Unknown where one of them is not in the stack or cannot be told from
        others.
    """
    places = [(record, key, record.props.get(key)) for key in SUBNET_KEYS]
    found: dict[str, Record] = {}
    names_any = False
    for owner, key, value in (*places, *more):
        items = as_list(value)
        if not isinstance(items, Unknown) and not items:
            continue
        names_any = True
        here = behind(owner, key, among, value, *SUBNETS)
        count = None if isinstance(items, Unknown) else len(items)
        if not here:
            return items if isinstance(items, Unknown) else Unknown("its subnets are not in this stack")
        if count is not None and len(here) < count:
            return Unknown("some of its subnets are not in this stack")
        if (count is None or len(here) > count) and len({str(_zone(one)) for one in here}) > 1:
            return Unknown("which of several subnets it takes is known only after the update")
        found.update({one.urn: one for one in here})
    return list(found.values()) if names_any else None


def zones_of(
    record: Record, among: Among, *more: tuple[Record, str, Any], zones: tuple[Any, ...] = ()
) -> tuple[str, ...] | Unknown:
    """Zones that a resource names, itself or by its subnets; none where it leaves them to the cloud."""
    several = as_list(record.props.get("availabilityZones"))
    if isinstance(several, Unknown):
        several = [several]
    named = [record.props.get("availabilityZone"), *several, *zones]
    subnets = subnets_of(record, among, *more)
    unknown = [value for value in named if isinstance(value, Unknown)]
    own = [value for value in named if isinstance(value, str) and value]
    if own and not unknown:
        return tuple(dict.fromkeys(own))
    if isinstance(subnets, Unknown):
        return subnets
    by_subnet = [_zone(one) for one in subnets or ()]
    unknown += [value for value in by_subnet if isinstance(value, Unknown)]
    if subnets and not any(isinstance(value, Unknown) for value in by_subnet):
        return tuple(dict.fromkeys(value for value in by_subnet if isinstance(value, str)))
    return unknown[0] if unknown else ()


def _zone(subnet: Record) -> str | Unknown:
    zone = as_text(subnet.props.get("availabilityZone"))
    if zone is None:
        zone = as_text(subnet.props.get("availabilityZoneId"))
    return Unknown(f"subnet '{subnet.name}' names no zone") if zone is None else zone
