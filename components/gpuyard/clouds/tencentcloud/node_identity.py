"""What the nodes of a pool may do: their CAM role with nothing more than they need."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import tencentcloud_iac_pulumi as tencentcloud
from pulumi import Input, Output, Resource, ResourceOptions

from gpuyard.planning.plans import CHECKPOINT_PREFIX

_OBJECT_ACTIONS = (
    "GetObject",
    "HeadObject",
    "PutObject",
    "DeleteObject",
    "InitiateMultipartUpload",
    "UploadPart",
    "ListParts",
    "CompleteMultipartUpload",
    "AbortMultipartUpload",
)
_LIST_ACTIONS = ("GetBucket", "ListMultipartUploads")


@dataclass(frozen=True)
class NodeIdentity:
    """The role, and what has to exist before it has its rights."""

    role: tencentcloud.cam.Role
    permissions: Sequence[Resource]


def build_identity(
    name: str,
    region: str,
    bucket_name: Input[str] | None,
    prefixes: Sequence[str],
    tags: Mapping[str, str],
    opts: ResourceOptions,
) -> NodeIdentity:
    """Create the role of one pool's nodes.

    It may use the checkpoint bucket below its prefixes, and nothing else: metrics are sent by the cloud's own agent,
    and the scaler's hook runs its command itself. A bucket under a key of one's own is opened by object storage in its
    own role, not by the node.

    Args:
        name: Name in front of every resource.
        region: Region of the pool.
        bucket_name: The checkpoint bucket, with the account's number behind it; None without one.
        prefixes: Those of the bucket that nodes may use beside the checkpoints'.
        tags: Tags on the role.
        opts: Resource options, the parent among them.

    Returns:
        The role and what hangs on it.

    Source: Tencent Cloud CVM docs, page Managing Roles (cvm.qcloud.com); COS docs, page COS API Authorization Policy
    """
    trust = {
        "version": "2.0",
        "statement": [
            {"effect": "allow", "action": "name/sts:AssumeRole", "principal": {"service": ["cvm.qcloud.com"]}}
        ],
    }
    role = tencentcloud.cam.Role(
        f"{name}-role",
        description=f"GPU nodes of {name}",
        document=json.dumps(trust),
        console_login=False,
        tags=dict(tags),
        opts=opts,
    )
    if bucket_name is None:
        return NodeIdentity(role, [])
    policy = tencentcloud.cam.Policy(
        f"{name}-checkpoints",
        description=f"Checkpoints of {name}",
        document=_bucket_policy(region, bucket_name, prefixes),
        opts=opts,
    )
    attached = tencentcloud.cam.RolePolicyAttachment(
        f"{name}-checkpoints", role_id=role.id, policy_id=policy.id, opts=opts
    )
    return NodeIdentity(role, [attached])


def _bucket_policy(region: str, bucket_name: Input[str], prefixes: Sequence[str]) -> Output[str]:
    allowed = list(dict.fromkeys([CHECKPOINT_PREFIX, *prefixes]))
    bucket = Output.from_input(bucket_name).apply(lambda known: _bucket_resource(region, known))
    below = [Output.concat(bucket, f"/{prefix}/*") for prefix in allowed]
    return Output.json_dumps(
        {
            "version": "2.0",
            "statement": [
                {
                    "effect": "allow",
                    "action": [f"name/cos:{action}" for action in _LIST_ACTIONS],
                    "resource": [*(Output.concat(bucket, f"/{prefix}") for prefix in allowed), *below],
                },
                {
                    "effect": "allow",
                    "action": [f"name/cos:{action}" for action in _OBJECT_ACTIONS],
                    "resource": below,
                },
            ],
        }
    )


def _bucket_resource(region: str, bucket: str) -> str:
    """The bucket in six-segment form; its name ends with the number of the account's application."""
    return f"qcs::cos:{region}:uid/{bucket.rsplit('-', 1)[-1]}:{bucket}"
