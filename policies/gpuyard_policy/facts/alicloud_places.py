"""Where resources of Alibaba Cloud are, and which others name them."""

from collections.abc import Iterable
from typing import Any

from gpuyard.catalog import regions, zone_belongs_to
from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import Record, Unknown
from gpuyard_policy.facts.reading import as_list, as_number, as_text, first_unknown, items_of

CLOUD = "alicloud"
SWITCHES = ("alicloud:vpc/switch:Switch", "alicloud:vpc/subnet:Subnet")
ELSEWHERE = Unknown("its vSwitch is not in this stack")
_ZONE_KEYS = ("zoneId", "availabilityZone")
_SWITCH_KEYS = ("vswitchId", "vswitchIds")


def zones_of(record: Record, among: Among) -> tuple[str, ...] | Unknown:
    """Zones that a resource names, itself or by its vSwitches in the stack; none where it leaves them to the cloud."""
    own = [as_text(record.props.get(key)) for key in _ZONE_KEYS]
    found = [zone for zone in own if isinstance(zone, str) and zone]
    if found:
        return tuple(dict.fromkeys(found))
    open_ones: list[Any] = [*own]
    for key in _SWITCH_KEYS:
        zones, unknown = _zones_of_switches(record, key, among)
        found += zones
        open_ones += unknown
    return first_unknown(*open_ones) or tuple(dict.fromkeys(found))


def region_of(record: Record, among: Among) -> str | Unknown:
    """Where a resource is: by a zone that it names, or where its provider is."""
    zones = zones_of(record, among)
    for zone in () if isinstance(zones, Unknown) else zones:
        for region in regions(CLOUD):
            if zone_belongs_to(zone, region, CLOUD):
                return region
    provided = as_text(record.provider.get("region"))
    return Unknown("neither the resource nor its provider names a region") if provided is None else provided


def named_by(record: Record, property_name: str, among: Among, *types: str) -> list[Record]:
    """Resources of some types that a property names: by where it comes from, and in text."""
    found = among.behind(record, property_name, *types)
    for value in items_of(record.props.get(property_name)):
        found += [one for one in among.called(value, *types) if one not in found]
    return found


def number_of(value: Any) -> int | None | Unknown:
    """A whole number, which some resources take as text: sizes of node pools and of auto provisioning groups."""
    return int(value) if isinstance(value, str) and value.isdigit() else as_number(value)


def _zones_of_switches(record: Record, key: str, among: Among) -> tuple[list[str], Iterable[Any]]:
    """The zones of a resource's vSwitches, and what is unknown of them."""
    ids = as_list(record.props.get(key))
    switches = named_by(record, key, among, *SWITCHES)
    zones = [as_text(switch.props.get(zone)) for switch in switches for zone in _ZONE_KEYS]
    unknown: list[Any] = [zone for zone in zones if isinstance(zone, Unknown)]
    behind = among.behind(record, key, *SWITCHES)
    if not behind:
        unknown += [ids, *items_of(ids)]
    # While an update runs, the engine tells what a value comes from, and no resource's own id.
    strange = [one for one in items_of(ids) if not among.called(one, *SWITCHES)]
    without_id = [one for one in behind if not isinstance(one.props.get("id"), str)]
    if len(strange) > len(without_id) and any(isinstance(one, str) for one in strange):
        unknown.append(ELSEWHERE)
    return [zone for zone in zones if isinstance(zone, str) and zone], unknown
