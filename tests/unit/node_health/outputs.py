"""What the commands of real machines print, in the form of captured outputs.

Links: github.com/NVIDIA/k8s-test-infra issue 371 (GB200), github.com/Azure/azhpc-diagnostics issue 73 (V100 with links
that are down), users' notes of A100, H100 and H800 machines. ``nvidia-smi -q -x``: the log of a machine with L4 and the
text of H100 and V100 machines, shortened to one section each that the checks read and a few others.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    """A GPU as its driver tells of it."""

    name: str
    mib: int
    links: int = 0
    rate: str = ""
    pcie: int = 4
    retires_pages: bool = False
    fabric: str = "N/A"


A100 = Card("NVIDIA A100-SXM4-40GB", 40960, links=12, rate="25 GB/s")
H100 = Card("NVIDIA H100 80GB HBM3", 81559, links=18, rate="26.562 GB/s", pcie=5, fabric="Completed")
V100 = Card("Tesla V100-SXM2-16GB", 16160, links=6, rate="25.781 GB/s", pcie=3, retires_pages=True)
A10G = Card("NVIDIA A10G", 23028)


def gpu_rows(card: Card, count: int, driver: str = "580.95.05") -> str:
    """``nvidia-smi --query-gpu=... --format=csv,noheader,nounits``."""
    rows = [
        f"{i}, {card.name}, {card.mib}, {driver}, P0, {card.pcie}, {card.pcie}, 16, Enabled, 0" for i in range(count)
    ]
    return "\n".join(rows) + "\n"


def link_status(card: Card, count: int) -> str:
    """``nvidia-smi nvlink --status``."""
    text = ""
    for gpu in range(count):
        text += f"GPU {gpu}: {card.name} (UUID: GPU-6968dfc2-d444-d92c-c36b-6abe53445c{gpu:02})\n"
        text += "".join(f"\t Link {link}: {card.rate}\n" for link in range(card.links))
    return text


def driver_log(card: Card, count: int) -> str:
    """``nvidia-smi -q -x``."""
    pages, rows = ("No", "N/A") if card.retires_pages else ("N/A", "No")
    status = "Success" if card.fabric == "Completed" else "N/A"
    gpus = "".join(
        f"""
    <gpu id="00000000:{0x10 + gpu:02X}:1C.0">
        <product_name>{card.name}</product_name>
        <gpu_reset_status>
            <reset_required>No</reset_required>
            <drain_and_reset_recommended>N/A</drain_and_reset_recommended>
        </gpu_reset_status>
        <ecc_errors>
            <aggregate>
                <sram_threshold_exceeded>No</sram_threshold_exceeded>
            </aggregate>
        </ecc_errors>
        <retired_pages>
            <multiple_single_bit_retirement>
                <retired_count>{"0" if card.retires_pages else "N/A"}</retired_count>
                <retired_pagelist>N/A</retired_pagelist>
            </multiple_single_bit_retirement>
            <pending_blacklist>{pages}</pending_blacklist>
            <pending_retirement>{pages}</pending_retirement>
        </retired_pages>
        <remapped_rows>
            <remapped_row_corr>0</remapped_row_corr>
            <remapped_row_unc>0</remapped_row_unc>
            <remapped_row_pending>{rows}</remapped_row_pending>
            <remapped_row_failure>{rows}</remapped_row_failure>
        </remapped_rows>
        <fabric>
            <state>{card.fabric}</state>
            <status>{status}</status>
            <cliqueId>N/A</cliqueId>
            <clusterUuid>N/A</clusterUuid>
            <health>
                <bandwidth>N/A</bandwidth>
            </health>
        </fabric>
    </gpu>"""
        for gpu in range(count)
    )
    head = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>'
    return f"{head}\n    <attached_gpus>{count}</attached_gpus>{gpus}\n</nvidia_smi_log>\n"


KERNEL_LOG = """Linux version 6.8.0-1021-aws (buildd@lcy02-amd64-059) (x86_64-linux-gnu-gcc-13) #23-Ubuntu SMP
nvidia-nvlink: Nvlink Core is being initialized, major device number 511
NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build
NVRM: Xid (PCI:0000:10:1c): 13, pid=8421, name=python3, Graphics SM Warp Exception on (GPC 1, TPC 0, SM 0)
nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS crumbstore MCTO (First)
"""
LOST_GPU = "NVRM: Xid (PCI:0000:1a:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
SWITCH_ERROR = "nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 20034, Fatal, Link 30 LTSSM Fault Up\n"

# chronyc -c tracking: reference, its name, stratum, time of the reference, offset in seconds ... leap status.
TRACKING = (
    "A9FEA97B,169.254.169.123,4,1764601200.123456789,0.000004321,-0.000001234,0.000012345,"
    "-12.345,-0.001,0.021,0.000456789,0.000234567,16.2,Normal\n"
)
DISK = """Filesystem     1024-blocks      Used Available Capacity Mounted on
/dev/root        507930072 101586014 406327674      20% /
"""
CONTAINERS = """NVRM version:   580.95.05
CUDA version:   13.0
"""


def container_info(card: Card, count: int) -> str:
    """``nvidia-container-cli info``."""
    devices = [f"\nDevice Index:   {i}\nDevice Minor:   {i}\nModel:          {card.name}\n" for i in range(count)]
    return CONTAINERS + "".join(devices)


def efa_domains(count: int) -> str:
    """``fi_info -p efa -t FI_EP_RDM`` of libfabric 2: each device twice."""
    return "".join(
        f"provider: efa\n    fabric: {fabric}\n    domain: rdmap{16 * (i + 1)}s27-rdm\n    version: 201.0\n"
        "    type: FI_EP_RDM\n    protocol: FI_PROTO_EFA\n"
        for fabric in ("efa-direct", "efa")
        for i in range(count)
    )


def verbs_devices(names: list[str]) -> str:
    """``ibv_devinfo``."""
    return "".join(
        f"hca_id:\t{name}\n\ttransport:\t\t\tInfiniBand (0)\n\tfw_ver:\t\t\t\t22.36.1010\n\t\tport:\t1\n"
        "\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tlink_layer:\t\tEthernet\n"
        for name in names
    )
