"""What every source of resources gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuyard_policy.facts import Record


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, counted from 1; the file as people and code scanners name it."""

    file: str
    line: int


@dataclass(frozen=True)
class Source:
    """The resources of one stack, and where people find them.

    Attributes:
        name: The stack, or the file that the resources came from.
        records: Every resource, in the order of the source.
        places: Where a resource was asked for, by URN, as far as it is known.
        place: Where the stack as a whole is described.
        final: Whether nothing more will become known: true of stored state, false of what is only planned.
        notes: What the source could not give, in words for people.
    """

    name: str
    records: tuple[Record, ...]
    places: Mapping[str, Place] = field(default_factory=dict[str, Place])
    place: Place | None = None
    final: bool = False
    notes: tuple[str, ...] = ()

    def place_of(self, urn: str | None) -> Place | None:
        """Where a resource was asked for, else where the stack is described."""
        return self.place if urn is None else self.places.get(urn, self.place)
