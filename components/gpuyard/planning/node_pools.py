"""Node pools: from hardware facts or a type's name to machines, interfaces, placement and capacity."""

from dataclasses import replace

from gpuyard.catalog import InstanceType, zone_belongs_to
from gpuyard.catalog.limits import limit, limit_values
from gpuyard.catalog.regions import zone_example
from gpuyard.planning.cloud_parts import cloud_part
from gpuyard.planning.disks import plan_data_disk, plan_root_disk
from gpuyard.planning.images import choose_image, default_image
from gpuyard.planning.machines import choose_types
from gpuyard.planning.offers import offers_of
from gpuyard.planning.plans import InterfacePlan, NodePoolPlan, Place, PoolKind
from gpuyard.planning.pool_capacity import capacity_problems, pairing_problems
from gpuyard.planning.pool_size import size_problems, size_reasons
from gpuyard.planning.regional import foreign_group_problems, key_problems
from gpuyard.planning.software import plan_software
from gpuyard.spec.node_pools import NodePoolSpec
from gpuyard.spec.problems import Path, Problem, one_of


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
    place = replace(place, task=spec.task or place.task)
    kind = _kind(spec)
    zones = tuple(spec.zones or ([place.zone] if place.zone else []))
    problems = [
        *foreign_group_problems(spec, place.cloud, path),
        *_zone_problems(spec, kind, zones, place, path),
        *size_problems(spec, kind, place, path),
        *capacity_problems(spec, place, path),
        *pairing_problems(spec, kind, zones, place, path),
        *key_problems(spec.kms_key, place.cloud, place.region, (*path, "kms_key")),
        *_log_problems(spec, place, path),
    ]
    types, reasons, found = choose_types(spec, kind, place, path)
    problems += found
    types, unknown, found = _offered(types, spec, zones, place, path)
    reasons += unknown
    problems += found
    image, found = choose_image(spec, types[0] if types else None, place, path)
    problems += found
    software, found = plan_software(spec.software, types, image, place.cloud, path)
    problems += found
    cloud = cloud_part(place.cloud, "pools")
    problems += cloud.pool_problems(spec, kind, types, place, path)
    data_disk, disk_reasons, found = plan_data_disk(spec, types, place, path)
    problems += found
    interfaces: tuple[InterfacePlan, ...] | None = cloud.plan_interfaces(spec, types[0]) if types else ()
    if interfaces is None:
        message = f"the network-card layout of {types[0].instance_type} is unknown to the catalog."
        problems.append(Problem((*path, "interconnect"), message, "Choose a type whose layout is known."))
    if not types or interfaces is None or problems:
        return None, problems
    spare = 0 if kind == "elastic" else spec.spare_nodes
    details = cloud.pool_details(spec, kind, types, place)
    plan = NodePoolPlan(
        name=name,
        kind=kind,
        place=place,
        instance_types=types,
        min_nodes=spec.nodes.min + spare,
        max_nodes=spec.nodes.max + spare,
        zones=zones,
        purchase=spec.purchase,
        reservation_id=spec.reservation.id if spec.reservation else None,
        reservation_group_arn=spec.reservation.resource_group_arn if spec.reservation else None,
        reservation_placement_group=spec.reservation.placement_group if spec.reservation else None,
        clustered=cloud.is_clustered(spec, kind),
        interfaces=interfaces,
        root_disk=plan_root_disk(spec, place),
        data_disk=data_disk,
        scratch=spec.local_disk == "raid0" and any(row.local_nvme_count for row in types),
        kms_key=spec.kms_key,
        log_keep_days=spec.log_keep_days,
        checkpoint_seconds=spec.checkpoint_seconds,
        image_id=spec.image if image is None else None,
        image_query=image.query if image else None,
        root_device=spec.root_device or (image or default_image(place.cloud)).root_device,
        spare_nodes=spare,
        on_demand_nodes=spec.on_demand_nodes,
        desired_nodes=spec.nodes.desired,
        scaling=spec.scaling,
        spot_price_limit=spec.spot_price_limit,
        prepaid_months=spec.prepaid.months if spec.prepaid else None,
        prepaid_renew=spec.prepaid.renew if spec.prepaid else False,
        software=software,
        details=details,
        reasons=(*reasons, *disk_reasons, *size_reasons(spec, kind, place), *getattr(details, "reasons", ())),
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


def _log_problems(spec: NodePoolSpec, place: Place, path: Path) -> list[Problem]:
    if not limit_values(place.cloud, "log_retention_days"):
        if "log_keep_days" not in spec.model_fields_set:
            return []
        return [Problem((*path, "log_keep_days"), f"gpuyard keeps no logs of nodes on {place.cloud}.", "Remove it.")]
    days = limit(place.cloud, "log_retention_days")
    if spec.log_keep_days in days.values:
        return []
    shorter = [value for value in days.values if value < spec.log_keep_days]
    longer = [value for value in days.values if value > spec.log_keep_days]
    message = f"logs cannot be kept {spec.log_keep_days} days."
    remedy = f"Nearest: {one_of([*shorter[-1:], *longer[:1]])} (source: {days.source})."
    return [Problem((*path, "log_keep_days"), message, remedy)]
