"""Launch templates of AWS: which one a resource launches from, and what it tells of machines by itself."""

from collections.abc import Mapping
from typing import Any

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.aws_machines import TEMPLATE, Machine
from gpuyard_policy.facts.aws_places import tags_of
from gpuyard_policy.facts.model import Record, Unknown
from gpuyard_policy.facts.reading import as_list, as_tags, as_text, first_unknown, items_of, merged, read

GROUP = "aws:autoscaling/group:Group"
INSTANCE = "aws:ec2/instance:Instance"
SPOT_REQUEST = "aws:ec2/spotInstanceRequest:SpotInstanceRequest"
FLEET = "aws:ec2/fleet:Fleet"
EKS_NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
NO_TYPE = Unknown("it names no instance type")
_LAUNCHERS = (GROUP, FLEET, EKS_NODE_GROUP, INSTANCE, SPOT_REQUEST)
_REFERENCES = ("id", "launchTemplateId", "name", "launchTemplateName")
_BY_ATTRIBUTES = Unknown("its machines are chosen by attributes, not by type")


def template_of(record: Record, property_name: str, among: Among, reference: Any) -> Machine | Unknown:
    """The launch template behind a reference: by its id or name, else by where the value comes from."""
    for key in _REFERENCES:
        if by_id := among.called(read(reference, key), TEMPLATE):
            return Machine(by_id[0])
    found = among.behind(record, property_name, TEMPLATE)
    if len(found) == 1:
        return Machine(found[0])
    if found:
        return Unknown("it comes from several launch templates")
    return Unknown(
        "its launch template is not in this stack" if reference is not None else "it names no launch template"
    )


def types_of(machine: Machine | Unknown) -> tuple[str, ...] | Unknown:
    """Types that a description of machines names."""
    if isinstance(machine, Unknown):
        return machine
    value = as_text(machine.props.get("instanceType"))
    if value is None:
        return _BY_ATTRIBUTES if machine.props.get("instanceRequirements") is not None else NO_TYPE
    return value if isinstance(value, Unknown) else (value,)


def overridden(overrides: Any, machine: Machine | Unknown) -> tuple[str, ...] | Unknown:
    """Types that overrides name, else those of the machines that they override."""
    listed = as_list(overrides)
    if isinstance(listed, Unknown):
        return listed
    if any(read(item, "instanceRequirements") is not None for item in listed):
        return _BY_ATTRIBUTES
    types = [read(item, "instanceType") for item in listed]
    # An override may only name a subnet, and leave the type to the template.
    named = [value for value in types if value is not None]
    return texts_of(named) if named else types_of(machine)


def texts_of(values: list[Any] | Unknown) -> tuple[str, ...] | Unknown:
    """The texts of a list, unknown where one of them is."""
    if isinstance(values, Unknown):
        return values
    return first_unknown(*values) or tuple(value for value in values if isinstance(value, str))


def template_tags(machine: Machine | Unknown) -> Mapping[str, Any] | Unknown:
    """Tags of a launch template, and those that it gives to machines."""
    if isinstance(machine, Unknown) or machine.record.type != TEMPLATE:
        return {}
    specifications = items_of(machine.props.get("tagSpecifications"))
    instance = [as_tags(read(item, "tags")) for item in specifications if read(item, "resourceType") == "instance"]
    return merged(tags_of(machine.record), *instance)


def is_launched_here(template: Record, among: Among) -> bool:
    """Whether something in the stack launches from a template."""
    if among.users_of(template.urn, *_LAUNCHERS):
        return True
    names = among.once("templates that are launched", lambda: _launched_names(among))
    return any(isinstance(value := template.props.get(key), str) and value in names for key in ("id", "name"))


def _launched_names(among: Among) -> set[str]:
    references: list[Any] = []
    for other in among.of_type(*_LAUNCHERS):
        mixed = read(other.props.get("mixedInstancesPolicy"), "launchTemplate", "launchTemplateSpecification")
        configs = items_of(other.props.get("launchTemplateConfigs"))
        references += [other.props.get("launchTemplate"), mixed]
        references += [read(config, "launchTemplateSpecification") for config in configs]
    names = (read(reference, key) for reference in references for key in _REFERENCES)
    return {name for name in names if isinstance(name, str) and name}
