"""Each check on machines of fakes: healthy ones pass, and any single fault makes a node unhealthy."""

from collections.abc import Iterable

import pytest

from gpuyard.node import health
from gpuyard.planning.node_health import NodeDemands

from . import outputs
from .conftest import EVERYTHING, SMI_LINKS, SMI_LOG, SMI_ROWS, Fault, Machine


def states(checks: Iterable[health.Check]) -> dict[str, str]:
    return {check.id: check.state for check in checks}


def test_an_a100_node_with_all_that_was_bought_is_healthy(machine: Machine) -> None:
    checks = machine.checks()
    assert {check.id: check.message for check in checks.values() if check.state != "pass"} == {}
    assert health.is_healthy(list(checks.values()))
    assert checks["nvlink"].message == "12 links up on each GPU"
    assert checks["gpu-memory"].message == "40.0 GiB each"
    assert checks["rdma"].message == "4 efa devices, all active"
    assert checks["rdma-library"].message == "fi_info sees 4 devices"
    assert checks["clock"].message == "0.004 ms off, Normal"
    assert checks["xid"].message == "none in 5 lines of the kernel's log"


@pytest.mark.parametrize(
    ("cloud", "name", "card", "count", "passing", "idle"),
    [
        ("aws", "p5.48xlarge", outputs.H100, 8, {"nvlink", "fabric-manager", "memory-repair"}, set[str]()),
        ("aws", "p3.16xlarge", outputs.V100, 8, {"nvlink", "memory-repair", "gpu-model"}, {"fabric-manager"}),
        ("aws", "g5.12xlarge", outputs.A10G, 4, {"gpu-memory", "ecc"}, {"nvlink", "fabric-manager"}),
        ("alicloud", "ecs.gn6v-c8g1.8xlarge", outputs.V100, 4, {"nvlink", "driver"}, {"fabric-manager"}),
    ],
)
def test_other_machines_are_healthy_and_what_they_lack_is_not_looked_at(
    machine: Machine, cloud: str, name: str, card: outputs.Card, count: int, passing: set[str], idle: set[str]
) -> None:
    machine.has(card, count)
    machine.is_of(cloud, name, NodeDemands())
    found = machine.checks()
    assert {check.id: check.message for check in found.values() if check.is_bad} == {}
    assert {found[check].state for check in passing} == {"pass"}
    assert {found[check].state for check in idle} <= {"not_wanted"}
    assert found["rdma"].message == "the pool asks for no RDMA"


def test_what_the_catalog_does_not_know_is_said(machine: Machine) -> None:
    machine.has(outputs.V100, 4)
    machine.is_of("aws", "p3.8xlarge", NodeDemands())
    found = machine.checks()
    assert found["nvlink"].message == "links are up on each GPU; the catalog does not know how many"
    assert found["gpu-pcie"].message == "16 lanes, PCIe 3; the catalog does not know which generation is right"
    machine.is_of("alicloud", "ecs.ebmgn9ge.64xlarge", NodeDemands())
    assert machine.checks()["gpu-model"].message == "the catalog does not know"


def rows(text: str, new: str, count: int = 1) -> Fault:
    """A fault in what nvidia-smi tells of the GPUs."""
    return lambda m: m.says("nvidia-smi", outputs.gpu_rows(outputs.A100, 8).replace(text, new, count), SMI_ROWS)


def log(old: str, new: str) -> Fault:
    return lambda m: m.says("nvidia-smi", outputs.driver_log(outputs.A100, 8).replace(old, new, 1), SMI_LOG)


def links(old: str, new: str, count: int = 1) -> Fault:
    return lambda m: m.says("nvidia-smi", outputs.link_status(outputs.A100, 8).replace(old, new, count), SMI_LINKS)


def says(command: str, text: str, part: str = "") -> Fault:
    return lambda m: m.says(command, text, part)


def sysfs(path: str, text: str) -> Fault:
    return lambda m: m.file(path, text)


NO_LINKS = "NVML: Unable to retrieve NVLink information as all links are inActive\n"
PORT = "class/infiniband/rdmap32s27/ports/1"
FAULTS: dict[str, tuple[str, str, Fault]] = {
    "a GPU is missing": (
        "gpu-count",
        "7 GPUs",
        lambda m: m.says("nvidia-smi", outputs.gpu_rows(outputs.A100, 7), SMI_ROWS),
    ),
    "another model": ("gpu-model", "NVIDIA A100-SXM4-40GB, NVIDIA A10G", rows("NVIDIA A100-SXM4-40GB", "NVIDIA A10G")),
    "a part of the memory": ("gpu-memory", "GPU 0 has 19.2 GiB", rows("40960", "19712")),
    "twice the memory": ("gpu-memory", "GPU 0 has 80.0 GiB", rows("40960", "81920")),
    "half the lanes": ("gpu-pcie", "GPU 0 has 8 lanes of 16", rows("4, 4, 16", "4, 4, 8")),
    "a slow link while it works": ("gpu-pcie", "GPU 0 runs at PCIe 1", rows("P0, 4, 4", "P0, 1, 4")),
    "an old driver": ("driver", "driver 440.118", rows("580.95.05", "440.118", 8)),
    "ECC is off": ("ecc", "ECC of GPU 0 is Disabled", rows("Enabled, 0", "Disabled, [N/A]")),
    "an error in memory": ("ecc", "GPU 0 has 3 uncorrected errors", rows("Enabled, 0", "Enabled, 3")),
    "a remap waits": (
        "memory-repair",
        "GPU 0: remapped_row_pending",
        log("<remapped_row_pending>No", "<remapped_row_pending>Yes"),
    ),
    "a remap failed": (
        "memory-repair",
        "GPU 0: remapped_row_failure",
        log("<remapped_row_failure>No", "<remapped_row_failure>Yes"),
    ),
    "a GPU was lost": (
        "xid",
        "Xid 79 at 0000:1a:00: GPU has fallen off the bus",
        says("journalctl", outputs.KERNEL_LOG + outputs.LOST_GPU),
    ),
    "a switch failed": (
        "xid",
        "fatal NVSwitch error 20034 at 0000:a9:00.0",
        says("journalctl", outputs.KERNEL_LOG + outputs.SWITCH_ERROR),
    ),
    "a link is down": (
        "nvlink",
        "GPU 0 has 11 of 12 links at full rate (down: 5)",
        links("Link 5: 25 GB/s", "Link 5: <inactive>"),
    ),
    "a link is slow": ("nvlink", "GPU 0 link 5 runs at 12.5 GB/s", links("Link 5: 25 GB/s", "Link 5: 12.5 GB/s")),
    "a link carries nothing": ("nvlink", "(down: 3)", links("Link 3: 25 GB/s", "Link 3: 0 GB/s")),
    "a GPU without links": (
        "nvlink",
        "GPU 8 has 0 of 12 links at full rate (down: all)",
        lambda m: m.says(
            "nvidia-smi", f"{outputs.link_status(outputs.A100, 8)}GPU 8: NVIDIA (UUID: x)\n{NO_LINKS}", SMI_LINKS
        ),
    ),
    "links of fewer GPUs": (
        "nvlink",
        "links are told of 7 GPUs, not of 8",
        lambda m: m.says("nvidia-smi", outputs.link_status(outputs.A100, 7), SMI_LINKS),
    ),
    "no fabric manager": (
        "fabric-manager",
        "nvidia-fabricmanager: LoadState=not-found, ActiveState=inactive",
        says("systemctl", "LoadState=not-found\nActiveState=inactive\n", "nvidia-fabricmanager"),
    ),
    "the fabric manager failed": (
        "fabric-manager",
        "nvidia-fabricmanager: LoadState=loaded, ActiveState=failed",
        says("systemctl", "LoadState=loaded\nActiveState=failed\n", "nvidia-fabricmanager"),
    ),
    "an RDMA port is down": ("rdma", "rdmap32s27 port 1 is 1: DOWN", sysfs(f"{PORT}/state", "1: DOWN")),
    "an RDMA port is deferred": ("rdma", "is 5: ACTIVE_DEFER", sysfs(f"{PORT}/state", "5: ACTIVE_DEFER")),
    "the interface of EFA is down": (
        "rdma",
        "rdmap32s27 (ens64) is down",
        sysfs("class/infiniband/rdmap32s27/device/net/ens64/operstate", "down"),
    ),
    "libfabric sees fewer": ("rdma-library", "fi_info sees 3 devices", says("fi_info", outputs.efa_domains(3))),
    "small frames": ("mtu", "ens33 has 1500 bytes", lambda m: m.interface("ens33", 1500)),
    "not mounted": ("mount", "/fsx is no mount point", says("findmnt", "/ ext4\n")),
    "another file system": (
        "mount",
        "/fsx is xfs instead of lustre",
        lambda m: m.says("findmnt", f"/ ext4\n{m.mount} xfs\n"),
    ),
    "a slow mount": ("mount-speed", "MB/s, below 5000", lambda m: m.demands_speed(5000)),
    "a mount that is full": (
        "mount-speed",
        "dd ended with 1: No space left on device",
        lambda m: m.says("dd", "No space left on device", code=1),
    ),
    "no time server": ("clock", "the clock follows no time server", says("timedatectl", "NTPSynchronized=no\n")),
    "a clock that is off": (
        "clock",
        "250.000 ms off, Normal",
        says("chronyc", outputs.TRACKING.replace("0.000004321", "-0.25")),
    ),
    "a clock that lost its server": (
        "clock",
        "Not synchronised",
        says("chronyc", outputs.TRACKING.replace("Normal", "Not synchronised")),
    ),
    "a full disk": ("disk-room", "/ has 1.0 GiB free of 10", says("df", outputs.DISK.replace("406327674", "1048576"))),
    "little memory to pin": (
        "memlock",
        "DefaultLimitMEMLOCK is 8388608",
        says("systemctl", "DefaultLimitMEMLOCK=8388608\n", "DefaultLimitMEMLOCK"),
    ),
    "too few huge pages": (
        "huge-pages",
        "5119 huge pages",
        sysfs("kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "5119"),
    ),
    "no runtime for containers": ("containers", "Docker has no runtime 'nvidia'", says("docker", '{"runc":{}}\n')),
    "containers miss a GPU": (
        "containers",
        "containers see 7 GPUs",
        lambda m: m.says("nvidia-container-cli", outputs.container_info(outputs.A100, 7)),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_any_single_fault_makes_the_node_unhealthy(machine: Machine, fault: str) -> None:
    name, message, breaks = FAULTS[fault]
    breaks(machine)
    found = machine.checks()
    bad = {check.id: check.state for check in found.values() if check.state != "pass"}
    if fault == "not mounted":
        assert bad.pop("mount-speed") == "fail", "the root disk is not measured in its place"
    assert bad == {name: "fail"}
    assert message in found[name].message
    assert not health.is_healthy(list(found.values()))
    assert found[name].expected is not None


def test_every_check_can_fail() -> None:
    assert {name for name, _, _ in FAULTS.values()} == {name for name, _, _ in health.CHECKS}


def test_an_rdma_device_that_is_missing_is_counted(machine: Machine) -> None:
    machine.expected["rdma"]["devices"] = 5
    found = machine.checks()
    assert found["rdma"].message == "4 efa devices instead of 5"
    assert found["rdma-library"].state == "fail"


def test_a_gpu_that_rests_may_slow_its_link_down(machine: Machine) -> None:
    rows("P0, 4, 4", "P8, 1, 4", 8)(machine)
    assert machine.checks()["gpu-pcie"].state == "pass"


def test_a_page_that_waits_to_be_retired_is_a_fault_of_older_gpus(machine: Machine) -> None:
    text = outputs.driver_log(outputs.V100, 8)
    machine.says("nvidia-smi", text.replace("<pending_retirement>No", "<pending_retirement>Yes", 1), SMI_LOG)
    assert machine.checks()["memory-repair"].message == "GPU 0: pending_retirement"


def test_a_gpu_that_has_not_joined_the_fabric_is_a_fault_from_hopper_on(machine: Machine) -> None:
    machine.has(outputs.H100, 8)
    machine.is_of("aws", "p5.48xlarge", NodeDemands())
    text = outputs.driver_log(outputs.H100, 8)
    machine.says("nvidia-smi", text.replace("<state>Completed", "<state>In Progress", 1), SMI_LOG)
    assert machine.checks()["fabric-manager"].message == "the fabric state of GPU 0 is In Progress, Success"
    machine.says("nvidia-smi", text.replace("<status>Success", "<status>Insufficient Resources", 1), SMI_LOG)
    assert "is Completed, Insufficient Resources" in machine.checks()["fabric-manager"].message


@pytest.mark.parametrize(
    ("gids", "state", "message"),
    [
        (("fe80::1", "fe80::1", "::ffff:0a00", "::ffff:0a00:0001"), "pass", "2 roce devices, all active"),
        (("fe80::1", "fe80::1"), "fail", "mlx5_0 port 1 has no RoCE v2 address at index 3; mlx5_1"),
        (("fe80::1", "fe80::1", "0000:0000", "0000:0000"), "fail", "has no RoCE v2 address at index 3"),
    ],
)
def test_roce_needs_its_address_at_the_index_that_nccl_uses(
    machine: Machine, gids: tuple[str, ...], state: str, message: str
) -> None:
    for index in range(2):
        machine.rdma(f"mlx5_{index}", "mlx5_core", layer="Ethernet", gids=gids)
    machine.rdma("mlx5_2", "mlx5_core", layer="InfiniBand")
    machine.says("ibv_devinfo", outputs.verbs_devices(["mlx5_0", "mlx5_1"]))
    machine.expected["rdma"] = {"kind": "roce", "devices": 2, "gid_index": 3}
    found = machine.checks()
    assert (found["rdma"].state, found["rdma-library"].state) == (state, "pass")
    assert message in found["rdma"].message


def test_erdma_devices_are_told_by_their_driver(machine: Machine) -> None:
    machine.expected["rdma"] = {"kind": "erdma", "devices": None, "gid_index": None}
    found = machine.checks()
    assert found["rdma"].message == "0 erdma devices instead of at least one"
    assert found["rdma-library"].message == "ibv_devinfo is not on this node; what containers bring is not looked at"
    machine.rdma("erdma_0", "erdma", layer="Ethernet")
    machine.says("ibv_devinfo", outputs.verbs_devices(["erdma_0"]))
    found = machine.checks()
    assert found["rdma"].message == "1 erdma devices, all active; the catalog does not know how many are right"
    assert found["rdma-library"].state == "pass"


def test_the_kernel_s_own_buffer_is_read_where_there_is_no_journal(machine: Machine) -> None:
    machine.says("journalctl", "-- No entries --\n")
    machine.says("dmesg", "[1235733.431527] " + outputs.LOST_GPU)
    assert machine.checks()["xid"].message == "Xid 79 at 0000:1a:00: GPU has fallen off the bus"
    machine.says("dmesg", "")
    found = machine.checks()["xid"]
    assert (found.state, found.message) == (
        "cannot_run",
        "journalctl has no line of the kernel; dmesg has no line of the kernel",
    )


def test_a_second_run_finds_the_same(machine: Machine) -> None:
    first = machine.checks()
    calls = machine.calls()
    assert states(machine.checks().values()) == states(first.values())
    assert len(machine.calls()) == 2 * len(calls)
    assert list(machine.mount.iterdir()) == []


def test_a_command_is_asked_once_in_a_run(machine: Machine) -> None:
    machine.checks()
    asked = [call for call in machine.calls() if not call.startswith("dd ")]
    assert sorted(asked) == sorted(set(asked))


def test_nothing_but_what_is_not_wanted_is_no_health(machine: Machine) -> None:
    machine.expected = {**dict.fromkeys(machine.expected), "skip": {"xid": "not here"}}
    found = machine.checks()
    assert set(states(found.values()).values()) == {"not_wanted"}
    assert found["xid"].message == "not here"
    assert not health.is_healthy(list(found.values()))


def test_every_demand_is_in_the_machine_of_these_tests() -> None:
    defaults = NodeDemands()
    same = {name for name in NodeDemands.__slots__ if getattr(EVERYTHING, name) == getattr(defaults, name)}
    assert same <= {
        "rdma_devices", "gid_index", "driver_minimum", "fabric_manager", "root_free_gib", "clock_offset_ms", "ecc",
    }  # fmt: skip
