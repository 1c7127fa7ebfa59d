"""The scripts of a node, run for real."""

import json
from pathlib import Path

import pytest

from .conftest import Machine

NVME = "/dev/nvme{}n1 Amazon EC2 NVMe Instance Storage"
EBS = "/dev/nvme{}n1 Amazon Elastic Block Store"


def lsblk(machine: Machine, *lines: str, root: str = "/dev/nvme0n1") -> None:
    listed = "\n".join(lines)
    machine.fake("lsblk", f'case "$*" in *PKNAME*) echo {root};; *) cat <<"END"\n{listed}\nEND\n;; esac')


# --- the machine's own disks


def scratch(machine: Machine) -> Path:
    target = machine.root / "scratch"
    machine.env(GPUYARD_SCRATCH=str(target))
    machine.environment["GPUYARD_VENDOR_SCRATCH"] = str(machine.root / "vendor")
    machine.mounts()
    machine.fake("mkfs.xfs")
    machine.fake("blkid", "exit 2")
    machine.fake("mdadm", 'case "$1" in --assemble) exit 1;; esac')
    return target


def test_several_nvme_disks_become_one_raid_0(machine: Machine) -> None:
    target = scratch(machine)
    lsblk(machine, EBS.format(0), *(NVME.format(number) for number in (1, 2, 3)))
    done = machine.run("10-scratch.sh")
    assert done.returncode == 0, done.stderr
    create = machine.called("mdadm")[-1]
    assert "--level=0" in create
    assert "--raid-devices=3 /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1" in create
    assert machine.called("mkfs.xfs") == ["-q -L scratch /dev/md/gpuyard-scratch"]
    assert machine.called("mount") == [f"-o noatime,nodiscard /dev/md/gpuyard-scratch {target}"]


def test_one_nvme_disk_needs_no_raid(machine: Machine) -> None:
    target = scratch(machine)
    lsblk(machine, EBS.format(0), NVME.format(1))
    assert machine.run("10-scratch.sh").returncode == 0
    assert machine.called("mdadm") == []
    assert machine.called("mount") == [f"-o noatime,nodiscard /dev/nvme1n1 {target}"]


def test_a_second_boot_formats_nothing(machine: Machine) -> None:
    scratch(machine)
    lsblk(machine, NVME.format(1), NVME.format(2))
    machine.fake("mdadm")
    machine.fake("blkid")
    assert machine.run("10-scratch.sh").returncode == 0
    assert machine.run("10-scratch.sh").returncode == 0
    assert machine.called("mkfs.xfs") == []
    assert [call.split()[0] for call in machine.called("mdadm")] == ["--assemble"]
    assert len(machine.called("mount")) == 1


def test_the_volume_that_the_vendors_image_made_is_used(machine: Machine) -> None:
    target = scratch(machine)
    vendor = machine.environment["GPUYARD_VENDOR_SCRATCH"]
    (machine.root / "mounts").write_text(f"{vendor}\n")
    lsblk(machine, NVME.format(1))
    assert machine.run("10-scratch.sh").returncode == 0
    assert machine.called("mount") == [f"--bind {vendor} {target}"]
    assert machine.called("mkfs.xfs") == []


def test_a_machine_without_the_disks_of_the_catalog_says_so(machine: Machine) -> None:
    scratch(machine)
    lsblk(machine, EBS.format(0))
    done = machine.run("10-scratch.sh")
    assert done.returncode == 1
    assert "no NVMe instance store" in done.stderr


# --- the data disk


def data(machine: Machine, *disks: str) -> Path:
    target = machine.root / "data"
    machine.env(GPUYARD_DATA=str(target))
    machine.environment["GPUYARD_TRIES"] = "2"
    machine.mounts()
    machine.fake("findmnt", "echo /dev/nvme0n1p1")
    machine.fake("mkfs.xfs")
    machine.fake("blkid", "exit 2")
    lsblk(machine, *disks)
    return target


def test_the_data_disk_is_not_the_root_disk(machine: Machine) -> None:
    target = data(machine, EBS.format(0), NVME.format(1), EBS.format(2))
    assert machine.run("20-data-disk.sh").returncode == 0
    assert machine.called("mkfs.xfs") == ["-q -L gpuyard-data /dev/nvme2n1"]
    assert machine.called("mount") == [f"-o noatime /dev/nvme2n1 {target}"]


def test_a_disk_with_data_is_never_formatted(machine: Machine) -> None:
    data(machine, EBS.format(0), EBS.format(2))
    machine.fake("blkid")
    assert machine.run("20-data-disk.sh").returncode == 0
    assert machine.called("mkfs.xfs") == []


def test_a_data_disk_that_does_not_come_is_a_failure_after_bounded_tries(machine: Machine) -> None:
    data(machine, EBS.format(0))
    done = machine.run("20-data-disk.sh")
    assert done.returncode == 1
    assert "the data disk is not attached" in done.stderr
    assert len([call for call in machine.called("lsblk") if "MODEL" in call]) == 2


# --- the parallel file system


def lustre(machine: Machine) -> Path:
    target = machine.root / "fsx"
    machine.env(
        GPUYARD_FILE_SYSTEM=str(target),
        GPUYARD_LUSTRE_DNS_NAME="fs-1.fsx.us-east-1.amazonaws.com",
        GPUYARD_LUSTRE_MOUNT_NAME="abcd1234",
    )
    machine.environment["GPUYARD_TRIES"] = "3"
    return target


def test_br_028_the_file_system_is_mounted_and_proved_by_a_write(machine: Machine) -> None:
    target = lustre(machine)
    machine.mounts()
    done = machine.run("aws/40-mount-lustre.sh")
    assert done.returncode == 0, done.stderr
    unit = machine.unit()
    assert (unit["Type"], unit["Options"], unit["Where"]) == ("lustre", "relatime,flock", str(target))
    assert unit["What"] == "fs-1.fsx.us-east-1.amazonaws.com@tcp:/abcd1234"
    assert list(target.iterdir()) == [], "the probe is taken away again"


def test_br_028_a_mount_that_succeeds_later_is_tried_again(machine: Machine) -> None:
    lustre(machine)
    machine.mounts(works_at_try=3)
    assert machine.run("aws/40-mount-lustre.sh").returncode == 0
    assert machine.started() == 3


def test_br_028_tries_are_bounded(machine: Machine) -> None:
    lustre(machine)
    machine.mounts(works_at_try=100)
    done = machine.run("aws/40-mount-lustre.sh")
    assert done.returncode == 1
    assert "after 3 tries" in done.stderr
    assert machine.started() == 3


def test_br_028_a_mount_that_only_claims_success_is_a_failure(machine: Machine) -> None:
    lustre(machine)
    machine.mounts(claims_only=True)
    done = machine.run("aws/40-mount-lustre.sh")
    assert done.returncode == 1
    assert "is no mount point though mount succeeded" in done.stderr


def test_br_028_a_file_system_that_cannot_be_written_is_a_failure(machine: Machine) -> None:
    target = lustre(machine)
    machine.mounts()
    # A name that is taken by a folder stands for a file system that refuses the write; root may write anywhere.
    machine.fake("hostname", "echo node")
    (target / ".gpuyard-probe-node").mkdir(parents=True)
    assert machine.run("aws/40-mount-lustre.sh").returncode != 0


def test_mounting_again_changes_nothing(machine: Machine) -> None:
    lustre(machine)
    machine.mounts()
    assert machine.run("aws/40-mount-lustre.sh").returncode == 0
    assert machine.run("aws/40-mount-lustre.sh").returncode == 0
    assert machine.started() == 1
    assert machine.called("systemctl").count("daemon-reload") == 1


def test_a_client_that_the_image_brings_is_not_installed_again(machine: Machine) -> None:
    machine.fake("mount.lustre")
    machine.fake("modprobe")
    machine.fake("apt-get")
    assert machine.run("aws/30-lustre-client.sh").returncode == 0
    assert machine.called("apt-get") == []


def test_the_client_comes_from_the_package_repository_with_retries(machine: Machine) -> None:
    count = machine.root / "count"
    machine.fake("dnf", f'echo x >> "{count}"\n[ "$(grep -c x "{count}")" -ge 2 ]')
    machine.fake("modprobe")
    done = machine.run("aws/30-lustre-client.sh")
    assert done.returncode == 0, done.stderr
    assert machine.called("dnf") == ["-q -y install lustre-client"] * 2
    assert machine.called("modprobe") == ["lustre"]


def test_a_client_that_cannot_be_installed_is_a_failure(machine: Machine) -> None:
    machine.fake("dnf", "exit 1")
    done = machine.run("aws/30-lustre-client.sh")
    assert done.returncode == 1
    assert "gave up: dnf" in done.stderr


# --- Lustre over EFA


def efa_devices(machine: Machine, *names: str, driver: str = "efa") -> None:
    drivers = machine.root / "sys" / "drivers" / driver
    drivers.mkdir(parents=True)
    for name in names:
        device = machine.root / "sys" / "class" / "infiniband" / name / "device"
        device.mkdir(parents=True)
        (device / "driver").symlink_to(drivers)
    machine.environment["GPUYARD_SYS"] = str(machine.root / "sys")
    machine.fake("ip", "echo '169.254.169.254 dev ens5 src 10.0.0.5 uid 0'")
    machine.fake("modprobe")
    machine.fake("lnetctl")


def test_br_008_efa_is_added_and_preferred(machine: Machine) -> None:
    efa_devices(machine, "rdmap16s27", "rdmap32s27", "rdmap80s27")
    done = machine.run("aws/35-lustre-efa.sh")
    assert done.returncode == 0, done.stderr
    calls = machine.called("lnetctl")
    assert "net add --net tcp --if ens5" in calls
    assert [call for call in calls if "--net efa --if" in call] == [
        "net add --net efa --if rdmap16s27 --peer-credits 32",
        "net add --net efa --if rdmap80s27 --peer-credits 32",
    ]
    assert "udsp add --src efa --priority 0" in calls
    assert machine.called("modprobe")[-1] == "lustre"


@pytest.mark.parametrize(
    ("fault", "message"),
    [("no module", "no module for EFA (kefalnd)"), ("no device", "no EFA device"), ("other", "no EFA device")],
)
def test_br_008_it_never_falls_back_to_tcp_in_silence(fault: str, message: str, machine: Machine) -> None:
    if fault == "no device":
        efa_devices(machine)
    else:
        efa_devices(machine, "mlx5_0", driver="mlx5_core" if fault == "other" else "efa")
    if fault == "no module":
        machine.fake("modprobe", "exit 1")
    done = machine.run("aws/35-lustre-efa.sh")
    assert done.returncode == 1
    assert message in done.stderr
    assert not [call for call in machine.called("lnetctl") if "add" in call]


# --- monitoring, release, and the order of all


def test_an_image_without_an_agent_is_a_failure(machine: Machine) -> None:
    machine.environment["GPUYARD_AGENT"] = str(machine.root / "no-agent")
    done = machine.run("aws/50-monitoring.sh")
    assert done.returncode == 1
    assert "GPUs would go unwatched" in done.stderr


def test_the_agent_is_started_with_the_pools_own_file(machine: Machine) -> None:
    machine.fake("systemctl")
    machine.fake("agent-ctl")
    machine.environment["GPUYARD_AGENT"] = str(machine.bin / "agent-ctl")
    assert machine.run("aws/50-monitoring.sh").returncode == 0
    assert machine.called("agent-ctl") == ["-a fetch-config -m ec2 -s -c file:/etc/gpuyard/cloudwatch-agent.json"]
    assert machine.called("systemctl") == ["enable --now gpuyard-kernel-log.service"]


@pytest.fixture
def parts(machine: Machine) -> Path:
    folder = machine.root / "parts"
    folder.mkdir()
    machine.environment["GPUYARD_PARTS"] = str(folder)
    return folder


def test_parts_run_in_order_and_the_first_failure_stops_the_rest(machine: Machine, parts: Path) -> None:
    log, state = machine.root / "log", machine.root / "run" / "setup.json"
    machine.environment["GPUYARD_STATE"] = str(state)
    (parts / "10-a.sh").write_text(f'echo a >> "{log}"\n')
    (parts / "20-b.sh").write_text("exit 3\n")
    (parts / "30-c.sh").write_text(f'echo c >> "{log}"\n')
    done = machine.run("setup.sh")
    assert done.returncode == 1
    assert "20-b failed, the node is not ready" in done.stderr
    assert log.read_text() == "a\n"
    assert json.loads(state.read_text()) == {"state": "failed", "part": "20-b"}
    (parts / "20-b.sh").write_text("exit 0\n")
    assert machine.run("setup.sh").returncode == 0
    assert json.loads(state.read_text()) == {"state": "ready", "part": ""}
