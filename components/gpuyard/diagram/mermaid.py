"""A topology as a Mermaid flowchart, which GitHub and many wikis draw.

Syntax: https://mermaid.js.org/syntax/flowchart.html
"""

import re
from collections.abc import Iterable, Iterator

from gpuyard.diagram.model import NETWORK, Area, Flow, Part, Topology

# What a label cannot hold as it is; entities are written with '#' in Mermaid.
_ENTITIES = {'"': "#quot;", "#": "#35;", "<": "#lt;", ">": "#gt;", "`": "#96;"}
_SHAPES = {
    "pool": ('["', '"]'),
    "file_system": ('[("', '")]'),
    "bucket": ('[("', '")]'),
    "snapshots": ('[("', '")]'),
    "monitoring": ('(["', '"])'),
    "gateway": ('{{"', '"}}'),
    "internet": ('(("', '"))'),
}


def mermaid_text(topology: Topology) -> str:
    """A topology as Mermaid.

    Args:
        topology: The cluster's graph.

    Returns:
        A flowchart, every label quoted; what no flow touches stands in it as well.
    """
    lines = ["flowchart LR", *_region(topology)]
    for number, area in enumerate(topology.copies, 1):
        lines += _area(f"second_{number}", area, "  ")
    if topology.outside is not None:
        lines.append(f"  {_part(topology.outside)}")

    lines += [f"  {line}" for line in _flows(topology.flows)]
    return "\n".join(lines) + "\n"


def _region(topology: Topology) -> Iterator[str]:
    yield f'  subgraph region["{_label(topology.region)}"]'
    yield f'    subgraph {NETWORK}["{_label(topology.network)}"]'
    for number, area in enumerate(topology.zones, 1):
        yield from _area(f"zone_{number}", area, "      ")
    yield "    end"
    for part in topology.services:
        yield f"    {_part(part)}"
    yield "  end"


def _area(name: str, area: Area, pad: str) -> Iterator[str]:
    yield f'{pad}subgraph {name}["{_label(area.name)}"]'
    for part in area.parts:
        yield f"{pad}  {_part(part)}"
    yield f"{pad}end"


def _part(part: Part) -> str:
    opening, closing = _SHAPES[part.kind]
    fabric = None if part.nodes is None else part.nodes.fabric
    title = f"{part.title}: {part.aside}" if part.aside else part.title
    lines = [title, *part.facts, *([] if fabric is None else [fabric])]
    return f"{_id(part.id)}{opening}{'<br/>'.join(map(_label, lines))}{closing}"


def _flows(flows: Iterable[Flow]) -> Iterator[str]:
    for flow in flows:
        arrow = "<-->" if flow.both_ways else "-.->" if flow.kind in ("copy", "snapshot") else "-->"
        label = f'|"{_label(flow.label)}"|' if flow.label else ""
        yield f"{_id(flow.source)} {arrow}{label} {_id(flow.target)}"


def _id(text: str) -> str:
    """An id that is no word of Mermaid's own, such as ``end``."""
    return NETWORK if text == NETWORK else "part_" + re.sub(r"\W", "_", text)


def _label(text: str) -> str:
    return "".join(_ENTITIES.get(letter, letter) for letter in text)
