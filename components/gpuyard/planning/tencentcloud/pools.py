"""What only Tencent Cloud decides about a node pool: HPC clusters, workspaces, drivers, and what its scaler lacks."""

from dataclasses import dataclass

from gpuyard.catalog import InstanceType
from gpuyard.catalog.limits import limit
from gpuyard.planning.plans import InterfacePlan, Place, PoolKind
from gpuyard.planning.tencentcloud.scaling import scaling_problems
from gpuyard.spec.node_pools import NodePoolSpec
from gpuyard.spec.problems import Path, Problem, first_of, one_of

CLOUD = "tencentcloud"


@dataclass(frozen=True, slots=True)
class PoolDetails:
    """What a plan holds for this cloud alone.

    ``machine_types`` are the names that the zone sells, in the order of the plan's types. ``hpc_cluster`` says whether
    the machines are in one. ``workspace_type`` is the space type of a THPC workspace, None for ordinary machines.
    """

    machine_types: tuple[str, ...]
    hpc_cluster: bool
    workspace_type: str | None
    cpu_utilization_percent: int | None
    reasons: tuple[str, ...] = ()


def plan_interfaces(spec: NodePoolSpec, row: InstanceType) -> tuple[InterfacePlan, ...]:
    """The network interfaces of one node: one, as the RDMA network of HCC types is part of the machine.

    Args:
        spec: What was asked for.
        row: The machine.

    Returns:
        The interface.
    """
    return (InterfacePlan(0, 0, "interface"),)


def is_clustered(spec: NodePoolSpec, kind: PoolKind) -> bool:
    """Whether the pool gets a placement group: never, as those of this cloud only spread machines.

    Args:
        spec: What was asked for.
        kind: Kind of the pool.

    Returns:
        False; nodes that are to be close together are in an HPC cluster.
    """
    return False


def pool_problems(
    spec: NodePoolSpec, kind: PoolKind, types: tuple[InstanceType, ...], place: Place, path: Path
) -> list[Problem]:
    """Problems that only this cloud knows.

    Args:
        spec: What was asked for.
        kind: Kind of the pool.
        types: The machines that were chosen, none where none fits.
        place: Cloud and region.
        path: Where the pool stands in the cluster description.

    Returns:
        Every problem found.
    """
    return [
        *_placement_problems(spec, path),
        *_rdma_problems(spec, types, path),
        *_name_problems(spec, types, path),
        *_workspace_problems(spec, types, place, path),
        *_disk_problems(spec, kind, path),
        *_purchase_problems(spec, kind, path),
        *scaling_problems(spec, kind, path),
    ]


def pool_details(spec: NodePoolSpec, kind: PoolKind, types: tuple[InstanceType, ...], place: Place) -> PoolDetails:
    """What a plan holds for this cloud alone.

    Args:
        spec: What was asked for.
        kind: Kind of the pool.
        types: The machines.
        place: Cloud and region.

    Returns:
        The details, with the reasons that a person should know.
    """
    own = spec.tencentcloud
    return PoolDetails(
        machine_types=tuple(own.full_type if own and own.full_type else row.instance_type for row in types),
        hpc_cluster=kind == "rdma",
        workspace_type=own.thpc_space_type if own else None,
        cpu_utilization_percent=own.cpu_utilization_percent if own else None,
        reasons=tuple(_reasons(spec, kind, types)),
    )


def _reasons(spec: NodePoolSpec, kind: PoolKind, types: tuple[InstanceType, ...]) -> list[str]:
    found: list[str] = []
    if kind == "rdma":
        found.append("The nodes are single machines in one HPC cluster: the provider's scaling groups take none.")
        quota = limit(CLOUD, "hpc_cluster_nodes_quota").values[0]
        if spec.nodes.max + spec.spare_nodes > quota:
            found.append(f"An HPC cluster takes {quota} nodes unless its quota was raised: ask for that before.")
    if types[0].family in limit(CLOUD, "thpc_families").values:
        found.append(f"{types[0].family} is sold by invitation only.")
    if spec.purchase in ("spot", "prepaid"):
        found.append(
            f"'{spec.purchase}' needs an account of the site for China: the international site sells by the hour only."
        )
    if spec.on_demand_nodes:
        found.append(
            f"Two scaling groups: {spec.on_demand_nodes} on demand that always run, and up to "
            f"{spec.nodes.max - spec.on_demand_nodes} on spot; one group cannot mix them."
        )
    if kind == "elastic":
        found.append(
            "With a checkpoint bucket the scaling group waits for a new node's health and a leaving one's checkpoint "
            "(but not for the nodes that it begins with); without one there is no hook, no health gate and no watcher."
        )
    else:
        found.append("With a checkpoint bucket nodes tag themselves with their health and watch for their end.")
    found.append("The node's command for the bucket (coscli) comes over the internet unless the image brings it.")
    disks = "the root disk is" if spec.data_disk_gib else "the disks are"
    found.append(f"The provider cannot ask for encryption of a machine's system disk: {disks} as the account has set.")
    return found


def _placement_problems(spec: NodePoolSpec, path: Path) -> list[Problem]:
    if spec.placement != "cluster":
        return []
    message = "placement groups of Tencent Cloud only spread machines; none puts them close together."
    remedy = "Remove 'placement'. For nodes close together use 'interconnect: rdma': they are in an HPC cluster then."
    return [Problem((*path, "placement"), message, remedy)]


def _rdma_problems(spec: NodePoolSpec, types: tuple[InstanceType, ...], path: Path) -> list[Problem]:
    prefixes = limit(CLOUD, "rdma_only_type_prefixes")
    if spec.interconnect == "rdma" or not types or not types[0].instance_type.startswith(prefixes.values):
        return []
    message = f"{types[0].instance_type} has to be in an HPC cluster, and this pool gets none."
    remedy = f"Set 'interconnect: rdma', or choose another type (source: {prefixes.source})."
    return [Problem((*path, "interconnect"), message, remedy)]


def _name_problems(spec: NodePoolSpec, types: tuple[InstanceType, ...], path: Path) -> list[Problem]:
    """Problems of machines of which only the family's name is known, and of names that fit no machine."""
    full = spec.tencentcloud.full_type if spec.tencentcloud else None
    at = (*path, "tencentcloud", "full_type")
    if not types:
        return []
    row = types[0]
    whole = [other.instance_type for other in types if "." in other.instance_type]
    if full is None:
        return [
            Problem(
                at,
                f"{other.instance_type} is the name of a family; the catalog does not know how its machine is called.",
                f"Give its full name as the zone sells it: '{other.instance_type}.…'.",
            )
            for other in types
            if other.instance_type not in whole
        ]
    if whole:
        return [Problem(at, f"{first_of(whole)} is a full name already.", "Remove it.")]
    if not full.startswith(f"{row.instance_type}."):
        message = f"'{full}' is no machine of the family {row.instance_type}."
        return [Problem(at, message, f"Its full name begins with '{row.instance_type}.'.")]
    return []


def _workspace_problems(spec: NodePoolSpec, types: tuple[InstanceType, ...], place: Place, path: Path) -> list[Problem]:
    space = spec.tencentcloud.thpc_space_type if spec.tencentcloud else None
    at = (*path, "tencentcloud", "thpc_space_type")
    families = limit(CLOUD, "thpc_families")
    sold_so = bool(types) and types[0].family in families.values
    if space is None:
        if not sold_so or spec.purchase != "prepaid":
            return []
        example = limit(CLOUD, "thpc_space_type_example").values[0]
        message = f"{types[0].instance_type} is sold prepaid only as a THPC workspace."
        return [Problem(at, message, f"Give its space type, such as '{example}' (source: {families.source}).")]
    found: list[Problem] = []
    if spec.purchase != "prepaid":
        message = f"a THPC workspace is paid ahead, not bought by 'purchase: {spec.purchase}'."
        found.append(Problem(at, message, "Use 'purchase: prepaid' with 'prepaid: {months: 1}', or remove it."))
    if types and not sold_so:
        message = f"{types[0].instance_type} is no type of a THPC workspace."
        found.append(Problem(at, message, f"Sold so: {one_of(families.values)}. Remove it for other types."))
    regions = limit(CLOUD, "thpc_regions")
    if place.region not in regions.values:
        message = f"{place.region} has no THPC workspaces."
        found.append(Problem(at, message, f"It has to be {one_of(regions.values)} (source: {regions.source})."))
    return found


def _disk_problems(spec: NodePoolSpec, kind: PoolKind, path: Path) -> list[Problem]:
    found: list[Problem] = []
    if kind == "elastic" and spec.data_disk_gib is not None:
        message = "a scaling group of the provider makes no encrypted data disk."
        remedy = "Remove it and use 'file_system' or the checkpoint bucket, or give a pool of fixed size."
        found.append(Problem((*path, "data_disk_gib"), message, remedy))
    if spec.kms_key is not None and spec.data_disk_gib is None:
        message = "there is no disk that it could encrypt: the provider takes a key for data disks only."
        found.append(
            Problem((*path, "kms_key"), message, "Give 'data_disk_gib' in a pool of fixed size, or remove it.")
        )
    return found


def _purchase_problems(spec: NodePoolSpec, kind: PoolKind, path: Path) -> list[Problem]:
    found: list[Problem] = []
    if spec.purchase == "spot" and spec.spot_price_limit is None:
        message = "a spot machine needs the most that it may cost an hour (spot_max_price)."
        remedy = "Give 'spot_price_limit', such as the price on demand; less is paid when less is asked."
        found.append(Problem((*path, "spot_price_limit"), message, remedy))
    if spec.purchase == "prepaid" and kind == "elastic":
        message = f"prepaid nodes are paid for months and not scaled from {spec.nodes.min} to {spec.nodes.max}."
        found.append(Problem((*path, "nodes"), message, f"Write 'nodes: {spec.nodes.max}', or buy on demand."))
    if spec.purchase == "spot" and spec.on_demand_nodes == spec.nodes.max:
        message = f"all {spec.nodes.max} nodes are on demand, and none is left for spot."
        found.append(Problem((*path, "on_demand_nodes"), message, "Lower it, or set 'purchase: on_demand'."))
    return found
