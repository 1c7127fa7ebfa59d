"""``gpuyard node``: this machine as a node of a cluster."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

node_app = typer.Typer(name="node", help="This machine as a node of a cluster.", no_args_is_help=True)

# What a finding means for the jobs, by check.
MEANINGS = {
    "gpu-count": "A job that asks for every GPU of a node does not start here, or runs with fewer ranks than planned.",
    "gpu-model": "Another GPU has another speed and memory: the slowest rank sets the pace of all.",
    "gpu-memory": "A job that fills the memory as planned ends with an out-of-memory error on this node alone.",
    "gpu-pcie": "A link that was trained too narrow or too slow starves its GPU of data, and with it every other rank.",
    "driver": "The CUDA of the jobs does not start, or lacks features, with an older driver.",
    "ecc": "Data in a GPU's memory was damaged and not repaired: results cannot be trusted, and more errors follow.",
    "memory-repair": "Bad memory is still in use until the GPU is reset, or can no longer be replaced at all.",
    "xid": "The driver has seen broken hardware since the boot: jobs hang or crash here, often hours later.",
    "nvlink": "Traffic between the GPUs of this node goes through fewer links, or over PCIe: up to ten times slower.",
    "fabric-manager": "Without it CUDA does not start on GPUs behind NVSwitches (error 802).",
    "rdma": "NCCL falls back to TCP without a word, or hangs: training over several nodes is many times slower.",
    "rdma-library": "The devices are there and programs cannot use them: NCCL falls back to TCP.",
    "mtu": "Frames of another size than the network's are dropped or cut up, and some protocols damage data.",
    "mount": "Jobs would write checkpoints to the root disk, which is small and goes with the node.",
    "mount-speed": "Every rank waits for this node to read its data and to write its checkpoint.",
    "clock": "The cloud refuses signed requests, certificates seem invalid, and logs of nodes cannot be compared.",
    "disk-room": "Container images and logs fill the disk, and then everything stops.",
    "memlock": "RDMA and pinned memory fail with 'cannot allocate memory'.",
    "huge-pages": "Libraries that need them do not start, EFA's among them.",
    "containers": "Containers start without a GPU.",
    "expected": "Without a list of what this node must have, nothing can be checked.",
}

_NOT_TOLD = "None of these can be told of this machine."
# What brings a command back that several checks ask, by command.
_REPAIRS = {
    "nvidia-smi": "Install NVIDIA's driver; if it was there before, the kernel's log says why it no longer loads.",
    "systemctl": "This machine runs without systemd, or under a manager that is stuck: reboot.",
    "findmnt": "Install util-linux.",
}


@node_app.callback()
def node() -> None:
    """This machine as a node of a cluster."""


@node_app.command()
def doctor(
    expect: Annotated[
        Path | None,
        typer.Option(
            help="What this node must have (JSON).", show_default="/etc/gpuyard/expected.json", metavar="FILE"
        ),
    ] = None,
    instance_type: Annotated[
        str | None,
        typer.Option("--type", help="Expect what the catalog says of this instance type.", metavar="INSTANCE_TYPE"),
    ] = None,
    output: Annotated[str, typer.Option("--format", "-f", help="table or json.", metavar="FORMAT")] = "table",
) -> None:
    """Run the health checks of this node by hand and explain what they found. Nothing is reported to the cloud."""
    from gpuyard.cli.choice import checked_format
    from gpuyard.node import health

    chosen = checked_format(output, ("table", "json"))
    checks = health.run(_expectations(expect, instance_type))
    if chosen == "json":
        found = health.summary(checks)
        rows = [{**check, "means": MEANINGS[check["id"]]} for check in found["checks"]]
        typer.echo(json.dumps({**found, "checks": rows}, indent=2))
    else:
        _explain(checks)
    if not health.is_healthy(checks):
        raise typer.Exit(1)


def _expectations(file: Path | None, instance_type: str | None) -> dict[str, Any]:
    """What is expected of this machine.

    Raises:
        SpecError: Nothing says so, or what says so cannot be read.
    """
    from gpuyard.node import health
    from gpuyard.node.health_probe import CannotRunError
    from gpuyard.spec.problems import Problem, SpecError

    if instance_type is not None:
        if file is not None:
            message = "both say what this node must have."
            raise SpecError([Problem(("--expect",), f"--expect and --type {message}", "Give one of them.")])
        from gpuyard.catalog.selection import find_type
        from gpuyard.planning.node_health import NodeDemands, expected_of

        row = find_type(instance_type)
        return expected_of(row, NodeDemands(rdma=row.has_rdma is True))
    path = str(file or health.EXPECTED)
    try:
        return health.expectations(path)
    except CannotRunError as reason:
        message = f"nothing says what this node must have: {reason}{_without_driver()}."
        remedy = "Give --type with the node's instance type, or --expect with the file of a node of its pool."
        raise SpecError([Problem(("--expect",), message, remedy)]) from None


def _without_driver() -> str:
    import shutil

    return "" if shutil.which("nvidia-smi") else "; and this machine has no nvidia-smi, so no GPU driver"


def _explain(checks: list[Any]) -> None:
    from gpuyard.cli.catalog_output import print_facts, print_table, say
    from gpuyard.node.health import is_healthy

    print_table(
        ("check", "state", "found"), [(check.id, check.state.replace("_", " "), check.message) for check in checks]
    )
    bad = [check for check in checks if check.is_bad]
    for same in _grouped(bad):
        check, state = same[0], same[0].state.replace("_", " ")
        if len(same) > 1:
            facts = [("says", check.message), ("means", _NOT_TOLD), ("do", _remedy(check.message))]
        else:
            seen = (("expected", check.expected), ("found", check.found))
            told = [(name, _plain(value)) for name, value in seen if value not in (None, [])]
            facts = [("says", check.message), *told, ("means", MEANINGS[check.id]), ("do", check.remedy)]
        print_facts(f"{', '.join(one.id for one in same)}: {state}", facts)
    skipped = sum(check.state == "not_wanted" for check in checks)
    passed = sum(check.state == "pass" for check in checks)
    if is_healthy(checks):
        say(f"healthy: {passed} checks passed, {skipped} do not apply.")
    elif not bad:
        say("unhealthy: no check applied, so nothing is known of this machine.")
    else:
        say(f"unhealthy: {len(bad)} of {len(bad) + passed} checks failed or could not run, {skipped} do not apply.")


def _remedy(message: str) -> str:
    """What to do about a command that several checks ask."""
    command = message.split()[0]
    return f"{_REPAIRS.get(command, 'Repair it.')} Run '{command}' by hand, as root, until it answers."


def _grouped(checks: list[Any]) -> list[list[Any]]:
    """One command that does not answer is one finding, not one for each check that asks it."""
    found: dict[str, list[Any]] = {}
    for check in checks:
        found.setdefault(check.message if check.state == "cannot_run" else check.id, []).append(check)
    return list(found.values())


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
