from collections.abc import Callable
from typing import Any

import pytest

from tests.changes import apply_changes

from .recorder import Rendered, render, rendered_stack, stack_cluster

STACKS = ("aws-dev", "aws-staging", "aws-prod")


@pytest.fixture(params=[True, False], ids=["preview", "update"])
def preview(request: pytest.FixtureRequest) -> bool:
    """Both ways a program runs: ids and computed values unknown, or known."""
    return request.param


@pytest.fixture(params=STACKS)
def stack(request: pytest.FixtureRequest, preview: bool) -> Rendered:
    """Each stack of the repository, as a preview and as an update."""
    return rendered_stack(request.param, preview=preview)


@pytest.fixture
def prod(preview: bool) -> Rendered:
    """The ``aws-prod`` stack, as a preview and as an update."""
    return rendered_stack("aws-prod", preview=preview)


@pytest.fixture
def prod_with() -> Callable[[dict[str, Any]], Rendered]:
    """The ``aws-prod`` stack with values set at dotted paths (``...`` takes a key out), as an update."""

    def build(changes: dict[str, Any]) -> Rendered:
        from gpuyard import TrainingCluster

        cluster: Any = stack_cluster("aws-prod")
        apply_changes(cluster, changes)
        return render(lambda: TrainingCluster("aws-prod", cluster), preview=False)

    return build
