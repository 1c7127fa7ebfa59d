"""The nodes' role: what they need and nothing more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi_aws as aws
from pulumi import Input, Output, Resource, ResourceOptions

from gpuyard.bootstrap.payload import PROGRAMS_PREFIX
from gpuyard.clouds.aws.identity import role_for_service
from gpuyard.clouds.aws.partition import managed_policy_arn, partition_of
from gpuyard.planning.metrics import METRIC_NAMESPACE
from gpuyard.planning.plans import CHECKPOINT_PREFIX

POOL_TAG, CLUSTER_TAG = "gpuyard:pool", "gpuyard:cluster"

Statement = dict[str, object]


@dataclass(frozen=True)
class NodeIdentity:
    """The role, the profile by which machines take it, and what has to exist before it has its rights."""

    role: aws.iam.Role
    profile: aws.iam.InstanceProfile
    permissions: Sequence[Resource]


@dataclass(frozen=True)
class NodeRights:
    """What a pool's nodes may use besides Systems Manager.

    ``prefixes`` are those of the bucket; ``file_system`` says whether they may ask what their file system can do;
    ``image_repositories`` are ARNs of the container registry's repositories that they pull from.
    """

    log_group_arn: Input[str]
    bucket_arn: Input[str] | None
    bucket_key_arn: Input[str] | None
    prefixes: Sequence[str]
    file_system: bool
    image_repositories: Sequence[str] = ()


def build_identity(
    name: str, region: str, rights: NodeRights, tags: Mapping[str, str], opts: ResourceOptions
) -> NodeIdentity:
    """Create the role of one pool's nodes.

    Args:
        name: Name in front of every resource.
        region: Region of the pool.
        rights: What nodes may use.
        tags: Tags on everything; the scaler's rights are tied to those of the pool and the cluster.
        opts: Resource options, the parent among them.

    Returns:
        The role and what hangs on it.
    """
    role = role_for_service(f"{name}-role", "ec2", region, f"GPU nodes of {name}", tags, opts)
    permissions: list[Resource] = [
        aws.iam.RolePolicyAttachment(
            f"{name}-ssm",
            role=role.name,
            policy_arn=managed_policy_arn("AmazonSSMManagedInstanceCore", region),
            opts=opts,
        ),
        aws.iam.RolePolicy(
            f"{name}-node",
            role=role.name,
            policy=_policy(_node_statements(region, rights, tags)),
            opts=opts,
        ),
    ]
    if rights.bucket_arn is not None:
        policy = _policy(_bucket_statements(rights.bucket_arn, rights.bucket_key_arn, rights.prefixes))
        permissions.append(aws.iam.RolePolicy(f"{name}-checkpoints", role=role.name, policy=policy, opts=opts))
    profile = aws.iam.InstanceProfile(f"{name}-profile", role=role.name, tags=dict(tags), opts=opts)
    return NodeIdentity(role, profile, permissions)


def _policy(statements: list[Statement]) -> Output[str]:
    return Output.json_dumps({"Version": "2012-10-17", "Statement": statements})


def _node_statements(region: str, rights: NodeRights, tags: Mapping[str, str]) -> list[Statement]:
    found: list[Statement] = [
        {
            "Sid": "SendMetrics",
            "Effect": "Allow",
            "Action": "cloudwatch:PutMetricData",
            "Resource": "*",
            "Condition": {"StringEquals": {"cloudwatch:namespace": METRIC_NAMESPACE}},
        },
        {
            "Sid": "SendLogs",
            "Effect": "Allow",
            "Action": ["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"],
            "Resource": [rights.log_group_arn, Output.format("{0}:*", rights.log_group_arn)],
        },
        # The agent reads the name of its scaling group off the tags; the action takes no resource.
        {"Sid": "KnowOwnGroup", "Effect": "Allow", "Action": "ec2:DescribeTags", "Resource": "*"},
    ]
    found += _release_statements(region, tags)
    if rights.image_repositories:
        found += _pull_statements(rights.image_repositories)
    if rights.file_system:
        # The client asks whether the file system has EFA; without the right it would silently mount over TCP.
        found.append(
            {
                "Sid": "KnowFileSystem",
                "Effect": "Allow",
                "Action": "fsx:DescribeFileSystems",
                "Resource": "*",
            }
        )
    return found


def _pull_statements(repository_arns: Sequence[str]) -> list[Statement]:
    return [
        {"Sid": "KnowRegistry", "Effect": "Allow", "Action": "ecr:GetAuthorizationToken", "Resource": "*"},
        {
            "Sid": "PullImages",
            "Effect": "Allow",
            "Action": ["ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
            "Resource": list(repository_arns),
        },
    ]


def _release_statements(region: str, tags: Mapping[str, str]) -> list[Statement]:
    own = {f"autoscaling:ResourceTag/{key}": tags[key] for key in (POOL_TAG, CLUSTER_TAG)}
    return [
        {
            "Sid": "ReleaseItself",
            "Effect": "Allow",
            "Action": ["autoscaling:CompleteLifecycleAction", "autoscaling:RecordLifecycleActionHeartbeat"],
            "Resource": f"arn:{partition_of(region)}:autoscaling:{region}:*:autoScalingGroup:*",
            "Condition": {"StringEquals": own},
        },
        {
            "Sid": "FindOwnGroup",
            "Effect": "Allow",
            "Action": "autoscaling:DescribeAutoScalingInstances",
            "Resource": "*",
        },
    ]


def _bucket_statements(bucket_arn: Input[str], key_arn: Input[str] | None, prefixes: Sequence[str]) -> list[Statement]:
    allowed = list(dict.fromkeys([CHECKPOINT_PREFIX, *prefixes]))
    found: list[Statement] = [
        {
            "Sid": "ListCheckpoints",
            "Effect": "Allow",
            "Action": ["s3:ListBucket", "s3:ListBucketMultipartUploads"],
            "Resource": bucket_arn,
            "Condition": {
                "StringLike": {"s3:prefix": [each for prefix in allowed for each in (prefix, f"{prefix}/*")]}
            },
        },
        {
            "Sid": "UseCheckpoints",
            "Effect": "Allow",
            "Action": [
                "s3:GetObject",
                "s3:PutObject",
                "s3:DeleteObject",
                "s3:AbortMultipartUpload",
                "s3:ListMultipartUploadParts",
            ],
            "Resource": [Output.format("{0}/{1}/*", bucket_arn, prefix) for prefix in allowed],
        },
    ]
    found.append(
        {
            "Sid": "ReadPrograms",
            "Effect": "Allow",
            "Action": "s3:GetObject",
            "Resource": Output.format("{0}/{1}/*", bucket_arn, PROGRAMS_PREFIX),
        }
    )
    if key_arn is not None:
        found.append(
            {
                "Sid": "UseCheckpointKey",
                "Effect": "Allow",
                "Action": ["kms:Decrypt", "kms:GenerateDataKey"],
                "Resource": key_arn,
            }
        )
    return found
