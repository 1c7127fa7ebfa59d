"""What Alibaba Cloud's descriptions of machines say of images and of the metadata service, launch templates too."""

import re
from collections.abc import Mapping
from typing import Any

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import Record, Unknown
from gpuyard_policy.facts.reading import as_text, first_unknown

TEMPLATES = ("alicloud:ecs/ecsLaunchTemplate:EcsLaunchTemplate", "alicloud:ecs/launchTemplate:LaunchTemplate")
NO_TOKENS = Unknown("the provider cannot ask for session tokens in a scaling configuration, only in a launch template")
_REQUIRED, _DISABLED, _LATEST = "required", "disabled", "Latest"
_OWN_IMAGE = re.compile(r"m-[0-9a-z]+")
# A public image's id holds its release, such as aliyun_3_x64_20G_alibase_20250117.vhd.
_RELEASE = re.compile(r"\w[\w.-]*_20\d{6}(_[\w-]+)?\.vhd")


def image_of(props: Mapping[str, Any]) -> str | None | Unknown:
    """The image that machines start from: its id, else its name."""
    by_id = as_text(props.get("imageId"))
    return as_text(props.get("imageName")) if by_id is None else by_id


def is_pinned(props: Mapping[str, Any], version: Any = None) -> bool | Unknown:
    """Whether an image stays: an id does; a family or a name is looked up anew, and so is the newest of a template.

    Where the id came from cannot be seen any more: one that the program looks up at each run reads as a plain id.

    Args:
        props: The description of the machines.
        version: The version of the launch template that they take; None where there is no template.

    Source: https://www.alibabacloud.com/help/en/alinux/product-overview/release-notes (ids of public images)
    """
    if version == _LATEST:
        return False
    image = as_text(props.get("imageId"))
    if image is None or isinstance(image, Unknown):
        return image or False
    return bool(_OWN_IMAGE.fullmatch(image) or _RELEASE.fullmatch(image))


def is_hardened(options: Mapping[str, Any]) -> bool | Unknown:
    """Whether the metadata service asks for a session token, or answers nobody; without a word it asks for none.

    Source: PyPI pulumi_alicloud 4.0.0, docstrings of ecs.Instance and ecs.EcsLaunchTemplate, http_tokens
    """
    tokens, endpoint = as_text(options.get("httpTokens")), as_text(options.get("httpEndpoint"))
    if tokens == _REQUIRED or endpoint == _DISABLED:
        return True
    return first_unknown(tokens, endpoint) or False


def is_configuration_hardened(props: Mapping[str, Any]) -> bool | Unknown:
    """The same of a scaling configuration, which can switch the metadata service off, but not ask for tokens.

    Source: PyPI pulumi_alicloud 4.0.0, ess.ScalingConfiguration (it has http_endpoint and no http_tokens)
    """
    hardened = is_hardened(props)
    return NO_TOKENS if hardened is False and as_text(props.get("httpTokens")) is None else hardened


def template_of(group: Record, among: Among) -> Record | None | Unknown:
    """The launch template that a scaling group names; None where it names none."""
    named = group.props.get("launchTemplateId")
    if named is None:
        return None
    found = among.behind(group, "launchTemplateId", *TEMPLATES) or among.called(named, *TEMPLATES)
    return found[0] if found else Unknown("its launch template is not in this stack")
