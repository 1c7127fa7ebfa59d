"""Checks of the machine around the GPUs: mounts, disks, clock, memory limits, containers."""

import json
import os
import re
import shutil
import time
from typing import Any, Dict, List

from gpuyard.node import commands
from gpuyard.node.health_probe import Answer, CannotRunError, Node, number, verdict

# Older systemd prints the largest number instead of the word.
UNLIMITED = ("infinity", str(2**64 - 1))
BLOCK_MIB = 4


def mounts(node: Node) -> Answer:
    """Every file system is mounted where jobs look for it, and is of the right type."""
    wanted, there = node.want("mounts"), _mounted(node)
    faults: List[str] = []
    for mount in wanted:
        found = there.get(mount["path"])
        if found is None:
            faults.append(f"{mount['path']} is no mount point")
        elif mount.get("type") not in (None, found):
            faults.append(f"{mount['path']} is {found} instead of {mount['type']}")
    return verdict(faults, f"mounted: {', '.join(mount['path'] for mount in wanted)}", wanted, faults)


def _mounted(node: Node) -> Dict[str, str]:
    """The type of each mounted file system by its path; none of them is touched."""
    lines = [line.split() for line in node.ask("findmnt", "-rn", "-o", "TARGET,FSTYPE").splitlines()]
    if "/" not in [line[0] for line in lines if len(line) == 2]:
        raise CannotRunError(f"findmnt does not know the root: {lines[:1]}")
    return {line[0]: line[1] for line in lines if len(line) == 2}


def mount_speed(node: Node) -> Answer:
    """Every file system takes and gives back what is written, faster than its floor."""
    wanted, there = node.want("mounts"), _mounted(node)
    faults: List[str] = []
    found: List[str] = []
    for mount in wanted:
        path, floors = mount["path"], {way: mount.get(f"{way}_mb_per_s") or 0 for way in ("write", "read")}
        try:
            if path not in there:
                raise CannotRunError("no mount point")
            speeds = _speeds(path, max(floors.values()), node.seconds)
        except (CannotRunError, commands.CommandError) as reason:
            faults.append(f"{path}: {reason}")
            continue
        found += [f"{path}: {way} {speed:.0f} MB/s" for way, speed in speeds.items()]
        slow = [way for way, floor in floors.items() if speeds[way] < floor]
        faults += [f"{path}: {way} {speeds[way]:.0f} MB/s, below {floors[way]:g}" for way in slow]
    return verdict(faults, ", ".join(found), wanted, found)


def _speeds(folder: str, floor: float, seconds: float) -> Dict[str, float]:
    """MB/s of writing and reading a file, which is removed whatever happens."""
    # What the floor moves in two seconds: enough to measure, little for the others on the file system.
    blocks = int(min(256, max(32, 2 * floor))) // BLOCK_MIB
    name = os.path.join(folder, f".gpuyard-health-{os.uname()[1]}-{os.getpid()}")
    size = [f"bs={BLOCK_MIB}M", f"count={blocks}"]
    try:
        # Some file systems have no way past the cache: written there, a file is at least flushed.
        try:
            write = _timed(["dd", "if=/dev/zero", f"of={name}", "oflag=direct", "conv=fsync", *size], seconds)
            direct = ["iflag=direct"]
        except commands.CommandError as error:
            if "Invalid argument" not in str(error):
                raise
            write = _timed(["dd", "if=/dev/zero", f"of={name}", "conv=fsync", *size], seconds)
            direct = ["iflag=nocache"]
        read = _timed(["dd", f"if={name}", "of=/dev/null", *direct, *size], seconds)
    finally:
        commands.run(["rm", "-f", name], seconds)
    return {way: blocks * BLOCK_MIB * 1.048576 / taken for way, taken in (("write", write), ("read", read))}


def _timed(words: List[str], seconds: float) -> float:
    start = time.monotonic()
    commands.run(words, seconds)
    return time.monotonic() - start


def clock(node: Node) -> Answer:
    """The clock follows a time server, and is no further from it than jobs and signatures bear."""
    wanted = node.want("clock", "offset_ms")
    if "NTPSynchronized=yes" not in node.ask("timedatectl", "show", "-p", "NTPSynchronized").split():
        return False, "the clock follows no time server", wanted, None
    if shutil.which("chronyc") is None:
        return True, "in sync; without chrony its offset is not told", wanted, None
    cells = node.ask("chronyc", "-c", "tracking").strip().split(",")
    if len(cells) < 13:
        raise CannotRunError(f"chronyc says '{','.join(cells)[:80]}'")
    found, leap = abs(number(cells[-10], "the clock's offset")) * 1000, cells[-1]
    return found <= wanted and leap != "Not synchronised", f"{found:.3f} ms off, {leap}", wanted, found


def disk_room(node: Node) -> Answer:
    """Room on the disks that jobs and containers fill."""
    wanted = node.want("disks")
    found = {disk["path"]: _free_gib(node, disk["path"]) for disk in wanted}
    told = {path: f"{path} has {gib:.1f} GiB free" for path, gib in found.items()}
    faults = [
        f"{told[disk['path']]} of {disk['free_gib']:g}" for disk in wanted if found[disk["path"]] < disk["free_gib"]
    ]
    return verdict(faults, ", ".join(told.values()), wanted, found)


def _free_gib(node: Node, path: str) -> float:
    text = node.ask("df", "-Pk", path).strip()
    cells = text.splitlines()[-1].split() if text else []
    if len(cells) != 6:
        raise CannotRunError(f"df says '{text[:80]}'")
    return number(cells[3], f"the room of {path}") / 2**20


def memlock(node: Node) -> Answer:
    """Jobs that systemd or a container runtime starts may pin as much memory as they like, as RDMA has to."""
    node.want("memlock")
    name, _, found = node.ask("systemctl", "show", "-p", "DefaultLimitMEMLOCK").strip().partition("=")
    return found in UNLIMITED, f"{name} is {found or 'not told'}", "infinity", found


def huge_pages(node: Node) -> Answer:
    """Huge pages of 2 MiB, as many as the pool asks for."""
    wanted = node.want("huge_pages")
    found = number(node.read("kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"), "the number of huge pages")
    return found >= wanted, f"{found:g} huge pages", wanted, found


def containers(node: Node) -> Answer:
    """Docker knows NVIDIA's runtime, and that one sees every GPU."""
    node.want("containers")
    text = node.ask("docker", "info", "--format", "{{json .Runtimes}}").strip()
    try:
        runtimes: Any = json.loads(text)
    except ValueError:
        raise CannotRunError(f"docker info says '{text[:80]}'") from None
    if not isinstance(runtimes, dict) or "nvidia" not in runtimes:
        return False, "Docker has no runtime 'nvidia'", "nvidia", text
    seen = len(re.findall(r"^Device Index:", node.ask("nvidia-container-cli", "info"), re.MULTILINE))
    wanted = node.known("gpu", "count")
    return seen > 0 and wanted in (None, seen), f"containers see {seen} GPUs", wanted, seen
