"""Whose processes are meant: real ones, and files that name the wrong ones."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpuyard.node import jobs

HEEDS = "import signal, time; signal.signal(signal.SIGUSR1, lambda *_: print('asked', flush=True))"
HOLDS = "import signal, time; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])"
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPUYARD_RUN", str(tmp_path))
    (tmp_path / "jobs").mkdir()
    return tmp_path / "jobs"


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def one(code: str = "import time", session: bool = True) -> "subprocess.Popen[str]":
        text = f"{code}\nprint('ready', flush=True)\nwhile True: time.sleep(0.02)"
        made = subprocess.Popen(
            [sys.executable, "-Sc", text], stdout=subprocess.PIPE, text=True, start_new_session=session
        )
        started.append(made)
        assert made.stdout is not None
        assert made.stdout.readline() == "ready\n"
        return made

    yield one
    for made in started:
        made.kill()
        made.communicate()


def test_a_job_is_found_by_its_file(folder: Path, start: Start) -> None:
    one, two = start(), start()
    (folder / "b.pid").write_text(f"{one.pid}\n")
    (folder / "a.pid").write_text(str(two.pid))
    (folder / "notes.txt").write_text("1")
    assert jobs.listed() == ([jobs.Job("a", two.pid), jobs.Job("b", one.pid)], [])


def test_a_job_that_has_ended_is_none(folder: Path, start: Start) -> None:
    one = start()
    (folder / "a.pid").write_text(str(one.pid))
    one.kill()
    # It has not been waited for: a zombie runs no more.
    time.sleep(0.05)
    assert jobs.listed() == ([], [])
    assert jobs.alive([jobs.Job("a", one.pid)]) == []


@pytest.mark.parametrize("text", ["1", "0", "-1", "-9", str(os.getpgrp())])
def test_what_must_never_be_meant_is_refused(text: str, folder: Path) -> None:
    (folder / "a.pid").write_text(text)
    assert jobs.listed() == ([], [f"a.pid: {text} is no job's process"])


@pytest.mark.parametrize("text", ["", "train", "12 34"])
def test_what_is_no_number_is_refused(text: str, folder: Path) -> None:
    (folder / "a.pid").write_text(text)
    found, (refused,) = jobs.listed()
    assert (found, refused[:7]) == ([], "a.pid: ")


def test_a_number_that_was_given_again_is_refused(folder: Path, start: Start) -> None:
    one = start()
    path = folder / "a.pid"
    path.write_text(str(one.pid))
    os.utime(path, (time.time() - 3600, time.time() - 3600))
    reason = f"a.pid: {one.pid} began after the file was written, and is another process"
    assert jobs.listed() == ([], [reason])


def test_a_process_that_leads_no_group_is_refused(folder: Path, start: Start) -> None:
    one = start(session=False)
    (folder / "a.pid").write_text(str(one.pid))
    assert jobs.listed() == ([], [f"a.pid: {one.pid} leads no process group; start the job with setsid"])


def test_a_link_is_not_followed(folder: Path, start: Start) -> None:
    (folder / "real").write_text(str(start().pid))
    (folder / "a.pid").symlink_to(folder / "real")
    found, (refused,) = jobs.listed()
    assert (found, refused[:7]) == ([], "a.pid: ")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_nobody_can_mean_the_processes_of_another(folder: Path, start: Start) -> None:
    one = start()
    (folder / "a.pid").write_text(str(one.pid))
    os.chown(folder / "a.pid", 1234, 1234)
    assert jobs.listed() == ([], [f"a.pid: {one.pid} runs for another user than the one who wrote the file"])


def test_only_who_heeds_a_signal_gets_it(start: Start) -> None:
    deaf, heeds, holds = start(), start(HEEDS), start(HOLDS)
    asked = [jobs.ask(jobs.Job("", one.pid), signal.SIGUSR1) for one in (deaf, heeds, holds)]
    assert asked == [0, 1, 1]
    assert heeds.stdout is not None
    assert heeds.stdout.readline() == "asked\n"
    assert [one.poll() for one in (deaf, heeds, holds)] == [None, None, None]


def test_the_end_is_for_everybody_and_no_error_for_who_has_gone(start: Start) -> None:
    one = start()
    jobs.end(jobs.Job("", one.pid), signal.SIGTERM)
    assert one.wait(5) == -signal.SIGTERM
    jobs.end(jobs.Job("", one.pid), signal.SIGTERM)
    assert jobs.ask(jobs.Job("", one.pid), signal.SIGUSR1) == 0
