"""The schema says of every argument what the spec's models say, and nothing that an SDK would send by itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest

from gpuyard import __all__ as public
from gpuyard import __version__
from gpuyard.provider.components import COMPONENTS
from gpuyard.provider.host import GpuyardProvider
from gpuyard.provider.wording import described
from gpuyard.spec import base, models, monitoring, node_pools, storage

REPOSITORY = Path(__file__).parents[3]
SCHEMA: dict[str, Any] = json.loads(GpuyardProvider().schema or "")
CHOICES = {name: one for home in (base, models, monitoring, node_pools, storage) for name, one in vars(home).items()}


def inputs(component: str) -> dict[str, Any]:
    return SCHEMA["resources"][f"gpuyard:index:{component}"]["inputProperties"]


def of_type(name: str) -> dict[str, Any]:
    return SCHEMA["types"][f"gpuyard:index:{name}"]


def every_property() -> Iterator[tuple[str, dict[str, Any]]]:
    for token, resource in SCHEMA["resources"].items():
        for kind in ("inputProperties", "properties"):
            yield from ((f"{token}.{name}", one) for name, one in resource[kind].items())
    for token, found in SCHEMA["types"].items():
        yield from ((f"{token}.{name}", one) for name, one in found.get("properties", {}).items())


def test_the_schema_in_the_repository_is_todays():
    kept = json.loads((REPOSITORY / "components" / "schema.json").read_text(encoding="utf-8"))
    assert kept == SCHEMA, "run: .venv/bin/python -m gpuyard.provider > components/schema.json"


def test_the_module_prints_it_as_it_is_kept():
    printed = subprocess.run(
        [sys.executable, "-m", "gpuyard.provider"], capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(printed.stdout) == SCHEMA
    assert printed.stderr == ""


def test_every_public_component_is_served():
    components = {name for name in public if f"{name}Args" in public}
    assert {component.__name__ for component in COMPONENTS} == components
    assert {token.rsplit(":", 1)[-1] for token in SCHEMA["resources"]} == components
    assert SCHEMA["version"] == __version__


def test_everything_is_described_in_sentences_without_pythons_names():
    wrong = [
        path
        for path, one in every_property()
        if not one["description"].strip().endswith((".", "…")) or "``" in one["description"]
    ]
    assert wrong == []
    names = {name for _, found in COMPONENTS.items() for model in found for name in model.model_fields if "_" in name}
    told = " ".join(one["description"] for _, one in every_property()).replace("gpu_memory`", "")
    assert [name for name in sorted(names) if f"`{name}`" in told] == []


def test_no_default_is_sent_as_if_it_had_been_asked_for():
    assert [path for path, one in every_property() if "default" in one] == []


@pytest.mark.parametrize(
    ("where", "told"),
    [
        (inputs("CheckpointStore")["keepDays"], "Days after which a checkpoint is removed. From 1 to 36500."),
        (
            of_type("Prefix")["properties"]["tiers"],
            "Days after which an object moves to a cheaper tier, by tier. Keys: automatic, infrequent, archive or "
            "deep_archive. Each from 1 to 36500.",
        ),
        (
            of_type("Pool")["properties"]["checkpointSeconds"],
            "Seconds that a node gets to write a checkpoint before the scaler takes it away. From 30 to 7200. "
            "Default: 600.",
        ),
        (
            of_type("Pool")["properties"]["nodes"],
            "Number of nodes, or `{min: , max: }`. Keys of the map: `min` (fewest nodes), `max` (most nodes), "
            "`desired` (nodes to begin with).",
        ),
        (
            of_type("Budget")["properties"]["alertAtPercent"],
            "Shares of the amount at which a message is sent. 1 to 5 entries. Each from 1 to 1000. "
            "Default: 50, 80, 100.",
        ),
        (of_type("Budget")["properties"]["monthlyAmount"], "Amount a month. More than 0, at most 1000000000000."),
        (inputs("SnapshotPolicy")["weekdays"], "Days of the week (UTC) of `hoursUtc`; every day when left out. "
         "1 to 7 entries."),
        (inputs("ParallelFileSystem")["region"], "Region it is built in."),
        (of_type("FileSystem")["properties"]["region"], "Region, the cluster's when left out."),
        (inputs("TrainingCluster")["nodePools"], "The pools by name. Names: lower-case letters, digits and hyphens, "
         "at most 32, beginning with a letter."),
        (of_type("Network")["properties"]["cidr"], "Addresses of the network. Default: `10.64.0.0/16`."),
        (of_type("Software")["properties"]["containers"], "Whether nodes have Docker with NVIDIA's container toolkit. "
         "Default: false."),
    ],
    ids=lambda one: "" if isinstance(one, dict) else one[:20],
)  # fmt: skip
def test_limits_and_defaults_are_told(where: dict[str, Any], told: str):
    assert where["description"] == told


def test_a_bare_docstring_is_closed_like_a_sentence():
    assert described("Any ``text``\n  of two lines", {}) == "Any `text` of two lines."
    assert described("", {}) == ""


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("Cloud", base.Cloud),
        ("ClusterEnvironment", base.Environment),
        ("WorkloadTask", base.Task),
        ("Purchase", node_pools.Purchase),
        ("Interconnect", node_pools.Interconnect),
        ("Durability", storage.Durability),
        ("AwsLustreDeployment", storage.AwsLustreDeployment),
        ("Currency", monitoring.Currency),
    ],
)
def test_choices_are_enums_with_the_specs_values(name: str, choice: Any):
    assert [one["value"] for one in of_type(name)["enum"]] == list(get_args(choice))


def test_every_choice_that_a_field_has_is_an_enum():
    """All but the tiers: they are keys of a map, which no schema can restrict."""
    named = {frozenset(get_args(one)) for one in CHOICES.values() if get_origin(one) is Literal}
    enums = {frozenset(value["value"] for value in one["enum"]) for one in SCHEMA["types"].values() if "enum" in one}
    assert named - enums == {frozenset(get_args(storage.Tier))}


def test_values_have_names_that_every_language_can_write():
    enums = [value for one in SCHEMA["types"].values() for value in one.get("enum", ())]
    assert all(value["name"].isalnum() and value["name"][0].isupper() for value in enums)
    by_value = {value["value"]: value["name"] for value in enums}
    assert by_value["on_demand"] == "OnDemand"
    assert by_value["COST_OPTIMIZED"] == "CostOptimized"
    assert by_value["SCRATCH_2"] == "Scratch2"
    assert by_value["USD"] == "USD"


def test_no_type_is_called_like_another_or_like_a_component():
    """One name would silently stand for two things; TypeScript writes Args behind both."""
    types = {token.rsplit(":", 1)[-1] for token in SCHEMA["types"]}
    components = {token.rsplit(":", 1)[-1] for token in SCHEMA["resources"]}
    objects = {name for name in types if "properties" in of_type(name)}
    assert not types & components
    assert not [name for name in types if name.endswith("Args")]
    assert len(objects) == len(GpuyardProvider()._type_defs), "an enum has taken an object's name"


def test_what_decides_is_plain_and_what_exists_may_come_from_elsewhere():
    pool = inputs("GpuNodePool")
    assert pool["gpu"]["plain"] is True
    assert pool["nodes"] == {"description": pool["nodes"]["description"], "$ref": "pulumi.json#/Any", "plain": True}
    for name in ("subnetIds", "securityGroupIds", "bucketName", "snapshotPolicyId"):
        assert "plain" not in pool[name]
    assert "plain" not in pool["subnetIds"]["items"]
    watched = of_type("WatchedPool")["properties"]
    assert "plain" not in watched["groupName"]
    assert watched["rdma"]["plain"] is True
    disks = inputs("SnapshotPolicy")["disks"]
    assert disks["plain"] is True
    assert "plain" not in disks["additionalProperties"]
    outputs = [one for found in SCHEMA["resources"].values() for one in found["properties"].values()]
    assert [one for one in outputs if "plain" in json.dumps(one)] == []


@pytest.mark.parametrize(("component", "checked_by"), COMPONENTS.items(), ids=lambda one: getattr(one, "__name__", ""))
def test_what_the_spec_requires_is_required(component: Any, checked_by: Any):
    found = SCHEMA["resources"][f"gpuyard:index:{component.__name__}"]["requiredInputs"]
    ours = {"cloud", "environment"}
    needed = {name for model in checked_by for name, field in model.model_fields.items() if field.is_required()} - ours
    assert {_camel(name) for name in needed} <= set(found)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
