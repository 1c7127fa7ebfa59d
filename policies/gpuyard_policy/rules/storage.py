"""Rules about where data lies."""

from collections.abc import Iterable

from gpuyard_policy.facts import NodePoolFact, StorageFact, Unknown
from gpuyard_policy.rules.rule import Context, Finding, Rule, Verdict, everywhere, of_same_cluster


def _same_region(context: Context) -> Iterable[Finding]:
    facts = context.facts
    if not facts.node_pools:
        return
    for item in facts.storage:
        verdict, message = _judge(item, of_same_cluster(item.tags, facts.node_pools, item.cloud))
        yield context.finding(verdict, item.urn, message)


def _judge(item: StorageFact, pools: list[NodePoolFact]) -> tuple[Verdict, str]:
    if not pools:
        return Verdict.PASS, "no nodes of the same cloud use it."
    if item.is_replica is True:
        return Verdict.PASS, "it is the copy of another one, and meant to be elsewhere."
    regions = {pool.region for pool in pools if isinstance(pool.region, str)}
    unknown = [pool for pool in pools if isinstance(pool.region, Unknown)]
    if isinstance(item.region, Unknown):
        return Verdict.UNDECIDED, f"cannot tell yet where {item.kind} '{item.name}' is: {item.region.why}."
    if item.region in regions:
        return Verdict.PASS, f"in {item.region}, as the nodes."
    if unknown:
        pool = unknown[0]
        why = pool.region.why if isinstance(pool.region, Unknown) else ""
        return Verdict.UNDECIDED, f"cannot tell yet where pool '{pool.name}' is: {why}."
    if isinstance(item.is_replica, Unknown):
        return (
            Verdict.UNDECIDED,
            f"cannot tell yet whether {item.kind} '{item.name}' is a copy: {item.is_replica.why}.",
        )
    nodes = ", ".join(sorted(regions))
    message = f"{item.kind} '{item.name}' is in {item.region}, but the nodes that use it are in {nodes}."
    return Verdict.FAIL, f"{message} Put it into {nodes}; what must be in {item.region} should be a replica."


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
    ),
)
