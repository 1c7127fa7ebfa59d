"""What nodes of every cloud have: the runner of the parts, and software that is set up in the same way everywhere."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuyard.bootstrap.files import HOME, NodeFile, template
from gpuyard.bootstrap.payload import node_programs
from gpuyard.catalog.nccl import nccl_environment
from gpuyard.planning.node_health import MountDemand, NodeDemands, expected_of_pool
from gpuyard.planning.plans import NodePoolPlan, SoftwarePlan

_UNITS = "/etc/systemd/system"
# What one stream moves at least where nothing is wrong: less, and the mount hangs or goes over the wrong network.
_SHARED_FLOOR_MB_PER_S = 10
# From the start of a machine to its health gate: boot, drivers that the image lacks, mounts, container images.
_SETUP_SECONDS = {False: 1800, True: 3600}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonSetup:
    """What one pool's nodes set up on every cloud.

    ``programs``: address of the archive of :func:`gpuyard.bootstrap.payload.node_programs`, None for a pool without a
    bucket, whose nodes have neither health gate nor watcher; ``software``: what they run beside the jobs; ``expected``:
    what the health gate asks of them; ``health_tag``: whether a node tags itself with what the gate says, as nobody
    waits for it; ``nccl``: what NCCL is told, by variable; ``scratch``: the machine's own NVMe disks as one volume at
    ``/scratch``; ``data_disk``: a data disk at ``/data``; ``checkpoint_seconds``: what a job gets for a checkpoint;
    ``spot``: whether the cloud may take a node away.
    """

    pool: str
    region: str
    programs: str | None = None
    software: SoftwarePlan = SoftwarePlan()
    expected: Mapping[str, Any] = field(default_factory=dict[str, Any])
    health_tag: bool = False
    nccl: Mapping[str, str] = field(default_factory=dict[str, str])
    scratch: bool = False
    data_disk: bool = False
    checkpoint_seconds: int = 600
    spot: bool = False


def setup_seconds(plan: NodePoolPlan) -> int:
    """How long a scaler waits for a new node's health gate; bare metal tests its memory and devices before it boots."""
    return _SETUP_SECONDS[plan.instance_type.bare_metal is True]


def common_values(name: str, plan: NodePoolPlan, shared: MountDemand | None) -> dict[str, Any]:
    """What a plan says of its nodes' set-up on every cloud.

    Args:
        name: Name of the pool, as its nodes are tagged.
        plan: The pool.
        shared: The shared file system as nodes mount it, None without one.

    Returns:
        Arguments of :class:`CommonSetup`.
    """
    nccl = nccl_environment(plan.place.cloud, _fabric(plan))
    return {
        "pool": name,
        "region": plan.place.region,
        "software": plan.software,
        "expected": expected_of_pool(plan.instance_types, _demands(plan, shared, nccl)),
        "nccl": nccl,
        "scratch": plan.scratch,
        "data_disk": plan.data_disk is not None,
        "checkpoint_seconds": plan.checkpoint_seconds,
        "spot": plan.purchase == "spot",
    }


def shared_mount(path: str, fs_type: str | None) -> MountDemand:
    """What the health gate asks of a shared file system: that it is there, takes writes, and does not crawl.

    Args:
        path: Where it is mounted.
        fs_type: Its type as the kernel names it, None for any.

    Returns:
        The demand.
    """
    return MountDemand(path, fs_type, _SHARED_FLOOR_MB_PER_S, _SHARED_FLOOR_MB_PER_S)


def _fabric(plan: NodePoolPlan) -> str | None:
    return plan.instance_type.rdma if plan.kind == "rdma" else None


def _demands(plan: NodePoolPlan, shared: MountDemand | None, nccl: Mapping[str, str]) -> NodeDemands:
    software, fabric = plan.software, _fabric(plan)
    planned = sum(interface.interface_type == fabric for interface in plan.interfaces)
    # The index is one of RoCE; eRDMA counts its addresses in another way.
    index = nccl.get("NCCL_IB_GID_INDEX") if fabric == "roce" else None
    own = [(plan.scratch, "/scratch"), (plan.data_disk is not None, "/data")]
    return NodeDemands(
        rdma=plan.kind == "rdma",
        # Of eRDMA the plan says how many interfaces a node has, of other fabrics its type does.
        rdma_devices=planned or None,
        gid_index=None if index is None else int(index),
        driver_minimum=software.driver_minimum,
        fabric_manager=software.fabric_manager,
        containers=software.containers,
        huge_pages_gib=software.huge_pages_gib,
        mounts=(*(MountDemand(path) for is_there, path in own if is_there), *([shared] if shared else [])),
    )


def common_files(setup: CommonSetup, parts: Mapping[str, bool]) -> dict[str, NodeFile]:
    """The files of a node that do not depend on its cloud.

    Args:
        setup: What the node sets up.
        parts: Templates of the cloud's own parts, and whether this node has them. They run in the order of their names,
            together with those that every cloud has.

    Returns:
        Files by path.
    """
    wanted = [part for part, is_wanted in {**_parts(setup), **parts}.items() if is_wanted]
    found = {
        f"{_UNITS}/gpuyard-setup.service": NodeFile("0644", template("setup.service")),
        f"{_UNITS}/gpuyard-kernel-log.service": NodeFile("0644", template("kernel-log.service")),
        "/etc/logrotate.d/gpuyard": NodeFile("0644", template("logrotate")),
        "/etc/profile.d/gpuyard.sh": NodeFile("0644", template("profile.sh")),
        f"{HOME}/setup.sh": NodeFile("0755", template("setup.sh")),
        f"{HOME}/lib.sh": NodeFile("0644", template("lib.sh")),
    }
    if setup.programs is not None:
        expected = json.dumps(setup.expected, indent=1) + "\n"
        found["/etc/gpuyard/expected.json"] = NodeFile("0644", expected)
        found[f"{_UNITS}/gpuyard-watcher.service"] = NodeFile("0644", template("watcher.service"))
        found[f"{HOME}/release-node.sh"] = NodeFile("0755", template("release-node.sh"))
    if setup.nccl:
        lines = "".join(f"{name}={value}\n" for name, value in setup.nccl.items())
        found["/etc/nccl.conf"] = NodeFile("0644", lines)
    return found | {f"{HOME}/parts/{part.rsplit('/', 1)[-1]}": NodeFile("0755", template(part)) for part in wanted}


def common_environment(setup: CommonSetup, cloud: str, file_system: str | None) -> dict[str, object]:
    """What the scripts of a node are told on every cloud.

    Args:
        setup: What the node sets up.
        cloud: The cloud.
        file_system: Where the shared file system is mounted, None without one.

    Returns:
        Values by name without ``GPUYARD_``; None for what the node does not have.
    """
    software = setup.software
    shared = file_system or ("/scratch" if setup.scratch else None)
    return {
        "CLOUD": cloud,
        "POOL": setup.pool,
        "REGION": setup.region,
        "SPOT": 1 if setup.spot else None,
        "DRIVER_BRANCH": software.driver_branch,
        "DRIVER_MINIMUM": software.driver_minimum,
        "DRIVER_REASON": software.driver_reason,
        "GPU_CLOCKS": software.gpu_clocks if software.gpu_clocks != "default" else None,
        "HUGE_PAGES_GIB": software.huge_pages_gib,
        "CONTAINER_IMAGES": " ".join(software.container_images) or None,
        "SCRATCH": "/scratch" if setup.scratch else None,
        "DATA": "/data" if setup.data_disk else None,
        "FILE_SYSTEM": file_system,
        "CHECKPOINT_DIR": None if shared is None else f"{shared}/checkpoints",
        "PROGRAMS": setup.programs,
        "PROGRAMS_SHA256": node_programs().sha256 if setup.programs else None,
        "HEALTH_TAG": 1 if setup.health_tag and setup.programs else None,
        "CHECKPOINT_SECONDS": setup.checkpoint_seconds,
    }


def _parts(setup: CommonSetup) -> dict[str, bool]:
    software = setup.software
    return {
        "02-kernel.sh": True,
        "04-ssh.sh": True,
        "06-fabric-manager.sh": software.fabric_manager,
        "08-gpu.sh": True,
        "09-containers.sh": software.containers,
        "10-scratch.sh": setup.scratch,
        "20-data-disk.sh": setup.data_disk,
        "55-jupyter.sh": software.jupyter,
        "60-images.sh": bool(software.container_images),
        "03-programs.sh": setup.programs is not None,
        "70-watch.sh": setup.programs is not None,
        "90-health.sh": setup.programs is not None,
    }
