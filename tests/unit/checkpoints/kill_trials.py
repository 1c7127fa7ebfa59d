"""Trials in which processes are killed, in an interpreter of their own.

A child of a small process with one thread starts in a millisecond and copies no locks that other threads hold:
``python -m tests.unit.checkpoints.kill_trials NAME FOLDER``. Each is a test of test_kills.py.
"""

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from gpuyard.node import checkpoints

from .training import PHASES, Stop, Trainer, copied, forked, run, save

KILLS = 240
OPERATIONS_MIN = 30


def random_kills(folder: Path) -> None:
    """A trainer that is killed at random loses nothing that it has announced as committed."""
    chance = random.Random(20261201)
    trainers = [Trainer(folder / f"run{number}") for number in range(4)]
    phases: Counter[str] = Counter()
    longest, kills = 0.02, 0
    while kills < KILLS or not all(trainer.announced > 5 for trainer in trainers) or len(phases) < len(PHASES):
        assert kills < 5 * KILLS, phases
        trainer = trainers[kills % len(trainers)]
        child, heard = trainer.start()
        time.sleep(chance.uniform(0.0, longest))
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        before = trainer.announced
        phases[trainer.ended(heard)] += 1
        kills += 1
        # On a slow or busy machine a child needs longer to get anywhere.
        longest = longest * 1.05 if trainer.announced == before else max(longest * 0.95, 0.005)
        newest = checkpoints.latest(trainer.directory)
        if newest is None:
            assert trainer.announced == -1
            continue
        assert newest.step >= trainer.announced, (newest, trainer.announced)
        assert checkpoints.verify(newest.path, deep=True) == []
    for trainer in trainers:
        assert all(not checkpoints.verify(one.path, deep=True) for one in checkpoints.complete(trainer.directory))
    print(kills, dict(phases))


def save_killed(folder: Path) -> None:
    """A save that is killed before each of its file operations."""
    _save_stopped(_base(folder), "killed")


def save_killed_halfway(folder: Path) -> None:
    """A save that is killed in the middle of each of its writes."""
    _save_stopped(_base(folder), "halfway")


def save_over_torn_killed(folder: Path) -> None:
    """The same where an earlier attempt has left a torn checkpoint and files of the same step."""
    base = _base(folder)
    (base / "step-00000003").mkdir()
    (base / "step-00000003/manifest.json").write_text("{")
    (base / "step-00000003.writing").mkdir()
    (base / "step-00000003.writing/rank9.pt").write_text("of an earlier attempt")
    _save_stopped(base, "halfway")


def save_on_a_full_disk(folder: Path) -> None:
    """A save fails at each of its file operations, and can be repeated by the same process."""
    base = _base(folder)
    for number in range(1000):
        trial = copied(base)

        def work() -> None:
            try:
                save(trial, 3)  # noqa: B023
            except OSError as error:
                assert error.errno == 28, error
            else:
                os._exit(42)
            steps = _sound(trial)  # noqa: B023
            assert steps in ([1, 2], [1, 2, 3])
            again = 4 if 3 in steps else 3
            save(trial, again)  # noqa: B023
            assert _sound(trial) == [*steps, again]  # noqa: B023

        code = run(work, Stop(number, "full"))
        if code == 42:
            break
        assert code == 0, number
    assert number > OPERATIONS_MIN


def prune_killed(folder: Path) -> None:
    """A pruning that is killed before each of its file operations shows no half checkpoint, and can be repeated."""
    base = _base(folder)
    for step in (3, 4, 5):
        assert run(lambda: save(str(base), step)) == 0  # noqa: B023
    (base / "step-00000006.writing").mkdir()
    (base / "step-00000006.writing/rank0.pt").write_text("abandoned")
    (base / "step-00000002/rank1.pt").unlink()
    (base / "step-00000000.x.removing").mkdir()
    long_ago = time.time() - 100 * 3600
    for one in base.iterdir():
        for path in (*one.rglob("*"), one):
            os.utime(path, (long_ago, long_ago))
    for number in range(1000):
        trial = copied(base)
        code = run(lambda: checkpoints.prune(trial, keep=2), Stop(number, "killed"))  # noqa: B023
        steps = _sound(trial)
        assert set(steps) <= {1, 3, 4, 5}
        assert steps[-2:] == [4, 5]
        assert checkpoints._named(trial) == "step-00000005"
        if code == 0:
            break
        assert code == Stop.KILLED
        checkpoints.prune(trial, keep=2)
        assert {path.name for path in Path(trial).iterdir()} - {".lock", "latest"} == {"step-00000004", "step-00000005"}
    assert number > OPERATIONS_MIN


def syncs_before_names(folder: Path) -> None:
    """A power cut loses what was not synced: files come before the manifest, and both before the names."""
    trial, stop = str(_base(folder)), Stop(-1, "killed")

    def work() -> None:
        save(trial, 3)
        Path(trial, "log").write_text("\n".join(stop.log))

    assert run(work, stop) == 0
    log = Path(trial, "log").read_text().replace(trial + "/", "").split("\n")
    opened = {line.split()[-1] for line in log if line.startswith("open ")}
    assert {"step-00000003.writing/optimizer", "step-00000003.writing", trial} <= opened
    order = [line for line in log if line.split()[0] in ("replace", "rename")]
    assert order == [
        "replace step-00000003.writing/manifest.json.part",
        "rename step-00000003.writing",
        "replace latest.part",
    ]
    places = [log.index(line) for line in order]
    fsyncs = [number for number, line in enumerate(log) if line.startswith("fsync")]
    # Three files by the trainer and again by commit; the folder inside; then the manifest itself.
    assert len([number for number in fsyncs if number < places[0]]) == 3 + 3 + 1 + 1
    for place in places:
        assert [line.split()[0] for line in log[place + 1 : place + 3]] == ["open", "fsync"]
    assert log[places[0] - 1].startswith("fsync")
    assert log[places[2] - 1].startswith("fsync")


def one_writer(folder: Path) -> None:
    """One process at a time writes into a directory; others are told which."""
    here = str(folder)
    checkpoints.LOCK_WAIT_SECONDS = 0.1
    ready, go = os.pipe()

    def other() -> None:
        checkpoints.begin(here, 1)
        os.write(go, b"x")
        time.sleep(60)

    child = forked(other)
    os.read(ready, 1)
    try:
        checkpoints.begin(here, 2)
    except BlockingIOError as error:
        assert f"another process writes checkpoints here: process {child} on " in str(error), error
    else:
        raise AssertionError("two processes write at once")
    assert checkpoints.latest(here) is None
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    save(here, 2)


def lock_not_inherited(folder: Path) -> None:
    """A child that outlives its trainer, as data loaders do, holds no lock."""
    here = str(folder)
    checkpoints.LOCK_WAIT_SECONDS = 0.5
    ready, go = os.pipe()

    def trainer() -> None:
        save(here, 1)
        if os.fork() == 0:
            os.write(go, b"%d" % os.getpid())
            time.sleep(60)
        os._exit(0)

    os.waitpid(forked(trainer), 0)
    loader = int(os.read(ready, 20))
    try:
        save(here, 2)
    finally:
        os.kill(loader, signal.SIGKILL)


def reader_beside_writer(folder: Path) -> None:
    """A reader beside a trainer that prunes always finds one, and never an older one than before."""
    here = str(folder)
    assert run(lambda: save(here, 0)) == 0

    def train() -> None:
        for step in range(1, 60):
            save(here, step)
            checkpoints.prune(here, keep=1)

    child = forked(train)
    last, ended = 0, (0, 0)
    while ended == (0, 0):
        ended = os.waitpid(child, os.WNOHANG)
        newest = checkpoints.latest(here)
        assert newest is not None
        assert newest.step >= last
        last = newest.step
    assert ended[1] == 0
    assert last == 59


TRIALS: tuple[Callable[[Path], None], ...] = (
    random_kills,
    save_killed,
    save_killed_halfway,
    save_over_torn_killed,
    save_on_a_full_disk,
    prune_killed,
    syncs_before_names,
    one_writer,
    lock_not_inherited,
    reader_beside_writer,
)


def _base(folder: Path) -> Path:
    """A directory with two checkpoints, whose writer has ended."""
    base = folder / "base"
    base.mkdir()
    for step in (1, 2):
        assert run(lambda: save(str(base), step)) == 0  # noqa: B023
    return base


def _save_stopped(base: Path, how: str) -> None:
    for number in range(1000):
        trial = copied(base)
        code = run(lambda: save(trial, 3), Stop(number, how))  # noqa: B023
        steps = _sound(trial)
        assert steps in ([1, 2], [1, 2, 3])
        if code == 0:
            assert steps == [1, 2, 3]
            break
        assert code == Stop.KILLED
        again = 4 if 3 in steps else 3
        assert run(lambda: save(trial, again)) == 0  # noqa: B023
        assert _sound(trial) == [*steps, again]
        assert checkpoints._named(trial) == f"step-{again:08d}"
    assert number > OPERATIONS_MIN


def _sound(directory: str) -> list[int]:
    """The complete steps; each is what was committed."""
    found = checkpoints.complete(directory)
    assert [checkpoints.verify(one.path, deep=True) for one in found] == [[]] * len(found)
    assert checkpoints.latest(directory) == (found[-1] if found else None)
    return [one.step for one in found]


if __name__ == "__main__":
    next(trial for trial in TRIALS if trial.__name__ == sys.argv[1])(Path(sys.argv[2]))
