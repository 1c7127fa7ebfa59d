"""How a pool's nodes are bought, and what does not go together with that."""

from gpuyard.catalog.limits import limit, limit_values
from gpuyard.planning.plans import Place, PoolKind
from gpuyard.spec.node_pools import NodePoolSpec
from gpuyard.spec.problems import Path, Problem, one_of


def capacity_problems(spec: NodePoolSpec, place: Place, path: Path) -> list[Problem]:
    """Problems of capacity that was bought before: missing, unused, or named in two ways.

    Args:
        spec: What was asked for.
        place: Cloud and region.
        path: Where the pool stands in the cluster description.

    Returns:
        Every problem found.
    """
    ways = limit(place.cloud, "purchases")
    if spec.purchase not in ways.values:
        message = f"'{spec.purchase}' is no way to buy nodes on {place.cloud}."
        return [Problem((*path, "purchase"), message, f"Allowed: {one_of(ways.values)} (source: {ways.source}).")]
    found = _prepaid_problems(spec, place, path)
    reservation = spec.reservation
    bought = spec.purchase in ("reserved", "capacity_block")
    given = [] if reservation is None else [key for key in ("id", "resource_group_arn") if getattr(reservation, key)]
    if bought and not given:
        message = f"'purchase: {spec.purchase}' needs the capacity that was bought."
        example = limit(place.cloud, "reservation_id_example").values[0]
        found.append(Problem((*path, "reservation"), message, f"Give 'reservation: {{id: {example}}}'."))
    if not bought and reservation is not None:
        message = f"a reservation is not used by 'purchase: {spec.purchase}'."
        found.append(Problem((*path, "reservation"), message, f"Use {_bought_ways(ways.values)}, or remove it."))
    if len(given) == 2:
        found.append(Problem((*path, "reservation"), "both an id and a resource group are given.", "Give exactly one."))
    if reservation is not None and reservation.placement_group is not None and spec.purchase != "reserved":
        at = (*path, "reservation", "placement_group")
        found.append(Problem(at, f"does not go with 'purchase: {spec.purchase}'.", "Remove it."))
    in_groups = limit_values(place.cloud, "ultraserver_block_types")
    grouped = spec.purchase == "capacity_block" and given == ["resource_group_arn"]
    if grouped and spec.instance_type not in in_groups:
        message = "a capacity block is named by its own id; only an UltraServer block can be in a resource group."
        found.append(Problem((*path, "reservation", "resource_group_arn"), message, "Give 'id'."))
    return found


def pairing_problems(
    spec: NodePoolSpec, kind: PoolKind, zones: tuple[str, ...], place: Place, path: Path
) -> list[Problem]:
    """Problems of pairs of keys that are each right and do not go together.

    Args:
        spec: What was asked for.
        kind: Kind of the pool.
        zones: Zones that the pool may use.
        place: Cloud and region.
        path: Where the pool stands in the cluster description.

    Returns:
        Every problem found.
    """
    found: list[Problem] = []
    if kind == "rdma" and spec.purchase == "spot":
        message = (
            "'purchase: spot' does not go with 'interconnect: rdma': a job joined by RDMA needs all its nodes for its "
            "whole run, and one node that is taken back ends it."
        )
        first, *others = [way for way in limit(place.cloud, "purchases").values if way != "spot"]
        ways = one_of([f"'purchase: {first}'", *(f"'{way}'" for way in others)])
        remedy = f"Use {ways}, or remove 'interconnect'."
        found.append(Problem((*path, "purchase"), message, remedy))
    if spec.placement != "cluster":
        return found
    if spec.purchase in ("capacity_block", "spot", "reserved"):
        why = {
            "reserved": "a new placement group has nothing to do with the reserved capacity and keeps nodes out of it",
            "capacity_block": "a capacity block already places its machines close together, and the API refuses more",
            "spot": "spot capacity inside one placement group is rarely to be had",
        }[spec.purchase]
        message = f"'placement: cluster' does not go with 'purchase: {spec.purchase}': {why}."
        remedy = "Remove 'placement' or change 'purchase'."
        if spec.purchase == "reserved":
            remedy = "Remove 'placement', or give 'reservation.placement_group', the group that it was reserved in."
        found.append(Problem((*path, "placement"), message, remedy))
    # For RDMA several zones are a problem by themselves.
    if kind != "rdma" and len(set(zones)) > 1:
        message = f"'placement: cluster' stays in one zone, but the pool names {len(set(zones))}: {', '.join(zones)}."
        found.append(Problem((*path, "placement"), message, "Keep one zone, or remove 'placement'."))
    return found


def _bought_ways(ways: tuple[str, ...]) -> str:
    bought = [way for way in ways if way in ("reserved", "capacity_block")]
    return " or ".join(f"'purchase: {way}'" if way == bought[0] else f"'{way}'" for way in bought)


def _prepaid_problems(spec: NodePoolSpec, place: Place, path: Path) -> list[Problem]:
    found: list[Problem] = []
    if spec.purchase == "prepaid" and spec.prepaid is None:
        message = "'purchase: prepaid' needs the months that are paid ahead."
        found.append(Problem((*path, "prepaid"), message, "Give 'prepaid: {months: 1}'."))
    if spec.purchase != "prepaid" and spec.prepaid is not None:
        message = f"months are not paid ahead by 'purchase: {spec.purchase}'."
        remedy = "Use 'purchase: prepaid', or remove it."
        if "prepaid" not in limit(place.cloud, "purchases").values:
            remedy = "Remove it."
        found.append(Problem((*path, "prepaid"), message, remedy))
    months = limit_values(place.cloud, "prepaid_months")
    if spec.prepaid is not None and spec.purchase == "prepaid" and spec.prepaid.months not in months:
        message = f"{spec.prepaid.months} months cannot be paid ahead."
        found.append(Problem((*path, "prepaid", "months"), message, f"Allowed: {one_of(months)}."))
    if spec.purchase != "spot" and spec.spot_price_limit is not None:
        message = f"is for spot pools, and this one is bought by 'purchase: {spec.purchase}'."
        found.append(Problem((*path, "spot_price_limit"), message, "Set 'purchase: spot', or remove it."))
    return found
