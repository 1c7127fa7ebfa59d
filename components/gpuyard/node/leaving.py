"""What this node does when it leaves: its jobs write a last checkpoint, which goes to object storage."""

import argparse
import os
import shutil
import signal
import socket
import threading
import time
from typing import Any, Callable, Dict, List, Optional

from gpuyard.node import checkpoints, commands, jobs, notices, scaler, settings, uploads

# Where kubelets keep their own: EKS; kubeadm and ACK; TKE.
_KUBECONFIGS = (
    "/var/lib/kubelet/kubeconfig",
    "/etc/kubernetes/kubelet.conf",
    "/etc/kubernetes/kubelet-kubeconfig",
)
_DRAIN_SECONDS = 120
# What a step may take beyond the end: until then a command of its own is over, and has said why.
_GRACE_SECONDS = 3
_RELEASED = "released."


class SkippedError(Exception):
    """A step that is not wanted here, and why."""


def leave(reason: str, seconds: float, now: bool = False) -> int:
    """Leave: once, whoever asks how often.

    ``/run/gpuyard/leaving.json`` says so to everybody. The programs of ``/etc/gpuyard/on-leave.d`` are run with the
    reason and the seconds left, and every job that heeds SIGUSR1 gets it. They have until ``GPUYARD_MARGIN_SECONDS``
    (30) before the end to write a checkpoint. Then the jobs get SIGTERM, the newest complete checkpoint goes to
    ``GPUYARD_CHECKPOINT_URI``, the Kubernetes node is drained, and the scaler is told. A step that fails does not keep
    the others from their work. ``/run/gpuyard/left.json`` says what was done.

    While one works, another brings its end forward, if its own is sooner, and waits for it: a hook's own command must
    not end before. One that was killed is taken up by the next. Who has left stays so until the machine boots.

    Args:
        reason: Kind of the notice.
        seconds: How long this node still has.
        now: Whether no new checkpoint is waited for.

    Returns:
        0, or 1 when a step failed.
    """
    path, end = settings.run_path("leaving.lock"), time.monotonic() + seconds
    if not settings.lock(path):
        _told(reason, seconds)
        while not settings.lock(path):
            if time.monotonic() > end:
                return 0
            time.sleep(_poll_seconds())
    if state() == "left":
        settings.log(f"{reason}: this node has left already")
        return 0
    return _Departure(_told(reason, seconds), now).run()


def state() -> str:
    """How far this node is: ``staying``, ``leaving`` or ``left``."""
    if not os.path.exists(settings.run_path("leaving.json")):
        return "staying"
    done = settings.read_json(settings.run_path("left.json")) or {}
    return "left" if done.get("state") in ("done", "failed") else "leaving"


def release() -> int:
    """A job's word that its checkpoint is written: no more is waited for, and the scaler need not wait either.

    Returns:
        0, or 1 when the scaler could not be told, or does not wait.
    """
    with open(settings.run_path("jobs", f"{_RELEASED}{os.getuid()}"), "w", encoding="ascii"):
        pass
    if state() == "leaving":
        settings.log("released: this node goes on leaving")
        return 0
    try:
        settings.log(f"released: {scaler.complete('terminating', 'CONTINUE')}")
    except scaler.ScalerError as error:
        settings.log(str(error))
        return 1
    return 0


def main(argv: List[str]) -> int:
    """``python3 -m gpuyard.node leave``."""
    parser = argparse.ArgumentParser("leave", description="Leave: checkpoint, upload, drain, tell the scaler.")
    parser.add_argument("--reason", default="asked", help="what jobs and programs are told")
    parser.add_argument("--seconds", type=_seconds, default=notices.checkpoint_seconds(), help="how long this node has")
    parser.add_argument("--now", action="store_true", help="do not wait for a new checkpoint")
    asked = parser.parse_args(argv)
    return leave(asked.reason, asked.seconds, asked.now)


def _seconds(text: str) -> float:
    found = float(text)
    if not 0 <= found < float("inf"):
        raise ValueError
    return found


def _poll_seconds() -> float:
    return settings.number("POLL_SECONDS", 1)


def _told(reason: str, seconds: float) -> Dict[str, Any]:
    """What everybody is told, the soonest end of all that were asked for."""
    path = settings.run_path("leaving.json")
    at = round(time.time(), 3)
    told: Optional[Dict[str, Any]] = settings.read_json(path)
    if told is None:
        # Before anybody hears of it: what is complete now is not what is waited for.
        told = {"reason": reason, "seconds": round(seconds, 1), "at": at, "before": _newest_now()}
    sooner = round(at + seconds - told["at"], 1)
    if sooner < told["seconds"] - 1:
        told.update(reason=reason, seconds=sooner)
        settings.log(f"{reason}: {seconds:.0f} s are left")
    settings.write_json(path, told)
    return told


def _newest_now() -> Optional[str]:
    """The newest checkpoint's checksum, None when its file system does not tell in time."""
    found: List[Optional[str]] = [None]

    def look() -> None:
        directory = settings.value("CHECKPOINT_DIR")
        newest = checkpoints.latest(directory) if directory else None
        found[0] = newest.manifest_sha256 if newest else ""

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(_GRACE_SECONDS)
    return found[0]


class _Departure:
    """One leave: how long it has, and what was done."""

    def __init__(self, told: Dict[str, Any], now: bool) -> None:
        self._told = told
        self._now = now
        # The clock may be set meanwhile.
        self._clock = time.time() - time.monotonic()
        self._margin = notices.margin_seconds()
        self._poll = _poll_seconds()
        self._directory = settings.value("CHECKPOINT_DIR")
        self._jobs: List[jobs.Job] = []
        self._newest: Optional[checkpoints.Checkpoint] = None
        self._trouble = ""
        self._steps: List[Dict[str, Any]] = []
        self._writing = threading.Lock()

    def run(self) -> int:
        """Every step in its order."""
        settings.log(f"leaving: {self._told['reason']}, {self._left():.0f} s")
        programs = threading.Thread(target=self._do, args=("programs", self._programs), daemon=True)
        programs.start()
        self._do("jobs", self._ask)
        self._do("checkpoint", self._wait, -self._margin)
        programs.join(max(self._left(self._margin), 0) + _GRACE_SECONDS)
        self._do("terminate", self._terminate)
        self._do("upload", self._upload)
        self._do("drain", self._drain)
        self._do("kill", self._kill)
        self._do("scaler", self._tell_scaler, scaler.SECONDS)
        is_failed = any(one["state"] == "failed" for one in self._steps)
        self._report("failed" if is_failed else "done")
        return int(is_failed)

    def _left(self, kept: float = 0) -> float:
        """Seconds until the end, less those that are kept for what comes after."""
        told = settings.read_json(settings.run_path("leaving.json")) or self._told
        self._told.update(reason=told["reason"], seconds=told["seconds"])
        return told["at"] + told["seconds"] - self._clock - time.monotonic() - kept

    def _do(self, name: str, work: Callable[[], str], more_seconds: float = 0) -> None:
        """Do one step, and note what became of it. One that hangs, on a file system say, is left behind."""
        step = {"step": name, "state": "failed", "message": "took too long"}

        def attempt() -> None:
            try:
                step.update(message=work(), state="done")
            except SkippedError as error:
                step.update(message=str(error), state="skipped")
            # Whatever goes wrong in one step must not end the others.
            except Exception as error:  # noqa: BLE001
                step.update(message=str(error) or type(error).__name__)

        began = time.monotonic()
        thread = threading.Thread(target=attempt, daemon=True)
        thread.start()
        thread.join(max(self._left() + more_seconds, 0) + _GRACE_SECONDS)
        done = dict(step, seconds=round(time.monotonic() - began, 1))
        settings.log("{step}: {state}, {seconds} s: {message}".format(**done))
        with self._writing:
            self._steps.append(done)
            self._report("working")

    def _report(self, state: str) -> None:
        newest = self._newest and {"name": self._newest.name, "new": self._is_new()}
        took = round(time.time() - self._told["at"], 1)
        found = dict(self._told, state=state, took=took, checkpoint=newest, steps=self._steps)
        settings.write_json(settings.run_path("left.json"), found)

    def _look(self) -> None:
        if self._directory:
            self._newest = checkpoints.latest(self._directory)

    def _peep(self) -> bool:
        """Whether there is a new checkpoint now. A file system that fails for a moment does not end the waiting."""
        try:
            self._look()
            self._trouble = ""
        except OSError as error:
            self._trouble = f": {error}"
        return self._is_new()

    def _is_new(self) -> bool:
        if self._newest is None or self._told["before"] is None:
            return self._newest is not None and self._newest.written > self._told["at"]
        return self._newest.manifest_sha256 != self._told["before"]

    def _programs(self) -> str:
        folder = settings.value("ON_LEAVE", "/etc/gpuyard/on-leave.d")
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        paths = [os.path.join(folder, name) for name in names]
        programs = [path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)]
        failed: List[str] = []
        for path in programs:
            left = self._left(self._margin)
            try:
                commands.run([path, self._told["reason"], str(int(left))], left, heard=False)
            except commands.CommandError as error:
                failed.append(str(error))
        if failed:
            raise commands.CommandError("; ".join(failed))
        return f"{len(programs)} run"

    def _ask(self) -> str:
        self._jobs, refused = jobs.listed()
        asked = [f"{job.name}: {jobs.ask(job, signal.SIGUSR1)} processes heed SIGUSR1" for job in self._jobs]
        if refused:
            raise ValueError("; ".join(refused + asked))
        return "; ".join(asked) or "none"

    def _wait(self) -> str:
        if self._now or not self._jobs:
            raise SkippedError("not waited for" if self._now else "no job to wait for")
        while self._left(self._margin) > 0:
            if self._peep():
                return "new"
            if self._is_released() or not jobs.alive(self._jobs):
                return "released, or the jobs have ended"
            time.sleep(self._poll)
        raise TimeoutError(f"no new checkpoint in time{self._trouble}")

    def _is_released(self) -> bool:
        with os.scandir(settings.run_path("jobs", "")) as entries:
            found = [one.stat(follow_symlinks=False).st_mtime for one in entries if one.name.startswith(_RELEASED)]
        # Times of files are a little behind the clock.
        return max(found, default=0) >= self._told["at"] - 1

    def _terminate(self) -> str:
        for job in self._jobs:
            jobs.end(job, signal.SIGTERM)
        # Some jobs write their checkpoint only now.
        third = time.monotonic() + self._margin / 3
        while not self._peep() and time.monotonic() < third and jobs.alive(self._jobs):
            time.sleep(self._poll)
        return f"{len(self._jobs)} jobs"

    def _upload(self) -> str:
        uri = settings.value("CHECKPOINT_URI")
        if not uri or not self._directory:
            raise SkippedError("GPUYARD_CHECKPOINT_URI or GPUYARD_CHECKPOINT_DIR is not set")
        if settings.flag("CHECKPOINT_LINKED"):
            raise SkippedError("the file system is linked to the bucket")
        self._look()
        if not self._newest:
            raise SkippedError("no complete checkpoint")
        return uploads.upload(self._newest, uri, self._left)

    def _drain(self) -> str:
        """Drain the Kubernetes node. A kubelet may cordon itself; to evict, it must be given a role.

        Sources: https://github.com/kubernetes/kubernetes/issues/51040 and /131241
        """
        config = settings.value("KUBECONFIG") or next((one for one in _KUBECONFIGS if os.path.exists(one)), "")
        if not config or not shutil.which("kubectl"):
            raise SkippedError("no Kubernetes node")
        seconds = min(self._left(self._margin / 3), _DRAIN_SECONDS)
        node = settings.value("NODE_NAME", socket.gethostname())
        options = ["--ignore-daemonsets", "--delete-emptydir-data", "--force", f"--timeout={max(int(seconds), 1)}s"]
        commands.run(["kubectl", "--kubeconfig", config, "drain", node, *options], seconds)
        return node

    def _kill(self) -> str:
        while jobs.alive(self._jobs) and self._left(self._margin / 3) > 0:
            time.sleep(self._poll)
        stayed = jobs.alive(self._jobs)
        for job in stayed:
            jobs.end(job, signal.SIGKILL)
        if stayed:
            raise TimeoutError(f"killed: {', '.join(job.name for job in stayed)}")
        return "every job has ended"

    def _tell_scaler(self) -> str:
        try:
            return scaler.complete("terminating", "CONTINUE")
        except scaler.NotWaitingError as error:
            # One that takes this node in waits for it, where it has a hook.
            if self._told["reason"] == "scale_in" and settings.value("HOOK"):
                raise
            raise SkippedError(str(error)) from error
