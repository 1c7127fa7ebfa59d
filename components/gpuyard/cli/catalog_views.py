"""What the commands of ``gpuyard catalog`` show."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Any

from gpuyard.catalog import Gpu, InstanceType, gpus
from gpuyard.catalog.corrections import Correction, corrections_for
from gpuyard.catalog.instance_types import CLOUDS_WITH_TYPES, about_instance_types
from gpuyard.catalog.prices import PriceBook
from gpuyard.catalog.selection import (
    Selection,
    Wanted,
    clouds_renting,
    find_gpus,
    find_type,
    nearest_rented,
    select_types,
)
from gpuyard.catalog.topology import Part, node_parts, topology_of
from gpuyard.cli.catalog_output import (
    Format,
    note,
    plain,
    print_csv,
    print_facts,
    print_json,
    print_table,
    print_tree,
    say,
    shown,
)
from gpuyard.cli.catalog_prices import price_table
from gpuyard.spec.problems import Problem, SpecError

_LINKS = {"nvswitch": "NVSwitch", "nvlink": "NVLink", "pcie": "PCIe", "none": "-"}
_GPU_COLUMNS = (
    "memory_gib",
    "memory_bandwidth_gb_per_s",
    "bf16_dense_tflops",
    "fp16_dense_tflops",
    "fp8_dense_tflops",
    "nvlink_gb_per_s",
    "compute_capability",
    "pcie_gen",
    "min_cuda",
)
_LEGEND = (
    "GiB: memory of one GPU. link: between the GPUs of a node, GB/s of one GPU, both directions together. RDMA, net: "
    "Gbps of the node. NVMe: local, TB of the node. - none, ? unknown, ≤ at most, in bursts."
)
_IN_TITLE = {"cloud", "instance_type", "model"}
_OF_AWS_ONLY = {"capacity_block", "ebs_bandwidth_mbps", "ebs_max_iops", "zone_ids"}


def list_types(wanted: Wanted, output: Format) -> None:
    """Instance types that match, and how many were left out for an unknown fact."""
    selection = select_types(wanted)
    if output == "json":
        print_json([plain(row) for row in selection.rows])
    elif output == "csv":
        print_csv([plain(row) for row in selection.rows], [field.name for field in fields(InstanceType)])
    else:
        for cloud, rows in groupby(selection.rows, key=lambda row: row.cloud):
            _type_table(cloud, list(rows))
        if selection.rows:
            say(_LEGEND)
    tell = say if output == "table" else note
    for line in _about_selection(wanted, selection):
        tell(line)


def show_type(name: str, prices: Path | None, output: Format, today: date) -> None:
    """One instance type in full."""
    row = find_type(name)
    book = PriceBook.load(prices)
    gpu = None if row.gpu_model is None else gpus().get(row.gpu_model)
    corrected = corrections_for(row.gpu_model, row.family)
    quotes = book.quotes(row.cloud, row.instance_type)
    if output == "json":
        print_json(
            {
                "instance_type": plain(row),
                "about": about_instance_types(row.cloud),
                "gpu": None if gpu is None else plain(gpu),
                "corrections": [plain(each) for each in corrected],
                "prices": [{**plain(quote), "stale": quote.is_stale(today)} for quote in quotes],
            }
        )
    elif output == "csv":
        facts = [*plain(row).items(), *((f"gpu.{key}", value) for key, value in (plain(gpu) if gpu else {}).items())]
        print_csv([{"fact": key, "value": value} for key, value in facts], ["fact", "value"])
    else:
        _facts_of(f"{row.instance_type} ({row.cloud})", row)
        say(f"All types of {row.cloud}: {about_instance_types(row.cloud)}")
        if gpu is not None:
            _facts_of(f"GPU {gpu.model}", gpu)
        _show_corrections(corrected)
        price_table(quotes, book.origin, today)


def compare_types(names: Sequence[str], output: Format) -> None:
    """Instance types side by side."""
    rows = list({(row.cloud, row.instance_type): row for row in map(find_type, names)}.values())
    if len(rows) < 2:
        raise SpecError([Problem((), "a comparison needs two instance types or more.", "Name them one after another.")])
    facts = {name: [plain(row)[name] for row in rows] for name in plain(rows[0]) if name != "instance_type"}
    if output == "json":
        print_json([plain(row) for row in rows])
        return
    head = [row.instance_type for row in rows]
    if output == "csv":
        table = [{"fact": fact, **dict(zip(head, values, strict=True))} for fact, values in facts.items()]
        print_csv(table, ["fact", *head])
        return
    lines = [
        ["*" if len(set(values)) > 1 else "", fact, *values]
        for fact, values in facts.items()
        if fact not in {"source", "note", "zone_ids"}
    ]
    print_table(["", "fact", *head], lines, whole=2)
    say("* differs. ? is unknown. Notes and sources: gpuyard catalog show TYPE.")


def show_topology(name: str, output: Format) -> None:
    """A node's parts as a drawing."""
    row = find_type(name)
    part, known = node_parts(row), topology_of(row)
    if output == "json":
        print_json({"node": _nested(part), "source": None if known is None else known.source})
    elif output == "csv":
        print_csv(_flat(part), ["depth", "part"])
    else:
        print_tree(part)
        if known is None:
            say("No file or page that gives the layout of this type was found.")
        else:
            say(" ".join(text for text in (known.note, f"Source: {known.source} ({known.as_of}).") if text))


def list_gpus(name: str | None, output: Format) -> None:
    """GPU models, or those that a name covers in full."""
    models = tuple(gpus().values()) if name is None else find_gpus(name)
    if output == "json":
        print_json([{**plain(gpu), "rented_by": clouds_renting(gpu.model)} for gpu in models])
    elif output == "csv":
        print_csv([plain(gpu) for gpu in models], [field.name for field in fields(Gpu)])
    elif name is None:
        _gpu_table(models)
    else:
        for gpu in models:
            _facts_of(f"GPU {gpu.model}", gpu)
            say(f"Rented by: {', '.join(clouds_renting(gpu.model)) or 'no cloud of the catalog'}.")
            _show_corrections(corrections_for(gpu.model))


def _type_table(cloud: str, rows: Sequence[InstanceType]) -> None:
    head = ["type", "GPUs", "GiB", "link", "RDMA", "net", "NVMe", "metal", "spot"]
    print_table(
        head,
        [
            [
                row.instance_type,
                f"{shown(row.gpu_count)} × {_gpu_name(row)}",
                row.gpu_memory_gib,
                _link(row),
                _rdma(row),
                _network(row),
                _nvme(row),
                row.bare_metal,
                row.spot,
            ]
            for row in rows
        ],
        title=f"{cloud} ({len(rows)})",
        whole=2,
        right=("GiB", "net", "NVMe"),
    )


def _gpu_name(row: InstanceType) -> str:
    share = "" if row.gpu_partition in (None, 1) else f"{row.gpu_partition:g} of "
    return share + shown(row.gpu_model)


def _link(row: InstanceType) -> str:
    link = _LINKS.get(row.gpu_interconnect or "", "?")
    if row.has_nvlink is not True:
        return link
    return f"{link} {shown(row.nvlink_gb_per_s_per_gpu)}"


def _rdma(row: InstanceType) -> str:
    if row.rdma is None or row.rdma == "none":
        return "?" if row.rdma is None else "-"
    return f"{row.rdma} {shown(row.rdma_gbps)}"


def _network(row: InstanceType) -> str:
    return ("≤ " if row.network_burst else "") + shown(row.network_gbps)


def _nvme(row: InstanceType) -> str:
    if row.local_nvme_count == 0:
        return "-"
    if row.local_nvme_count is None or row.local_nvme_gb_each is None:
        return "?"
    return f"{row.local_nvme_count * row.local_nvme_gb_each / 1000:.1f}"


def _about_selection(wanted: Wanted, selection: Selection) -> list[str]:
    lines: list[str] = []
    if not selection.rows:
        lines.append("No instance type is known to match.")
        lines.extend(_not_rented(wanted))
    if selection.left_out:
        count = selection.left_out
        facts = ", ".join(f"{fact} ({number})" for fact, number in selection.unknown.items())
        more = "1 more type may match" if count == 1 else f"{count} more types may match"
        lines.append(f"{more}: the catalog does not know their {facts}.")
    return lines


def _not_rented(wanted: Wanted) -> list[str]:
    if wanted.gpu is None:
        return []
    clouds = wanted.clouds or CLOUDS_WITH_TYPES
    lines: list[str] = []
    for gpu in find_gpus(wanted.gpu):
        if set(clouds_renting(gpu.model)) & set(clouds):
            continue
        near = nearest_rented(gpu, clouds)
        nearest = "" if near is None else f" The nearest in memory and rate is {near.model}."
        nobody = f"{clouds[0]} does not rent" if len(clouds) == 1 else f"None of {', '.join(clouds)} rents"
        lines.append(f"{nobody} {gpu.model}.{nearest}")
    return lines


def _facts_of(title: str, row: Any) -> None:
    facts = plain(row)
    hidden = _IN_TITLE if facts.get("cloud", "aws") == "aws" else _IN_TITLE | _OF_AWS_ONLY
    facts = {name: value for name, value in facts.items() if name not in hidden}
    if isinstance(row, Gpu):
        facts |= dict.fromkeys(row.lacks, "none")
        del facts["lacks"]
    print_facts(title, facts.items())


def _show_corrections(corrected: Sequence[Correction]) -> None:
    for each in corrected:
        print_facts(
            f"Often said wrong: {each.fact}",
            [("claim", each.claim), ("right", each.right), ("why", each.why), ("source", each.source)],
        )


def _gpu_table(models: Sequence[Gpu]) -> None:
    head = ["GPU", "GiB", "GB/s", "BF16", "FP16", "FP8", "NVLink", "CC", "PCIe", "CUDA", "MIG", "rented by"]
    short = {"aws": "aws", "alicloud": "ali", "tencentcloud": "tencent"}
    print_table(
        head,
        [
            [
                gpu.model,
                *(_gpu_cell(gpu, name) for name in _GPU_COLUMNS),
                gpu.mig_max_instances or ("-" if gpu.mig is False else None),
                " ".join(short[cloud] for cloud in clouds_renting(gpu.model)) or "-",
            ]
            for gpu in models
        ],
        right=("GiB", "GB/s", "BF16", "FP16", "FP8", "NVLink", "CC", "PCIe", "CUDA", "MIG"),
    )
    say(
        "BF16, FP16, FP8: dense tensor TFLOPS. NVLink: GB/s of one GPU, both directions together. CC: compute "
        "capability. CUDA: first release for it. MIG: most instances. - none, ? unknown. In full with sources: gpuyard "
        "catalog gpus NAME."
    )


def _gpu_cell(gpu: Gpu, name: str) -> Any:
    return "-" if name in gpu.lacks else getattr(gpu, name)


def _nested(part: Part) -> dict[str, Any]:
    return {"part": part.label, "parts": [_nested(inner) for inner in part.parts]}


def _flat(part: Part, depth: int = 0) -> list[dict[str, Any]]:
    return [{"depth": depth, "part": part.label}, *(row for inner in part.parts for row in _flat(inner, depth + 1))]
