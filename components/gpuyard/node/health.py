"""The health gate: whether this node has what it was bought for, said before anything is trained on it.

A probe that cannot run is a failure with its reason. What is expected says by key what the node must have; ``null``
means that nothing is, ``skip`` then says why, and a key that is missing is a failure.
"""

import json
import time
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from gpuyard.node import health_fabric as fabric
from gpuyard.node import health_gpu as gpu
from gpuyard.node import health_system as system
from gpuyard.node import settings
from gpuyard.node.health_probe import Answer, CannotRunError, Node, NotWantedError

EXPECTED = "/etc/gpuyard/expected.json"
PAUSE_SECONDS = 5
PASS, FAIL, CANNOT_RUN, NOT_WANTED = "pass", "fail", "cannot_run", "not_wanted"
REPLACE = "replace the node."
Probe = Callable[[Node], Answer]
CHECKS: Tuple[Tuple[str, Probe, str], ...] = (
    ("gpu-count", gpu.count, "Look for Xid 79 in the kernel's log and reboot, else " + REPLACE),
    ("gpu-model", gpu.model, "Compare the instance type with the plan, else " + REPLACE),
    ("gpu-memory", gpu.memory, "Turn MIG off if it is on (nvidia-smi -mig 0), else " + REPLACE),
    ("gpu-pcie", gpu.pcie, "Reboot, else " + REPLACE),
    ("driver", gpu.driver, "Install a newer driver, or take an image that brings one."),
    ("ecc", gpu.ecc, "Turn ECC on if it is off (nvidia-smi -e 1) and reboot, else " + REPLACE),
    ("memory-repair", gpu.memory_repair, "Reset the GPU (nvidia-smi -r) or reboot, else " + REPLACE),
    ("xid", gpu.xid, "Drain the node and reboot once, else " + REPLACE),
    ("nvlink", fabric.nvlink, "Restart nvidia-fabricmanager where there is one, reboot, else " + REPLACE),
    ("fabric-manager", fabric.fabric_manager, "Install and start the fabric manager of exactly the driver's version."),
    ("rdma", fabric.rdma, "See to the node's RDMA interfaces and their driver, else " + REPLACE),
    ("rdma-library", fabric.rdma_library, "Install the cloud's RDMA software anew."),
    ("mtu", fabric.mtu, "Give the interfaces the frame size of the whole network."),
    ("mount", system.mounts, "Read /var/log/gpuyard/setup.log; check security group and DNS of the file system."),
    ("mount-speed", system.mount_speed, "Check the client, its network, and how busy the file system is."),
    ("clock", system.clock, "Start chrony with the cloud's time server."),
    ("disk-room", system.disk_room, "Remove what fills the disk, or take a larger one."),
    ("memlock", system.memlock, "Set DefaultLimitMEMLOCK=infinity in /etc/systemd/system.conf.d, then daemon-reexec."),
    ("huge-pages", system.huge_pages, "Set vm.nr_hugepages right after the boot."),
    ("containers", system.containers, "Run 'nvidia-ctk runtime configure --runtime=docker' and restart Docker."),
)
# What a node that has just booted may still be busy with.
SETTLING = {"nvlink", "fabric-manager", "rdma", "rdma-library", "mount", "clock", "containers"}


class Check(NamedTuple):
    """What one check found; ``state`` is ``pass``, ``fail``, ``cannot_run`` or ``not_wanted``."""

    id: str
    state: str
    message: str
    expected: Any
    found: Any
    remedy: str

    @property
    def is_bad(self) -> bool:
        """Whether it keeps the node from being healthy."""
        return self.state in (FAIL, CANNOT_RUN)


def run(expected: Dict[str, Any]) -> List[Check]:
    """Run every check on this machine.

    Args:
        expected: What is expected of it.

    Returns:
        Every check; none ends the others, whatever happens in it.
    """
    node = Node(expected)
    return [_run(node, *check) for check in CHECKS]


def _run(node: Node, name: str, probe: Probe, remedy: str) -> Check:
    node.wanted = None
    try:
        good, message, wanted, found = probe(node)
        return Check(name, PASS if good else FAIL, message, wanted, found, remedy)
    except NotWantedError as reason:
        return Check(name, NOT_WANTED, str(reason), None, None, remedy)
    except CannotRunError as reason:
        message = str(reason)
    except Exception as error:  # noqa: BLE001 - whatever a broken machine does to a probe is told, never passed over
        message = f"{type(error).__name__}: {error}"
    return Check(name, CANNOT_RUN, message, node.wanted, None, f"Run the probe by hand, as root. {remedy}")


def is_healthy(checks: List[Check]) -> bool:
    """Whether no check is bad and at least one has passed."""
    return any(check.state == PASS for check in checks) and not any(check.is_bad for check in checks)


def summary(checks: List[Check]) -> Dict[str, Any]:
    """The checks as ``health.json`` holds them."""
    state = "healthy" if is_healthy(checks) else "unhealthy"
    return {"state": state, "at": int(time.time()), "checks": [dict(check._asdict()) for check in checks]}


def expectations(path: str) -> Dict[str, Any]:
    """What a file expects of this node.

    Raises:
        CannotRunError: It is missing or cannot be read.
    """
    try:
        with open(path, encoding="utf-8") as file:
            found: Any = json.load(file)
    except OSError as error:
        raise CannotRunError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise CannotRunError(f"{path} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise CannotRunError(f"{path} holds no object")
    return found  # pyright: ignore[reportUnknownVariableType]


def examine(path: str, wait_seconds: float = 0) -> List[Check]:
    """Run every check, again and again while only those fail that a node needs time for.

    Args:
        path: What is expected, a JSON file.
        wait_seconds: How long that may go on.

    Returns:
        The checks as they were in the end.
    """
    try:
        expected = expectations(path)
    except CannotRunError as reason:
        remedy = "The node's set-up writes it at the first boot: read /var/log/gpuyard/setup.log."
        return [Check("expected", CANNOT_RUN, str(reason), None, None, remedy)]
    end = time.monotonic() + wait_seconds
    while True:
        checks = run(expected)
        bad = {check.id for check in checks if check.is_bad}
        left = end - time.monotonic()
        if not bad or not bad <= SETTLING or left <= 0:
            return checks
        time.sleep(min(PAUSE_SECONDS, left))


def main(argv: List[str]) -> int:
    """``python3 -m gpuyard.node health``: examine this node, write ``health.json``, tell the tags and the scaler.

    ``GPUYARD_EXPECTED`` names another file than :data:`EXPECTED`, ``GPUYARD_HEALTH_WAIT`` how many seconds (120) a node
    may take to settle.

    Args:
        argv: ``--json`` to print ``health.json``, ``--no-report`` to tell nobody.

    Returns:
        0 when the node is healthy and everybody was told, 2 for a wrong word, else 1.
    """
    wrong = set(argv) - {"--json", "--no-report"}
    if wrong:
        settings.log(f"health takes --json and --no-report, not {' '.join(sorted(wrong))}")
        return 2
    checks = examine(settings.value("EXPECTED", EXPECTED), settings.number("HEALTH_WAIT", 120))
    found = summary(checks)
    failed = _write(found)
    if "--no-report" not in argv:
        from gpuyard.node.health_report import report

        found["reported"], not_told = report(is_healthy(checks))
        found["not_reported"] = failed + not_told
        failed = not_told + _write(found)
    if "--json" in argv:
        print(json.dumps(found, indent=1))
    else:
        for check in checks:
            print(f"{check.state:11} {check.id:15} {check.message}{'. ' + check.remedy if check.is_bad else ''}")
        print(found["state"])
    for reason in failed:
        settings.log(f"not reported: {reason}")
    return 0 if is_healthy(checks) and not failed else 1


def _write(found: Dict[str, Any]) -> List[str]:
    try:
        settings.write_json(settings.run_path("health.json"), found)
    except OSError as error:
        return [f"health.json: {error}"]
    return []
