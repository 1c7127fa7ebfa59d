"""From rendered inputs to AWS's own resource schemas, which ship in PyPI cfn-lint, and the faults these find."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from cfnlint.jsonschema import StandardValidator
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

from ..recorder import Registered

Properties = dict[str, Any]
# Rules on values that cfn-lint keeps beside a resource's schema.
EXTENSIONS = {
    "AWS::FSx::FileSystem": "aws_fsx_filesystem/storage_capacity.json",
    "AWS::CloudWatch::Alarm": "aws_cloudwatch_alarm/period.json",
}
# What the mocks make up are no ARNs and ids of AWS.
MADE_UP = re.compile(r"arn:mock:|-id$")


@dataclass(frozen=True)
class Kind:
    """How a resource of the provider is a resource of AWS's schemas.

    ``names`` are ours that differ from the schema's by more than case, at any depth; ``own`` are the provider's own,
    or calls of their own in the API; ``shape`` brings inputs into the schema's form before names are matched.
    """

    schema: str
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    own: frozenset[str] = frozenset()
    shape: Callable[[Properties], Properties] = dict


def _template(inputs: Properties) -> Properties:
    top = ("name", "description")
    data = {key: value for key, value in inputs.items() if key not in top}
    return {**{key: inputs[key] for key in top if key in inputs}, "launchTemplateData": data}


def _group(inputs: Properties) -> Properties:
    own = ("enabledMetrics", "metricsGranularity", "initialLifecycleHooks")
    rest = {key: value for key, value in inputs.items() if key not in own}
    if "initialLifecycleHooks" in inputs:
        rest["lifecycleHookSpecificationList"] = [
            {**{key: value for key, value in hook.items() if key != "name"}, "lifecycleHookName": hook["name"]}
            for hook in inputs["initialLifecycleHooks"]
        ]
    if "enabledMetrics" not in inputs:
        return rest
    collected = {"metrics": inputs["enabledMetrics"], "granularity": inputs["metricsGranularity"]}
    return {**rest, "metricsCollection": [collected]}


def _schedule(inputs: Properties) -> Properties:
    # The provider leaves out what is -1.
    return {key: value for key, value in inputs.items() if value != -1}


def _lustre(inputs: Properties) -> Properties:
    known = {name.lower() for name in resource_schema("AWS::FSx::FileSystem")["properties"]}
    top = {key: value for key, value in inputs.items() if key.lower() in known}
    lustre = {key: value for key, value in inputs.items() if key not in top}
    return {**top, "fileSystemType": "LUSTRE", "lustreConfiguration": lustre}


def _part_of_bucket(name: str, key: str | None = None) -> Callable[[Properties], Properties]:
    """A resource of its own that is a property of the bucket in the schema, or one property of that property."""

    def shape(inputs: Properties) -> Properties:
        rest = {name: value for name, value in inputs.items() if name != "bucket"}
        return {name: rest if key is None else rest[key]}

    return shape


def _lifecycle(inputs: Properties) -> Properties:
    return {"lifecycleConfiguration": {"rules": [_lifecycle_rule(rule) for rule in inputs["rules"]]}}


def _lifecycle_rule(rule: Properties) -> Properties:
    found = {key: value for key, value in rule.items() if key not in ("filter", "expiration", "transitions")}
    found |= rule.get("filter", {})
    if "expiration" in rule:
        expiration = dict(rule["expiration"])
        days = expiration.pop("days", None)
        found |= expiration | ({} if days is None else {"expirationInDays": days})
    if "transitions" in rule:
        moved = [{"transitionInDays": one["days"], "storageClass": one["storageClass"]} for one in rule["transitions"]]
        found["transitions"] = moved
    return found


def _replication(inputs: Properties) -> Properties:
    return {"replicationConfiguration": {key: inputs[key] for key in ("role", "rules")}}


def _encryption(inputs: Properties) -> Properties:
    return {"bucketEncryption": {"serverSideEncryptionConfiguration": inputs["rules"]}}


def _alarm(inputs: Properties) -> Properties:
    rest = {key: value for key, value in inputs.items() if key != "metricQueries"}
    return {**rest, "metrics": [_query(one) for one in inputs["metricQueries"]]} if "metricQueries" in inputs else rest


def _query(inputs: Properties) -> Properties:
    if "metric" not in inputs:
        return inputs
    rest = {key: value for key, value in inputs.items() if key != "metric"}
    metric = dict(inputs["metric"])
    stat = {key: metric.pop(key) for key in ("period", "stat")}
    return {**rest, "metricStat": {**stat, "metric": metric}}


def _log_filter(inputs: Properties) -> Properties:
    rest = {key: value for key, value in inputs.items() if key != "metricTransformation"}
    change = {f"metric{key.capitalize()}": value for key, value in inputs["metricTransformation"].items()}
    unit = {"unit": change.pop("metricUnit")}
    return {**rest, "metricTransformations": [{**change, **unit}]}


def _parsed(*keys: str) -> Callable[[Properties], Properties]:
    """Documents that the provider takes as text are objects in the schema."""

    def shape(inputs: Properties) -> Properties:
        return {key: json.loads(value) if key in keys else value for key, value in inputs.items()}

    return shape


def _alias(inputs: Properties) -> Properties:
    return {"aliasName": f"{inputs['namePrefix']}20261201", "targetKeyId": inputs["targetKeyId"]}


def _budget(inputs: Properties) -> Properties:
    own = ("limitAmount", "limitUnit", "costFilters", "notifications", "tags")
    body = {
        **{key: value for key, value in inputs.items() if key not in own},
        "budgetLimit": {"amount": float(inputs["limitAmount"]), "unit": inputs["limitUnit"]},
        "costFilters": {one["name"]: one["values"] for one in inputs["costFilters"]},
    }
    notifications = [_notification(one) for one in inputs["notifications"]]
    return {"budget": body, "notificationsWithSubscribers": notifications, "resourceTags": inputs["tags"]}


def _notification(inputs: Properties) -> Properties:
    kinds = {"subscriberEmailAddresses": "EMAIL", "subscriberSnsTopicArns": "SNS"}
    return {
        "notification": {key: value for key, value in inputs.items() if key not in kinds},
        "subscribers": [
            {"subscriptionType": kind, "address": address}
            for key, kind in kinds.items()
            for address in inputs.get(key, [])
        ],
    }


def _own(*keys: str) -> frozenset[str]:
    return frozenset(keys)


_RULE = {"securityGroupId": "GroupId", "cidrIpv4": "CidrIp"}
KINDS: dict[str, Kind] = {
    "aws:ec2/vpc:Vpc": Kind("AWS::EC2::VPC"),
    "aws:ec2/subnet:Subnet": Kind("AWS::EC2::Subnet"),
    # The schema attaches a gateway to its network by a resource of its own.
    "aws:ec2/internetGateway:InternetGateway": Kind("AWS::EC2::InternetGateway", own=_own("vpcId")),
    "aws:ec2/routeTable:RouteTable": Kind("AWS::EC2::RouteTable"),
    "aws:ec2/route:Route": Kind("AWS::EC2::Route"),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Kind("AWS::EC2::SubnetRouteTableAssociation"),
    "aws:ec2/eip:Eip": Kind("AWS::EC2::EIP"),
    "aws:ec2/natGateway:NatGateway": Kind("AWS::EC2::NatGateway", {"privateIp": "PrivateIpAddress"}),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Kind("AWS::EC2::VPCEndpoint", {"policy": "PolicyDocument"}),
    "aws:ec2/securityGroup:SecurityGroup": Kind(
        "AWS::EC2::SecurityGroup", {"description": "GroupDescription", "name": "GroupName"}
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": Kind(
        "AWS::EC2::SecurityGroupIngress",
        {**_RULE, "referencedSecurityGroupId": "SourceSecurityGroupId", "prefixListId": "SourcePrefixListId"},
        own=_own("tags"),
    ),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": Kind(
        "AWS::EC2::SecurityGroupEgress",
        {**_RULE, "referencedSecurityGroupId": "DestinationSecurityGroupId", "prefixListId": "DestinationPrefixListId"},
        own=_own("tags"),
    ),
    "aws:ec2/placementGroup:PlacementGroup": Kind("AWS::EC2::PlacementGroup", {"name": "GroupName"}),
    "aws:ec2/launchTemplate:LaunchTemplate": Kind(
        "AWS::EC2::LaunchTemplate",
        {"securityGroups": "Groups", "description": "VersionDescription", "name": "LaunchTemplateName"},
        # The template's own tags have another form there; those of nodes and disks are compared.
        own=_own("updateDefaultVersion", "tags"),
        shape=_template,
    ),
    "aws:autoscaling/group:Group": Kind(
        "AWS::AutoScaling::AutoScalingGroup",
        {"vpcZoneIdentifiers": "VPCZoneIdentifier", "id": "LaunchTemplateId", "name": "AutoScalingGroupName"},
        own=_own("waitForCapacityTimeout", "suspendedProcesses"),
        shape=_group,
    ),
    "aws:autoscaling/policy:Policy": Kind("AWS::AutoScaling::ScalingPolicy", {"metricDimensions": "Dimensions"}),
    "aws:autoscaling/schedule:Schedule": Kind("AWS::AutoScaling::ScheduledAction", shape=_schedule),
    "aws:autoscaling/lifecycleHook:LifecycleHook": Kind(
        "AWS::AutoScaling::LifecycleHook", {"name": "LifecycleHookName"}
    ),
    "aws:fsx/lustreFileSystem:LustreFileSystem": Kind(
        "AWS::FSx::FileSystem", own=_own("skipFinalBackup"), shape=_lustre
    ),
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": Kind("AWS::FSx::DataRepositoryAssociation"),
    "aws:dlm/lifecyclePolicy:LifecyclePolicy": Kind("AWS::DLM::LifecyclePolicy"),
    "aws:s3/bucket:Bucket": Kind(
        "AWS::S3::Bucket", {"bucket": "BucketName", "bucketPrefix": "BucketNamePrefix"}, own=_own("forceDestroy")
    ),
    "aws:s3/bucketVersioning:BucketVersioning": Kind(
        "AWS::S3::Bucket", shape=_part_of_bucket("versioningConfiguration", "versioningConfiguration")
    ),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": Kind(
        "AWS::S3::Bucket", shape=_part_of_bucket("publicAccessBlockConfiguration")
    ),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": Kind(
        "AWS::S3::Bucket", {"rule": "Rules"}, shape=_part_of_bucket("ownershipControls")
    ),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": Kind(
        "AWS::S3::Bucket",
        {"applyServerSideEncryptionByDefault": "ServerSideEncryptionByDefault", "kmsMasterKeyId": "KMSMasterKeyID"},
        shape=_encryption,
    ),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": Kind("AWS::S3::Bucket", shape=_lifecycle),
    "aws:s3/bucketReplicationConfig:BucketReplicationConfig": Kind("AWS::S3::Bucket", shape=_replication),
    "aws:s3/bucketPolicy:BucketPolicy": Kind(
        "AWS::S3::BucketPolicy", {"policy": "PolicyDocument"}, shape=_parsed("policy")
    ),
    "aws:sqs/queue:Queue": Kind("AWS::SQS::Queue", {"messageRetentionSeconds": "MessageRetentionPeriod"}),
    "aws:sqs/queuePolicy:QueuePolicy": Kind(
        "AWS::SQS::QueueInlinePolicy", {"queueUrl": "Queue", "policy": "PolicyDocument"}, shape=_parsed("policy")
    ),
    "aws:cloudwatch/eventRule:EventRule": Kind("AWS::Events::Rule", shape=_parsed("eventPattern")),
    "aws:cloudwatch/logGroup:LogGroup": Kind("AWS::Logs::LogGroup", {"name": "LogGroupName"}),
    "aws:cloudwatch/logMetricFilter:LogMetricFilter": Kind(
        "AWS::Logs::MetricFilter", {"pattern": "FilterPattern", "name": "FilterName"}, shape=_log_filter
    ),
    "aws:cloudwatch/metricAlarm:MetricAlarm": Kind("AWS::CloudWatch::Alarm", {"name": "AlarmName"}, shape=_alarm),
    "aws:cloudwatch/dashboard:Dashboard": Kind("AWS::CloudWatch::Dashboard"),
    "aws:sns/topic:Topic": Kind("AWS::SNS::Topic", {"name": "TopicName"}),
    "aws:sns/topicPolicy:TopicPolicy": Kind(
        "AWS::SNS::TopicInlinePolicy", {"arn": "TopicArn", "policy": "PolicyDocument"}, shape=_parsed("policy")
    ),
    "aws:sns/topicSubscription:TopicSubscription": Kind("AWS::SNS::Subscription", {"topic": "TopicArn"}),
    "aws:kms/key:Key": Kind("AWS::KMS::Key", {"policy": "KeyPolicy"}, shape=_parsed("policy")),
    "aws:kms/alias:Alias": Kind("AWS::KMS::Alias", {"name": "AliasName"}, shape=_alias),
    "aws:budgets/budget:Budget": Kind("AWS::Budgets::Budget", {"name": "BudgetName"}, shape=_budget),
    "aws:iam/role:Role": Kind(
        "AWS::IAM::Role",
        {"assumeRolePolicy": "AssumeRolePolicyDocument", "name": "RoleName"},
        shape=_parsed("assumeRolePolicy"),
    ),
    # The schema knows no tags of a profile.
    "aws:iam/instanceProfile:InstanceProfile": Kind(
        "AWS::IAM::InstanceProfile", {"role": "Roles", "name": "InstanceProfileName"}, own=_own("tags")
    ),
    "aws:iam/rolePolicy:RolePolicy": Kind(
        "AWS::IAM::RolePolicy",
        {"role": "RoleName", "policy": "PolicyDocument", "name": "PolicyName"},
        shape=_parsed("policy"),
    ),
}
# Without a schema: what adopts a thing that AWS makes, and what is only a part of a role or a rule there.
WITHOUT_SCHEMA = {
    "aws:s3/bucketObjectv2:BucketObjectv2",
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    "aws:cloudwatch/eventTarget:EventTarget",
}
# What the provider names by itself, where the schema wants a name.
NAMED = {"AWS::IAM::RolePolicy": "PolicyName"}


@cache
def resource_schema(name: str, region: str = "us-east-1") -> dict[str, Any]:
    """The schema of a resource of AWS, as it is in a region."""
    return PROVIDER_SCHEMA_MANAGER.get_resource_schema(region, name).schema


@cache
def _extension(path: str) -> dict[str, Any]:
    folder, name = path.split("/")
    text = (files(f"cfnlint.data.schemas.extensions.{folder}") / name).read_text(encoding="utf-8")
    return json.loads(text)


def to_properties(found: Registered) -> Properties:
    """Rendered inputs as properties of the schema; a name that matches none is kept, for the judge to see."""
    kind = KINDS[found.type]
    inputs = {key: value for key, value in found.inputs.items() if key not in kind.own and key != "region"}
    schema = resource_schema(kind.schema)
    properties = _matched(kind.shape(inputs), schema, schema, kind.names)
    return {**{name: found.name for name in [NAMED.get(kind.schema)] if name}, **properties}


def faults(name: str, properties: Properties, region: str = "us-east-1") -> list[str]:
    """What a resource's schema refuses: names, types, enumerations, patterns, ranges, and what must be given.

    Args:
        name: Name of the schema, such as ``AWS::EC2::VPC``.
        properties: Properties of the resource.
        region: Region whose schema judges.

    Returns:
        Faults, but for those of values that the mocks make up.
    """
    schemas = [resource_schema(name, region)]
    schemas += [_extension(EXTENSIONS[name])] if name in EXTENSIONS else []
    return [
        f"{'.'.join(map(str, fault.path))}: {fault.message}"
        for schema in schemas
        for fault in StandardValidator(schema).iter_errors(properties)
        if not (isinstance(fault.instance, str) and MADE_UP.search(fault.instance))
    ]


def _matched(value: Any, node: Mapping[str, Any], root: Mapping[str, Any], names: Mapping[str, str]) -> Any:
    node = _resolved(node, root)
    kinds = node.get("type", "object")
    if "items" in node:
        items = value if isinstance(value, list) else _as_list(value, _resolved(node["items"], root))
        return [_matched(one, node["items"], root, names) for one in items]
    if isinstance(value, dict) and "properties" in node:
        members = {member.lower(): member for member in node["properties"]}
        found: Properties = {}
        for key, inner in value.items():
            member = members.get(names.get(key, key).lower())
            found[member or key] = _matched(inner, node["properties"][member], root, names) if member else inner
        return found
    if kinds == "boolean" and value in ("true", "false"):
        return value == "true"
    if isinstance(value, float) and value.is_integer():
        return str(int(value)) if kinds == "string" else int(value)
    return value


def _as_list(value: Any, item: Mapping[str, Any]) -> list[Any]:
    """One value, or a mapping of tags or dimensions, where the schema has a list."""
    label = next((key for key in ("Key", "Name") if {key, "Value"} <= set(item.get("properties", {}))), None)
    if isinstance(value, dict) and label is not None:
        return [{label: key, "Value": inner} for key, inner in value.items()]
    return [value]


def _resolved(node: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in node:
        at: Any = root
        for part in node["$ref"].removeprefix("#/").split("/"):
            at = at[part]
        node = at
    return node
