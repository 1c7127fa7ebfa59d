"""What only Tencent Cloud has."""

from gpuyard.spec.base import Model
from gpuyard.spec.values import Cidr, Flag, Percent, Text


class TencentcloudNodePoolSpec(Model):
    """A node pool's part."""

    thpc_space_type: Text | None = None
    """Space type of a prepaid THPC workspace, such as ``96A.96XLARGE2304``, for types that are sold only so."""
    full_type: Text | None = None
    """Full name of the machine as its zone sells it, for families of which the catalog knows the name only."""
    cpu_utilization_percent: Percent | None = None
    """Mean utilization of the CPUs that an elastic pool is kept at; the cloud's scaler knows no GPUs."""


class TencentcloudFileSystemSpec(Model):
    """A file system's part."""

    ccn_id: Text | None = None
    """Cloud Connect Network that it is reached through; the nodes' own network when left out."""
    ccn_cidr: Cidr | None = None
    """Addresses of the file system in that network, which no other network in it uses."""
    ccn_attach: Flag = True
    """Whether the nodes' network is attached to it with the file system; false where it is attached already."""
