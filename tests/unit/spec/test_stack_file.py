from collections.abc import Callable
from pathlib import Path

import pytest

from gpuyard.spec import Problem, SpecError
from gpuyard.spec.stack_file import StackFile, read_stack_file

Write = Callable[[str | bytes], Path]

CLUSTER = """\
# One pool.
config:
  aws:region: us-east-1
  gpuyard:cluster:
    region: us-east-1
    node_pools:
      train:
        nodes: 4
        zones:
          - us-east-1a
          - us-east-1b
    access: {ssh_from: [10.0.0.0/8]}
"""


def refused(path: Path) -> Problem:
    with pytest.raises(SpecError) as caught:
        read_stack_file(path, "stacks/Pulumi.trial.yaml")
    (problem,) = caught.value.problems
    assert problem.file == "stacks/Pulumi.trial.yaml"
    return problem


@pytest.fixture
def cluster(stack_file: Write) -> StackFile:
    return read_stack_file(stack_file(CLUSTER), "stack.yaml")


def test_a_file_that_does_not_exist_cannot_be_read(tmp_path: Path):
    problem = refused(tmp_path / "none.yaml")
    assert problem.message.startswith("cannot be read: ")
    assert "No such file or directory" in problem.message


def test_a_folder_cannot_be_read(tmp_path: Path):
    assert "cannot be read: " in str(refused(tmp_path))


def test_a_file_that_is_no_text_cannot_be_read(stack_file: Write):
    assert "cannot be read: 'utf-8' codec can't decode byte 0xff" in str(refused(stack_file(b"\xff\xfe\xfa")))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("config:\n  a: [1\n", 3, "while parsing a flow sequence expected ',' or ']'"),
        ("config:\n  a: 1\n b: 2\n", 3, "expected <block end>"),
        ("config:\n\tx: 1\n", 2, "found character '\\t' that cannot start any token"),
        ("config:\n  a: *x\n", 2, "found undefined alias 'x'"),
        ("config:\n  a: 1\n---\nconfig: {}\n", 3, "found another document"),
        ('config:\n  a: "\x00"\n', 1, "special characters are not allowed"),
    ],
)
def test_what_is_no_yaml_is_refused_with_its_line(text: str, line: int, message: str, stack_file: Write):
    problem = refused(stack_file(text))
    assert problem.line == line
    assert problem.message.startswith("is not valid YAML: ")
    assert message in problem.message


@pytest.mark.parametrize(
    "text",
    [
        "config: " + "[" * 5000,
        "config:\n  a: " + "[" * 300 + "]" * 300,
        "config:\n  a: " + "{a: " * 70 + "}" * 70,
    ],
    ids=["open", "lists", "mappings"],
)
def test_what_is_nested_too_deep_is_refused(text: str, stack_file: Write):
    assert str(refused(stack_file(text))) == (
        "stacks/Pulumi.trial.yaml:1: is not valid YAML for a stack: it is nested too deep. Use at most 64 levels."
    )


def test_64_levels_are_read(stack_file: Write):
    file = read_stack_file(stack_file("config:\n  a: " + "[" * 62 + "]" * 62))
    assert str(file.config["a"]) == "[" * 62 + "]" * 62


@pytest.mark.parametrize(
    ("value", "message"),
    [("2026-02-30", "day is out of range for month"), ("1" * 5000, "integer string conversion"), ("!!int x", "'x'")]
    + [("!!set x", ""), ("!!float ''", ""), ("!!int ''", "")],
    ids=["no date", "a number of 5000 digits", "no number", "no set", "an empty float", "an empty number"],
)
def test_a_scalar_that_yaml_cannot_read_is_refused(value: str, message: str, stack_file: Write):
    problem = refused(stack_file(f"config:\n  a: {value}\n"))
    assert problem.message.startswith("is not valid YAML: a value does not fit its type (")
    assert message in problem.message


def test_a_repeated_key_is_refused_with_its_second_line(stack_file: Write):
    problem = refused(stack_file("config:\n  a: 1\n  b: 2\n  a: 3\n"))
    assert problem.line == 4
    assert 'found duplicate key "a" with value "3" (original value: "1")' in problem.message


@pytest.mark.parametrize(
    "text",
    ["", "# nothing\n", "- a\n- b\n", "hello\n", "x: 1\n", "config:\n", "config: x\n", "config:\n  - a\n"],
    ids=["empty", "comment", "list", "text", "no config", "empty config", "text as config", "list as config"],
)
def test_a_file_without_a_config_mapping_is_refused(text: str, stack_file: Write):
    problem = refused(stack_file(text))
    assert str(problem) == (
        "stacks/Pulumi.trial.yaml:1: has no 'config:' mapping. Put the cluster under config: gpuyard:cluster:"
    )


def test_problems_name_the_path_itself_when_no_other_name_is_given(tmp_path: Path):
    with pytest.raises(SpecError) as caught:
        read_stack_file(tmp_path / "none.yaml")
    assert caught.value.problems[0].file == str(tmp_path / "none.yaml")


def test_a_file_without_a_cluster_is_read_and_holds_none(stack_file: Write):
    file = read_stack_file(stack_file("config:\n  aws:region: us-east-1\n"))
    assert file.cluster is None
    assert file.config == {"aws:region": "us-east-1"}


@pytest.mark.parametrize("key", ["gpuyard:cluster", "cluster"])
def test_the_cluster_may_stand_under_the_projects_own_short_key(key: str, stack_file: Write):
    file = read_stack_file(stack_file(f"config:\n  a: 1\n  {key}:\n    region: us-east-1\n"))
    assert file.cluster == {"region": "us-east-1"}
    assert file.line_of(("region",)) == 4


def test_values_are_plain_data(cluster: StackFile):
    pool = cluster.cluster["node_pools"]["train"]
    assert [type(value) for value in (cluster.cluster, pool["nodes"], pool["zones"], cluster.cluster["region"])] == [
        dict,
        int,
        list,
        str,
    ]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 4),
        (("region",), 5),
        (("node_pools",), 6),
        (("node_pools", "train"), 7),
        (("node_pools", "train", "nodes"), 8),
        (("node_pools", "train", "zones", 0), 10),
        (("node_pools", "train", "zones", 1), 11),
        (("access", "ssh_from", 0), 12),
    ],
)
def test_every_value_knows_its_line(path: tuple[str | int, ...], line: int, cluster: StackFile):
    assert cluster.line_of(path) == line


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("zone",), 4),
        (("node_pools", "train", "gpu"), 7),
        (("node_pools", "train", "zones", 9), 9),
        (("node_pools", "train", "nodes", "min"), 8),
        (("file_system", "capacity_gib"), 4),
    ],
)
def test_what_is_not_in_the_file_has_the_line_of_what_is_around_it(
    path: tuple[str | int, ...], line: int, cluster: StackFile
):
    assert cluster.line_of(path) == line


def test_a_key_of_the_config_knows_its_line(cluster: StackFile):
    assert cluster.line_of_config("aws:region") == 3
    assert cluster.line_of_config("aws:profile") is None


def test_a_located_problem_names_file_line_and_the_whole_path(cluster: StackFile):
    problem = cluster.located(Problem(("node_pools", "train", "nodes"), "is wrong.", "Mend it."))
    assert str(problem) == "stack.yaml:8: gpuyard:cluster.node_pools.train.nodes: is wrong. Mend it."


def test_anchors_and_merged_keys_are_followed(stack_file: Write):
    text = (
        "config:\n"
        "  gpuyard:cluster:\n"
        "    node_pools:\n"
        "      train: &train\n"
        "        gpu: A10\n"
        "        nodes: 1\n"
        "      more:\n"
        "        <<: *train\n"
        "        nodes: 2\n"
        "      same: *train\n"
    )
    file = read_stack_file(stack_file(text))
    pools = file.cluster["node_pools"]
    assert pools["more"] == {"gpu": "A10", "nodes": 2}
    assert pools["same"] == pools["train"] == {"gpu": "A10", "nodes": 1}
    assert file.line_of(("node_pools", "more", "nodes")) == 9
    # A merged value has no place of its own in the mapping it is merged into.
    assert file.line_of(("node_pools", "more", "gpu")) in (5, 7, 8)
    assert file.line_of(("node_pools", "same", "gpu")) == 5


def test_windows_line_ends_count_as_one_line(stack_file: Write):
    file = read_stack_file(stack_file(CLUSTER.replace("\n", "\r\n")))
    assert file.line_of(("node_pools", "train", "nodes")) == 8


def test_a_byte_order_mark_is_no_content(stack_file: Write):
    assert read_stack_file(stack_file("\ufeff" + CLUSTER)).cluster["region"] == "us-east-1"


def test_a_tag_never_builds_a_python_object(stack_file: Write, tmp_path: Path):
    made = tmp_path / "made"
    read_stack_file(stack_file(f"config:\n  gpuyard:cluster: !!python/object/apply:os.mkdir [{made}]\n"))
    assert not made.exists()
