from collections.abc import Callable
from typing import Any

import pytest

from gpuyard.planning.plans import NodePoolPlan, Place

from ..conftest import plan

BEIJING = Place("alicloud", "cn-beijing", "dev", zone="cn-beijing-h")
EX, SCC = "ecs.ebmgn7ex.32xlarge", "ecs.sccgn7ex.32xlarge"

AliPool = Callable[..., NodePoolPlan]
AliRefused = Callable[..., list[str]]


@pytest.fixture
def ali_pool() -> AliPool:
    """The plan of a pool in Beijing that must be right."""

    def build(**values: Any) -> NodePoolPlan:
        found, problems = plan(BEIJING, values)
        assert [str(one) for one in problems] == []
        assert found is not None
        return found

    return build


@pytest.fixture
def ali_refused() -> AliRefused:
    """The problems of a pool in Beijing that must be wrong, without the pool's own path."""

    def build(**values: Any) -> list[str]:
        found, problems = plan(BEIJING, values)
        assert problems
        assert found is None
        return [str(problem).removeprefix("node_pools.train.") for problem in problems]

    return build
