"""Parallel file systems: kind, capacity step and throughput choice."""

from gpuyard.catalog import FileSystemType, file_system_types
from gpuyard.catalog.storage import GIB_PER_TIB_AS_SOLD
from gpuyard.planning.plans import FileSystemPlan, Place
from gpuyard.planning.storage import key_problems
from gpuyard.spec.models import FileSystemSpec
from gpuyard.spec.problems import Path, Problem, one_of

TYPE_BY_DURABILITY = {"persistent": "PERSISTENT_2", "scratch": "SCRATCH_2"}


DEFAULT_BACKUP_KEEP_DAYS = 7


def plan_file_system(
    spec: FileSystemSpec, place: Place, path: Path = (), *, linked: bool = False
) -> tuple[FileSystemPlan | None, list[Problem]]:
    """What the file system is made of.

    Args:
        spec: What was asked for.
        place: Cloud, region and zone.
        path: Where it stands in the cluster description, for the problems' paths.
        linked: Whether a checkpoint bucket is linked to it.

    Returns:
        The plan, or None when there is none; and every problem found.

    Source: https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateBackup.html (backups only of persistent file
    systems that are not linked to a data repository)
    """
    kind = file_system_types(place.cloud)[TYPE_BY_DURABILITY[spec.durability]]
    problems = [*_place_problems(spec, place, path), *_capacity_problems(spec, kind, path)]
    per_unit, throughput_problems = _per_unit(spec, kind, path)
    problems += throughput_problems
    if spec.kms_key is not None and not kind.persistent:
        problems.append(
            Problem(
                (*path, "kms_key"),
                "a scratch file system takes no key of your own.",
                "Remove it, or use 'durability: persistent'.",
            )
        )
    problems += key_problems(spec.kms_key, place.region, (*path, "kms_key"))
    if spec.backup_keep_days and (linked or not kind.backups):
        why = "linked to the checkpoint bucket, which FSx does not back up" if linked else "a scratch file system"
        problems.append(
            Problem(
                (*path, "backup_keep_days"),
                f"there are no backups of a file system that is {why}.",
                "Remove it, or set it to 0.",
            )
        )
    if problems or place.zone is None:
        return None, problems
    total = None if per_unit is None else per_unit * spec.capacity_gib / GIB_PER_TIB_AS_SOLD
    reasons = [f"{kind.name}, {spec.capacity_gib} GiB."]
    if total is not None:
        reasons.append(f"{per_unit} MB/s per TiB give {total:.0f} MB/s.")
    if linked:
        reasons.append(
            "No backups: the linked checkpoint bucket is the durable copy, and FSx backs up no linked file system."
        )
    return (
        FileSystemPlan(
            type_name=kind.name,
            place=place,
            zone=place.zone,
            capacity_gib=spec.capacity_gib,
            per_unit_mb_per_s_per_tib=per_unit,
            throughput_mb_per_s=total,
            persistent=kind.persistent,
            lustre_version=kind.lustre_versions[-1],
            s3_association=kind.s3_association,
            backup_keep_days=_backup_keep_days(spec, kind, linked),
            kms_key=spec.kms_key,
            reasons=tuple(reasons),
        ),
        [],
    )


def _backup_keep_days(spec: FileSystemSpec, kind: FileSystemType, linked: bool) -> int:
    if linked or not kind.backups:
        return 0
    return DEFAULT_BACKUP_KEEP_DAYS if spec.backup_keep_days is None else spec.backup_keep_days


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
    if kind.takes_capacity(spec.capacity_gib):
        return []
    near = one_of(kind.nearest_capacities(spec.capacity_gib))
    message = f"{kind.name} cannot have {spec.capacity_gib} GiB."
    steps = f"{one_of(kind.capacity_first_gib)} or a multiple of {kind.capacity_step_gib}"
    return [Problem((*path, "capacity_gib"), message, f"Nearest: {near} (allowed: {steps}).")]


def _per_unit(spec: FileSystemSpec, kind: FileSystemType, path: Path) -> tuple[int | None, list[Problem]]:
    choices = kind.throughput_mb_per_s_per_tib
    wanted = spec.throughput_mb_per_s
    if not choices:
        if wanted is None:
            return None, []
        message = f"{kind.name} offers no choice of throughput."
        return None, [Problem((*path, "throughput_mb_per_s"), message, "Remove it, or use 'durability: persistent'.")]
    if wanted is None:
        return choices[0], []
    tib = spec.capacity_gib / GIB_PER_TIB_AS_SOLD
    for choice in choices:
        if choice * tib >= wanted:
            return choice, []
    need_gib = -(-wanted * GIB_PER_TIB_AS_SOLD // choices[-1])
    size = next(iter(kind.nearest_capacities(need_gib)[-1:]))
    message = f"{spec.capacity_gib} GiB of {kind.name} give at most {choices[-1] * tib:.0f} MB/s, not {wanted}."
    return None, [Problem((*path, "throughput_mb_per_s"), message, f"{size} GiB would do.")]
