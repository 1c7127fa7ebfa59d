"""Rules about where data lies, and how fast it comes to the nodes."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from gpuyard.catalog import instance_type
from gpuyard.catalog.regions import is_zone_id
from gpuyard_policy.facts import NodePoolFact, StorageFact, Unknown
from gpuyard_policy.rules.judging import (
    ONE_JOB_ON_ALL_NODES,
    Answer,
    CannotTellError,
    Neighbours,
    each,
    failed,
    is_lasting,
    is_one_job_on_several_nodes,
    known,
    on_each,
    passed,
)
from gpuyard_policy.rules.rule import Context, Finding, Rule, Threshold, everywhere, stricter
from gpuyard_policy.rules.storage_disks import DISK_RULES

# What mounts a parallel file system in a script of a node's start.
_MOUNTS = re.compile(r"\b(lustre|cpfs|goosefs|beegfs|weka|gpfs|turbofs)\b", re.IGNORECASE)


@dataclass(frozen=True)
class _Regions:
    """Regions of pools that stand together: those that are known, and a pool whose region is not."""

    known: frozenset[str]
    unknown: NodePoolFact | None
    any: bool


def _same_region(context: Context) -> Iterable[Finding]:
    facts = context.facts
    if not facts.node_pools:
        return ()
    pools = Neighbours(facts.node_pools, _regions_of)
    return each(context, facts.storage, lambda _, item: _judge_region(item, pools.of(item)))


def _regions_of(pools: Sequence[Any]) -> _Regions:
    regions = frozenset(pool.region for pool in pools if isinstance(pool.region, str))
    unknown = next((pool for pool in pools if isinstance(pool.region, Unknown)), None)
    return _Regions(regions, unknown, bool(pools))


def _judge_region(item: StorageFact, pools: _Regions) -> Answer:
    if not pools.any:
        return passed("no nodes of the same cloud use it.")
    if item.is_replica is True:
        return passed("it is the copy of another one, and meant to be elsewhere.")
    region = known(item.region, f"where {item.kind} '{item.name}' is")
    if region in pools.known:
        return passed(f"in {region}, as the nodes.")
    if pools.unknown is not None:
        known(pools.unknown.region, f"where pool '{pools.unknown.name}' is")
    known(item.is_replica, f"whether {item.kind} '{item.name}' is a copy")
    nodes = ", ".join(sorted(pools.known))
    message = f"{item.kind} '{item.name}' is in {region}, but the nodes that use it are in {nodes}."
    return failed(f"{message} Put it into {nodes}; what must be in {region} should be a replica.")


@dataclass(frozen=True)
class _Zones:
    """Zones of pools that stand together, and whether any of them is not known or left to the cloud."""

    known: frozenset[str]
    open: bool
    any: bool


def _same_zone(context: Context) -> Iterable[Finding]:
    pools = Neighbours(context.facts.node_pools, _zones_of)
    return each(context, context.facts.file_systems, lambda _, item: _judge_zone(item, pools.of(item)))


def _zones_of(pools: Sequence[Any]) -> _Zones:
    zones = frozenset(zone for pool in pools if not isinstance(pool.zones, Unknown) for zone in pool.zones)
    return _Zones(zones, any(isinstance(pool.zones, Unknown) or not pool.zones for pool in pools), bool(pools))


def _judge_zone(item: StorageFact, pools: _Zones) -> Answer:
    if not pools.any or item.is_replica is True:
        return passed("no nodes use it, or it is the copy of another one.")
    zone = known(item.zone, f"in which zone {item.kind} '{item.name}' is")
    if zone is None:
        return passed("in no single zone.")
    if zone in pools.known:
        return passed(f"in {zone}, as nodes that use it.")
    alike = [other for other in pools.known if is_zone_id(other) == is_zone_id(zone)]
    if pools.open or len(alike) < len(pools.known):
        raise CannotTellError(f"cannot tell whether {item.kind} '{item.name}' in {zone} is in the zone of its nodes.")
    nodes = ", ".join(sorted(pools.known))
    return failed(
        f"{item.kind} '{item.name}' is in {zone}, but the nodes that use it are in {nodes}: every read would cross "
        f"zones. Put it into {nodes}."
    )


@dataclass(frozen=True)
class _FileSystems:
    """Parallel file systems beside a pool: how many there are, and one of which that cannot be told."""

    parallel: int
    unknown: StorageFact | None


def _parallel(context: Context) -> Iterable[Finding]:
    stores = Neighbours(context.facts.file_systems, _parallel_among)
    return each(context, context.facts.node_pools, lambda given, pool: _judge_parallel(given, pool, stores.of(pool)))


def _parallel_among(stores: Sequence[Any]) -> _FileSystems:
    unknown = next((store for store in stores if isinstance(store.parallel, Unknown)), None)
    return _FileSystems(sum(store.parallel is True for store in stores), unknown)


def _judge_parallel(context: Context, pool: NodePoolFact, stores: _FileSystems) -> Answer:
    if not is_one_job_on_several_nodes(context, pool):
        return passed("one node, or nodes with a job each.")
    if stores.parallel:
        return passed("a parallel file system is beside it.")
    if stores.unknown is not None:
        known(stores.unknown.parallel, f"whether file system '{stores.unknown.name}' is a parallel one")
    script = known(pool.user_data, f"what the nodes of pool '{pool.name}' mount")
    if script is not None and _MOUNTS.search(script):
        return passed("its nodes mount one of another stack.")
    return failed(
        f"pool '{pool.name}' is one job on several nodes, and neither this stack nor what its nodes run has a parallel "
        "file system: every node would wait for one server. Add one, such as Lustre or CPFS, in the nodes' zone."
    )


def _throughput(context: Context) -> Iterable[Finding]:
    trained = Neighbours(context.facts.node_pools, lambda pools: [pool for pool in pools if _is_one_job(context, pool)])
    return each(
        context, context.facts.file_systems, lambda given, item: _judge_throughput(given, item, trained.of(item))
    )


def _is_one_job(context: Context, pool: NodePoolFact) -> bool:
    task = context.task_of(pool.tags)
    return isinstance(task, Unknown) or task not in (None, "inference")


def _judge_throughput(context: Context, item: StorageFact, pools: list[NodePoolFact]) -> Answer:
    if not pools or item.is_replica is True:
        return passed("no pool that trains uses it.")
    least = max(context.threshold("throughput_mb_per_s"), *(_need_of(context, pool) for pool in pools))
    speed = known(item.throughput_mb_per_s, f"how fast file system '{item.name}' is")
    if speed is None:
        raise CannotTellError(f"cannot tell how fast file system '{item.name}' is: its kind promises no throughput.")
    if speed >= least:
        for pool in pools:
            _require_told(context, pool)
        return passed(f"{speed:g} MB/s.")
    return failed(
        f"file system '{item.name}' gives {speed:g} MB/s to the nodes that train on it, less than {least:.0f}: GPUs "
        "wait for batches, and each checkpoint stops the job. Give it more throughput for each TiB, or more TiB."
    )


def _require_told(context: Context, pool: NodePoolFact) -> None:
    """What is not known yet of a pool may need more than what is: its work, model, machines and their number."""
    work = context.task_of(pool.tags), context.parameters_of(pool.tags)
    for value in (*work, pool.instance_types, pool.nodes_max):
        known(value, f"what the job of pool '{pool.name}' needs")


def _need_of(context: Context, pool: NodePoolFact) -> float:
    """What the planner says that a pool's job needs in MB/s; nothing where its work, model or GPUs are not known."""
    task, parameters = context.task_of(pool.tags), context.parameters_of(pool.tags)
    names = () if isinstance(pool.instance_types, Unknown) else pool.instance_types
    rows = [instance_type(pool.cloud, name) for name in names]
    gpus = max((row.gpu_count or 0 for row in rows if row is not None), default=0)
    nodes = (pool.job_nodes or pool.nodes_max) if task in ONE_JOB_ON_ALL_NODES else 1
    if not isinstance(task, str) or not isinstance(parameters, float) or not isinstance(nodes, int):
        return 0.0
    return _checkpoint_mb_per_s(task, parameters, gpus * nodes)


@cache
def _checkpoint_mb_per_s(task: str, parameters: float, gpus: int) -> float:
    """Throughput in MB/s at which writing checkpoints leaves training its share of the time.

    Source: gpuyard.planning.workload.storage, with its own sources
    """
    if gpus <= 0:
        return 0.0
    # Loaded where a pool names its work: the planner is slow to load, and most stacks do not.
    from gpuyard.planning.workload.job import job_of
    from gpuyard.planning.workload.request import WorkloadRequest
    from gpuyard.planning.workload.storage import storage_need

    try:
        request = WorkloadRequest.model_validate({"task": task, "parameters": parameters})
    except ValueError:
        # A tag can name any number, and any word as work: of what the planner does not plan it says no need.
        return 0.0
    return storage_need(job_of(request), "bf16", gpus, None).write_gb_per_s * 1000


def _judge_encryption(context: Context, item: StorageFact) -> Answer:
    if known(item.encrypted, f"whether {item.kind} '{item.name}' is encrypted"):
        return passed("encrypted at rest.")
    return failed(f"{item.kind} '{item.name}' is not encrypted at rest. Switch encryption on when it is created.")


def _scratch(context: Context) -> Iterable[Finding]:
    homes = Neighbours(context.facts.storage, lambda stores: any(map(is_lasting, stores)))
    return each(context, context.facts.file_systems, lambda _, item: _judge_scratch(item, has_home=homes.of(item)))


def _judge_scratch(item: StorageFact, *, has_home: bool) -> Answer:
    if not known(item.scratch, f"whether file system '{item.name}' is a scratch one"):
        return passed("keeps its data when a server fails.")
    if has_home:
        return passed("a bucket or a lasting file system is beside it.")
    if known(item.exports, f"whether file system '{item.name}' copies what is written to a bucket"):
        return passed("copies what is written to a bucket.")
    return failed(
        f"scratch file system '{item.name}' is the only home of what its nodes write: a failed server takes the "
        "checkpoints with it. Add a data repository association with automatic export, or a bucket for checkpoints."
    )


RULES = (
    Rule(
        id="STO001",
        name="storage-in-the-nodes-region",
        family="storage",
        title="File systems and buckets are in the region of the nodes that use them.",
        severity="high",
        levels=everywhere("mandatory"),
        rationale=(
            "Each batch and each checkpoint would cross regions: slower by the distance, bounded by the network "
            "between them, and charged by the gigabyte."
        ),
        remedy="Create the storage in the nodes' region; replicate from there to where a copy is wanted.",
        check=_same_region,
        example=("nodes in us-east-1, bucket in eu-west-1", "both in us-east-1, a replica in eu-west-1"),
    ),
    Rule(
        id="STO002",
        name="file-system-in-the-nodes-zone",
        family="storage",
        title="A file system is in the zone of the nodes that use it.",
        severity="medium",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale="Traffic between zones is paid for by the gigabyte both ways, and adds latency to every small read.",
        remedy="Create the file system in a subnet of the nodes' zone.",
        check=_same_zone,
        example=("nodes in us-east-1d, Lustre in us-east-1a", "both in us-east-1d"),
    ),
    Rule(
        id="STO003",
        name="multi-node-training-needs-a-parallel-file-system",
        family="storage",
        title="One job on several nodes has a parallel file system.",
        severity="medium",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale=(
            "All nodes read other parts of the same data at once, and write a checkpoint at the same moment. One "
            "server gives them a share of its own speed; a parallel file system gives each its own."
        ),
        remedy="Add FSx for Lustre, CPFS or Turbo CFS in the nodes' zone.",
        check=_parallel,
        example=("4 nodes, one NFS share", "4 nodes, Lustre of 6000 MB/s"),
    ),
    Rule(
        id="STO004",
        name="file-system-is-fast-enough",
        family="storage",
        title="A file system that training reads gives 500 MB/s or more, and what the job's checkpoints need.",
        severity="medium",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale=(
            "A checkpoint of a 7 B model with its optimizer is about 100 GB: at 500 MB/s it takes more than three "
            "minutes, in which all GPUs stand still. Where work, model and GPUs are known, the planner's need counts."
        ),
        remedy="Raise the throughput for each TiB, or the capacity.",
        check=_throughput,
        example=("1200 GiB at 125 MB/s a TiB: 150 MB/s", "4800 GiB at 250 MB/s a TiB: 1200 MB/s"),
        thresholds={
            "throughput_mb_per_s": Threshold(
                500,
                "MB/s",
                "least throughput of the whole file system",
                "https://docs.aws.amazon.com/fsx/latest/LustreGuide/performance.html (and 14 bytes a parameter of a "
                "checkpoint with Adam states: https://arxiv.org/abs/1910.02054)",
            )
        },
    ),
    *DISK_RULES,
    Rule(
        id="STO009",
        name="storage-is-encrypted",
        family="storage",
        title="File systems and buckets are encrypted at rest.",
        severity="high",
        levels=everywhere("mandatory"),
        rationale="Weights and training data are what the cluster exists for. Encryption costs nothing, and can hardly "
        "be added later: what exists must be copied.",
        remedy="Switch encryption on when the file system or bucket is created.",
        check=on_each(lambda facts: facts.storage, _judge_encryption),
        example=("EFS with encrypted: false", "EFS with encrypted: true"),
    ),
    Rule(
        id="STO010",
        name="checkpoints-do-not-live-on-scratch-alone",
        family="storage",
        title="A scratch file system is not the only home of checkpoints.",
        severity="high",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale=(
            "A scratch file system has no second copy: a failed server takes its files with it. An export path alone "
            "exports nothing by itself; only an association with an automatic export policy does."
        ),
        remedy="Export automatically to a bucket, or write checkpoints to a bucket or a persistent file system.",
        check=_scratch,
        example=("SCRATCH_2 with an export path", "SCRATCH_2 with an association that exports NEW and CHANGED"),
    ),
)
