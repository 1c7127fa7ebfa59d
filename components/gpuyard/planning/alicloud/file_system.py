"""File systems: CPFS, linked to the checkpoint bucket by a data flow, or a small NAS for trials."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpuyard.catalog.limits import limit
from gpuyard.planning.alicloud.file_system_kinds import StorageClass, classes_of, smallest_file_system
from gpuyard.planning.file_system_need import ThroughputNeed, throughput_need
from gpuyard.planning.plans import CHECKPOINT_PREFIX, FileSystemPlan, Place
from gpuyard.planning.regional import foreign_group_problems, key_problems
from gpuyard.spec.alicloud import AlicloudFileSystemKind
from gpuyard.spec.models import FileSystemSpec
from gpuyard.spec.problems import Path, Problem, one_of

__all__ = ["BUCKET_FOLDER", "AlicloudFileSystemDetails", "plan_file_system", "smallest_file_system"]

# A data flow is of the whole bucket: its root lies here, and with it every prefix.
BUCKET_FOLDER = "bucket"


@dataclass(frozen=True, slots=True)
class AlicloudFileSystemDetails:
    """A file system's facts that only Alibaba Cloud has.

    ``flow_mb_per_s`` is the bandwidth of the data flow between ``/bucket`` and the bucket, None without one.
    """

    kind: AlicloudFileSystemKind
    storage_type: str
    flow_mb_per_s: int | None


def plan_file_system(
    spec: FileSystemSpec, place: Place, path: Path = (), *, linked: bool = False, gpus: int | None = None
) -> tuple[FileSystemPlan | None, list[Problem]]:
    """What the file system is made of.

    The slowest class is taken that gives what was asked for, else what the work needs. A data flow must be slower than
    the file system: where one is to be made, that decides as well.

    Args:
        spec: What was asked for.
        place: Cloud, region and zone, and the work.
        path: Where it stands in the cluster description, for the problems' paths.
        linked: Whether there is a checkpoint bucket that it can be linked to.
        gpus: GPUs that train together, from which the throughput is derived where none was asked for; None when
            unknown.

    Returns:
        The plan, or None when there is none; and every problem found.

    Source: https://help.aliyun.com/en/cpfs/cpfsonecs/product-overview/limits-1;
    https://www.alibabacloud.com/help/en/cpfs/cpfsonecs/developer-reference/api-nas-2017-06-26-createdataflow-cpfs
    """
    kind: AlicloudFileSystemKind = "cpfs" if spec.alicloud is None else spec.alicloud.kind
    need = throughput_need(place, gpus)
    flows = kind == "cpfs" and linked and spec.bucket_sync != "none"
    chosen, problems = _choose(spec, kind, need, path, flows=flows)
    problems = [
        *foreign_group_problems(spec, place.cloud, path),
        *_place_problems(spec, place, kind, path),
        *problems,
        *_lacking_problems(spec, kind, path),
        *_key_problems(spec, place, kind, path),
        *_bucket_problems(spec, kind, path, linked=linked),
    ]
    if problems or chosen is None or place.zone is None:
        return None, problems
    total = chosen.throughput_mb_per_s(spec.capacity_gib)
    flow = max((rate for rate in _flow_rates() if rate < total), default=None) if flows else None
    rates = None if chosen.row is None else chosen.row.throughput_mb_per_s_per_tib
    return (
        FileSystemPlan(
            type_name=chosen.words,
            place=place,
            zone=place.zone,
            capacity_gib=spec.capacity_gib,
            per_unit_mb_per_s_per_tib=None if rates is None else int(max(rates)),
            throughput_mb_per_s=total,
            persistent=True,
            lustre_version=None,
            s3_association=flow is not None,
            backup_keep_days=0,
            kms_key=spec.kms_key,
            compression=False,
            imports=flow is not None and spec.bucket_sync in ("import_export", "import"),
            exports=flow is not None and spec.bucket_sync in ("import_export", "export"),
            details=AlicloudFileSystemDetails(kind, chosen.name, flow),
            reasons=tuple(_reasons(spec, chosen, need, flow, linked=linked)),
        ),
        [],
    )


def _choose(
    spec: FileSystemSpec, kind: AlicloudFileSystemKind, need: ThroughputNeed, path: Path, *, flows: bool
) -> tuple[StorageClass | None, list[Problem]]:
    classes = classes_of(kind)
    fastest = classes[-1]
    if not fastest.takes(spec.capacity_gib):
        message = f"{fastest.words} cannot have {spec.capacity_gib} GiB."
        near = one_of(fastest.nearest(spec.capacity_gib))
        remedy = f"Nearest: {near} (allowed: {fastest.allowed_words()})."
        return None, [Problem((*path, "capacity_gib"), message, remedy)]
    wanted = spec.throughput_mb_per_s
    most = fastest.throughput_mb_per_s(spec.capacity_gib)
    if wanted is not None and wanted > most:
        message = f"{spec.capacity_gib} GiB of {fastest.words} give at most {most:.0f} MB/s, not {wanted}."
        size = fastest.capacity_for(spec.capacity_gib, wanted)
        remedy = f"{size} GiB would do." if size is not None else _too_much(kind)
        return None, [Problem((*path, "throughput_mb_per_s"), message, remedy)]
    # What the work needs is no demand: the fastest is taken where none is fast enough, and the reasons say it.
    least = wanted if wanted is not None else min(need.mb_per_s or 0, most)
    fitting = [one for one in classes if _is_fast_enough(one, spec.capacity_gib, least, flows=flows)]
    return fitting[0] if fitting else fastest, []


def _is_fast_enough(one: StorageClass, capacity_gib: int, mb_per_s: float, *, flows: bool) -> bool:
    total = one.throughput_mb_per_s(capacity_gib)
    return total >= mb_per_s and (not flows or total > min(_flow_rates()))


def _flow_rates() -> Sequence[int]:
    return limit("alicloud", "data_flow_mb_per_s").values


def _too_much(kind: AlicloudFileSystemKind) -> str:
    fastest = classes_of(kind)[-1]
    most = max(fastest.throughput_mb_per_s(size) for size in fastest.nearest(10**9))
    other = " Use CPFS (leave 'alicloud.kind' out)." if kind == "nas_extreme" else ""
    return f"None gives more than {most:.0f} MB/s.{other}"


def _place_problems(spec: FileSystemSpec, place: Place, kind: AlicloudFileSystemKind, path: Path) -> list[Problem]:
    found: list[Problem] = []
    if spec.region is not None and spec.region != place.region:
        message = f"the file system is in {spec.region}, the nodes are in {place.region}."
        remedy = f"Set it to {place.region} or leave it out: clients mount it inside one VPC."
        found.append(Problem((*path, "region"), message, remedy))
    if place.zone is None:
        message = "a file system is in one zone, and the cluster names none."
        found.append(Problem(path, message, "Set 'zone' of the cluster."))
    known = limit(place.cloud, "cpfs_regions")
    if kind == "cpfs" and place.region not in known.values:
        remedy = (
            f"Regions with CPFS: {one_of(known.values)} (source: {known.source}). For a trial: "
            "'alicloud: {kind: nas_extreme}'."
        )
        found.append(Problem(path, f"there is no CPFS in {place.region}.", remedy))
    return found


def _lacking_problems(spec: FileSystemSpec, kind: AlicloudFileSystemKind, path: Path) -> Iterator[Problem]:
    """What other clouds have and these kinds have not; a default is no wish."""
    name = "CPFS" if kind == "cpfs" else "a NAS"
    if spec.durability == "scratch":
        yield Problem((*path, "durability"), f"{name} keeps its data: there is no scratch kind.", "Remove it.")
    if spec.backup_keep_days:
        yield Problem(
            (*path, "backup_keep_days"),
            f"the provider makes no backups of {name}.",
            "Remove it, or set it to 0: the checkpoint bucket is the durable copy.",
        )
    if spec.rdma:
        message = f"{name} is reached over TCP: only CPFS for Lingjun has RDMA, and the provider cannot make it."
        yield Problem((*path, "rdma"), message, "Remove it.")
    if spec.metadata_iops is not None:
        yield Problem((*path, "metadata_iops"), f"{name} has what comes with its capacity.", "Remove it.")
    if spec.compression and "compression" in spec.model_fields_set:
        yield Problem((*path, "compression"), f"{name} does not compress.", "Remove it.")


def _key_problems(spec: FileSystemSpec, place: Place, kind: AlicloudFileSystemKind, path: Path) -> list[Problem]:
    at: Path = (*path, "kms_key")
    if spec.kms_key is not None and kind == "cpfs":
        message = "the provider encrypts a NAS alone by a key of your own, not CPFS."
        return [Problem(at, message, "Remove it, or use 'alicloud: {kind: nas_extreme}'.")]
    return key_problems(spec.kms_key, place.cloud, place.region, at)


def _bucket_problems(spec: FileSystemSpec, kind: AlicloudFileSystemKind, path: Path, *, linked: bool) -> list[Problem]:
    at: Path = (*path, "bucket_sync")
    if "bucket_sync" not in spec.model_fields_set or spec.bucket_sync == "none":
        return []
    if kind == "nas_extreme":
        message = f"a NAS has no data flow: '{spec.bucket_sync}' cannot be done."
        return [Problem(at, message, "Remove it, or use CPFS.")]
    if not linked and spec.bucket_sync in ("import", "export"):
        message = f"'{spec.bucket_sync}' has no checkpoint bucket to follow."
        return [Problem(at, message, "Add the bucket ('checkpoints' of a cluster), or remove it.")]
    return []


def _reasons(
    spec: FileSystemSpec, chosen: StorageClass, need: ThroughputNeed, flow: int | None, *, linked: bool
) -> Iterator[str]:
    total = chosen.throughput_mb_per_s(spec.capacity_gib)
    yield f"{chosen.words}, {spec.capacity_gib} GiB: {total:.0f} MB/s."
    yield from _need_reasons(spec, chosen, need, total)
    if flow is not None:
        yield (
            f"A data flow of {flow} MB/s joins /{BUCKET_FOLDER} and the bucket, checkpoints below "
            f"/{BUCKET_FOLDER}/{CHECKPOINT_PREFIX}: what is read there is fetched. What is written goes to the bucket "
            "by an export task, which jobs or people start; nothing does it by itself."
        )
        yield "The flow needs a mount target of POSIX clients, with which come three small servers that are billed."
    elif linked:
        yield "The checkpoint bucket is not linked: nothing is copied to it but what jobs copy themselves."
    if chosen.kind == "cpfs":
        yield "Its data is not encrypted by a key of the account: the provider has that for a NAS alone."
    else:
        yield "For trials: one server's throughput, and no link to the bucket."


def _need_reasons(spec: FileSystemSpec, chosen: StorageClass, need: ThroughputNeed, total: float) -> Iterator[str]:
    asked = spec.throughput_mb_per_s is not None
    if need.mb_per_s is None:
        if not asked:
            yield f"That is the least that fits: {need.why}."
    elif total < need.mb_per_s:
        size = chosen.capacity_for(spec.capacity_gib, need.mb_per_s)
        more = _too_much(chosen.kind) if size is None else f"{size} GiB could give it."
        yield (
            f"TOO SLOW for the work, which needs {need.mb_per_s} MB/s, {need.mb_per_s - total:.0f} more than this file "
            f"system gives: {need.why}. {more}"
        )
    elif not asked:
        yield f"The work needs {need.mb_per_s} MB/s: {need.why}."
