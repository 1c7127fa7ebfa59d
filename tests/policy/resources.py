"""Resources as a policy sees them, for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpuyard_policy.facts import Record, Unknown

LATER = Unknown("it is known only after the update")
GROUP = "aws:autoscaling/group:Group"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
INSTANCE = "aws:ec2/instance:Instance"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
FLEET = "aws:ec2/fleet:Fleet"
BUCKET = "aws:s3/bucket:Bucket"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
REPLICATION = "aws:s3/bucketReplicationConfig:BucketReplicationConfig"


def urn(kind: str, name: str) -> str:
    return f"urn:pulumi:test::project::{kind}::{name}"


def record(
    kind: str,
    name: str,
    props: Mapping[str, Any],
    depends_on: Mapping[str, Sequence[str]] | None = None,
    region: str | None = "us-east-1",
) -> Record:
    provider = {} if region is None else {"region": region}
    return Record(urn(kind, name), kind, name, props, depends_on or {}, provider)


def pool(instance_type: Any, task: Any = "pretrain", nodes: Any = 2, **more: Any) -> list[Record]:
    """A scaling group and its launch template, joined as in a preview: by where the value comes from."""
    tags = {} if task is None else {"gpuyard:task": task}
    template = record(TEMPLATE, "trainers", {"instanceType": instance_type, "tags": tags, **more})
    group = record(
        GROUP,
        "trainers",
        {"minSize": 1.0, "maxSize": nodes, "launchTemplate": {"version": "1"}},
        {"launchTemplate": [template.urn]},
    )
    return [template, group]


def with_one_unknown(value: Any) -> Iterable[Any]:
    """A value with each of its parts in turn not known yet, itself first."""
    yield LATER
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from ({**value, key: other} for other in with_one_unknown(inner) if inner is not None)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from ([*value[:place], other, *value[place + 1 :]] for other in with_one_unknown(inner))
