"""Where everything of a topology is drawn: three columns, network, region and second regions, and the flows between.

What flows from one column to the next lies at one height, so that most lines are straight.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpuyard.diagram.model import NETWORK, Flow, FlowKind, Part, Topology
from gpuyard.diagram.text import folded, width

LINE, TEXT, TITLE = 16.0, 12.0, 13.0
LABEL = 11.0
PADDING = 14.0
CARD_X = 82.0
NODE_STEP, NODE_WIDTH, NODE_HEIGHT = 22.0, 16.0, 20.0
NODES_DRAWN = 10
TITLE_HEIGHT, GLYPHS_HEIGHT, FABRIC_HEIGHT = 26.0, 32.0, 24.0

_TOP, _EDGE = 66.0, 16.0
_HEAD, _ZONE_HEAD = 36.0, 26.0
_GAP, _AREA_GAP, _GAP_WITH_LABEL, _GAP_WITH_HEAD = 18.0, 14.0, 34.0, 58.0
_NETWORK_X, _CARD_WIDTH = 32.0, 314.0
_LANES = {"snapshot": 16.0, "sync": 34.0}
_ZONE_RIGHT = CARD_X + _CARD_WIDTH + 50
_NETWORK_RIGHT = _ZONE_RIGHT + 12
_SERVICE_X, _SERVICE_WIDTH = _NETWORK_RIGHT + 128, 256.0
_REGION_RIGHT = _SERVICE_X + _SERVICE_WIDTH + 16
_COPY_X, _COPY_WIDTH = _REGION_RIGHT + 108, 184.0
_BUS = 20.0

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.y + self.height

    @property
    def middle(self) -> float:
        """Half of its height down."""
        return self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Card:
    """A part where it is drawn, its facts folded into lines."""

    part: Part
    box: Box
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """An area around cards: a region, the network, or zones."""

    kind: str
    name: str
    box: Box


@dataclass(frozen=True, slots=True)
class Head:
    """The head of an arrow; every line ends level."""

    tip: Point
    points_right: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A flow, or those of several pools to one target: straight pieces, heads, and a label with its place."""

    kind: FlowKind
    pieces: tuple[tuple[Point, Point], ...]
    heads: tuple[Head, ...]
    label: str
    label_at: Point
    centred: bool = True


@dataclass(frozen=True, slots=True)
class Layout:
    """Everything with its place."""

    width: float
    height: float
    frames: tuple[Frame, ...]
    cards: tuple[Card, ...]
    lines: tuple[Line, ...]

    def card(self, part_id: str) -> Card:
        """The card of a part."""
        return next(card for card in self.cards if card.part.id == part_id)


def layout_of(topology: Topology) -> Layout:
    """Places for everything of a topology.

    Args:
        topology: The cluster's graph.

    Returns:
        The layout; boxes hold what is in them, and labels have room.
    """
    services = _services(topology)
    cards, zones = _zone_cards(topology, services)
    aligned = next((card for card in cards if card.part.kind == "file_system"), None)
    services = _from_aligned(services, aligned, topology)
    network = Frame(
        "network",
        topology.network,
        Box(_NETWORK_X, _TOP + _HEAD, _NETWORK_RIGHT - _NETWORK_X, zones[-1].box.bottom + 12 - _TOP - _HEAD),
    )
    copies, seconds = _copy_cards(topology, services)
    outside = _outside(topology, services)
    bottom = max(network.box.bottom, services[-1].box.bottom, *(frame.box.bottom for frame in seconds)) + _EDGE
    region = Frame("region", topology.region, Box(_EDGE, _TOP, _REGION_RIGHT - _EDGE, bottom - _TOP))
    every = (*cards, *services, *copies, *outside)
    right = max(card.box.right for card in every)
    right = max(region.box.right, right, *(frame.box.right for frame in seconds))
    placed = Layout(right + _EDGE, region.box.bottom + _EDGE, (region, network, *zones, *seconds), every, ())
    return replace(placed, lines=tuple(_lines(topology.flows, placed)))


def _card(part: Part, x: float, y: float, card_width: float) -> Card:
    lines = tuple(line for fact in part.facts for line in folded(fact, card_width - 2 * PADDING, TEXT))
    height = TITLE_HEIGHT + len(lines) * LINE + 10
    if part.nodes is not None:
        height += GLYPHS_HEIGHT + (FABRIC_HEIGHT if part.nodes.fabric is not None else 0)
    return Card(part, Box(x, y, card_width, height), lines)


def _moved(card: Card, y: float) -> Card:
    return replace(card, box=replace(card.box, y=y))


def _services(topology: Topology) -> list[Card]:
    """The region's own services from top to bottom, with room for the heads of second regions beside them."""
    cards: list[Card] = []
    y = _TOP + _HEAD
    sources = {flow.source for flow in topology.flows if flow.kind == "copy"}
    for place, part in enumerate(topology.services):
        needs_head = part.id in sources and (place == 1 or len(topology.copies) > 1)
        y += (_GAP_WITH_HEAD if needs_head else _GAP) if cards else 0.0
        cards.append(_card(part, _SERVICE_X, y, _SERVICE_WIDTH))
        y = cards[-1].box.bottom
    return cards


def _zone_cards(topology: Topology, services: Sequence[Card]) -> tuple[list[Card], list[Frame]]:
    cards: list[Card] = []
    zones: list[Frame] = []
    y = _TOP + 2 * _HEAD
    bucket = next((card for card in services if card.part.id == "bucket"), None)
    for area in topology.zones:
        top = y
        y += _ZONE_HEAD
        for place, part in enumerate(area.parts):
            # Above a file system stands what flows to it.
            first, later = (_GAP, _GAP_WITH_LABEL) if part.kind == "file_system" else (0.0, _GAP)
            y += later if place else first
            card = _card(part, CARD_X, y, _CARD_WIDTH)
            if part.kind == "file_system" and bucket is not None and _is_linked(topology):
                card = _moved(card, max(y, bucket.box.middle - card.box.height / 2))
            cards.append(card)
            y = card.box.bottom
        box = Box(_NETWORK_X + 12, top, _ZONE_RIGHT - _NETWORK_X - 12, y + _AREA_GAP - top)
        zones.append(Frame("zone", area.name, box))
        y = box.bottom + _AREA_GAP
    return cards, zones


def _is_linked(topology: Topology) -> bool:
    return any({flow.source, flow.target} == {"file-system", "bucket"} for flow in topology.flows)


def _from_aligned(services: list[Card], file_system: Card | None, topology: Topology) -> list[Card]:
    """The services with the bucket beside the file system that it is linked to, and what is below moved with it."""
    bucket = next((card for card in services if card.part.id == "bucket"), None)
    if bucket is None or file_system is None or not _is_linked(topology):
        return services
    down = file_system.box.middle - bucket.box.middle
    at = services.index(bucket)
    return [*services[:at], *(_moved(card, card.box.y + down) for card in services[at:])]


def _copy_cards(topology: Topology, services: Sequence[Card]) -> tuple[list[Card], list[Frame]]:
    source_of = {flow.target: flow.source for flow in topology.flows if flow.kind == "copy"}
    cards: list[Card] = []
    frames: list[Frame] = []
    for area in topology.copies:
        inside = [_beside(part, source_of[part.id], services) for part in area.parts]
        top, bottom = inside[0].box.y - _HEAD, max(card.box.bottom for card in inside) + _AREA_GAP
        frames.append(Frame("region", area.name, Box(_COPY_X - 16, top, _COPY_WIDTH + 32, bottom - top)))
        cards += inside
    return cards, frames


def _beside(part: Part, source: str, services: Sequence[Card]) -> Card:
    beside = next(card for card in services if card.part.id == source)
    card = _card(part, _COPY_X, 0.0, _COPY_WIDTH)
    return _moved(card, beside.box.middle - card.box.height / 2)


def _outside(topology: Topology, services: Sequence[Card]) -> Iterator[Card]:
    if topology.outside is None:
        return
    height = 36.0
    box = Box(_COPY_X, services[0].box.middle - height / 2, width(topology.outside.title, TITLE) + 48, height)
    yield Card(topology.outside, box, ())


def _lines(flows: Sequence[Flow], layout: Layout) -> Iterator[Line]:
    joined: dict[tuple[str, str], list[Flow]] = {}
    for flow in flows:
        if flow.source != NETWORK and layout.card(flow.source).part.kind == "pool":
            joined.setdefault((flow.kind, flow.target), []).append(flow)
        else:
            yield _level(flow, layout)
    for together in joined.values():
        yield _bus(together, layout)


def _level(flow: Flow, layout: Layout) -> Line:
    target = layout.card(flow.target).box
    y = target.middle
    if flow.source == NETWORK:
        start, end = _NETWORK_RIGHT, target.x
    else:
        source = layout.card(flow.source).box
        start, end = (source.x, target.right) if source.x > target.x else (source.right, target.x)
    # The gutter between the columns is where a label has room.
    beside_copies = max(start, end) > _REGION_RIGHT
    left, right = (_REGION_RIGHT, _COPY_X - 16) if beside_copies else (_NETWORK_RIGHT, _SERVICE_X)
    heads = (Head((end, y), end > start), *([Head((start, y), start > end)] if flow.both_ways else []))
    return Line(flow.kind, (((start, y), (end, y)),), heads, flow.label, ((left + right) / 2, y - 6))


def _bus(flows: Sequence[Flow], layout: Layout) -> Line:
    """Lines of several pools to one target: a stub each, and one line that they share."""
    flow = flows[0]
    target = layout.card(flow.target).box
    sources = [layout.card(one.source).box for one in flows]
    on_the_left = flow.kind == "data"
    if on_the_left:
        x, down = CARD_X - _BUS, 0.0
        edges = [box.x for box in sources]
        label_at = (x + 8, target.y - 10)
    else:
        # Two lines leave a pool at different heights.
        x, down = CARD_X + _CARD_WIDTH + _LANES[flow.kind], 8.0 if flow.kind == "sync" else -8.0
        edges = [box.right for box in sources]
        label_at = ((_NETWORK_RIGHT + _SERVICE_X) / 2, target.middle - 6)
    levels = [box.middle + down for box in sources]
    stubs = [((edge, y), (x, y)) for edge, y in zip(edges, levels, strict=True)]
    heights = [*levels, target.middle]
    trunk = ((x, min(heights)), (x, max(heights)))
    heads = [Head((target.x, target.middle), points_right=True)]
    if flow.both_ways:
        heads += [Head((edge, y), points_right=on_the_left) for edge, y in zip(edges, levels, strict=True)]
    paths = (*stubs, trunk, ((x, target.middle), (target.x, target.middle)))
    return Line(flow.kind, paths, tuple(heads), flow.label, label_at, centred=not on_the_left)
