"""Parallel file systems on Tencent Cloud: CFS Turbo, its two kinds, their capacity steps and what they give."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuyard.catalog.file_stores import ParallelFileSystem, parallel_file_systems
from gpuyard.catalog.limits import limit
from gpuyard.planning.file_system_need import ThroughputNeed, throughput_need
from gpuyard.planning.plans import FileSystemPlan, Place
from gpuyard.planning.regional import foreign_group_problems
from gpuyard.spec.models import FileSystemSpec
from gpuyard.spec.problems import Path, Problem, one_of


@dataclass(frozen=True, slots=True)
class CfsDetails:
    """What only CFS has: its storage type in the API and, where it is reached through one, the CCN.

    ``ccn_attach`` says whether the nodes' network is attached to the CCN with the file system.
    """

    storage_type: str
    ccn_id: str | None = None
    ccn_cidr: str | None = None
    ccn_attach: bool = False


def file_system_kinds(cloud: str) -> list[ParallelFileSystem]:
    """Kinds of CFS Turbo that are built, the cheaper first."""
    rows = parallel_file_systems(cloud)
    return [rows[name] for name in limit(cloud, "file_system_kinds").values]


def smallest_file_system(held_gib: int, mb_per_s: int, cloud: str) -> int:
    """The smallest capacity in GiB of any kind that holds so much and gives a throughput.

    Args:
        held_gib: GiB that it must hold.
        mb_per_s: Throughput in MB/s.
        cloud: The cloud, whose kinds count.

    Returns:
        A capacity that is sold. Where no kind is so fast, the smallest one with the most that one file system gives.
    """
    kinds = file_system_kinds(cloud)
    able = [kind for kind in kinds if mb_per_s <= (kind.throughput_max_mb_per_s or mb_per_s)] or kinds
    return min(_capacity_for(kind, held_gib, mb_per_s) for kind in able)


def plan_file_system(
    spec: FileSystemSpec, place: Place, path: Path = (), *, linked: bool = False, gpus: int | None = None
) -> tuple[FileSystemPlan | None, list[Problem]]:
    """What the file system is made of.

    The cheaper kind is taken that has the capacity and gives what was asked for, else what the work needs. Where the
    sources contradict each other about capacities, the larger rule is kept, which meets both: the catalog says so
    (``gpuyard catalog``).

    Args:
        spec: What was asked for.
        place: Cloud, region and zone, and the work.
        path: Where it stands in the cluster description, for the problems' paths.
        linked: Whether there is a checkpoint bucket; CFS Turbo cannot follow it.
        gpus: GPUs that train together, from which the throughput is derived where none was asked for; None when
            unknown.

    Returns:
        The plan, or None when there is none; and every problem found.

    Source: PyPI tencentcloud_iac_pulumi 0.2.3, docstring of cfs.FileSystem; what Turbo lacks: its arguments, and the
    CFS documents on snapshots (github tencentyun/qcloud-documents, 2022 to 2023)
    """
    need = throughput_need(place, gpus)
    kind, problems = _choose(spec, need, place, path)
    problems = [
        *foreign_group_problems(spec, place.cloud, path),
        *_place_problems(spec, place, path),
        *problems,
        *_lacking_problems(spec, path),
        *_ccn_problems(spec, path),
    ]
    if problems or kind is None or place.zone is None:
        return None, problems
    own = spec.tencentcloud
    details = CfsDetails(kind.name.split()[-1])
    if own is not None and own.ccn_id is not None:
        details = CfsDetails(details.storage_type, own.ccn_id, own.ccn_cidr, own.ccn_attach)
    return (
        FileSystemPlan(
            type_name=kind.name,
            place=place,
            zone=place.zone,
            capacity_gib=spec.capacity_gib,
            per_unit_mb_per_s_per_tib=None,
            throughput_mb_per_s=kind.throughput_mb_per_s(spec.capacity_gib),
            persistent=True,
            lustre_version=None,
            s3_association=False,
            backup_keep_days=0,
            kms_key=None,
            compression=False,
            imports=False,
            exports=False,
            details=details,
            reasons=(
                f"{kind.name}, {spec.capacity_gib} GiB: {kind.product}.",
                *_throughput_reasons(spec, kind, need),
                _network_reason(details),
                *_safety_reasons(linked=linked),
            ),
        ),
        [],
    )


def _choose(
    spec: FileSystemSpec, need: ThroughputNeed, place: Place, path: Path
) -> tuple[ParallelFileSystem | None, list[Problem]]:
    kinds = file_system_kinds(place.cloud)
    capacity = spec.capacity_gib
    sized = [kind for kind in kinds if kind.takes_capacity(capacity)]
    if not sized:
        sizes = {size for kind in kinds for size in _near(kind, capacity)}
        below, above = [size for size in sizes if size < capacity], [size for size in sizes if size > capacity]
        near = one_of([*sorted(below)[-1:], *sorted(above)[:1]])
        rules = "; ".join(
            f"{kind.name}: at least {kind.capacity_min_gib} in steps of {kind.capacity_step_gib}" for kind in kinds
        )
        message = f"CFS Turbo cannot have {capacity} GiB."
        return None, [Problem((*path, "capacity_gib"), message, f"Nearest: {near} ({rules}).")]
    wanted = spec.throughput_mb_per_s or need.mb_per_s or 0
    fitting = [kind for kind in sized if (kind.throughput_mb_per_s(capacity) or 0) >= wanted]
    if fitting:
        return fitting[0], []
    fastest = max(sized, key=lambda kind: kind.throughput_mb_per_s(capacity) or 0)
    if spec.throughput_mb_per_s is None:
        return fastest, []
    message = (
        f"{capacity} GiB of CFS Turbo give at most {fastest.throughput_mb_per_s(capacity) or 0:.0f} MB/s, not {wanted}."
    )
    return None, [Problem((*path, "throughput_mb_per_s"), message, _fast_enough(wanted, kinds))]


def _near(kind: ParallelFileSystem, capacity_gib: int) -> set[int]:
    """The capacities in GiB of one kind next to a wanted one."""
    step, least = kind.capacity_step_gib or 1, kind.capacity_min_gib or 1
    below = capacity_gib // step * step
    return {max(below, least), max(below + step, least)}


def _capacity_for(kind: ParallelFileSystem, held_gib: int, mb_per_s: float) -> int:
    rate = max(kind.throughput_mb_per_s_per_tib or (1,)) / kind.gib_per_tib
    most = kind.throughput_max_mb_per_s
    needed = mb_per_s if most is None else min(mb_per_s, most)
    step, least = kind.capacity_step_gib or 1, kind.capacity_min_gib or 1
    # Both in units of the last printed digit: a capacity that gives exactly what is needed is enough.
    size = max(float(held_gib), round(needed / rate, 6), float(least))
    return int(-(-size // step)) * step


def _fast_enough(mb_per_s: int, kinds: Sequence[ParallelFileSystem]) -> str:
    able = [kind for kind in kinds if mb_per_s <= (kind.throughput_max_mb_per_s or mb_per_s)]
    if not able:
        most = max(kind.throughput_max_mb_per_s or 0 for kind in kinds)
        return f"One file system gives {most:.0f} MB/s at most: use several."
    sizes = [f"{_capacity_for(kind, 1, mb_per_s)} GiB of {kind.name}" for kind in able]
    return f"{one_of(sizes)} would do."


def _place_problems(spec: FileSystemSpec, place: Place, path: Path) -> list[Problem]:
    found: list[Problem] = []
    if spec.region is not None and spec.region != place.region:
        message = f"the file system is in {spec.region}, the nodes are in {place.region}."
        remedy = f"Set it to {place.region} or leave it out: clients mount it over the network of one region."
        found.append(Problem((*path, "region"), message, remedy))
    if place.zone is None:
        message = "a parallel file system is in one zone, and the cluster names none."
        found.append(Problem(path, message, "Set 'zone' of the cluster."))
    return found


def _lacking_problems(spec: FileSystemSpec, path: Path) -> list[Problem]:
    """What was asked for and CFS Turbo has not, or has not through this provider; a default is no wish."""
    written = spec.model_fields_set
    lacking: tuple[tuple[str, bool, str, str], ...] = (
        ("durability", spec.durability == "scratch", "CFS Turbo has no scratch kind: both keep copies.", "Remove it."),
        ("rdma", spec.rdma, "CFS Turbo is mounted over TCP, not over the RDMA network.", "Remove it."),
        (
            "metadata_iops",
            spec.metadata_iops is not None,
            "CFS Turbo offers no choice of metadata IOPS.",
            "Remove it: operations grow with the capacity.",
        ),
        ("compression", "compression" in written and spec.compression, "CFS Turbo does not compress.", "Remove it."),
        (
            "bucket_sync",
            "bucket_sync" in written and spec.bucket_sync != "none",
            "CFS Turbo follows no bucket: the provider has no resource for a data flow.",
            "Remove it, and let jobs copy checkpoints to the bucket.",
        ),
        (
            "backup_keep_days",
            bool(spec.backup_keep_days),
            "CFS Turbo has no backups: snapshot policies are documented for the Standard type only.",
            "Remove it, or set it to 0; what must last belongs into the checkpoint bucket.",
        ),
        (
            "kms_key",
            spec.kms_key is not None,
            "the provider takes no key for CFS Turbo: encryption exists in the cloud's own API only.",
            "Remove it.",
        ),
    )
    return [Problem((*path, key), message, remedy) for key, asked, message, remedy in lacking if asked]


def _ccn_problems(spec: FileSystemSpec, path: Path) -> list[Problem]:
    own = spec.tencentcloud
    if own is None:
        return []
    at: Path = (*path, "tencentcloud")
    if own.ccn_id is not None and own.ccn_cidr is None:
        message = "is missing: in a CCN the file system has addresses of its own."
        remedy = "Give a range that no other network of the CCN uses; CFS advises one in 9., 11. or 30."
        return [Problem((*at, "ccn_cidr"), message, remedy)]
    if own.ccn_id is None:
        return [
            Problem((*at, key), "there is no CCN that it is for.", "Set 'ccn_id', or remove it.")
            for key in ("ccn_cidr", "ccn_attach")
            if key in own.model_fields_set and getattr(own, key) is not None
        ]
    return []


def _throughput_reasons(spec: FileSystemSpec, kind: ParallelFileSystem, need: ThroughputNeed) -> tuple[str, ...]:
    total = kind.throughput_mb_per_s(spec.capacity_gib) or 0
    per_tib = max(kind.throughput_mb_per_s_per_tib or (0,))
    given = f"{per_tib:g} MB/s per TiB give {total:.0f} MB/s."
    if need.mb_per_s is None:
        return (given,) if spec.throughput_mb_per_s is not None else (given, f"Nothing more is known: {need.why}.")
    if total < need.mb_per_s:
        missing = need.mb_per_s - total
        return (
            given,
            f"TOO SLOW for the work, which needs {need.mb_per_s} MB/s, {missing:.0f} more than this file system "
            f"gives: {need.why}. {_fast_enough(need.mb_per_s, file_system_kinds(kind.cloud))}",
        )
    if spec.throughput_mb_per_s is not None:
        return (given,)
    return (given, f"The work needs {need.mb_per_s} MB/s: {need.why}.")


def _network_reason(details: CfsDetails) -> str:
    if details.ccn_id is not None:
        return f"Reached through {details.ccn_id} at addresses of {details.ccn_cidr}."
    return (
        "Reached in the nodes' own network: the API and the documents of CFS allow that, though the provider's text "
        "names only CCN for Turbo."
    )


def _safety_reasons(*, linked: bool) -> tuple[str, ...]:
    bucket = ("The checkpoint bucket is not linked: jobs copy to it what must last.",) if linked else ()
    return (
        *bucket,
        "No backups, and no key of your own: neither is offered for CFS Turbo. It grows, and never shrinks.",
    )
