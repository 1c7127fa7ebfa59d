"""The JSON Schema of a stack file says what the models say."""

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from pydantic import TypeAdapter, ValidationError

from gpuyard.cli.schema import schema_text
from gpuyard.spec import ClusterSpec, SpecError, parse_spec
from gpuyard.spec.json_schema import SCHEMA_PATH, editor_line, stack_schema
from gpuyard.spec.problems import Path as Keys
from gpuyard.spec.stack_file import CLUSTER_KEY, read_stack_file
from gpuyard.spec.values import Cidr
from tests.changes import apply_changes
from tests.unit.spec.conftest import SMALLEST

from .test_parse_law import clusters

ROOT = Path(__file__).parents[3]
STACK_FILES = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))
SCHEMA = stack_schema()
FILES = Draft7Validator(SCHEMA)
CLUSTERS = Draft7Validator({**SCHEMA["definitions"]["ClusterSpec"], "definitions": SCHEMA["definitions"]})


def refused_at(data: Any) -> set[Keys]:
    """Paths at which the schema refuses a cluster; those inside of a choice stand for the choice."""
    return {tuple(error.absolute_path) for error in CLUSTERS.iter_errors(data)}


def problems_of(data: Any) -> dict[Keys, str]:
    try:
        parse_spec(ClusterSpec, data)
    except SpecError as error:
        return {problem.path: str(problem) for problem in error.problems}
    return {}


def value_at(data: Any, path: Keys) -> Any:
    for part in path:
        data = data[part]
    return data


def file_errors(path: Path) -> list[str]:
    """What the schema says against a stack file; the file's own parser must be able to read it."""
    file = read_stack_file(path)
    return [error.message for error in FILES.iter_errors({"config": file.config})]


def test_the_file_in_the_repository_is_fresh() -> None:
    assert (ROOT / SCHEMA_PATH).read_text(encoding="utf-8") == schema_text(), (
        f"Run: .venv/bin/gpuyard schema --output {SCHEMA_PATH}"
    )


def test_it_is_a_valid_schema_of_draft_7() -> None:
    Draft7Validator.check_schema(json.loads(schema_text()))
    assert SCHEMA["$schema"].endswith("/draft-07/schema#")


@pytest.mark.parametrize("path", STACK_FILES, ids=lambda path: path.name)
def test_every_stack_file_is_accepted_and_names_the_schema_in_its_first_line(path: Path) -> None:
    assert file_errors(path) == []
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=../schemas/stack.schema.json" == editor_line(path)


def test_the_stack_file_of_the_readme_is_accepted(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = [text for text in re.findall(r"```yaml\n(.*?)```", readme, flags=re.DOTALL) if f"{CLUSTER_KEY}:" in text]
    assert blocks
    for number, block in enumerate(blocks):
        path = tmp_path / f"Pulumi.readme-{number}.yaml"
        path.write_text(block, encoding="utf-8")
        assert file_errors(path) == []


def test_every_key_and_model_has_a_description() -> None:
    for name, part in SCHEMA["definitions"].items():
        assert part["description"], name
        assert part["additionalProperties"] is False, name
        for key, value in part["properties"].items():
            assert value["description"].endswith((".", "…")), (name, key)
            assert "``" not in value["description"]
            assert "title" not in value


def test_keys_are_those_of_the_models_with_their_words_and_limits() -> None:
    pool = SCHEMA["definitions"]["NodePoolSpec"]
    assert pool["required"] == ["nodes"]
    assert pool["properties"]["interconnect"]["enum"] == ["rdma", "nvlink", "none"]
    assert pool["properties"]["interconnect"]["default"] == "none"
    assert "default" not in pool["properties"]["gpu"]
    disk = pool["properties"]["root_disk_gib"]
    assert (disk["type"], disk["minimum"], disk["maximum"], disk["default"]) == (["integer", "string"], 75, 65536, 200)
    hours = SCHEMA["definitions"]["SnapshotSpec"]["properties"]["hours_utc"]
    assert (hours["minItems"], hours["maxItems"], hours["items"]["maximum"]) == (1, 24, 23)
    amount = SCHEMA["definitions"]["BudgetSpec"]["properties"]["monthly_amount"]
    assert (amount["exclusiveMinimum"], amount["maximum"]) == (0, 1e12)


def test_examples_propose_values_and_forbid_none() -> None:
    schema = stack_schema({"gpu": ["A10"], "region": ["us-east-1"]})
    assert schema["definitions"]["NodePoolSpec"]["properties"]["gpu"]["examples"] == ["A10"]
    assert schema["properties"]["config"]["properties"]["aws:region"]["examples"] == ["us-east-1"]
    file = {"config": {CLUSTER_KEY: {**SMALLEST, "node_pools": {"a": {"gpu": "any", "nodes": 1}}}}}
    assert Draft7Validator(schema).is_valid(file)
    written = json.loads(schema_text())["definitions"]["NodePoolSpec"]["properties"]["gpu"]["examples"]
    assert "A100-SXM4-80GB" in written


@pytest.mark.parametrize(
    "changes",
    [
        {"node_pools.train.nodes": 4},
        {"node_pools.train.nodes": "4"},
        {"node_pools.train.nodes": 4.0},
        {"node_pools.train.nodes": {"min": "0", "max": 8, "desired": None}},
        {"workload": {"task": "pretrain", "model_parameters": 70e9}},
        {"workload": {"task": "pretrain", "model_parameters": "70e9"}},
        {"protect_data": "true"},
        {"protect_data": False},
        {"file_system": None},
        {"zone": None},
        {"checkpoints": {"keep_days": 1, "tiers": {"archive": "30"}, "prefixes": {"cold": {"keep_days": 9}}}},
        {
            "access": {
                "ssh_from": ["10.0.0.0/8", "10.1.2.3", "2001:db8::/32", "::ffff:1.2.3.4/128", "10.0.0.0/255.0.0.0"]
            }
        },
        {"monitoring": {"notify": ["a.b@example.com"]}},
        {"node_pools.train.root_device": "/dev/xvda"},
    ],
)
def test_every_written_form_of_a_value_is_accepted(described: Any, changes: dict[str, Any]) -> None:
    data = described(changes)
    assert problems_of(data) == {}
    assert refused_at(data) == set()


@pytest.mark.parametrize(
    ("changes", "at"),
    [
        ({"cloud": ...}, ()),
        ({"cloud": "azure"}, ("cloud",)),
        ({"clouds": "aws"}, ()),
        ({"node_pools": {}}, ("node_pools",)),
        ({"node_pools": []}, ("node_pools",)),
        ({"node_pools": {"Train": {"nodes": 1}}}, ("node_pools",)),
        ({"node_pools.train.nodes": ...}, ("node_pools", "train")),
        ({"node_pools.train.nodes": 0}, ("node_pools", "train", "nodes")),
        ({"node_pools.train.nodes": "two"}, ("node_pools", "train", "nodes")),
        ({"node_pools.train.nodes": True}, ("node_pools", "train", "nodes")),
        ({"node_pools.train.nodes": {"min": 1}}, ("node_pools", "train", "nodes")),
        ({"node_pools.train.nodes": {"min": 1, "max": 2, "most": 3}}, ("node_pools", "train", "nodes")),
        ({"node_pools.train.gpu": 100}, ("node_pools", "train", "gpu")),
        ({"node_pools.train.gpu": ""}, ("node_pools", "train", "gpu")),
        ({"node_pools.train.root_disk_gib": 20}, ("node_pools", "train", "root_disk_gib")),
        ({"node_pools.train.root_disk_gib": 200.5}, ("node_pools", "train", "root_disk_gib")),
        ({"node_pools.train.root_disk_gib": "200.5"}, ("node_pools", "train", "root_disk_gib")),
        ({"node_pools.train.root_disk_gib": "200 GiB"}, ("node_pools", "train", "root_disk_gib")),
        ({"node_pools.train.bare_metal": "yes"}, ("node_pools", "train", "bare_metal")),
        ({"node_pools.train.bare_metal": 1}, ("node_pools", "train", "bare_metal")),
        ({"node_pools.train.zones": []}, ("node_pools", "train", "zones")),
        ({"node_pools.train.zones": "us-east-1a"}, ("node_pools", "train", "zones")),
        ({"node_pools.train.root_device": "xvda"}, ("node_pools", "train", "root_device")),
        ({"checkpoints": {"keep_days": 1, "tiers": {"glacier": 3}}}, ("checkpoints",)),
        ({"snapshots": {"hours_utc": [24]}}, ("snapshots",)),
        ({"access": {"ssh_from": ["everywhere"]}}, ("access", "ssh_from", 0)),
        ({"monitoring": {"notify": ["nobody"]}}, ("monitoring",)),
        ({"workload": {"task": "pretrain", "model_parameters": 0}}, ("workload",)),
        ({"tags": {"team": 7}}, ("tags", "team")),
    ],
)
def test_what_the_parser_refuses_for_its_shape_the_schema_refuses(
    described: Any, changes: dict[str, Any], at: Keys
) -> None:
    data = described(changes)
    assert problems_of(data)
    assert refused_at(data) == {at}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, "'config' is a required property"),
        ({"config": None}, "None is not of type 'object'"),
        ({"config": {"aws:region": "us-east-1"}}, "is not valid under any of the given schemas"),
        ({"config": {"cluster": SMALLEST, CLUSTER_KEY: SMALLEST}}, "is valid under each of"),
    ],
)
def test_a_file_without_one_cluster_is_refused(content: Any, said: str) -> None:
    assert any(said in error.message for error in FILES.iter_errors(content))


def test_keys_of_others_are_free() -> None:
    own = {"encryptionsalt": "v1:abc=", "environment": ["shared"]}
    content = {"config": {CLUSTER_KEY: SMALLEST, "aws:region": "us-east-1", "team:x": {"secure": "v1"}}, **own}
    assert [error.message for error in FILES.iter_errors(content)] == []


def test_the_editor_line_is_relative_to_the_file_and_left_out_without_a_schema(tmp_path: Path) -> None:
    file = tmp_path / "stacks" / "Pulumi.a.yaml"
    assert editor_line(file) is None
    (tmp_path / "schemas").mkdir()
    (tmp_path / SCHEMA_PATH).write_text("{}")
    assert editor_line(file) == "# yaml-language-server: $schema=../schemas/stack.schema.json"
    assert editor_line(tmp_path / "Pulumi.a.yaml") == "# yaml-language-server: $schema=schemas/stack.schema.json"


def _changed() -> st.SearchStrategy[Any]:
    """A right cluster with a few values changed, so that most of it stays right."""
    values = st.sampled_from(
        [None, True, 0, 1, 7, -1, 2.5, 1e6, 10**9, "4", "4.0", "4.5", "70e9", "-3", "x", "", "true", "10.0.0.0/8"]
    ) | st.sampled_from([[], ["mon"], ["a", 1], {}, {"min": 0, "max": 3}, {"keep_days": 3}, {"task": "lora"}])
    paths = [
        f"{above}{key}"
        for above, part in (
            ("", "ClusterSpec"),
            ("node_pools.train.", "NodePoolSpec"),
            ("workload.", "WorkloadSpec"),
            ("file_system.", "FileSystemSpec"),
            ("checkpoints.", "CheckpointSpec"),
            ("snapshots.", "SnapshotSpec"),
            ("monitoring.", "MonitoringSpec"),
        )
        for key in SCHEMA["definitions"][part]["properties"]
    ]
    return st.dictionaries(st.sampled_from(paths), values, min_size=1, max_size=2)


def _with(changes: dict[str, Any]) -> Any:
    data: dict[str, Any] = deepcopy(
        {
            **SMALLEST,
            "workload": {"task": "lora"},
            "file_system": {"capacity_gib": 1200},
            "checkpoints": {"keep_days": 7},
            "snapshots": {"every_hours": 6, "keep_days": 7},
            "monitoring": {},
        }
    )
    # A part that is replaced has no keys of its own to change.
    apply_changes(data, {path: value for path, value in changes.items() if path.split(".")[0] not in changes})
    apply_changes(data, {path: value for path, value in changes.items() if "." not in path})
    return data


def _is_semantic(value: Any) -> bool:
    """Whether the models refuse for more than shape: a number or a network that is written as text, and not a number.

    JSON has no NaN, and a pattern cannot tell how large a number is or which bits of a network are set.
    """
    return isinstance(value, str) or value != value


@given(_changed())
@settings(max_examples=300, deadline=None)
def test_schema_and_models_agree_on_clusters_that_are_nearly_right(changes: dict[str, Any]) -> None:
    _judge(_with(changes))


@given(clusters())
@settings(max_examples=200, deadline=None)
def test_schema_and_models_agree_on_anything_like_a_cluster(data: Any) -> None:
    _judge(data)


def _judge(data: Any) -> None:
    problems = problems_of(data)
    if not CLUSTERS.is_valid(data):
        assert problems, "the schema refuses what the models accept"
        return
    # What the schema accepts, the models accept, or they refuse a text for what it means.
    assert all(_is_semantic(value_at(data, path)) for path in problems), problems


@given(st.ip_addresses(), st.integers(0, 128))
def test_every_network_that_python_reads_has_the_schema_s_pattern(address: Any, bits: int) -> None:
    pattern = SCHEMA["definitions"]["NetworkSpec"]["properties"]["cidr"]["pattern"]
    for text in (str(address), f"{address}/{bits}"):
        try:
            TypeAdapter[str](Cidr).validate_python(text)
        except ValidationError:
            continue
        assert re.search(pattern, text)
