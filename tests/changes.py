"""Descriptions with values changed at dotted paths."""

from typing import Any


def apply_changes(data: Any, changes: dict[str, Any]) -> None:
    """Set values at dotted paths of plain data, in place; ``...`` takes a key out."""
    for dotted, value in changes.items():
        *above, last = dotted.split(".")
        at = data
        for key in above:
            at = at.setdefault(key, {})
        if value is ...:
            del at[last]
        else:
            at[last] = value
