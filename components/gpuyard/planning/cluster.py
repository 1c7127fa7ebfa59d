"""The whole cluster: every part planned, every problem of every part together."""

import re
from collections.abc import Sequence
from dataclasses import replace

from gpuyard.catalog import regions, zone_belongs_to
from gpuyard.catalog.limits import limit, limit_values
from gpuyard.planning.checkpoints import plan_checkpoints
from gpuyard.planning.file_systems import client_problems, client_reasons, plan_file_system
from gpuyard.planning.monitoring import plan_monitoring
from gpuyard.planning.network import plan_network
from gpuyard.planning.node_pools import plan_node_pool, zone_written_like
from gpuyard.planning.plans import ClusterPlan, FileSystemPlan, NodePoolPlan, Place
from gpuyard.planning.snapshots import plan_snapshots
from gpuyard.spec.models import ClusterSpec
from gpuyard.spec.problems import Path, Problem, SpecError, did_you_mean
from gpuyard.spec.values import NAME_PATTERN, NAME_RULE

RESERVED_TAG_PREFIX = "gpuyard:"

# What a role is called before the provider's suffix; roles of the cluster as a whole have room enough.
_ROLE_NAME = "{cluster}-{pool}-role"
_WITHOUT_BUCKET = "Without a checkpoint bucket its nodes have neither health gate nor watcher."


def plan_cluster(spec: ClusterSpec, name: str) -> ClusterPlan:
    """What a cluster is made of.

    Args:
        spec: What was asked for.
        name: Name in front of every resource, where the spec gives none.

    Returns:
        The plan.

    Raises:
        SpecError: With every problem of every part.
    """
    plan, problems = try_plan_cluster(spec, name)
    if problems or plan is None:
        raise SpecError(problems)
    return plan


def place_of(spec: ClusterSpec) -> Place:
    """Where a cluster is and what it is for."""
    workload = spec.workload
    return Place(
        cloud=spec.cloud,
        region=spec.region,
        environment=spec.environment,
        zone=spec.zone,
        task=workload.task if workload else None,
        model_parameters=workload.model_parameters if workload else None,
    )


def place_problems(spec: ClusterSpec) -> list[Problem]:
    """Problems of where a cluster or a part of one is, and of its tags."""
    return [*_region_problems(spec), *_tag_problems(spec)]


def try_plan_cluster(spec: ClusterSpec, name: str) -> tuple[ClusterPlan | None, list[Problem]]:
    """The same, with the problems as a value."""
    problems = [*_region_problems(spec), *_name_problems(spec, name), *_tag_problems(spec)]
    if any(problem.path == ("region",) for problem in problems):
        # Every later check would only repeat that the region is wrong.
        return None, problems
    place = place_of(spec)
    pools: list[NodePoolPlan] = []
    for pool_name, pool_spec in spec.node_pools.items():
        pool, found = plan_node_pool(pool_name, pool_spec, place, ("node_pools", pool_name))
        problems += found
        if pool is not None:
            told = () if spec.checkpoints else (_WITHOUT_BUCKET,)
            pools.append(replace(pool, reasons=(*pool.reasons, *told)))
    file_system, found = _file_system(spec, place, pools)
    problems += found
    checkpoints, found = plan_checkpoints(spec.checkpoints, place, ("checkpoints",)) if spec.checkpoints else (None, [])
    problems += found
    snapshots, found = plan_snapshots(spec.snapshots, place, ("snapshots",)) if spec.snapshots else (None, [])
    problems += found
    monitoring, found = plan_monitoring(spec.monitoring, place, ("monitoring",)) if spec.monitoring else (None, [])
    problems += found
    problems += durability_problems(spec, file_system)
    if snapshots is not None and len(pools) == len(spec.node_pools):
        problems += unreached_problems(pools, place)
    named = [spec.zone] if spec.zone else []
    zones: dict[str, None] = dict.fromkeys([*named, *(zone for pool in pools for zone in pool.zones)])
    network, found = plan_network(
        spec.network,
        spec.access,
        place,
        tuple(zones),
        tuple(pools),
        file_system=spec.file_system is not None,
        file_system_rdma=spec.file_system is not None and spec.file_system.rdma,
    )
    problems += found
    if problems or network is None:
        return None, problems
    return (
        ClusterPlan(
            name=spec.name or name,
            place=place,
            network=network,
            node_pools=tuple(pools),
            file_system=file_system,
            checkpoints=checkpoints,
            snapshots=snapshots,
            monitoring=monitoring,
            tags=dict(spec.tags),
            protect_data=spec.environment == "prod" if spec.protect_data is None else spec.protect_data,
        ),
        [],
    )


def _file_system(
    spec: ClusterSpec, place: Place, pools: list[NodePoolPlan]
) -> tuple[FileSystemPlan | None, list[Problem]]:
    """The file system for the pools that mount it, and what does not fit between them."""
    if spec.file_system is None:
        return None, []
    path: Path = ("file_system",)
    plan, problems = plan_file_system(
        spec.file_system, place, path, linked=spec.checkpoints is not None, gpus=gpus_of_the_job(pools)
    )
    if plan is None:
        return None, problems
    # Of a pool that could not be planned nobody knows what it reaches.
    if len(pools) == len(spec.node_pools):
        problems += client_problems(plan, pools, path)
    return replace(plan, reasons=(*plan.reasons, *client_reasons(plan, pools))), problems


def gpus_of_the_job(pools: Sequence[NodePoolPlan]) -> int | None:
    """GPUs that one job of the cluster runs on: those of the pools of fixed size, else of the elastic ones at most.

    Args:
        pools: The cluster's pools.

    Returns:
        The number, or None where a type's number of GPUs is unknown or there are no pools.
    """
    fixed = [pool for pool in pools if pool.kind != "elastic"] or pools
    counts = [pool.instance_type.gpu_count for pool in fixed]
    if not counts or None in counts:
        return None
    return sum((pool.instance_type.gpu_count or 0) * (pool.max_nodes - pool.spare_nodes) for pool in fixed)


def durability_problems(spec: ClusterSpec, file_system: FileSystemPlan | None) -> list[Problem]:
    """Problems of work that trains and has nowhere safe for its checkpoints.

    A machine's own disks and a scratch file system are lost with a machine or a server, and a spot machine is taken
    back at any time.

    Args:
        spec: What was asked for.
        file_system: The file system's plan, None without one.

    Returns:
        At most one problem.
    """
    default = None if spec.workload is None else spec.workload.task
    training = {
        name: pool for name, pool in spec.node_pools.items() if (pool.task or default) not in (None, "inference")
    }
    if not training or spec.checkpoints is not None:
        return []
    remedy = "Add 'checkpoints: {keep_days: 14}'."
    spot = [name for name, pool in training.items() if pool.purchase == "spot"]
    if spot:
        message = (
            f"spot nodes ({', '.join(spot)}) are taken back at any time, and the cluster has no checkpoint bucket."
        )
        return [Problem(("checkpoints",), message, remedy)]
    if spec.file_system is None or (file_system is not None and not file_system.persistent):
        message = "nothing that lasts holds checkpoints: what is only on the nodes or on scratch is lost with them."
        return [Problem(("checkpoints",), message, remedy)]
    return []


def unreached_problems(pools: Sequence[NodePoolPlan], place: Place) -> list[Problem]:
    """Problems of a snapshot schedule that would find no disk, where the cloud attaches it to single data disks.

    Args:
        pools: The cluster's pools.
        place: The cloud.

    Returns:
        At most one problem.
    """
    kinds = limit_values(place.cloud, "snapshot_pool_kinds")
    if not kinds or any(pool.kind in kinds and pool.data_disk is not None for pool in pools):
        return []
    message = f"no pool has a disk that a schedule of {place.cloud} reaches: data disks of pools of fixed size."
    remedy = "Remove it, or give a pool of fixed size 'data_disk_gib'."
    return [Problem(("snapshots",), message, remedy)]


def _region_problems(spec: ClusterSpec) -> list[Problem]:
    known = regions(spec.cloud)
    if spec.region not in known:
        hint = did_you_mean(spec.region, known) or f"Regions of {spec.cloud}: {', '.join(known)}."
        return [Problem(("region",), f"'{spec.region}' is no region of {spec.cloud}.", hint)]
    if spec.zone is not None and not zone_belongs_to(spec.zone, spec.region, spec.cloud):
        message = f"'{spec.zone}' is no zone of {spec.region}."
        return [Problem(("zone",), message, zone_written_like(spec.region, spec.cloud))]
    return []


def _name_problems(spec: ClusterSpec, name: str) -> list[Problem]:
    shown = spec.name or name
    if re.fullmatch(NAME_PATTERN, shown) is None:
        message = f"'{shown}' cannot stand in front of every resource: a name is {NAME_RULE}."
        return [Problem(("name",), message, "Set 'name'.")]
    longest = limit(spec.cloud, "role_name_characters_max").values[0]
    suffix = limit(spec.cloud, "name_suffix_characters").values[0]
    room = longest - suffix - len(_ROLE_NAME.format(cluster="", pool=""))
    return [
        Problem(
            ("node_pools", pool),
            f"the names '{shown}' of the cluster and '{pool}' of the pool have {len(shown) + len(pool)} characters "
            f"together, but the name of the nodes' role takes at most {room} of both: {longest} less "
            f"{longest - room} for the rest of it.",
            "Shorten one of them; 'name' sets the cluster's.",
        )
        for pool in spec.node_pools
        if len(shown) + len(pool) > room
    ]


def _tag_problems(spec: ClusterSpec) -> list[Problem]:
    taken = (*limit(spec.cloud, "tag_key_reserved_prefix").values, RESERVED_TAG_PREFIX)
    return [
        Problem(("tags", key), f"tag keys that begin with '{prefix}' are not yours to set.", "Choose another key.")
        for key in spec.tags
        for prefix in taken
        if key.lower().startswith(prefix)
    ]
