"""Where resources of Tencent Cloud are."""

import re

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import Record, Unknown
from gpuyard_policy.facts.reading import as_list, as_text, read

CLOUD = "tencentcloud"
SUBNET = "tencentcloud:Subnet/instance:Instance"
_ZONE = re.compile(r"^([a-z]{2,}-[a-z]+(?:-[a-z]+)*)-\d+$")
_ZONE_KEYS = ("availabilityZone", "zone")
_SUBNET_KEYS = ("subnetId", "subnetIds", "virtualPrivateCloud")


def zones_of(record: Record, among: Among) -> tuple[str, ...] | Unknown:
    """Zones that a resource names, itself or by its subnets in the stack; none where it leaves them to the cloud."""
    named = [record.props.get(key) for key in _ZONE_KEYS]
    named.append(read(record.props.get("placement"), "zone"))
    several = as_list(record.props.get("zones"))
    named += [several] if isinstance(several, Unknown) else several
    for key in _SUBNET_KEYS:
        named += [subnet.props.get("availabilityZone") for subnet in among.behind(record, key, SUBNET)]
    unknown = next((zone for zone in named if isinstance(zone, Unknown)), None)
    found = tuple(dict.fromkeys(zone for zone in named if isinstance(zone, str)))
    return unknown if unknown is not None and not found else found


def region_of(record: Record, among: Among) -> str | Unknown:
    """Where a resource is: by a zone that it names, or where its provider is."""
    zones = zones_of(record, among)
    for zone in () if isinstance(zones, Unknown) else zones:
        if found := _ZONE.match(zone):
            return found[1]
    provided = as_text(record.provider.get("region"))
    if provided is not None:
        return provided
    return Unknown("neither the resource nor its provider names a region")
