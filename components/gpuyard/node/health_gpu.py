"""Checks of the GPUs of a node, as NVIDIA's driver and the kernel tell."""

import re
from typing import Dict, List, Tuple
from xml.etree import ElementTree

from gpuyard.node.health_probe import Answer, CannotRunError, Node, number, verdict

# Drivers since 450 know all of these: one field that is unknown spoils the whole answer.
FIELDS = (
    "index,name,memory.total,driver_version,pstate,pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,"
    "ecc.mode.current,ecc.errors.uncorrected.volatile.total"
)
# What the driver and ECC keep for themselves: a GPU of 24 GiB shows 22.4 GiB.
MEMORY_SHARE = (0.9, 1.05)
REPAIRS = (
    "remapped_row_pending",
    "remapped_row_failure",
    "pending_retirement",
    "pending_blacklist",
    "channel_repair_pending",
    "tpc_repair_pending",
    "unrepairable_memory",
)
# Of an NVSwitch's errors (SXid) those that are not fatal are for information.
ERROR = re.compile(r"(S?Xid) \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d+)(, Fatal)?")


def gpus(node: Node) -> List[Dict[str, str]]:
    """Each GPU by the names of ``FIELDS``.

    Raises:
        CannotRunError: The driver does not answer, or not in this form.
    """
    text = node.ask("nvidia-smi", f"--query-gpu={FIELDS}", "--format=csv,noheader,nounits")
    names = FIELDS.split(",")
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]
    if not rows or any(len(row) != len(names) or not row[0].isdigit() for row in rows):
        raise CannotRunError(f"nvidia-smi answers '{text.strip()[:120]}'")
    return [dict(zip(names, row)) for row in rows]


def driver_log(node: Node) -> List["ElementTree.Element"]:
    """Each GPU as ``nvidia-smi -q -x`` describes it.

    Raises:
        CannotRunError: The driver does not answer, or not in this form.
    """
    try:
        found = ElementTree.fromstring(node.ask("nvidia-smi", "-q", "-x")).findall("gpu")  # noqa: S314 - no stranger's
    except ElementTree.ParseError as error:
        raise CannotRunError(f"nvidia-smi -q -x cannot be read: {error}") from error
    if not found:
        raise CannotRunError("nvidia-smi -q -x describes no GPU")
    return found


def count(node: Node) -> Answer:
    """As many GPUs as the machine was sold with."""
    wanted, found = node.want("gpu", "count"), len(gpus(node))
    return found == wanted, f"{found} GPUs", wanted, found


def model(node: Node) -> Answer:
    """The model that the machine was sold with: every word of it is in the driver's name of each GPU."""
    words = {word.upper() for word in node.want("gpu", "words")}
    found = sorted({gpu["name"] for gpu in gpus(node)})
    good = all(words <= set(re.split(r"[\s-]+", name.upper())) for name in found)
    return good, ", ".join(found), node.known("gpu", "model"), found


def memory(node: Node) -> Answer:
    """The memory of each GPU, less what the driver keeps."""
    wanted = node.want("gpu", "memory_gib")
    found = [round(gib / 1024, 1) for gib in _numbers(node, "memory.total")]
    low, high = (share * wanted for share in MEMORY_SHARE)
    faults = [f"GPU {index} has {gib} GiB" for index, gib in enumerate(found) if not low <= gib <= high]
    return verdict(faults, f"{min(found)} GiB each", wanted, found)


def pcie(node: Node) -> Answer:
    """As many lanes for each GPU as for the others, at the generation that the machine has."""
    wanted = node.want("pcie").get("generation")
    lanes = _numbers(node, "pcie.link.width.current")
    now, best = _numbers(node, "pcie.link.gen.current"), _numbers(node, "pcie.link.gen.max")
    # A GPU that rests slows its link down to save power; then what it could do counts.
    found = [now[index] if gpu["pstate"] == "P0" else best[index] for index, gpu in enumerate(gpus(node))]
    faults = [f"GPU {index} has {n:g} lanes of {max(lanes):g}" for index, n in enumerate(lanes) if n < max(lanes)]
    faults += [f"GPU {index} runs at PCIe {n:g}" for index, n in enumerate(found) if n < (wanted or 0)]
    unknown = "; the catalog does not know which generation is right" if wanted is None else ""
    return verdict(faults, f"{max(lanes):g} lanes, PCIe {min(found):g}{unknown}", wanted, [lanes, found])


def driver(node: Node) -> Answer:
    """A driver that is new enough."""
    wanted = node.want("driver_minimum")
    found = sorted({gpu["driver_version"] for gpu in gpus(node)})
    return min(map(_version, found)) >= _version(wanted), f"driver {', '.join(found)}", wanted, found


def ecc(node: Node) -> Answer:
    """No memory error that could not be corrected since the driver was loaded, and ECC is on to notice one."""
    node.want("ecc")
    modes = [gpu["ecc.mode.current"] for gpu in gpus(node)]
    faults = [f"ECC of GPU {index} is {mode}" for index, mode in enumerate(modes) if mode != "Enabled"]
    if not faults:
        errors = enumerate(_numbers(node, "ecc.errors.uncorrected.volatile.total"))
        faults = [f"GPU {index} has {n:g} uncorrected errors" for index, n in errors if n]
    return verdict(faults, "no uncorrected error", 0, faults)


def memory_repair(node: Node) -> Answer:
    """No repair of a GPU's memory that waits for a reset or has failed."""
    node.want("ecc")
    faults: List[str] = []
    for index, gpu in enumerate(driver_log(node)):
        told = {tag: (gpu.findtext(f".//{tag}") or "").strip() for tag in REPAIRS}
        if not {"Yes", "No"} & set(told.values()):
            raise CannotRunError(f"the driver does not tell what was repaired in the memory of GPU {index}")
        faults += [f"GPU {index}: {tag}" for tag, state in told.items() if state == "Yes"]
    return verdict(faults, "no repair is pending, none failed", [], faults)


def xid(node: Node) -> Answer:
    """No error in the kernel's log since the boot that means broken hardware."""
    codes: Dict[str, str] = node.want("xid")
    lines = kernel_log(node)
    seen = sorted({match.groups("") for match in map(ERROR.search, lines) if match})
    faults = [
        f"Xid {code} at {place}: {codes[code]}" for kind, place, code, _ in seen if kind == "Xid" and code in codes
    ]
    faults += [
        f"fatal NVSwitch error {code} at {place}" for kind, place, code, fatal in seen if kind == "SXid" and fatal
    ]
    return verdict(faults, f"none in {len(lines)} lines of the kernel's log", [], faults)


def kernel_log(node: Node) -> List[str]:
    """The kernel's log since the boot, from the journal, else from the kernel's own buffer.

    Raises:
        CannotRunError: Neither has it. A kernel that says nothing at all while it boots does not exist.
    """
    reasons: List[str] = []
    for command in (("journalctl", "-k", "-b", "--no-pager", "-o", "cat"), ("dmesg",)):
        try:
            lines = [line for line in node.ask(*command).splitlines() if line and not line.startswith("-- ")]
        except CannotRunError as reason:
            reasons.append(str(reason))
            continue
        if lines:
            return lines
        reasons.append(f"{command[0]} has no line of the kernel")
    raise CannotRunError("; ".join(reasons))


def _numbers(node: Node, field: str) -> List[float]:
    return [number(gpu[field], f"{field} of GPU {gpu['index']}") for gpu in gpus(node)]


def _version(text: str) -> Tuple[int, ...]:
    if not re.match(r"\d+(\.\d+)*$", text):
        raise CannotRunError(f"'{text[:80]}' is no version of a driver")
    return tuple(int(part) for part in text.split("."))
