"""BR-086: Pulumi itself infers a schema from the components, so that every Pulumi language can use them."""

from collections.abc import Callable
from typing import Any

import pytest
from pulumi.provider.experimental.analyzer import Analyzer

from gpuyard import GpuNodePool, ParallelFileSystem

from .conftest import PARTS, SMALLEST, Recorder


def analyzed(*components: Any) -> Any:
    return Analyzer("gpuyard").analyze(list(components))


def definition(component: Any) -> Any:
    return analyzed(component)["component_definitions"][component.__name__]


def test_all_parts_together_have_one_schema():
    found = analyzed(*PARTS)["component_definitions"]
    assert set(found) == {
        "ClusterNetwork",
        "GpuNodePool",
        "ParallelFileSystem",
        "CheckpointStore",
        "SnapshotPolicy",
        "GpuMonitoring",
    }


@pytest.mark.parametrize("component", PARTS, ids=lambda one: one.__name__)
def test_the_smallest_arguments_name_everything_that_is_needed(component: Any):
    inputs = definition(component).inputs
    needed = {name for name, found in inputs.items() if not found.optional}
    given = {_camel(key) for key in SMALLEST[component]}
    assert needed <= given
    assert "region" in needed


@pytest.mark.parametrize("component", PARTS, ids=lambda one: one.__name__)
def test_what_a_component_gives_out_is_what_its_schema_says(
    component: Any, build: Callable[..., Any], recorder: Recorder
):
    build(component)
    schema = definition(component).outputs
    given = recorder.outputs[f"gpuyard:index:{component.__name__}"]
    assert set(given) <= set(schema)
    assert {name for name, found in schema.items() if not found.optional} <= set(given)


def test_ids_of_things_that_exist_may_be_outputs_and_facts_may_not():
    pool, system = definition(GpuNodePool).inputs, definition(ParallelFileSystem).inputs
    assert not any(found.plain for found in (pool["subnetIds"], pool["securityGroupIds"], system["subnetId"]))
    assert all(found.plain for found in (pool["gpu"], pool["interconnect"], system["capacityGib"], system["zone"]))


@pytest.mark.parametrize("component", PARTS, ids=lambda one: one.__name__)
def test_a_component_says_what_it_is(component: Any):
    assert definition(component).description == component.__doc__.strip()


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
