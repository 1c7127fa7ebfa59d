"""A topology as SVG: one file without links, readable on white and on dark pages."""

from collections.abc import Iterator
from html import escape

from gpuyard.diagram.layout import (
    CARD_X,
    LABEL,
    LINE,
    NODE_HEIGHT,
    NODE_STEP,
    NODE_WIDTH,
    NODES_DRAWN,
    PADDING,
    TEXT,
    TITLE,
    TITLE_HEIGHT,
    Card,
    Frame,
    Head,
    Layout,
    Line,
    layout_of,
)
from gpuyard.diagram.model import FlowKind, Nodes, Topology
from gpuyard.diagram.style import STYLE
from gpuyard.diagram.text import shortened, width

_FLOW_WORDS: dict[FlowKind, str] = {
    "data": "nodes and file system",
    "sync": "to and from the bucket",
    "snapshot": "disks to snapshots",
    "copy": "copies in a second region",
    "internet": "out of the network",
}
_LEGEND_HEIGHT = 26.0
_GPUS_DRAWN = 16


def svg_text(topology: Topology) -> str:
    """A topology as SVG.

    Args:
        topology: The cluster's graph.

    Returns:
        One ``<svg>`` element with its own background, colours for light and dark, a title and a description.
    """
    layout = layout_of(topology)
    legend, legend_height = _legend(topology, layout)
    height = layout.height + legend_height
    size = f'width="{_n(layout.width)}" height="{_n(height)}"'
    name = escape(topology.name)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(layout.width)} {_n(height)}" {size} role="img" '
        f'aria-labelledby="{name}-title {name}-desc">',
        f'<title id="{name}-title">{escape(f"{topology.name}: {topology.summary}")}</title>',
        f'<desc id="{name}-desc">{escape(_description(topology))}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="page" x="0.5" y="0.5" width="{_n(layout.width - 1)}" height="{_n(height - 1)}" rx="10"/>',
        _text("heading", layout.frames[0].box.x, 30, topology.name),
        _text("soft", layout.frames[0].box.x, 50, topology.summary),
        *map(_frame, layout.frames),
        *map(_line, layout.lines),
        *map(_card, layout.cards),
        *(_label(line) for line in layout.lines if line.label),
        *legend,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _description(topology: Topology) -> str:
    """The picture in words, for those who do not see it."""
    titles = {part.id: part.title for part in topology.parts}
    parts = [
        f"{part.title} ({', '.join(([part.aside] if part.aside else []) + list(part.facts))})"
        for part in topology.parts
        if part.facts
    ]
    flows = [f"{titles.get(flow.source, 'the network')} to {titles[flow.target]}" for flow in topology.flows]
    zones = "; ".join(area.name for area in topology.zones)
    return f"In {topology.region} ({zones}), {topology.network}. {'; '.join(parts)}. Flows: {'; '.join(flows)}."


def _frame(frame: Frame) -> str:
    box = frame.box
    radius = {"region": 10, "network": 8, "zone": 6}[frame.kind]
    # Lines from one zone to another pass on the left of the cards.
    right, down = (CARD_X - box.x, 18) if frame.kind == "zone" else (PADDING, 23)
    is_region = frame.kind == "region"
    name = shortened(frame.name, box.width - right - PADDING, TITLE if is_region else TEXT, bold=is_region)
    return (
        f'<rect class="{frame.kind}" x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" '
        f'height="{_n(box.height)}" rx="{radius}"/>' + _text(f"{frame.kind}-name", box.x + right, box.y + down, name)
    )


def _card(card: Card) -> str:
    box, part = card.box, card.part
    face = f'<rect class="face" x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}"'
    if part.kind == "internet":
        label = _text("title", box.x + box.width / 2, box.middle + 4.5, part.title, anchor="middle")
        return f'<g class="card internet">{face} rx="{_n(box.height / 2)}"/>{label}</g>'
    aside = width(part.aside, TEXT)
    title = shortened(part.title, box.width - 2 * PADDING - aside - 8, TITLE, bold=True)
    lines = [
        f'{face} rx="6"/>',
        f'<rect class="edge" x="{_n(box.x)}" y="{_n(box.y)}" width="4" height="{_n(box.height)}" rx="2"/>',
        _text("title", box.x + PADDING, box.y + 20, title),
        *([_text("aside", box.right - PADDING, box.y + 20, part.aside, anchor="end")] if part.aside else []),
    ]
    y = box.y + TITLE_HEIGHT + 12
    for line in card.lines:
        lines.append(_text("line", box.x + PADDING, y, line))
        y += LINE
    if part.nodes is not None:
        lines += _nodes(part.nodes, box.x + PADDING, y - 4)
    return f'<g class="card {part.kind}">{"".join(lines)}</g>'


def _nodes(nodes: Nodes, x: float, y: float) -> Iterator[str]:
    """The machines: those that always run drawn whole, the others of an elastic pool dashed, a fabric as a bar."""
    drawn = min(nodes.most, NODES_DRAWN)
    for place in range(drawn):
        yield _node(x + place * NODE_STEP, y, nodes.gpus_each, always=place < nodes.least)
    if nodes.most > drawn:
        yield _text("line", x + drawn * NODE_STEP + 2, y + 14, f"+{nodes.most - drawn:,}")
    if nodes.fabric is not None:
        right = x + (drawn - 1) * NODE_STEP + NODE_WIDTH
        below = y + NODE_HEIGHT + 5
        yield f'<path class="fabric" d="M{_n(x)} {_n(below)} H{_n(right)}"/>'
        yield _text("fabric-name", x, below + 16, nodes.fabric)


def _node(x: float, y: float, gpus: int, *, always: bool) -> str:
    dots = "".join(
        f'<rect class="gpu" x="{_n(x + 2.2 + column * 3.1)}" y="{_n(y + 3 + row * 3.8)}" width="2.3" height="2.6"/>'
        for row, column in (divmod(gpu, 4) for gpu in range(min(gpus, _GPUS_DRAWN)))
    )
    kind = "node" if always else "node maybe"
    box = f'<rect class="{kind}" x="{_n(x)}" y="{_n(y)}" width="{_n(NODE_WIDTH)}" height="{_n(NODE_HEIGHT)}" rx="2"/>'
    return box + dots


def _line(line: Line) -> str:
    path = " ".join(f"M{_n(x)} {_n(y)} L{_n(to_x)} {_n(to_y)}" for (x, y), (to_x, to_y) in line.pieces)
    return f'<g class="flow {line.kind}"><path d="{path}"/>{"".join(map(_head, line.heads))}</g>'


def _head(head: Head) -> str:
    x, y = head.tip
    back = x - 8 if head.points_right else x + 8
    return f'<polygon points="{_n(x)},{_n(y)} {_n(back)},{_n(y - 4)} {_n(back)},{_n(y + 4)}"/>'


def _label(line: Line) -> str:
    x, y = line.label_at
    return _text(f"label {line.kind}", x, y, line.label, anchor="middle" if line.centred else "start")


def _legend(topology: Topology, layout: Layout) -> tuple[list[str], float]:
    """What lines and signs mean, of those that are in the picture; and how high that is."""
    left = layout.frames[0].box.x
    x, y = left, layout.height + 8
    parts: list[str] = []
    for sign, words in _signs(topology):
        room = 34 + width(words, LABEL) + 18
        if x + room > layout.width and x > left:
            x, y = left, y + _LEGEND_HEIGHT
        parts.append(f'<g class="legend" transform="translate({_n(x)} {_n(y - 4)})">{sign}</g>')
        parts.append(_text("label", x + 34, y, words))
        x += room
    return parts, y + 14 - layout.height


def _signs(topology: Topology) -> Iterator[tuple[str, str]]:
    used = {flow.kind for flow in topology.flows}
    for kind, words in _FLOW_WORDS.items():
        if kind in used:
            head = Head((26, 0), points_right=True)
            yield _line(Line(kind, (((0, 0), (26, 0)),), (head,), "", (0, 0))), words
    pools = [part.nodes for part in topology.parts if part.nodes is not None]
    if any(nodes.least for nodes in pools):
        yield _node(5, -10, 8, always=True), "a node and its GPUs"
    if any(nodes.least < nodes.most for nodes in pools):
        yield _node(5, -10, 8, always=False), "a node when it is needed"
    if any(nodes.fabric is not None for nodes in pools):
        yield '<path class="fabric" d="M0 0 H26"/>', "RDMA fabric"


def _text(kind: str, x: float, y: float, text: str, anchor: str = "start") -> str:
    at = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}"{at}>{escape(text)}</text>'


def _n(value: float) -> str:
    """A coordinate, the same on every machine."""
    return f"{round(value, 1):g}"
