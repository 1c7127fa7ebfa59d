"""A switch in a stack file: one key changes, everything else stays."""

from difflib import ndiff
from pathlib import Path

import pytest

from gpuyard.planning.interruption import Switch, with_switch
from gpuyard.spec.problems import SpecError

STACKS = Path(__file__).parents[4] / "stacks"
TEXT = """\
# A cluster.
config:
  aws:region: us-east-1
  gpuyard:cluster:
    cloud: aws
    region: "us-east-1"   # quoted
    node_pools:

      prepare:
        # The cheapest.
        instance_type: 'g5.xlarge'  # A10G
        nodes: {min: 0, max: 8}
        purchase: spot
        zones:
          - us-east-1a  # near the data
          - us-east-1b  # far
      other: {instance_type: g5.xlarge, nodes: 2, purchase: spot}
    tags:
      a-tag-of-a-long-value: "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
"""
TYPE = Switch("instance_type", ("g5.2xlarge",), "")


def changed(before: str, after: str) -> list[str]:
    return [line for line in ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]


def test_a_type_is_switched_and_nothing_else() -> None:
    before, after = changed(TEXT, with_switch(TEXT, "prepare", TYPE))
    assert before == "-         instance_type: 'g5.xlarge'  # A10G"
    assert after.replace("  #", " #") == "+         instance_type: 'g5.2xlarge' # A10G"


def test_a_pool_on_one_line_stays_on_one_line() -> None:
    assert changed(TEXT, with_switch(TEXT, "other", TYPE))[1] == (
        "+       other: {instance_type: g5.2xlarge, nodes: 2, purchase: spot}"
    )


def test_a_zone_is_left_and_the_other_keeps_its_comment() -> None:
    found = changed(TEXT, with_switch(TEXT, "prepare", Switch("zones", ("us-east-1a",), "")))
    assert found == ["-           - us-east-1b  # far"]
    found = changed(TEXT, with_switch(TEXT, "prepare", Switch("zones", ("us-east-1b",), "")))
    assert found == ["-           - us-east-1a  # near the data"]


def test_a_zone_is_written_where_there_was_none() -> None:
    found = changed(TEXT, with_switch(TEXT, "other", Switch("zones", ("us-east-1c",), "")))
    assert found[1] == "+       other: {instance_type: g5.xlarge, nodes: 2, zones: [us-east-1c], purchase: spot}"


def test_a_zone_is_written_before_a_comment_on_the_next_pool() -> None:
    text = TEXT[: TEXT.index("        zones:")] + "\n      # Steady.\n" + TEXT[TEXT.index("      other:") :]
    found = with_switch(text, "prepare", Switch("zones", ("us-east-1c",), ""))
    assert "        zones:\n          - us-east-1c\n        purchase: spot\n\n      # Steady.\n      other:" in found
    assert [line[0] for line in changed(text, found)] == ["+", "+"]


@pytest.mark.parametrize("path", sorted(STACKS.glob("Pulumi.*.yaml")), ids=lambda path: path.stem)
def test_every_stack_of_the_project_keeps_all_other_lines(path: Path) -> None:
    text = path.read_text()
    pool = next(name for name in ("prepare", "try", "train") if f"      {name}:\n" in text)
    *before, after = changed(text, with_switch(text, pool, TYPE))
    assert after == "+         instance_type: g5.2xlarge"
    assert [line.split(":")[0] for line in before] in ([], ["-         instance_type"])


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("          - ", "        - "),
        "---\n" + TEXT,
        TEXT.replace("gpuyard:cluster", "cluster"),
        "config:\n    gpuyard:cluster:\n        node_pools:\n            prepare:\n"
        "                instance_type: g5.xlarge\n                zones:\n                  - us-east-1a\n",
    ],
)
def test_other_ways_to_indent_are_kept(text: str) -> None:
    assert len(changed(text, with_switch(text, "prepare", TYPE))) == 2


def test_a_file_that_is_indented_in_two_ways_keeps_its_comments() -> None:
    text = TEXT + "    access:\n      ssh_from:\n      - 10.0.0.0/8  # the office\n"
    found = with_switch(text, "prepare", TYPE)
    assert "g5.2xlarge" in found
    for comment in ("# A cluster.", "# quoted", "# The cheapest.", "# near the data", "# far", "# the office"):
        assert comment in found


def test_pools_that_are_one_value_are_not_both_switched() -> None:
    text = TEXT.replace("prepare:\n", "prepare: &both\n").replace(
        "other: {instance_type: g5.xlarge, nodes: 2, purchase: spot}", "other: *both"
    )
    with pytest.raises(SpecError) as found:
        with_switch(text, "prepare", TYPE)
    assert str(found.value) == (
        "--write: pool 'prepare' shares its lines with 'other': a switch would change both. "
        "Write the pools out, each with its own lines."
    )


def test_a_type_that_is_merged_in_is_written_into_the_pool_alone() -> None:
    text = (
        "config:\n  gpuyard:cluster:\n    node_pools:\n      base: &base\n        instance_type: g5.xlarge\n"
        "      prepare:\n        <<: *base\n        nodes: 2\n"
    )
    assert changed(text, with_switch(text, "prepare", TYPE)) == ["+         instance_type: g5.2xlarge"]
