"""Where resources of Tencent Cloud are."""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import Record, Unknown
from gpuyard_policy.facts.reading import as_list, as_text, first_unknown, items_of, read

CLOUD = "tencentcloud"
SUBNET = "tencentcloud:Subnet/instance:Instance"
_ZONE = re.compile(r"^([a-z]{2,}-[a-z]+(?:-[a-z]+)*)-\d+$")
# Where subnets are named: a property, and what is inside it.
_SUBNETS = (("subnetId",), ("subnetIds",), ("virtualPrivateCloud", "subnetId"))
_ELSEWHERE = Unknown("its subnet is not in this stack")
_ONE_OF_SEVERAL = Unknown("it is in one of several subnets, in zones of their own")


def zones_of(record: Record, among: Among, props: Any = None, within: str | None = None) -> tuple[str, ...] | Unknown:
    """Zones that a resource names, itself or by its subnets in the stack; none where it leaves them to the cloud.

    Args:
        record: The resource.
        among: The resources of the stack.
        props: The properties that say it; those of the resource itself when left out.
        within: The resource's property that holds ``props``.

    Returns:
        The zones. Unknown where one of them is not known and the others are in no two zones.
    """
    named = _named(record, among, props, within)
    found = tuple(dict.fromkeys(zone for zone in named if isinstance(zone, str)))
    return found if len(found) > 1 else first_unknown(*named) or found


def region_of(record: Record, among: Among, props: Any = None, within: str | None = None) -> str | Unknown:
    """Where a resource is: by a zone that it names, or where its provider is; see :func:`zones_of`."""
    for zone in _named(record, among, props, within):
        if isinstance(zone, str) and (found := _ZONE.match(zone)):
            return found[1]
    provided = as_text(record.provider.get("region"))
    if provided is not None:
        return provided
    return Unknown("neither the resource nor its provider names a region")


def joined(record: Record, kind: str, key: str, among: Among) -> list[Record]:
    """Resources of a kind of which one property names a resource: by where its value comes from, or by its id."""
    used = [one for one in among.users_of(record.urn, kind) if record.urn in one.depends_on.get(key, ())]
    own = record.props.get("id")
    if not isinstance(own, str):
        return used
    named = among.once((CLOUD, kind, key), lambda: _by_value(among.of_type(kind), key)).get(own, [])
    return list({one.urn: one for one in (*used, *named)}.values())


def _by_value(records: list[Record], key: str) -> Mapping[str, list[Record]]:
    found: dict[str, list[Record]] = defaultdict(list)
    for one in records:
        value = one.props.get(key)
        if isinstance(value, str):
            found[value].append(one)
    return dict(found)


def _named(record: Record, among: Among, props: Any, within: str | None) -> list[Any]:
    """Zones that are named, and an Unknown for each that is not known; a subnet is asked where no zone is named."""
    given = record.props if props is None else props
    several = as_list(read(given, "zones"))
    own = [read(given, "availabilityZone"), read(given, "zone"), read(given, "placement", "zone")]
    own += [several] if isinstance(several, Unknown) else several
    own = [zone for zone in own if zone is not None]
    return own or [zone for path in _SUBNETS for zone in _zones_of_subnets(record, among, given, path, within)]


def _zones_of_subnets(record: Record, among: Among, props: Any, path: tuple[str, ...], within: str | None) -> list[Any]:
    value = read(props, *path)
    if as_list(value) == []:
        return []
    items = items_of(value)
    found = {one.urn: one for one in among.behind(record, within or path[0], SUBNET)}
    found |= {one.urn: one for item in items for one in among.called(item, SUBNET)}
    zones: list[Any] = [subnet.props.get("availabilityZone") for subnet in found.values()]
    expected = max(len(items), 1)
    if len(found) < expected:
        zones.append(first_unknown(value, *items) or _ELSEWHERE)
    # The engine says where a whole property comes from: one that holds several workers names the subnets of all.
    return [_ONE_OF_SEVERAL] if within is not None and len(found) > expected and len({*zones}) > 1 else zones
