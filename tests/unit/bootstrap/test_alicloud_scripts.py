"""The scripts of a node on Alibaba Cloud, run for real."""

import json
import sys
from pathlib import Path

import pytest

from .conftest import Machine

FOLDER = "alicloud"


# --- the driver


def metadata(machine: Machine, script: str) -> None:
    """A metadata service that refuses whoever has no token, and a mirror that gives the vendor's script."""
    machine.fake(
        "curl",
        f"""case "$*" in
  *api/token*) echo t0k3n ;;
  *"X-aliyun-ecs-metadata-token: t0k3n"*)
    case "$*" in
      *source-address*) echo http://mirror.example ;;
      *instance-id*) echo i-1 ;;
      *security-credentials*) echo role-1 ;;
    esac ;;
  *100.100.100.200*) exit 22 ;;
  *)
    while [ "$1" != -o ]; do shift; done
    cat > "$2" <<'END'
{script}
END
    ;;
esac""",
    )


def driver(machine: Machine, rdma: str = "", works_after: bool = True, script: str | None = None) -> Path:
    installed = machine.root / "installed"
    machine.fake("nvidia-smi", f'[ -e "{installed}" ]')
    machine.environment["GPUYARD_INSTALL"] = str(machine.root / "auto_install")
    touch = f'touch "{installed}"' if works_after else ":"
    metadata(machine, script or f'echo "vendor $*" >> "{machine.calls}"\n{touch}')
    machine.env(
        GPUYARD_RDMA=rdma,
        GPUYARD_DRIVER_SCRIPT="install.sh",
        GPUYARD_DRIVER_VERSION="570",
        GPUYARD_CUDA_VERSION="12.8.1",
        GPUYARD_CUDNN_VERSION="9.8",
    )
    return installed


@pytest.mark.parametrize(("rdma", "flags"), [("", "FALSE FALSE"), ("erdma", "FALSE TRUE"), ("roce", "TRUE FALSE")])
def test_the_vendors_script_installs_driver_and_rdma(rdma: str, flags: str, machine: Machine) -> None:
    driver(machine, rdma)
    done = machine.run(f"{FOLDER}/10-driver.sh")
    assert done.returncode == 0, done.stderr
    assert machine.called("vendor") == [f"570 12.8.1 9.8 {flags}"]


def test_a_driver_that_is_there_is_left(machine: Machine) -> None:
    driver(machine).touch()
    assert machine.run(f"{FOLDER}/10-driver.sh").returncode == 0
    assert machine.called("vendor") == []


def test_the_vendors_script_gets_through_hardened_metadata(machine: Machine) -> None:
    asks = f'curl http://100.100.100.200/latest/meta-data/source-address && touch "{machine.root}/installed"'
    installed = driver(machine, script=asks)
    done = machine.run(f"{FOLDER}/10-driver.sh")
    assert done.returncode == 0, done.stderr
    assert installed.exists()


def test_a_driver_that_does_not_run_is_a_failure(machine: Machine) -> None:
    driver(machine, works_after=False)
    done = machine.run(f"{FOLDER}/10-driver.sh")
    assert done.returncode == 1
    assert "the driver was installed and nvidia-smi does not run" in done.stderr


# --- the data disk


def disks(machine: Machine, *lines: str) -> Path:
    target = machine.root / "data"
    listed = "\n".join(lines)
    machine.env(GPUYARD_DATA=str(target), GPUYARD_DATA_DISKS="' disk'")
    machine.environment["GPUYARD_TRIES"] = "2"
    machine.fake("lsblk", f'case "$*" in *PKNAME*) echo /dev/vda;; *) cat <<"END"\n{listed}\nEND\n;; esac')
    machine.fake("findmnt", "echo /dev/vda3")
    machine.fake("mountpoint", "exit 1")
    machine.fake("blkid", "exit 2")
    for name in ("mkfs.xfs", "mount"):
        machine.fake(name)
    return target


@pytest.mark.parametrize("disk", ["/dev/vdb", "/dev/nvme1n1"])
def test_the_disk_that_is_not_the_root_disk_becomes_data(disk: str, machine: Machine) -> None:
    target = disks(machine, "/dev/vda disk", "/dev/sr0 rom", f"{disk} disk")
    done = machine.run("20-data-disk.sh")
    assert done.returncode == 0, done.stderr
    assert machine.called("mkfs.xfs") == [f"-q -L gpuyard-data {disk}"]
    assert machine.called("mount") == [f"-o noatime {disk} {target}"]


def test_a_disk_with_data_is_not_formatted(machine: Machine) -> None:
    disks(machine, "/dev/vda disk", "/dev/vdb disk")
    machine.fake("blkid")
    assert machine.run("20-data-disk.sh").returncode == 0
    assert machine.called("mkfs.xfs") == []


def test_a_disk_that_never_comes_is_a_failure(machine: Machine) -> None:
    disks(machine, "/dev/vda disk")
    done = machine.run("20-data-disk.sh")
    assert (done.returncode, done.stderr) == (1, "the data disk is not attached\n")


# --- RDMA


def erdma(machine: Machine, *, devices: int = 2, mtu: str = "1500", takes: bool = True) -> None:
    sys = machine.root / "sys" / "class" / "infiniband"
    sys.mkdir(parents=True)
    for number in range(devices):
        interface = sys / f"erdma_{number}" / "device" / "net" / f"eth{number}"
        interface.mkdir(parents=True)
        (interface / "mtu").write_text(f"{mtu}\n")
    machine.environment["GPUYARD_SYS"] = str(machine.root / "sys")
    machine.env(GPUYARD_MTU="1400")
    machine.fake("modprobe")
    machine.fake("ip", f'echo "$6" > "{sys}/erdma_${{4#eth}}/device/net/$4/mtu"' if takes else "exit 0")


def test_every_erdma_interface_gets_its_mtu(machine: Machine) -> None:
    erdma(machine)
    done = machine.run(f"{FOLDER}/30-erdma.sh")
    assert done.returncode == 0, done.stderr
    assert machine.called("ip") == ["link set dev eth0 mtu 1400", "link set dev eth1 mtu 1400"]


def test_an_mtu_that_is_right_is_left(machine: Machine) -> None:
    erdma(machine, mtu="1400")
    assert machine.run(f"{FOLDER}/30-erdma.sh").returncode == 0
    assert machine.called("ip") == []


def test_an_interface_that_refuses_the_mtu_is_a_failure(machine: Machine) -> None:
    erdma(machine, takes=False)
    done = machine.run(f"{FOLDER}/30-erdma.sh")
    assert (done.returncode, done.stderr) == (1, "eth0 of erdma_0 does not take an MTU of 1400 bytes\n")


def test_no_erdma_device_is_a_failure(machine: Machine) -> None:
    erdma(machine, devices=0)
    done = machine.run(f"{FOLDER}/30-erdma.sh")
    assert done.returncode == 1
    assert "no eRDMA device: the machine was made without an interface of traffic mode HighPerformance" in done.stderr


def test_an_image_without_the_driver_is_a_failure(machine: Machine) -> None:
    erdma(machine)
    machine.fake("modprobe", "exit 1")
    done = machine.run(f"{FOLDER}/30-erdma.sh")
    assert (done.returncode, done.stderr) == (1, "the image has no eRDMA driver (erdma)\n")


@pytest.mark.parametrize(
    ("states", "code", "said"),
    [
        (["4: ACTIVE", "4: ACTIVE"], 0, ""),
        (["4: ACTIVE", "1: DOWN"], 1, "state is 1: DOWN"),
        ([], 1, "no RDMA device: the machine is in no HPC cluster"),
    ],
)
def test_every_port_of_roce_is_up(states: list[str], code: int, said: str, machine: Machine) -> None:
    machine.environment["GPUYARD_SYS"] = str(machine.root / "sys")
    for number, state in enumerate(states):
        port = machine.root / "sys" / "class" / "infiniband" / f"mlx5_{number}" / "ports" / "1"
        port.mkdir(parents=True)
        (port / "state").write_text(f"{state}\n")
    done = machine.run(f"{FOLDER}/30-roce.sh")
    assert done.returncode == code
    assert said in done.stderr


# --- the file system


def shared(machine: Machine, host: str, mounted_after_mount: bool = True) -> Path:
    target = machine.root / "shared"
    table = machine.root / "mounts"
    table.touch()
    machine.fake("mount", f'for last; do :; done\necho "$last" >> "{table}"' if mounted_after_mount else "exit 0")
    machine.fake("mountpoint", f'for last; do :; done\ngrep -qx "$last" "{table}"')
    machine.fake("dnf")
    machine.environment["GPUYARD_TRIES"] = "2"
    machine.env(GPUYARD_FILE_SYSTEM=str(target), GPUYARD_NFS_DNS_NAME=host, GPUYARD_NFS_PATH="/share")
    return target


def test_a_nas_is_mounted_over_nfs(machine: Machine) -> None:
    target = shared(machine, "1.cn-beijing.extreme.nas.aliyuncs.com")
    machine.fake("mount.nfs")
    done = machine.run(f"{FOLDER}/40-mount-nfs.sh")
    assert done.returncode == 0, done.stderr
    (call,) = machine.called("mount")
    assert call.startswith("-t nfs -o vers=3,")
    assert call.endswith(f",nolock,proto=tcp 1.cn-beijing.extreme.nas.aliyuncs.com:/share {target}")
    assert machine.called("dnf") == []
    assert list(target.iterdir()) == [], "the probe is gone"


def test_cpfs_has_a_client_of_its_own(machine: Machine) -> None:
    target = shared(machine, "cpfs-1-2.cn-beijing.cpfs.aliyuncs.com")
    done = machine.run(f"{FOLDER}/40-mount-nfs.sh")
    assert done.returncode == 0, done.stderr
    (call,) = machine.called("mount")
    assert call == (
        "-t cpfs-nfs -o vers=3,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noresvport "
        f"cpfs-1-2.cn-beijing.cpfs.aliyuncs.com:/share {target}"
    )
    (installed,) = machine.called("dnf")
    assert installed.endswith("/aliyun-alinas-utils-latest.al.noarch.rpm")


def test_a_client_that_cannot_be_had_is_a_failure(machine: Machine) -> None:
    shared(machine, "1.extreme.nas.aliyuncs.com")
    machine.fake("dnf", "exit 1")
    done = machine.run(f"{FOLDER}/40-mount-nfs.sh")
    assert done.returncode == 1
    assert done.stderr.endswith("gave up: dnf -q -y install nfs-utils\n")
    assert len(machine.called("dnf")) == 5


def test_a_mount_that_is_none_is_a_failure(machine: Machine) -> None:
    target = shared(machine, "1.extreme.nas.aliyuncs.com", mounted_after_mount=False)
    done = machine.run(f"{FOLDER}/40-mount-nfs.sh")
    assert (done.returncode, done.stderr) == (1, f"{target} is no mount point though mount succeeded\n")


# --- monitoring


def test_the_agent_comes_from_the_regions_own_address(machine: Machine) -> None:
    machine.env(GPUYARD_REGION="cn-beijing", GPUYARD_AGENT_VERSION="2.1.55")
    machine.fake("systemctl", 'case "$*" in *is-active*) exit 3 ;; esac')
    metadata(machine, f'echo "agent $REGION_ID $VERSION" >> "{machine.calls}"')
    done = machine.run(f"{FOLDER}/50-monitoring.sh")
    assert done.returncode == 0, done.stderr
    assert machine.called("agent") == ["cn-beijing 2.1.55"]
    (call,) = machine.called("curl")
    assert "https://cms-agent-cn-beijing.oss-cn-beijing-internal.aliyuncs.com/" in call
    assert "enable --now gpuyard-kernel-log.service" in machine.called("systemctl")


def test_an_agent_that_runs_is_left(machine: Machine) -> None:
    machine.env(GPUYARD_REGION="cn-beijing", GPUYARD_AGENT_VERSION="2.1.55")
    machine.fake("systemctl")
    assert machine.run(f"{FOLDER}/50-monitoring.sh").returncode == 0
    assert machine.called("curl") == []


# --- the end of a node


def scaler(machine: Machine, activities: object, actions: object) -> None:
    python = machine.bin / "python3"
    python.write_text(f'#!{machine.bin}/bash\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    machine.env(GPUYARD_REGION="cn-beijing", GPUYARD_SCALING_GROUP="asg-1")
    metadata(machine, "")
    machine.fake(
        "aliyun",
        f"""case "$2" in
  DescribeScalingActivities) cat <<'END'
{json.dumps({"ScalingActivities": activities})}
END
  ;;
  DescribeLifecycleActions) cat <<'END'
{json.dumps({"LifecycleActions": actions})}
END
  ;;
esac""",
    )


NEW = (
    [{"ScalingActivityId": "asa-1"}],
    [
        {"LifecycleHookId": "ash-1", "LifecycleActionToken": "other", "InstanceIds": ["i-2"]},
        {"LifecycleHookId": "ash-1", "LifecycleActionToken": "mine", "InstanceIds": ["i-1"]},
    ],
)
OLD = (
    {"ScalingActivity": [{"ScalingActivityId": "asa-1"}]},
    {"LifecycleAction": [{"LifecycleHookId": "ash-1", "LifecycleActionToken": "mine", "InstanceIds": {"x": ["i-1"]}}]},
)


@pytest.mark.parametrize(("activities", "actions"), [NEW, OLD])
def test_a_node_releases_itself_and_no_other(activities: object, actions: object, machine: Machine) -> None:
    scaler(machine, activities, actions)
    done = machine.run(f"{FOLDER}/release-node.sh")
    assert done.returncode == 0, done.stderr
    completed = [call for call in machine.called("aliyun") if "CompleteLifecycleAction" in call]
    assert len(completed) == 1
    assert "--LifecycleHookId ash-1 --LifecycleActionToken mine --LifecycleActionResult CONTINUE" in completed[0]
    assert "--mode EcsRamRole --ram-role-name role-1 --region cn-beijing" in completed[0]


@pytest.mark.parametrize(("activities", "actions"), [([], []), (NEW[0], NEW[1][:1])])
def test_a_node_that_nobody_waits_for_says_so(activities: object, actions: object, machine: Machine) -> None:
    scaler(machine, activities, actions)
    done = machine.run(f"{FOLDER}/release-node.sh")
    assert (done.returncode, done.stderr) == (1, "no scaling activity waits for i-1\n")
    assert not any("CompleteLifecycleAction" in call for call in machine.called("aliyun"))
