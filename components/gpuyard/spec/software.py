"""The model of what nodes run beside the jobs."""

from typing import Annotated, Literal

from pydantic import Field

from gpuyard.spec.base import Model
from gpuyard.spec.values import Flag, Text, Whole

GpuClocks = Literal["default", "highest"]


class SoftwareSpec(Model):
    """What the nodes of a pool run beside the jobs, and what the jobs demand of them."""

    pytorch: Text | None = None
    """PyTorch release that the jobs use, such as ``2.8``: nodes whose driver is too old for it are refused."""
    containers: Flag = False
    """Whether nodes have Docker with NVIDIA's container toolkit."""
    container_images: list[Text] = []
    """Container images that a node pulls before it counts as ready."""
    jupyter: Flag = False
    """Whether nodes run JupyterLab, on the loopback address only."""
    gpu_clocks: GpuClocks = "default"
    """``highest``: GPUs always run at the highest clocks that they name."""
    huge_pages_gib: Annotated[Whole, Field(ge=1, le=4_096)] | None = None
    """Memory of a node that is set aside as huge pages, in GiB."""
