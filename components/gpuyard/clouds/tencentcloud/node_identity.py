"""What the nodes of a pool may do: their CAM role with nothing more than they need."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import tencentcloud_iac_pulumi as tencentcloud
from pulumi import Input, Output, Resource, ResourceOptions

from gpuyard.bootstrap.payload import PROGRAMS_PREFIX
from gpuyard.clouds.tencentcloud.account import account_of
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
# coscli asks for a bucket before it reads from it: https://cloud.tencent.com/document/product/436/63669
_READ_ACTIONS = ("HeadObject", "GetObject")


@dataclass(frozen=True)
class NodeRights:
    """What a pool's nodes may use: a bucket below its prefixes, and whether each tells its health by a tag.

    ``bucket_name`` is the checkpoint bucket, with the account's number behind it; without one nodes may do nothing, as
    they have no programs that could. ``prefixes`` are those that nodes may use beside the checkpoints'.
    """

    bucket_name: Input[str] | None
    prefixes: Sequence[str] = ()
    health_tag: bool = False


@dataclass(frozen=True)
class NodeIdentity:
    """The role, and what has to exist before it has its rights."""

    role: tencentcloud.cam.Role
    permissions: Sequence[Resource]


def build_identity(
    name: str, region: str, rights: NodeRights, tags: Mapping[str, str], opts: ResourceOptions
) -> NodeIdentity:
    """Create the role of one pool's nodes.

    It may use the checkpoint bucket below its prefixes and read the node's programs there, and nothing else: metrics
    are sent by the cloud's own agent, and the scaler's hooks end with the commands that they run. Single machines,
    which no hook waits for, may tag machines of the account in the region; that the tag service heeds a condition on
    a machine's other tags is documented nowhere. A bucket under a key of one's own is opened by object storage in its
    own role, not by the node.

    Args:
        name: Name in front of every resource.
        region: Region of the pool.
        rights: What nodes may use.
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
    if rights.bucket_name is None:
        return NodeIdentity(role, [])
    granted = {"checkpoints": _policy(_bucket_statements(region, rights.bucket_name, rights.prefixes))}
    if rights.health_tag:
        granted["health"] = _policy(_health_statements(region, account_of(opts).owner_uin))
    return NodeIdentity(role, [_grant(f"{name}-{part}", document, role, opts) for part, document in granted.items()])


def _grant(name: str, document: Output[str], role: tencentcloud.cam.Role, opts: ResourceOptions) -> Resource:
    policy = tencentcloud.cam.Policy(name, description=f"Nodes: {name}", document=document, opts=opts)
    return tencentcloud.cam.RolePolicyAttachment(name, role_id=role.id, policy_id=policy.id, opts=opts)


def _policy(statements: Sequence[dict[str, object]]) -> Output[str]:
    return Output.json_dumps({"version": "2.0", "statement": list(statements)})


def _bucket_statements(region: str, bucket_name: Input[str], prefixes: Sequence[str]) -> list[dict[str, object]]:
    allowed = list(dict.fromkeys([CHECKPOINT_PREFIX, *prefixes]))
    bucket = Output.from_input(bucket_name).apply(lambda known: _bucket_resource(region, known))
    below = [Output.concat(bucket, f"/{prefix}/*") for prefix in allowed]
    programs = Output.concat(bucket, f"/{PROGRAMS_PREFIX}/*")
    return [
        {
            "effect": "allow",
            "action": [f"name/cos:{action}" for action in _LIST_ACTIONS],
            "resource": [*(Output.concat(bucket, f"/{prefix}") for prefix in allowed), *below, programs],
        },
        {"effect": "allow", "action": ["name/cos:HeadBucket"], "resource": [Output.concat(bucket, "/*")]},
        {"effect": "allow", "action": [f"name/cos:{action}" for action in _OBJECT_ACTIONS], "resource": below},
        {"effect": "allow", "action": [f"name/cos:{action}" for action in _READ_ACTIONS], "resource": [programs]},
    ]


def _health_statements(region: str, owner: Input[str]) -> list[dict[str, object]]:
    """Sources: https://www.tencentcloud.com/document/product/651/46533 and the STS API, GetCallerIdentity."""
    return [
        {
            "effect": "allow",
            "action": ["name/tag:TagResources"],
            "resource": [Output.concat(f"qcs::cvm:{region}:uin/", owner, ":instance/*")],
        },
        {"effect": "allow", "action": ["name/sts:GetCallerIdentity"], "resource": ["*"]},
    ]


def _bucket_resource(region: str, bucket: str) -> str:
    """The bucket in six-segment form; its name ends with the number of the account's application."""
    return f"qcs::cos:{region}:uid/{bucket.rsplit('-', 1)[-1]}:{bucket}"
