"""What a node on Tencent Cloud sets up when it boots."""

from dataclasses import dataclass

from gpuyard.bootstrap.user_data import (
    HOME,
    NodeFile,
    cloud_config,
    common_files,
    environment_file,
    packed,
    template,
)

# The machine's own disks, and those of the cloud, whose serial number is their id.
_OWN_DISKS, _CLOUD_DISKS = "^/dev/nvme", " disk-"
# A data disk is attached only when its machine runs: ten minutes at two seconds a try.
_DATA_DISK_TRIES = 300


@dataclass(frozen=True, slots=True)
class TurboMount:
    """A CFS Turbo file system that the node mounts at ``/cfs``: its address, and the exported tree."""

    address: str
    tree: str


@dataclass(frozen=True, slots=True)
class NodeSetup:
    """What one pool's nodes set up when they boot.

    ``driver_branch``: NVIDIA's driver that is installed where the image brings none; ``driver_minimum``: the oldest
    that will do; ``fabric_manager``: NVIDIA's daemon for NVSwitches, in the version of the driver; ``rdma``: the node
    is in an HPC cluster; ``scratch``: the machine's own NVMe disks as one volume at ``/scratch``; ``data_disk``: a data
    disk at ``/data``; ``checkpoint_bucket``: where checkpoints go, below ``checkpoint_prefix``; ``elastic``: a scaler
    may take the node away; ``spot``: the cloud may.
    """

    pool: str
    region: str
    driver_branch: str
    driver_minimum: str | None = None
    fabric_manager: bool = False
    rdma: bool = False
    scratch: bool = False
    data_disk: bool = False
    file_system: TurboMount | None = None
    checkpoint_bucket: str | None = None
    checkpoint_prefix: str = ""
    elastic: bool = False
    spot: bool = False


def user_data(setup: NodeSetup) -> str:
    """The user data of a machine or scaling configuration.

    Args:
        setup: What the node sets up.

    Returns:
        Cloud-init's configuration, compressed and in base64.
    """
    return packed(cloud_config(node_files(setup)))


def node_files(setup: NodeSetup) -> dict[str, NodeFile]:
    """Every file that is written to the node.

    Args:
        setup: What the node sets up.

    Returns:
        Files by path.
    """
    found = {
        "/etc/gpuyard/node.env": environment_file(_environment(setup)),
        **common_files(_parts(setup)),
    }
    if setup.elastic:
        for script in ("leave.sh", "release-node.sh"):
            found[f"{HOME}/{script}"] = NodeFile("0755", template(f"tencentcloud/{script}"))
    if setup.spot:
        found[f"{HOME}/watch-spot.sh"] = NodeFile("0755", template("tencentcloud/watch-spot.sh"))
        unit = "/etc/systemd/system/gpuyard-spot-notice.service"
        found[unit] = NodeFile("0644", template("tencentcloud/spot-notice.service"))
    return found


def _environment(setup: NodeSetup) -> dict[str, object]:
    system, bucket = setup.file_system, setup.checkpoint_bucket
    return {
        "POOL": setup.pool,
        "REGION": setup.region,
        "DRIVER_BRANCH": setup.driver_branch,
        "DRIVER_MINIMUM": setup.driver_minimum,
        "SCRATCH": "/scratch" if setup.scratch else None,
        "SCRATCH_DISKS": _OWN_DISKS if setup.scratch else None,
        "DATA": "/data" if setup.data_disk else None,
        "DATA_DISKS": _CLOUD_DISKS if setup.data_disk else None,
        "DATA_TRIES": _DATA_DISK_TRIES if setup.data_disk else None,
        "FILE_SYSTEM": None if system is None else "/cfs",
        "TURBO_ADDRESS": None if system is None else system.address,
        "TURBO_TREE": None if system is None else system.tree,
        "CHECKPOINT_URI": None if bucket is None else f"cos://{bucket}/{setup.checkpoint_prefix}",
        # From a machine of the region this name resolves to an inner address.
        "CHECKPOINT_ENDPOINT": None if bucket is None else f"https://{bucket}.cos.{setup.region}.myqcloud.com",
    }


def _parts(setup: NodeSetup) -> list[str]:
    wanted = {
        "tencentcloud/05-gpu-driver.sh": True,
        "tencentcloud/06-fabric-manager.sh": setup.fabric_manager,
        "tencentcloud/07-rdma.sh": setup.rdma,
        "10-scratch.sh": setup.scratch,
        "20-data-disk.sh": setup.data_disk,
        "tencentcloud/30-turbo-client.sh": setup.file_system is not None,
        "tencentcloud/40-mount-turbo.sh": setup.file_system is not None,
        "tencentcloud/50-monitoring.sh": True,
        "tencentcloud/60-spot-notice.sh": setup.spot,
    }
    return [part for part, is_wanted in wanted.items() if is_wanted]
