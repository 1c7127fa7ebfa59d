"""What Alibaba Cloud's descriptions of machines say: all in the words of a machine by itself, launch templates too."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from gpuyard_policy.facts.alicloud_places import named_by
from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import Record, Unknown
from gpuyard_policy.facts.reading import as_list, as_text, first_unknown, items_of, read

TEMPLATES = ("alicloud:ecs/ecsLaunchTemplate:EcsLaunchTemplate", "alicloud:ecs/launchTemplate:LaunchTemplate")
NO_TOKENS = Unknown("the provider cannot ask for session tokens in a scaling configuration, only in a launch template")
NO_TOKENS_OF_A_SET = Unknown("the provider cannot ask for session tokens of a set, only in a launch template")
ELSEWHERE = Unknown("its launch template is not in this stack")
# Other names of what a machine by itself calls so: of a launch template, a set, and a node pool of Kubernetes.
# Source: PyPI pulumi_alicloud 4.0.0, ecs.EcsLaunchTemplate, ecs.EcsInstanceSet, cs.NodePool
_PATHS = {
    "systemDiskCategory": ("systemDisk", "category"),
    "systemDiskPerformanceLevel": ("systemDisk", "performanceLevel"),
    "systemDiskSize": ("systemDisk", "size"),
    "systemDiskEncrypted": ("systemDisk", "encrypted"),
    "systemDiskAutoSnapshotPolicyId": ("systemDiskSnapshotPolicyId",),
    "privatePoolOptionsMatchCriteria": ("privatePoolOptions", "privatePoolOptionsMatchCriteria"),
    "userData": ("userdata",),
}
# What rules ask of a machine, and a template can say.
_TEMPLATED = (
    *("instanceType", "instanceChargeType", "spotStrategy", "deploymentSetId", "internetMaxBandwidthOut", "httpTokens"),
    *("securityGroupIds", "dataDisks", "systemDiskCategory", "systemDiskEncrypted", "userData", "imageId"),
)
_OLDER_GROUPS = ("securityGroups", "securityGroupId")
_DISK_PATHS = {"category": "diskCategory", "size": "diskSize"}
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
        version: The version of the launch template that the image is of; None where it is of none.

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


def template_of(user: Record, among: Among) -> Record | None | Unknown:
    """The launch template that a resource names, by id or by name; None where it names none."""
    for key in ("launchTemplateId", "launchTemplateName"):
        if user.props.get(key) is not None:
            found = named_by(user, key, among, *TEMPLATES) or _templates_called(user.props.get(key), among)
            return found[0] if found else ELSEWHERE
    return None


def described(record: Record, among: Among) -> Record:
    """What describes the machines of a resource: what it says itself, and for the rest what its launch template does.

    All of it is in the words of a machine by itself. What a template of another stack may say is unknown.
    """
    template = template_of(record, among)
    own = _in_one_language(record)
    if template is None:
        return own
    told = {key: value for key, value in own.props.items() if value is not None}
    if isinstance(template, Unknown):
        return replace(own, props={**dict.fromkeys(_TEMPLATED, template), **told})
    base = _in_one_language(template)
    sources = {key: urns for key, urns in base.depends_on.items() if key not in told}
    return replace(own, props={**base.props, **told}, depends_on={**sources, **own.depends_on})


def _templates_called(value: Any, among: Among) -> list[Record]:
    """Templates by their own names, which are no names of resources."""
    keys = ("launchTemplateName", "name")
    return [one for one in among.of_type(*TEMPLATES) if isinstance(value, str) and value in map(one.props.get, keys)]


def _in_one_language(record: Record) -> Record:
    props, depends_on = dict(record.props), dict(record.depends_on)
    for key, path in _PATHS.items():
        if props.get(key) is None and props.get(path[0]) is not None:
            props[key] = read(props, *path)
            depends_on.setdefault(key, depends_on.get(path[0], ()))
    categories = as_list(props.get("systemDiskCategories"))
    if props.get("systemDiskCategory") is None and categories:
        # The first that is in stock is taken.
        props["systemDiskCategory"] = categories if isinstance(categories, Unknown) else categories[0]
    for key in _OLDER_GROUPS:
        if not props.get("securityGroupIds") and props.get(key) is not None:
            props["securityGroupIds"] = props.pop(key)
            depends_on["securityGroupIds"] = depends_on.get(key, ())
    disks = props.get("dataDisks")
    if disks is not None and not isinstance(disks, Unknown):
        props["dataDisks"] = [_disk_in_one_language(disk) for disk in items_of(disks)]
    return replace(record, props=props, depends_on=depends_on)


def _disk_in_one_language(disk: Any) -> Any:
    if not isinstance(disk, Mapping):
        return disk
    given = cast(Mapping[str, Any], disk)
    return {**given, **{key: given[other] for key, other in _DISK_PATHS.items() if given.get(other) is not None}}
