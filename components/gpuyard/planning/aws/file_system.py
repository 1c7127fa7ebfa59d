"""Parallel file systems: kind, capacity step, throughput choice, metadata, and how the checkpoint bucket follows."""

from math import ceil

from gpuyard.catalog import FileSystemType, file_system_types
from gpuyard.catalog.limits import limit
from gpuyard.catalog.storage import GIB_PER_TIB_AS_SOLD
from gpuyard.planning.aws.file_system_throughput import choose_throughput, persistent_words
from gpuyard.planning.file_system_need import throughput_need
from gpuyard.planning.plans import FileSystemPlan, Place
from gpuyard.planning.regional import key_problems
from gpuyard.spec.models import FileSystemSpec
from gpuyard.spec.problems import Path, Problem, one_of

TYPE_BY_DURABILITY = {"persistent": "PERSISTENT_2", "scratch": "SCRATCH_2"}


DEFAULT_BACKUP_KEEP_DAYS = 7


def smallest_file_system(held_gib: int, mb_per_s: int, cloud: str) -> int:
    """The smallest capacity in GiB of the persistent kind that holds so much and gives a throughput.

    Args:
        held_gib: GiB that it must hold.
        mb_per_s: Throughput in MB/s.
        cloud: The cloud, whose capacity steps count.

    Returns:
        A capacity that the cloud sells.
    """
    kind = file_system_types(cloud)[TYPE_BY_DURABILITY["persistent"]]
    fastest = max(kind.throughput_mb_per_s_per_tib)
    return kind.nearest_capacities(max(held_gib, ceil(mb_per_s * GIB_PER_TIB_AS_SOLD / fastest), 1))[-1]


def plan_file_system(
    spec: FileSystemSpec, place: Place, path: Path = (), *, linked: bool = False, gpus: int | None = None
) -> tuple[FileSystemPlan | None, list[Problem]]:
    """What the file system is made of.

    Solid-state storage only: PERSISTENT_1 on HDD and PERSISTENT_2 with intelligent tiering have other steps, and are
    too slow for what GPUs read. The newest Lustre version of the kind is taken. No maximum of the capacity is checked:
    none is documented, the upper bound is an account's quota.

    Args:
        spec: What was asked for.
        place: Cloud, region and zone, and the work.
        path: Where it stands in the cluster description, for the problems' paths.
        linked: Whether there is a checkpoint bucket that it can be linked to.
        gpus: GPUs that train together, from which the throughput is derived where none was asked for; None when
            unknown.

    Returns:
        The plan, or None when there is none; and every problem found.

    Source: https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateBackup.html (backups only of persistent file
    systems that are not linked to a data repository)
    """
    kind = _kind(spec, place)
    associated = linked and spec.bucket_sync != "none"
    throughput, throughput_problems = choose_throughput(spec, kind, throughput_need(place, gpus), path)
    problems = [
        *_deployment_problems(spec, kind, path),
        *_place_problems(spec, place, path),
        *_capacity_problems(spec, kind, path),
        *throughput_problems,
        *_metadata_problems(spec, kind, place, path),
        *_key_problems(spec, kind, place, path),
        *_bucket_problems(spec, kind, path, linked=linked),
        *_backup_problems(spec, kind, path, associated=associated),
    ]
    if problems or throughput is None or place.zone is None:
        return None, problems
    return (
        FileSystemPlan(
            type_name=kind.name,
            place=place,
            zone=place.zone,
            capacity_gib=spec.capacity_gib,
            per_unit_mb_per_s_per_tib=throughput.per_unit_mb_per_s_per_tib,
            throughput_mb_per_s=throughput.total_mb_per_s,
            persistent=kind.persistent,
            lustre_version=kind.lustre_versions[-1],
            s3_association=kind.s3_association,
            backup_keep_days=_backup_keep_days(spec, kind, associated=associated),
            kms_key=spec.kms_key,
            rdma=spec.rdma,
            metadata=kind.lustre_versions[-1] in kind.metadata_lustre_versions,
            metadata_iops=spec.metadata_iops,
            compression=spec.compression,
            imports=linked and spec.bucket_sync in ("import_export", "import"),
            exports=linked and spec.bucket_sync in ("import_export", "export"),
            reasons=(
                f"{kind.name}, {spec.capacity_gib} GiB.",
                *throughput.reasons,
                *_rdma_reasons(spec),
                *_bucket_reasons(spec, linked=linked),
            ),
        ),
        [],
    )


def _kind(spec: FileSystemSpec, place: Place) -> FileSystemType:
    name = TYPE_BY_DURABILITY[spec.durability] if spec.aws is None else spec.aws.deployment
    return file_system_types(place.cloud)[name]


def _deployment_problems(spec: FileSystemSpec, kind: FileSystemType, path: Path) -> list[Problem]:
    # Only what was written contradicts: 'persistent' that nobody wrote is no wish.
    if spec.aws is None or "durability" not in spec.model_fields_set:
        return []
    if kind.persistent == (spec.durability == "persistent"):
        return []
    message = f"{kind.name} contradicts 'durability: {spec.durability}'."
    return [Problem((*path, "aws", "deployment"), message, "Leave one of the two out.")]


def _place_problems(spec: FileSystemSpec, place: Place, path: Path) -> list[Problem]:
    found: list[Problem] = []
    if spec.region is not None and spec.region != place.region:
        message = f"the file system is in {spec.region}, the nodes are in {place.region}."
        found.append(
            Problem(
                (*path, "region"),
                message,
                f"Set it to {place.region} or leave it out: clients mount it over the network of one zone.",
            )
        )
    if place.zone is None:
        found.append(
            Problem(
                path,
                "a parallel file system is in one zone, and the cluster names none.",
                "Set 'zone' of the cluster.",
            )
        )
    return found


def _capacity_problems(spec: FileSystemSpec, kind: FileSystemType, path: Path) -> list[Problem]:
    if spec.rdma and kind.efa_capacity_step_gib is not None:
        # The steps are those of the throughput choices, and are checked with them.
        return []
    found: list[Problem] = []
    if spec.rdma:
        can = [other.name for other in file_system_types(kind.cloud).values() if other.efa_capacity_step_gib]
        found.append(
            Problem(
                (*path, "rdma"),
                f"{kind.name} is not reached over RDMA.",
                f"Remove it, or use {persistent_words(spec)} ({one_of(can)}).",
            )
        )
    if kind.takes_capacity(spec.capacity_gib):
        return found
    near = one_of(kind.nearest_capacities(spec.capacity_gib))
    message = f"{kind.name} cannot have {spec.capacity_gib} GiB."
    steps = f"{one_of(kind.capacity_first_gib)} or a multiple of {kind.capacity_step_gib}"
    return [*found, Problem((*path, "capacity_gib"), message, f"Nearest: {near} (allowed: {steps}).")]


def _metadata_problems(spec: FileSystemSpec, kind: FileSystemType, place: Place, path: Path) -> list[Problem]:
    wanted = spec.metadata_iops
    if wanted is None:
        return []
    at: Path = (*path, "metadata_iops")
    if kind.lustre_versions[-1] not in kind.metadata_lustre_versions:
        message = f"{kind.name} offers no choice of metadata IOPS."
        return [Problem(at, message, f"Remove it, or use {persistent_words(spec)}.")]
    allowed = limit(place.cloud, "lustre_metadata_iops").values
    included = _included_metadata_iops(spec.capacity_gib, place)
    right = [iops for iops in allowed if iops >= included]
    if wanted in right:
        return []
    if wanted in allowed:
        message = f"{wanted} metadata IOPS are fewer than the {included} that come with {spec.capacity_gib} GiB."
        return [Problem(at, message, f"Remove it, or ask for {one_of(right[:2])}.")]
    near = {max((iops for iops in right if iops < wanted), default=right[0])}
    near |= {min((iops for iops in right if iops > wanted), default=right[-1])}
    message = f"{wanted} metadata IOPS are not offered."
    return [Problem(at, message, f"Nearest: {one_of(sorted(near))}.")]


def _included_metadata_iops(capacity_gib: int, place: Place) -> int:
    """Metadata IOPS that come with a capacity; a part of a step is counted as none, so that nothing right is refused.

    Source: https://docs.aws.amazon.com/fsx/latest/LustreGuide/performance.html#dne-metadata-performance
    """
    from_gib, step_gib, step_iops = limit(place.cloud, "lustre_metadata_iops_included_step").values
    if capacity_gib >= from_gib:
        most = limit(place.cloud, "lustre_metadata_iops").values[-1]
        return min(capacity_gib // step_gib * step_iops, most)
    steps = limit(place.cloud, "lustre_metadata_iops_included").values
    return max((iops for least_gib, iops in steps if capacity_gib >= least_gib), default=0)


def _key_problems(spec: FileSystemSpec, kind: FileSystemType, place: Place, path: Path) -> list[Problem]:
    at: Path = (*path, "kms_key")
    found: list[Problem] = []
    if spec.kms_key is not None and not kind.persistent:
        message = "a scratch file system takes no key of your own."
        found.append(Problem(at, message, f"Remove it, or use {persistent_words(spec)}."))
    return found + key_problems(spec.kms_key, place.cloud, place.region, at)


def _bucket_problems(spec: FileSystemSpec, kind: FileSystemType, path: Path, *, linked: bool) -> list[Problem]:
    at: Path = (*path, "bucket_sync")
    if not linked:
        if spec.bucket_sync in ("import", "export"):
            message = f"'{spec.bucket_sync}' has no checkpoint bucket to follow."
            return [Problem(at, message, "Add the bucket ('checkpoints' of a cluster), or remove it.")]
        return []
    if kind.persistent or spec.bucket_sync in ("import_export", "export"):
        return []
    message = f"checkpoints on scratch storage are not exported with '{spec.bucket_sync}': they are lost with a server."
    return [Problem(at, message, f"Use 'import_export' or 'export', or use {persistent_words(spec)}.")]


def _backup_problems(spec: FileSystemSpec, kind: FileSystemType, path: Path, *, associated: bool) -> list[Problem]:
    if not spec.backup_keep_days or not (associated or not kind.backups):
        return []
    why = "linked to the checkpoint bucket, which FSx does not back up" if associated else "a scratch file system"
    message = f"there are no backups of a file system that is {why}."
    remedy = "Remove it, or set it to 0."
    if associated and kind.backups:
        remedy = "Remove it, set it to 0, or do not link the bucket ('bucket_sync: none')."
    return [Problem((*path, "backup_keep_days"), message, remedy)]


def _backup_keep_days(spec: FileSystemSpec, kind: FileSystemType, *, associated: bool) -> int:
    if associated or not kind.backups:
        return 0
    return DEFAULT_BACKUP_KEEP_DAYS if spec.backup_keep_days is None else spec.backup_keep_days


def _rdma_reasons(spec: FileSystemSpec) -> tuple[str, ...]:
    if not spec.rdma:
        return ()
    return ("Reached over RDMA: that and the throughput choice are for good, more capacity gives more throughput.",)


def _bucket_reasons(spec: FileSystemSpec, *, linked: bool) -> tuple[str, ...]:
    if not linked:
        return ()
    if spec.bucket_sync == "none":
        return ("The checkpoint bucket is not linked: nothing is copied to it but what jobs copy themselves.",)
    no_backups = "FSx backs up no linked file system."
    if spec.bucket_sync == "import":
        return (f"No backups: {no_backups} What is written under /checkpoints stays out of the bucket.",)
    return (f"No backups: the linked checkpoint bucket is the durable copy, and {no_backups}",)
