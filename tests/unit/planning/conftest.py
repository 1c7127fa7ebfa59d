from collections.abc import Callable
from typing import Any

import pytest

from gpuyard.planning.node_pools import plan_node_pool
from gpuyard.planning.plans import NodePoolPlan, Place
from gpuyard.spec import NodePoolSpec, Problem, parse_spec

PLACE = Place("aws", "us-east-1", "dev", zone="us-east-1a")

Pool = Callable[..., NodePoolPlan]
Refused = Callable[..., list[str]]


def plan(place: Place, values: dict[str, Any]) -> tuple[NodePoolPlan | None, list[Problem]]:
    spec = parse_spec(NodePoolSpec, {"nodes": 2, **values})
    return plan_node_pool("train", spec, place, ("node_pools", "train"))


@pytest.fixture
def pool() -> Pool:
    """The plan of a pool that must be right."""

    def build(place: Place = PLACE, **values: Any) -> NodePoolPlan:
        found, problems = plan(place, values)
        assert problems == []
        assert found is not None
        return found

    return build


@pytest.fixture
def refused() -> Refused:
    """The problems of a pool that must be wrong, without the pool's own path."""

    def build(place: Place = PLACE, **values: Any) -> list[str]:
        found, problems = plan(place, values)
        assert problems
        assert found is None
        assert all(problem.path[:2] == ("node_pools", "train") for problem in problems)
        return [str(problem).removeprefix("node_pools.train").removeprefix(".") for problem in problems]

    return build
