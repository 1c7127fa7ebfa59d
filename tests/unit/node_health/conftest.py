"""A machine of fakes: commands on a private PATH, and a /sys of its own."""

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuyard.catalog import instance_type
from gpuyard.node import health
from gpuyard.planning.node_health import MountDemand, NodeDemands, expected_of

from . import outputs
from .outputs import Card

EVERYTHING = NodeDemands(
    rdma=True,
    mtu_bytes=9001,
    containers=True,
    huge_pages_gib=10,
    mounts=(MountDemand("/fsx", "lustre", write_mb_per_s=100, read_mb_per_s=100),),
)
SMI_ROWS, SMI_LINKS, SMI_LOG = "--query-gpu=", "nvlink --status", "-q -x"


class Machine:
    """What its commands answer, by command and a part of the arguments; the longest part that fits is taken."""

    def __init__(self, root: Path) -> None:
        self.root, self.bin, self.sys, self.mount = root, root / "bin", root / "sys", root / "fsx"
        for folder in (self.bin, self.sys, self.mount):
            folder.mkdir()
        self.expected: dict[str, Any] = {}
        self._answers: dict[str, dict[str, str]] = {}
        for name in ("rm", "sh", "sleep"):
            found = shutil.which(name)
            assert found, name
            (self.bin / name).symlink_to(found)

    def says(self, command: str, text: str, part: str = "", *, code: int = 0, seconds: float = 0) -> None:
        """What a command answers to arguments that hold a part."""
        wait = f"sleep {seconds}; " if seconds else ""
        self._answers.setdefault(command, {})[part] = f"{wait}printf %s {shlex.quote(text)}; exit {code}"
        parts = sorted(self._answers[command], key=len, reverse=True)
        cases = "".join(f'*"{part}"*) {self._answers[command][part]};;\n' for part in parts)
        calls = f'echo "{command} $*" >> {self.root / "calls"}'
        unknown = f'echo "{command}: unexpected $*" >&2; exit 64'
        self._write(command, f'{calls}\ncase "$*" in\n{cases}*) {unknown};;\nesac\n')

    def answers_only(self, command: str, text: str, code: int = 0) -> None:
        """The command says the same to everything."""
        self._answers.pop(command, None)
        self.says(command, text, code=code)

    def writes_then(self, command: str, body: str) -> None:
        """The command makes the file that it was told to write, and then does what its body says."""
        self._write(command, f'for word; do case $word in of=*) : > "${{word#of=}}";; esac; done\n{body}\n')

    def lacks(self, command: str) -> None:
        """The command is not installed."""
        (self.bin / command).unlink()

    def hangs(self, command: str) -> None:
        """The command does not answer, and its child holds on to what it writes to."""
        self._write(command, "sleep 60 & wait\n")

    def _write(self, command: str, body: str) -> None:
        path = self.bin / command
        path.unlink(missing_ok=True)
        path.write_text(f"#!{self.bin}/sh\n{body}")
        path.chmod(0o755)

    def demands_speed(self, mb_per_s: float) -> None:
        """A floor that the mount does not reach: reading and writing take a tenth of a second."""
        self.expected["mounts"][0]["read_mb_per_s"] = mb_per_s
        self.says("dd", "", seconds=0.1)

    def file(self, path: str, text: str) -> None:
        """A file below /sys."""
        name = self.sys / path
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_text(f"{text}\n")

    def rdma(self, name: str, driver: str, *, layer: str = "Unspecified", gids: tuple[str, ...] = ()) -> None:
        """An RDMA device with one active port."""
        port = f"class/infiniband/{name}/ports/1"
        self.file(f"{port}/state", "4: ACTIVE")
        self.file(f"{port}/link_layer", layer)
        for index, gid in enumerate(gids):
            self.file(f"{port}/gids/{index}", gid)
            if gid.strip("0:"):
                self.file(f"{port}/gid_attrs/types/{index}", "RoCE v2" if index % 2 else "IB/RoCE v1")
        drivers = self.sys / "bus/pci/drivers" / driver
        drivers.mkdir(parents=True, exist_ok=True)
        link = self.sys / f"class/infiniband/{name}/device"
        link.mkdir()
        (link / "driver").symlink_to(drivers)

    def interface(self, name: str, mtu: int) -> None:
        """A network interface of a device that is up."""
        for file, text in (("device/vendor", "0x1d0f"), ("operstate", "up"), ("mtu", str(mtu))):
            self.file(f"class/net/{name}/{file}", text)

    def has(self, card: Card, count: int) -> None:
        """GPUs, and everything around them as it should be."""
        self.says("nvidia-smi", outputs.gpu_rows(card, count), SMI_ROWS)
        self.says("nvidia-smi", outputs.link_status(card, count), SMI_LINKS)
        self.says("nvidia-smi", outputs.driver_log(card, count), SMI_LOG)
        self.says("nvidia-container-cli", outputs.container_info(card, count))
        self.says("journalctl", outputs.KERNEL_LOG)
        self.says("dmesg", outputs.KERNEL_LOG)
        self.says("systemctl", "LoadState=loaded\nActiveState=active\n", "nvidia-fabricmanager")
        self.says("systemctl", "DefaultLimitMEMLOCK=infinity\n", "DefaultLimitMEMLOCK")
        self.says("findmnt", f"/ ext4\n/run tmpfs\n{self.mount} lustre\n")
        self.says("dd", "")
        self.says("timedatectl", "NTPSynchronized=yes\n")
        self.says("chronyc", outputs.TRACKING)
        self.says("df", outputs.DISK)
        self.says("docker", '{"io.containerd.runc.v2":{"path":"runc"},"nvidia":{"path":"nvidia-container-runtime"}}\n')
        self.file("kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "5120")
        self.interface("ens32", 9001)
        self.file("class/net/lo/mtu", "65536")

    def is_of(self, cloud: str, name: str, demands: NodeDemands = EVERYTHING) -> None:
        """What is expected of it: the facts of an instance type, with the pool's mount in this machine."""
        row = instance_type(cloud, name)
        assert row is not None
        self.expected = expected_of(row, demands)
        for mount in self.expected["mounts"] or []:
            mount["path"] = str(self.mount)

    def checks(self) -> dict[str, health.Check]:
        """Every check by its id."""
        return {check.id: check for check in health.run(self.expected)}

    def write_expected(self) -> Path:
        """What is expected, as a file."""
        path = self.root / "expected.json"
        path.write_text(json.dumps(self.expected))
        return path

    def calls(self) -> list[str]:
        """Every call of a fake command."""
        file = self.root / "calls"
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A p4d.24xlarge that has everything."""
    made = Machine(tmp_path)
    monkeypatch.setenv("PATH", str(made.bin))
    monkeypatch.setenv("GPUYARD_SYS", str(made.sys))
    monkeypatch.setenv("GPUYARD_ENV", str(tmp_path / "node.env"))
    monkeypatch.setenv("GPUYARD_RUN", str(tmp_path / "run"))
    made.has(outputs.A100, 8)
    for index in range(4):
        made.rdma(f"rdmap{16 * (index + 1)}s27", "efa")
    made.says("fi_info", outputs.efa_domains(4))
    made.is_of("aws", "p4d.24xlarge")
    return made


Fault = Callable[[Machine], None]
