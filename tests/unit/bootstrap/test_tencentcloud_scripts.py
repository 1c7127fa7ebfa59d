"""The scripts of a node on Tencent Cloud, run for real."""

import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from gpuyard.bootstrap.tencentcloud import hook_command

from .conftest import Machine

SYSTEM, DATA = "/dev/vda                    disk-abcdefgh", "/dev/vdb                    disk-ijklmnop"
NVME = "/dev/nvme{}n1 INTEL SSDPE2KX040T8 BTLJ0000000{}"


def driver(machine: Machine, version: str = "580.95.05", *, installed: bool = True) -> Path:
    """A driver that is there, or that is there once apt-get has installed it."""
    there = machine.root / "driver"
    if installed:
        there.touch()
    machine.fake(
        "nvidia-smi",
        f'[ -e "{there}" ] || exit 9\n'
        'case "$*" in\n'
        '-L) for i in 0 1 2 3 4 5 6 7; do echo "GPU $i: NVIDIA A100-SXM4-40GB"; done;;\n'
        f"*driver_version*) for i in 0 1 2 3 4 5 6 7; do echo {version}; done;;\nesac",
    )
    machine.fake("apt-get", f'case "$*" in *nvidia-headless*) touch "{there}";; esac')
    machine.fake("modprobe")
    return there


def ours(machine: Machine, branch: str = "580", **more: str) -> None:
    machine.env(GPUYARD_DRIVER_BRANCH=branch, **more)


# --- the commands of object storage and of the cloud's API


def commands(machine: Machine, *, sum_is_right: bool = True, health_tag: bool = False, role: str = "tc-role") -> Path:
    folder = machine.root / "bin2"
    folder.mkdir()
    machine.fake("sha256sum", f"cat > /dev/null\nexit {0 if sum_is_right else 1}")
    machine.fake(
        "curl",
        f"""case "$*" in
  *metadata.tencentyun.com/latest/meta-data/cam/security-credentials/) echo -n "{role}" ;;
  *) while [ "$1" != -o ]; do shift; done; echo program > "$2" ;;
esac""",
    )
    machine.fake("apt-get")
    pip = f'printf "#!{machine.bin}/bash\\necho pip \\$* >> {machine.calls}\\n" > "$3/bin/pip"'
    machine.fake("python3", f'mkdir -p "$3/bin"\n{pip}\nchmod +x "$3/bin/pip"\ntouch "$3/bin/tccli"')
    machine.environment |= {"GPUYARD_BIN": str(folder), "GPUYARD_TCCLI": str(machine.root / "tccli")}
    machine.env(
        GPUYARD_COSCLI_VERSION="1.0.9",
        GPUYARD_COSCLI_SHA256="0" * 64,
        GPUYARD_TCCLI_VERSION="3.1.189.1",
        **({"GPUYARD_HEALTH_TAG": "1"} if health_tag else {}),
    )
    return folder


def test_coscli_comes_in_a_version_whose_sum_is_known_and_uses_the_role(machine: Machine) -> None:
    folder = commands(machine)
    done = machine.run("tencentcloud/01-object-storage.sh")
    assert done.returncode == 0, done.stderr
    assert machine.fetched()[0] == "https://cosbrowser.cloud.tencent.com/software/coscli/coscli-v1.0.9-linux-amd64"
    assert [path.name for path in folder.iterdir()] == ["coscli"]
    assert YAML(typ="safe").load((machine.root / "etc/gpuyard/cos.yaml").read_text()) == {
        "cos": {"base": {"mode": "CvmRole", "cvmrolename": "tc-role", "protocol": "https"}}
    }
    assert machine.called("python3") == [], "nobody needs the API's command"


def test_a_node_that_tags_itself_has_the_apis_command(machine: Machine) -> None:
    folder = commands(machine, health_tag=True)
    done = machine.run("tencentcloud/01-object-storage.sh")
    assert done.returncode == 0, done.stderr
    assert machine.called("pip") == ["install -q tccli==3.1.189.1"]
    assert (folder / "tccli").resolve() == machine.root / "tccli/bin/tccli"


def test_commands_of_the_image_are_used_and_a_second_run_writes_nothing(machine: Machine) -> None:
    folder = commands(machine, health_tag=True)
    for name in ("coscli", "tccli"):
        machine.fake(name)
    assert machine.run("tencentcloud/01-object-storage.sh").returncode == 0
    config = machine.root / "etc/gpuyard/cos.yaml"
    before = config.stat()
    assert machine.run("tencentcloud/01-object-storage.sh").returncode == 0
    assert (config.stat().st_ino, config.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert list(folder.iterdir()) == []
    assert machine.called("apt-get") == []


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"sum_is_right": False}, "coscli cannot be had: a network without a way to the internet needs an image that"),
        ({"role": ""}, "this machine has no CAM role: the bucket cannot be read"),
    ],
)
def test_what_is_missing_is_said(machine: Machine, fault: dict[str, Any], said: str) -> None:
    commands(machine, **fault)
    done = machine.run("tencentcloud/01-object-storage.sh")
    assert done.returncode == 1
    assert said in done.stderr


# --- what hooks run


def hook(machine: Machine, name: str, seconds: int) -> subprocess.CompletedProcess[str]:
    script = machine.root / f"{name}.sh"
    script.write_text(hook_command(name, seconds))
    return machine.run(str(script))


@pytest.mark.parametrize(("state", "code"), [("ready", 0), ("failed", 1)])
def test_a_new_node_says_whether_its_setup_ended_well(machine: Machine, state: str, code: int) -> None:
    told = machine.root / "setup.json"
    told.write_text(f'{{"state": "{state}", "part": "90-health"}}\n')
    machine.environment["GPUYARD_STATE"] = str(told)
    done = hook(machine, "ready", 60)
    assert done.returncode == code
    assert ("90-health" in done.stderr) is bool(code)


def test_a_new_node_is_waited_for_while_its_setup_runs_or_has_not_begun(machine: Machine) -> None:
    told = machine.root / "setup.json"
    machine.environment |= {"GPUYARD_STATE": str(told), "GPUYARD_PAUSE": "0.1"}
    timer = threading.Timer(0.3, lambda: told.write_text('{"state": "ready", "part": ""}\n'))
    timer.start()
    assert hook(machine, "ready", 60).returncode == 0
    told.write_text('{"state": "running", "part": "05-gpu-driver"}\n')
    done = hook(machine, "ready", 1)
    assert (done.returncode, done.stderr) == (1, "the node's set-up did not end in 1 s\n")


def test_a_node_that_is_taken_away_leaves_and_is_waited_for(machine: Machine) -> None:
    left = machine.root / "left.json"
    step = '{"step": "jobs", "state": "done"}'
    written = f'printf \'{{\\n "state": "%s",\\n "steps": [\\n  {step}\\n ]\\n}}\\n\' %s > "{left}"'
    machine.fake("python3", f'echo "path $PYTHONPATH" >> "{machine.calls}"\n{written % ("%s", "working")}')
    machine.environment |= {"GPUYARD_RUN": str(machine.root), "GPUYARD_PAUSE": "0.1"}
    timer = threading.Timer(0.5, lambda: left.write_text('{\n "state": "done"\n}\n'))
    timer.start()
    began = time.monotonic()
    done = hook(machine, "leave", 885)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began > 0.4, "another one was leaving"
    assert machine.called("python3") == ["-m gpuyard.node leave --reason scale_in --seconds 885"]
    assert machine.called("path") == ["/opt/gpuyard/python"]


def test_a_node_that_cannot_leave_does_not_hold_the_scaler(machine: Machine) -> None:
    machine.fake("python3", "exit 2")
    assert hook(machine, "leave", 885).returncode == 2


# --- the driver


def test_a_driver_of_the_image_is_used_as_it_is(machine: Machine) -> None:
    driver(machine, "550.54.14")
    ours(machine, GPUYARD_DRIVER_MINIMUM="450", GPUYARD_DRIVER_REASON="GT4")
    done = machine.run("05-gpu-driver.sh")
    assert done.returncode == 0, done.stderr
    assert machine.called("apt-get") == []


def test_without_one_the_pools_branch_is_installed(machine: Machine) -> None:
    driver(machine, installed=False)
    ours(machine)
    done = machine.run("05-gpu-driver.sh")
    assert done.returncode == 0, done.stderr
    (call,) = [call for call in machine.called("apt-get") if "install" in call]
    assert "nvidia-headless-580-server" in call
    assert "nvidia-utils-580-server" in call
    assert machine.called("modprobe") == ["nvidia"]


@pytest.mark.parametrize(("version", "right"), [("450.80.02", True), ("1000.1", True), ("440.118", False)])
def test_a_driver_that_is_too_old_for_the_gpus_is_refused(machine: Machine, version: str, right: bool) -> None:
    driver(machine, version)
    ours(machine, GPUYARD_DRIVER_MINIMUM="450", GPUYARD_DRIVER_REASON="GT4")
    done = machine.run("05-gpu-driver.sh")
    assert (done.returncode == 0) is right
    if not right:
        assert f"driver {version} is too old: GT4 need 450 or newer" in done.stderr


def test_an_installation_that_fails_is_tried_again_and_then_said(machine: Machine) -> None:
    driver(machine, installed=False)
    machine.fake("apt-get", "exit 100")
    ours(machine)
    done = machine.run("05-gpu-driver.sh")
    assert done.returncode == 1
    assert "gave up: apt-get" in done.stderr
    assert len(machine.called("apt-get")) == 5


def test_an_image_without_driver_and_without_apt_says_what_to_do(machine: Machine) -> None:
    driver(machine, installed=False)
    (machine.bin / "apt-get").unlink()
    ours(machine)
    done = machine.run("05-gpu-driver.sh")
    assert done.returncode == 1
    assert "name an image with a driver" in done.stderr


# --- fabric manager


def fabric(machine: Machine, installed: str | None, *, runs: str | None = None, starts: bool = True) -> None:
    """A package of one version; a daemon of one version that runs, None for none; whether one that is started runs."""
    state = machine.root / "fabric-manager"
    if runs is not None:
        state.touch()
    machine.fake("nv-fabricmanager", f"echo Fabric Manager version is : {runs}")
    machine.fake("dpkg-query", "exit 1" if installed is None else f"echo -n {installed}")
    machine.fake("apt-mark")
    effect = f'touch "{state}"' if starts else f'rm -f "{state}"'
    machine.fake("systemctl", f'case "$1" in is-active) [ -e "{state}" ];; restart) {effect};; esac')


@pytest.mark.parametrize("installed", [None, "580.82.07-0ubuntu0.22.04.1"])
def test_the_fabric_manager_is_installed_in_the_version_of_the_driver(machine: Machine, installed: str | None) -> None:
    driver(machine, "580.95.05")
    fabric(machine, installed, runs=None if installed is None else "580.82.07")
    done = machine.run("06-fabric-manager.sh")
    assert done.returncode == 0, done.stderr
    assert "-qq -y --allow-downgrades install nvidia-fabricmanager-580=580.95.05-*" in machine.called("apt-get")
    assert machine.called("apt-mark") == ["hold nvidia-fabricmanager-580"]
    assert "restart nvidia-fabricmanager" in machine.called("systemctl")


def test_one_of_the_right_version_is_used(machine: Machine) -> None:
    driver(machine, "580.95.05")
    fabric(machine, "580.95.05-0ubuntu0.22.04.1", runs="580.95.05")
    assert machine.run("06-fabric-manager.sh").returncode == 0
    assert machine.called("apt-get") == []
    assert machine.called("systemctl") == ["is-active --quiet nvidia-fabricmanager"]


@pytest.mark.parametrize(
    ("system", "version", "package"),
    [
        ("ubuntu 22.04", "570.133.20", "ubuntu2204/x86_64/nvidia-fabricmanager-570_570.133.20-1_amd64.deb"),
        ("ubuntu 24.04", "580.95.05", "ubuntu2404/x86_64/nvidia-fabricmanager-580_580.95.05-1_amd64.deb"),
        ("alinux 3", "570.133.20", "rhel8/x86_64/nvidia-fabric-manager-570.133.20-1.x86_64.rpm"),
        ("alinux 3", "580.95.05", "rhel8/x86_64/nvidia-fabricmanager-580.95.05-1.x86_64.rpm"),
    ],
)
def test_where_the_cloud_has_nvidias_archive_exactly_the_drivers_version_comes_from_it(
    machine: Machine, system: str, version: str, package: str
) -> None:
    driver(machine, version)
    fabric(machine, None)
    name, number = system.split()
    (machine.root / "os-release").write_text(f'ID="{name}"\nVERSION_ID="{number}"\n')
    machine.environment["GPUYARD_OS_RELEASE"] = str(machine.root / "os-release")
    machine.env(GPUYARD_CUDA_ARCHIVE="http://mirror.example/cuda")
    machine.fake("curl", 'while [ "$1" != -o ]; do shift; done\ntouch "$2"')
    machine.fake("dnf")
    done = machine.run("06-fabric-manager.sh")
    assert done.returncode == 0, done.stderr
    url = f"http://mirror.example/cuda/{package}"
    if name == "ubuntu":
        assert machine.fetched() == [url]
        (install,) = machine.called("apt-get")
        assert install.endswith(".deb")
        assert machine.called("apt-mark") == [f"hold nvidia-fabricmanager-{version.split('.')[0]}"]
    else:
        assert machine.called("dnf") == [f"-q -y install {url}"]
    assert machine.called("systemctl")[-3:] == [
        "enable nvidia-fabricmanager",
        "restart nvidia-fabricmanager",
        "is-active --quiet nvidia-fabricmanager",
    ]


def test_an_archive_without_that_version_fails_the_node(machine: Machine) -> None:
    driver(machine, "570.133.20")
    fabric(machine, None)
    (machine.root / "os-release").write_text("ID=alinux\nVERSION_ID=3\n")
    machine.environment["GPUYARD_OS_RELEASE"] = str(machine.root / "os-release")
    machine.env(GPUYARD_CUDA_ARCHIVE="http://mirror.example/cuda")
    machine.fake("dnf", "exit 1")
    done = machine.run("06-fabric-manager.sh")
    assert done.returncode == 1
    assert "gave up: dnf" in done.stderr
    assert "restart nvidia-fabricmanager" not in machine.called("systemctl")


def test_a_fabric_manager_that_does_not_run_fails_the_node(machine: Machine) -> None:
    driver(machine)
    fabric(machine, "580.95.05-0ubuntu0.22.04.1", starts=False)
    done = machine.run("06-fabric-manager.sh")
    assert done.returncode == 1
    assert "the fabric manager 580.95.05 does not run" in done.stderr


# --- RDMA


def rdma(machine: Machine, *states: str) -> Path:
    for number, state in enumerate(states):
        port = machine.root / f"sys/class/infiniband/mlx5_bond_{number}/ports/1"
        port.mkdir(parents=True)
        (port / "state").write_text(f"{state}\n")
    conf = machine.root / "nccl.conf"
    machine.environment |= {"GPUYARD_SYS": str(machine.root / "sys"), "GPUYARD_NCCL_CONF": str(conf)}
    machine.fake("ip", 'echo "169.254.0.23 via 10.64.0.1 dev bond0 src 10.64.0.9 uid 0 \\    cache"')
    machine.fake("modprobe")
    return conf


@pytest.mark.parametrize("told", [[], ["NCCL_IB_GID_INDEX=3", "NCCL_NET_GDR_LEVEL=2"]])
def test_nccl_is_told_of_the_interface_with_the_networks_address_beside_the_rest(
    machine: Machine, told: list[str]
) -> None:
    conf = rdma(machine, "4: ACTIVE", "4: ACTIVE")
    if told:
        conf.write_text("".join(f"{line}\n" for line in (*told, "NCCL_SOCKET_IFNAME=eth9")))
    done = machine.run("tencentcloud/07-rdma.sh")
    assert done.returncode == 0, done.stderr
    assert conf.read_text().splitlines() == [*told, "NCCL_SOCKET_IFNAME=bond0"]
    assert machine.called("modprobe") == ["nvidia_peermem"]


def test_a_second_run_leaves_what_nccl_is_told(machine: Machine) -> None:
    conf = rdma(machine, "4: ACTIVE")
    conf.write_text("NCCL_IB_GID_INDEX=3\n")
    assert machine.run("tencentcloud/07-rdma.sh").returncode == 0
    before = (conf.stat().st_ino, conf.read_text())
    assert machine.run("tencentcloud/07-rdma.sh").returncode == 0
    assert (conf.stat().st_ino, conf.read_text()) == before


@pytest.mark.parametrize("states", [(), ("1: DOWN",)])
def test_a_machine_without_active_rdma_is_not_taken_for_one_with(machine: Machine, states: tuple[str, ...]) -> None:
    conf = rdma(machine, *states)
    done = machine.run("tencentcloud/07-rdma.sh")
    assert done.returncode == 1
    assert "no active RDMA port" in done.stderr
    assert not conf.exists()


def test_gpus_that_cannot_reach_rdma_directly_fail_the_node(machine: Machine) -> None:
    rdma(machine, "4: ACTIVE")
    machine.fake("modprobe", "exit 1")
    done = machine.run("tencentcloud/07-rdma.sh")
    assert done.returncode == 1
    assert "nvidia_peermem does not load" in done.stderr


# --- disks: the common parts with this cloud's patterns


def disks(machine: Machine, *lines: str) -> Path:
    listed = "\n".join(lines)
    machine.fake("lsblk", f'case "$*" in *PKNAME*) echo /dev/vda;; *) cat <<"END"\n{listed}\nEND\n;; esac')
    machine.fake("findmnt", "echo /dev/vda1")
    machine.fake("mkfs.xfs")
    machine.fake("blkid", "exit 2")
    machine.fake("mdadm", 'case "$1" in --assemble) exit 1;; esac')
    table = machine.root / "mounts"
    table.touch()
    machine.fake("mount", f'for last; do :; done\necho "$last" >> "{table}"')
    machine.fake("mountpoint", f'for last; do :; done\ngrep -qx "$last" "{table}"')
    return machine.root / "target"


def test_the_data_disk_is_known_by_its_serial_number(machine: Machine) -> None:
    target = disks(machine, NVME.format(0, 0), SYSTEM, DATA)
    machine.env(GPUYARD_DATA=str(target), GPUYARD_DATA_DISKS="' disk-'", GPUYARD_DATA_TRIES="3")
    done = machine.run("20-data-disk.sh")
    assert done.returncode == 0, done.stderr
    assert machine.called("mount") == [f"-o noatime /dev/vdb {target}"]


def test_a_data_disk_that_is_attached_late_is_waited_for_and_then_missed(machine: Machine) -> None:
    target = disks(machine, SYSTEM)
    machine.env(GPUYARD_DATA=str(target), GPUYARD_DATA_DISKS="' disk-'", GPUYARD_DATA_TRIES="7")
    done = machine.run("20-data-disk.sh")
    assert done.returncode == 1
    assert "the data disk is not attached" in done.stderr
    assert len(machine.called("lsblk")) == 1 + 7


def test_the_machines_own_disks_are_those_that_are_not_of_the_cloud(machine: Machine) -> None:
    target = disks(machine, SYSTEM, DATA, *(NVME.format(number, number) for number in range(4)))
    machine.env(GPUYARD_SCRATCH=str(target), GPUYARD_SCRATCH_DISKS="'^/dev/nvme'")
    machine.environment["GPUYARD_VENDOR_SCRATCH"] = str(machine.root / "vendor")
    done = machine.run("10-scratch.sh")
    assert done.returncode == 0, done.stderr
    assert "--raid-devices=4 /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1" in machine.called("mdadm")[-1]


# --- CFS Turbo


def turbo(machine: Machine, works_at_try: int = 1) -> Path:
    target = machine.root / "cfs"
    machine.env(GPUYARD_FILE_SYSTEM=str(target), GPUYARD_TURBO_ADDRESS="10.64.0.7", GPUYARD_TURBO_TREE="d3dcc487/cfs")
    machine.mounts(works_at_try=works_at_try)
    return target


@pytest.mark.parametrize("tries", [1, 3])
def test_the_file_system_is_mounted_and_proved(machine: Machine, tries: int) -> None:
    target = turbo(machine, tries)
    done = machine.run("tencentcloud/40-mount-turbo.sh")
    assert done.returncode == 0, done.stderr
    unit = machine.unit()
    assert (unit["Type"], unit["Options"], unit["Where"]) == ("lustre", "user_xattr", str(target))
    assert unit["What"] == "10.64.0.7@tcp0:/d3dcc487/cfs"
    assert machine.started() == tries
    assert list(target.iterdir()) == [], "the probe is gone"


def test_a_file_system_that_cannot_be_mounted_is_said(machine: Machine) -> None:
    turbo(machine, 100)
    machine.environment["GPUYARD_TRIES"] = "3"
    done = machine.run("tencentcloud/40-mount-turbo.sh")
    assert done.returncode == 1
    assert "cannot mount 10.64.0.7@tcp0:/d3dcc487/cfs after 3 tries" in done.stderr


def client(machine: Machine, *, there: bool, installs: bool = True) -> None:
    loaded = machine.root / "lustre"
    if there:
        loaded.touch()
        machine.fake("mount.lustre")
    effect = f'touch "{loaded}"' if installs else "true"
    machine.fake("curl", f'while [ "$1" != -o ]; do shift; done\necho \'{effect}\' > "$2"')
    machine.fake("modprobe", f'[ -e "{loaded}" ]')


def test_a_client_of_the_image_is_used(machine: Machine) -> None:
    client(machine, there=True)
    assert machine.run("tencentcloud/30-turbo-client.sh").returncode == 0
    assert machine.called("curl") == []


def test_the_clouds_own_installer_is_fetched_from_inside_and_run(machine: Machine) -> None:
    client(machine, there=False)
    done = machine.run("tencentcloud/30-turbo-client.sh")
    assert done.returncode == 0, done.stderr
    (call,) = machine.called("curl")
    assert call.endswith("http://mirrors.tencentyun.com/install/cfsturbo-client/tools/cfs_turbo_client_setup")


def test_a_kernel_that_the_installer_does_not_know_is_named(machine: Machine) -> None:
    client(machine, there=False, installs=False)
    done = machine.run("tencentcloud/30-turbo-client.sh")
    assert done.returncode == 1
    assert "has none for kernel" in done.stderr


# --- watching and leaving


def test_the_clouds_agent_is_seen_to(machine: Machine) -> None:
    machine.fake("systemctl")
    machine.environment |= {"GPUYARD_AGENT": str(machine.root / "agent"), "GPUYARD_TRIES": "2"}
    done = machine.run("tencentcloud/50-monitoring.sh")
    assert done.returncode == 1
    assert "GPUs would go unwatched" in done.stderr
    (machine.root / "agent").mkdir()
    assert machine.run("tencentcloud/50-monitoring.sh").returncode == 0
    assert machine.called("systemctl") == ["enable --now gpuyard-kernel-log.service"] * 2
