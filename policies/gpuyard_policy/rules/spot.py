"""Rules about machines that are taken away when others pay more."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard.catalog.prices import PriceBook
from gpuyard_policy.facts import NodePoolFact, StorageFact, Unknown
from gpuyard_policy.rules.judging import (
    TRAINING_TASKS,
    Answer,
    CannotTellError,
    Neighbours,
    each,
    failed,
    is_lasting,
    known,
    nodes_max_of,
    on_pools,
    passed,
    types_of,
    work_of,
)
from gpuyard_policy.rules.rule import Context, Finding, Rule, Threshold, everywhere, stricter

_SPOT = ("spot", "mixed")
_STORES = re.compile(r"\b(s3|oss|cos|cosn)://", re.IGNORECASE)


def _is_spot(pool: NodePoolFact) -> bool:
    return known(pool.purchase, f"how pool '{pool.name}' is bought") in _SPOT


def _on_spot_pools(judge: Callable[[Context, NodePoolFact], Answer]) -> Callable[[Context], Iterable[Finding]]:
    """A rule that judges each spot pool by itself alone."""
    return on_pools(lambda context, pool: judge(context, pool) if _is_spot(pool) else None)


@dataclass(frozen=True)
class _Homes:
    """Where checkpoints outlive a machine."""

    lasting: bool
    unknown: StorageFact | None


def _checkpoints(context: Context) -> Iterable[Finding]:
    homes = Neighbours(context.facts.storage, _homes_of)
    return each(context, context.facts.node_pools, lambda given, pool: _judge_checkpoints(given, pool, homes.of(pool)))


def _homes_of(stores: Sequence[Any]) -> _Homes:
    lasting = any(is_lasting(store) or store.exports is True for store in stores)
    unknown = next((store for store in stores if isinstance(store.scratch, Unknown) and store.kind != "bucket"), None)
    return _Homes(lasting, unknown)


def _judge_checkpoints(context: Context, pool: NodePoolFact, homes: _Homes) -> Answer:
    if not _is_spot(pool):
        return None
    task = work_of(context, pool)
    if task not in TRAINING_TASKS:
        return passed(f"'{task}' keeps no state on its nodes.")
    if homes.lasting:
        return passed("a bucket or a lasting file system is beside it.")
    script = known(pool.user_data, f"where pool '{pool.name}' writes checkpoints")
    if script is not None and _STORES.search(script):
        return passed("its nodes write to a bucket of another stack.")
    if homes.unknown is not None:
        known(homes.unknown.scratch, f"whether file system '{homes.unknown.name}' keeps its data")
    return failed(
        f"spot pool '{pool.name}' trains ({task}), and nothing beside it outlives a machine: an interruption loses the "
        "whole job. Add a bucket or a persistent file system for checkpoints."
    )


def _judge_pretraining(context: Context, pool: NodePoolFact) -> Answer:
    if work_of(context, pool) != "pretrain" or nodes_max_of(pool) <= 1:
        return passed("no pre-training on several nodes.")
    return failed(
        f"pool '{pool.name}' pre-trains on up to {nodes_max_of(pool)} spot nodes: losing one stops all of them. "
        "Reserve capacity, use a capacity block, or buy on demand."
    )


def _judge_several_types(context: Context, pool: NodePoolFact) -> Answer:
    types = types_of(pool)
    if len(types) > 1:
        return passed(f"{len(types)} instance types.")
    return failed(
        f"spot pool '{pool.name}' may be of {', '.join(types)} only: when that is short, there is nothing. Name a "
        "second type with the same GPU."
    )


def _judge_told(_: Context, pool: NodePoolFact) -> Answer:
    if known(pool.handles_interruption, f"whether pool '{pool.name}' handles interruptions"):
        return passed("something is told before a machine is taken away.")
    return failed(
        f"nothing is told before a machine of spot pool '{pool.name}' is taken away: no checkpoint is written in the "
        "time that is left. Add a lifecycle hook, an event rule, or a watcher on the nodes."
    )


def _judge_placement(_: Context, pool: NodePoolFact) -> Answer:
    if known(pool.placement, f"whether pool '{pool.name}' has a placement group") != "close":
        return passed("placed anywhere.")
    return failed(
        f"spot pool '{pool.name}' wants its machines together: it gets them only where one place has enough spare "
        "ones, and loses them together. Remove the placement group, or do not use spot."
    )


def _judge_price(context: Context, pool: NodePoolFact) -> Answer:
    limit = known(pool.spot_price_limit, f"what pool '{pool.name}' pays at most")
    if limit is None:
        return passed("up to the on-demand price.")
    share, region = context.threshold("share_of_spot_price"), known(pool.region, f"where pool '{pool.name}' is")
    floors: list[tuple[float, str]] = []
    for name in types_of(pool):
        quote = PriceBook.load().quote(pool.cloud, name, region)
        if quote is None or quote.spot is None or quote.unit != "hour":
            raise CannotTellError(
                f"cannot tell whether {limit:g} an hour is enough for pool '{pool.name}': the price book has no spot "
                f"price of {name} in {region}."
            )
        floors.append((share * quote.spot, f"{share * quote.spot:.4g} {quote.currency} for {name} ({quote.date})"))
    if not floors or limit >= min(floors)[0]:
        return passed(f"{limit:g} an hour is enough for a type of it.")
    return failed(
        f"pool '{pool.name}' pays at most {limit:g} an hour, less than {min(floors)[1]}: it would get no machine. "
        "Raise the limit, or leave it out: more than on demand is never paid."
    )


RULES = (
    Rule(
        id="SPT001",
        name="spot-training-needs-a-checkpoint-store",
        family="spot",
        title="A spot pool that trains has a lasting place for checkpoints.",
        severity="high",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale="Spot machines are taken away with two minutes' notice at best, and their disks with them.",
        remedy="Add a bucket, or a persistent file system, to the same cluster.",
        check=_checkpoints,
        example=("spot, local disks alone", "spot, with a checkpoint bucket"),
    ),
    Rule(
        id="SPT002",
        name="no-spot-for-multi-node-pretraining",
        family="spot",
        title="Pre-training on several nodes does not use spot.",
        severity="high",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale="All nodes wait for the one that was taken, and then for a new one with the same neighbours.",
        remedy="Reserve capacity, use a capacity block, or buy on demand.",
        check=_on_spot_pools(_judge_pretraining),
        example=("pretrain on 8 spot nodes", "pretrain on 8 nodes of a capacity block"),
    ),
    Rule(
        id="SPT003",
        name="spot-pool-has-several-types",
        family="spot",
        title="A spot pool may be of several instance types.",
        severity="low",
        levels=everywhere("advisory"),
        rationale="Each type in each zone is a market of its own; a pool of one type stops when its market is empty.",
        remedy="Name more types with the same GPU.",
        check=_on_spot_pools(_judge_several_types),
        example=("g5.2xlarge alone", "g5.2xlarge, g5.4xlarge, g5.8xlarge"),
    ),
    Rule(
        id="SPT004",
        name="spot-interruption-is-handled",
        family="spot",
        title="Somebody is told before a spot machine is taken away.",
        severity="medium",
        levels=stricter("advisory", "advisory", "mandatory"),
        rationale=(
            "The notice comes seconds or minutes before. What does not listen loses all since the last checkpoint."
        ),
        remedy="Add a lifecycle hook, an event rule or a watcher that writes a checkpoint.",
        check=_on_spot_pools(_judge_told),
        example=("a spot group alone", "a spot group with a termination hook"),
    ),
    Rule(
        id="SPT005",
        name="no-placement-group-with-spot",
        family="spot",
        title="A spot pool has no placement group.",
        severity="medium",
        levels=everywhere("mandatory"),
        rationale="Together means from one rack's spare machines: rarely enough, and all gone at the same time.",
        remedy="Remove the placement group, or do not use spot.",
        check=_on_spot_pools(_judge_placement),
        example=("spot with strategy: cluster", "spot without a placement group"),
    ),
    Rule(
        id="SPT006",
        name="spot-price-limit-is-enough",
        family="spot",
        title="The price limit of a spot pool is not below the price.",
        severity="medium",
        levels=everywhere("advisory"),
        rationale="A limit under the going price gets no machine, and no error either: the pool just stays empty.",
        remedy="Raise the limit, or leave it out.",
        check=_on_spot_pools(_judge_price),
        example=("at most 0.10 USD for g5.2xlarge", "no limit"),
        thresholds={
            "share_of_spot_price": Threshold(
                1,
                "share",
                "least limit as a share of the dated spot price in the catalog",
                "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-best-practices.html",
            )
        },
    ),
)
