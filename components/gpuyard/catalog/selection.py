"""Choosing instance types over all clouds by what is asked for, and counting what cannot be told."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gpuyard.catalog.gpus import Gpu, gpu_models_named, gpus
from gpuyard.catalog.instance_types import CLOUDS_WITH_TYPES, InstanceType, instance_types
from gpuyard.catalog.regions import regions
from gpuyard.spec.problems import Problem, SpecError, did_you_mean, one_of

VRAM_MAX_GIB = 10_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an instance type must have; what is left out does not matter.

    Attributes:
        clouds: Clouds to look at; all when empty.
        gpu: A GPU's full or short name.
        nvlink: GPUs of the node joined by NVLink or NVSwitch, or not.
        rdma: With or without an RDMA network.
        min_vram_gib: Least memory of one GPU (or slice of one) in GiB.
        region: Offered in this region.
        bare_metal: Bare metal or virtual.
        spot: Sold as spot or not.
    """

    clouds: tuple[str, ...] = ()
    gpu: str | None = None
    nvlink: bool | None = None
    rdma: bool | None = None
    min_vram_gib: float | None = None
    region: str | None = None
    bare_metal: bool | None = None
    spot: bool | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """Types that are known to match, by cloud and size, and what could not be told.

    Attributes:
        rows: Types that match every condition.
        unknown: How many types were left out because a fact is unknown and nothing else speaks against them, by the
            name of the fact; a type with two unknown facts counts under both.
        left_out: How many types that are.
    """

    rows: tuple[InstanceType, ...]
    unknown: dict[str, int]
    left_out: int


def select_types(wanted: Wanted) -> Selection:
    """Instance types that match.

    Args:
        wanted: The conditions.

    Returns:
        What matches for sure, and what cannot be told.

    Raises:
        SpecError: A cloud, GPU or region that the catalog does not know, or a memory that makes no sense; all
            problems together.
    """
    clouds = _checked_clouds(wanted)
    models = None if wanted.gpu is None else gpu_models_named(wanted.gpu)
    found: list[InstanceType] = []
    unknown: Counter[str] = Counter()
    left_out = 0
    for cloud in clouds:
        for row in instance_types(cloud).values():
            answers = dict(_answers(row, wanted, models))
            if False in answers.values():
                continue
            open_facts = [fact for fact, answer in answers.items() if answer is None]
            if open_facts:
                unknown.update(open_facts)
                left_out += 1
            else:
                found.append(row)
    found.sort(key=lambda row: (clouds.index(row.cloud), _size(row), row.instance_type))
    return Selection(tuple(found), dict(unknown), left_out)


def known_clouds(names: Sequence[str]) -> tuple[str, ...]:
    """Clouds of the catalog in its order, limited to the named ones; all when none is named.

    Raises:
        SpecError: A name is no cloud of the catalog.
    """
    problems = [_cloud_problem(name) for name in names if name not in CLOUDS_WITH_TYPES]
    if problems:
        raise SpecError(problems)
    return tuple(cloud for cloud in CLOUDS_WITH_TYPES if not names or cloud in names)


def find_type(name: str) -> InstanceType:
    """One instance type of any cloud by name; case does not matter.

    Raises:
        SpecError: No cloud of the catalog has it; the nearest name is suggested.
    """
    known = {row.instance_type.lower(): row for cloud in CLOUDS_WITH_TYPES for row in instance_types(cloud).values()}
    row = known.get(name.lower())
    if row is None:
        hint = did_you_mean(name, [row.instance_type for row in known.values()])
        remedy = f"{hint} 'gpuyard catalog list' shows the {len(known)} types of {one_of(CLOUDS_WITH_TYPES)}.".strip()
        raise SpecError([Problem((), f"the catalog knows no instance type '{name}'.", remedy)])
    return row


def find_gpus(name: str) -> tuple[Gpu, ...]:
    """GPU models that a name covers.

    Raises:
        SpecError: The catalog knows no such GPU; the nearest name is suggested.
    """
    models = gpu_models_named(name)
    if not models:
        raise SpecError([unknown_gpu(name)])
    return tuple(gpus()[model] for model in models)


def unknown_gpu(name: str) -> Problem:
    """The problem of a GPU that the catalog does not know."""
    classes = list(dict.fromkeys(model.split("-")[0] for model in gpus()))
    hint = did_you_mean(name, [*classes, *gpus()])
    return Problem((), f"the catalog knows no GPU '{name}'.", hint or f"Known: {one_of(classes)}.")


def clouds_renting(model: str) -> tuple[str, ...]:
    """Clouds that have an instance type with this GPU model."""
    return tuple(
        cloud for cloud in CLOUDS_WITH_TYPES if any(row.gpu_model == model for row in instance_types(cloud).values())
    )


def nearest_rented(gpu: Gpu, clouds: Sequence[str]) -> Gpu | None:
    """The GPU that these clouds rent and that comes nearest in memory and dense 16-bit tensor rate.

    Args:
        gpu: The GPU that was asked for.
        clouds: Where to look.

    Returns:
        The nearest by the product of the ratios of memory and rate; ``None`` when the asked GPU's memory or rate is
        unknown, or nothing with known figures is rented.
    """
    rate = gpu.bf16_dense_tflops or gpu.fp16_dense_tflops
    if gpu.memory_gib is None or rate is None:
        return None
    best: tuple[float, Gpu] | None = None
    for other in gpus().values():
        other_rate = other.bf16_dense_tflops or other.fp16_dense_tflops
        if other.memory_gib is None or other_rate is None or not set(clouds_renting(other.model)) & set(clouds):
            continue
        apart = _ratio(gpu.memory_gib, other.memory_gib) * _ratio(rate, other_rate)
        if best is None or apart < best[0]:
            best = (apart, other)
    return None if best is None else best[1]


def _ratio(one: float, other: float) -> float:
    return max(one / other, other / one)


def _size(row: InstanceType) -> tuple[float, float]:
    return (row.gpu_memory_gib or 0) * (row.gpu_count or 0), row.vcpus or 0


def _answers(row: InstanceType, wanted: Wanted, models: tuple[str, ...] | None) -> Iterator[tuple[str, bool | None]]:
    if models is not None:
        yield "GPU", _has_one_of(row, models)
    if wanted.nvlink is not None:
        yield "link between GPUs", _same(row.has_nvlink, wanted.nvlink)
    if wanted.rdma is not None:
        yield "RDMA", _same(row.has_rdma, wanted.rdma)
    if wanted.min_vram_gib is not None:
        yield "GPU memory", None if row.gpu_memory_gib is None else row.gpu_memory_gib >= wanted.min_vram_gib
    if wanted.region is not None:
        yield "region", row.offered_in(wanted.region)
    if wanted.bare_metal is not None:
        yield "bare metal", _same(row.bare_metal, wanted.bare_metal)
    if wanted.spot is not None:
        yield "spot", _same(row.spot, wanted.spot)


def _has_one_of(row: InstanceType, models: tuple[str, ...]) -> bool | None:
    if row.gpu_model is not None:
        return row.gpu_model in models
    # A GPU whose name the cloud withholds can still be told apart by its vendor and memory.
    possible = [
        gpu
        for gpu in (gpus()[model] for model in models)
        if gpu.vendor == row.accelerator_vendor and row.gpu_memory_gib in (None, gpu.memory_gib)
    ]
    return None if possible else False


def _same(fact: bool | None, wanted: bool) -> bool | None:
    return None if fact is None else fact is wanted


def _checked_clouds(wanted: Wanted) -> tuple[str, ...]:
    checks: tuple[Callable[[Wanted], Problem | None], ...] = (_gpu_problem, _vram_problem, _region_problem)
    problems = [_cloud_problem(cloud) for cloud in wanted.clouds if cloud not in CLOUDS_WITH_TYPES]
    problems.extend(problem for check in checks if (problem := check(wanted)) is not None)
    if problems:
        raise SpecError(problems)
    clouds = known_clouds(wanted.clouds)
    return clouds if wanted.region is None else tuple(cloud for cloud in clouds if wanted.region in regions(cloud))


def _cloud_problem(cloud: str) -> Problem:
    hint = did_you_mean(cloud, CLOUDS_WITH_TYPES)
    return Problem(
        ("--cloud",), f"'{cloud}' is no cloud of the catalog.", f"{hint} Allowed: {one_of(CLOUDS_WITH_TYPES)}.".strip()
    )


def _gpu_problem(wanted: Wanted) -> Problem | None:
    if wanted.gpu is None or gpu_models_named(wanted.gpu):
        return None
    problem = unknown_gpu(wanted.gpu)
    return Problem(("--gpu",), problem.message, problem.remedy)


def _vram_problem(wanted: Wanted) -> Problem | None:
    if wanted.min_vram_gib is None or 0 < wanted.min_vram_gib <= VRAM_MAX_GIB:
        return None
    largest = max(gpu.memory_gib or 0 for gpu in gpus().values())
    remedy = f"Give GiB of one GPU, more than 0; the largest of the catalog has {largest:g}."
    return Problem(("--min-vram",), f"{wanted.min_vram_gib:g} GiB makes no sense.", remedy)


def _region_problem(wanted: Wanted) -> Problem | None:
    if wanted.region is None:
        return None
    asked = [cloud for cloud in CLOUDS_WITH_TYPES if not wanted.clouds or cloud in wanted.clouds]
    if not asked or any(wanted.region in regions(cloud) for cloud in asked):
        return None
    message = f"'{wanted.region}' is no region of {one_of(asked)}."
    owners = [cloud for cloud in CLOUDS_WITH_TYPES if wanted.region in regions(cloud)]
    if owners:
        return Problem(("--region",), message, f"It is a region of {one_of(owners)}.")
    known = [region for cloud in asked for region in regions(cloud)]
    return Problem(("--region",), message, did_you_mean(wanted.region, known) or f"Known: {one_of(known)}.")
