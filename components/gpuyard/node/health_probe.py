"""What the checks of a node's health share: questions within bounds, and what is expected of this node."""

import os
from typing import Any, Dict, List, Tuple

from gpuyard.node import commands, settings

# Whether it is right, that in words, what was expected, what was found.
Answer = Tuple[bool, str, Any, Any]


class CannotRunError(Exception):
    """A probe could not find out what it was asked for; its text is the reason."""


class NotWantedError(Exception):
    """Nothing is expected here; its text is the reason."""


class Node:
    """This machine and what is expected of it.

    Each command runs once: later questions get the same answer. ``GPUYARD_SYS`` stands for ``/sys`` and
    ``GPUYARD_PROBE_SECONDS`` for the 60 seconds that a command may take: a driver that starts takes half of them.
    """

    def __init__(self, expected: Dict[str, Any]) -> None:
        self.expected = expected
        self.sys = settings.value("SYS", "/sys")
        self.seconds = settings.number("PROBE_SECONDS", 60)
        self.wanted: Any = None  # What was asked for last.
        self._told: Dict[Tuple[str, ...], Any] = {}

    def want(self, *keys: str) -> Any:
        """What is expected under these keys.

        Raises:
            NotWantedError: Nothing is, for the reason that ``skip`` gives.
            CannotRunError: Nobody says, which is not the same.
        """
        value: Any = self.expected
        for depth, key in enumerate(keys, 1):
            name = ".".join(keys[:depth])
            try:
                value = value[key]
            except (KeyError, TypeError):
                raise CannotRunError(f"what is expected does not say '{name}'") from None
            if value is None:
                skip: Dict[str, str] = self.expected.get("skip") or {}
                raise NotWantedError(skip.get(name) or "the catalog does not know")
        self.wanted = value
        return value

    def known(self, *keys: str) -> Any:
        """What is expected under these keys, None where nothing is."""
        try:
            return self.want(*keys)
        except (NotWantedError, CannotRunError):
            return None

    def ask(self, *command: str) -> str:
        """What a command prints.

        Raises:
            CannotRunError: It is missing, fails, or does not end in time.
        """
        if command not in self._told:
            try:
                self._told[command] = commands.run(list(command), self.seconds)
            except commands.CommandError as error:
                self._told[command] = CannotRunError(str(error))
        told = self._told[command]
        if isinstance(told, CannotRunError):
            raise told
        return told

    def read(self, *path: str) -> str:
        """The text of a file below ``/sys``, without the blanks around it.

        Raises:
            CannotRunError: It cannot be read.
        """
        name = os.path.join(self.sys, *path)
        try:
            with open(name, errors="replace") as file:
                return file.read().strip()
        except OSError as error:
            raise CannotRunError(f"{name}: {error.strerror}") from error

    def names(self, *path: str) -> List[str]:
        """The names in a folder below ``/sys``, sorted; none where there is no such folder."""
        try:
            return sorted(os.listdir(os.path.join(self.sys, *path)))
        except (FileNotFoundError, NotADirectoryError):
            return []


def number(text: str, what: str) -> float:
    """A number that a command printed.

    Raises:
        CannotRunError: It is none, such as ``[N/A]`` or ``[Unknown Error]``.
    """
    try:
        return float(text)
    except ValueError:
        raise CannotRunError(f"{what} is told as '{text[:80]}'") from None


def verdict(faults: List[str], good: str, wanted: Any, found: Any) -> Answer:
    """Right where there is no fault; a long list of faults is cut short in words."""
    more = f"; and {len(faults) - 8} more" if len(faults) > 8 else ""
    return not faults, "; ".join(faults[:8]) + more if faults else good, wanted, found
