"""Where resources of Alibaba Cloud are."""

from gpuyard.catalog import regions, zone_belongs_to
from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import Record, Unknown
from gpuyard_policy.facts.reading import as_list, as_text

CLOUD = "alicloud"
SWITCHES = ("alicloud:vpc/switch:Switch", "alicloud:vpc/subnet:Subnet")
_ZONE_KEYS = ("zoneId", "availabilityZone")
_SWITCH_KEYS = ("vswitchId", "vswitchIds")


def zones_of(record: Record, among: Among) -> tuple[str, ...] | Unknown:
    """Zones that a resource names, itself or by its vSwitches in the stack; none where it leaves them to the cloud."""
    named = [as_text(record.props.get(key)) for key in _ZONE_KEYS]
    for key in _SWITCH_KEYS:
        ids = as_list(record.props.get(key))
        switches = among.behind(record, key, *SWITCHES)
        for switch_id in [] if isinstance(ids, Unknown) else ids:
            switches += [found for found in among.called(switch_id, *SWITCHES) if found not in switches]
        named += [as_text(switch.props.get(zone)) for switch in switches for zone in _ZONE_KEYS]
    unknown = next((zone for zone in named if isinstance(zone, Unknown)), None)
    found = tuple(dict.fromkeys(zone for zone in named if isinstance(zone, str) and zone))
    return unknown if unknown is not None and not found else found


def region_of(record: Record, among: Among) -> str | Unknown:
    """Where a resource is: by a zone that it names, or where its provider is."""
    zones = zones_of(record, among)
    for zone in () if isinstance(zones, Unknown) else zones:
        for region in regions(CLOUD):
            if zone_belongs_to(zone, region, CLOUD):
                return region
    provided = as_text(record.provider.get("region"))
    return Unknown("neither the resource nor its provider names a region") if provided is None else provided
