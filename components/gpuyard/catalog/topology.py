"""How GPUs, NUMA nodes, PCIe switches and network cards of one node hang together, as far as known."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from gpuyard.catalog._data import read_rows
from gpuyard.catalog.instance_types import InstanceType

UNKNOWN = "unknown"
_RDMA_NAMES = {"efa": "EFA", "erdma": "eRDMA", "roce": "RoCE"}


@dataclass(frozen=True, slots=True)
class PcieGroup:
    """What hangs on one PCIe switch: its NUMA node, and the numbers of its GPUs and RDMA network cards."""

    numa: int | None
    gpus: tuple[int, ...]
    nics: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Topology:
    """The PCIe switches of some instance types, and who says so."""

    cloud: str
    instance_types: tuple[str, ...]
    groups: tuple[PcieGroup, ...]
    note: str | None
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a node and the parts that hang on it, for drawing."""

    label: str
    parts: tuple["Part", ...] = ()


@cache
def topologies() -> tuple[Topology, ...]:
    """Every topology of the catalog."""
    return tuple(_topology(row) for row in read_rows("topologies.json"))


def topology_of(row: InstanceType) -> Topology | None:
    """The topology of one instance type; ``None`` when the catalog does not know it."""
    return next(
        (each for each in topologies() if each.cloud == row.cloud and row.instance_type in each.instance_types), None
    )


def node_parts(row: InstanceType) -> Part:
    """One node of an instance type as a tree of parts; what is unknown is named as unknown.

    Args:
        row: The instance type.

    Returns:
        The node with its processors, GPUs, the link between them, network and local disks.
    """
    known = topology_of(row)
    processors = _known_processors(row, known) if known else [_unknown_processors(row)]
    return Part(
        f"{row.instance_type} ({row.cloud})",
        (Part(_link(row)), *processors, Part(_network(row), _rdma(row)), Part(_disks(row))),
    )


def span(numbers: Sequence[int]) -> str:
    """Numbers as people list them: ``0 to 3`` for three or more in a row, else each."""
    if len(numbers) > 2 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(str(number) for number in numbers)


def _topology(row: dict[str, Any]) -> Topology:
    groups: Any = tuple(PcieGroup(group["numa"], tuple(group["gpus"]), tuple(group["nics"])) for group in row["groups"])
    return Topology(**{**row, "groups": groups})


def _link(row: InstanceType) -> str:
    gpus = f"{_or_unknown(row.gpu_count)} × {row.gpu_model or 'GPU of unknown model'}"
    if row.gpu_partition is not None and row.gpu_partition != 1:
        return f"{gpus}, a slice of {row.gpu_partition:g} of a GPU"
    rate = row.nvlink_gb_per_s_per_gpu
    speed = "speed unknown" if rate is None else f"{rate:g} GB/s a GPU, both directions together"
    words = {
        "nvswitch": f"every GPU with every other over NVSwitch, {speed}",
        "nvlink": f"joined by NVLink, {speed}; whether over a switch is not stated",
        "pcie": "no NVLink: GPUs talk over PCIe",
        "none": "one GPU, no link needed",
    }
    return f"{gpus}: {words.get(row.gpu_interconnect or '', 'link between GPUs unknown')}"


def _known_processors(row: InstanceType, known: Topology) -> list[Part]:
    nodes = dict.fromkeys(group.numa for group in known.groups)
    return [
        Part(
            f"NUMA node {UNKNOWN if node is None else node}",
            tuple(Part(_switch(row, group)) for group in known.groups if group.numa == node),
        )
        for node in nodes
    ]


def _switch(row: InstanceType, group: PcieGroup) -> str:
    nics = _RDMA_NAMES.get(row.rdma or "", "network")
    parts = [f"GPU {number}" for number in group.gpus]
    if group.nics:
        parts.append(f"{nics} card{'s' if len(group.nics) > 1 else ''} {span(group.nics)}")
    return f"PCIe {_or_unknown(row.pcie_gen)}.0 switch: {', '.join(parts)}"


def _unknown_processors(row: InstanceType) -> Part:
    pcie = f"PCIe generation {_or_unknown(row.pcie_gen)}"
    count = row.gpu_count
    gpus = "GPUs: number unknown" if count is None else f"GPU{'s' if count > 1 else ''} {span(range(count))}"
    return Part(
        f"NUMA nodes: {_or_unknown(row.numa_nodes)}",
        (Part(f"{pcie}; which GPU and network card share a switch or NUMA node is unknown", (Part(gpus),)),),
    )


def _network(row: InstanceType) -> str:
    burst = " at most, in bursts" if row.network_burst else ""
    rate = "bandwidth unknown" if row.network_gbps is None else f"{row.network_gbps:g} Gbps{burst}"
    cards = "" if row.network_cards is None else f" over {row.network_cards} card{'s' if row.network_cards > 1 else ''}"
    return f"network: {rate}{cards}"


def _rdma(row: InstanceType) -> tuple[Part, ...]:
    if row.rdma is None:
        return (Part("RDMA: unknown whether there is any"),)
    if row.rdma == "none":
        return (Part("no RDMA"),)
    rate = "bandwidth unknown" if row.rdma_gbps is None else f"{row.rdma_gbps:g} Gbps together"
    interfaces = "number unknown" if row.rdma_interfaces is None else f"{row.rdma_interfaces} interfaces"
    on = "" if not row.rdma_cards else f" on card{'s' if len(row.rdma_cards) > 1 else ''} {span(row.rdma_cards)}"
    direct = {True: "GPUDirect RDMA", False: "no GPUDirect RDMA", None: "GPUDirect RDMA unknown"}[row.rdma_gpudirect]
    return (Part(f"{_RDMA_NAMES[row.rdma]}: {interfaces}{on}, {rate}; {direct}"),)


def _disks(row: InstanceType) -> str:
    if row.local_nvme_count is None:
        return "local NVMe: unknown"
    if row.local_nvme_count == 0:
        return "no local NVMe"
    size = "size unknown" if row.local_nvme_gb_each is None else f"{row.local_nvme_gb_each:g} GB"
    return f"local NVMe: {row.local_nvme_count} × {size}"


def _or_unknown(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:g}"
