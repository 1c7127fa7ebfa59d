"""Node pools: from hardware facts or a type's name to machines, interfaces, placement and capacity."""

from gpuyard.catalog import InstanceType, node_images, zone_belongs_to
from gpuyard.catalog.limits import limit
from gpuyard.catalog.regions import zone_example
from gpuyard.planning.images import DEFAULT_IMAGE, choose_image
from gpuyard.planning.interfaces import plan_interfaces
from gpuyard.planning.machines import choose_types
from gpuyard.planning.offers import offers_of
from gpuyard.planning.plans import NodePoolPlan, Place, PoolKind
from gpuyard.spec.models import NodePoolSpec
from gpuyard.spec.problems import Path, Problem


def plan_node_pool(
    name: str, spec: NodePoolSpec, place: Place, path: Path = ()
) -> tuple[NodePoolPlan | None, list[Problem]]:
    """What one pool is made of.

    Args:
        name: The pool's name.
        spec: What was asked for.
        place: Cloud, region, zone and work.
        path: Where the pool stands in the cluster description, for the problems' paths.

    Returns:
        The plan, or None when there is none; and every problem found.
    """
    kind = _kind(spec)
    zones = tuple(spec.zones or ([place.zone] if place.zone else []))
    problems = [
        *_zone_problems(spec, kind, zones, place, path),
        *_size_problems(spec, kind, place, path),
        *_capacity_problems(spec, place, path),
        *_pairing_problems(spec, kind, zones, path),
    ]
    types, reasons, found = choose_types(spec, kind, place, path)
    problems += found
    types, unknown, found = _offered(types, spec, zones, place, path)
    reasons += unknown
    problems += found
    image, found = choose_image(spec, types[0] if types else None, place, path)
    problems += found
    interfaces = plan_interfaces(types[0], rdma=spec.interconnect == "rdma") if types else ()
    if interfaces is None:
        message = f"the network-card layout of {types[0].instance_type} is unknown to the catalog."
        problems.append(Problem((*path, "interconnect"), message, "Choose a type whose layout is known."))
    if not types or interfaces is None or problems:
        return None, problems
    clustered = spec.placement == "cluster" or (
        spec.placement is None and kind == "rdma" and spec.purchase in ("on_demand", "reserved")
    )
    plan = NodePoolPlan(
        name=name,
        kind=kind,
        place=place,
        instance_types=types,
        min_nodes=spec.nodes.min,
        max_nodes=spec.nodes.max,
        zones=zones,
        purchase=spec.purchase,
        reservation_id=spec.reservation.id if spec.reservation else None,
        reservation_group_arn=spec.reservation.resource_group_arn if spec.reservation else None,
        clustered=clustered,
        interfaces=interfaces,
        root_disk_gib=spec.root_disk_gib,
        data_disk_gib=spec.data_disk_gib,
        image_id=spec.image if image is None else None,
        image_ssm_parameter=image.ssm_parameter if image else None,
        root_device=spec.root_device or (image or node_images(place.cloud)[DEFAULT_IMAGE]).root_device,
        reasons=tuple(reasons),
    )
    return plan, []


def _offered(
    types: tuple[InstanceType, ...], spec: NodePoolSpec, zones: tuple[str, ...], place: Place, path: Path
) -> tuple[tuple[InstanceType, ...], list[str], list[Problem]]:
    """The types that can be had; all of them, with the first one's problems, where none can."""
    offers = [(row, *offers_of(row, spec, zones, place, path)) for row in types]
    good = tuple(row for row, _, problems in offers if not problems)
    if not good:
        return types, [], offers[0][2] if offers else []
    reasons = [reason for _, unknown, problems in offers if not problems for reason in unknown]
    reasons += [f"Left out: {problem.message}" for _, _, problems in offers for problem in problems]
    return good, reasons, []


def _kind(spec: NodePoolSpec) -> PoolKind:
    if spec.interconnect == "rdma":
        return "rdma"
    return "elastic" if spec.purchase == "spot" or spec.nodes.min != spec.nodes.max else "fixed"


def _zone_problems(
    spec: NodePoolSpec, kind: PoolKind, zones: tuple[str, ...], place: Place, path: Path
) -> list[Problem]:
    if not zones:
        message = "no zone is named for this pool."
        return [
            Problem(
                (*path, "zones"),
                message,
                f"Set 'zone' of the cluster, or 'zones' here, to a zone of {place.region}.",
            )
        ]
    found = [
        Problem(
            (*path, "zones", place_in_list),
            f"'{zone}' is no zone of {place.region}.",
            zone_written_like(place.region, place.cloud),
        )
        for place_in_list, zone in enumerate(spec.zones or [])
        if not zone_belongs_to(zone, place.region, place.cloud)
    ]
    found += [
        Problem((*path, "zones", place_in_list), f"zone '{zone}' is named twice.", "Name each zone once.")
        for place_in_list, zone in enumerate(zones)
        if zone in zones[:place_in_list]
    ]
    if kind == "rdma" and len(set(zones)) > 1:
        message = f"RDMA stays in one zone, but the pool names {len(set(zones))}: {', '.join(zones)}."
        found.append(Problem((*path, "zones"), message, "Keep one zone; build one pool for each further zone."))
    return found


def zone_written_like(region: str, cloud: str) -> str:
    """How a zone of a region is written, as a remedy."""
    ids = ", or as a zone id" if cloud == "aws" else ""
    return f"A zone there is written like '{zone_example(region, cloud)}'{ids}."


def _size_problems(spec: NodePoolSpec, kind: PoolKind, place: Place, path: Path) -> list[Problem]:
    low, high = spec.nodes.min, spec.nodes.max
    at = (*path, "nodes")
    if low > high:
        return [Problem(at, f"min {low} is more than max {high}.", "Exchange or raise them.")]
    if kind == "rdma" and low != high:
        message = f"a pool joined by RDMA has a fixed size, not {low} to {high}."
        return [
            Problem(
                at,
                message,
                f"Write 'nodes: {high}': a job needs all its nodes, and EFA cannot be added later.",
            )
        ]
    if spec.purchase == "capacity_block":
        most = limit(place.cloud, "capacity_block_nodes_max")
        if low != high or high > most.values[0]:
            message = f"a capacity block holds a fixed number of nodes up to {most.values[0]}."
            return [Problem(at, message, f"Source: {most.source}.")]
    return []


def _capacity_problems(spec: NodePoolSpec, place: Place, path: Path) -> list[Problem]:
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


def _pairing_problems(spec: NodePoolSpec, kind: PoolKind, zones: tuple[str, ...], path: Path) -> list[Problem]:
    """Pairs of keys that are each right and do not go together."""
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
