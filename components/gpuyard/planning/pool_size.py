"""How many nodes a pool has, and what changes that."""

from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from gpuyard.catalog.limits import limit, limit_values
from gpuyard.planning.plans import Place, PoolKind
from gpuyard.spec.node_pools import NodePoolSpec, ScheduledSizeSpec
from gpuyard.spec.problems import Path, Problem


def size_problems(spec: NodePoolSpec, kind: PoolKind, place: Place, path: Path) -> list[Problem]:
    """Problems of a pool's size and of what changes it.

    Args:
        spec: What was asked for.
        kind: Kind of the pool.
        place: Cloud and region.
        path: Where the pool stands in the cluster description.

    Returns:
        Every problem found.
    """
    low, high = spec.nodes.min, spec.nodes.max
    if low > high:
        return [Problem((*path, "nodes"), f"min {low} is more than max {high}.", "Exchange or raise them.")]
    return [
        *_fixed_problems(spec, kind, place, path),
        *_desired_problems(spec, kind, path),
        *_spare_problems(spec, kind, path),
        *_on_demand_problems(spec, path),
        *_scaling_problems(spec, kind, path),
        *_drain_problems(spec, place, path),
    ]


def size_reasons(spec: NodePoolSpec, kind: PoolKind, place: Place) -> list[str]:
    """What a person should know of a pool's size: what spare nodes cost, and how long a spot node really has."""
    reasons: list[str] = []
    if spec.spare_nodes and kind != "elastic":
        share = spec.spare_nodes / spec.nodes.max
        reasons.append(f"{spec.nodes.max} nodes and {spec.spare_nodes} spare: {share:.0%} more cost.")
    if spec.purchase == "spot":
        notice = limit(place.cloud, "spot_notice_seconds").values[0]
        if spec.checkpoint_seconds > notice:
            earlier = "".join(
                f", or begin at the earlier {sign}" for sign in limit_values(place.cloud, "spot_early_signs")
            )
            reasons.append(
                f"A spot node ends {notice} s after its notice, though the scaler waits {spec.checkpoint_seconds} s: "
                f"write checkpoints within {notice} s{earlier}."
            )
    return reasons


def _fixed_problems(spec: NodePoolSpec, kind: PoolKind, place: Place, path: Path) -> list[Problem]:
    low, high = spec.nodes.min, spec.nodes.max
    at = (*path, "nodes")
    if kind == "rdma" and low != high:
        message = f"a pool joined by RDMA has a fixed size, not {low} to {high}."
        name = next(iter(limit_values(place.cloud, "rdma_short_name")), "RDMA")
        remedy = f"Write 'nodes: {high}': a job needs all its nodes, and {name} cannot be added later."
        return [Problem(at, message, remedy)]
    # Where there are none, the purchase is the problem.
    if spec.purchase == "capacity_block" and spec.purchase in limit(place.cloud, "purchases").values:
        most = limit(place.cloud, "capacity_block_nodes_max")
        if low != high or high + spec.spare_nodes > most.values[0]:
            message = f"a capacity block holds a fixed number of nodes up to {most.values[0]}."
            return [Problem(at, message, f"Source: {most.source}.")]
    return []


def _desired_problems(spec: NodePoolSpec, kind: PoolKind, path: Path) -> list[Problem]:
    desired = spec.nodes.desired
    at = (*path, "nodes", "desired")
    if desired is None:
        return []
    if kind != "elastic":
        return [Problem(at, "a pool of fixed size has nothing to begin with.", "Remove it.")]
    if not spec.nodes.min <= desired <= spec.nodes.max:
        message = f"{desired} is not between min {spec.nodes.min} and max {spec.nodes.max}."
        return [Problem(at, message, "Choose a number between them.")]
    return []


def _spare_problems(spec: NodePoolSpec, kind: PoolKind, path: Path) -> list[Problem]:
    if not spec.spare_nodes or kind != "elastic":
        return []
    message = "an elastic pool gets new nodes by itself and has no spare ones."
    return [Problem((*path, "spare_nodes"), message, "Raise 'nodes.max', or remove it.")]


def _on_demand_problems(spec: NodePoolSpec, path: Path) -> list[Problem]:
    at = (*path, "on_demand_nodes")
    if not spec.on_demand_nodes:
        return []
    if spec.purchase != "spot":
        message = f"is for spot pools, and this one is bought by 'purchase: {spec.purchase}'."
        return [Problem(at, message, "Set 'purchase: spot', or remove it.")]
    if spec.on_demand_nodes > spec.nodes.max:
        message = f"{spec.on_demand_nodes} is more than the pool's {spec.nodes.max} nodes at most."
        return [Problem(at, message, "Lower it, or raise 'nodes.max'.")]
    return []


def _scaling_problems(spec: NodePoolSpec, kind: PoolKind, path: Path) -> list[Problem]:
    scaling = spec.scaling
    if scaling is None:
        return []
    at = (*path, "scaling")
    if kind != "elastic":
        message = "a pool of fixed size is not scaled."
        return [Problem(at, message, "Give 'nodes' a min and a max and no RDMA, or remove it.")]
    found: list[Problem] = []
    starts = scaling.queue is not None or any(size.desired or size.min for size in scaling.schedule.values())
    if scaling.gpu_utilization_percent is not None and spec.nodes.min == 0 and not starts:
        message = "an empty pool has no GPU whose utilization could bring its first node."
        remedy = "Set 'nodes.min' to 1 or more, or add 'queue' or a 'schedule' that starts one."
        found.append(Problem((*at, "gpu_utilization_percent"), message, remedy))
    for name, size in scaling.schedule.items():
        found += _scheduled_problems(spec, size, (*at, "schedule", name))
    return found


def _scheduled_problems(spec: NodePoolSpec, size: ScheduledSizeSpec, at: Path) -> list[Problem]:
    found: list[Problem] = []
    if size.min is None and size.max is None and size.desired is None:
        found.append(Problem(at, "changes nothing.", "Give 'min', 'max' or 'desired'."))
    low = spec.nodes.min if size.min is None else size.min
    high = spec.nodes.max if size.max is None else size.max
    if low > high:
        found.append(Problem(at, f"min {low} is more than max {high}.", "Exchange or raise them."))
    elif size.desired is not None and not low <= size.desired <= high:
        message = f"{size.desired} is not between min {low} and max {high}."
        found.append(Problem((*at, "desired"), message, "Choose a number between them."))
    try:
        ZoneInfo(size.time_zone)
    except (KeyError, ValueError, OSError):
        message = f"'{size.time_zone}' is no time zone."
        found.append(Problem((*at, "time_zone"), message, "Write an IANA name such as Europe/Berlin."))
    if not is_cron(size.cron):
        message = f"'{size.cron}' is no cron expression of five fields."
        remedy = "Write minute, hour, day of month, month and day of week, such as '0 8 * * MON-FRI'."
        found.append(Problem((*at, "cron"), message, remedy))
    return found


def is_cron(text: str) -> bool:
    """Whether a text is a cron expression of five fields that comes due some day."""
    from datetime import UTC, datetime

    if len(text.split()) != 5:
        return False
    try:
        next(CronSim(text, datetime(2026, 1, 1, tzinfo=UTC)))
    except (CronSimError, StopIteration):
        return False
    return True


def _drain_problems(spec: NodePoolSpec, place: Place, path: Path) -> list[Problem]:
    low, high = limit(place.cloud, "lifecycle_hook_seconds").values
    if low <= spec.checkpoint_seconds <= high:
        return []
    message = f"the scaler cannot wait {spec.checkpoint_seconds} s for a checkpoint."
    return [Problem((*path, "checkpoint_seconds"), message, f"It waits from {low} to {high} s.")]
