"""A picture of a stack, drawn from its facts: regions, the zones in them, pools of machines, and where data lies."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from gpuyard.catalog import instance_type
from gpuyard_policy.facts import Facts, NodePoolFact, StorageFact, Unknown

WIDTH = 1000
_CARD_WIDTH, _CARD_HEIGHT, _GAP, _COLUMNS = 220, 104, 16, 4
_HEAD, _LABEL = 44, 26
_NODES_DRAWN, _NODE = 8, 22
_ANYWHERE = "any zone"
_NO_ZONE = "the region"

Item = NodePoolFact | StorageFact


@dataclass(frozen=True)
class _Drawn:
    """A part of the picture, and how high it is."""

    svg: str
    height: int


def picture(facts: Facts, states: Mapping[str, str]) -> str:
    """An SVG of the stack.

    Args:
        facts: What the stack has.
        states: The state of a resource by URN: ``failed``, ``advisory``, ``undecided``; it is fine when left out.

    Returns:
        An ``<svg>`` element that is drawn by the classes of the report's style; empty for a stack without machines
        and storage.
    """
    regions: dict[str, list[Item]] = defaultdict(list)
    for item in (*facts.node_pools, *facts.storage):
        place = "a region that cannot be told yet" if isinstance(item.region, Unknown) else item.region
        regions[f"{item.cloud} · {place}"].append(item)
    if not regions:
        return ""
    parts: list[str] = []
    top = 0
    # The region with the most in it is what the stack is about.
    for name in sorted(regions, key=lambda one: (-len(regions[one]), one)):
        drawn = _region(name, regions[name], states)
        parts.append(f'<g transform="translate(0 {top})">{drawn.svg}</g>')
        top += drawn.height + _GAP
    label = escape(f"{len(facts.node_pools)} pools and {len(facts.storage)} stores in {len(regions)} regions")
    return (
        f'<svg class="topology" viewBox="0 0 {WIDTH} {top - _GAP}" role="img" aria-label="{label}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def _region(name: str, items: Sequence[Item], states: Mapping[str, str]) -> _Drawn:
    bands: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        bands[_zone(item)].append(item)
    parts = [f'<text class="region-name" x="20" y="29">{escape(name)}</text>']
    top = _HEAD
    for zone in sorted(bands, key=lambda one: (one in (_ANYWHERE, _NO_ZONE), one == _NO_ZONE, one)):
        drawn = _band(zone, bands[zone], states)
        parts.append(f'<g transform="translate(14 {top})">{drawn.svg}</g>')
        top += drawn.height + 10
    height = top + 6
    box = f'<rect class="region" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="12"/>'
    return _Drawn(box + "".join(parts), height)


def _band(zone: str, items: Sequence[Item], states: Mapping[str, str]) -> _Drawn:
    rows = -(-len(items) // _COLUMNS)
    height = _LABEL + rows * (_CARD_HEIGHT + _GAP) - 2
    parts = [
        f'<rect class="zone" x="0" y="0" width="{WIDTH - 28}" height="{height}" rx="8"/>',
        f'<text class="zone-name" x="12" y="18">{escape(zone)}</text>',
    ]
    for place, item in enumerate(items):
        x = 12 + (place % _COLUMNS) * (_CARD_WIDTH + _GAP)
        y = _LABEL + (place // _COLUMNS) * (_CARD_HEIGHT + _GAP)
        parts.append(f'<g transform="translate({x} {y})">{_card(item, states)}</g>')
    return _Drawn("".join(parts), height)


def _zone(item: Item) -> str:
    if isinstance(item, StorageFact):
        return item.zone if isinstance(item.zone, str) else _NO_ZONE
    zones = item.zones
    return " + ".join(sorted(zones)) if isinstance(zones, tuple) and zones else _ANYWHERE


def _card(item: Item, states: Mapping[str, str]) -> str:
    state = states.get(item.urn, "fine")
    body = _pool(item) if isinstance(item, NodePoolFact) else _store(item)
    return (
        f'<g class="card {state}"><title>{escape(item.urn)}: {state}</title>'
        f'<rect class="face" width="{_CARD_WIDTH}" height="{_CARD_HEIGHT}" rx="6"/>'
        f'<rect class="state" width="5" height="{_CARD_HEIGHT}" rx="2"/>'
        f'<text class="name" x="14" y="21">{escape(_short(item.name, 25))}</text>{"".join(body)}</g>'
    )


def _pool(pool: NodePoolFact) -> Iterator[str]:
    types = pool.instance_types
    if isinstance(types, Unknown):
        yield _line(39, "machines cannot be told yet")
    else:
        more = f" +{len(types) - 1}" if len(types) > 1 else ""
        yield _line(39, _short(types[0] if types else "no machines", 26) + more)
    yield _line(55, _size(pool))
    nodes = pool.nodes_max if isinstance(pool.nodes_max, int) else 0
    drawn = min(nodes, _NODES_DRAWN)
    joined = isinstance(pool.rdma_interfaces, int) and pool.rdma_interfaces > 0
    if joined and drawn > 1:
        yield f'<line class="rdma" x1="14" x2="{14 + drawn * _NODE - 6}" y1="76" y2="76"/>'
    gpus = _gpus(pool)
    for place in range(drawn):
        yield _node(14 + place * _NODE, gpus)
    if nodes > drawn:
        yield f'<text class="more" x="{16 + drawn * _NODE}" y="80">+{nodes - drawn}</text>'
    yield _line(98, " · ".join(_words(pool, joined=joined)))


def _size(pool: NodePoolFact) -> str:
    if not isinstance(pool.nodes_max, int):
        return "number of nodes not told"
    least = f"{pool.nodes_min} to " if isinstance(pool.nodes_min, int) and pool.nodes_min != pool.nodes_max else ""
    return f"{least}{pool.nodes_max} node{'' if pool.nodes_max == 1 else 's'}"


def _words(pool: NodePoolFact, *, joined: bool) -> Iterator[str]:
    yield pool.purchase.replace("_", " ") if isinstance(pool.purchase, str) else "purchase not told"
    if joined:
        yield "RDMA"
    if pool.placement == "close":
        yield "together"


def _gpus(pool: NodePoolFact) -> int:
    """GPUs of one machine: of the type with the most, as far as the catalog knows."""
    types = () if isinstance(pool.instance_types, Unknown) else pool.instance_types
    rows = (instance_type(pool.cloud, name) for name in types)
    return max((row.gpu_count for row in rows if row is not None and row.gpu_count is not None), default=0)


def _node(x: int, gpus: int) -> str:
    dots = "".join(
        f'<rect class="gpu" x="{x + 2.5 + (gpu % 4) * 3.2:.1f}" y="{68.5 + (gpu // 4) * 3.4:.1f}" width="2.2" '
        'height="2.2"/>'
        for gpu in range(min(gpus, 16))
    )
    return f'<rect class="node" x="{x}" y="66" width="16" height="19" rx="2"/>{dots}'


def _store(store: StorageFact) -> Iterator[str]:
    copy = " (a copy)" if store.is_replica is True else ""
    parallel = "parallel " if store.parallel is True else ""
    yield _line(39, f"{parallel}{store.kind}{copy}")
    speed = store.throughput_mb_per_s
    if isinstance(speed, (int, float)):
        yield _line(55, f"{speed:,.0f} MB/s")
    yield (
        '<path class="disk" d="M14 70 v10 a14 4 0 0 0 28 0 v-10"/>'
        '<ellipse class="disk" cx="28" cy="70" rx="14" ry="4"/>'
    )
    yield _line(98, " · ".join(_traits(store)))


def _traits(store: StorageFact) -> Iterator[str]:
    if isinstance(store.encrypted, bool):
        yield "encrypted" if store.encrypted else "not encrypted"
    if store.scratch is True:
        yield "scratch"
    if store.protected:
        yield "protected"
    if store.public is True:
        yield "PUBLIC"


def _line(y: int, text: str) -> str:
    return f'<text class="line" x="14" y="{y}">{escape(text)}</text>'


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
