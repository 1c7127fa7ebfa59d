"""Where resources of Tencent Cloud are made: a resource of this SDK names no region, only its provider does."""

import tencentcloud_iac_pulumi as tencentcloud
from pulumi import Resource, ResourceOptions

from gpuyard.clouds.regions import options_in_region

_ANY_TYPE = "tencentcloud:Vpc/instance:Instance"


def in_region(name: str, region: str, parent: Resource) -> ResourceOptions:
    """Options for the children of a component, so that they are made in its region.

    Args:
        name: Name in front of every resource.
        region: The region.
        parent: The component they belong to.

    Returns:
        Options with parent and, where needed, a provider of the region.
    """

    def make(opts: ResourceOptions) -> tencentcloud.Provider:
        return tencentcloud.Provider(f"{name}-{region}", region=region, opts=opts)

    return options_in_region("tencentcloud", _ANY_TYPE, make, region, parent)
