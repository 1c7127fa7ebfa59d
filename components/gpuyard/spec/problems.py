"""Problems in what a person asked for: what is wrong, where, and what would be right."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        path: Keys from the top of the description down to the value: ``("node_pools", "train", "gpu")``.
        message: What is wrong, with the value that was given.
        remedy: What would be right.
        file: The file it stands in, when it came from one.
        line: The line in that file, counted from 1.
    """

    path: Path
    message: str
    remedy: str = ""
    file: str | None = None
    line: int | None = None

    def at(self, file: str, line: int | None) -> "Problem":
        """The same problem with its place in a file."""
        return replace(self, file=file, line=line)

    def __str__(self) -> str:
        line = "" if self.line is None else f":{self.line}"
        where = "" if self.file is None else f"{self.file}{line}: "
        path = f"{dotted(self.path)}: " if self.path else ""
        remedy = f" {self.remedy}" if self.remedy else ""
        return f"{where}{path}{self.message}{remedy}"


class SpecError(Exception):
    """What a person asked for cannot be built; every problem found is listed, not the first alone.

    Attributes:
        problems: At least one problem, in the order of the file.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def dotted(path: Path) -> str:
    """A path as people write it: ``node_pools.train.gpu``, list places in brackets."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def nearest(given: object, known: Iterable[str]) -> str | None:
    """The known name that is written most like a given one, or None when none is near; case does not matter."""
    by_lower = {name.lower(): name for name in known}
    near = get_close_matches(str(given).lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[near[0]] if near else None


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """``Did you mean 'x'?`` for the nearest known name, or an empty text when none is near."""
    near = nearest(given, known)
    return "" if near is None else f"Did you mean '{near}'?"


def one_of(known: Iterable[object]) -> str:
    """``a, b or c``: the allowed values as people list them; ``none`` when there is none."""
    names = [str(name) for name in known]
    if len(names) < 2:
        return names[0] if names else "none"
    return ", ".join(names[:-1]) + " or " + names[-1]


def first_of(names: Sequence[str], most: int = 8) -> str:
    """``a, b, c and 4 more``: the first of many names, and how many are left out.

    Args:
        names: The names, the best first.
        most: How many are shown.

    Returns:
        The list as people write it; ``none`` when there is none.
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more if names else "none"
