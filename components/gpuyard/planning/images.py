"""The image that nodes start from: one that fits the machine's CPU and its accelerators."""

from gpuyard.catalog import InstanceType, NodeImage, gpus, node_images
from gpuyard.catalog.limits import limit, limit_values
from gpuyard.planning.plans import Place
from gpuyard.spec.models import NodePoolSpec
from gpuyard.spec.problems import Path, Problem, did_you_mean

# All vendor images of the catalog bring NVIDIA's driver and CUDA.
IMAGE_VENDOR = "NVIDIA"


def is_own_image(spec: NodePoolSpec, cloud: str) -> bool:
    """Whether the pool names an image by its id, of which the catalog knows nothing."""
    return spec.image is not None and spec.image.startswith(limit(cloud, "own_image_prefix").values)


def default_image(cloud: str) -> NodeImage:
    """The vendor image that nodes start from when none is named: the first of the cloud's in the catalog."""
    return next(iter(node_images(cloud).values()))


def choose_image(
    spec: NodePoolSpec, row: InstanceType | None, place: Place, path: Path
) -> tuple[NodeImage | None, list[Problem]]:
    """The image of a pool.

    Args:
        spec: What was asked for.
        row: The machine, None where none was found.
        place: Where the pool is.
        path: Where the pool stands in the cluster description.

    Returns:
        The vendor image, or None for an image of one's own; and every problem found.
    """
    if is_own_image(spec, place.cloud):
        return None, []
    known = node_images(place.cloud)
    own = limit(place.cloud, "own_image_prefix").values[0]
    if spec.image is not None and spec.image not in known:
        message = f"'{spec.image}' is neither an image id ({own}…) nor a vendor image of the catalog."
        remedy = f"{did_you_mean(spec.image, known)} Known: {', '.join(known)}.".strip()
        return None, [Problem((*path, "image"), message, remedy)]
    cpu_arch = row.cpu_arch if row is not None else None
    fitting = [image for image in known.values() if cpu_arch in (None, image.cpu_arch) and _boots(image, row)]
    if row is not None and not fitting:
        message = f"{row.instance_type} has CPUs of kind {cpu_arch}, and the catalog has no vendor image for them."
        return None, [Problem((*path, "image"), message, f"Give 'image: {own}…', the id of an image for {cpu_arch}.")]
    image = default_image(place.cloud) if spec.image is None else known[spec.image]
    if row is not None and (problem := _driver_problem(image, row, path)):
        return None, [problem]
    if image in fitting:
        return image, []
    if spec.image is None:
        return fitting[0], []
    if row is not None and not _boots(image, row):
        message = f"{spec.image} boots in {_mode(image)} mode, and {row.instance_type} does not."
        return None, [Problem((*path, "image"), message, f"It boots: {', '.join(one.name for one in fitting)}.")]
    message = f"{spec.image} is for {image.cpu_arch}, the CPUs are of kind {cpu_arch}."
    return None, [Problem((*path, "image"), message, f"For {cpu_arch}: {', '.join(one.name for one in fitting)}.")]


def _boots(image: NodeImage, row: InstanceType | None) -> bool:
    """Whether a machine can boot an image, as far as the catalog knows: some families boot in one mode only."""
    if row is None or image.boot_mode is None:
        return True
    other = "bios" if image.boot_mode == "uefi" else "uefi"
    return row.family not in limit_values(row.cloud, f"{other}_only_families")


def _mode(image: NodeImage) -> str:
    return (image.boot_mode or "").upper()


def _driver_problem(image: NodeImage, row: InstanceType, path: Path) -> Problem | None:
    gpu = gpus().get(row.gpu_model or "")
    if gpu is None or gpu.vendor != IMAGE_VENDOR or gpu.architecture in (None, *image.gpu_architectures):
        return None
    message = f"the driver of {image.name} does not run the {gpu.architecture} GPUs of {row.instance_type}."
    own = limit(row.cloud, "own_image_prefix").values[0]
    return Problem(
        (*path, "image"), message, f"Give 'image: {own}…', the id of an image with a driver for {gpu.model}."
    )
