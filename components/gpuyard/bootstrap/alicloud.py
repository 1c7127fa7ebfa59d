"""What a node on Alibaba Cloud sets up when it boots."""

import base64
from dataclasses import dataclass

from gpuyard.bootstrap.user_data import HOME, NodeFile, cloud_config, common_files, environment_file, template
from gpuyard.catalog.limits import limit

# Cloud disks here have no mark of their own: what is a disk and not the root disk is the data disk.
_ANY_DISK = " disk"
# Of a single machine the disk is attached after it booted: two seconds each.
_DATA_DISK_TRIES = 300
_CLOUD = "alicloud"
# What NCCL is told about eRDMA; it reads the file by itself.
# Source: https://www.alibabacloud.com/help/en/pai/user-guide/erdma-distributed-training-with-high-performance-networks
_NCCL_ERDMA = {
    "NCCL_SOCKET_IFNAME": "eth0",
    "NCCL_IB_GID_INDEX": "1",
    "NCCL_IB_HCA": "erdma",
    "NCCL_IB_QPS_PER_CONNECTION": "8",
    "NCCL_MIN_NCHANNELS": "16",
    "NCCL_NET_PLUGIN": "none",
}


@dataclass(frozen=True, slots=True)
class NfsMount:
    """A file system that the node mounts at ``/shared`` over NFS: its host, and the path that it exports."""

    dns_name: str
    path: str


@dataclass(frozen=True, slots=True)
class NodeSetup:
    """What one pool's nodes set up when they boot.

    ``rdma``: ``erdma``, ``roce`` or None; ``jumbo_frames``: whether interfaces get the larger MTU; ``own_image``: an
    image that is not the cloud's brings its own driver; ``data_disk``: a data disk at ``/data``; ``checkpoint_uri``:
    where checkpoints go, told to the jobs by ``/etc/gpuyard/node.env``; ``scaling_group``: the group that waits for the
    node's checkpoint, None for a pool that is not scaled.
    """

    pool: str
    region: str
    rdma: str | None = None
    jumbo_frames: bool = False
    own_image: bool = False
    data_disk: bool = False
    file_system: NfsMount | None = None
    checkpoint_uri: str | None = None
    scaling_group: str | None = None
    checkpoint_seconds: int = 0


def user_data(setup: NodeSetup) -> str:
    """The user data of a machine or a scaling configuration.

    Args:
        setup: What the node sets up.

    Returns:
        Cloud-init's configuration in base64, not compressed: that compressed data arrives is stated nowhere.

    Raises:
        ValueError: It is larger than the cloud takes.
    """
    config = cloud_config(node_files(setup)).encode()
    most = limit(_CLOUD, "user_data_bytes_max").values[0]
    if len(config) > most:
        raise ValueError(f"user data of {setup.pool} has {len(config)} bytes, and the cloud takes {most}")
    return base64.b64encode(config).decode()


def node_files(setup: NodeSetup) -> dict[str, NodeFile]:
    """Every file that is written to the node.

    Args:
        setup: What the node sets up.

    Returns:
        Files by path.
    """
    found = {"/etc/gpuyard/node.env": environment_file(_environment(setup)), **common_files(_parts(setup))}
    if setup.rdma == "erdma":
        lines = "".join(f"{key}={value}\n" for key, value in _NCCL_ERDMA.items())
        found["/etc/nccl.conf"] = NodeFile("0644", lines)
    if setup.scaling_group is not None:
        found[f"{HOME}/release-node.sh"] = NodeFile("0755", template("alicloud/release-node.sh"))
    return found


def _environment(setup: NodeSetup) -> dict[str, object]:
    system = setup.file_system
    script, driver, cuda, cudnn = limit(_CLOUD, "gpu_driver_script").values
    small, large = limit(_CLOUD, "erdma_mtu_bytes").values
    return {
        "POOL": setup.pool,
        "REGION": setup.region,
        "RDMA": setup.rdma,
        "MTU": (large if setup.jumbo_frames else small) if setup.rdma == "erdma" else None,
        "DRIVER_SCRIPT": script,
        "DRIVER_VERSION": driver,
        "CUDA_VERSION": cuda,
        "CUDNN_VERSION": cudnn,
        "AGENT_VERSION": limit(_CLOUD, "cloudmonitor_agent_version").values[0],
        "DATA": "/data" if setup.data_disk else None,
        "DATA_DISKS": _ANY_DISK if setup.data_disk else None,
        "DATA_TRIES": _DATA_DISK_TRIES if setup.data_disk else None,
        "FILE_SYSTEM": None if system is None else "/shared",
        "NFS_DNS_NAME": None if system is None else system.dns_name,
        "NFS_PATH": None if system is None else system.path,
        "CHECKPOINT_URI": setup.checkpoint_uri,
        "SCALING_GROUP": setup.scaling_group,
        "CHECKPOINT_SECONDS": None if setup.scaling_group is None else setup.checkpoint_seconds,
    }


def _parts(setup: NodeSetup) -> list[str]:
    wanted = {
        "alicloud/10-driver.sh": not setup.own_image,
        "20-data-disk.sh": setup.data_disk,
        "alicloud/30-erdma.sh": setup.rdma == "erdma",
        "alicloud/30-roce.sh": setup.rdma == "roce",
        "alicloud/40-mount-nfs.sh": setup.file_system is not None,
        "alicloud/50-monitoring.sh": True,
    }
    return [part for part, is_wanted in wanted.items() if is_wanted]
