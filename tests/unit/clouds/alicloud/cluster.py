"""A cluster on Alibaba Cloud, rendered with what a test changes in it."""

import json
from functools import cache
from typing import Any

from ..recorder import Registered, Rendered, render

EX, SCC = "ecs.ebmgn7ex.32xlarge", "ecs.sccgn7ex.32xlarge"
TRAIN: dict[str, Any] = {"instance_type": EX, "nodes": 2, "interconnect": "rdma"}
SERVE: dict[str, Any] = {"gpu": "A10", "gpus_per_node": 1, "nodes": {"min": 0, "max": 4}, "purchase": "spot"}


def cluster(
    *, preview: bool = False, train: dict[str, Any] | None = None, serve: dict[str, Any] | None = None, **more: Any
) -> Rendered:
    """The cluster with an RDMA pool and a spot pool, each with changes; rendered once for the same changes."""
    pools = {"train": {**TRAIN, **(train or {})}, "serve": {**SERVE, **(serve or {})}}
    description = {
        "cloud": "alicloud",
        "region": "cn-beijing",
        "zone": "cn-beijing-h",
        "environment": "dev",
        "workload": {"task": "lora"},
        "checkpoints": {"keep_days": 14},
        "node_pools": pools,
        **more,
    }
    return _rendered(json.dumps(description), preview=preview)


@cache
def _rendered(description: str, *, preview: bool) -> Rendered:
    from gpuyard import TrainingCluster

    return render(lambda: TrainingCluster("ali", json.loads(description)), preview=preview)


def machine(rendered: Rendered, number: int = 0) -> Registered:
    """One machine of the training pool."""
    return rendered.one("Instance", f"ali-train-{number}")
