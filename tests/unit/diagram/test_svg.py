"""A topology as SVG: complete, readable, the same at every run."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from gpuyard.diagram import Topology, svg_text, topology_of
from gpuyard.diagram.layout import Layout, layout_of
from gpuyard.diagram.style import STYLE
from gpuyard.diagram.text import width
from gpuyard.planning.plans import ClusterPlan

from .conftest import NAMES, Planned

DRAWN = Path(__file__).parents[3] / "docs" / "diagrams"
SVG = "{http://www.w3.org/2000/svg}"
SIZES = {"heading": 18.0, "title": 13.0, "region-name": 13.0, "label": 11.0}
BOLD = ("heading", "title", "region-name", "fabric-name")


@dataclass(frozen=True)
class Words:
    """One text of a picture and the room that it takes."""

    text: str
    left: float
    right: float
    top: float
    bottom: float

    def touches(self, other: "Words") -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def words_of(picture: Xml.Element) -> Iterator[Words]:
    for found in picture.iter(f"{SVG}text"):
        kind = found.attrib["class"].split()[0]
        size = SIZES.get(kind, 12.0)
        text = found.text or ""
        long = width(text, size, bold=kind in BOLD)
        x, y = float(found.attrib["x"]), float(found.attrib["y"])
        left = x - {"start": 0, "middle": long / 2, "end": long}[found.attrib.get("text-anchor", "start")]
        yield Words(text, left, left + long, y - size * 0.8, y + size * 0.2)


def judged(topology: Topology) -> None:
    """No word touches another or leaves the picture, and the picture is at most 1,200 pixels wide."""
    picture = Xml.fromstring(svg_text(topology))
    _, _, wide, high = (float(part) for part in picture.attrib["viewBox"].split())
    assert wide <= 1200
    words = list(words_of(picture))
    for one, other in combinations(words, 2):
        assert not one.touches(other), (one, other)
    for one in words:
        assert one.left > 0 and one.right < wide, one
        assert one.top > 0 and one.bottom < high, one
    inside(layout_of(topology), words)


def inside(layout: Layout, words: list[Words]) -> None:
    """What stands on a card stays on it, and no card touches another."""
    for one, other in combinations([card.box for card in layout.cards], 2):
        assert one.right <= other.x or other.right <= one.x or one.bottom <= other.y or other.bottom <= one.y
    for card in layout.cards:
        box = card.box
        for word in words:
            if box.x <= word.left < box.right and box.y <= word.top < box.bottom:
                assert word.right <= box.right and word.bottom <= box.bottom, (card.part.title, word)


@pytest.mark.parametrize("name", NAMES)
def test_no_text_of_a_stack_touches_another_or_leaves_the_picture(planned: Planned, name: str) -> None:
    judged(topology_of(planned(name)))


def test_long_names_many_pools_and_two_second_regions_have_room(crowded: ClusterPlan) -> None:
    judged(topology_of(crowded))


def test_a_cluster_of_one_pool_alone_is_drawn(planned: Planned) -> None:
    plan = replace(planned("aws-dev"), checkpoints=None, snapshots=None)
    judged(topology_of(plan))


@pytest.mark.parametrize("name", NAMES)
def test_everything_that_the_graph_holds_stands_in_the_picture(planned: Planned, name: str) -> None:
    topology = topology_of(planned(name))
    text = " ".join(word.text for word in words_of(Xml.fromstring(svg_text(topology))))
    for part in topology.parts:
        assert part.title in text
        assert all(fact in text for fact in part.facts)
    for area in (*topology.zones, *topology.copies):
        assert area.name in text
    for flow in topology.flows:
        assert flow.label in text


def test_nodes_are_drawn_one_by_one_with_their_gpus(planned: Planned) -> None:
    text = svg_text(topology_of(planned("aws-prod")))
    picture = text[: text.index('class="legend"')]
    assert picture.count('class="node"') == 4 + 1
    assert picture.count('class="node maybe"') == 7
    assert picture.count('class="gpu"') == 4 * 8 + 8
    assert picture.count('class="fabric"') == 1


def test_flows_are_lines_with_heads_where_something_arrives(planned: Planned) -> None:
    lines = {(line.kind, line.label): line for line in layout_of(topology_of(planned("aws-prod"))).lines}
    data = lines["data", "data, checkpoints"]
    assert len(data.heads) == 3
    assert len(lines["sync", "export and import"].heads) == 2
    assert len(lines["copy", "replication"].heads) == 1
    # The bucket stands beside the file system, so that the line between them is level.
    ((start, end),) = lines["sync", "export and import"].pieces
    assert start[1] == end[1]


def test_it_is_described_for_those_who_do_not_see_it(planned: Planned) -> None:
    picture = Xml.fromstring(svg_text(topology_of(planned("aws-prod"))))
    assert picture.attrib["role"] == "img"
    title, description = picture.find(f"{SVG}title"), picture.find(f"{SVG}desc")
    assert title is not None and description is not None
    assert picture.attrib["aria-labelledby"].split() == [title.attrib["id"], description.attrib["id"]]
    assert title.text == "aws-prod: prod, pretrain: 2 pools, 12 nodes at most"
    assert "In aws · us-east-1 (us-east-1d), network 10.64.0.0/16: no way in from outside." in str(description.text)
    assert "train (4 nodes, p4de.24xlarge, 8 × A100-SXM4-80GB" in str(description.text)
    assert "File system to Checkpoint bucket" in str(description.text)


def test_it_needs_nothing_from_elsewhere(planned: Planned) -> None:
    text = svg_text(topology_of(planned("aws-prod")))
    assert set(re.findall(r'https?://[^"]*', text)) == {"http://www.w3.org/2000/svg"}
    assert "<script" not in text
    assert "<image" not in text


def test_names_cannot_break_out_of_the_picture(planned: Planned) -> None:
    topology = replace(topology_of(planned("aws-dev")), network="<script>&", summary='"</title>')
    Xml.fromstring(svg_text(topology))


def _luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_lines_stand_out_from_every_background(scheme: str) -> None:
    """WCAG 2.2, success criteria 1.4.3 and 1.4.11 (https://www.w3.org/TR/WCAG22/): text 4.5 to 1, lines 3 to 1."""
    light, dark = STYLE.split("@media (prefers-color-scheme:dark)")
    style = dark if scheme == "dark" else light
    grounds = [re.search(rf"\{one}{{fill:(#\w+)", style) for one in (".page", ".region", ".network", ".zone", ".face")]
    texts = re.findall(r"(?:text|\.soft[^{]*|\.fabric-name|\.label\.\w+){fill:(#\w+)", style)
    lines = re.findall(r"\.\w+ path{stroke:(#\w+)", style)
    assert len(texts) >= 8 and len(lines) == 5
    for ground in grounds:
        assert ground is not None
        for colours, least in ((texts, 4.5), (lines, 3.0)):
            for colour in colours:
                bright, dim = sorted((_luminance(colour), _luminance(ground[1])), reverse=True)
                assert (bright + 0.05) / (dim + 0.05) >= least, (colour, ground[1])


@pytest.mark.parametrize("path", sorted(DRAWN.glob("*.svg")), ids=lambda path: path.name)
def test_the_pictures_of_the_documentation_are_fresh(planned: Planned, path: Path) -> None:
    assert path.read_text(encoding="utf-8") == svg_text(topology_of(planned(path.stem))), (
        f"Run: .venv/bin/gpuyard diagram {path.stem} --output docs/diagrams/{path.name}"
    )


def test_there_is_a_picture_of_each_cloud_s_production() -> None:
    assert {path.stem for path in DRAWN.glob("*.svg")} >= {"aws-prod", "alicloud-prod", "tencentcloud-prod"}
