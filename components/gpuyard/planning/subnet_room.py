"""Whether subnets that exist have room for a pool's nodes."""

from gpuyard.catalog.limits import limit
from gpuyard.planning.plans import NodePoolPlan
from gpuyard.spec.problems import Path, Problem
from gpuyard.spec.values import network


def subnet_problems(plan: NodePoolPlan, cidrs: list[str], path: Path) -> list[Problem]:
    """Problems of subnets that a pool is put into: too few of them, or too small.

    Each interface with an address uses one; a pool of several zones may put all its nodes into one of them.

    Args:
        plan: The pool.
        cidrs: Addresses of its subnets, one for each zone, in order.
        path: Where they stand in the arguments.

    Returns:
        Every problem found.
    """
    if len(cidrs) != len(plan.zones):
        message = f"names {len(cidrs)} subnets, but the pool has {len(plan.zones)} zones: {', '.join(plan.zones)}."
        return [Problem(path, message, "Give one for each zone.")]
    reserved = limit(plan.place.cloud, "subnet_reserved_addresses").values[0]
    need = plan.max_nodes * plan.addresses_per_node
    return [
        Problem(
            (*path, place),
            f"{plan.max_nodes} nodes need {need} addresses ({plan.addresses_per_node} each), but {cidr} leaves "
            f"{network(cidr).num_addresses - reserved} after {reserved} for the cloud.",
            f"Use a /{32 - (need + reserved - 1).bit_length()} or a larger one.",
        )
        for place, cidr in enumerate(cidrs)
        if network(cidr).num_addresses - reserved < need
    ]
