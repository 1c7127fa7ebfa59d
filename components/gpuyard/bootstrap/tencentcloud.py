"""What a node on Tencent Cloud sets up when it boots."""

from dataclasses import dataclass

from gpuyard.bootstrap.files import NodeFile, environment_file, template
from gpuyard.bootstrap.software import CommonSetup, common_environment, common_files
from gpuyard.bootstrap.user_data import cloud_config, packed
from gpuyard.catalog.limits import limit

_CLOUD = "tencentcloud"
# The machine's own disks, and those of the cloud, whose serial number is their id.
_OWN_DISKS, _CLOUD_DISKS = "^/dev/nvme", " disk-"
# A data disk is attached only when its machine runs: ten minutes at two seconds a try.
_DATA_DISK_TRIES = 300


@dataclass(frozen=True, slots=True)
class TurboMount:
    """A CFS Turbo file system that the node mounts at ``/cfs``: its address, and the exported tree."""

    address: str
    tree: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSetup(CommonSetup):
    """What one pool's nodes set up when they boot.

    ``rdma``: the node is in an HPC cluster; ``checkpoint_bucket``: where checkpoints go, below ``checkpoint_prefix``.
    """

    rdma: bool = False
    file_system: TurboMount | None = None
    checkpoint_bucket: str | None = None
    checkpoint_prefix: str = ""


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
    return {
        "/etc/gpuyard/node.env": environment_file(_environment(setup)),
        **common_files(setup, _parts(setup)),
    }


def hook_command(name: str, seconds: int) -> str:
    """What a lifecycle hook runs on a node.

    Args:
        name: ``ready`` or ``leave``.
        seconds: How long it may take.

    Returns:
        A shell script.
    """
    first, rest = template(f"tencentcloud/hook-{name}.sh").split("\n", 1)
    return f"{first}\nexport GPUYARD_SECONDS={seconds}\n{rest}"


def _environment(setup: NodeSetup) -> dict[str, object]:
    system, bucket = setup.file_system, setup.checkpoint_bucket
    coscli, coscli_sum = limit(_CLOUD, "coscli").values
    has_programs = setup.programs is not None
    return {
        **common_environment(setup, _CLOUD, None if system is None else "/cfs"),
        "COSCLI_VERSION": coscli if has_programs else None,
        "COSCLI_SHA256": coscli_sum if has_programs else None,
        "TCCLI_VERSION": limit(_CLOUD, "tccli").values[0] if has_programs and setup.health_tag else None,
        "SCRATCH_DISKS": _OWN_DISKS if setup.scratch else None,
        "DATA_DISKS": _CLOUD_DISKS if setup.data_disk else None,
        "DATA_TRIES": _DATA_DISK_TRIES if setup.data_disk else None,
        "TURBO_ADDRESS": None if system is None else system.address,
        "TURBO_TREE": None if system is None else system.tree,
        "CHECKPOINT_URI": None if bucket is None else f"cos://{bucket}/{setup.checkpoint_prefix}",
        # From a machine of the region this name resolves to an inner address.
        "CHECKPOINT_ENDPOINT": None if bucket is None else f"https://{bucket}.cos.{setup.region}.myqcloud.com",
    }


def _parts(setup: NodeSetup) -> dict[str, bool]:
    return {
        "tencentcloud/01-object-storage.sh": setup.programs is not None,
        "05-gpu-driver.sh": True,
        "tencentcloud/07-rdma.sh": setup.rdma,
        "tencentcloud/30-turbo-client.sh": setup.file_system is not None,
        "tencentcloud/40-mount-turbo.sh": setup.file_system is not None,
        "tencentcloud/50-monitoring.sh": True,
    }
