"""Facts of AWS resources: of raw ones as well as of gpuyard's own."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard_policy.facts.model import NodePoolFact, Record, StorageFact, Unknown
from gpuyard_policy.facts.reading import as_list, as_number, as_tags, as_text, from_property, merged, read

CLOUD = "aws"
GROUP = "aws:autoscaling/group:Group"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
CONFIGURATION = "aws:ec2/launchConfiguration:LaunchConfiguration"
INSTANCE = "aws:ec2/instance:Instance"
SPOT_REQUEST = "aws:ec2/spotInstanceRequest:SpotInstanceRequest"
FLEET = "aws:ec2/fleet:Fleet"
EKS_NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
BUCKETS = ("aws:s3/bucket:Bucket", "aws:s3/bucketV2:BucketV2")
REPLICATIONS = (
    "aws:s3/bucketReplicationConfig:BucketReplicationConfig",
    "aws:s3/bucketReplicationConfiguration:BucketReplicationConfiguration",
)
FILE_SYSTEMS = (
    "aws:fsx/lustreFileSystem:LustreFileSystem",
    "aws:fsx/openZfsFileSystem:OpenZfsFileSystem",
    "aws:fsx/ontapFileSystem:OntapFileSystem",
    "aws:fsx/windowsFileSystem:WindowsFileSystem",
    "aws:efs/fileSystem:FileSystem",
)
REPLICA_TAG = ("gpuyard:role", "replica")
_ARN_REGION = re.compile(r"^arn:[^:]*:[^:]*:([a-z0-9-]+):")
_ZONE = re.compile(r"^([a-z]{2,}(?:-[a-z]+)+-\d+)(?:-[a-z]{3}-\d+)?[a-z]$")


def node_pools(record: Record, among: Mapping[str, Record]) -> Iterable[NodePoolFact]:
    """The pool that a resource launches, if it launches one."""
    readers = {
        GROUP: _group,
        FLEET: _fleet,
        EKS_NODE_GROUP: _eks_node_group,
        INSTANCE: _machine,
        SPOT_REQUEST: _machine,
    }
    if record.type in readers:
        yield readers[record.type](record, among)
    elif record.type == TEMPLATE and not _launched_here(record, among):
        # Nobody in this stack launches it, so somebody else will: it is judged as it stands.
        yield _pool(record, _one(read(record.props, "instanceType"), record.props), None, _template_tags(record))


def storage(record: Record, among: Mapping[str, Record]) -> Iterable[StorageFact]:
    """The file system or bucket that a resource is, if it is one."""
    if record.type in FILE_SYSTEMS:
        yield StorageFact(
            record.urn,
            record.name,
            CLOUD,
            "file system",
            region_of(record, among),
            False,
            as_tags(record.props.get("tags")),
        )
    elif record.type in BUCKETS:
        tags = as_tags(record.props.get("tags"))
        yield StorageFact(
            record.urn,
            record.name,
            CLOUD,
            "bucket",
            region_of(record, among),
            _is_replica(record, tags, among),
            tags,
        )


def region_of(record: Record, among: Mapping[str, Record]) -> str | Unknown:
    """Where a resource is: its own region, a zone or ARN that it names, a subnet's zone, or its provider's region."""
    own = as_text(record.props.get("region"))
    if own is not None:
        return own
    zones = as_list(record.props.get("availabilityZones"))
    named = [record.props.get("availabilityZone"), *([] if isinstance(zones, Unknown) else zones)]
    for zone in named:
        if isinstance(zone, str) and (found := _ZONE.match(zone)):
            return found[1]
    arn = as_text(record.props.get("arn"))
    if isinstance(arn, str) and (found := _ARN_REGION.match(arn)):
        return found[1]
    provided = as_text(record.provider.get("region"))
    if provided is not None:
        return provided
    for name in ("subnetIds", "subnetId", "vpcZoneIdentifiers"):
        for subnet in from_property(record, name, among, ("aws:ec2/subnet:Subnet",)):
            return region_of(subnet, among)
    return Unknown("neither the resource nor its provider names a region")


def _pool(
    record: Record,
    instance_types: tuple[str, ...] | Unknown,
    nodes_max: int | None | Unknown,
    *tags: Mapping[str, Any] | Unknown,
    among: Mapping[str, Record] | None = None,
) -> NodePoolFact:
    region = region_of(record, among or {})
    return NodePoolFact(record.urn, record.name, CLOUD, instance_types, nodes_max, region, merged(*tags))


def _group(record: Record, among: Mapping[str, Record]) -> NodePoolFact:
    nodes = as_number(record.props.get("maxSize"))
    own = as_tags(record.props.get("tags"))
    mixed = record.props.get("mixedInstancesPolicy")
    if mixed is not None:
        template = _template_of(record, "mixedInstancesPolicy", among, _specification(mixed))
        types = _overridden(read(mixed, "launchTemplate", "overrides"), template)
        return _pool(record, types, nodes, _template_tags(template), own, among=among)
    if record.props.get("launchConfiguration") is not None:
        configurations = from_property(record, "launchConfiguration", among, (CONFIGURATION,))
        types = (
            _one(read(configurations[0].props, "instanceType"), {})
            if configurations
            else Unknown("its launch configuration is not in this stack")
        )
        return _pool(record, types, nodes, own, among=among)
    template = _template_of(record, "launchTemplate", among, record.props.get("launchTemplate"))
    return _pool(record, _types_of(template), nodes, _template_tags(template), own, among=among)


def _fleet(record: Record, among: Mapping[str, Record]) -> NodePoolFact:
    nodes = as_number(read(record.props, "targetCapacitySpecification", "totalTargetCapacity"))
    configs = as_list(record.props.get("launchTemplateConfigs"))
    if isinstance(configs, Unknown):
        return _pool(record, configs, nodes, as_tags(record.props.get("tags")), among=among)
    found: tuple[str, ...] | Unknown = ()
    tags: list[Mapping[str, Any] | Unknown] = []
    for config in configs:
        template = _template_of(record, "launchTemplateConfigs", among, read(config, "launchTemplateSpecification"))
        found = _joined(found, _overridden(read(config, "overrides"), template))
        tags.append(_template_tags(template))
    return _pool(record, found, nodes, *tags, as_tags(record.props.get("tags")), among=among)


def _eks_node_group(record: Record, among: Mapping[str, Record]) -> NodePoolFact:
    nodes = as_number(read(record.props, "scalingConfig", "maxSize"))
    tags = as_tags(record.props.get("tags"))
    types = as_list(record.props.get("instanceTypes"))
    if isinstance(types, Unknown) or types:
        return _pool(record, _all(types), nodes, tags, among=among)
    template = _template_of(record, "launchTemplate", among, record.props.get("launchTemplate"))
    return _pool(record, _types_of(template), nodes, _template_tags(template), tags, among=among)


def _machine(record: Record, among: Mapping[str, Record]) -> NodePoolFact:
    tags = as_tags(record.props.get("tags"))
    own = record.props.get("instanceType")
    if own is not None:
        return _pool(record, _one(own, {}), 1, tags, among=among)
    template = _template_of(record, "launchTemplate", among, record.props.get("launchTemplate"))
    return _pool(record, _types_of(template), 1, _template_tags(template), tags, among=among)


def _template_of(record: Record, property_name: str, among: Mapping[str, Record], reference: Any) -> Record | Unknown:
    """The launch template behind a reference: by where the value comes from, else by its id or name."""
    found = from_property(record, property_name, among, (TEMPLATE,))
    keys = {
        read(reference, key)
        for key in ("id", "launchTemplateId", "name", "launchTemplateName")
        if _plain(read(reference, key))
    }
    by_id = [
        other
        for other in among.values()
        if other.type == TEMPLATE
        and keys & {value for value in (other.props.get("id"), other.props.get("name")) if _plain(value)}
    ]
    if by_id:
        return by_id[0]
    if len(found) == 1:
        return found[0]
    if found:
        return Unknown("it comes from several launch templates")
    return Unknown(
        "its launch template is not in this stack" if reference is not None else "it names no launch template"
    )


def _specification(mixed: Any) -> Any:
    return read(mixed, "launchTemplate", "launchTemplateSpecification")


def _types_of(template: Record | Unknown) -> tuple[str, ...] | Unknown:
    return template if isinstance(template, Unknown) else _one(template.props.get("instanceType"), template.props)


def _overridden(overrides: Any, template: Record | Unknown) -> tuple[str, ...] | Unknown:
    listed = as_list(overrides)
    if isinstance(listed, Unknown):
        return listed
    if not listed:
        return _types_of(template)
    if any(read(item, "instanceRequirements") is not None for item in listed):
        return Unknown("its machines are chosen by attributes, not by type")
    return _all([read(item, "instanceType") for item in listed])


def _one(value: Any, props: Mapping[str, Any]) -> tuple[str, ...] | Unknown:
    if isinstance(value, Unknown):
        return value
    if isinstance(value, str):
        return (value,)
    if props.get("instanceRequirements") is not None:
        return Unknown("its machines are chosen by attributes, not by type")
    return Unknown("it names no instance type")


def _all(values: list[Any] | Unknown) -> tuple[str, ...] | Unknown:
    if isinstance(values, Unknown):
        return values
    unknown = next((value for value in values if isinstance(value, Unknown)), None)
    if unknown is not None:
        return unknown
    return tuple(value for value in values if isinstance(value, str))


def _joined(first: tuple[str, ...] | Unknown, second: tuple[str, ...] | Unknown) -> tuple[str, ...] | Unknown:
    if isinstance(first, Unknown):
        return first
    return second if isinstance(second, Unknown) else (*first, *second)


def _template_tags(template: Record | Unknown) -> Mapping[str, Any] | Unknown:
    if isinstance(template, Unknown):
        return {}
    specifications = as_list(template.props.get("tagSpecifications"))
    instance: list[Mapping[str, Any] | Unknown] = [
        as_tags(read(item, "tags"))
        for item in ([] if isinstance(specifications, Unknown) else specifications)
        if read(item, "resourceType") == "instance"
    ]
    return merged(as_tags(template.props.get("tags")), *instance)


def _launched_here(template: Record, among: Mapping[str, Record]) -> bool:
    launchers = (GROUP, FLEET, EKS_NODE_GROUP, INSTANCE, SPOT_REQUEST)
    names = {value for value in (template.props.get("id"), template.props.get("name")) if _plain(value)}
    for other in among.values():
        if other.type not in launchers:
            continue
        if any(template.urn in urns for urns in other.depends_on.values()):
            return True
        reference = other.props.get("launchTemplate") or _specification(other.props.get("mixedInstancesPolicy"))
        keys = (read(reference, key) for key in ("id", "launchTemplateId", "name", "launchTemplateName"))
        if any(_plain(key) and key in names for key in keys):
            return True
    return False


def _is_replica(bucket: Record, tags: Mapping[str, Any] | Unknown, among: Mapping[str, Record]) -> bool | Unknown:
    if read(tags, REPLICA_TAG[0]) == REPLICA_TAG[1]:
        return True
    names = {value for value in (bucket.props.get("arn"), _arn(bucket)) if _plain(value)}
    for other in among.values():
        if other.type in REPLICATIONS:
            rules, key = other.props.get("rules") or other.props.get("rule"), "rules"
        elif other.type in BUCKETS and other.urn != bucket.urn:
            rules, key = (
                read(other.props.get("replicationConfiguration"), "rules"),
                "replicationConfiguration",
            )
        else:
            continue
        if bucket.urn in other.depends_on.get(key, ()) and bucket.urn not in other.depends_on.get("bucket", ()):
            return True
        listed = as_list(rules)
        targets = [read(rule, "destination", "bucket") for rule in ([] if isinstance(listed, Unknown) else listed)]
        if any(_plain(target) and target in names for target in targets):
            return True
    return False


def _arn(bucket: Record) -> Any:
    name = bucket.props.get("bucket")
    return f"arn:aws:s3:::{name}" if _plain(name) else None


def _plain(value: Any) -> bool:
    return isinstance(value, str) and value != ""


READERS = (node_pools, storage)
