"""A run that is killed and started again ends where an undisturbed run ends: nothing orphaned, nothing twice."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.engine.conftest import Sandbox, child_environment, created

STACK = "aws-dev"
# What it is made of.
THINGS = 52


@pytest.mark.parametrize("after", [1, 20, 40])
@pytest.mark.parametrize("victim", ["engine", "everything"])
def test_killing_an_up_half_way_and_running_it_again(sandbox: Sandbox, after: int, victim: str) -> None:
    process = _start_up(sandbox.root, latency_ms=30)
    _wait_for(lambda: created(sandbox.session.workspace.cloud_file) >= after, process)
    if victim == "engine":
        os.kill(_engine_of(process.pid), signal.SIGKILL)
        code = process.wait(timeout=60)
        assert code == 1, "a run whose engine was killed must not look successful"
    else:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=60)
    assert 0 < created(sandbox.session.workspace.cloud_file) < THINGS

    again = sandbox.up(STACK)
    assert again.code == 0, again.output
    _assert_whole(sandbox)
    third = sandbox.up(STACK)
    assert "unchanged" in third.output
    assert "created" not in third.output


def test_an_undisturbed_run_has_as_many_things(sandbox: Sandbox) -> None:
    assert sandbox.up(STACK).code == 0
    _assert_whole(sandbox)


def test_two_runs_at_once_one_waits_its_turn(sandbox: Sandbox) -> None:
    process = _start_up(sandbox.root, latency_ms=400)
    _wait_for(lambda: created(sandbox.session.workspace.cloud_file) >= 1, process)
    second = subprocess.run(
        [sys.executable, "-m", "gpuyard.cli.main", "up", STACK, "-C", str(sandbox.root)],
        capture_output=True,
        text=True,
        timeout=120,
        env=child_environment(),
        check=False,
    )
    assert second.returncode == 3, second.stdout + second.stderr
    assert f"stack '{STACK}' is held by another run" in second.stderr
    assert process.wait(timeout=180) == 0
    _assert_whole(sandbox)


def test_ctrl_c_leaves_a_whole_record(sandbox: Sandbox) -> None:
    process = _start_up(sandbox.root, latency_ms=50)
    _wait_for(lambda: created(sandbox.session.workspace.cloud_file) >= 5, process)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=120) != 0
    recorded = sandbox.recorded_ids(STACK)
    assert sorted(recorded.values()) == sorted(thing.id for thing in sandbox.cloud())
    assert sandbox.up(STACK).code == 0
    _assert_whole(sandbox)


def _assert_whole(sandbox: Sandbox) -> None:
    exists = sandbox.cloud()
    twice = {urn: count for urn, count in Counter(thing.urn for thing in exists).items() if count > 1}
    assert not twice, "created twice"
    recorded = sandbox.recorded_ids(STACK)
    assert {thing.urn: thing.id for thing in exists} == recorded, "orphaned or forgotten"
    assert len(recorded) == THINGS
    assert not sandbox.session.workspace.state(STACK).get("pending_operations")


def _start_up(root: Path, latency_ms: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gpuyard.cli.main", "up", STACK, "-C", str(root)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        env=child_environment(GPUYARD_SANDBOX_LATENCY_MS=str(latency_ms)),
        start_new_session=True,
    )


def _wait_for(condition: object, process: subprocess.Popen[str]) -> None:
    assert callable(condition)
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, f"the run ended by itself with {process.returncode}"
        assert time.monotonic() < deadline, "the run did not get that far"
        time.sleep(0.01)


def _engine_of(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for child in children:
        if "pulumi" in Path(f"/proc/{child}/cmdline").read_text().split("\0")[0]:
            return int(child)
    raise AssertionError(f"no engine among {children}")


def test_servers_listen_on_loopback_only(sandbox: Sandbox) -> None:
    process = _start_up(sandbox.root, latency_ms=50)
    _wait_for(lambda: created(sandbox.session.workspace.cloud_file) >= 3, process)
    addresses = [address for pid in _family(process.pid) for address in _listening(pid)]
    assert process.wait(timeout=120) == 0
    assert addresses, "nothing was listening: the test looked at the wrong processes"
    assert set(addresses) == {"127.0.0.1"}


def _family(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in _family(int(child)))]


def _listening(pid: int) -> list[str]:
    """Addresses that a process listens on, from the kernel's own tables."""
    sockets = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            sockets.add(os.readlink(link))
    found = []
    for table, length in (("tcp", 4), ("tcp6", 16)):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                raw = bytes.fromhex(fields[1].split(":")[0])
                packed = b"".join(raw[at : at + 4][::-1] for at in range(0, length, 4))
                address = ipaddress.ip_address(packed)
                found.append(str(getattr(address, "ipv4_mapped", None) or address))
    return found
