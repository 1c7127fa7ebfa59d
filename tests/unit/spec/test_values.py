"""BR-083: a value means the same however ``pulumi config set`` or an editor wrote it, and nothing is guessed."""

from typing import Any

import pytest

from gpuyard.spec import ClusterSpec, NodePoolSpec, SpecError, parse_spec

from .conftest import Described, Messages


def pool(**values: Any) -> NodePoolSpec:
    return parse_spec(NodePoolSpec, {"nodes": 1, "gpu": "A10", **values})


def problem(**values: Any) -> str:
    with pytest.raises(SpecError) as caught:
        pool(**values)
    return str(caught.value)


@pytest.mark.parametrize("value", [8, "8", 8.0, "8.0", "8e0", "+8", "08", "80e-1"])
def test_a_whole_number_may_be_written_as_text(value: object):
    parsed = pool(gpus_per_node=value).gpus_per_node
    assert parsed == 8
    assert type(parsed) is int


@pytest.mark.parametrize(
    "value",
    [True, False, "true", "yes", "8 nodes", "eight", "0x8", "8.5", 8.5, "", "inf", "nan", float("nan"), [8]]
    + [" 8", "8 ", "8\n", "1_0", "\uff18", "\u0663", "8e", "e8", ".", "--8", "1" * 5000],
)
def test_what_is_no_whole_number_is_refused(value: object):
    message = problem(gpus_per_node=value)
    assert message.startswith("gpus_per_node: should be a whole number, not ")


@pytest.mark.parametrize(("value", "expected"), [(True, True), (False, False), ("true", True), ("false", False)])
def test_a_flag_may_be_written_as_text(value: object, expected: bool):
    assert pool(bare_metal=value).bare_metal is expected


@pytest.mark.parametrize("value", ["yes", "no", "True ", "True", "TRUE", "on", "1", "", 1, 0, 1.0])
def test_what_is_no_flag_is_refused(value: object):
    assert problem(bare_metal=value) == f"bare_metal: should be true or false, not {value!r}."


@pytest.mark.parametrize("value", [70e9, 70_000_000_000, "70e9", "70000000000", "7e10"])
def test_a_size_may_be_written_as_text(value: object, described: Described):
    spec = parse_spec(ClusterSpec, described({"workload": {"task": "pretrain", "model_parameters": value}}))
    assert spec.workload is not None
    assert spec.workload.model_parameters == 70e9


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "should be a number, not True."),
        ("70B", "should be a number, not '70B'."),
        ("inf", "should be a number, not 'inf'."),
        ("1_0", "should be a number, not '1_0'."),
        (" 7e9", "should be a number, not ' 7e9'."),
        ("\uff17", "should be a number, not '\uff17'."),
        (10**400, f"should be a finite number, not 1{'0' * 76}...."),
        (float("inf"), "should be a finite number, not inf."),
        ("1e400", "should be a finite number, not '1e400'."),
        (float("nan"), "should be a finite number, not nan."),
        (-1, "should be more than 0, not -1."),
    ],
)
def test_what_is_no_size_is_refused(value: object, message: str, described: Described, messages: Messages):
    found = messages(described({"workload": {"task": "pretrain", "model_parameters": value}}))
    assert found == [f"workload.model_parameters: {message}"]


@pytest.mark.parametrize("nodes", [4, "4", 4.0, {"min": 4, "max": "4"}])
def test_a_number_of_nodes_is_a_range_of_one_size(nodes: object):
    parsed = pool(nodes=nodes).nodes
    assert (parsed.min, parsed.max) == (4, 4)


@pytest.mark.parametrize("nodes", [True, 1.5, "many"])
def test_what_is_no_number_of_nodes_is_refused(nodes: object):
    assert f"should be a whole number, not {nodes!r}." in problem(nodes=nodes)


def test_text_of_digits_stays_text():
    assert pool(image="012345678901").image == "012345678901"


def test_a_number_is_no_text():
    assert problem(image=12345678901) == "image: should be text, not 12345678901."


@pytest.mark.parametrize("text", ["xvda", "/dev/", "/dev/../etc", "/dev/XVDA", "/dev/sd a"])
def test_a_root_device_is_the_path_of_a_device(text: str):
    with pytest.raises(SpecError) as caught:
        parse_spec(NodePoolSpec, {"nodes": 1, "gpu": "A10", "root_device": text})
    assert str(caught.value) == f"root_device: should be the path of a device such as /dev/xvda, not {text!r}."
