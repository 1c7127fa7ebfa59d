"""Errors that NVIDIA's driver writes into a node's kernel log."""

from dataclasses import dataclass
from functools import cache

from gpuyard.catalog._data import read_rows


@dataclass(frozen=True, slots=True)
class XidError:
    """One Xid error that is trouble with the hardware: its code, NVIDIA's name for it, and what it means."""

    code: int
    mnemonic: str
    meaning: str
    source: str
    as_of: str


@cache
def hardware_xid_errors() -> tuple[XidError, ...]:
    """Every Xid error that means trouble with a GPU, its memory or its links, by code."""
    return tuple(XidError(**row) for row in read_rows("xid_errors.json"))
