"""Roles have nothing more than a component needs."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from gpuyard.clouds.aws.partition import managed_policy_arn, partition_of, service_principal

from ..recorder import Rendered, rendered_stack

ProdWith = Callable[[dict[str, Any]], Rendered]
BUCKET = "arn:mock:aws-prod-checkpoints"
# A pool knows its bucket by name.
NODES_BUCKET = "arn:aws:s3:::aws-prod-checkpoints-1a2b3c"
REPLICA = "arn:mock:aws-prod-replica"
# Actions that only read and that the service gives on everything or not at all.
WITHOUT_RESOURCE = {"ec2:DescribeTags", "fsx:DescribeFileSystems", "autoscaling:DescribeAutoScalingInstances"}
SCALING_GROUPS = "arn:aws:autoscaling:"


def statements(rendered: Rendered, name: str) -> list[dict[str, Any]]:
    return json.loads(rendered.one("RolePolicy", name).inputs["policy"])["Statement"]


def listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


@pytest.mark.parametrize("name", ["aws-dev", "aws-staging", "aws-prod"])
def test_no_role_may_do_everything_or_reach_everything(name: str):
    policies = rendered_stack(name, preview=False).all("RolePolicy")
    assert policies
    for policy in policies:
        for statement in json.loads(policy.inputs["policy"])["Statement"]:
            assert statement["Effect"] == "Allow"
            actions, resources = listed(statement["Action"]), listed(statement["Resource"])
            assert not [action for action in actions if "*" in action]
            if resources == ["*"]:
                assert set(actions) <= WITHOUT_RESOURCE or "Condition" in statement, statement
            else:
                assert all(
                    resource.startswith(("arn:mock:", "arn:aws:s3:::aws-", SCALING_GROUPS)) for resource in resources
                )


def test_each_role_can_be_assumed_by_one_service_alone():
    roles = rendered_stack("aws-prod", preview=False).all("Role")
    trusted = {}
    for role in roles:
        (statement,) = json.loads(role.inputs["assumeRolePolicy"])["Statement"]
        assert (statement["Effect"], statement["Action"]) == ("Allow", "sts:AssumeRole")
        assert set(statement["Principal"]) == {"Service"}
        trusted[role.name] = statement["Principal"]["Service"]
    assert trusted == {
        "aws-prod-train-role": "ec2.amazonaws.com",
        "aws-prod-prepare-role": "ec2.amazonaws.com",
        "aws-prod-replication": "s3.amazonaws.com",
        "aws-prod-snapshots": "dlm.amazonaws.com",
    }


def test_roles_have_only_the_managed_policies_that_the_services_need():
    attached = {
        found.inputs["policyArn"].split(":policy/")[1]
        for found in rendered_stack("aws-prod", preview=False).all("RolePolicyAttachment")
    }
    assert attached == {"AmazonSSMManagedInstanceCore", "service-role/AWSDataLifecycleManagerServiceRole"}


def test_nodes_reach_checkpoints_of_their_own_bucket_only():
    listing, using, reading = statements(rendered_stack("aws-prod", preview=False), "aws-prod-train-checkpoints")
    assert listing["Resource"] == NODES_BUCKET
    prefixes = ["checkpoints", "checkpoints/*", "releases", "releases/*"]
    assert listing["Condition"] == {"StringLike": {"s3:prefix": prefixes}}
    assert using["Resource"] == [f"{NODES_BUCKET}/checkpoints/*", f"{NODES_BUCKET}/releases/*"]
    assert "s3:DeleteObjectVersion" not in using["Action"]
    assert {"s3:GetObject", "s3:PutObject"} <= set(using["Action"])
    assert (reading["Action"], reading["Resource"]) == ("s3:GetObject", f"{NODES_BUCKET}/gpuyard-node/*")


def test_nodes_without_a_bucket_have_no_right_to_any(prod_with: ProdWith):
    rendered = prod_with({"checkpoints": ..., "node_pools.prepare": ...})
    (policy,) = rendered.all("RolePolicy")
    assert policy.name == "aws-prod-train-node"
    assert "s3:" not in policy.inputs["policy"]
    assert rendered.all("Bucket") == []


def test_replication_reads_one_bucket_and_writes_the_other():
    found = statements(rendered_stack("aws-prod", preview=False), "aws-prod-replication")
    by_resource = {statement["Resource"]: set(statement["Action"]) for statement in found}
    assert set(by_resource) == {BUCKET, f"{BUCKET}/*", f"{REPLICA}/*"}
    assert by_resource[f"{REPLICA}/*"] == {"s3:ReplicateObject", "s3:ReplicateDelete", "s3:ReplicateTags"}
    assert not any(action.startswith(("s3:Put", "s3:Delete")) for actions in by_resource.values() for action in actions)


@pytest.mark.parametrize(
    ("region", "partition", "ec2"),
    [
        ("us-east-1", "aws", "ec2.amazonaws.com"),
        ("cn-north-1", "aws-cn", "ec2.amazonaws.com.cn"),
        ("us-gov-west-1", "aws-us-gov", "ec2.amazonaws.com"),
    ],
)
def test_names_follow_the_partition_of_the_region(region: str, partition: str, ec2: str):
    assert partition_of(region) == partition
    assert service_principal("ec2", region) == ec2
    assert service_principal("dlm", region) == "dlm.amazonaws.com"
    assert managed_policy_arn("AmazonSSMManagedInstanceCore", region) == (
        f"arn:{partition}:iam::aws:policy/AmazonSSMManagedInstanceCore"
    )
