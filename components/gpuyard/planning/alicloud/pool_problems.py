"""What does not go together in a node pool on Alibaba Cloud."""

from zoneinfo import ZoneInfo

from gpuyard.catalog.limits import limit
from gpuyard.planning.alicloud.cron import utc_cron
from gpuyard.planning.plans import Place, PoolKind
from gpuyard.planning.pool_size import is_cron
from gpuyard.spec.alicloud import AlicloudNodePoolSpec
from gpuyard.spec.node_pools import NodePoolSpec
from gpuyard.spec.problems import Path, Problem, one_of

# Keys of the pool's own group that only a spot pool has.
_SPOT_KEYS = ("spot_protected_hour", "multi_az_policy", "compensate_with_on_demand")


def purchase_problems(spec: NodePoolSpec, kind: PoolKind, place: Place, path: Path) -> list[Problem]:
    """Problems of how the nodes are bought: settings of spot without it, private pools, prepaid nodes that scale.

    Args:
        spec: What was asked for.
        kind: Kind of the pool.
        place: Cloud and region.
        path: Where the pool stands in the cluster description.

    Returns:
        Every problem found.
    """
    found = [*_reservation_problems(spec, place, path), *_spot_problems(spec, place, path)]
    if spec.purchase == "prepaid" and kind == "elastic":
        message = "Auto Scaling buys pay-as-you-go and spot nodes only: a pool that is paid ahead has a fixed size."
        remedy = f"Write 'nodes: {spec.nodes.max}', or use 'purchase: on_demand'."
        found.append(Problem((*path, "purchase"), message, remedy))
    return found


def _reservation_problems(spec: NodePoolSpec, place: Place, path: Path) -> list[Problem]:
    reservation = spec.reservation
    if reservation is None:
        return []
    at = (*path, "reservation")
    found = [
        Problem((*at, key), "is AWS's; Alibaba Cloud names bought capacity by the private pool's id.", "Give 'id'.")
        for key in ("resource_group_arn", "placement_group")
        if getattr(reservation, key) is not None
    ]
    prefixes = limit(place.cloud, "private_pool_id_prefixes").values
    if reservation.id is not None and not reservation.id.startswith(tuple(prefixes)):
        message = f"'{reservation.id}' is no id of a private pool."
        remedy = f"One begins with {one_of(prefixes)}: elasticity assurance or a capacity reservation."
        found.append(Problem((*at, "id"), message, remedy))
    return found


def _spot_problems(spec: NodePoolSpec, place: Place, path: Path) -> list[Problem]:
    own = spec.alicloud or AlicloudNodePoolSpec()
    at = (*path, "alicloud")
    if spec.purchase != "spot":
        return [
            Problem(
                (*at, key), f"is for spot pools, and this one is bought by 'purchase: {spec.purchase}'.", "Remove it."
            )
            for key in _SPOT_KEYS
            if key in own.model_fields_set
        ]
    found: list[Problem] = []
    if own.compensate_with_on_demand and own.multi_az_policy != "COST_OPTIMIZED":
        message = f"does not go with 'multi_az_policy: {own.multi_az_policy}'."
        remedy = "Set 'multi_az_policy: COST_OPTIMIZED', or remove it."
        found.append(Problem((*at, "compensate_with_on_demand"), message, remedy))
    digits = limit(place.cloud, "spot_price_decimals").values[0]
    price = spec.spot_price_limit
    if price is not None and (price != round(price, digits) or round(price, digits) == 0):
        message = f"{price:g} has more than {digits} digits behind the point."
        nearest = max(round(price, digits), 10**-digits)
        found.append(Problem((*path, "spot_price_limit"), message, f"Nearest: {nearest:g}."))
    return found


def elastic_problems(spec: NodePoolSpec, path: Path) -> list[Problem]:
    """Problems of an elastic pool: what a scaling configuration cannot say, and what its rules cannot see.

    Args:
        spec: What was asked for.
        path: Where the pool stands in the cluster description.

    Returns:
        Every problem found.
    """
    found: list[Problem] = []
    if spec.placement == "cluster":
        message = "a scaling configuration has no deployment set, so that elastic nodes cannot be kept close together."
        found.append(Problem((*path, "placement"), message, "Write 'nodes' as one number, or remove 'placement'."))
    if spec.alicloud is not None and spec.alicloud.jumbo_frames:
        message = "a scaling configuration has no jumbo frames."
        found.append(Problem((*path, "alicloud", "jumbo_frames"), message, "Remove it."))
    scaling = spec.scaling
    if scaling is None:
        return found
    if scaling.queue is not None:
        message = "rules of Auto Scaling see the metrics of the group's own nodes and no queue."
        remedy = (
            "Remove it and use 'gpu_utilization_percent' or 'schedule', or let the scheduler set the group's desired "
            "size itself (ess ModifyScalingGroup, DesiredCapacity)."
        )
        found.append(Problem((*path, "scaling", "queue"), message, remedy))
    for name, size in scaling.schedule.items():
        at = (*path, "scaling", "schedule", name, "cron")
        if _is_valid(size.cron, size.time_zone) and utc_cron(size) is None:
            message = f"'{size.cron}' in {size.time_zone} has no equal in UTC, which Auto Scaling's schedules are in."
            remedy = (
                "Write it in UTC ('time_zone: Etc/UTC') or in a zone without summer time, with hours of one day and "
                "either days of the week or days of the month."
            )
            found.append(Problem(at, message, remedy))
    return found


def _is_valid(cron: str, time_zone: str) -> bool:
    """Whether a schedule is right by itself; where it is not, that is a problem of its own."""
    try:
        ZoneInfo(time_zone)
    except (KeyError, ValueError, OSError):
        return False
    return is_cron(cron)
