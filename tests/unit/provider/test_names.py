"""Keys travel from the schema's names to Python's, and problems travel back."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pulumi.output import UNKNOWN
from pulumi.provider.experimental.analyzer import Analyzer

from gpuyard.provider.components import COMPONENTS
from gpuyard.provider.names import Names, in_camel_case
from gpuyard.spec.problems import Problem

FOUND = Analyzer("gpuyard").analyze(list(COMPONENTS))
COMPONENT_NAMES = sorted(FOUND["component_definitions"])


def names_of(component: str) -> Names:
    return Names(FOUND["component_definitions"][component], FOUND["type_definitions"])


CLUSTER, NETWORK, STORE, MONITORING = map(
    names_of, ("TrainingCluster", "ClusterNetwork", "CheckpointStore", "GpuMonitoring")
)


def test_keys_become_pythons_at_every_depth_and_names_of_things_stay():
    given_by_a_program = {
        "nodePools": {"myPool": {"gpusPerNode": 8, "aws": {"interfaceLayout": "high_ip"}, "nodes": {"min": 1}}},
        "snapshots": {"hoursUtc": [3], "aws": {"fastRestore": {"zones": ["a"]}}},
        "tags": {"costCenter": "x"},
    }
    assert CLUSTER.to_python(given_by_a_program) == {
        "node_pools": {"myPool": {"gpus_per_node": 8, "aws": {"interface_layout": "high_ip"}, "nodes": {"min": 1}}},
        "snapshots": {"hours_utc": [3], "aws": {"fast_restore": {"zones": ["a"]}}},
        "tags": {"costCenter": "x"},
    }


def test_whole_numbers_travel_as_floats_and_are_whole_again():
    found = CLUSTER.to_python({"nodePools": {"a": {"nodes": {"min": 1.0, "max": 2.0}, "spotPriceLimit": 1.5}}})
    pool = found["node_pools"]["a"]
    assert [repr(one) for one in (*pool["nodes"].values(), pool["spot_price_limit"])] == ["1", "2", "1.5"]


def test_what_is_left_empty_is_left_out():
    assert STORE.to_python({"keepDays": 3, "kmsKey": None}) == {"keep_days": 3}


def test_what_is_unknown_yet_is_an_output_and_outputs_stay_what_they_are():
    output: Any = object.__new__(pulumi.Output)
    assert MONITORING.to_python({"nodePools": {"a": {"groupName": output}}})["node_pools"]["a"] == {
        "group_name": output
    }


def test_an_unknown_value_is_an_output():
    made: list[Any] = []

    @pulumi.runtime.test
    def program() -> None:
        made.append(STORE.to_python({"kmsKey": UNKNOWN})["kms_key"])

    program()
    assert isinstance(made[0], pulumi.Output)


@pytest.mark.parametrize(
    ("names", "inputs", "python"),
    [
        (STORE, {"keepDayz": 3}, {"keepDayz": 3}),
        (STORE, {"keep_days": 3}, {"keepDays": 3}),
        (STORE, {"keep_days": 3, "keepDays": 4}, {"keepDays": 3, "keep_days": 4}),
        (STORE, {"prefixes": {"old": {"keep_days": 3}}}, {"prefixes": {"old": {"keepDays": 3}}}),
    ],
)
def test_a_key_that_only_python_knows_is_not_taken_for_the_right_one(names: Names, inputs: Any, python: Any):
    assert names.to_python(inputs) == python


@pytest.mark.parametrize(
    ("names", "found", "told"),
    [
        (
            CLUSTER,
            Problem(("node_pools", "my_pool", "gpus_per_node"), "has 1 GPUs.", "Set 'instance_type', or on_demand."),
            "nodePools.my_pool.gpusPerNode: has 1 GPUs. Set 'instanceType', or on_demand.",
        ),
        (
            STORE,
            Problem(("keepDays",), "unknown key 'keepDays'.", "Did you mean 'keep_days'?"),
            "keep_days: unknown key 'keep_days'. Did you mean 'keepDays'?",
        ),
        (
            STORE,
            Problem(("prefixes", "old", "keepDayz"), "unknown key 'keepDayz'.", "Did you mean 'keep_days'?"),
            "prefixes.old.keepDayz: unknown key 'keepDayz'. Did you mean 'keepDays'?",
        ),
        (NETWORK, Problem(("network", "cidr"), "is no private network."), "cidr: is no private network."),
        (NETWORK, Problem(("access", "ssh_from"), "is open."), "sshFrom: is open."),
        (CLUSTER, Problem(("network", "cidr"), "is no private network."), "network.cidr: is no private network."),
        (NETWORK, Problem(("zones", 1), "is named twice."), "zones[1]: is named twice."),
        (CLUSTER, Problem((), "needs more room."), "needs more room."),
        (CLUSTER, Problem(("nothing", "of_this", 3), "is known."), "nothing.of_this[3]: is known."),
    ],
)
def test_a_problem_is_told_in_the_programs_words(names: Names, found: Problem, told: str):
    assert str(names.to_schema(found)) == told


def test_only_keys_change_their_writing():
    text = "Use import_export with keep_days, not gpu_memory_above_percent."
    assert in_camel_case(text, {"keep_days", "gpu_memory"}) == (
        "Use import_export with keepDays, not gpu_memory_above_percent."
    )


@pytest.mark.parametrize("component", COMPONENT_NAMES)
@given(data=st.data())
def test_the_way_back_leads_to_the_key_that_was_written(component: str, data: st.DataObject):
    """Whatever key stands at the top, known or not, in either writing: a problem of it names it as it was written."""
    mapping = FOUND["component_definitions"][component].inputs_mapping
    written = data.draw(st.sampled_from([*mapping, *mapping.values()]) | st.text("abcXY_", min_size=1))
    (python,) = names_of(component).to_python({written: 1})
    assert names_of(component).to_schema(Problem((python,), "is wrong.")).path == (written,)
    assert (python in mapping.values()) == (written in mapping), "only the schema's names are known"
