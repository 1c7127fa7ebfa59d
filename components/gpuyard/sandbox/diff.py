"""What a change of inputs means: which properties differ, how, and whether the thing is replaced."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast


@dataclass(frozen=True)
class Change:
    """One property that differs; ``kind`` is ``add``, ``delete`` or ``update``."""

    path: str
    kind: str

    @property
    def top(self) -> str:
        """The resource's own property that the path begins with."""
        return self.path.split(".")[0].split("[")[0]


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """Every property that differs between two sets of inputs, at its deepest place.

    Args:
        old: Inputs before.
        new: Inputs after.

    Returns:
        Changes in the order of the old and then the new names; empty when nothing differs.
    """
    return list(_between(old, new, ""))


def _between(old: Any, new: Any, path: str) -> Iterable[Change]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        before, after = cast(Mapping[str, Any], old), cast(Mapping[str, Any], new)
        for key in dict.fromkeys([*before, *after]):
            if not key.startswith("__"):
                at = f"{path}.{key}" if path else key
                yield from _between(before.get(key), after.get(key), at)
    elif isinstance(old, list) and isinstance(new, list):
        first, second = cast(list[Any], old), cast(list[Any], new)
        for place in range(max(len(first), len(second))):
            yield from _between(_at(first, place), _at(second, place), f"{path}[{place}]")
    elif old != new:
        yield Change(path, "add" if old is None else "delete" if new is None else "update")


def _at(values: list[Any], place: int) -> Any:
    return values[place] if place < len(values) else None
