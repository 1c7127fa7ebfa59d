"""GPU instance types and the queries over them."""

from dataclasses import dataclass
from functools import cache

from gpuyard.catalog._data import read_rows, read_table
from gpuyard.catalog.gpus import gpu_models_named
from gpuyard.catalog.regions import regions

CLOUDS_WITH_TYPES = ("aws", "alicloud", "tencentcloud")


@dataclass(frozen=True, slots=True)
class InstanceType:
    """One instance type of one cloud; ``None`` is unknown and never means no.

    ``gpu_interconnect`` is ``nvswitch``, ``nvlink``, ``pcie`` (several GPUs without NVLink) or ``none`` (one GPU);
    ``nvlink_gb_per_s_per_gpu`` is the sum of both directions in GB/s; ``network_gbps`` is in Gbps. ``gpu_model`` is
    ``None`` where the cloud withholds the GPU's name; ``gpu_partition`` is the share of a GPU that one ``gpu`` of the
    type is (0.25: a quarter, ``gpu_memory_gib`` being the quarter's memory). ``rdma`` is the kind (``efa``,
    ``erdma``, ``roce``) or ``none``; ``rdma_gbps`` what all RDMA interfaces of a node carry together, in Gbps each
    way; ``rdma_interfaces`` the largest number of RDMA interfaces; ``rdma_cards`` the network cards that take one.
    ``regions`` and ``zone_ids`` say where the type is offered, not that capacity is there. ``ebs_*`` are AWS's.
    """

    cloud: str
    instance_type: str
    family: str
    accelerator_vendor: str
    gpu_model: str | None
    gpu_count: int | None
    gpu_partition: float | None
    gpu_memory_gib: float | None
    vcpus: int | None
    memory_gib: float | None
    cpu_arch: str | None
    gpu_interconnect: str | None
    nvlink_gb_per_s_per_gpu: float | None
    network_gbps: float | None
    network_burst: bool | None
    rdma: str | None
    rdma_gbps: float | None
    rdma_interfaces: int | None
    rdma_cards: tuple[int, ...] | None
    rdma_gpudirect: bool | None
    network_cards: int | None
    interfaces_per_card: int | None
    max_network_interfaces: int | None
    local_nvme_count: int | None
    local_nvme_gb_each: float | None
    bare_metal: bool | None
    pcie_gen: int | None
    numa_nodes: int | None
    spot: bool | None
    capacity_block: bool | None
    ebs_bandwidth_mbps: int | None
    ebs_max_iops: int | None
    regions: tuple[str, ...] | None
    zone_ids: tuple[str, ...] | None
    note: str | None
    source: str
    as_of: str

    @property
    def has_nvlink(self) -> bool | None:
        """Whether the GPUs of one node are joined by NVLink or NVSwitch; ``None`` when unknown."""
        return None if self.gpu_interconnect is None else self.gpu_interconnect in ("nvlink", "nvswitch")

    @property
    def has_rdma(self) -> bool | None:
        """Whether the type has an RDMA network; ``None`` when unknown."""
        return None if self.rdma is None else self.rdma != "none"

    def offered_in(self, region: str) -> bool | None:
        """Whether the type is offered in a region; ``None`` when the catalog does not know.

        A list of regions says where the type was seen. Only where a region's offerings were read in full does a
        type's absence mean that it is not offered there.
        """
        if self.regions is None:
            return None
        if region in self.regions:
            return True
        known = regions(self.cloud).get(region)
        return False if known is not None and known.offerings_known else None


@cache
def instance_types(cloud: str) -> dict[str, InstanceType]:
    """Every instance type of one cloud by name; empty for a cloud whose types the catalog does not hold yet."""
    if cloud not in CLOUDS_WITH_TYPES:
        return {}
    return {row["instance_type"]: InstanceType(**row) for row in read_rows(f"{cloud}_instance_types.json")}


def about_instance_types(cloud: str) -> str:
    """What holds for all types of one cloud: how unknown facts are to be read, and what was left out."""
    return read_table(f"{cloud}_instance_types.json")["about"]


def instance_type(cloud: str, name: str) -> InstanceType | None:
    """One instance type, or ``None`` when the catalog does not know it."""
    return instance_types(cloud).get(name)


def find_instance_types(
    cloud: str,
    *,
    gpu: str | None = None,
    gpu_count: int | None = None,
    interconnect: str | None = None,
    rdma: bool | None = None,
    region: str | None = None,
    bare_metal: bool | None = None,
    cpu_arch: str | None = None,
) -> tuple[InstanceType, ...]:
    """Instance types that match every given condition.

    A type whose fact is unknown does not match a condition on that fact: a query answers what is known to fit.

    Args:
        cloud: ``aws``, ``alicloud`` or ``tencentcloud``.
        gpu: A GPU's full or short name, such as ``A100-80GB``.
        gpu_count: GPUs of one node.
        interconnect: ``nvlink`` (NVLink or NVSwitch), ``nvswitch``, ``pcie`` or ``none``.
        rdma: With or without an RDMA network.
        region: Offered in this region.
        bare_metal: Bare metal or virtual.
        cpu_arch: ``x86_64`` or ``arm64``.

    Returns:
        Matching types, smallest first (vCPUs, memory, name).
    """
    models = None if gpu is None else gpu_models_named(gpu)
    found = [
        row
        for row in instance_types(cloud).values()
        if (models is None or row.gpu_model in models)
        and (gpu_count is None or row.gpu_count == gpu_count)
        and (interconnect is None or _joined_by(row, interconnect))
        and (rdma is None or row.has_rdma is rdma)
        and (region is None or row.offered_in(region) is True)
        and (bare_metal is None or row.bare_metal is bare_metal)
        and (cpu_arch is None or row.cpu_arch == cpu_arch)
    ]
    return tuple(sorted(found, key=lambda row: (row.vcpus or 0, row.memory_gib or 0, row.instance_type)))


def _joined_by(row: InstanceType, interconnect: str) -> bool:
    if interconnect == "nvlink":
        return row.has_nvlink is True
    return row.gpu_interconnect == interconnect
