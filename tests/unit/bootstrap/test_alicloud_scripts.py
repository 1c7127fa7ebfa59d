"""The scripts of a node on Alibaba Cloud, run for real."""

from pathlib import Path

import pytest

from .conftest import Machine

FOLDER = "alicloud"


# --- the commands of object storage and of the cloud's API

OSSUTIL, ALIYUN = "2.2.1", "3.3.23"


def commands(
    machine: Machine, *, image: dict[str, str] | None = None, sum_is_right: bool = True, role_at_try: int = 1
) -> Path:
    """An image with commands of some versions, a network, and a role that the machine has at some try."""
    asked = machine.root / "asked"
    folder = machine.root / "bin2"
    folder.mkdir()
    for name, version in (image or {}).items():
        machine.fake(name, f'[ "$1" = version ] && echo "{name} version: v{version}"')
    machine.fake("sha256sum", f"cat > /dev/null\nexit {0 if sum_is_right else 1}")
    unpacked = f"ossutil-{OSSUTIL}-linux-amd64"
    machine.fake("python3", f'mkdir "$5/{unpacked}"\necho new > "$5/{unpacked}/ossutil"')
    machine.fake("tar", 'echo new > "$4/aliyun"')
    machine.fake(
        "curl",
        f"""case "$*" in
  *"-X PUT"*api/token*) echo t0k3n ;;
  *"X-aliyun-ecs-metadata-token: t0k3n"*security-credentials*)
    echo x >> "{asked}"
    [ "$(grep -c x "{asked}")" -ge {role_at_try} ] || exit 22
    echo -n ali-train-role ;;
  *100.100.100.200*) exit 22 ;;
  *) while [ "$1" != -o ]; do shift; done; echo archive > "$2" ;;
esac""",
    )
    machine.environment |= {"GPUYARD_BIN": str(folder), "GPUYARD_TRIES": "3"}
    machine.env(
        GPUYARD_REGION="cn-beijing",
        GPUYARD_OSSUTIL_VERSION=OSSUTIL,
        GPUYARD_OSSUTIL_SHA256="0" * 64,
        GPUYARD_ALIYUN_VERSION=ALIYUN,
        GPUYARD_ALIYUN_SHA256="1" * 64,
    )
    return folder


def test_commands_come_in_versions_whose_sums_are_known_and_use_the_role(machine: Machine) -> None:
    folder = commands(machine)
    done = machine.run(f"{FOLDER}/01-object-storage.sh")
    assert done.returncode == 0, done.stderr
    assert [one for one in machine.fetched() if "100.100" not in one] == [
        f"https://gosspublic.alicdn.com/ossutil/v2/{OSSUTIL}/ossutil-{OSSUTIL}-linux-amd64.zip",
        f"https://aliyuncli.alicdn.com/aliyun-cli-linux-{ALIYUN}-amd64.tgz",
    ]
    assert {path.name: oct(path.stat().st_mode)[-3:] for path in folder.iterdir()} == {
        "ossutil": "755",
        "aliyun": "755",
    }
    assert (machine.root / "etc/gpuyard/ossutil.conf").read_text().splitlines() == [
        "[default]",
        "mode=Ali-EcsRamRole",
        "ecsRoleName=ali-train-role",
        "region=cn-beijing",
        "endpoint=https://oss-cn-beijing-internal.aliyuncs.com",
    ]


@pytest.mark.parametrize(
    ("image", "fetched"),
    [
        ({"ossutil": OSSUTIL, "aliyun": ALIYUN}, []),
        ({"ossutil": "2.10.0", "aliyun": "3.4.0"}, []),
        ({"ossutil": "1.7.19", "aliyun": ALIYUN}, ["ossutil"]),
        ({"ossutil": OSSUTIL, "aliyun": "3.0.200"}, ["aliyun"]),
    ],
)
def test_commands_of_the_image_are_used_unless_they_are_older(
    machine: Machine, image: dict[str, str], fetched: list[str]
) -> None:
    folder = commands(machine, image=image)
    done = machine.run(f"{FOLDER}/01-object-storage.sh")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in folder.iterdir()] == fetched


def test_a_second_run_writes_nothing(machine: Machine) -> None:
    commands(machine, image={"ossutil": OSSUTIL, "aliyun": ALIYUN})
    config = machine.root / "etc/gpuyard/ossutil.conf"
    assert machine.run(f"{FOLDER}/01-object-storage.sh").returncode == 0
    before = config.stat()
    assert machine.run(f"{FOLDER}/01-object-storage.sh").returncode == 0
    assert (config.stat().st_ino, config.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_command_with_another_sum_is_not_installed(machine: Machine) -> None:
    folder = commands(machine, sum_is_right=False)
    done = machine.run(f"{FOLDER}/01-object-storage.sh")
    assert done.returncode == 1
    assert f"ossutil-{OSSUTIL}-linux-amd64.zip is not the file that it should be" in done.stderr
    assert list(folder.iterdir()) == []


def test_a_network_that_is_closed_is_told_what_it_needs(machine: Machine) -> None:
    commands(machine)
    machine.fake("curl", "exit 28")
    done = machine.run(f"{FOLDER}/01-object-storage.sh")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ossutil cannot be had: a network without a way to the internet needs an image that brings it"
    )


@pytest.mark.parametrize(("tries", "code"), [(3, 0), (4, 1)])
def test_a_role_that_comes_after_the_boot_is_waited_for(machine: Machine, tries: int, code: int) -> None:
    commands(machine, image={"ossutil": OSSUTIL, "aliyun": ALIYUN}, role_at_try=tries)
    done = machine.run(f"{FOLDER}/01-object-storage.sh")
    assert done.returncode == code
    assert ("this machine has no RAM role: the bucket cannot be read" in done.stderr) is bool(code)


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


def driver(
    machine: Machine, rdma: str = "", works_after: bool = True, script: str | None = None, minimum: str = "525.60.13"
) -> Path:
    installed = machine.root / "installed"
    answers = 'case "$*" in -L) echo "GPU 0: NVIDIA A10";; *driver_version*) echo 570.133.20;; esac'
    machine.fake("nvidia-smi", f'[ -e "{installed}" ] || exit 9\n{answers}')
    machine.environment["GPUYARD_INSTALL"] = str(machine.root / "auto_install")
    touch = f'touch "{installed}"' if works_after else ":"
    metadata(machine, script or f'echo "vendor $*" >> "{machine.calls}"\n{touch}')
    machine.env(
        GPUYARD_RDMA=rdma,
        GPUYARD_DRIVER_SCRIPT="install.sh",
        GPUYARD_DRIVER_VERSION="570",
        GPUYARD_CUDA_VERSION="12.8.1",
        GPUYARD_CUDNN_VERSION="9.8",
        GPUYARD_DRIVER_MINIMUM=minimum,
        GPUYARD_DRIVER_REASON="'PyTorch 2.8'",
    )
    return installed


@pytest.mark.parametrize(("rdma", "flags"), [("", "FALSE FALSE"), ("erdma", "FALSE TRUE"), ("roce", "TRUE FALSE")])
def test_the_vendors_script_installs_driver_and_rdma(rdma: str, flags: str, machine: Machine) -> None:
    driver(machine, rdma)
    done = machine.run(f"{FOLDER}/05-gpu-driver.sh")
    assert done.returncode == 0, done.stderr
    assert machine.called("vendor") == [f"570 12.8.1 9.8 {flags}"]


def test_a_driver_that_is_there_is_left(machine: Machine) -> None:
    driver(machine).touch()
    assert machine.run(f"{FOLDER}/05-gpu-driver.sh").returncode == 0
    assert machine.called("vendor") == []


@pytest.mark.parametrize("is_there", [True, False])
def test_a_driver_that_is_too_old_for_the_jobs_is_refused(is_there: bool, machine: Machine) -> None:
    installed = driver(machine, minimum="580.65")
    if is_there:
        installed.touch()
    done = machine.run(f"{FOLDER}/05-gpu-driver.sh")
    assert (done.returncode, done.stderr) == (1, "driver 570.133.20 is too old: PyTorch 2.8 need 580.65 or newer\n")


def test_the_vendors_script_gets_through_hardened_metadata(machine: Machine) -> None:
    asks = f'curl http://100.100.100.200/latest/meta-data/source-address && touch "{machine.root}/installed"'
    installed = driver(machine, script=asks)
    done = machine.run(f"{FOLDER}/05-gpu-driver.sh")
    assert done.returncode == 0, done.stderr
    assert installed.exists()


def test_a_driver_that_does_not_run_is_a_failure(machine: Machine) -> None:
    driver(machine, works_after=False)
    done = machine.run(f"{FOLDER}/05-gpu-driver.sh")
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


def shared(machine: Machine, host: str, *, claims_only: bool = False) -> Path:
    target = machine.root / "shared"
    machine.mounts(claims_only=claims_only)
    machine.fake("dnf")
    machine.environment["GPUYARD_TRIES"] = "2"
    machine.env(GPUYARD_FILE_SYSTEM=str(target), GPUYARD_NFS_DNS_NAME=host, GPUYARD_NFS_PATH="/share")
    return target


def test_a_nas_is_mounted_over_nfs(machine: Machine) -> None:
    target = shared(machine, "1.cn-beijing.extreme.nas.aliyuncs.com")
    machine.fake("mount.nfs")
    done = machine.run(f"{FOLDER}/40-mount-nfs.sh")
    assert done.returncode == 0, done.stderr
    unit = machine.unit()
    assert (unit["Type"], unit["Where"]) == ("nfs", str(target))
    assert unit["What"] == "1.cn-beijing.extreme.nas.aliyuncs.com:/share"
    assert unit["Options"].startswith("vers=3,")
    assert unit["Options"].endswith(",nolock,proto=tcp")
    assert machine.called("dnf") == []
    assert list(target.iterdir()) == [], "the probe is gone"


def test_cpfs_has_a_client_of_its_own(machine: Machine) -> None:
    target = shared(machine, "cpfs-1-2.cn-beijing.cpfs.aliyuncs.com")
    done = machine.run(f"{FOLDER}/40-mount-nfs.sh")
    assert done.returncode == 0, done.stderr
    unit = machine.unit()
    assert (unit["Type"], unit["Where"]) == ("cpfs-nfs", str(target))
    assert unit["What"] == "cpfs-1-2.cn-beijing.cpfs.aliyuncs.com:/share"
    assert unit["Options"] == "vers=3,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noresvport"
    (installed,) = machine.called("dnf")
    assert installed.endswith("/aliyun-alinas-utils-latest.al.noarch.rpm")


@pytest.mark.parametrize(
    ("host", "kind", "package"),
    [
        ("1.cn-beijing.extreme.nas.aliyuncs.com", "nfs", "nfs-common"),
        ("cpfs-1-2.cn-beijing.cpfs.aliyuncs.com", "cpfs-nfs", ".deb"),
    ],
)
def test_on_ubuntu_the_client_is_ubuntus(machine: Machine, host: str, kind: str, package: str) -> None:
    shared(machine, host)
    (machine.bin / "dnf").unlink()
    machine.fake("apt-get")
    machine.fake("curl", 'while [ "$1" != -o ]; do shift; done\ntouch "$2"')
    done = machine.run(f"{FOLDER}/40-mount-nfs.sh")
    assert done.returncode == 0, done.stderr
    assert machine.unit()["Type"] == kind
    (install,) = [call for call in machine.called("apt-get") if "install" in call]
    assert install.startswith("-qq -y install ")
    assert install.endswith(package)
    clients = ["https://cpfs-hangzhou-nfs-client.oss-cn-hangzhou.aliyuncs.com/aliyun-alinas-utils-latest.deb"]
    assert machine.fetched() == (clients if kind == "cpfs-nfs" else [])


def test_a_client_that_cannot_be_had_is_a_failure(machine: Machine) -> None:
    shared(machine, "1.extreme.nas.aliyuncs.com")
    machine.fake("dnf", "exit 1")
    done = machine.run(f"{FOLDER}/40-mount-nfs.sh")
    assert done.returncode == 1
    assert done.stderr.endswith("gave up: dnf -q -y install nfs-utils\n")
    assert len(machine.called("dnf")) == 5


def test_a_mount_that_is_none_is_a_failure(machine: Machine) -> None:
    target = shared(machine, "1.extreme.nas.aliyuncs.com", claims_only=True)
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
