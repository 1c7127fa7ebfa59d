"""Whether a machine can be had: region, zones and the way it is bought."""

from gpuyard.catalog import InstanceType, instance_types, zone_belongs_to
from gpuyard.catalog.limits import limit_values
from gpuyard.catalog.regions import is_zone_id
from gpuyard.planning.images import IMAGE_VENDOR
from gpuyard.planning.plans import Place
from gpuyard.spec.models import NodePoolSpec
from gpuyard.spec.problems import Path, Problem, first_of, one_of


def offers_of(
    row: InstanceType, spec: NodePoolSpec, zones: tuple[str, ...], place: Place, path: Path
) -> tuple[list[str], list[Problem]]:
    """Whether a type can be had where and how a pool wants it.

    Args:
        row: The type.
        spec: What was asked for.
        zones: Zones that the pool may use.
        place: Cloud and region.
        path: Where the pool stands in the cluster description.

    Returns:
        What the catalog does not know, as reasons; and every problem found.
    """
    name, region = row.instance_type, place.region
    offered = row.offered_in(region)
    if offered is False:
        remedy = f"It is in: {', '.join(row.regions)}." if row.regions else "The catalog knows no region that has it."
        key = (*path, "instance_type" if spec.instance_type else "gpu")
        return [], [Problem(key, f"{name} is not offered in {region}.", remedy)]
    unknown, problems = _in_zones(row, zones, place, path) if offered else ([], [])
    if offered is None:
        unknown.append(f"The catalog does not know whether {region} offers {name}.")
    bought_unknown, bought_problems = _bought(row, spec, path)
    return [*unknown, *bought_unknown], [*problems, *bought_problems]


def is_sold(row: InstanceType, purchase: str) -> bool | None:
    """Whether a type is sold in a way; ``None`` when the catalog does not know.

    Args:
        row: The type.
        purchase: ``on_demand``, ``spot``, ``reserved`` or ``capacity_block``.

    Returns:
        What the catalog knows; nothing speaks against an on-demand purchase but a block that is the only way.
    """
    if purchase == "capacity_block":
        return row.capacity_block
    if row.instance_type in limit_values(row.cloud, "ultraserver_block_types"):
        return False
    return row.spot if purchase == "spot" else True


def _in_zones(row: InstanceType, zones: tuple[str, ...], place: Place, path: Path) -> tuple[list[str], list[Problem]]:
    # A zone's name means another place in each account: only an id can be looked up.
    ids = [zone for zone in zones if is_zone_id(zone) and zone_belongs_to(zone, place.region, place.cloud)]
    here = [zone for zone in row.zone_ids or () if zone_belongs_to(zone, place.region, place.cloud)]
    if not here:
        return [f"The catalog does not know whether zone {zone} offers {row.instance_type}." for zone in ids], []
    return [], [
        Problem(
            (*path, "zones"),
            f"{row.instance_type} is not offered in zone {zone}.",
            f"In {place.region} it is in {one_of(here)}.",
        )
        for zone in ids
        if zone not in here
    ]


def _bought(row: InstanceType, spec: NodePoolSpec, path: Path) -> tuple[list[str], list[Problem]]:
    name, at = row.instance_type, (*path, "purchase")
    sold = is_sold(row, spec.purchase)
    if sold:
        return [], []
    if sold is None:
        how = "as spot" if spec.purchase == "spot" else "in capacity blocks"
        return [f"The catalog does not know whether {name} is sold {how}."], []
    if spec.purchase == "capacity_block":
        others = [
            other.instance_type
            for other in instance_types(row.cloud).values()
            if other.capacity_block and other.accelerator_vendor == IMAGE_VENDOR
        ]
        return [], [Problem(at, f"{name} is not sold in capacity blocks.", f"Sold so: {first_of(others)}.")]
    if name in limit_values(row.cloud, "ultraserver_block_types"):
        message = f"{name} is sold only as an UltraServer capacity block, not by 'purchase: {spec.purchase}'."
        return [], [Problem(at, message, "Use 'purchase: capacity_block' with the block's 'reservation'.")]
    return [], [Problem(at, f"{name} is not sold as spot.", "Choose another purchase.")]
