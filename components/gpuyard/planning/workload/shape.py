"""The shape of a transformer: given, published, or estimated from its number of parameters."""

from bisect import bisect_left
from dataclasses import dataclass
from functools import cache
from math import ceil, log

from gpuyard.catalog._data import read_rows

HEAD_SIZE = 128


@dataclass(frozen=True, slots=True)
class ModelShape:
    """A decoder's shape.

    ``layers``, ``hidden_size``, ``heads``, ``kv_heads`` (fewer than ``heads`` with grouped-query attention) and
    ``vocabulary`` as in the published tables. ``estimated`` says that it was interpolated; ``reason`` where it is from.
    """

    layers: int
    hidden_size: int
    heads: int
    kv_heads: int
    vocabulary: int
    estimated: bool
    reason: str

    @property
    def head_size(self) -> float:
        """Size of one attention head: hidden size over heads."""
        return self.hidden_size / self.heads


@dataclass(frozen=True, slots=True)
class PublishedModel:
    """One published model; ``ladder`` marks the family that unnamed models are interpolated on."""

    name: str
    parameters: int
    layers: int
    hidden_size: int
    heads: int
    kv_heads: int
    vocabulary: int
    ladder: bool
    note: str | None
    source: str
    as_of: str

    @property
    def shape(self) -> ModelShape:
        """Its shape."""
        return ModelShape(
            self.layers,
            self.hidden_size,
            self.heads,
            self.kv_heads,
            self.vocabulary,
            estimated=False,
            reason=f"{self.name}: {self.layers} layers of {self.hidden_size}, {self.heads} heads, "
            f"{self.kv_heads} key-value heads ({self.source}).",
        )


@cache
def published_models() -> dict[str, PublishedModel]:
    """Published models of the catalog by name."""
    return {row["name"]: PublishedModel(**row) for row in read_rows("model_shapes.json")}


@cache
def _ladder() -> tuple[PublishedModel, ...]:
    return tuple(model for model in published_models().values() if model.ladder)


def shape_of(parameters: float) -> ModelShape:
    """The shape that a decoder of this size usually has.

    Layers and hidden size are interpolated between the neighbours of a published family on the logarithm of the
    parameters, so that the law P = 12·l·h² that holds for both neighbours holds between them as well; outside the
    family the nearest two rows are extended. Both only grow with the parameters. Heads are of 128, and as many
    key-value heads are counted: the larger of the possible caches.

    Source: Narayanan et al. 2021, equation 2 (P = 12·l·h²·(1 + 13/12h + (V+s)/12lh)) and Table 1; Brown et al. 2020,
    Table 2.1.

    Args:
        parameters: Number of parameters, more than 0.

    Returns:
        The estimated shape; layers rounded up, hidden size rounded up to a multiple of 128.
    """
    ladder = _ladder()
    above = bisect_left([model.parameters for model in ladder], parameters)
    right = min(max(above, 1), len(ladder) - 1)
    low, high = ladder[right - 1], ladder[right]
    part = log(parameters / low.parameters) / log(high.parameters / low.parameters)
    layers = max(1, ceil(low.layers * (high.layers / low.layers) ** part - 1e-9))
    hidden = low.hidden_size * (high.hidden_size / low.hidden_size) ** part
    hidden_size = max(HEAD_SIZE, HEAD_SIZE * ceil(hidden / HEAD_SIZE - 1e-9))
    heads = hidden_size // HEAD_SIZE
    reason = (
        f"Shape estimated from the parameters: about {layers} layers of {hidden_size}, between {low.name} and "
        f"{high.name}; {heads} key-value heads are counted, fewer with grouped-query attention."
    )
    return ModelShape(layers, hidden_size, heads, heads, high.vocabulary, estimated=True, reason=reason)
