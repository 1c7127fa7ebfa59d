"""Launch templates of Tencent Cloud: what a machine takes from the one that it names."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import Record, Unknown
from gpuyard_policy.facts.reading import as_list, as_number, as_tags, items_of, merged, read
from gpuyard_policy.facts.tencentcloud_machines import IN_A_TEMPLATE, grouped_tags
from gpuyard_policy.facts.tencentcloud_places import joined

MACHINE = "tencentcloud:Instance/instance:Instance"
TEMPLATE = "tencentcloud:Cvm/launchTemplate:LaunchTemplate"
# A machine's properties, and what the same is called in a template.
# Source: PyPI tencentcloud_iac_pulumi 0.2.3, cvm.LaunchTemplateArgs and instance.InstanceArgs
_SAME: Mapping[str, tuple[str, ...]] = {
    "instanceType": ("instanceType",),
    "imageId": ("imageId",),
    "hpcClusterId": ("hpcClusterId",),
    "placementGroupId": ("disasterRecoverGroupIds",),
    "availabilityZone": ("placement", "zone"),
    "subnetId": ("virtualPrivateCloud", "subnetId"),
    "orderlySecurityGroups": ("securityGroupIds",),
    "allocatePublicIp": ("internetAccessible", "publicIpAssigned"),
    "internetMaxBandwidthOut": ("internetAccessible", "internetMaxBandwidthOut"),
    "systemDiskType": ("systemDisk", "diskType"),
    "systemDiskSize": ("systemDisk", "diskSize"),
    "userData": ("userData",),
    "spotMaxPrice": ("instanceMarketOptions", "spotOptions", "maxPrice"),
}
_DISK = {"diskType": "dataDiskType", "diskSize": "dataDiskSize"}


def with_template(machine: Record, among: Among) -> Record:
    """A machine with what its launch template says where it is silent itself.

    Args:
        machine: The machine.
        among: The resources of the stack.

    Returns:
        The machine as it is when it names no template; with unknown values where the template, or the version of it
        that is named, is not in this stack.
    """
    named = machine.props.get("launchTemplateId")
    if named is None:
        return machine
    found = [*among.behind(machine, "launchTemplateId", TEMPLATE), *among.called(named, TEMPLATE)]
    # A template is its own first version; others are resources of their own.
    version = machine.props.get("launchTemplateVersion")
    given: Mapping[str, Any]
    if not found or (version is not None and as_number(version) != 1):
        given = dict.fromkeys((*_SAME, "instanceChargeType", "dataDisks"), IN_A_TEMPLATE)
        depends: Mapping[str, Any] = {}
    else:
        template = as_a_machine(found[0])
        given, depends = template.props, template.depends_on
    own = {key: value for key, value in machine.props.items() if value is not None}
    if "userDataRaw" in own:
        given = {key: value for key, value in given.items() if key != "userData"}
    tags = merged(as_tags(given.get("tags")), as_tags(own.get("tags")))
    return replace(machine, props={**given, **own, "tags": tags}, depends_on={**depends, **machine.depends_on})


def is_launched_here(template: Record, among: Among) -> bool:
    """Whether a machine of this stack names a template."""
    return bool(joined(template, MACHINE, "launchTemplateId", among))


def as_a_machine(template: Record) -> Record:
    """A launch template in the words of a machine."""
    props = template.props
    given = {key: read(props, *path) for key, path in _SAME.items()}
    market = props.get("instanceMarketOptions")
    spot = market if market is None or isinstance(market, Unknown) else "SPOTPAID"
    given["instanceChargeType"] = props.get("instanceChargeType") or spot
    disks = as_list(props.get("dataDisks"))
    given["dataDisks"] = disks if isinstance(disks, Unknown) else [_disk(one) for one in disks]
    specifications = as_list(props.get("tagSpecifications"))
    of_machines = [one for one in items_of(specifications) if read(one, "resourceType") == "instance"]
    given["tags"] = specifications if isinstance(specifications, Unknown) else grouped_tags(of_machines)
    depends_on = {key: template.depends_on.get(path[0], ()) for key, path in _SAME.items()}
    return replace(template, props=given, depends_on=depends_on)


def _disk(disk: Any) -> Any:
    if not isinstance(disk, Mapping):
        return disk
    return {_DISK.get(key, key): value for key, value in cast(Mapping[str, Any], disk).items()}
