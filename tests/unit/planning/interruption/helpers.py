"""A history for a test, and a pool that it is of."""

from gpuyard.catalog import instance_types
from gpuyard.planning.interruption import Evidence, History, Spot, Tally
from gpuyard.planning.plans import Place
from gpuyard.spec.node_pools import NodePoolSpec

Seen = dict[tuple[str, str], tuple[int, float]]


def history_of(seen: Seen, cloud: str = "aws", region: str = "us-east-1") -> Evidence:
    """Fresh interruptions and instance-hours by zone and type."""
    tallies = {
        (cloud, region, zone, name): Tally(count, hours, float(count), hours)
        for (zone, name), (count, hours) in seen.items()
    }
    return Evidence(History(tallies, len(tallies), None))


def spot_pool(*types: str, zones: tuple[str, ...] = ("us-east-1a",), nodes: int = 4, **spec: object) -> Spot:
    """A pool on AWS that names its one type, or mixes several."""
    rows = tuple(instance_types("aws")[name] for name in types)
    named = {"instance_type": types[0]} if len(types) == 1 else {"gpu": rows[0].gpu_model}
    made = NodePoolSpec.model_validate({"nodes": nodes, "purchase": "spot", **named, **spec})
    return Spot("prepare", rows, zones, nodes, len(types) == 1, made, Place("aws", "us-east-1", "dev", zones[0]))
