"""Single machines that work together: each is a resource of its own, and one job runs on all of them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import NodePoolFact, Record
from gpuyard_policy.facts.reading import read

# What names the pool that a machine was made for, and what brings machines together for one job.
_POOL_TAG = "gpuyard:pool"
_JOINED_BY = ("hpcClusterId", "placementGroup", "placementGroupId", "deploymentSetId")


def with_jobs(pools: Iterable[NodePoolFact], among: Among) -> tuple[NodePoolFact, ...]:
    """Pools, each single machine with how many machines of its kind are together with it.

    Machines are together that one pool's tag names, or that one HPC cluster, placement group or deployment set holds.

    Args:
        pools: Facts as each resource tells them.
        among: The resources of the stack.

    Returns:
        The same in the same order.
    """
    listed = list(pools)
    keys = [_key(pool, among) for pool in listed]
    together = Counter(key for key in keys if key is not None)
    return tuple(
        pool if key is None or together[key] == 1 else replace(pool, job_nodes=together[key])
        for pool, key in zip(listed, keys, strict=True)
    )


def _key(pool: NodePoolFact, among: Among) -> tuple[str, ...] | None:
    record = among.get(pool.urn)
    if record is None or pool.nodes_max != 1 or not isinstance(pool.instance_types, tuple):
        return None
    tag = read(pool.tags, _POOL_TAG)
    place = tag if isinstance(tag, str) else next((one for key in _JOINED_BY if (one := _named(record, key))), None)
    return None if place is None else (pool.cloud, place, *pool.instance_types)


def _named(record: Record, key: str) -> str | None:
    """What a property names: by its text, else by the resource of this stack that it comes from."""
    value = record.props.get(key)
    if isinstance(value, str):
        return value or None
    return next(iter(record.depends_on.get(key, ())), None) if value is not None else None
