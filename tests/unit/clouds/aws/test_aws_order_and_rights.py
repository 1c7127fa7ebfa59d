"""What waits for what on AWS, and what nodes may do."""

from collections.abc import Callable
from typing import Any

import pytest

from gpuyard import SpecError, TrainingCluster

from ..recorder import Rendered, render, rendered_stack, stack_cluster

ProdWith = Callable[[dict[str, Any]], Rendered]
KEY = "arn:aws:kms:us-east-1:123456789012:key/1"


def test_nodes_may_use_the_key_of_their_bucket(prod_with: ProdWith):
    rendered = prod_with({"checkpoints.kms_key": KEY, "checkpoints.replicate_to": None})
    policy = rendered.one("RolePolicy", "aws-prod-train-checkpoints").inputs["policy"]
    assert "kms:GenerateDataKey" in policy
    assert KEY in policy


def test_a_copy_of_objects_under_a_key_names_the_key_of_its_own_region(prod_with: ProdWith):
    """S3: "If SourceSelectionCriteria is specified, you must specify [EncryptionConfiguration]"."""
    there = KEY.replace("us-east-1", "us-west-2")
    rendered = prod_with({"checkpoints.kms_key": KEY, "checkpoints.replica_kms_key": there})
    (rule,) = rendered.one("BucketReplicationConfig").inputs["rules"]
    assert rule["sourceSelectionCriteria"] == {"sseKmsEncryptedObjects": {"status": "Enabled"}}
    assert rule["destination"]["encryptionConfiguration"] == {"replicaKmsKeyId": there}
    policy = rendered.one("RolePolicy", "aws-prod-replication").inputs["policy"]
    assert f'"Action": ["kms:Encrypt"], "Resource": "{there}"' in policy


def test_a_copy_without_a_key_of_its_region_is_refused(prod_with: ProdWith):
    with pytest.raises(SpecError, match="only under a key of that region"):
        prod_with({"checkpoints.kms_key": KEY})
    with pytest.raises(SpecError, match="the key is of us-east-1, what it encrypts is in us-west-2"):
        prod_with({"checkpoints.kms_key": KEY, "checkpoints.replica_kms_key": KEY})


def test_a_nat_gateway_waits_for_the_internet_gateway():
    for gateway in rendered_stack("aws-prod", preview=False).all("NatGateway"):
        assert "aws-prod-network-igw" in gateway.depends_on


def test_a_file_system_waits_for_the_rules_of_its_group():
    """FSx refuses a group that does not yet let Lustre through."""
    waits = rendered_stack("aws-prod", preview=False).one("LustreFileSystem").depends_on
    assert {"aws-prod-network-lustre-self-in-988", "aws-prod-network-lustre-self-in-1018"} <= set(waits)


def test_nodes_wait_for_their_way_out_and_their_rights():
    rendered = rendered_stack("aws-prod", preview=False)
    waits = set(rendered.of_pool("Group").depends_on) | set(rendered.of_pool("LaunchTemplate").depends_on)
    assert "aws-prod-network-private-us-east-1d-out" in waits
    assert {"aws-prod-network-nodes-self-in", "aws-prod-network-nodes-self-out"} <= waits
    assert {"aws-prod-train-ssm", "aws-prod-train-node", "aws-prod-train-checkpoints"} <= waits


def test_names_too_long_for_a_role_are_refused():
    cluster: Any = stack_cluster("aws-prod")
    cluster = {**cluster, "name": "a" * 32, "node_pools": {"b" * 32: cluster["node_pools"]["train"]}}
    with pytest.raises(SpecError, match="64"):
        render(lambda: TrainingCluster("x", cluster), preview=False)


def test_a_stacks_name_that_is_no_name_for_a_bucket_is_refused():
    cluster: Any = stack_cluster("aws-prod")
    with pytest.raises(SpecError, match="My_Stack"):
        render(lambda: TrainingCluster("My_Stack", cluster), preview=False)


def test_delete_markers_end():
    lifecycle = rendered_stack("aws-prod", preview=False).one(
        "BucketLifecycleConfiguration", "aws-prod-checkpoints-lifecycle"
    )
    assert any(rule.get("expiration", {}).get("expiredObjectDeleteMarker") for rule in lifecycle.inputs["rules"])
