"""Where resources of Alibaba Cloud are made: a resource of this SDK names no region, only its provider does."""

import pulumi
import pulumi_alicloud as alicloud
from pulumi import Resource, ResourceOptions

# Any type of the SDK; the question is which provider its resources get.
_ANY_TYPE = "alicloud:vpc/network:Network"


def in_region(name: str, region: str, parent: Resource) -> ResourceOptions:
    """Options for the children of a component, so that they are made in its region.

    A provider that was given to the component, or to what it belongs to, is taken as it is. Else the default provider
    will do where ``alicloud:region`` of the stack is this region. Anywhere else a provider for the region is made; it
    takes its credentials from the environment.

    Args:
        name: Name in front of every resource.
        region: The region.
        parent: The component they belong to.

    Returns:
        Options with parent and, where needed, provider.
    """
    given = parent.get_provider(_ANY_TYPE)
    if given is not None or pulumi.Config("alicloud").get("region") == region:
        return ResourceOptions(parent=parent)
    provider = alicloud.Provider(f"{name}-{region}", region=region, opts=ResourceOptions(parent=parent))
    return ResourceOptions(parent=parent, provider=provider)


def invoke_options(opts: ResourceOptions) -> pulumi.InvokeOutputOptions:
    """The same for a function: it is called in the region of the resources that use what it finds.

    Args:
        opts: Options of :func:`in_region`.

    Returns:
        Options with the same parent and provider.
    """
    return pulumi.InvokeOutputOptions(parent=opts.parent, provider=opts.provider)
