"""What resources of Tencent Cloud say of the machines that they launch, whatever the resource is."""

import base64
import binascii
import gzip
import zlib
from collections.abc import Mapping
from typing import Any

from gpuyard.catalog import instance_types
from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import DiskFact, NodePoolFact, Record, Unknown
from gpuyard_policy.facts.reading import (
    as_flag,
    as_list,
    as_number,
    as_tags,
    as_text,
    first_unknown,
    items_of,
    merged,
    read,
    watches_for,
)
from gpuyard_policy.facts.tencentcloud_places import CLOUD, region_of, zones_of

SECURITY_GROUP = "tencentcloud:Security/group:Group"
# Source: PyPI tencentcloud_iac_pulumi 0.2.3: no argument of a machine, scaling configuration or node pool names the
# metadata service.
NO_TOKENS = Unknown("the provider cannot ask for session tokens of the metadata service")
AS_THE_ACCOUNT = Unknown("the provider cannot ask for encryption of this disk: the account decides")
IN_A_TEMPLATE = Unknown("its launch template is not in this stack")
_PURCHASES = {
    "PREPAID": "prepaid",
    "SPOTPAID": "spot",
    "CDHPAID": "reserved",
    "CDCPAID": "reserved",
    "POSTPAID_BY_HOUR": "on_demand",
}
# What the name of an image starts with that stays the same.
_IMAGE_ID = "img-"
# How a machine learns by itself that it is taken back.
_NOTICE = "spot/termination-time"
_GZIP = b"\x1f\x8b"


def pool_of(record: Record, among: Among, props: Any = None, within: str | None = None, **facts: Any) -> NodePoolFact:
    """A pool with what is alike for all: where it is, by ``props`` inside the property ``within``, and the metadata."""
    return NodePoolFact(
        urn=record.urn,
        name=record.name,
        cloud=CLOUD,
        region=region_of(record, among, props, within),
        zones=zones_of(record, among, props, within),
        metadata_hardened=NO_TOKENS,
        **facts,
    )


def types_of(first: Any, others: Any = None) -> tuple[str, ...] | Unknown:
    """Instance types in the catalog's words; unknown where one of them is."""
    values = [*items_of(first), *items_of(others)]
    unknown = first_unknown(first, others, *values)
    if unknown is not None:
        return unknown
    names = tuple(_known_as(value) for value in values if isinstance(value, str))
    return names or Unknown("it names no instance type")


def _known_as(name: str) -> str:
    """A machine's name in the catalog's words: of some families the catalog knows only the family's name."""
    known = instance_types(CLOUD)
    family = name.split(".", 1)[0]
    return family if name not in known and family in known else name


def purchase_of(charge_type: Any) -> str | Unknown:
    """How machines are bought, by their charge type."""
    if isinstance(charge_type, Unknown):
        return charge_type
    if charge_type is None:
        return "on_demand"
    known = _PURCHASES.get(charge_type) if isinstance(charge_type, str) else None
    return known or Unknown(f"'{charge_type}' is no charge type that is known")


def price_of(value: Any) -> float | None | Unknown:
    """A price that is given as text."""
    if isinstance(value, Unknown) or value is None:
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return Unknown(f"'{value}' is no price")


def public_of(asked: Any, bandwidth: Any) -> bool | Unknown:
    """Whether machines get an address of the internet: as is asked, else where they have bandwidth to it.

    Source: PyPI tencentcloud_iac_pulumi 0.2.3, docstring of instance.Instance (allocatePublicIp)
    """
    wish, width = as_flag(asked), as_number(bandwidth)
    if isinstance(wish, bool):
        return wish
    if isinstance(width, int) and width > 0:
        return True
    return first_unknown(wish, width) or False


def elastic_of(low: int | None | Unknown, high: int | None | Unknown, switched_on: Any = None) -> bool | Unknown:
    """Whether the number of machines changes by itself: between two sizes, unless that is switched off."""
    on = as_flag(switched_on)
    if on is False:
        return False
    return first_unknown(low, high, on) or low != high


def lies(cluster: Any, spread: Any) -> dict[str, Any]:
    """How near machines are, and whether they are members of an RDMA cluster; an id that is not known yet is one."""
    if cluster == IN_A_TEMPLATE:
        return {"placement": cluster, "rdma_interfaces": cluster}
    if cluster is not None:
        return {"placement": "close", "rdma_interfaces": 1}
    placement = spread if spread == IN_A_TEMPLATE else "spread" if spread else None
    return {"placement": placement, "rdma_interfaces": 0}


def groups_of(
    record: Record, among: Among, props: Any, *names: str, within: str | None = None
) -> tuple[str, ...] | Unknown:
    """Security groups that some properties name: URNs of those in the stack, ids of others."""
    found: list[str] = []
    for name in names:
        given = read(props, name)
        if given is None:
            continue
        behind = [group.urn for group in among.behind(record, within or name, SECURITY_GROUP)]
        values = items_of(given)
        unknown = [value for value in (given, *values) if isinstance(value, Unknown)]
        if len(behind) < len(unknown):
            return unknown[0]
        ids = [value for value in values if isinstance(value, str)]
        in_stack = {value: group.urn for value in ids for group in among.called(value, SECURITY_GROUP)}
        found += [*behind, *(in_stack.get(value, value) for value in ids)]
    return tuple(dict.fromkeys(found))


def disks_of(
    record: Record,
    tags: Mapping[str, Any] | Unknown,
    root: tuple[Any, Any],
    data: Any,
    keys: tuple[str, str] = ("diskType", "diskSize"),
    *,
    can_encrypt: bool = True,
) -> tuple[DiskFact, ...] | Unknown:
    """Disks that each machine gets.

    Args:
        record: The pool.
        tags: Tags of the machines, which their disks get too.
        root: Class and size of the system disk.
        data: The data disks.
        keys: What a data disk's class and size are called.
        can_encrypt: Whether the resource has an argument for encryption of a data disk.

    Returns:
        The system disk, then the data disks; unknown where it is not known how many there are.
    """
    items = as_list(data)
    if isinstance(items, Unknown):
        return items

    def disk(role: str, kind: Any, size: Any, encrypted: bool | Unknown, extra: Any) -> DiskFact:
        return DiskFact(
            urn=record.urn,
            name=f"{record.name} ({role})",
            cloud=CLOUD,
            role=role,
            disk_type=as_text(kind),
            size_gib=as_number(size),
            iops=None,
            throughput_mb_per_s=as_number(extra),
            encrypted=encrypted,
            tags=tags,
            pool_urn=record.urn,
        )

    return (
        disk("root", *root, AS_THE_ACCOUNT, None),
        *(
            disk(
                "data",
                read(item, keys[0]),
                read(item, keys[1]),
                encrypted_of(read(item, "encrypt")) if can_encrypt else AS_THE_ACCOUNT,
                read(item, "throughputPerformance"),
            )
            for item in items
        ),
    )


def encrypted_of(value: Any) -> bool | Unknown:
    """Whether a disk is encrypted: by a flag, or, of a native node, by the one word that there is for it.

    Source: PyPI tencentcloud_iac_pulumi 0.2.3, docstring of kubernetes.NativeNodePoolNativeDataDiskArgs (encrypt)
    """
    return value if isinstance(value, Unknown) else as_flag(value) is True or value == "ENCRYPT"


def image_of(named: Any, family: Any = None) -> dict[str, Any]:
    """The image as it is named, by id, by a system's name or by family, and whether it stays the same."""
    own = as_text(named)
    image = as_text(family) if own is None else own
    # An id stays; a family or a system's name is the newest of its kind, and none is the cloud's choice.
    pinned = image if isinstance(image, Unknown) else image is not None and image.startswith(_IMAGE_ID)
    return {"image": image, "image_pinned": pinned}


def script_of(*packed: Any, raw: Any = None, or_plain: bool = False) -> str | None | Unknown:
    """What a machine runs when it boots.

    Args:
        packed: Scripts in base64, and perhaps compressed.
        raw: A plain script, which takes the place of the others.
        or_plain: Whether one that is no base64 is taken for plain text.

    Returns:
        The scripts, one after the other; None without any.
    """
    plain = as_text(raw)
    if plain is not None:
        return plain
    texts = [_unpacked(value, or_plain=or_plain) for value in map(as_text, packed) if value is not None]
    unknown = first_unknown(*texts)
    if unknown is not None or not texts:
        return unknown
    return "\n".join(text for text in texts if isinstance(text, str))


def _unpacked(packed: str | Unknown, *, or_plain: bool) -> str | Unknown:
    if isinstance(packed, Unknown):
        return packed
    try:
        data = base64.b64decode(packed, validate=True)
        return (gzip.decompress(data) if data.startswith(_GZIP) else data).decode()
    except (binascii.Error, zlib.error, ValueError, OSError, EOFError):
        return packed if or_plain else Unknown("its user data is no text in base64")


def watches(user_data: str | None | Unknown) -> bool | Unknown:
    """Whether what a machine runs looks out for the notice of its end."""
    return user_data if isinstance(user_data, Unknown) else watches_for(user_data, _NOTICE)


def grouped_tags(specifications: Any) -> Mapping[str, Any] | Unknown:
    """Tags that are given in groups, each for another kind of resource."""
    groups = as_list(specifications)
    return groups if isinstance(groups, Unknown) else merged(*(as_tags(read(one, "tags")) for one in groups))


def taints_of(value: Any) -> tuple[str, ...] | Unknown:
    """Keys of the taints of a Kubernetes pool."""
    items = as_list(value)
    if isinstance(items, Unknown):
        return items
    return tuple(key for item in items if isinstance(key := read(item, "key"), str)) or first_unknown(*items) or ()
