"""File systems of Alibaba Cloud: NAS and CPFS."""

from collections.abc import Callable, Iterable
from typing import Any

from gpuyard.catalog.file_stores import parallel_file_systems
from gpuyard.catalog.limits import limit
from gpuyard_policy.facts.alicloud_places import CLOUD, region_of, zones_of
from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import Record, StorageFact, Unknown
from gpuyard_policy.facts.reading import as_number, as_tags, as_text, first_unknown

FILE_SYSTEM = "alicloud:nas/fileSystem:FileSystem"
CPFS_AS_MADE = Unknown("the provider's encryption is documented for a NAS alone, and CPFS is encrypted only when asked")
_CPFS = ("cpfs", "cpfsse")
_EXTREME = "extreme"
_NO_CAPACITY, _NO_CLASS = Unknown("it names no capacity"), Unknown("it names no storage type")
# The catalog knows the throughput of this class of Extreme NAS alone.
_EXTREME_CLASS = "standard"


def file_systems(record: Record, among: Among) -> Iterable[StorageFact]:
    """The NAS or CPFS that a resource is, if it is one."""
    if record.type == FILE_SYSTEM:
        yield _file_system(record, among)


def _file_system(record: Record, among: Among) -> StorageFact:
    kind, zones = as_text(record.props.get("fileSystemType")), zones_of(record, among)
    return StorageFact(
        urn=record.urn,
        name=record.name,
        cloud=CLOUD,
        kind="file system",
        region=region_of(record, among),
        is_replica=False,
        tags=as_tags(record.props.get("tags")),
        encrypted=_is_encrypted(record, kind),
        protected=record.protect,
        zone=zones if isinstance(zones, Unknown) else next(iter(zones), None),
        parallel=kind if isinstance(kind, Unknown) else kind in _CPFS,
        scratch=False,
        throughput_mb_per_s=_throughput(record, kind),
        # A data flow of CPFS copies to its bucket only when a task says so.
        # Source: https://help.aliyun.com/zh/cpfs/developer-reference/api-nas-2017-06-26-createdataflow-cpfs
        exports=False,
    )


def _is_encrypted(record: Record, kind: str | None | Unknown) -> bool | Unknown:
    """Whether data is encrypted at rest: a NAS that says nothing is not.

    CPFS can be encrypted when it is made, but API and provider tell no value of ``encrypt_type`` for it: one that says
    nothing is unknown, one that says yes or no is taken at its word.

    Source: https://www.alibabacloud.com/help/en/cpfs/data-encryption;
    https://help.aliyun.com/zh/cpfs/developer-reference/api-nas-2017-06-26-createfilesystem-cpfs;
    PyPI pulumi_alicloud 4.0.0, docstring of nas.FileSystem, encrypt_type
    """
    asked = as_number(record.props.get("encryptType"))
    if asked is None:
        return kind if isinstance(kind, Unknown) else CPFS_AS_MADE if kind in _CPFS else False
    return asked if isinstance(asked, Unknown) else bool(asked)


def _throughput(record: Record, kind: str | None | Unknown) -> float | None | Unknown:
    """Throughput in MB/s by class and capacity, in the catalog's words; a General-purpose NAS promises none.

    Source: gpuyard.catalog.parallel_file_systems, and its limit nas_extreme_mb_per_s
    """
    if isinstance(kind, Unknown):
        return kind
    rate: Callable[[str, int], float | None] | None = (
        _cpfs_rate if kind in _CPFS else _extreme_rate if kind == _EXTREME else None
    )
    if rate is None:
        return None
    storage, capacity = as_text(record.props.get("storageType")), as_number(record.props.get("capacity"))
    if isinstance(storage, Unknown) or isinstance(capacity, Unknown):
        return first_unknown(storage, capacity)
    if capacity is None or storage is None:
        return _NO_CAPACITY if capacity is None else _NO_CLASS
    # The catalog's classes are those of CPFS, not of CPFS SE.
    known = None if kind == "cpfsse" else rate(storage, capacity)
    return Unknown(f"the catalog does not tell the throughput of {kind} {storage}") if known is None else known


def _cpfs_rate(storage: str, capacity_gib: int) -> float | None:
    row = parallel_file_systems(CLOUD).get(f"CPFS {storage}")
    return None if row is None else row.throughput_mb_per_s(capacity_gib)


def _extreme_rate(storage: str, capacity_gib: int) -> float | None:
    if storage != _EXTREME_CLASS:
        return None
    bands: tuple[Any, ...] = limit(CLOUD, "nas_extreme_mb_per_s").values
    return max((rate for least, rate in bands if capacity_gib >= least), default=None)
