"""Node pools: from hardware facts or a type's name to machines, interfaces, placement and capacity."""

from gpuyard.catalog import (
    InstanceType,
    NodeImage,
    find_instance_types,
    gpu_models_named,
    gpus,
    instance_types,
    node_images,
    regions,
    zone_belongs_to,
)
from gpuyard.catalog.limits import limit
from gpuyard.catalog.regions import zone_example
from gpuyard.planning.interfaces import plan_interfaces
from gpuyard.planning.plans import NodePoolPlan, Place, PoolKind
from gpuyard.spec.models import NodePoolSpec
from gpuyard.spec.problems import Path, Problem, did_you_mean, one_of

DEFAULT_IMAGE = "dlami-ubuntu-22.04"


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
        *_size_problems(spec, kind, path),
        *_capacity_problems(spec, path),
    ]
    types, reasons, type_problems = _types(spec, kind, place, path)
    problems += type_problems
    if types:
        problems += _offer_problems(spec, types[0], zones, place, path)
    image, image_problems = _image(spec, place, path)
    problems += image_problems
    if not types or problems:
        return None, problems
    if types[0].offered_in(place.region) is None:
        reasons.append(f"The catalog does not know whether {place.region} offers {types[0].instance_type}.")
    interfaces = plan_interfaces(types[0], rdma=spec.interconnect == "rdma")
    if interfaces is None:
        message = f"the network-card layout of {types[0].instance_type} is unknown to the catalog."
        return None, [Problem((*path, "interconnect"), message, "Choose a type whose layout is known.")]
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
        root_device=(image or node_images(place.cloud)[DEFAULT_IMAGE]).root_device,
        reasons=tuple(reasons),
    )
    return plan, []


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
    if kind == "rdma" and len(set(zones)) > 1:
        message = f"RDMA stays in one zone, but the pool names {len(set(zones))}: {', '.join(zones)}."
        found.append(Problem((*path, "zones"), message, "Keep one zone; build one pool for each further zone."))
    return found


def zone_written_like(region: str, cloud: str) -> str:
    """How a zone of a region is written, as a remedy."""
    ids = ", or as a zone id" if cloud == "aws" else ""
    return f"A zone there is written like '{zone_example(region, cloud)}'{ids}."


def _size_problems(spec: NodePoolSpec, kind: PoolKind, path: Path) -> list[Problem]:
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
        most = limit("aws", "capacity_block_nodes_max")
        if low != high or high > most.values[0]:
            message = f"a capacity block holds a fixed number of nodes up to {most.values[0]}."
            return [Problem(at, message, f"Source: {most.source}.")]
    return []


def _capacity_problems(spec: NodePoolSpec, path: Path) -> list[Problem]:
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
    if spec.purchase == "capacity_block" and given == ["resource_group_arn"]:
        message = "a capacity block is named by its own id, it cannot be in a resource group."
        found.append(Problem((*path, "reservation", "resource_group_arn"), message, "Give 'id'."))
    if spec.placement == "cluster" and spec.purchase in ("capacity_block", "spot"):
        why = {
            "capacity_block": "a capacity block already places its machines close together, and the API refuses more",
            "spot": "spot capacity inside one placement group is rarely to be had",
        }[spec.purchase]
        message = f"'placement: cluster' does not go with 'purchase: {spec.purchase}': {why}."
        found.append(Problem((*path, "placement"), message, "Remove 'placement' or change 'purchase'."))
    return found


def _types(
    spec: NodePoolSpec, kind: PoolKind, place: Place, path: Path
) -> tuple[tuple[InstanceType, ...], list[str], list[Problem]]:
    if spec.gpu is not None and not gpu_models_named(spec.gpu):
        hint = did_you_mean(spec.gpu, [*gpus(), *_short_names()])
        message = f"the catalog knows no GPU called '{spec.gpu}'."
        remedy = f"{hint} Known on {place.cloud}: {', '.join(_gpus_on(place.cloud))}.".strip()
        return (), [], [Problem((*path, "gpu"), message, remedy)]
    if spec.instance_type is not None:
        return _named_type(spec, place, path)
    if spec.gpu is None:
        message = "names no hardware."
        return (), [], [Problem(path, message, "Give 'gpu' (and 'gpus_per_node') or 'instance_type'.")]
    return _fitting_types(spec, kind, place, path)


def _named_type(
    spec: NodePoolSpec, place: Place, path: Path
) -> tuple[tuple[InstanceType, ...], list[str], list[Problem]]:
    wanted = str(spec.instance_type)
    row = instance_types(place.cloud).get(wanted)
    if row is None:
        message = f"the catalog knows no {place.cloud} instance type '{wanted}'."
        hint = did_you_mean(wanted, instance_types(place.cloud)) or "See the catalog for the known ones."
        return (), [], [Problem((*path, "instance_type"), message, hint)]
    misfits = _misfits(spec, row)
    if misfits:
        others = [other.instance_type for other in _candidates(spec, place)]
        fits = (
            f"These fit: {', '.join(others)}."
            if others
            else f"No type in {place.region} fits all that the pool asks for."
        )
        return (), [], [Problem((*path, key), f"{wanted} {text}.", fits) for key, text in misfits]
    return (row,), [f"{wanted} was named."], []


def _misfits(spec: NodePoolSpec, row: InstanceType) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if spec.gpu is not None and row.gpu_model not in gpu_models_named(spec.gpu):
        found.append(("gpu", f"has {row.gpu_model} GPUs, not {spec.gpu}"))
    if spec.gpus_per_node is not None and row.gpu_count != spec.gpus_per_node:
        found.append(("gpus_per_node", f"has {row.gpu_count} GPUs, not {spec.gpus_per_node}"))
    if spec.bare_metal is not None and row.bare_metal is not spec.bare_metal:
        found.append(("bare_metal", f"is {'' if row.bare_metal else 'not '}bare metal"))
    if spec.interconnect == "rdma" and row.has_rdma is not True:
        found.append(("interconnect", f"has no EFA, the RDMA network of AWS{_unknown(row.has_rdma)}"))
    if spec.interconnect == "nvlink" and row.has_nvlink is not True:
        joined = row.gpu_interconnect or "an unknown link"
        found.append(("interconnect", f"joins its GPUs by {joined}, not NVLink"))
    return found


def _unknown(fact: bool | None) -> str:
    return ", as far as the catalog knows" if fact is None else ""


def _candidates(spec: NodePoolSpec, place: Place) -> tuple[InstanceType, ...]:
    return find_instance_types(
        place.cloud,
        gpu=spec.gpu,
        gpu_count=spec.gpus_per_node,
        interconnect="nvlink" if spec.interconnect == "nvlink" else None,
        rdma=True if spec.interconnect == "rdma" else None,
        region=place.region,
        bare_metal=spec.bare_metal,
        # The vendor images are for x86: an Arm machine has to be named.
        cpu_arch="x86_64",
    )


def _fitting_types(
    spec: NodePoolSpec, kind: PoolKind, place: Place, path: Path
) -> tuple[tuple[InstanceType, ...], list[str], list[Problem]]:
    found = [row for row in _candidates(spec, place) if row.gpu_partition == 1]
    if not found:
        return (), [], [_nothing_fits(spec, place, path)]
    first = found[0]
    if kind == "elastic":
        equal = [
            row
            for row in found
            if (row.gpu_model, row.gpu_count, row.bare_metal) == (first.gpu_model, first.gpu_count, first.bare_metal)
        ][: limit(place.cloud, "autoscaling_instance_types_max").values[0]]
        names = ", ".join(row.instance_type for row in equal)
        return tuple(equal), [f"{names}: each has {first.gpu_count} × {first.gpu_model}."], []
    others = [row.instance_type for row in found[1:]]
    reason = f"{first.instance_type} is the smallest type in {place.region} that fits"
    reason += f" (others: {', '.join(others)})." if others else "."
    return (first,), [reason], []


def _nothing_fits(spec: NodePoolSpec, place: Place, path: Path) -> Problem:
    asked = {
        "gpu": spec.gpu,
        "gpus_per_node": spec.gpus_per_node,
        "interconnect": None if spec.interconnect == "none" else spec.interconnect,
        "bare_metal": spec.bare_metal,
    }
    shown = ", ".join(f"{key}: {value}" for key, value in asked.items() if value is not None)
    loosened = {
        "gpus_per_node": spec.model_copy(update={"gpus_per_node": None}),
        "interconnect": spec.model_copy(update={"interconnect": "none"}),
        "bare_metal": spec.model_copy(update={"bare_metal": None}),
    }
    near = [
        f"without '{key}': {', '.join(row.instance_type for row in rows[:4])}"
        for key, other in loosened.items()
        if other != spec and (rows := _candidates(other, place))
    ]
    elsewhere = sorted(
        {
            region
            for row in find_instance_types(place.cloud, gpu=spec.gpu, gpu_count=spec.gpus_per_node)
            if not _misfits(spec, row)
            for region in row.regions or ()
        }
    )
    if elsewhere:
        near.append(f"in other regions: {', '.join(elsewhere)}")
    remedy = f"Nearest: {'; '.join(near)}." if near else "No region has one."
    if not regions(place.cloud)[place.region].offerings_known:
        remedy = f"The catalog does not know what {place.region} offers: name an 'instance_type'. {remedy}"
    return Problem((*path, "gpu"), f"no instance type in {place.region} has {shown}.", remedy)


def _offer_problems(
    spec: NodePoolSpec, row: InstanceType, zones: tuple[str, ...], place: Place, path: Path
) -> list[Problem]:
    key = (*path, "instance_type" if spec.instance_type else "gpu")
    if row.offered_in(place.region) is False:
        return [
            Problem(
                key,
                f"{row.instance_type} is not offered in {place.region}.",
                f"It is in: {', '.join(row.regions or ())}.",
            )
        ]
    found: list[Problem] = []
    if row.zone_ids is not None:
        for zone in zones:
            if "-az" in zone and zone not in row.zone_ids:
                here = [other for other in row.zone_ids if zone_belongs_to(other, place.region, place.cloud)]
                message = f"{row.instance_type} is not offered in zone {zone}."
                found.append(Problem((*path, "zones"), message, f"In {place.region} it is in {one_of(here)}."))
    if spec.purchase == "spot" and row.spot is False:
        found.append(
            Problem((*path, "purchase"), f"{row.instance_type} is not sold as spot.", "Choose another purchase.")
        )
    if spec.purchase == "capacity_block" and row.capacity_block is False:
        message = f"{row.instance_type} is not sold in capacity blocks."
        sold = [other.instance_type for other in instance_types(place.cloud).values() if other.capacity_block]
        found.append(Problem((*path, "purchase"), message, f"Sold so: {', '.join(sold)}."))
    return found


def _image(spec: NodePoolSpec, place: Place, path: Path) -> tuple[NodeImage | None, list[Problem]]:
    known = node_images(place.cloud)
    if spec.image is None:
        return known[DEFAULT_IMAGE], []
    if spec.image.startswith("ami-"):
        return None, []
    if spec.image in known:
        return known[spec.image], []
    message = f"'{spec.image}' is neither an image id (ami-…) nor a vendor image of the catalog."
    return None, [
        Problem((*path, "image"), message, f"{did_you_mean(spec.image, known)} Known: {', '.join(known)}.".strip())
    ]


def _gpus_on(cloud: str) -> list[str]:
    return list(dict.fromkeys(row.gpu_model for row in instance_types(cloud).values() if row.gpu_model in gpus()))


def _short_names() -> list[str]:
    return list(dict.fromkeys(name.split("-")[0] for name in gpus() if not name.startswith("RTX")))
