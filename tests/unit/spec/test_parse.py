from copy import deepcopy
from typing import Any

import pytest

from gpuyard.spec import ClusterSpec, NodePoolSpec, SpecError, parse_spec
from gpuyard.spec.models import Environment
from gpuyard.spec.parse import parse_what_is_right, right_parts

from .conftest import SMALLEST, Described, Messages

CLUSTER_KEYS = (
    "access, checkpoints, cloud, environment, file_system, monitoring, name, network, node_pools, protect_data, "
    "region, snapshots, tags, workload or zone"
)
TASKS = "pretrain, full_finetune, lora, rl, vision or inference"
NAME = "should be lower-case letters, digits and hyphens, at most 32, beginning with a letter"


def test_the_smallest_description_is_right_and_has_the_documented_defaults(described: Described):
    spec = parse_spec(ClusterSpec, described({}))
    pool = spec.node_pools["train"]
    assert (pool.nodes.min, pool.nodes.max) == (1, 1)
    assert (pool.interconnect, pool.purchase, pool.root_disk_gib) == ("none", "on_demand", 200)
    assert (spec.network.cidr, spec.network.egress) == ("10.64.0.0/16", "nat")
    assert spec.access.ssh_from == []
    assert spec.protect_data is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"regoin": "x"}, "regoin: unknown key 'regoin'. Did you mean 'region'?"),
        ({"zzz": 1}, f"zzz: unknown key 'zzz'. Known keys: {CLUSTER_KEYS}."),
        (
            {"node_pools.train.gpus_per_nod": 8},
            "node_pools.train.gpus_per_nod: unknown key 'gpus_per_nod'. Did you mean 'gpus_per_node'?",
        ),
        (
            {"node_pools.train.nodes": {"min": 0, "max": 2, "maxx": 3}},
            "node_pools.train.nodes.maxx: unknown key 'maxx'. Did you mean 'max'?",
        ),
        (
            {"node_pools.train.reservation": {"ID": "cr-1"}},
            "node_pools.train.reservation.ID: unknown key 'ID'. Did you mean 'id'?",
        ),
        ({"access": {"ssh": []}}, "access.ssh: unknown key 'ssh'. Known keys: ssh_from."),
        ({"access": {"[key]": []}}, "access.[key]: unknown key '[key]'. Known keys: ssh_from."),
        ({"[key]": 1}, f"[key]: unknown key '[key]'. Known keys: {CLUSTER_KEYS}."),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_or_all_known(
    changes: dict[str, Any], message: str, described: Described, messages: Messages
):
    assert messages(described(changes)) == [message]


@pytest.mark.parametrize("name", ["gpu", "image", "zones", "placement", "reservation"])
def test_a_pool_may_be_called_as_a_key_of_a_pool(name: str, described: Described, messages: Messages):
    found = messages(described({"node_pools": {name: {"gpu": "A10", "nodes": 1, "zzzz": 2}}}))
    assert len(found) == 1
    assert found[0].startswith(f"node_pools.{name}.zzzz: unknown key 'zzzz'. Known keys: alicloud, aws, bare_metal, ")


def test_a_pool_called_nodes_has_the_keys_of_a_pool(described: Described, messages: Messages):
    found = messages(described({"node_pools": {"nodes": {"gpu": "A10", "nodes": 1, "gpuu": 2}}}))
    assert found == ["node_pools.nodes.gpuu: unknown key 'gpuu'. Did you mean 'gpu'?"]


def test_a_mapping_may_have_a_key_called_as_pydantic_marks_keys(described: Described, messages: Messages):
    pools = {"[key]": {"gpu": "A10", "nodes": 1}}
    assert messages(described({"node_pools": pools, "tags": {"[key]": 3}})) == [
        f"node_pools.[key]: {NAME}, not '[key]'.",
        "tags.[key]: should be text, not 3.",
    ]


def test_no_entry_is_not_called_a_mapping(described: Described, messages: Messages):
    assert messages(described({"node_pools": {}})) == [
        "node_pools: should have at least 1 entry, not an empty mapping."
    ]


@pytest.mark.parametrize("nodes", ["eight", True, 1.5, 0, -1, 100_001, 10**400, ""])
def test_one_wrong_number_of_nodes_is_one_problem(nodes: object, described: Described, messages: Messages):
    (found,) = messages(described({"node_pools.train.nodes": nodes}))
    assert found.startswith("node_pools.train.nodes: should be ")


def test_a_number_that_python_does_not_write_is_refused(described: Described, messages: Messages):
    number = 10**5000
    changes = {"node_pools.train.nodes": number, "region": number, "workload": {"task": number}}
    shown = "a number of thousands of digits"
    assert messages(described(changes)) == [
        f"region: should be text, not {shown}.",
        f"workload.task: {shown} is not allowed. Allowed: {TASKS}.",
        f"node_pools.train.nodes: should be at most 100000, not {shown}.",
    ]


@pytest.mark.parametrize("key", ["cloud", "region", "environment", "node_pools"])
def test_a_missing_key_is_named(key: str, described: Described, messages: Messages):
    assert messages(described({key: ...})) == [f"{key}: is missing. It must be given."]


def test_a_missing_key_of_a_part_is_named_with_its_path(described: Described, messages: Messages):
    changes = {"checkpoints": {}, "node_pools.train.nodes": {"min": 0}}
    assert messages(described(changes)) == [
        "node_pools.train.nodes.max: is missing. It must be given.",
        "checkpoints.keep_days: is missing. It must be given.",
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"region": 3}, "region: should be text, not 3."),
        ({"region": ["us-east-1"]}, "region: should be text, not a list."),
        ({"node_pools": ["x"]}, "node_pools: should be a mapping of keys to values, not a list."),
        ({"node_pools": None}, "node_pools: should be a mapping of keys to values, not empty."),
        ({"node_pools.train": None}, "node_pools.train: should be a mapping of keys to values, not empty."),
        ({"node_pools.train": []}, "node_pools.train: should be a mapping of keys to values, not an empty list."),
        ({"checkpoints": 3}, "checkpoints: should be a mapping of keys to values, not 3."),
        ({"tags": {"team": 3}}, "tags.team: should be text, not 3."),
        ({"node_pools.train.zones": "us-east-1a"}, "node_pools.train.zones: should be a list, not 'us-east-1a'."),
        (
            {"node_pools.train.zones": []},
            "node_pools.train.zones: should have at least 1 entry, not an empty list.",
        ),
        ({"node_pools.train.zones": ["us-east-1a", 7]}, "node_pools.train.zones[1]: should be text, not 7."),
        ({"node_pools.train.nodes": None}, "node_pools.train.nodes: should be a mapping of keys to values, not empty."),
        ({"region": {"name": "us-east-1"}}, "region: should be text, not a mapping."),
    ],
)
def test_a_value_of_the_wrong_type_is_shown(
    changes: dict[str, Any], message: str, described: Described, messages: Messages
):
    assert messages(described(changes)) == [message]


@pytest.mark.parametrize(
    ("data", "shown"), [(None, "empty"), (3, "3"), ("x", "'x'"), ([], "an empty list"), ([1], "a list")]
)
def test_a_description_that_is_no_mapping_is_refused(data: object, shown: str, messages: Messages):
    assert messages(data) == [f"should be a mapping of keys to values, not {shown}."]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cloud": "gcp"}, "cloud: 'gcp' is not allowed. Allowed: aws, alicloud or tencentcloud."),
        ({"environment": "production"}, "environment: 'production' is not allowed. Allowed: dev, staging or prod."),
        (
            {"environment": "stagin"},
            "environment: 'stagin' is not allowed. Did you mean 'staging'? Allowed: dev, staging or prod.",
        ),
        (
            {"workload": {"task": "lor"}},
            f"workload.task: 'lor' is not allowed. Did you mean 'lora'? Allowed: {TASKS}.",
        ),
        ({"workload": {"task": None}}, f"workload.task: empty is not allowed. Allowed: {TASKS}."),
        (
            {"node_pools.train.purchase": "Spot"},
            "node_pools.train.purchase: 'Spot' is not allowed. Did you mean 'spot'? Allowed: on_demand, spot, "
            "reserved, capacity_block or prepaid.",
        ),
        (
            {"node_pools.train.interconnect": "nvswitch"},
            "node_pools.train.interconnect: 'nvswitch' is not allowed. Allowed: rdma, nvlink or none.",
        ),
    ],
)
def test_a_word_outside_the_list_is_refused_with_the_list(
    changes: dict[str, Any], message: str, described: Described, messages: Messages
):
    assert messages(described(changes)) == [message]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"checkpoints": {"keep_days": 0}}, "checkpoints.keep_days: should be at least 1, not 0."),
        ({"checkpoints": {"keep_days": 36_501}}, "checkpoints.keep_days: should be at most 36500, not 36501."),
        ({"node_pools.train.root_disk_gib": 74}, "node_pools.train.root_disk_gib: should be at least 75, not 74."),
        (
            {"workload": {"task": "lora", "model_parameters": 0}},
            "workload.model_parameters: should be more than 0, not 0.",
        ),
        ({"name": "Bad Name"}, f"name: {NAME}, not 'Bad Name'."),
        ({"name": "a" * 33}, f"name: {NAME}, not '{'a' * 33}'."),
        ({"node_pools": {"Bad": {"gpu": "A10", "nodes": 1}}}, f"node_pools.Bad: {NAME}, not 'Bad'."),
    ],
)
def test_a_value_outside_its_limits_names_the_limit(
    changes: dict[str, Any], message: str, described: Described, messages: Messages
):
    assert messages(described(changes)) == [message]


def test_a_long_value_is_cut_in_the_message(described: Described, messages: Messages):
    (message,) = messages(described({"name": "A" * 5000}))
    assert message.endswith("AAA....")
    assert len(message) < 200


@pytest.mark.parametrize(
    ("cidr", "wrong"),
    [
        ("10.0.0.1/8", "has host bits set: the network is 10.0.0.0/8"),
        ("2001:db8::1/32", "has host bits set: the network is 2001:db8::/32"),
        ("ten", "should be a network in CIDR notation such as 10.0.0.0/8"),
        ("10.0.0.0/33", "should be a network in CIDR notation such as 10.0.0.0/8"),
        ("", "should be a network in CIDR notation such as 10.0.0.0/8"),
    ],
)
def test_an_address_range_must_be_a_network(cidr: str, wrong: str, described: Described, messages: Messages):
    found = messages(described({"access": {"ssh_from": ["10.0.0.0/8", cidr]}}))
    assert found == [f"access.ssh_from[1]: {wrong}, not {cidr!r}."]


@pytest.mark.parametrize("cidr", ["10.0.0.0/8", "192.0.2.7", "192.0.2.7/32", "2001:db8::/32"])
def test_a_network_is_taken_as_written(cidr: str, described: Described):
    assert parse_spec(ClusterSpec, described({"access": {"ssh_from": [cidr]}})).access.ssh_from == [cidr]


def test_all_errors_of_a_description_come_together(described: Described, messages: Messages):
    changes = {
        "cloud": "gcp",
        "regoin": "x",
        "environment": ...,
        "workload": {"task": "pretrian"},
        "node_pools.train.nodes": {"min": "many", "max": 4},
        "checkpoints": {"keep_days": 0},
    }
    found = messages(described(changes))
    assert [message.split(":")[0] for message in found] == [
        "cloud",
        "environment",
        "workload.task",
        "node_pools.train.nodes.min",
        "checkpoints.keep_days",
        "regoin",
    ]


def test_what_is_right_stays_when_a_part_is_wrong(described: Described):
    data = described({"checkpoints": {"keep_days": "long"}, "tags": {"team": "x"}, "zzz": 1})
    before = deepcopy(data)
    spec, problems = parse_what_is_right(ClusterSpec, data)
    assert spec is not None
    assert spec.checkpoints is None
    assert spec.tags == {"team": "x"}
    assert [problem.path for problem in problems] == [("checkpoints", "keep_days"), ("zzz",)]
    assert data == before


def test_a_wrong_place_in_a_list_leaves_the_list_out(described: Described):
    spec, problems = parse_what_is_right(ClusterSpec, described({"node_pools.train.zones": ["us-east-1a", 3]}))
    assert spec is not None
    assert spec.node_pools["train"].zones is None
    assert [problem.path for problem in problems] == [("node_pools", "train", "zones", 1)]


def test_nothing_right_is_no_model():
    spec, problems = parse_what_is_right(ClusterSpec, {"cloud": "aws"})
    assert spec is None
    assert [problem.path for problem in problems] == [("region",), ("environment",), ("node_pools",)]


class _Lenient(ClusterSpec):
    environment: Environment = "dev"


def test_a_stand_in_keeps_the_other_parts(described: Described):
    data = described({"environment": ..., "checkpoints": {"keep_days": 3}, "node_pools.train.nods": 2})
    parts = right_parts(ClusterSpec, data, _Lenient)
    assert parts.spec is not None
    assert parts.spec.environment == "dev"
    assert parts.spec.checkpoints is not None
    assert [problem.path for problem in parts.problems] == [("environment",), ("node_pools", "train", "nods")]
    assert parts.wrong == (("environment",),)
    assert right_parts(ClusterSpec, data).spec is None


@pytest.mark.parametrize(
    ("changes", "purchase", "misspelled"),
    [
        ({"purchse": "spot"}, "spot", (("node_pools", "train", "purchase"),)),
        # A key that is there is not replaced, a wrong value is not taken over, and two guesses are one.
        ({"purchse": "spot", "purchase": "reserved"}, "reserved", ()),
        ({"purchse": "stolen"}, "on_demand", (("node_pools", "train", "purchase"),)),
        ({"purchse": "spot", "purchas": "reserved"}, "spot", (("node_pools", "train", "purchase"),)),
        ({"zzzz": "spot"}, "on_demand", ()),
    ],
)
def test_what_a_misspelled_key_holds_is_not_lost(
    changes: dict[str, Any], purchase: str, misspelled: tuple[Any, ...], described: Described
):
    data = described({f"node_pools.train.{key}": value for key, value in changes.items()})
    before = deepcopy(data)
    parts = right_parts(ClusterSpec, data)
    assert parts.spec is not None
    assert parts.spec.node_pools["train"].purchase == purchase
    assert parts.misspelled == misspelled
    assert data == before


def test_a_model_is_frozen():
    spec = parse_spec(NodePoolSpec, {"gpu": "A10", "nodes": 1})
    with pytest.raises(ValueError, match="frozen"):
        setattr(spec, "gpu", "T4")  # noqa: B010 a plain assignment is a type error already
    assert spec.gpu == "A10"


def test_the_data_given_is_not_changed(described: Described):
    data = described({"node_pools.train.nodes": "2"})
    before = deepcopy(data)
    parse_spec(ClusterSpec, data)
    assert data == before
    with pytest.raises(SpecError):
        parse_spec(ClusterSpec, {**data, "zzz": 1})
    assert data == before
    assert SMALLEST["node_pools"]["train"]["nodes"] == 1
