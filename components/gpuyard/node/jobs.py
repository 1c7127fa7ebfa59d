"""The training jobs of this node: their process groups, and what can be said to them."""

import contextlib
import os
from typing import Dict, List, NamedTuple, Optional, Tuple

from gpuyard.node import settings

# A process that began so much after its file was written is not the one that was meant: its number was given again.
_SLACK_SECONDS = 60


class Job(NamedTuple):
    """A job's name, which is that of its file, and its process group."""

    name: str
    group: int


class _Process(NamedTuple):
    pid: int
    group: int
    began: float
    owner: int
    heeded: int  # Signals that it catches, or holds back to fetch them itself.


def booted_at() -> float:
    """When this machine began, in seconds since 1970."""
    with open("/proc/stat", encoding="ascii") as file:
        return next(float(line.split()[1]) for line in file if line.startswith("btime "))


def listed() -> Tuple[List[Job], List[str]]:
    """The jobs of ``/run/gpuyard/jobs/*.pid`` that run.

    A file holds the number of a process group's leader, and belongs to root or to the one who runs the job.

    Returns:
        The jobs, and why other files name none.
    """
    folder = settings.run_path("jobs", "")
    found: List[Job] = []
    refused: List[str] = []
    running = _running()
    for name in sorted(os.listdir(folder)):
        if name.endswith(".pid"):
            try:
                found += _job(os.path.join(folder, name), running)
            except (OSError, ValueError) as error:
                refused.append(f"{name}: {error}")
    return found, refused


def alive(jobs: List[Job]) -> List[Job]:
    """Those jobs of which any process runs."""
    groups = {one.group for one in _running().values()}
    return [job for job in jobs if job.group in groups]


def ask(job: Job, sign: int) -> int:
    """Send a signal to those processes of a job that heed it. The others would die of it.

    Returns:
        To how many it was sent.
    """
    told = 0
    for one in _running().values():
        if one.group == job.group and one.heeded >> (sign - 1) & 1:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.pid, sign)
                told += 1
    return told


def end(job: Job, sign: int) -> None:
    """Send a signal to every process of a job, ready or not."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(job.group, sign)


def _job(path: str, running: Dict[int, _Process]) -> List[Job]:
    # No link is followed: whoever may write here must not choose whose processes are meant.
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), encoding="ascii") as file:
        text, about = file.read(32), os.fstat(file.fileno())
    group = int(text)
    if group <= 1 or group == os.getpgrp():
        raise ValueError(f"{group} is no job's process")
    members = [one for one in running.values() if one.group == group]
    leader = running.get(group)
    if leader is not None and leader.group != group:
        raise ValueError(f"{group} leads no process group; start the job with setsid")
    if leader is not None and leader.began > about.st_mtime + _SLACK_SECONDS:
        raise ValueError(f"{group} began after the file was written, and is another process")
    if about.st_uid != 0 and any(one.owner != about.st_uid for one in members):
        raise ValueError(f"{group} runs for another user than the one who wrote the file")
    return [Job(os.path.basename(path)[:-4], group)] if members else []


def _running() -> Dict[int, _Process]:
    began = booted_at()
    every = (_process(int(name), began) for name in os.listdir("/proc") if name.isdigit())
    return {one.pid: one for one in every if one}


def _process(pid: int, booted: float) -> Optional[_Process]:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # The name stands in brackets and may hold any character, brackets too.
            state, _, group, *rest = file.read().rpartition(")")[2].split()
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            about = dict(line.split(":", 1) for line in file if ":" in line)
        owner = int(about["Uid"].split()[1])
        heeded = int(about["SigCgt"], 16) | int(about["SigBlk"], 16)
    except (OSError, ValueError, KeyError):
        return None  # It has ended meanwhile.
    if state in "ZX":
        return None
    return _Process(pid, int(group), booted + int(rest[16]) / os.sysconf("SC_CLK_TCK"), owner, heeded)
