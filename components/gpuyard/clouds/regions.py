"""Where resources are made whose SDK names no region on them: only their provider has one."""

from collections.abc import Callable

import pulumi
from pulumi import ProviderResource, Resource, ResourceOptions


def options_in_region(
    package: str, any_type: str, make: Callable[[ResourceOptions], ProviderResource], region: str, parent: Resource
) -> ResourceOptions:
    """Options for the children of a component, so that they are made in its region.

    A provider that was given to the component, or to what it belongs to, is taken as it is. Else the default provider
    will do where the stack's own region is this one. Anywhere else a provider for the region is made; it takes its
    credentials from the environment.

    Args:
        package: The SDK's package, which the stack's settings are under.
        any_type: Any type token of the package: the question is which provider its resources get.
        make: Makes a provider for the region with these options.
        region: The region.
        parent: The component they belong to.

    Returns:
        Options with parent and, where needed, provider.
    """
    if parent.get_provider(any_type) is not None or pulumi.Config(package).get("region") == region:
        return ResourceOptions(parent=parent)
    return ResourceOptions(parent=parent, provider=make(ResourceOptions(parent=parent)))


def invoke_options(opts: ResourceOptions) -> pulumi.InvokeOutputOptions:
    """The same for a function: it is called in the region of the resources that use what it finds.

    Args:
        opts: Options of the resources.

    Returns:
        Options with the same parent and provider.
    """
    return pulumi.InvokeOutputOptions(parent=opts.parent, provider=opts.provider)
