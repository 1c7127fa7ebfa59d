"""What breaks programs in other languages is told before a release, change by change."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .breaking import breaking_changes

REPOSITORY = Path(__file__).parents[3]
RELEASED = json.loads((REPOSITORY / "tests" / "data" / "schema-0.1.0.json").read_text())
STORE, POOL = "gpuyard:index:CheckpointStore", "gpuyard:index:Pool"
PURCHASE = "gpuyard:index:Purchase"


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    schema = copy.deepcopy(RELEASED)
    change(schema)
    return schema


def inputs(schema: dict[str, Any], token: str = STORE) -> dict[str, Any]:
    return schema["resources"][token]["inputProperties"]


def test_the_components_break_no_program_that_was_written_for_the_last_release():
    now = json.loads((REPOSITORY / "components" / "schema.json").read_text())
    assert breaking_changes(RELEASED, now) == [], "a new major version, or another way"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda s: s["resources"].pop(STORE), f"{STORE} is gone: its stacks would have to rename it with an alias."),
        (lambda s: s["types"].pop(POOL), f"{POOL} is gone."),
        (lambda s: inputs(s).pop("keepDays"), f"{STORE}, input keepDays: is gone."),
        (lambda s: s["resources"][STORE]["properties"].pop("uri"), f"{STORE}, output uri: is gone."),
        (lambda s: s["types"][POOL]["properties"].pop("gpu"), f"{POOL}, gpu: is gone."),
        (lambda s: inputs(s)["keepDays"].update(type="string"), f"{STORE}, input keepDays: is string, was integer."),
        (
            lambda s: inputs(s)["prefixes"]["additionalProperties"].update({"$ref": "#/types/gpuyard:index:Pool"}),
            f"{STORE}, input prefixes: is map of {POOL}, was map of gpuyard:index:Prefix.",
        ),
        (
            lambda s: inputs(s)["keepDays"].pop("plain"),
            f"{STORE}, input keepDays: takes input, took plain; typed languages tell them apart.",
        ),
        (
            lambda s: inputs(s, "gpuyard:index:GpuNodePool")["subnetIds"].update(plain=True),
            "gpuyard:index:GpuNodePool, input subnetIds: takes plain of input, took input of input; "
            "typed languages tell them apart.",
        ),
        (lambda s: s["resources"][STORE]["requiredInputs"].append("kmsKey"), f"{STORE}, kmsKey: must be given now."),
        (lambda s: s["types"][POOL]["required"].append("gpu"), f"{POOL}, gpu: must be given now."),
        (lambda s: s["resources"][STORE]["required"].remove("uri"), f"{STORE}, output uri: may be missing now."),
        (lambda s: s["types"][PURCHASE]["enum"].pop(0), f"{PURCHASE}: the value 'on_demand' is gone."),
    ],
)
def test_what_breaks_is_told(change: Callable[[dict[str, Any]], object], told: str):
    assert breaking_changes(RELEASED, changed(change)) == [told]


@pytest.mark.parametrize(
    "change",
    [
        lambda s: inputs(s).update(more={"type": "string"}),
        lambda s: inputs(s)["keepDays"].update(description="Other words."),
        lambda s: s["resources"].update({"gpuyard:index:More": s["resources"][STORE]}),
        lambda s: s["types"][PURCHASE]["enum"].append({"name": "Auction", "value": "auction"}),
        lambda s: s["types"].update({"gpuyard:index:More": {"type": "object", "properties": {}}}),
        lambda s: s["resources"][STORE]["requiredInputs"].remove("keepDays"),
        lambda s: s["resources"][STORE]["properties"].update(more={"type": "string"}),
        lambda s: s.update(version="0.2.0"),
    ],
)
def test_what_only_adds_breaks_nothing(change: Callable[[dict[str, Any]], object]):
    assert breaking_changes(RELEASED, changed(change)) == []


@given(st.data())
def test_no_input_of_any_component_can_go_unnoticed(data: st.DataObject):
    token = data.draw(st.sampled_from(sorted(RELEASED["resources"])))
    name = data.draw(st.sampled_from(sorted(inputs(RELEASED, token))))
    assert breaking_changes(RELEASED, changed(lambda s: inputs(s, token).pop(name))) == [
        f"{token}, input {name}: is gone."
    ]
