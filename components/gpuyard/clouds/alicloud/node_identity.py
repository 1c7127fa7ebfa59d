"""The nodes' RAM role: what they need and nothing more."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi_alicloud as alicloud
from pulumi import Input, Output, Resource, ResourceOptions

from gpuyard.bootstrap.payload import PROGRAMS_PREFIX
from gpuyard.planning.alicloud.keys import key_id
from gpuyard.planning.plans import CHECKPOINT_PREFIX

POOL_TAG, CLUSTER_TAG = "gpuyard:pool", "gpuyard:cluster"

Statement = dict[str, object]


@dataclass(frozen=True)
class NodeIdentity:
    """The role, and what has to exist before it has its rights."""

    role: alicloud.ram.Role
    permissions: Sequence[Resource]


@dataclass(frozen=True)
class NodeRights:
    """What a pool's nodes may use: prefixes of a bucket, its key, and the scaling group that waits for them.

    Without a group they tell their health by a tag. Without a bucket they have no programs that could do either.
    """

    bucket_name: Input[str] | None
    bucket_key: Input[str] | None
    prefixes: Sequence[str]
    group_id: Input[str] | None


def build_identity(
    name: str, region: str, rights: NodeRights, tags: Mapping[str, str], opts: ResourceOptions
) -> NodeIdentity:
    """Create the role of one pool's nodes; a node without rights gets a role without any.

    Roles and policies are of the whole account, so that the region stands in their names.

    Args:
        name: Name in front of every resource.
        region: Region of the pool.
        rights: What nodes may use.
        tags: Tags on everything.
        opts: Options of every resource.

    Returns:
        The role and what hangs on it.
    """
    trust = {
        "Version": "1",
        "Statement": [
            {"Action": "sts:AssumeRole", "Effect": "Allow", "Principal": {"Service": ["ecs.aliyuncs.com"]}},
        ],
    }
    role = alicloud.ram.Role(
        f"{name}-role",
        role_name=f"{name}-role-{region}",
        description=f"GPU nodes of {name}",
        assume_role_policy_document=json.dumps(trust),
        tags=dict(tags),
        opts=opts,
    )
    granted: dict[str, list[Statement]] = {}
    if rights.bucket_name is not None:
        granted["checkpoints"] = _bucket_statements(rights.bucket_name, rights.prefixes)
        if rights.bucket_key is not None:
            granted["checkpoints"].append(_key_statement(rights.bucket_key, region))
        if rights.group_id is not None:
            granted["release"] = [_release_statement(rights.group_id, region)]
        else:
            granted["health"] = [_health_statement(region, tags)]
    permissions = [
        _grant(f"{name}-{part}", region, statements, role, tags, opts) for part, statements in granted.items()
    ]
    return NodeIdentity(role, permissions)


def _grant(
    name: str,
    region: str,
    statements: list[Statement],
    role: alicloud.ram.Role,
    tags: Mapping[str, str],
    opts: ResourceOptions,
) -> Resource:
    policy = alicloud.ram.Policy(
        name,
        policy_name=f"{name}-{region}",
        policy_document=Output.json_dumps({"Version": "1", "Statement": statements}),
        tags=dict(tags),
        opts=opts,
    )
    return alicloud.ram.RolePolicyAttachment(
        name, policy_name=policy.policy_name, policy_type="Custom", role_name=role.role_name, opts=opts
    )


def _bucket_statements(bucket: Input[str], prefixes: Sequence[str]) -> list[Statement]:
    """Sources: https://www.alibabacloud.com/help/en/oss/user-guide/ram-policy and its table of actions."""
    allowed = list(dict.fromkeys([CHECKPOINT_PREFIX, *prefixes]))
    return [
        {
            "Effect": "Allow",
            "Action": ["oss:ListObjects", "oss:ListMultipartUploads"],
            "Resource": [Output.concat("acs:oss:*:*:", bucket)],
            "Condition": {
                "StringLike": {
                    "oss:Prefix": [each for prefix in (*allowed, PROGRAMS_PREFIX) for each in (prefix, f"{prefix}/*")]
                }
            },
        },
        {
            "Effect": "Allow",
            "Action": [
                "oss:GetObject",
                "oss:PutObject",
                "oss:DeleteObject",
                "oss:AbortMultipartUpload",
                "oss:ListParts",
            ],
            "Resource": [Output.concat("acs:oss:*:*:", bucket, f"/{prefix}/*") for prefix in allowed],
        },
        {
            "Effect": "Allow",
            "Action": ["oss:GetObject"],
            "Resource": [Output.concat("acs:oss:*:*:", bucket, f"/{PROGRAMS_PREFIX}/*")],
        },
    ]


def _key_statement(key: Input[str], region: str) -> Statement:
    return {
        "Effect": "Allow",
        "Action": ["kms:Decrypt", "kms:GenerateDataKey"],
        "Resource": [Output.concat(f"acs:kms:{region}:*:key/", Output.from_input(key).apply(key_id))],
    }


def _release_statement(group_id: Input[str], region: str) -> Statement:
    """Source: https://www.alibabacloud.com/help/en/auto-scaling/developer-reference/authorization-rules."""
    return {
        "Effect": "Allow",
        "Action": [
            "ess:DescribeLifecycleHooks",
            "ess:DescribeScalingActivities",
            "ess:DescribeLifecycleActions",
            "ess:CompleteLifecycleAction",
            "ess:RecordLifecycleActionHeartbeat",
        ],
        "Resource": [Output.concat(f"acs:ess:{region}:*:scalinggroup/", group_id)],
    }


def _health_statement(region: str, tags: Mapping[str, str]) -> Statement:
    """A node may tag the machines of its own pool, itself among them.

    Sources: https://www.alibabacloud.com/help/en/ecs/developer-reference/api-ecs-2014-05-26-tagresources (resource) and
    https://www.alibabacloud.com/help/en/ram/policy-elements (acs:ResourceTag)
    """
    return {
        "Effect": "Allow",
        "Action": ["ecs:TagResources"],
        "Resource": [f"acs:ecs:{region}:*:instance/*"],
        "Condition": {"StringEquals": {f"acs:ResourceTag/{key}": tags[key] for key in (POOL_TAG, CLUSTER_TAG)}},
    }
