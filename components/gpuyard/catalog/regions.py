"""Regions of the clouds, and what their zones are called."""

import re
from dataclasses import dataclass
from functools import cache

from gpuyard.catalog._data import read_rows

_ZONE_ID = re.compile(r"^[a-z]{2,}[0-9]*-az[0-9]+$")
_ZONE_ENDINGS = {
    "aws": r"(-[a-z]{3}-\d+)?[a-z]",
    # Alibaba Cloud writes the hyphen only where the region's code does not end in a number.
    "alicloud": r"((?<=\d)|(?<!\d)-)[a-z]",
    "tencentcloud": r"-\d+",
}
_LONG_DIRECTIONS = {
    "north": "n",
    "south": "s",
    "east": "e",
    "west": "w",
    "central": "c",
    "northeast": "ne",
    "northwest": "nw",
    "southeast": "se",
    "southwest": "sw",
}


@dataclass(frozen=True, slots=True)
class Region:
    """One region: its code, the partition it is in, and its name for people.

    ``mainland_china`` says whether the law and the prices of mainland China hold there. ``offerings_known`` says
    whether the catalog read all GPU types of the region: only then does a type's absence mean that it isn't offered.
    """

    cloud: str
    region: str
    partition: str
    name: str
    mainland_china: bool
    offerings_known: bool
    source: str
    as_of: str


@cache
def regions(cloud: str) -> dict[str, Region]:
    """Every region of one cloud by its code."""
    return {row["region"]: Region(**row) for row in read_rows(f"{cloud}_regions.json")}


def is_zone_id(zone: str) -> bool:
    """Whether an AWS zone is written as an id (``use1-az4``), which means the same place in every account."""
    return _ZONE_ID.match(zone) is not None


def zone_id_prefix(region: str) -> str:
    """What the ids of an AWS region's zones begin with: ``us-east-1`` has ``use1-az…``.

    Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-regions-availability-zones.html
    """
    area, *middle, number = region.split("-")
    return area + "".join(_LONG_DIRECTIONS.get(part, part) for part in middle) + number


def zone_belongs_to(zone: str, region: str, cloud: str = "aws") -> bool:
    """Whether a zone's name or id is one of this region.

    Args:
        zone: A name: ``us-east-1a`` or Local Zone ``us-east-1-dfw-2a`` (AWS), ``cn-beijing-h`` or ``us-east-1b``
            (Alibaba Cloud), ``ap-guangzhou-6`` (Tencent Cloud); or an AWS zone id (``use1-az4``).
        region: The region's code.
        cloud: ``aws``, ``alicloud`` or ``tencentcloud``; the clouds share codes of regions and write zones differently.

    Returns:
        True when the zone is written as the region's zones are.
    """
    if cloud == "aws" and is_zone_id(zone):
        return zone.rsplit("-az", 1)[0] == zone_id_prefix(region)
    return re.fullmatch(re.escape(region) + _ZONE_ENDINGS[cloud], zone) is not None


def zone_example(region: str, cloud: str = "aws") -> str:
    """How a zone of this region is written, for messages: ``us-east-1a``, ``cn-beijing-a``, ``ap-guangzhou-1``."""
    if cloud == "tencentcloud":
        return f"{region}-1"
    return f"{region}-a" if cloud == "alicloud" and not region[-1].isdigit() else f"{region}a"
