"""What only Tencent Cloud has."""

from gpuyard.spec.base import Model
from gpuyard.spec.values import Cidr, Text


class TencentcloudNodePoolSpec(Model):
    """A node pool's part."""

    thpc_space_type: Text | None = None
    """Space type of a prepaid THPC workspace, such as ``96A.96XLARGE2304``, for types that are sold only so."""


class TencentcloudFileSystemSpec(Model):
    """A file system's part."""

    ccn_id: Text | None = None
    """Cloud Connect Network that it is reached through; the nodes' own network when left out."""
    ccn_cidr: Cidr | None = None
    """Addresses of the file system in that network, which no other network in it uses."""
