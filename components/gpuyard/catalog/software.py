"""Which driver, CUDA, cuDNN and NCCL a PyTorch release needs, and whether an image has them.

A PyTorch build brings its own CUDA runtime, cuDNN and NCCL. From the image it needs the NVIDIA driver; the CUDA
toolkit of the image is needed only to compile extensions.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from gpuyard.catalog._data import read_rows
from gpuyard.catalog.gpus import Gpu

_VERSION = re.compile(r"\d+(\.\d+)*")


@dataclass(frozen=True, slots=True)
class CudaRelease:
    """One CUDA toolkit release on Linux.

    ``driver_linux`` is the driver that the first release of the toolkit came with, with which all of it works.
    ``driver_linux_minimum`` is the oldest driver with which its programs run under minor version compatibility: no
    JIT from PTX, and no feature that needs the newer driver.

    Source: https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
    """

    cuda: str
    driver_linux: str
    driver_linux_minimum: str
    note: str | None
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class PyTorchBuild:
    """One binary build of a PyTorch release for Linux; ``None`` was not stated.

    ``on_pypi`` marks the build that a plain ``pip install torch`` gets; ``stability`` is ``stable`` or
    ``experimental``; ``python`` the versions of Python; ``architectures`` the compute capabilities that the x86_64
    build has code for.
    """

    pytorch: str
    cuda: str
    cudnn: str | None
    nccl: str | None
    on_pypi: bool
    stability: str
    python: str
    architectures: tuple[str, ...] | None
    note: str | None
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class ImageContents:
    """What a vendor image brings: NVIDIA driver, CUDA toolkits, cuDNN; ``None`` is unknown."""

    cloud: str
    name: str
    title: str
    cpu_arch: str | None
    driver: str | None
    cuda: tuple[str, ...] | None
    cudnn: str | None
    note: str | None
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class StackAnswer:
    """Whether one build runs with what there is.

    Attributes:
        build: The PyTorch build.
        driver_minimum: Oldest Linux driver with which it runs; ``None`` when the CUDA release is not in the table.
        driver_full: Linux driver with which all of its CUDA works.
        runs: Whether it runs on the driver; ``None`` when that cannot be told.
        toolkit: Whether the toolkit to compile extensions is there; ``None`` when that cannot be told.
        gpu_supported: Whether its CUDA knows the GPU; ``None`` when not asked or unknown.
        reasons: Each answer in words.
    """

    build: PyTorchBuild
    driver_minimum: str | None
    driver_full: str | None
    runs: bool | None
    toolkit: bool | None
    gpu_supported: bool | None
    reasons: tuple[str, ...]


@cache
def cuda_releases() -> dict[str, CudaRelease]:
    """CUDA toolkit releases by version such as ``12.4``, newest first."""
    return {row["cuda"]: CudaRelease(**row) for row in read_rows("cuda_releases.json")}


@cache
def pytorch_builds() -> tuple[PyTorchBuild, ...]:
    """Every PyTorch build of the table, newest release first."""
    return tuple(PyTorchBuild(**row) for row in read_rows("pytorch_builds.json"))


def pytorch_releases() -> tuple[str, ...]:
    """Releases of the table such as ``2.3``, newest first."""
    return tuple(dict.fromkeys(build.pytorch for build in pytorch_builds()))


def builds_of(release: str) -> tuple[PyTorchBuild, ...]:
    """Builds of one release; ``2.3.1`` is a release of ``2.3``. Empty when the table has no such release."""
    wanted = ".".join(release.split(".")[:2])
    return tuple(build for build in pytorch_builds() if build.pytorch == wanted)


@cache
def image_contents() -> dict[str, ImageContents]:
    """What vendor images bring, by name."""
    return {row["name"]: ImageContents(**row) for row in read_rows("image_contents.json")}


def is_version(text: str) -> bool:
    """Whether a text is a version of numbers: ``12``, ``12.4`` or ``550.54.14``."""
    return _VERSION.fullmatch(text) is not None


def version_key(version: str) -> tuple[int, ...]:
    """A version as numbers, for comparing: ``550.54.14`` is (550, 54, 14)."""
    return tuple(int(part) for part in version.split("."))


def check_build(
    build: PyTorchBuild, *, driver: str | None = None, cuda: Iterable[str] | None = None, gpu: Gpu | None = None
) -> StackAnswer:
    """Whether a PyTorch build runs with a driver, can compile extensions with the toolkits, and knows the GPU.

    Args:
        build: The build.
        driver: Version of the NVIDIA driver on Linux; unknown when left out.
        cuda: Versions of the CUDA toolkits that are installed; unknown when left out, none when empty.
        gpu: A GPU of the catalog; not asked when left out.

    Returns:
        The answers with their reasons.
    """
    release = cuda_releases().get(build.cuda)
    runs, about_driver = _driver_answer(build, release, driver)
    toolkit, about_toolkit = _toolkit_answer(build, cuda)
    reasons = [about_driver, about_toolkit]
    gpu_supported = None
    if gpu is not None:
        gpu_supported, about_gpu = _gpu_answer(build, gpu)
        reasons.append(about_gpu)
    return StackAnswer(
        build=build,
        driver_minimum=release and release.driver_linux_minimum,
        driver_full=release and release.driver_linux,
        runs=runs,
        toolkit=toolkit,
        gpu_supported=gpu_supported,
        reasons=tuple(reasons),
    )


def _driver_answer(build: PyTorchBuild, release: CudaRelease | None, driver: str | None) -> tuple[bool | None, str]:
    if release is None:
        return None, f"the driver that CUDA {build.cuda} needs is not in the table."
    if driver is None:
        return None, f"the driver is unknown; CUDA {build.cuda} needs {release.driver_linux_minimum} or newer."
    if version_key(driver) < version_key(release.driver_linux_minimum):
        return False, f"driver {driver} is too old: CUDA {build.cuda} needs {release.driver_linux_minimum} or newer."
    if version_key(driver) < version_key(release.driver_linux):
        return True, (
            f"driver {driver} runs it under minor version compatibility; all of CUDA {build.cuda} needs "
            f"{release.driver_linux}."
        )
    return True, f"driver {driver} is new enough for all of CUDA {build.cuda}."


def _toolkit_answer(build: PyTorchBuild, cuda: Iterable[str] | None) -> tuple[bool | None, str]:
    if cuda is None:
        return None, f"installed CUDA toolkits are unknown; only compiling extensions needs one (CUDA {build.cuda})."
    there = tuple(cuda)
    major = build.cuda.split(".")[0]
    if any(_same_release(version, build.cuda) for version in there):
        return True, f"CUDA toolkit {build.cuda} is there to compile extensions."
    listed = ", ".join(there) or "none"
    if any(version.split(".")[0] == major for version in there):
        return True, (
            f"CUDA toolkit {build.cuda} is not there ({listed}); another {major}.x compiles extensions, with a warning."
        )
    return False, f"no CUDA {major}.x toolkit is there ({listed}): the build runs, extensions cannot be compiled."


def _gpu_answer(build: PyTorchBuild, gpu: Gpu) -> tuple[bool | None, str]:
    if gpu.vendor != "NVIDIA":
        return False, f"{gpu.model} is a GPU of {gpu.vendor}: CUDA builds do not run on it."
    if gpu.min_cuda is None:
        return None, f"the first CUDA release for {gpu.model} is unknown."
    if version_key(build.cuda) < version_key(gpu.min_cuda):
        return False, f"{gpu.model} needs CUDA {gpu.min_cuda} or newer, the build has {build.cuda}."
    if gpu.max_cuda is not None and version_key(build.cuda)[0] > version_key(gpu.max_cuda.split(".")[0])[0]:
        return False, f"CUDA {build.cuda} no longer builds for {gpu.model}: the last is {gpu.max_cuda}."
    if build.architectures is None or gpu.compute_capability is None:
        return None, f"CUDA {build.cuda} knows {gpu.model}; whether the build has code for it is not stated."
    built_for = ", ".join(build.architectures)
    asked = f"{gpu.model} (compute capability {gpu.compute_capability})"
    if not any(_code_runs(built, gpu.compute_capability) for built in build.architectures):
        return False, f"the build has no code for {asked}, only for {built_for}."
    return True, f"the build has code for {asked}: it is built for {built_for}."


def _code_runs(built: str, capability: str) -> bool:
    """Code for X.y runs on a GPU of X.z with z not below y.

    Source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#binary-compatibility
    """
    major, minor = version_key(built)
    on_major, on_minor = version_key(capability)
    return major == on_major and minor <= on_minor


def _same_release(installed: str, wanted: str) -> bool:
    return installed.split(".")[:2] == wanted.split(".")[:2]
