"""Checks of what joins the GPUs of a node, and the node to others: NVLink, NVSwitch, RDMA, frame size."""

import fnmatch
import os
import re
import shutil
from typing import Any, Dict, List, Tuple

from gpuyard.node.health_gpu import driver_log
from gpuyard.node.health_probe import Answer, CannotRunError, Node, NotWantedError, number, verdict

# nvidia-smi shows 25, 25.781 or 26.562 GB/s for a link of 25 GB/s.
LINK_RATE_SHARE = 0.95
LINE = re.compile(r"GPU (\d+):|\s+Link (\d+): (.+)")
UNIT = "nvidia-fabricmanager"
EFA_TOOLS = "/opt/amazon/efa/bin"
DEVICES, INTERFACES = "class/infiniband", "class/net"


def nvlink(node: Node) -> Answer:
    """Every link of every GPU is up, at its full rate."""
    wanted = node.want("nvlink")
    links, least = wanted.get("links"), wanted["gb_per_s"] * LINK_RATE_SHARE
    text = node.ask("nvidia-smi", "nvlink", "--status")
    found = _links(text)
    if not found:
        raise CannotRunError(f"nvidia-smi nvlink --status says '{text.strip()[:120]}'")
    faults: List[str] = []
    up: Dict[str, int] = {}
    for gpu, rates in found.items():
        up[gpu] = sum(rate >= least for _, rate in rates)
        faults += [f"GPU {gpu} link {link} runs at {rate:g} GB/s" for link, rate in rates if 0 < rate < least]
        if up[gpu] < (links or 1):
            down = ", ".join(link for link, rate in rates if not rate) or ("none" if rates else "all")
            faults.append(f"GPU {gpu} has {up[gpu]} of {links or 'its'} links at full rate (down: {down})")
    count = node.known("gpu", "count")
    if count not in (None, len(found)):
        faults.append(f"links are told of {len(found)} GPUs, not of {count}")
    good = f"{links} links up on each GPU" if links else "links are up on each GPU; the catalog does not know how many"
    return verdict(faults, good, wanted, up)


def _links(text: str) -> Dict[str, List[Tuple[str, float]]]:
    """Each GPU's links with their GB/s, 0 for one that is down."""
    found: Dict[str, List[Tuple[str, float]]] = {}
    links: List[Tuple[str, float]] = []
    for match in filter(None, map(LINE.match, text.splitlines())):
        gpu, link, state = match.groups()
        if gpu:
            links = found.setdefault(gpu, [])
        else:
            rate = "0" if "inactive" in state.lower() else state.replace("GB/s", "").strip()
            links.append((link, number(rate, "the rate of an NVLink")))
    return found


def fabric_manager(node: Node) -> Answer:
    """NVIDIA's daemon for the NVSwitches runs, and each GPU has joined the fabric."""
    wanted = node.want("fabric_manager")
    faults: List[str] = []
    if wanted["unit"]:
        states = node.ask("systemctl", "show", "-p", "LoadState", "-p", "ActiveState", UNIT).split()
        if sorted(states) != ["ActiveState=active", "LoadState=loaded"]:
            faults.append(f"{UNIT}: {', '.join(states) or 'not told'}")
    if wanted["state"]:
        for index, gpu in enumerate(driver_log(node)):
            states = [(gpu.findtext(f"fabric/{tag}") or "not told").strip() for tag in ("state", "status")]
            if states != ["Completed", "Success"]:
                faults.append(f"the fabric state of GPU {index} is {', '.join(states)}")
    return verdict(faults, "the fabric is up", wanted, faults)


def rdma(node: Node) -> Answer:
    """Every RDMA device of the machine is there, its ports active."""
    wanted = node.want("rdma")
    kind, least = wanted["kind"], wanted.get("devices")
    devices = [name for name in node.names(DEVICES) if _is_kind(node, name, kind)]
    faults = [fault for name in devices for fault in _device_faults(node, name, wanted.get("gid_index"))]
    if len(devices) < (least or 1):
        faults.append(f"{len(devices)} {kind} devices instead of {least or 'at least one'}")
    unknown = "" if least else "; the catalog does not know how many are right"
    return verdict(faults, f"{len(devices)} {kind} devices, all active{unknown}", wanted, devices)


def _is_kind(node: Node, name: str, kind: str) -> bool:
    driver = os.path.basename(os.path.realpath(os.path.join(node.sys, DEVICES, name, "device/driver")))
    if kind != "roce":
        return driver == kind
    ports = node.names(DEVICES, name, "ports")
    layers = [node.read(DEVICES, name, "ports", port, "link_layer") for port in ports]
    return driver not in ("efa", "erdma") and "Ethernet" in layers


def _device_faults(node: Node, name: str, gid_index: Any) -> List[str]:
    ports = node.names(DEVICES, name, "ports")
    faults = [] if ports else [f"{name} has no port"]
    for port in ports:
        here = os.path.join(DEVICES, name, "ports", port)
        state = node.read(here, "state")
        if state.split(":")[-1].strip() != "ACTIVE":
            faults.append(f"{name} port {port} is {state}")
        if gid_index is not None and not _has_gid(node, here, str(gid_index)):
            faults.append(f"{name} port {port} has no RoCE v2 address at index {gid_index}")
    # EFA's driver always says ACTIVE: where the device has a network interface, that one knows.
    for interface in node.names(DEVICES, name, "device/net"):
        state = node.read(DEVICES, name, "device/net", interface, "operstate")
        if state not in ("up", "unknown"):
            faults.append(f"{name} ({interface}) is {state}")
    return faults


def _has_gid(node: Node, port: str, index: str) -> bool:
    try:
        kind = node.read(port, "gid_attrs/types", index)
    except CannotRunError:
        # So the kernel answers for an entry that is empty.
        return False
    return kind == "RoCE v2" and bool(node.read(port, "gids", index).strip("0:"))


def rdma_library(node: Node) -> Answer:
    """Programs reach the RDMA devices: libfabric sees EFA's, verbs the others."""
    wanted = node.want("rdma")
    is_efa = wanted["kind"] == "efa"
    tool = "fi_info" if is_efa else "ibv_devinfo"
    path = shutil.which(tool, path=os.pathsep.join([os.environ.get("PATH", os.defpath), EFA_TOOLS]))
    if path is None:
        raise NotWantedError(f"{tool} is not on this node; what containers bring is not looked at")
    text = node.ask(path, "-p", "efa", "-t", "FI_EP_RDM") if is_efa else node.ask(path)
    found = sorted(set(re.findall(r"domain: (\S+)" if is_efa else r"hca_id:\s+(\S+)", text)))
    least = wanted.get("devices") or 1
    return len(found) >= least, f"{tool} sees {len(found)} devices", least, found


def mtu(node: Node) -> Answer:
    """The frame size of the interfaces that are up, where one is demanded."""
    wanted = node.want("mtu")
    found: Dict[str, float] = {}
    for name in fnmatch.filter(node.names(INTERFACES), wanted["interfaces"]):
        # Bridges and the loopback are no devices.
        if "device" in node.names(INTERFACES, name) and node.read(INTERFACES, name, "operstate") == "up":
            found[name] = number(node.read(INTERFACES, name, "mtu"), f"the MTU of {name}")
    if not found:
        raise CannotRunError(f"no network device '{wanted['interfaces']}' is up")
    faults = [f"{name} has {size:g} bytes" for name, size in found.items() if size != wanted["bytes"]]
    return verdict(faults, f"{wanted['bytes']} bytes", wanted, found)
