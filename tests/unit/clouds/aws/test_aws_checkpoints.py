"""The checkpoint bucket and its copy, as rendered for the engine."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from gpuyard import CheckpointStore

from ..recorder import Rendered, render, rendered_stack
from .test_aws_api import judged

ProdWith = Callable[[dict[str, Any]], Rendered]
KEY = "arn:aws:kms:us-east-1:123456789012:key/1"
REGIONS = {"checkpoints": "us-east-1", "replica": "us-west-2"}


@pytest.mark.parametrize("part", ["checkpoints", "replica"])
def test_each_bucket_is_private_versioned_and_encrypted(part: str, preview: bool):
    rendered = rendered_stack("aws-prod", preview=preview)
    name = f"aws-prod-{part}"
    closed = rendered.one("BucketPublicAccessBlock", f"{name}-private").inputs
    assert {key: value for key, value in closed.items() if key not in ("bucket", "region")} == {
        "blockPublicAcls": True,
        "blockPublicPolicy": True,
        "ignorePublicAcls": True,
        "restrictPublicBuckets": True,
    }
    assert rendered.one("BucketVersioning", f"{name}-versioning").inputs["versioningConfiguration"] == {
        "status": "Enabled"
    }
    (rule,) = rendered.one("BucketServerSideEncryptionConfiguration", f"{name}-encryption").inputs["rules"]
    # A bucket key is for keys of KMS only.
    assert rule == {"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}
    assert rendered.one("BucketOwnershipControls", f"{name}-ownership").inputs["rule"] == {
        "objectOwnership": "BucketOwnerEnforced"
    }


@pytest.mark.parametrize("part", ["checkpoints", "replica"])
def test_everything_about_a_bucket_is_in_its_own_region(part: str):
    parts = [
        found
        for found in rendered_stack("aws-prod", preview=False)
        if found.type.startswith("aws:s3/bucket") and f"{found.name}-".startswith(f"aws-prod-{part}-")
    ]
    assert len(parts) == 7
    assert {found.inputs["region"] for found in parts} == {REGIONS[part]}


@pytest.mark.parametrize("part", ["checkpoints", "replica"])
def test_plain_http_is_refused(part: str):
    rendered = rendered_stack("aws-prod", preview=False)
    policy = json.loads(rendered.one("BucketPolicy", f"aws-prod-{part}-tls").inputs["policy"])
    arn = f"arn:mock:aws-prod-{part}"
    assert policy["Statement"] == [
        {
            "Sid": "RefusePlainHttp",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:*",
            "Resource": [arn, f"{arn}/*"],
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
    ]


def rules(rendered: Rendered, name: str) -> dict[str, dict[str, Any]]:
    found = rendered.one("BucketLifecycleConfiguration", f"{name}-lifecycle").inputs["rules"]
    assert all(rule["status"] == "Enabled" for rule in found)
    return {rule["id"]: rule for rule in found}


@pytest.mark.parametrize(
    ("name", "days"), [("aws-dev-checkpoints", 7), ("aws-staging-checkpoints", 14), ("aws-prod-checkpoints", 30)]
)
def test_checkpoints_and_their_old_versions_end(name: str, days: int):
    found = rules(rendered_stack(name.removesuffix("-checkpoints"), preview=False), name)
    assert found["expire-checkpoints"]["filter"] == {"prefix": "checkpoints/"}
    assert found["expire-checkpoints"]["expiration"] == {"days": days}
    assert found["expire-old-versions"]["filter"] == {"prefix": ""}
    assert found["expire-old-versions"]["noncurrentVersionExpiration"] == {"noncurrentDays": 7}


def test_the_copy_ends_as_well():
    found = rules(rendered_stack("aws-prod", preview=False), "aws-prod-replica")
    assert found["expire-checkpoints"]["expiration"] == {"days": 30}


TIERED: dict[str, Any] = {
    "keep_days": 400,
    "tiers": {"archive": 90, "infrequent": 30, "deep_archive": 180},
    "prefixes": {"cold": {"keep_days": 2_000, "tiers": {"deep_archive": 1}}, "logs": {"keep_days": 7}},
    "replicate_to": "us-west-2",
}


def store(**values: Any) -> Rendered:
    """One store alone, as an update."""
    args: Any = {"region": "us-east-1", **values}
    return render(lambda: CheckpointStore("x", args), preview=False)


@pytest.mark.parametrize("part", ["checkpoints", "replica"])
def test_each_prefix_has_one_rule_with_its_moves_and_its_end(part: str):
    found = rules(store(**TIERED), f"x-{part}")
    assert list(found) == ["expire-checkpoints", "expire-cold", "expire-logs", "expire-old-versions", "abort-uploads"]
    assert found["expire-checkpoints"] == {
        "id": "expire-checkpoints",
        "status": "Enabled",
        "filter": {"prefix": "checkpoints/"},
        "transitions": [
            {"days": 30, "storageClass": "STANDARD_IA"},
            {"days": 90, "storageClass": "GLACIER"},
            {"days": 180, "storageClass": "DEEP_ARCHIVE"},
        ],
        "expiration": {"days": 400},
    }
    assert found["expire-cold"]["filter"] == {"prefix": "cold/"}
    assert found["expire-cold"]["transitions"] == [{"days": 1, "storageClass": "DEEP_ARCHIVE"}]
    assert found["expire-cold"]["expiration"] == {"days": 2_000}
    assert found["expire-logs"] == {
        "id": "expire-logs",
        "status": "Enabled",
        "filter": {"prefix": "logs/"},
        "expiration": {"days": 7},
    }
    assert found["expire-old-versions"]["expiration"] == {"expiredObjectDeleteMarker": True}


@pytest.mark.parametrize(
    "values",
    [
        {"keep_days": 30},
        TIERED,
        {"keep_days": 400, "tiers": {"automatic": 1}, "replicate_to": "us-west-2"},
        {"keep_days": 60, "replicate_to": "us-west-2"},
    ],
    ids=["plain", "tiered", "automatic", "copied"],
)
def test_lifecycles_and_copies_are_what_the_api_takes(values: dict[str, Any]):
    buckets = 2 if "replicate_to" in values else 1
    kinds = judged(store(**values))
    assert kinds.count("BucketLifecycleConfiguration") == buckets
    assert kinds.count("BucketReplicationConfig") == buckets - 1


@pytest.mark.parametrize(
    ("values", "storage_class"),
    [
        ({"keep_days": 30}, "STANDARD_IA"),
        ({"keep_days": 29}, None),
        ({"keep_days": 400, "tiers": {"archive": 60}}, "STANDARD_IA"),
        ({"keep_days": 400, "tiers": {"archive": 1}}, None),
    ],
)
def test_a_copy_is_in_a_class_that_its_lifecycle_goes_on_from(values: dict[str, Any], storage_class: str | None):
    (rule,) = store(replicate_to="us-west-2", **values).one("BucketReplicationConfig").inputs["rules"]
    assert rule["destination"].get("storageClass") == storage_class


def test_a_store_says_its_prefixes():
    made: list[CheckpointStore] = []
    args: Any = {"region": "us-east-1", **TIERED}
    render(lambda: made.append(CheckpointStore("x", args)), preview=False)
    assert made[0].prefixes == ["checkpoints", "cold", "logs"]


def test_br_037_one_rule_for_all_objects_ends_unfinished_uploads_and_no_other_does():
    found = rules(store(**TIERED), "x-checkpoints")
    assert [name for name, rule in found.items() if "abortIncompleteMultipartUpload" in rule] == ["abort-uploads"]
    assert found["abort-uploads"]["filter"] == {"prefix": ""}


def test_br_035_unfinished_uploads_end_by_a_rule_of_their_own(stack: Rendered):
    for lifecycle in stack.all("BucketLifecycleConfiguration"):
        aborting = [rule for rule in lifecycle.inputs["rules"] if "abortIncompleteMultipartUpload" in rule]
        assert aborting == [
            {
                "id": "abort-uploads",
                "status": "Enabled",
                "filter": {"prefix": ""},
                "abortIncompleteMultipartUpload": {"daysAfterInitiation": 2},
            }
        ]


def test_both_buckets_are_versioned_before_they_are_replicated():
    replication = rendered_stack("aws-prod", preview=False).one("BucketReplicationConfig")
    assert {"aws-prod-checkpoints-versioning", "aws-prod-replica-versioning"} <= set(replication.depends_on)
    assert "aws-prod-replication" in replication.depends_on
    assert replication.inputs["bucket"] == "aws-prod-checkpoints-id"
    (rule,) = replication.inputs["rules"]
    assert rule["status"] == "Enabled"
    assert rule["filter"] == {"prefix": ""}
    assert rule["destination"]["bucket"] == "arn:mock:aws-prod-replica"
    assert rule["deleteMarkerReplication"] == {"status": "Disabled"}


def test_a_bucket_is_versioned_before_old_versions_end(stack: Rendered):
    for lifecycle in stack.all("BucketLifecycleConfiguration"):
        assert lifecycle.name.replace("-lifecycle", "-versioning") in lifecycle.depends_on


def test_access_is_changed_one_step_after_another(stack: Rendered):
    for policy in stack.all("BucketPolicy"):
        assert policy.name.replace("-tls", "-private") in policy.depends_on


@pytest.mark.parametrize("name", ["aws-dev", "aws-staging"])
def test_without_a_second_region_there_is_one_bucket(name: str):
    rendered = rendered_stack(name, preview=False)
    assert [found.name for found in rendered.all("Bucket")] == [f"{name}-checkpoints"]
    assert rendered.all("BucketReplicationConfig") == []


@pytest.mark.parametrize(("name", "deleted"), [("aws-dev", True), ("aws-staging", False), ("aws-prod", False)])
def test_br_104_only_dev_deletes_a_bucket_with_everything_in_it(name: str, deleted: bool):
    for bucket in rendered_stack(name, preview=False).all("Bucket"):
        assert bucket.inputs["forceDestroy"] is deleted
        assert bucket.inputs["tags"]["gpuyard:cluster"] == name


def test_keys_of_ones_own_encrypt_the_bucket_and_the_copy_each_in_its_region(prod_with: ProdWith):
    there = KEY.replace("us-east-1", "us-west-2")
    rendered = prod_with({"checkpoints.kms_key": KEY, "checkpoints.replica_kms_key": there})
    encryption = {
        found.name: found.inputs["rules"][0]["applyServerSideEncryptionByDefault"]
        for found in rendered.all("BucketServerSideEncryptionConfiguration")
    }
    assert all(
        found.inputs["rules"][0]["bucketKeyEnabled"]
        for found in rendered.all("BucketServerSideEncryptionConfiguration")
    )
    assert encryption == {
        "aws-prod-checkpoints-encryption": {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": KEY},
        "aws-prod-replica-encryption": {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": there},
    }
