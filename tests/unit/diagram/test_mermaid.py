"""A topology as Mermaid."""

import re
from dataclasses import replace

import pytest

from gpuyard.diagram import mermaid_text, topology_of
from gpuyard.planning.plans import ClusterPlan

from .conftest import NAMES, Planned

LABEL = r'"[^"]*"'
SHAPES = [(r"\[", r"\]"), (r"\[\(", r"\)\]"), (r"\(\[", r"\]\)"), (r"\{\{", r"\}\}"), (r"\(\(", r"\)\)")]
# The part of Mermaid's grammar that is used here; the parser of mermaid 11 was asked as well, by hand.
LINES = [
    "flowchart LR",
    rf"subgraph \w+\[{LABEL}\]",
    "end",
    *(rf"part_\w+{opening}{LABEL}{closing}" for opening, closing in SHAPES),
    rf"\w+ (-->|<-->|-\.->)(\|{LABEL}\|)? \w+",
]


def judged(text: str) -> None:
    open_areas = 0
    for line in text.splitlines():
        assert any(re.fullmatch(rule, line.strip()) for rule in LINES), line
        open_areas += line.strip().startswith("subgraph") - (line.strip() == "end")
    assert open_areas == 0


@pytest.mark.parametrize("name", NAMES)
def test_every_stack_is_a_flowchart(planned: Planned, name: str) -> None:
    judged(mermaid_text(topology_of(planned(name))))


def test_a_crowded_cluster_is_a_flowchart(crowded: ClusterPlan) -> None:
    judged(mermaid_text(topology_of(crowded)))


def test_flows_and_areas_of_the_smallest_stack(planned: Planned) -> None:
    text = mermaid_text(topology_of(planned("aws-dev")))
    assert '      subgraph zone_1["us-east-1a + us-east-1b"]' in text
    assert 'part_pool_try <-->|"checkpoints"| part_bucket' in text
    assert 'part_pool_try -.->|"disks"| part_snapshots' in text
    assert 'network -->|"egress"| part_way_out' in text
    assert "part_way_out --> part_internet" in text


def test_letters_that_mean_something_to_mermaid_are_written_as_entities(planned: Planned) -> None:
    topology = replace(topology_of(planned("aws-dev")), network='"a" <b> #c `d`')
    assert 'network["#quot;a#quot; #lt;b#gt; #35;c #96;d#96;"]' in mermaid_text(topology)


def test_a_pool_that_is_called_like_a_word_of_mermaid_has_an_id_of_its_own(planned: Planned) -> None:
    plan = planned("aws-dev")
    text = mermaid_text(topology_of(replace(plan, node_pools=(replace(plan.node_pools[0], name="end"),))))
    assert 'part_pool_end["end: 0 to 4 nodes' in text
