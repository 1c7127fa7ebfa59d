"""The scripts of a node on Tencent Cloud, run for real."""

import json
from pathlib import Path

import pytest

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


# --- the driver


def test_a_driver_of_the_image_is_used_as_it_is(machine: Machine) -> None:
    driver(machine, "550.54.14")
    ours(machine, GPUYARD_DRIVER_MINIMUM="450")
    done = machine.run("tencentcloud/05-gpu-driver.sh")
    assert done.returncode == 0, done.stderr
    assert machine.called("apt-get") == []


def test_without_one_the_pools_branch_is_installed(machine: Machine) -> None:
    driver(machine, installed=False)
    ours(machine)
    done = machine.run("tencentcloud/05-gpu-driver.sh")
    assert done.returncode == 0, done.stderr
    (call,) = [call for call in machine.called("apt-get") if "install" in call]
    assert "nvidia-headless-580-server" in call
    assert "nvidia-utils-580-server" in call
    assert machine.called("modprobe") == ["nvidia"]


@pytest.mark.parametrize(("version", "right"), [("450.80.02", True), ("1000.1", True), ("440.118", False)])
def test_a_driver_that_is_too_old_for_the_gpus_is_refused(machine: Machine, version: str, right: bool) -> None:
    driver(machine, version)
    ours(machine, GPUYARD_DRIVER_MINIMUM="450")
    done = machine.run("tencentcloud/05-gpu-driver.sh")
    assert (done.returncode == 0) is right
    if not right:
        assert f"driver {version} is too old for these GPUs: they need 450 or newer" in done.stderr


def test_an_installation_that_fails_is_tried_again_and_then_said(machine: Machine) -> None:
    driver(machine, installed=False)
    machine.fake("apt-get", "exit 100")
    ours(machine)
    done = machine.run("tencentcloud/05-gpu-driver.sh")
    assert done.returncode == 1
    assert "gave up: apt-get" in done.stderr
    assert len(machine.called("apt-get")) == 5


def test_an_image_without_driver_and_without_apt_says_what_to_do(machine: Machine) -> None:
    driver(machine, installed=False)
    (machine.bin / "apt-get").unlink()
    ours(machine)
    done = machine.run("tencentcloud/05-gpu-driver.sh")
    assert done.returncode == 1
    assert "name an image with a driver" in done.stderr


# --- fabric manager


def fabric(machine: Machine, installed: str | None, active: bool = True) -> None:
    machine.fake("dpkg-query", "exit 1" if installed is None else f"echo -n {installed}")
    machine.fake("apt-mark")
    machine.fake("systemctl", f'case "$1" in is-active) exit {0 if active else 3};; esac')


@pytest.mark.parametrize("installed", [None, "580.82.07-0ubuntu0.22.04.1"])
def test_the_fabric_manager_is_installed_in_the_version_of_the_driver(machine: Machine, installed: str | None) -> None:
    driver(machine, "580.95.05")
    fabric(machine, installed)
    done = machine.run("tencentcloud/06-fabric-manager.sh")
    assert done.returncode == 0, done.stderr
    assert "-qq -y --allow-downgrades install nvidia-fabricmanager-580=580.95.05-*" in machine.called("apt-get")
    assert machine.called("apt-mark") == ["hold nvidia-fabricmanager-580"]
    assert "enable --now nvidia-fabricmanager" in machine.called("systemctl")


def test_one_of_the_right_version_is_used(machine: Machine) -> None:
    driver(machine, "580.95.05")
    fabric(machine, "580.95.05-0ubuntu0.22.04.1")
    assert machine.run("tencentcloud/06-fabric-manager.sh").returncode == 0
    assert machine.called("apt-get") == []


def test_a_fabric_manager_that_does_not_run_fails_the_node(machine: Machine) -> None:
    driver(machine)
    fabric(machine, "580.95.05-0ubuntu0.22.04.1", active=False)
    done = machine.run("tencentcloud/06-fabric-manager.sh")
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


def test_nccl_is_told_of_rdma_and_of_the_interface_with_the_networks_address(machine: Machine) -> None:
    conf = rdma(machine, "4: ACTIVE", "4: ACTIVE")
    done = machine.run("tencentcloud/07-rdma.sh")
    assert done.returncode == 0, done.stderr
    assert conf.read_text().splitlines() == [
        "NCCL_IB_DISABLE=0",
        "NCCL_IB_GID_INDEX=3",
        "NCCL_NET_GDR_LEVEL=2",
        "NCCL_SOCKET_IFNAME=bond0",
    ]
    assert machine.called("modprobe") == ["nvidia_peermem"]


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
    count = machine.root / "count"
    machine.env(GPUYARD_FILE_SYSTEM=str(target), GPUYARD_TURBO_ADDRESS="10.64.0.7", GPUYARD_TURBO_TREE="d3dcc487/cfs")
    mounted = machine.root / "mounted"
    machine.fake("mountpoint", f'[ -e "{mounted}" ]')
    machine.fake(
        "mount.lustre",
        f'echo x >> "{count}"\n[ "$(wc -l < "{count}")" -ge {works_at_try} ] && touch "{mounted}"',
    )
    machine.fake("wc", f'while read -r _; do n=$((n + 1)); done < "{count}"; echo $n')
    return target


@pytest.mark.parametrize("tries", [1, 3])
def test_the_file_system_is_mounted_and_proved(machine: Machine, tries: int) -> None:
    target = turbo(machine, tries)
    done = machine.run("tencentcloud/40-mount-turbo.sh")
    assert done.returncode == 0, done.stderr
    assert machine.called("mount.lustre") == [f"-o user_xattr 10.64.0.7@tcp0:/d3dcc487/cfs {target}"] * tries
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


def test_the_watch_for_the_end_of_a_spot_machine_is_started(machine: Machine) -> None:
    machine.fake("systemctl")
    assert machine.run("tencentcloud/60-spot-notice.sh").returncode == 0
    assert machine.called("systemctl") == ["enable --now gpuyard-spot-notice.service"]


def test_a_spot_notice_tells_the_jobs_two_minutes_ahead(machine: Machine) -> None:
    asked = machine.root / "asked"
    machine.fake(
        "curl",
        f'echo x >> "{asked}"\nn=0; while read -r _; do n=$((n + 1)); done < "{asked}"\n'
        '[ "$n" -ge 3 ] || exit 22\necho 2026-12-01T12:00:00Z',
    )
    home = machine.root / "home"
    home.mkdir()
    (home / "leave.sh").write_text(f'#!{machine.bin}/bash\necho "leave $*" >> "{machine.calls}"\n')
    (home / "leave.sh").chmod(0o755)
    machine.environment["GPUYARD_HOME"] = str(home)
    done = machine.run("tencentcloud/watch-spot.sh")
    assert done.returncode == 0, done.stderr
    assert len(machine.called("curl")) == 3, "404 means that nothing is planned"
    assert machine.called("leave") == ["spot 110"]
    assert "http://metadata.tencentyun.com/latest/meta-data/spot/termination-time" in machine.called("curl")[0]
    assert "this spot machine ends at 2026-12-01T12:00:00Z" in done.stdout


def leaving(machine: Machine, *arguments: str) -> tuple[int, str]:
    import subprocess

    from .conftest import TEMPLATES

    machine.environment |= {
        "GPUYARD_RUN": str(machine.root / "run"),
        "GPUYARD_ON_LEAVE": str(machine.root / "on-leave.d"),
    }
    done = subprocess.run(
        [str(machine.bin / "bash"), str(TEMPLATES / "tencentcloud/leave.sh"), *arguments],
        env={"PATH": str(machine.bin), **machine.environment},
        capture_output=True,
        text=True,
        timeout=30,
    )
    return done.returncode, done.stderr


def program(machine: Machine, name: str, body: str) -> None:
    folder = machine.root / "on-leave.d"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!{machine.bin}/bash\n{body}\n")
    (folder / name).chmod(0o755)


def test_a_node_that_leaves_tells_its_jobs_and_goes_when_they_release_it(machine: Machine) -> None:
    program(machine, "10-save", f'echo "save $*" >> "{machine.calls}"\ntouch "$GPUYARD_RUN/released"')
    assert leaving(machine, "scale-in", "25") == (0, "")
    assert json.loads((machine.root / "run/leaving.json").read_text()) == {"reason": "scale-in", "seconds": 25}
    assert machine.called("save") == ["scale-in 25"]


def test_a_program_that_fails_does_not_keep_the_others_from_being_told(machine: Machine) -> None:
    program(machine, "10-breaks", "exit 3")
    program(machine, "20-save", f'echo "save $*" >> "{machine.calls}"\ntouch "$GPUYARD_RUN/released"')
    code, said = leaving(machine, "spot", "25")
    assert code == 0
    assert "10-breaks failed" in said
    assert len(machine.called("save")) == 1


def test_a_node_that_nobody_releases_waits_for_its_time_and_no_longer(machine: Machine) -> None:
    program(machine, "10-hangs", "while true; do sleep 1; done")
    machine.environment["GPUYARD_PAUSE"] = "0.1"
    code, said = leaving(machine, "spot", "2")
    assert code == 0
    assert "10-hangs failed" in said


def test_whoever_has_written_its_checkpoint_releases_the_node(machine: Machine) -> None:
    machine.environment["GPUYARD_RUN"] = str(machine.root / "run")
    assert machine.run("tencentcloud/release-node.sh").returncode == 0
    assert leaving(machine, "scale-in", "25")[0] == 0
