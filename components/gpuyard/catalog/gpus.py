"""GPU models and the names people use for them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from gpuyard.catalog._data import read_rows


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU model; ``None`` is unknown.

    Tensor rates (``*_tflops``) are dense. ``nvlink_gb_per_s`` is the sum of both directions of one GPU in GB/s,
    ``nvlink_link_gb_per_s`` one direction of one of its ``nvlink_links`` links; ``memory_bandwidth_gb_per_s`` is in
    GB/s, ``memory_gib`` the nominal size in GiB. ``aliases`` are other names of the same class. ``lacks`` names the
    fields that are ``None`` because the hardware has no such thing (a T4 has no NVLink), which is known. ``source``
    and ``as_of`` say where and when the row was read.
    """

    model: str
    vendor: str
    architecture: str | None
    memory_gib: float | None
    memory_bandwidth_gb_per_s: float | None
    fp16_dense_tflops: float | None
    bf16_dense_tflops: float | None
    fp8_dense_tflops: float | None
    fp32_tflops: float | None
    fp64_tflops: float | None
    nvlink_generation: int | None
    nvlink_gb_per_s: float | None
    nvlink_links: int | None
    nvlink_link_gb_per_s: float | None
    compute_capability: str | None
    pcie_gen: int | None
    mig: bool | None
    mig_max_instances: int | None
    min_cuda: str | None
    max_cuda: str | None
    note: str | None
    source: str
    aliases: tuple[str, ...]
    as_of: str
    lacks: tuple[str, ...] = ()


@cache
def gpus() -> dict[str, Gpu]:
    """Every GPU model of the catalog by its full name, such as ``A100-SXM4-80GB``."""
    return {row["model"]: Gpu(**row) for row in read_rows("gpus.json")}


def gpu_models_named(name: str) -> tuple[str, ...]:
    """Full names of the models that a person's short name covers.

    ``A100`` covers every A100, ``A100-80GB`` those with 80 GB, ``A10`` also its AWS variant A10G. Case, blanks and
    underscores do not matter.

    Args:
        name: What a person wrote.

    Returns:
        Full model names in catalog order; empty when the catalog knows no such GPU.
    """
    wanted = _parts(name)
    return tuple(
        gpu.model for gpu in gpus().values() if wanted and any(wanted <= _parts(known) for known in _names(gpu))
    )


def _names(gpu: Gpu) -> Iterable[str]:
    yield gpu.model
    yield from gpu.aliases


def _parts(name: str) -> frozenset[str]:
    return frozenset(part for part in name.upper().replace("_", "-").replace(" ", "-").split("-") if part)
