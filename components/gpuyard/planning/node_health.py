"""What a node must have before anything is trained on it: ``expected.json`` of its health gate."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard.catalog import Gpu, InstanceType, gpus
from gpuyard.catalog.software import cuda_releases, version_key
from gpuyard.catalog.xid_errors import hardware_xid_errors

# nvidia-smi sees GPUs of this vendor only.
VENDOR = "NVIDIA"
# A whole board: what has fewer GPUs is a share of one, whose NVSwitches belong to the host.
# https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html (shared NVSwitch virtualization model)
BOARD_GPUS = 8
# One stream of one node is to find a mount that hangs or runs over the wrong network, not to measure the file system.
FLOOR_SHARE, FLOOR_MAX_MB_PER_S = 0.1, 200.0
HUGE_PAGES_PER_GIB = 512

_FORM = re.compile(r"SXM\d*|PCIE|\d+GB|SE", re.IGNORECASE)
_MIXED = "the types of this pool differ here"


@dataclass(frozen=True, slots=True)
class MountDemand:
    """A file system that must be mounted: where, of which type (None: any), and how fast at least in MB/s."""

    path: str
    fs_type: str | None = None
    write_mb_per_s: float = 0
    read_mb_per_s: float = 0


@dataclass(frozen=True, slots=True)
class NodeDemands:
    """What a pool demands of its nodes besides what their machine has.

    Attributes:
        rdma: Whether the pool is joined by RDMA.
        rdma_devices: RDMA interfaces of a node; None: as many as its type takes.
        gid_index: Index of the RoCE v2 address that NCCL uses; None: not looked at.
        mtu_bytes: Frame size of every network interface; None: any.
        driver_minimum: Oldest driver for the jobs; None: what the GPU needs.
        fabric_manager: Whether nodes run NVIDIA's fabric manager; None: as the machine needs it.
        containers: Whether Docker must see the GPUs.
        huge_pages_gib: Memory set aside as huge pages in GiB.
        mounts: File systems.
        root_free_gib: Least free room on the root disk in GiB.
        clock_offset_ms: Most that the clock may be off, in milliseconds.
        ecc: Whether the GPUs' memory must be watched by ECC.
    """

    rdma: bool = False
    rdma_devices: int | None = None
    gid_index: int | None = None
    mtu_bytes: int | None = None
    driver_minimum: str | None = None
    fabric_manager: bool | None = None
    containers: bool = False
    huge_pages_gib: int | None = None
    mounts: tuple[MountDemand, ...] = ()
    root_free_gib: float = 10
    clock_offset_ms: float = 100
    ecc: bool = True


def mount_floor_mb_per_s(sold_mb_per_s: float) -> float:
    """The speed below which a mount is broken, from what the whole file system is sold to move, both in MB/s."""
    return min(FLOOR_SHARE * sold_mb_per_s, FLOOR_MAX_MB_PER_S)


def expected_of(row: InstanceType, demands: NodeDemands | None = None) -> dict[str, Any]:
    """What the health gate of a node expects.

    Args:
        row: The node's instance type.
        demands: What its pool demands; nothing when left out.

    Returns:
        Plain data for ``/etc/gpuyard/expected.json``. None is not checked: ``skip`` says why, by key; a fact that is
        unknown has no reason there, and the gate then says that the catalog does not know.
    """
    asked = demands or NodeDemands()
    gpu = gpus().get(row.gpu_model or "")
    skip: dict[str, str] = {}
    found: dict[str, Any] = {
        "instance_type": row.instance_type,
        **_of_gpus(row, gpu, asked, skip),
        **_of_links(row, gpu, asked, skip),
        "rdma": _rdma(row, asked, skip),
        "mtu": {"interfaces": "*", "bytes": asked.mtu_bytes} if asked.mtu_bytes else None,
        "mounts": [_mount(mount) for mount in asked.mounts] or None,
        "clock": {"offset_ms": asked.clock_offset_ms},
        "disks": [{"path": "/", "free_gib": asked.root_free_gib}],
        "memlock": True if asked.rdma else None,
        "huge_pages": HUGE_PAGES_PER_GIB * asked.huge_pages_gib if asked.huge_pages_gib else None,
        "containers": asked.containers or None,
    }
    reasons = {
        "mtu": "the pool demands no frame size",
        "mounts": "the pool mounts no file system",
        "memlock": "only RDMA needs it",
        "huge_pages": "the pool asks for none",
        "containers": "the pool asks for none",
    }
    skip |= {key: reason for key, reason in reasons.items() if found[key] is None}
    return {**found, "skip": skip}


def expected_of_pool(rows: Sequence[InstanceType], demands: NodeDemands | None = None) -> dict[str, Any]:
    """What the health gate of any node of a pool expects: what all of its instance types have in common.

    Args:
        rows: The pool's instance types, at least one.
        demands: What the pool demands.

    Returns:
        As :func:`expected_of`; where the types differ nothing is expected, and ``skip`` says so.
    """
    first, *others = [expected_of(row, demands) for row in rows]
    for other in others:
        first = _common(first, other)
    return first


def _common(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    skip: dict[str, str] = {**other["skip"], **one["skip"]}
    for key, value in one.items():
        if key == "skip":
            continue
        if key == "gpu" and value is not None and other[key] is not None:
            found[key] = {part: _same(value[part], other[key][part], f"gpu.{part}", skip) for part in value}
        else:
            found[key] = _same(value, other[key], key, skip)
    return {**found, "skip": skip}


def _same(one: Any, other: Any, key: str, skip: dict[str, str]) -> Any:
    if one == other:
        return one
    skip[key] = _MIXED
    return None


def _of_gpus(row: InstanceType, gpu: Gpu | None, asked: NodeDemands, skip: dict[str, str]) -> dict[str, Any]:
    if row.accelerator_vendor != VENDOR:
        keys = ("gpu", "pcie", "driver_minimum", "ecc", "xid")
        skip |= dict.fromkeys(keys, f"nvidia-smi does not see accelerators of {row.accelerator_vendor}")
        return dict.fromkeys(keys)
    whole = row.gpu_partition == 1
    if row.gpu_partition not in (None, 1):
        reason = f"{row.instance_type} has a share of a GPU: its host watches over the rest"
        skip |= dict.fromkeys(("pcie", "ecc"), reason)
    elif not asked.ecc:
        skip["ecc"] = "the pool does not ask for ECC"
    return {
        "gpu": {
            "count": row.gpu_count,
            "model": row.gpu_model,
            "words": None if row.gpu_model is None else name_words(row.gpu_model),
            "memory_gib": row.gpu_memory_gib,
        },
        "pcie": {"generation": row.pcie_gen} if whole else None,
        "driver_minimum": asked.driver_minimum or driver_minimum_of(gpu),
        "ecc": True if whole and asked.ecc else None,
        "xid": {str(error.code): error.meaning for error in hardware_xid_errors()},
    }


def name_words(model: str) -> list[str]:
    """The words that the driver's name of a GPU has: ``A100`` of ``A100-SXM4-40GB``, as in ``NVIDIA A100-SXM4-40GB``.

    The form and the memory are left out: the driver calls an H100-SXM5-80GB ``NVIDIA H100 80GB HBM3``.
    """
    return [part for part in model.split("-") if not _FORM.fullmatch(part)]


def driver_minimum_of(gpu: Gpu | None) -> str:
    """The oldest driver that knows a GPU: that of the first CUDA release for it.

    Where the table of releases does not go back so far, and where the GPU is unknown, it is the oldest driver that
    runs any release of the table.

    Source: https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
    """
    release = cuda_releases().get(gpu.min_cuda or "") if gpu else None
    if release is not None:
        return release.driver_linux
    return min((one.driver_linux_minimum for one in cuda_releases().values()), key=version_key)


def _of_links(row: InstanceType, gpu: Gpu | None, asked: NodeDemands, skip: dict[str, str]) -> dict[str, Any]:
    nvlink = _nvlink(row, gpu) if row.has_nvlink else None
    if row.has_nvlink is False:
        skip["nvlink"] = f"the GPUs of {row.instance_type} are not joined by NVLink"
    switched = row.gpu_interconnect == "nvswitch" or asked.fabric_manager is True
    if not switched and row.gpu_interconnect is not None:
        skip["fabric_manager"] = f"{row.instance_type} is not known to have NVSwitches"
    unit = asked.fabric_manager
    if unit is None:
        unit = (row.gpu_count or 0) >= BOARD_GPUS
    # From Hopper on the driver tells whether a GPU has joined the fabric.
    # https://nvidia.github.io/cuda-python/ (nvmlDeviceGetGpuFabricInfo: for Hopper or newer)
    state = gpu is not None and gpu.compute_capability is not None and version_key(gpu.compute_capability) >= (9,)
    return {"nvlink": nvlink, "fabric_manager": {"unit": unit, "state": state} if switched else None}


def _nvlink(row: InstanceType, gpu: Gpu | None) -> dict[str, Any] | None:
    """Links of each GPU, None where their number is unknown, and GB/s of one link in one direction."""
    if gpu is None or gpu.nvlink_link_gb_per_s is None or gpu.nvlink_links is None:
        return None
    links = None
    # In the mesh of V100s some links of each GPU lead to the other half of the board.
    in_mesh = row.gpu_interconnect == "nvlink" and gpu.nvlink_generation == 2
    if row.nvlink_gb_per_s_per_gpu is not None and (not in_mesh or row.gpu_count == BOARD_GPUS):
        links = min(round(row.nvlink_gb_per_s_per_gpu / (2 * gpu.nvlink_link_gb_per_s)), gpu.nvlink_links)
    return {"links": links, "gb_per_s": gpu.nvlink_link_gb_per_s}


def _rdma(row: InstanceType, asked: NodeDemands, skip: dict[str, str]) -> dict[str, Any] | None:
    if not asked.rdma:
        skip["rdma"] = "the pool asks for no RDMA"
    elif row.has_rdma is False:
        skip["rdma"] = f"{row.instance_type} has no RDMA"
    elif row.rdma is not None:
        devices = row.rdma_interfaces if asked.rdma_devices is None else asked.rdma_devices
        return {"kind": row.rdma, "devices": devices, "gid_index": asked.gid_index}
    return None


def _mount(demand: MountDemand) -> dict[str, Any]:
    return {
        "path": demand.path,
        "type": demand.fs_type,
        "write_mb_per_s": demand.write_mb_per_s,
        "read_mb_per_s": demand.read_mb_per_s,
    }
