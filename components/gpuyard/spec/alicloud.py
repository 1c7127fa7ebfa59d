"""What only Alibaba Cloud has."""

from typing import Annotated, Literal

from pydantic import Field

from gpuyard.spec.base import Model
from gpuyard.spec.values import Flag, Whole

AlicloudSpotPolicy = Literal["COST_OPTIMIZED", "COMPOSABLE"]
AlicloudFileSystemKind = Literal["cpfs", "nas_extreme"]


class AlicloudNodePoolSpec(Model):
    """A node pool's part."""

    spot_protected_hour: Flag = True
    """Whether a spot node is safe for its first hour, at a higher price."""
    multi_az_policy: AlicloudSpotPolicy = "COST_OPTIMIZED"
    """How a spot pool's scaling group chooses among types and zones."""
    compensate_with_on_demand: Flag = False
    """Whether a spot pool buys nodes on demand while there is no spot; only with COST_OPTIMIZED."""
    erdma_queue_pairs: Annotated[Whole, Field(ge=1, le=1_000_000)] | None = None
    """Queue pairs of all eRDMA interfaces of a node together, as many as its type has; needed for a second one."""
    jumbo_frames: Flag = False
    """Whether the nodes use frames of 8500 bytes; eRDMA with the protocol LL128 needs 1400 without them."""


class AlicloudFileSystemSpec(Model):
    """A file system's part."""

    kind: AlicloudFileSystemKind
    """``cpfs``: the parallel file system; ``nas_extreme``: a small NAS over NFS, for trials."""
