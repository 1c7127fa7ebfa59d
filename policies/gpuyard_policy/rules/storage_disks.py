"""Rules about block disks: those that exist by themselves, and those that each machine of a pool gets."""

from collections.abc import Iterable

from gpuyard.catalog.disks import BlockDisk, block_disks
from gpuyard.catalog.instance_types import InstanceType
from gpuyard.catalog.limits import limit_values
from gpuyard_policy.facts import NodePoolFact, Unknown
from gpuyard_policy.facts.model import DiskFact
from gpuyard_policy.rules.judging import (
    TRAINING_TASKS,
    Answer,
    CannotTellError,
    each,
    failed,
    fault_of,
    known,
    on_pools,
    passed,
    work_of,
)
from gpuyard_policy.rules.rule import Context, Finding, Rule, Threshold, everywhere, stricter


def every_disk(context: Context) -> Iterable[DiskFact]:
    """Disks by themselves, and those of pools as far as they are known."""
    yield from context.facts.disks
    for pool in context.facts.node_pools:
        if not isinstance(pool.disks, Unknown):
            yield from pool.disks


def _judge_refused(context: Context, pool: NodePoolFact) -> Answer:
    families = limit_values(pool.cloud, "modern_disk_families")
    if not families:
        return None
    taken = limit_values(pool.cloud, "modern_disk_types")

    def fault(row: InstanceType) -> str | None:
        if not row.family.removeprefix("ecs.").startswith(tuple(families)):
            return None
        for disk in known(pool.disks, f"what disks the nodes of pool '{pool.name}' have"):
            kind = known(disk.disk_type, f"of what class disk '{disk.name}' is")
            if kind is None and disk.role == "root":
                return f"leaves the class of its system disk to the cloud, whose default {row.instance_type} may refuse"
            if kind is not None and kind.split()[0] not in taken:
                return f"has a {disk.role} disk of the class {kind}, which {row.instance_type} refuses"
        return None

    found = fault_of(pool, fault)
    if found is None:
        return passed("its machines take disks of these classes.")
    return failed(f"pool '{pool.name}' {found}: no node would start. Use one of: {', '.join(taken)}.")


def _sizes(context: Context) -> Iterable[Finding]:
    return each(context, every_disk(context), _judge_size)


def _judge_size(context: Context, disk: DiskFact) -> Answer:
    level = _level_of(disk)
    if level is None:
        return None
    size = known(disk.size_gib, f"how large disk '{disk.name}' is")
    if size is None:
        return passed("as large as its image.")
    least, most = level.size_min_gib or 1, level.size_max_gib
    if size < least:
        smaller = [row.name for row in block_disks(disk.cloud).values() if (row.size_min_gib or 1) <= size]
        return failed(
            f"disk '{disk.name}' is a {level.name} of {size} GiB, but that level begins at {least} GiB. Make it "
            f"{least} GiB, or use {', '.join(smaller) or 'another class'}."
        )
    if most is not None and size > most:
        return failed(f"disk '{disk.name}' is a {level.name} of {size} GiB, but that level ends at {most} GiB.")
    return passed(f"{level.name} has disks of {size} GiB.")


def _level_of(disk: DiskFact) -> BlockDisk | None:
    """The catalog's row of a disk's class; None where the cloud's default is taken or the class is not held."""
    kind = known(disk.disk_type, f"of what class disk '{disk.name}' is")
    return None if kind is None else block_disks(disk.cloud).get(kind)


def _judge_slow(context: Context, pool: NodePoolFact) -> Answer:
    if pool.disks == () or work_of(context, pool) not in TRAINING_TASKS:
        return passed("no training, or no disks.")
    least = context.threshold("throughput_mb_per_s")
    for disk in known(pool.disks, f"what disks the nodes of pool '{pool.name}' have"):
        if disk.role != "data":
            continue
        speed = _speed_of(disk)
        if speed < least:
            return failed(
                f"data disk '{disk.name}' of pool '{pool.name}' gives {speed:.0f} MB/s, less than {least:g}: a "
                "checkpoint or a cache on it holds the GPUs up. Buy throughput, or take a faster class."
            )
    return passed("its data disks are fast enough.")


def _speed_of(disk: DiskFact) -> float:
    bought = known(disk.throughput_mb_per_s, f"how fast disk '{disk.name}' is")
    if bought is not None:
        return bought
    level = _level_of(disk)
    size = known(disk.size_gib, f"how large disk '{disk.name}' is")
    if level is None or size is None:
        raise CannotTellError(f"cannot tell how fast disk '{disk.name}' is: the catalog does not know its class.")
    try:
        speed = level.performance(size).throughput_mb_per_s
    except ValueError as error:
        raise CannotTellError(f"cannot tell how fast disk '{disk.name}' is: {error}") from None
    if speed is None:
        raise CannotTellError(f"cannot tell how fast disk '{disk.name}' is: {level.name} promises no throughput.")
    return speed


def _unencrypted(context: Context) -> Iterable[Finding]:
    yield from each(context, every_disk(context), _judge_encrypted)
    yield from each(context, context.facts.node_pools, _judge_root)


def _judge_encrypted(context: Context, disk: DiskFact) -> Answer:
    if known(disk.encrypted, f"whether disk '{disk.name}' is encrypted"):
        return passed("encrypted.")
    return failed(f"disk '{disk.name}' is not encrypted. Set 'encrypted', or encrypt all disks of the account.")


def _judge_root(context: Context, pool: NodePoolFact) -> Answer:
    disks = known(pool.disks, f"what disks the nodes of pool '{pool.name}' have")
    if any(disk.role == "root" for disk in disks):
        return None
    return failed(
        f"pool '{pool.name}' leaves its root disk to the image, which says nothing of encryption. Map the root device "
        "with 'encrypted', or encrypt all disks of the account."
    )


DISK_RULES = (
    Rule(
        id="STO005",
        name="disk-class-that-the-machine-takes",
        family="storage",
        title="Disks are of a class that the instance family takes.",
        severity="high",
        levels=everywhere("mandatory"),
        rationale=(
            "Newer GPU families refuse the older cloud disks, and some resources take those by default. Nothing fails "
            "before the first node is launched, and then every node does."
        ),
        remedy="Name a class that the family takes for the system disk and for data disks.",
        check=on_pools(_judge_refused),
        example=("gn7i with cloud_efficiency", "gn7i with cloud_essd PL1"),
    ),
    Rule(
        id="STO006",
        name="disk-size-that-the-level-has",
        family="storage",
        title="A disk has a size that its performance level offers.",
        severity="high",
        levels=everywhere("mandatory"),
        rationale="Higher levels begin at higher sizes; the cloud refuses the disk, after other things exist already.",
        remedy="Make the disk larger, or take a lower level.",
        check=_sizes,
        example=("ESSD PL2 of 100 GiB", "ESSD PL2 of 461 GiB, or PL1 of 100"),
    ),
    Rule(
        id="STO007",
        name="data-disks-are-fast-enough",
        family="storage",
        title="Data disks of nodes that train are fast enough.",
        severity="low",
        levels=everywhere("advisory"),
        rationale="A class's included throughput is often that of a laptop disk: a cache of 1 TB takes hours to fill.",
        remedy="Buy throughput for the disk, take a faster class, or use the local NVMe disks.",
        check=on_pools(_judge_slow),
        example=("gp3 with its included 131 MB/s", "gp3 with 500 MB/s"),
        thresholds={
            "throughput_mb_per_s": Threshold(
                250,
                "MB/s",
                "least throughput of one data disk",
                "https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html (twice what gp3 includes)",
            )
        },
    ),
    Rule(
        id="STO008",
        name="disks-are-encrypted",
        family="storage",
        title="Disks are encrypted.",
        severity="high",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale="Snapshots, images and discarded disks carry weights and data on. Absent means unencrypted, unless "
        "the account says otherwise, and a root disk that is not mapped is what its image makes it.",
        remedy="Set 'encrypted' on every mapped disk, or switch on encryption by default for the account.",
        check=_unencrypted,
        example=("a root disk without 'encrypted'", "encrypted: true"),
    ),
)
