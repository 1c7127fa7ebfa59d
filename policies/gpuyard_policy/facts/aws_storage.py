"""File systems and volumes on AWS."""

from collections.abc import Iterable
from typing import Any

from gpuyard.catalog.file_stores import parallel_file_systems
from gpuyard_policy.facts.among import Among, linked
from gpuyard_policy.facts.aws_machines import encrypted_by_default, mb_per_s
from gpuyard_policy.facts.aws_places import CLOUD, region_of, tags_of, zones_of
from gpuyard_policy.facts.model import DiskFact, Record, StorageFact, Unknown
from gpuyard_policy.facts.reading import as_flag, as_number, as_text, first_unknown, items_of, read

LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
OPEN_ZFS = "aws:fsx/openZfsFileSystem:OpenZfsFileSystem"
ONTAP = "aws:fsx/ontapFileSystem:OntapFileSystem"
WINDOWS = "aws:fsx/windowsFileSystem:WindowsFileSystem"
EFS = "aws:efs/fileSystem:FileSystem"
EFS_REPLICATION = "aws:efs/replicationConfiguration:ReplicationConfiguration"
ASSOCIATION = "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation"
VOLUME = "aws:ebs/volume:Volume"
FILE_SYSTEMS = (LUSTRE, OPEN_ZFS, ONTAP, WINDOWS, EFS)


def file_systems(record: Record, among: Among) -> Iterable[StorageFact]:
    """The file system that a resource is, if it is one."""
    if record.type not in FILE_SYSTEMS:
        return
    scratch: bool | Unknown = False
    exports: bool | Unknown = False
    replica: bool | Unknown = False
    # FSx encrypts every file system, with a key of its own where none is named.
    # Source: https://docs.aws.amazon.com/fsx/latest/LustreGuide/encryption-at-rest.html, and the same page of the
    # guides of OpenZFS, ONTAP and Windows.
    encrypted: bool | Unknown = True
    if record.type == LUSTRE:
        scratch, exports = _is_scratch(record), _exports(record, among)
    if record.type == EFS:
        own = as_flag(record.props.get("encrypted"))
        encrypted = own if isinstance(own, Unknown) else own is True
        replica = _is_efs_replica(record, among)
    yield StorageFact(
        urn=record.urn,
        name=record.name,
        cloud=CLOUD,
        kind="file system",
        region=region_of(record, among),
        is_replica=replica,
        tags=tags_of(record),
        encrypted=encrypted,
        protected=record.protect,
        zone=_zone(record, among),
        parallel=record.type == LUSTRE,
        scratch=scratch,
        throughput_mb_per_s=_THROUGHPUTS.get(record.type, _capacity)(record),
        exports=exports,
    )


def volumes(record: Record, among: Among) -> Iterable[DiskFact]:
    """The volume that a resource is, if it is one."""
    if record.type != VOLUME:
        return
    own, default = as_flag(record.props.get("encrypted")), encrypted_by_default(record, among)
    yield DiskFact(
        urn=record.urn,
        name=record.name,
        cloud=CLOUD,
        role="data",
        disk_type=as_text(record.props.get("type")),
        size_gib=as_number(record.props.get("size")),
        iops=as_number(record.props.get("iops")),
        throughput_mb_per_s=mb_per_s(record.props.get("throughput")),
        encrypted=True if own is True or default is True else first_unknown(own, default) or False,
        tags=tags_of(record),
    )


def _zone(record: Record, among: Among) -> str | None | Unknown:
    """The zone of a file system that is in one."""
    if record.type == EFS:
        return as_text(record.props.get("availabilityZoneName"))
    kind = as_text(record.props.get("deploymentType"))
    if isinstance(kind, Unknown):
        return kind
    if kind is not None and kind.startswith("MULTI_AZ"):
        return None
    zones = zones_of(record, among)
    if isinstance(zones, Unknown):
        return zones
    return zones[0] if len(zones) == 1 else Unknown("it names no subnet whose zone is known")


def _is_scratch(record: Record) -> bool | Unknown:
    """Whether a file system loses its data with a server; SCRATCH_1 is what is taken where nothing is said.

    Source: PyPI botocore 1.44.8, service model fsx, CreateFileSystemLustreConfiguration.DeploymentType.
    """
    kind = as_text(record.props.get("deploymentType"))
    return kind if isinstance(kind, Unknown) else kind is None or kind.startswith("SCRATCH")


def _exports(record: Record, among: Among) -> bool | Unknown:
    """Whether what is written is copied to a bucket by itself: an export path alone copies nothing."""
    events = [
        read(one.props.get("s3"), "autoExportPolicy", "events")
        for one in linked(record, "fileSystemId", among, ASSOCIATION)
    ]
    return any(items_of(value) for value in events) or first_unknown(*events) or False


def _is_efs_replica(record: Record, among: Among) -> bool:
    own = record.props.get("id")
    targets = among.once("targets of EFS replications", lambda: _efs_targets(among))
    return record.urn in targets or (isinstance(own, str) and own in targets)


def _efs_targets(among: Among) -> set[str]:
    found: set[str] = set()
    for one in among.of_type(EFS_REPLICATION):
        found.update(one.depends_on.get("destination", ()))
        named = read(one.props.get("destination"), "fileSystemId")
        found.update({named} if isinstance(named, str) else ())
    return found


def _lustre(record: Record) -> float | None | Unknown:
    """Throughput of FSx for Lustre by its kind and capacity, in the catalog's words.

    Source: gpuyard.catalog.parallel_file_systems
    """
    props = record.props
    kind, storage = as_text(props.get("deploymentType")), as_text(props.get("storageType"))
    rate, capacity = as_number(props.get("perUnitStorageThroughput")), as_number(props.get("storageCapacity"))
    unknown = first_unknown(storage, rate, capacity)
    if isinstance(kind, Unknown) or unknown is not None:
        return kind if isinstance(kind, Unknown) else unknown
    if storage == "INTELLIGENT_TIERING":
        return _capacity(record)
    name = kind or "SCRATCH_1"
    row = parallel_file_systems(CLOUD).get(f"{name} {storage} {rate}" if storage == "HDD" else name)
    if isinstance(rate, int) and isinstance(capacity, int) and row is not None:
        return rate * capacity / row.gib_per_tib
    known = row.throughput_mb_per_s(capacity) if row is not None and isinstance(capacity, int) else None
    if known is None or (row is not None and len(row.throughput_mb_per_s_per_tib or ()) > 1):
        return Unknown(f"neither it nor the catalog tells the throughput of {name}")
    return known


def _capacity(record: Record) -> float | None | Unknown:
    """Throughput that is bought by itself."""
    value = as_number(record.props.get("throughputCapacity"))
    return Unknown("it names no throughput") if value is None else value


def _ontap(record: Record) -> float | None | Unknown:
    """Throughput of all pairs of servers; one pair where nothing is said."""
    each = as_number(record.props.get("throughputCapacityPerHaPair"))
    pairs = as_number(record.props.get("haPairs"))
    if each is None:
        return _capacity(record)
    if isinstance(each, Unknown) or isinstance(pairs, Unknown):
        return first_unknown(each, pairs)
    return each * (1 if pairs is None else pairs)


def _efs(record: Record) -> float | None | Unknown:
    """Provisioned throughput; elastic and bursting file systems promise none."""
    return mb_per_s(record.props.get("provisionedThroughputInMibps"))


_THROUGHPUTS: Any = {LUSTRE: _lustre, ONTAP: _ontap, EFS: _efs}
