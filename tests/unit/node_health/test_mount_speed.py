"""The speed of a mount, measured for real: a file is written, read, and gone."""

import os
import shutil
import time

import pytest

from .conftest import Machine


@pytest.fixture
def real(machine: Machine) -> Machine:
    """A machine whose file system is a folder of this one."""
    found = shutil.which("dd", path=os.defpath)
    assert found
    machine.lacks("dd")
    (machine.bin / "dd").symlink_to(found)
    for way in ("write", "read"):
        machine.expected["mounts"][0][f"{way}_mb_per_s"] = 1
    return machine


def test_a_mount_is_measured_and_left_clean(real: Machine) -> None:
    check = real.checks()["mount-speed"]
    assert check.state == "pass", check
    assert [word.rsplit(": ", 1)[-1].split()[0] for word in check.found] == ["write", "read"]
    assert list(real.mount.iterdir()) == []


def test_a_file_system_without_a_way_past_the_cache_is_measured_as_well(machine: Machine) -> None:
    said = "dd: failed to open '/fsx/x': Invalid argument"
    machine.says("dd", said, "direct", code=1)
    machine.says("dd", "")
    assert machine.checks()["mount-speed"].state == "pass"
    written, flushed, read = [call for call in machine.calls() if call.startswith("dd ")]
    assert "oflag=direct conv=fsync" in written
    assert "oflag" not in flushed
    assert "conv=fsync" in flushed
    assert "iflag=nocache" in read


def test_the_file_is_gone_after_a_failure(machine: Machine) -> None:
    machine.writes_then("dd", "echo 'No space left on device' >&2; exit 1")
    check = machine.checks()["mount-speed"]
    assert check.message.endswith("dd ended with 1: No space left on device")
    assert list(machine.mount.iterdir()) == []


def test_the_file_is_gone_after_a_write_that_hangs(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUYARD_PROBE_SECONDS", "0.3")
    machine.writes_then("dd", "sleep 60")
    start = time.monotonic()
    check = machine.checks()["mount-speed"]
    assert time.monotonic() - start < 5
    assert (check.state, "dd took longer than 0" in check.message) == ("fail", True)
    assert list(machine.mount.iterdir()) == []


def test_one_mount_that_hangs_does_not_hide_the_other(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUYARD_PROBE_SECONDS", "0.3")
    other = machine.root / "data"
    other.mkdir()
    machine.says("findmnt", f"/ ext4\n{machine.mount} lustre\n{other} xfs\n")
    machine.expected["mounts"].append({"path": str(other), "type": "xfs", "write_mb_per_s": 0, "read_mb_per_s": 0})
    machine.says("dd", "", str(machine.mount), seconds=60)
    machine.says("dd", "")
    check = machine.checks()["mount-speed"]
    assert check.message.startswith(f"{machine.mount}: dd took longer")
    assert [word.split(": ")[0] for word in check.found] == [str(other)] * 2


def test_the_file_is_no_larger_than_the_floor_needs(machine: Machine) -> None:
    for floor, blocks in ((0, 8), (50, 25), (10_000, 64)):
        machine.expected["mounts"][0].update(write_mb_per_s=floor, read_mb_per_s=0)
        machine.checks()
        assert f"bs=4M count={blocks}" in [call for call in machine.calls() if call.startswith("dd ")][-1]
