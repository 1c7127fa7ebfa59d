"""Clusters to draw."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpuyard.planning.check import check_stack_file
from gpuyard.planning.plans import ClusterPlan
from gpuyard.spec.stack_file import read_stack_file

STACKS = Path(__file__).parents[3] / "stacks"
NAMES = sorted(path.name[7:-5] for path in STACKS.glob("Pulumi.*.yaml"))

Planned = Callable[[str], ClusterPlan]


def plan_of(stack: str) -> ClusterPlan:
    """The plan of one of the project's stacks."""
    return check_stack_file(read_stack_file(STACKS / f"Pulumi.{stack}.yaml"), stack)


@pytest.fixture(scope="session")
def planned() -> Planned:
    """Gives the plan of a stack; each is planned once."""
    known: dict[str, ClusterPlan] = {}

    def plan(stack: str) -> ClusterPlan:
        return known.get(stack) or known.setdefault(stack, plan_of(stack))

    return plan


@pytest.fixture(scope="session")
def crowded(planned: Planned) -> ClusterPlan:
    """A cluster with everything that takes room: long names, many pools, zones, networks, hours, two regions."""
    plan = planned("aws-prod")
    train, prepare = plan.node_pools
    everywhere = tuple(f"us-east-1{letter}" for letter in "abcdef")
    more = [
        replace(prepare, name=f"pool-{number}", zones=everywhere if number % 2 else prepare.zones, spare_nodes=3)
        for number in range(5)
    ]
    assert plan.snapshots is not None
    return replace(
        plan,
        name="b" * 32,
        node_pools=(replace(train, name="a" * 32, min_nodes=1_000, max_nodes=100_000), *more),
        network=replace(plan.network, nat="none", ssh_from=tuple(f"10.{number}.0.0/16" for number in range(9))),
        snapshots=replace(
            plan.snapshots,
            every_hours=None,
            hours_utc=tuple(range(24)),
            weekdays=("mon",),
            copy_region="ap-southeast-1",
        ),
    )
