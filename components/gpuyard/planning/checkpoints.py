"""The checkpoint bucket: its prefixes, how long objects are kept, and when they move to cheaper storage."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from gpuyard.catalog.file_stores import ObjectStorageClass, object_storage_classes
from gpuyard.catalog.limits import limit_values
from gpuyard.planning.plans import CHECKPOINT_PREFIX, BucketPlan, Place, PrefixPlan, TransitionPlan
from gpuyard.planning.regional import key_problems, second_region_problems
from gpuyard.spec.models import CheckpointSpec
from gpuyard.spec.problems import Path, Problem, one_of
from gpuyard.spec.storage import Tier

NONCURRENT_KEEP_DAYS = 7
ABORT_UPLOADS_AFTER_DAYS = 2

# The tier that copies rest in from the first day, as hardly anybody reads them.
_TIER_OF_COPIES = "infrequent"


def plan_checkpoints(spec: CheckpointSpec, place: Place, path: Path = ()) -> tuple[BucketPlan | None, list[Problem]]:
    """What the checkpoint bucket is.

    Args:
        spec: What was asked for.
        place: Cloud and region of the nodes.
        path: Where it stands in the cluster description, for the problems' paths.

    Returns:
        The plan, or None when there is none; and every problem found.
    """
    problems: list[Problem] = []
    if spec.region is not None and spec.region != place.region:
        message = f"the checkpoint bucket is in {spec.region}, the nodes are in {place.region}."
        remedy = (
            f"Set it to {place.region} or leave it out: each checkpoint would cross regions, slowly and at a price. "
            f"'replicate_to: {spec.region}' keeps a copy there."
        )
        problems.append(Problem((*path, "region"), message, remedy))
    problems += second_region_problems(spec.replicate_to, place, (*path, "replicate_to"))
    problems += key_problems(spec.kms_key, place.cloud, place.region, (*path, "kms_key"), alias=False)
    problems += _replica_key_problems(spec, place.cloud, path)
    prefixes, found = _prefixes(spec, place.cloud, path)
    problems += found
    if problems:
        return None, problems
    return (
        BucketPlan(
            region=place.region,
            prefixes=prefixes,
            noncurrent_keep_days=NONCURRENT_KEEP_DAYS,
            abort_uploads_after_days=ABORT_UPLOADS_AFTER_DAYS,
            replica_region=spec.replicate_to,
            kms_key=spec.kms_key,
            replica_kms_key=spec.replica_kms_key,
            replica_storage_class=None if spec.replicate_to is None else _replica_class(prefixes, place.cloud),
        ),
        [],
    )


def _replica_key_problems(spec: CheckpointSpec, cloud: str, path: Path) -> list[Problem]:
    at = (*path, "replica_kms_key")
    if spec.replicate_to is None:
        if spec.replica_kms_key is None:
            return []
        return [Problem(at, "there is no copy to encrypt.", "Set 'replicate_to', or remove it.")]
    if spec.kms_key is not None and spec.replica_kms_key is None:
        message = f"objects under a key of your own are copied to {spec.replicate_to} only under a key of that region."
        return [Problem(at, message, f"Name a key of {spec.replicate_to}.")]
    return key_problems(spec.replica_kms_key, cloud, spec.replicate_to, at, alias=False)


def _prefixes(spec: CheckpointSpec, cloud: str, path: Path) -> tuple[tuple[PrefixPlan, ...], list[Problem]]:
    first, problems = _prefix(CHECKPOINT_PREFIX, spec.keep_days, spec.tiers, cloud, path)
    plans = [first]
    for name, prefix in spec.prefixes.items():
        at = (*path, "prefixes", name)
        if name == CHECKPOINT_PREFIX:
            message = f"the prefix '{name}' is there already: it is the one of 'keep_days' and 'tiers' above."
            problems.append(Problem(at, message, "Choose another name, or set them there."))
        plan, found = _prefix(name, prefix.keep_days, prefix.tiers, cloud, at)
        plans.append(plan)
        problems += found
    return tuple(plans), problems


def _prefix(
    name: str, keep_days: int, tiers: Mapping[Tier, int], cloud: str, path: Path
) -> tuple[PrefixPlan, list[Problem]]:
    by_tier = {row.tier: row for row in object_storage_classes(cloud).values() if row.tier is not None}
    problems = [
        Problem((*path, "tiers", tier), f"{cloud} has no storage class that is '{tier}'.", f"It has {one_of(by_tier)}.")
        for tier in tiers
        if tier not in by_tier
    ]
    steps = sorted(((days, by_tier[tier]) for tier, days in tiers.items() if tier in by_tier), key=lambda step: step[0])
    problems += _order_problems(steps, by_tier, path)
    problems += _end_problems(steps, keep_days, path)
    transitions = tuple(TransitionPlan(days, row.name) for days, row in steps)
    return PrefixPlan(name, keep_days, transitions), problems


def _order_problems(
    steps: Sequence[tuple[int, ObjectStorageClass]], by_tier: Mapping[str, ObjectStorageClass], path: Path
) -> list[Problem]:
    """Problems of moves that come too early, go nowhere, or leave a class before its least time is over.

    Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/lifecycle-transition-general-considerations.html
    """
    problems: list[Problem] = []
    for days, row in steps:
        if row.move_in_after_days is not None and days < row.move_in_after_days:
            message = f"an object may move to {row.name} {row.move_in_after_days} days after it was made, not {days}."
            problems.append(Problem(_tier(path, row), message, f"Set it to {row.move_in_after_days} or more."))
    for (days, row), (next_days, following) in pairwise(steps):
        at = _tier(path, following)
        least = max(row.min_storage_days or 0, 1)
        later = f"Set it to {days + least} or more, or remove '{row.tier}'."
        if next_days == days:
            message = f"an object cannot move to {row.name} and to {following.name} on the same day."
            problems.append(Problem(at, message, later))
        elif row.moves_on_to is not None and following.name not in row.moves_on_to:
            message = f"an object in {row.name} from day {days} cannot move on to {following.name} on day {next_days}."
            colder = [tier for tier, other in by_tier.items() if other.name in row.moves_on_to]
            problems.append(Problem(at, message, f"What may follow '{row.tier}': {one_of(colder)}."))
        elif next_days - days < least:
            message = f"an object leaves {row.name} after {next_days - days} days, but {least} are billed at least."
            problems.append(Problem(at, message, later))
    return problems


def _end_problems(steps: Sequence[tuple[int, ObjectStorageClass]], keep_days: int, path: Path) -> list[Problem]:
    """Problems of classes that an object never gets to, or does not stay in long enough to be worth the move.

    Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/lifecycle-transition-general-considerations.html
    (what is deleted before the least time is charged for the rest of it)
    """
    problems: list[Problem] = []
    for asked, row in steps:
        earliest = max(row.move_in_after_days or 0, 1)
        days, least = max(asked, earliest), max(row.min_storage_days or 0, 1)
        if keep_days <= days:
            message = f"an object moves to {row.name} after {days} days, but it is removed after {keep_days}."
        elif keep_days - days < least and row is steps[-1][1]:
            message = (
                f"an object is in {row.name} for {keep_days - days} days before it is removed, but {least} are billed "
                "at least: the move costs more than it saves."
            )
        else:
            continue
        earlier = f", this to {keep_days - least} or less" if keep_days - least >= earliest else ""
        remedy = f"Set 'keep_days' to {days + least} or more{earlier}, or remove it."
        problems.append(Problem(_tier(path, row), message, remedy))
    return problems


def _tier(path: Path, row: ObjectStorageClass) -> Path:
    return (*path, "tiers", str(row.tier))


def _replica_class(prefixes: Sequence[PrefixPlan], cloud: str) -> str | None:
    """The class that copies are written in; None for the object's own.

    A copy has the same lifecycle as its object. So the cheaper class is none for it where a rule removes or moves it
    before the class's least time is over, or moves it to where nothing moves from that class.
    """
    if limit_values(cloud, "copies_keep_storage_class"):
        return None
    cheaper = next((row for row in object_storage_classes(cloud).values() if row.tier == _TIER_OF_COPIES), None)
    if cheaper is None or cheaper.min_storage_days is None or cheaper.moves_on_to is None:
        return None
    for prefix in prefixes:
        first_change = min((prefix.keep_days, *(step.after_days for step in prefix.transitions)))
        classes = {step.storage_class for step in prefix.transitions}
        if first_change < cheaper.min_storage_days or not classes <= set(cheaper.moves_on_to):
            return None
    return cheaper.name
