"""The machines of a pool: instance types from hardware facts or from a type's name, and what would fit instead."""

from gpuyard.catalog import InstanceType, find_instance_types, gpu_models_named, gpus, instance_types, regions
from gpuyard.catalog.limits import limit, limit_values
from gpuyard.planning.images import IMAGE_VENDOR, is_own_image
from gpuyard.planning.offers import is_sold
from gpuyard.planning.plans import Place, PoolKind
from gpuyard.spec.node_pools import NodePoolSpec
from gpuyard.spec.problems import Path, Problem, did_you_mean, first_of

Chosen = tuple[tuple[InstanceType, ...], list[str], list[Problem]]

# The vendor images are for x86: an Arm machine has to be named.
_CPU_ARCH = "x86_64"
# 24 GB of memory are shown as 22.4 to 24 GiB.
SAME_MEMORY_SHARE = 0.1


def choose_types(spec: NodePoolSpec, kind: PoolKind, place: Place, path: Path) -> Chosen:
    """The instance types of a pool.

    Args:
        spec: What was asked for.
        kind: Kind of the pool.
        place: Cloud and region.
        path: Where the pool stands in the cluster description.

    Returns:
        One type, or all equivalent types for an elastic pool, smallest first, none when nothing fits; the
        reasons; and every problem found. A type that runs no vendor image comes with its problem.
    """
    if spec.gpu is not None and not gpu_models_named(spec.gpu):
        hint = did_you_mean(spec.gpu, [*gpus(), *_short_names()])
        message = f"the catalog knows no GPU called '{spec.gpu}'."
        remedy = f"{hint} Known on {place.cloud}: {', '.join(_gpus_on(place.cloud))}.".strip()
        return (), [], [Problem((*path, "gpu"), message, remedy)]
    if spec.instance_type is not None:
        return _named_type(spec, place, path)
    if spec.gpu is None:
        message = "names no hardware."
        return (), [], [Problem(path, message, "Give 'gpu' (and 'gpus_per_node') or 'instance_type'.")]
    return _fitting_types(spec, kind, place, path)


def _named_type(spec: NodePoolSpec, place: Place, path: Path) -> Chosen:
    wanted = str(spec.instance_type)
    row = instance_types(place.cloud).get(wanted)
    if row is None:
        message = f"the catalog knows no {place.cloud} instance type '{wanted}'."
        hint = did_you_mean(wanted, instance_types(place.cloud)) or "See the catalog for the known ones."
        return (), [], [Problem((*path, "instance_type"), message, hint)]
    problems = [] if _runs_the_image(row, spec, place.cloud) else [_vendor_problem(row, (*path, "instance_type"))]
    misfits = _misfits(spec, row)
    if misfits:
        fits = _what_fits(spec, row, place)
        return (), [], [*problems, *(Problem((*path, key), f"{wanted} {text}.", fits) for key, text in misfits)]
    return (row,), [f"{wanted} was named."], problems


def _what_fits(spec: NodePoolSpec, row: InstanceType, place: Place) -> str:
    # Those most like the named type come first: as many GPUs, joined alike.
    others = sorted(
        _candidates(spec, place.cloud, place.region),
        key=lambda other: (other.gpu_count != row.gpu_count, other.has_nvlink != row.has_nvlink),
    )
    if not others:
        return f"No type in {place.region} fits all that the pool asks for."
    return f"These fit: {first_of([other.instance_type for other in others])}."


def _runs_the_image(row: InstanceType, spec: NodePoolSpec, cloud: str) -> bool:
    return row.accelerator_vendor == IMAGE_VENDOR or is_own_image(spec, cloud)


def _vendor_problem(row: InstanceType, path: Path) -> Problem:
    own = limit(row.cloud, "own_image_prefix").values[0]
    message = (
        f"{row.instance_type} has accelerators of {row.accelerator_vendor} ({row.gpu_model}), and the vendor images "
        f"are for GPUs of {IMAGE_VENDOR}."
    )
    remedy = f"Give 'image: {own}…' with the software of {row.accelerator_vendor}, or choose GPUs of {IMAGE_VENDOR}."
    return Problem(path, message, remedy)


def _misfits(spec: NodePoolSpec, row: InstanceType) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if spec.gpu is not None and row.gpu_model not in gpu_models_named(spec.gpu):
        found.append(("gpu", f"has {row.gpu_model or 'unknown'} GPUs, not {spec.gpu}"))
    if spec.gpus_per_node is not None and row.gpu_count != spec.gpus_per_node:
        count = "an unknown number of" if row.gpu_count is None else row.gpu_count
        found.append(("gpus_per_node", f"has {count} GPUs, not {spec.gpus_per_node}"))
    if spec.bare_metal is not None and row.bare_metal is not spec.bare_metal:
        kind = "bare metal" if spec.bare_metal else "virtual"
        found.append(("bare_metal", f"is not {kind}{_unknown(row.bare_metal)}"))
    if spec.interconnect == "rdma" and row.has_rdma is not True:
        found.append(("interconnect", f"has no {limit(row.cloud, 'rdma_name').values[0]}{_unknown(row.has_rdma)}"))
    if spec.interconnect == "nvlink" and row.has_nvlink is not True:
        joined = row.gpu_interconnect or "an unknown link"
        found.append(("interconnect", f"joins its GPUs by {joined}, not NVLink"))
    return found


def _unknown(fact: bool | None) -> str:
    return ", as far as the catalog knows" if fact is None else ""


def _candidates(
    spec: NodePoolSpec, cloud: str, region: str | None, cpu_arch: str | None = _CPU_ARCH
) -> list[InstanceType]:
    """Types with whole GPUs that fit what was asked for, smallest first."""
    found = find_instance_types(
        cloud,
        gpu=spec.gpu,
        gpu_count=spec.gpus_per_node,
        interconnect="nvlink" if spec.interconnect == "nvlink" else None,
        rdma=True if spec.interconnect == "rdma" else None,
        region=region,
        bare_metal=spec.bare_metal,
        cpu_arch=cpu_arch,
    )
    # Types that exist only within an RDMA network of their own are no machines for other pools.
    if spec.interconnect != "rdma" and (only_rdma := limit_values(cloud, "rdma_only_type_prefixes")):
        found = [row for row in found if not row.instance_type.startswith(only_rdma)]
    # An accelerator of another vendor is given to nobody who did not name it.
    named = spec.gpu is not None and is_own_image(spec, cloud)
    return [row for row in found if row.gpu_partition == 1 and (named or row.accelerator_vendor == IMAGE_VENDOR)]


def _fitting_types(spec: NodePoolSpec, kind: PoolKind, place: Place, path: Path) -> Chosen:
    found = _candidates(spec, place.cloud, place.region)
    if not found:
        return (), [], [_other_vendor(spec, place, path) or _nothing_fits(spec, place, path)]
    # A type that is known not to be sold so is taken only where there is no other, and then refused by name.
    found = [row for row in found if is_sold(row, spec.purchase) is not False] or found
    first = found[0]
    # A reservation is of one type.
    if kind == "elastic" and spec.purchase in ("spot", "on_demand"):
        equal = _equivalent(first, found, spec, place)
        return tuple(equal), [_why_equivalent(equal)], []
    others = [row.instance_type for row in found[1:]]
    reason = f"{first.instance_type} is the smallest type in {place.region} that fits"
    reason += f" (others: {first_of(others)})." if others else "."
    return (first,), [reason], []


def _equivalent(first: InstanceType, found: list[InstanceType], spec: NodePoolSpec, place: Place) -> list[InstanceType]:
    """Types that a pool may mix with its first one: as many GPUs of the same model, or of the same memory."""
    if spec.mix == "gpu_memory":
        others = _candidates(spec.model_copy(update={"gpu": None}), place.cloud, place.region)
        found = [*found, *(row for row in others if row not in found and is_sold(row, spec.purchase) is not False)]
    equal = [
        row
        for row in found
        if (row.gpu_count, row.bare_metal) == (first.gpu_count, first.bare_metal)
        and (row.gpu_model == first.gpu_model or (spec.mix == "gpu_memory" and _same_memory(row, first)))
    ]
    return equal[: limit(place.cloud, "autoscaling_instance_types_max").values[0]]


def _same_memory(row: InstanceType, first: InstanceType) -> bool:
    """Whether two types' GPUs are of one class of memory; makers and clouds count 24 GB and 24 GiB alike."""
    if row.gpu_memory_gib is None or first.gpu_memory_gib is None:
        return False
    return abs(row.gpu_memory_gib - first.gpu_memory_gib) <= SAME_MEMORY_SHARE * first.gpu_memory_gib


def _why_equivalent(equal: list[InstanceType]) -> str:
    by_gpu: dict[str, list[str]] = {}
    for row in equal:
        by_gpu.setdefault(f"{row.gpu_count} × {row.gpu_model}", []).append(row.instance_type)
    parts = [f"{', '.join(names)}: each has {gpus}" for gpus, names in by_gpu.items()]
    return "; ".join(parts) + "."


def _other_vendor(spec: NodePoolSpec, place: Place, path: Path) -> Problem | None:
    rows = find_instance_types(place.cloud, gpu=spec.gpu)
    if not rows or any(_runs_the_image(row, spec, place.cloud) for row in rows):
        return None
    return _vendor_problem(rows[0], (*path, "gpu"))


def _nothing_fits(spec: NodePoolSpec, place: Place, path: Path) -> Problem:
    asked = {
        "gpu": spec.gpu,
        "gpus_per_node": spec.gpus_per_node,
        "interconnect": None if spec.interconnect == "none" else spec.interconnect,
        "bare_metal": spec.bare_metal,
    }
    shown = ", ".join(f"{key}: {value}" for key, value in asked.items() if value is not None)
    loosened = {
        "gpus_per_node": spec.model_copy(update={"gpus_per_node": None}),
        "interconnect": spec.model_copy(update={"interconnect": "none"}),
        "bare_metal": spec.model_copy(update={"bare_metal": None}),
    }
    near = [
        f"without '{key}': {first_of([row.instance_type for row in rows])}"
        for key, other in loosened.items()
        if other != spec and (rows := _candidates(other, place.cloud, place.region))
    ]
    anywhere = _candidates(spec, place.cloud, None)
    elsewhere = sorted({region for row in anywhere for region in row.regions or ()} - {place.region})
    if elsewhere:
        near.append(f"in other regions: {', '.join(elsewhere)}")
    arm = [row.instance_type for row in _candidates(spec, place.cloud, None, "arm64")]
    if arm:
        near.append(f"with Arm CPUs, to be named as 'instance_type' with an 'image' of your own: {first_of(arm)}")
    rows = find_instance_types(place.cloud, gpu=spec.gpu)
    if rows and not near:
        near.append(
            f"with other facts, to be named as 'instance_type': {first_of([row.instance_type for row in rows])}"
        )
    remedy = f"Nearest: {'; '.join(near)}." if near else "No region has one."
    if not regions(place.cloud)[place.region].offerings_known:
        remedy = f"The catalog does not know what {place.region} offers: name an 'instance_type'. {remedy}"
    return Problem((*path, "gpu"), f"no instance type in {place.region} has {shown}.", remedy)


def _gpus_on(cloud: str) -> list[str]:
    rows = [row for row in instance_types(cloud).values() if row.accelerator_vendor == IMAGE_VENDOR]
    return list(dict.fromkeys(row.gpu_model for row in rows if row.gpu_model is not None))


def _short_names() -> list[str]:
    return list(dict.fromkeys(name.split("-")[0] for name in gpus() if not name.startswith("RTX")))
