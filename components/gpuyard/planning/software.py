"""What a pool's nodes run beside the jobs: driver, fabric manager, containers, and what jobs demand of them."""

import re
from collections.abc import Iterable

from gpuyard.catalog import InstanceType, NodeImage, gpus
from gpuyard.catalog.limits import limit_values
from gpuyard.catalog.software import (
    PyTorchBuild,
    builds_of,
    check_build,
    cuda_releases,
    is_version,
    pytorch_releases,
    version_key,
)
from gpuyard.planning.plans import SoftwarePlan
from gpuyard.spec.problems import Path, Problem, did_you_mean
from gpuyard.spec.software import SoftwareSpec

# Source: https://github.com/distribution/reference/blob/main/regexp.go
_NAME = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:[A-Za-z0-9.-]+(?::[0-9]+)?/)?{_NAME}(?:/{_NAME})*(?::\w[\w.-]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?"
)


def plan_software(
    spec: SoftwareSpec, types: tuple[InstanceType, ...], image: NodeImage | None, cloud: str, path: Path
) -> tuple[SoftwarePlan, list[Problem]]:
    """What the nodes of one pool run.

    Args:
        spec: What was asked for.
        types: The machines.
        image: The vendor image they start from, None for an image of one's own.
        cloud: The cloud.
        path: Where the pool stands in the cluster description.

    Returns:
        The plan, and every problem found.
    """
    here = (*path, "software")
    build, problems = _build(spec, types, here)
    problems += _image_problems(spec.container_images, here)
    installs = image is None or not image.brings_driver
    family_minimum: dict[str, str] = dict(limit_values(cloud, "gpu_driver_minimum_by_family"))
    demands = {row.family: family_minimum[row.family] for row in types if row.family in family_minimum}
    if build is not None and build.cuda in cuda_releases():
        demands[f"PyTorch {spec.pytorch}"] = cuda_releases()[build.cuda].driver_linux_minimum
    strictest = max(demands.items(), key=lambda one: version_key(one[1]), default=(None, None))
    plan = SoftwarePlan(
        driver_branch=next(iter(limit_values(cloud, "gpu_driver_branch")), None) if installs else None,
        driver_reason=strictest[0],
        driver_minimum=strictest[1],
        fabric_manager=any(_needs_fabric_manager(row) for row in types),
        containers=spec.containers or bool(spec.container_images),
        container_images=tuple(spec.container_images),
        jupyter=spec.jupyter,
        gpu_clocks=spec.gpu_clocks,
        huge_pages_gib=spec.huge_pages_gib,
    )
    return plan, problems


def _needs_fabric_manager(row: InstanceType) -> bool:
    """Whether the GPUs of a machine work only with NVIDIA's daemon for NVSwitches."""
    families = limit_values(row.cloud, "fabric_manager_families")
    return row.family in families if families else row.gpu_interconnect == "nvswitch"


def _build(
    spec: SoftwareSpec, types: tuple[InstanceType, ...], path: Path
) -> tuple[PyTorchBuild | None, list[Problem]]:
    """The build that ``pip install torch`` gives, if it runs on the pool's GPUs."""
    if spec.pytorch is None:
        return None, []
    builds = builds_of(spec.pytorch) if is_version(spec.pytorch) else ()
    if not builds:
        known = pytorch_releases()
        remedy = f"{did_you_mean(spec.pytorch, known)} Known: {', '.join(known)}.".strip()
        return None, [Problem((*path, "pytorch"), f"the catalog knows no PyTorch release '{spec.pytorch}'.", remedy)]
    build = next((one for one in builds if one.on_pypi), builds[0])
    problems: list[Problem] = []
    for model in dict.fromkeys(row.gpu_model for row in types):
        gpu = gpus().get(model or "")
        if gpu is None:
            continue
        answer = check_build(build, gpu=gpu)
        if answer.gpu_supported is False:
            others = [one.cuda for one in builds if check_build(one, gpu=gpu).gpu_supported is not False]
            other = f"The builds for CUDA {', '.join(others)} do." if others else "No build of that release does."
            message = f"the build of PyTorch {spec.pytorch} that pip installs does not run: {answer.reasons[-1]}"
            problems.append(Problem((*path, "pytorch"), message, f"{other} Leave 'pytorch' out to decide it yourself."))
    return build, problems


def _image_problems(images: Iterable[str], path: Path) -> list[Problem]:
    message = "'{}' is no container image."
    remedy = "Write it as REGISTRY/NAME:TAG, or with @sha256: and its digest."
    return [
        Problem((*path, "container_images", index), message.format(image), remedy)
        for index, image in enumerate(images)
        if _IMAGE.fullmatch(image) is None
    ]
