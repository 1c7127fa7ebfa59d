"""A probe that cannot run is a failure with its reason, never a pass."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.node import health
from gpuyard.node.health_probe import CannotRunError, Node

from . import outputs
from .conftest import SMI_LINKS, SMI_LOG, SMI_ROWS, Machine

# What each command feeds; a check that asks two commands needs both.
FEEDS = {
    "nvidia-smi": {"gpu-count", "gpu-model", "gpu-memory", "gpu-pcie", "driver", "ecc", "memory-repair", "nvlink"},
    "systemctl": {"fabric-manager", "memlock"},
    "fi_info": {"rdma-library"},
    "findmnt": {"mount", "mount-speed"},
    "timedatectl": {"clock"},
    "df": {"disk-room"},
    "docker": {"containers"},
    "nvidia-container-cli": {"containers"},
}
GARBAGE = "<html><body>502 Bad Gateway</body></html>\nÿ, , \n"


def bad_ids(machine: Machine) -> set[str]:
    found = machine.checks()
    assert not health.is_healthy(list(found.values()))
    return {check.id for check in found.values() if check.is_bad}


@pytest.mark.parametrize("command", sorted(FEEDS.keys() - {"fi_info"}))
def test_a_command_that_is_missing(machine: Machine, command: str) -> None:
    machine.lacks(command)
    assert bad_ids(machine) == FEEDS[command]
    for name in FEEDS[command] - {"mount-speed"}:
        check = machine.checks()[name]
        assert check.state == "cannot_run"
        assert check.message == f"{command} cannot be run: No such file or directory"


@pytest.mark.parametrize("command", sorted(FEEDS))
def test_a_command_that_hangs(machine: Machine, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUYARD_PROBE_SECONDS", "0.3")
    machine.hangs(command)
    assert bad_ids(machine) == FEEDS[command]


def test_a_hanging_command_is_named_with_its_bound(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUYARD_PROBE_SECONDS", "0.3")
    machine.hangs("timedatectl")
    assert machine.checks()["clock"].message.startswith("timedatectl took longer than 0")


@pytest.mark.parametrize("command", sorted(FEEDS))
def test_a_command_that_answers_garbage(machine: Machine, command: str) -> None:
    machine.answers_only(command, GARBAGE)
    assert bad_ids(machine) == FEEDS[command]


@pytest.mark.parametrize("command", sorted(FEEDS))
def test_a_command_that_fails_is_quoted(machine: Machine, command: str) -> None:
    said = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    machine.answers_only(command, said, code=9)
    found = machine.checks()
    assert {check.id for check in found.values() if check.is_bad} == FEEDS[command]
    for name in FEEDS[command]:
        assert f"{command} ended with 9: {said}" in found[name].message


def test_without_any_log_of_the_kernel_xid_errors_cannot_be_told(machine: Machine) -> None:
    machine.lacks("journalctl")
    assert machine.checks()["xid"].state == "pass"
    machine.says("dmesg", "dmesg: read kernel buffer failed: Operation not permitted", code=1)
    check = machine.checks()["xid"]
    assert check.state == "cannot_run"
    assert "journalctl cannot be run" in check.message
    assert "Operation not permitted" in check.message


def test_a_clock_without_chrony_is_in_sync_as_far_as_can_be_told(machine: Machine) -> None:
    machine.lacks("chronyc")
    check = machine.checks()["clock"]
    assert (check.state, check.message) == ("pass", "in sync; without chrony its offset is not told")
    machine.says("chronyc", "506 Cannot talk to daemon\n", code=1)
    assert machine.checks()["clock"].message == "chronyc ended with 1: 506 Cannot talk to daemon"
    machine.says("chronyc", "506 Cannot talk to daemon\n")
    assert machine.checks()["clock"].message == "chronyc says '506 Cannot talk to daemon'"


@pytest.mark.parametrize(
    ("field", "value", "check", "message"),
    [
        ("40960", "[Unknown Error]", "gpu-memory", "memory.total of GPU 0 is told as '[Unknown Error]'"),
        ("Enabled, 0", "Enabled, [N/A]", "ecc", "ecc.errors.uncorrected.volatile.total of GPU 0 is told as '[N/A]'"),
        ("P0, 4, 4", "P0, [N/A], 4", "gpu-pcie", "pcie.link.gen.current of GPU 0 is told as '[N/A]'"),
        ("580.95.05", "[N/A]", "driver", "'[N/A]' is no version of a driver"),
    ],
)
def test_a_value_that_the_driver_withholds(machine: Machine, field: str, value: str, check: str, message: str) -> None:
    machine.says("nvidia-smi", outputs.gpu_rows(outputs.A100, 8).replace(field, value, 1), SMI_ROWS)
    assert bad_ids(machine) == {check}
    assert machine.checks()[check].message == message


def test_links_in_a_form_that_nobody_knows(machine: Machine) -> None:
    text = outputs.link_status(outputs.A100, 8).replace("Link 3: 25 GB/s", "Link 3: (Not supported)", 1)
    machine.says("nvidia-smi", text, SMI_LINKS)
    check = machine.checks()["nvlink"]
    assert (check.state, check.message) == ("cannot_run", "the rate of an NVLink is told as '(Not supported)'")


def test_a_driver_that_does_not_tell_of_repairs(machine: Machine) -> None:
    text = outputs.driver_log(outputs.A100, 8).replace(">No<", ">N/A<")
    machine.says("nvidia-smi", text, SMI_LOG)
    assert machine.checks()["memory-repair"].message == (
        "the driver does not tell what was repaired in the memory of GPU 0"
    )


def test_a_file_of_the_kernel_that_cannot_be_read(machine: Machine) -> None:
    (machine.sys / "class/infiniband/rdmap16s27/ports/1/state").unlink()
    (machine.sys / "kernel/mm/hugepages/hugepages-2048kB/nr_hugepages").unlink()
    for name in ("mtu", "operstate"):
        (machine.sys / "class/net/ens32" / name).write_text("\x00")
    found = machine.checks()
    assert (
        found["rdma"].message == f"{machine.sys}/class/infiniband/rdmap16s27/ports/1/state: No such file or directory"
    )
    assert found["huge-pages"].state == "cannot_run"
    assert found["mtu"].message == "no network device '*' is up"


def test_what_is_not_said_is_no_leave_to_pass(machine: Machine) -> None:
    machine.expected = {"skip": {}}
    found = machine.checks()
    assert {check.state for check in found.values()} == {"cannot_run"}
    assert found["gpu-count"].message == "what is expected does not say 'gpu'"


class Told(Node):
    """A machine whose every command and file says the same."""

    def __init__(self, expected: dict[str, Any], text: str) -> None:
        super().__init__(expected)
        self.text = text

    def ask(self, *command: str) -> str:
        return self.text

    def read(self, *path: str) -> str:
        return self.text

    def names(self, *path: str) -> list[str]:
        return [self.text] if self.text else []


WANTED: dict[str, Any] = {
    "gpu": {"count": 8, "words": ["A100"], "model": "A100-SXM4-40GB", "memory_gib": 40},
    "pcie": {"generation": 4},
    "driver_minimum": "450.80.02",
    "ecc": True,
    "xid": {"79": "lost"},
    "nvlink": {"links": 12, "gb_per_s": 25},
    "fabric_manager": {"unit": True, "state": True},
    "rdma": {"kind": "efa", "devices": 4, "gid_index": 3},
    "mtu": {"interfaces": "*", "bytes": 9001},
    "mounts": [{"path": "/no/such/mount", "type": "lustre", "write_mb_per_s": 1, "read_mb_per_s": 1}],
    "clock": {"offset_ms": 100},
    "disks": [{"path": "/", "free_gib": 10}],
    "memlock": True,
    "huge_pages": 5120,
    "containers": True,
}
# The kernel's log is free text: whatever it says, it names no error.
ASKING = [check for check in health.CHECKS if check[0] not in ("xid", "rdma-library")]


@given(
    text=st.text(max_size=200) | st.from_regex(r"(GPU \d: x\n|\s+Link \d: \d+ GB/s\n|\d+, \w+, \d+\n)*", fullmatch=True)
)
def test_no_text_that_is_not_an_answer_passes(text: str) -> None:
    for name, probe, remedy in ASKING:
        found = health._run(Told(WANTED, text), name, probe, remedy)
        assert found.is_bad, found
        assert found.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(key=st.sampled_from(sorted(WANTED)), value=JSON, skip=JSON)
def test_expectations_of_a_wrong_kind_never_end_the_run(key: str, value: Any, skip: Any) -> None:
    node = Told({**WANTED, key: value, "skip": skip}, "")
    for name, probe, remedy in health.CHECKS:
        found = health._run(node, name, probe, remedy)
        assert found.state in ("fail", "cannot_run", "not_wanted"), found
        json.dumps(found)


def test_every_check_has_a_remedy_and_a_name_of_its_own() -> None:
    names = [name for name, _, _ in health.CHECKS]
    assert len(set(names)) == len(names)
    for _, probe, remedy in health.CHECKS:
        assert remedy.endswith(".")
        assert len(remedy) > 20
        assert probe.__doc__
    assert set(names) > health.SETTLING


@pytest.mark.parametrize(
    ("text", "reason"),
    [(None, "No such file or directory"), ("{", "is no JSON"), ("[]", "holds no object"), ("\x00", "is no JSON")],
)
def test_expectations_that_cannot_be_read(machine: Machine, text: str | None, reason: str) -> None:
    path = machine.root / "expected.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(CannotRunError, match=reason):
        health.expectations(str(path))
    (check,) = health.examine(str(path))
    assert (check.id, check.state) == ("expected", "cannot_run")
    assert reason in check.message
    assert not health.is_healthy([check])
