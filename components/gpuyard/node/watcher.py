"""The watcher: asks every few seconds whether this node is about to go, and makes it leave when it must."""

import os
import signal
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional, Set, Tuple

from gpuyard.node import jobs, leaving, metadata, notices, settings

_TRIES = 3


class Watcher:
    """What is known of this node's end.

    ``/run/gpuyard/notice.json`` holds the notices, ``/run/gpuyard/watcher.json`` what the watcher does: ``watching``,
    ``blind`` with the reason after ``GPUYARD_BLIND_AFTER`` (6) failures in a row, ``leaving``, ``left`` or ``ended``.
    """

    def __init__(self, cloud: str) -> None:
        own = settings.cloud_module(cloud)
        self._sources: Dict[str, Tuple[str, Any]] = own.SOURCES
        self._client = metadata.Client(cloud)
        self._rules = notices.Rules(
            settings.number("NOTICE_SECONDS", own.NOTICE_SECONDS),
            notices.checkpoint_seconds(),
            notices.margin_seconds(),
            settings.value("ON_REBALANCE") == "leave",
            jobs.booted_at(),
        )
        self._blind_after = settings.number("BLIND_AFTER", 6)
        self._failures: Dict[str, Tuple[int, str]] = {}
        self._noted: Dict[str, List[notices.Notice]] = {}
        self._acted: Set[Tuple[str, str]] = set()
        self._leave: Optional["subprocess.Popen[bytes]"] = None  # noqa: UP037 - Python 3.6 has no such subscript
        self._asked: Tuple[str, float] = ("", 0)
        self._tries = self._errors = self._withdrawn = 0

    def look(self) -> None:
        """Ask once, note what is said, and leave when a notice is to be obeyed."""
        before = self._every()
        for name, (path, read) in self._sources.items():
            self._ask(name, path, read)
        self._note(before)
        due = [(notices.seconds_left(one, self._rules, time.time()), one) for one in self._every()]
        fresh = [(left, one) for left, one in due if left is not None and _key(one) not in self._acted]
        if fresh:
            left, notice = min(fresh, key=lambda one: one[0])
            self._acted.update(_key(one) for _, one in fresh)
            self._asked, self._tries = (notice.kind, time.monotonic() + left), 0
            self._start(notice.kind, left)
        else:
            self._take_up()
        self._say()

    def _ask(self, name: str, path: str, read: Any) -> None:
        try:
            text = self._client.get(path)
            found: List[notices.Notice] = [] if text is None else read(text)
        # Whatever the service says, this goes on; and what cannot be read neither is a notice nor takes one back.
        except Exception as error:  # noqa: BLE001
            count = self._failures.get(name, (0, ""))[0] + 1
            self._failures[name] = (count, f"{name}: {type(error).__name__}: {error}")
            self._errors += 1
            # Of many in a row some are told: the first, second, fourth, eighth and so on.
            if not count & (count - 1):
                settings.log(f"unreadable {count} times: {self._failures[name][1]}")
            return
        if self._failures.pop(name, None):
            settings.log(f"{name} can be read again")
        self._noted[name] = found

    def _note(self, before: List[notices.Notice]) -> None:
        now = self._every()
        if now == before:
            return
        for one in before:
            if _key(one) not in map(_key, now):
                is_acted = _key(one) in self._acted
                self._withdrawn += not is_acted
                settings.log(f"withdrawn {'after' if is_acted else 'before'} this node left: {one}")
        for one in now:
            settings.log(f"noted: {one}")
        found = {"at": time.time(), "notices": [dict(one._asdict()) for one in now]}
        settings.write_json(settings.run_path("notice.json"), found)

    def _every(self) -> List[notices.Notice]:
        return [one for found in self._noted.values() for one in found]

    def _start(self, reason: str, seconds: float) -> None:
        """It works by itself: an end that is sooner must still be seen."""
        words = [sys.executable, "-m", "gpuyard.node", "leave", "--reason", reason, "--seconds", f"{seconds:.1f}"]
        self._leave = subprocess.Popen(words, start_new_session=True)

    def _take_up(self) -> None:
        """Start it again when it broke, or was broken off before this watcher began."""
        told = settings.read_json(settings.run_path("leaving.json"))
        reason, end = (told["reason"], time.monotonic() + told["seconds"]) if told else self._asked
        is_free = self._leave is None or self._leave.poll() is not None
        if reason and is_free and leaving.state() != "left" and self._tries < _TRIES:
            self._tries += 1
            self._start(reason, max(end - time.monotonic(), 0))

    def _say(self) -> None:
        blind = [text for count, text in self._failures.values() if count >= self._blind_after]
        state = leaving.state()
        if state == "staying":
            state = "blind" if blind else "watching"
        sees = sorted(set(self._noted) - set(self._failures))
        _say(state, reason="; ".join(blind), errors=self._errors, withdrawn=self._withdrawn, sees=sees)


def main() -> int:
    """``python3 -m gpuyard.node watch``: until it is told to end.

    Returns:
        0 when it was told to end, 3 when another one watches.
    """
    if not settings.lock(settings.run_path("watcher.lock")):
        settings.log("another watcher runs")
        return 3
    # Jobs of any user say here that they run; jobs.listed() sees to whose they are.
    os.chmod(settings.run_path("jobs", ""), 0o1777)  # noqa: S103
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, _end)
    watcher = Watcher(settings.cloud())
    pause = settings.number("WATCH_SECONDS", 5)
    try:
        while True:
            began = time.monotonic()
            watcher.look()
            time.sleep(max(began + pause - time.monotonic(), pause / 5))
    except SystemExit:
        _say("ended")
        return 0


def _end(sign: int, frame: Any) -> None:
    sys.exit(0)


def _say(state: str, **more: Any) -> None:
    settings.write_json(settings.run_path("watcher.json"), dict(more, state=state, at=time.time()))


def _key(notice: notices.Notice) -> Tuple[str, str]:
    return notice.kind, notice.detail
