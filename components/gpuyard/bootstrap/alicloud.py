"""What a node on Alibaba Cloud sets up when it boots."""

import base64
from dataclasses import dataclass

from gpuyard.bootstrap.files import NodeFile, environment_file
from gpuyard.bootstrap.software import CommonSetup, common_environment, common_files
from gpuyard.bootstrap.user_data import cloud_config
from gpuyard.catalog.limits import limit

# Cloud disks here have no mark of their own: what is a disk and not the root disk is the data disk.
_ANY_DISK = " disk"
# Of a single machine the disk is attached after it booted: two seconds each.
_DATA_DISK_TRIES = 300
_CLOUD = "alicloud"


@dataclass(frozen=True, slots=True)
class NfsMount:
    """A file system that the node mounts at ``/shared`` over NFS: its host, and the path that it exports."""

    dns_name: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSetup(CommonSetup):
    """What one pool's nodes set up when they boot.

    ``rdma``: ``erdma``, ``roce`` or None; ``jumbo_frames``: whether interfaces get the larger MTU; ``own_image``: an
    image that is not the cloud's brings its own driver; ``checkpoint_uri``: where checkpoints go, told to the jobs by
    ``/etc/gpuyard/node.env``; ``scaling_group``: the group that waits for the node, None for a pool that is not scaled;
    ``launch_hook``: its lifecycle hook that waits until a node is healthy; ``hook``: the one that waits for its
    checkpoint.
    """

    rdma: str | None = None
    jumbo_frames: bool = False
    own_image: bool = False
    file_system: NfsMount | None = None
    checkpoint_uri: str | None = None
    scaling_group: str | None = None
    launch_hook: str | None = None
    hook: str | None = None


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
    return {
        "/etc/gpuyard/node.env": environment_file(_environment(setup)),
        **common_files(setup, _parts(setup)),
    }


def _environment(setup: NodeSetup) -> dict[str, object]:
    system = setup.file_system
    script, driver, cuda, cudnn = limit(_CLOUD, "gpu_driver_script").values
    small, large = limit(_CLOUD, "erdma_mtu_bytes").values
    ossutil, ossutil_sum = limit(_CLOUD, "ossutil").values
    aliyun, aliyun_sum = limit(_CLOUD, "aliyun_cli").values
    has_programs = setup.programs is not None
    return {
        **common_environment(setup, _CLOUD, None if system is None else "/shared"),
        "RDMA": setup.rdma,
        "MTU": (large if setup.jumbo_frames else small) if setup.rdma == "erdma" else None,
        "OSSUTIL_VERSION": ossutil if has_programs else None,
        "OSSUTIL_SHA256": ossutil_sum if has_programs else None,
        "ALIYUN_VERSION": aliyun if has_programs else None,
        "ALIYUN_SHA256": aliyun_sum if has_programs else None,
        "CUDA_ARCHIVE": limit(_CLOUD, "cuda_archive").values[0] if setup.software.fabric_manager else None,
        "DRIVER_SCRIPT": script,
        "DRIVER_VERSION": driver,
        "CUDA_VERSION": cuda,
        "CUDNN_VERSION": cudnn,
        "AGENT_VERSION": limit(_CLOUD, "cloudmonitor_agent_version").values[0],
        "DATA_DISKS": _ANY_DISK if setup.data_disk else None,
        "DATA_TRIES": _DATA_DISK_TRIES if setup.data_disk else None,
        "NFS_DNS_NAME": None if system is None else system.dns_name,
        "NFS_PATH": None if system is None else system.path,
        "CHECKPOINT_URI": setup.checkpoint_uri,
        "SCALING_GROUP": setup.scaling_group,
        "LAUNCH_HOOK": setup.launch_hook,
        "HOOK": setup.hook,
    }


def _parts(setup: NodeSetup) -> dict[str, bool]:
    return {
        "alicloud/01-object-storage.sh": setup.programs is not None,
        "05-gpu-driver.sh": setup.own_image,
        "alicloud/05-gpu-driver.sh": not setup.own_image,
        "alicloud/30-erdma.sh": setup.rdma == "erdma",
        "alicloud/30-roce.sh": setup.rdma == "roce",
        "alicloud/40-mount-nfs.sh": setup.file_system is not None,
        "alicloud/50-monitoring.sh": True,
    }
