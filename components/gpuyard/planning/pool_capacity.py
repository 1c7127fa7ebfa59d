"""How a pool's nodes are bought, and what does not go together with that."""

from gpuyard.catalog.limits import limit
from gpuyard.planning.plans import Place, PoolKind
from gpuyard.spec.node_pools import NodePoolSpec
from gpuyard.spec.problems import Path, Problem


def capacity_problems(spec: NodePoolSpec, place: Place, path: Path) -> list[Problem]:
    """Problems of capacity that was bought before: missing, unused, or named in two ways.

    Args:
        spec: What was asked for.
        place: Cloud and region.
        path: Where the pool stands in the cluster description.

    Returns:
        Every problem found.
    """
    found: list[Problem] = []
    reservation = spec.reservation
    bought = spec.purchase in ("reserved", "capacity_block")
    given = [] if reservation is None else [key for key in ("id", "resource_group_arn") if getattr(reservation, key)]
    if bought and not given:
        message = f"'purchase: {spec.purchase}' needs the capacity that was bought."
        found.append(Problem((*path, "reservation"), message, "Give 'reservation: {id: cr-…}'."))
    if not bought and reservation is not None:
        message = f"a reservation is not used by 'purchase: {spec.purchase}'."
        found.append(
            Problem((*path, "reservation"), message, "Use 'purchase: reserved' or 'capacity_block', or remove it.")
        )
    if len(given) == 2:
        found.append(Problem((*path, "reservation"), "both an id and a resource group are given.", "Give exactly one."))
    in_groups = limit(place.cloud, "ultraserver_block_types").values
    grouped = spec.purchase == "capacity_block" and given == ["resource_group_arn"]
    if grouped and spec.instance_type not in in_groups:
        message = "a capacity block is named by its own id; only an UltraServer block can be in a resource group."
        found.append(Problem((*path, "reservation", "resource_group_arn"), message, "Give 'id'."))
    return found


def pairing_problems(spec: NodePoolSpec, kind: PoolKind, zones: tuple[str, ...], path: Path) -> list[Problem]:
    """Problems of pairs of keys that are each right and do not go together.

    Args:
        spec: What was asked for.
        kind: Kind of the pool.
        zones: Zones that the pool may use.
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
        remedy = "Use 'purchase: on_demand', 'reserved' or 'capacity_block', or remove 'interconnect'."
        found.append(Problem((*path, "purchase"), message, remedy))
    if spec.placement != "cluster":
        return found
    if spec.purchase in ("capacity_block", "spot"):
        why = {
            "capacity_block": "a capacity block already places its machines close together, and the API refuses more",
            "spot": "spot capacity inside one placement group is rarely to be had",
        }[spec.purchase]
        message = f"'placement: cluster' does not go with 'purchase: {spec.purchase}': {why}."
        found.append(Problem((*path, "placement"), message, "Remove 'placement' or change 'purchase'."))
    # For RDMA several zones are a problem by themselves.
    if kind != "rdma" and len(set(zones)) > 1:
        message = f"'placement: cluster' stays in one zone, but the pool names {len(set(zones))}: {', '.join(zones)}."
        found.append(Problem((*path, "placement"), message, "Keep one zone, or remove 'placement'."))
    return found
