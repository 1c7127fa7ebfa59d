"""The checkpoint bucket and its copy on Alibaba Cloud, as rendered for the engine."""

import json
from typing import Any

import pytest

from gpuyard import CheckpointStore
from gpuyard.spec import SpecError

from ..recorder import Rendered, render

KEY_ID, KEY_ID_THERE = "key-bjz0123456789abcdef", "key-hzz0123456789abcdef"
KEY = f"acs:kms:cn-beijing:1234567890123456:key/{KEY_ID}"
KEY_THERE = f"acs:kms:cn-hangzhou:1234567890123456:key/{KEY_ID_THERE}"
TIERED: dict[str, Any] = {
    "keep_days": 400,
    "tiers": {"archive": 60, "infrequent": 30, "deep_archive": 120},
    "prefixes": {"cold": {"keep_days": 2_000, "tiers": {"deep_archive": 1}}, "logs": {"keep_days": 7}},
    "replicate_to": "cn-hangzhou",
}


def store(*, preview: bool = False, **values: Any) -> Rendered:
    """One store alone."""
    args: Any = {"cloud": "alicloud", "region": "cn-beijing", "keep_days": 30, **values}
    return render(lambda: CheckpointStore("x", args), preview=preview)


def refused(**values: Any) -> list[str]:
    with pytest.raises(SpecError) as error:
        store(**values)
    return [str(problem) for problem in error.value.problems]


@pytest.mark.parametrize("part", ["checkpoints", "replica"])
def test_each_bucket_is_private_versioned_and_encrypted(part: str, preview: bool):
    rendered = store(preview=preview, replicate_to="cn-hangzhou")
    bucket = rendered.one("Bucket", f"x-{part}")
    assert bucket.inputs["versioning"] == {"status": "Enabled"}
    assert bucket.inputs["serverSideEncryptionRule"] == {"sseAlgorithm": "AES256"}
    assert rendered.one("BucketAcl", f"x-{part}-private").inputs["acl"] == "private"
    assert rendered.one("BucketPublicAccessBlock", f"x-{part}-closed").inputs["blockPublicAccess"] is True
    # Deprecated properties of the bucket itself, which has resources for them.
    assert not {"acl", "policy"} & set(bucket.inputs)
    assert list(bucket.request.ignoreChanges) == ["acl", "policy"]


@pytest.mark.parametrize("part", ["checkpoints", "replica"])
def test_plain_http_is_refused(part: str):
    rendered = store(replicate_to="cn-hangzhou")
    policy = rendered.one("BucketPolicy", f"x-{part}-tls")
    arn = f"acs:oss:*:*:x-{part}-1a2b3c"
    assert json.loads(policy.inputs["policy"]) == {
        "Version": "1",
        "Statement": [
            {
                "Effect": "Deny",
                "Principal": ["*"],
                "Action": ["oss:*"],
                "Resource": [arn, f"{arn}/*"],
                "Condition": {"Bool": {"acs:SecureTransport": ["false"]}},
            }
        ],
    }
    assert f"x-{part}-closed" in policy.depends_on


def rules(rendered: Rendered, part: str) -> dict[str, dict[str, Any]]:
    bucket = rendered.one("Bucket", f"x-{part}").inputs
    assert bucket["lifecycleRuleAllowSameActionOverlap"] is True
    assert all(rule["enabled"] for rule in bucket["lifecycleRules"])
    return {rule["id"]: rule for rule in bucket["lifecycleRules"]}


@pytest.mark.parametrize("part", ["checkpoints", "replica"])
def test_each_prefix_has_one_rule_with_its_moves_and_its_end(part: str):
    found = rules(store(**TIERED), part)
    assert list(found) == ["expire-checkpoints", "expire-cold", "expire-logs", "expire-old-versions", "abort-uploads"]
    assert found["expire-checkpoints"] == {
        "id": "expire-checkpoints",
        "enabled": True,
        "prefix": "checkpoints/",
        "transitions": [
            {"days": 30, "storageClass": "IA"},
            {"days": 60, "storageClass": "Archive"},
            {"days": 120, "storageClass": "ColdArchive"},
        ],
        "expirations": [{"days": 400}],
    }
    assert found["expire-cold"]["transitions"] == [{"days": 1, "storageClass": "ColdArchive"}]
    assert "transitions" not in found["expire-logs"]
    assert found["expire-old-versions"]["noncurrentVersionExpirations"] == [{"days": 7}]
    assert found["expire-old-versions"]["expirations"] == [{"expiredObjectDeleteMarker": True}]
    assert found["abort-uploads"]["abortMultipartUploads"] == [{"days": 2}]


def test_moves_from_cold_to_warm_are_refused():
    assert refused(keep_days=400, tiers={"archive": 30, "infrequent": 120}) == [
        "tiers.infrequent: an object in Archive from day 30 cannot move on to IA on day 120. What may follow "
        "'archive': deep_archive."
    ]


def test_a_tier_that_oss_lacks_is_refused_with_those_it_has():
    assert refused(tiers={"automatic": 1}) == [
        "tiers.automatic: alicloud has no storage class that is 'automatic'. It has infrequent, archive or "
        "deep_archive."
    ]


def test_the_store_is_reached_by_the_endpoint_inside_the_region():
    made: list[CheckpointStore] = []
    outputs: dict[str, Any] = {}

    def program() -> None:
        args: Any = {"cloud": "alicloud", "region": "cn-beijing", "keep_days": 30}
        made.append(CheckpointStore("x", args))
        made[0].uri.apply(lambda uri: outputs.update(uri=uri))
        assert made[0].endpoint is not None
        made[0].endpoint.apply(lambda endpoint: outputs.update(endpoint=endpoint))

    render(program, preview=False)
    assert outputs == {"uri": "oss://x-checkpoints-1a2b3c/checkpoints", "endpoint": "x-checkpoints-internal.example"}


def test_a_data_flow_may_reach_the_bucket_and_not_the_copy():
    rendered = store(replicate_to="cn-hangzhou")
    assert rendered.one("Bucket", "x-checkpoints").inputs["tags"]["cpfs-dataflow"] == "true"
    assert "cpfs-dataflow" not in rendered.one("Bucket", "x-replica").inputs["tags"]
    assert rendered.one("Bucket", "x-replica").inputs["tags"]["gpuyard:role"] == "replica"


def test_the_copy_and_all_of_it_is_in_its_own_region():
    rendered = store(replicate_to="cn-hangzhou")
    provider = rendered.one("pulumi:providers:alicloud", "x-replica")
    assert provider.inputs["region"] == "cn-hangzhou"
    there = {one.name for one in rendered if "::x-replica::" in one.request.provider}
    assert there == {"x-replica", "x-replica-private", "x-replica-closed", "x-replica-tls"}


def test_the_copy_takes_what_is_written_and_not_what_is_deleted():
    found = store(replicate_to="cn-hangzhou").one("BucketReplication")
    assert found.inputs["action"] == "PUT"
    assert found.inputs["historicalObjectReplication"] == "enabled"
    assert found.inputs["bucket"] == "x-checkpoints-1a2b3c"
    assert found.inputs["destination"] == {"bucket": "x-replica-1a2b3c", "location": "x-replica-location"}
    assert found.inputs["syncRole"] == "x-replication-cn-beijing"
    assert not {"encryptionConfiguration", "sourceSelectionCriteria"} & set(found.inputs)
    assert "x-replication" in found.depends_on
    assert found.request.deleteBeforeReplace, "two rules of the same two buckets are refused"


def test_the_role_may_copy_and_nothing_else():
    rendered = store(replicate_to="cn-hangzhou")
    trust = json.loads(rendered.one("Role").inputs["assumeRolePolicyDocument"])
    assert [one["Principal"] for one in trust["Statement"]] == [{"Service": ["oss.aliyuncs.com"]}]
    allowed = json.loads(rendered.one("Policy").inputs["policyDocument"])["Statement"]
    assert [(one["Action"], one["Resource"][0]) for one in allowed] == [
        (["oss:ReplicateList", "oss:ReplicateGet"], "acs:oss:*:*:x-checkpoints-1a2b3c"),
        (["oss:ReplicateList", "oss:ReplicateGet", "oss:ReplicatePut"], "acs:oss:*:*:x-replica-1a2b3c"),
    ]


def test_keys_of_your_own_encrypt_bucket_and_copy():
    rendered = store(kms_key=KEY, replicate_to="cn-hangzhou", replica_kms_key=KEY_THERE)
    for part, key in (("checkpoints", KEY_ID), ("replica", KEY_ID_THERE)):
        rule = rendered.one("Bucket", f"x-{part}").inputs["serverSideEncryptionRule"]
        assert rule == {"sseAlgorithm": "KMS", "kmsMasterKeyId": key}
    found = rendered.one("BucketReplication").inputs
    assert found["encryptionConfiguration"] == {"replicaKmsKeyId": KEY_ID_THERE}
    assert found["sourceSelectionCriteria"] == {"sseKmsEncryptedObjects": {"status": "Enabled"}}
    allowed = json.loads(rendered.one("Policy").inputs["policyDocument"])["Statement"]
    assert [one["Resource"] for one in allowed[2:]] == [
        [f"acs:kms:cn-beijing:*:key/{KEY_ID}"],
        [f"acs:kms:cn-hangzhou:*:key/{KEY_ID_THERE}"],
    ]


@pytest.mark.parametrize(("environment", "protected"), [("dev", False), ("staging", False), ("prod", True)])
def test_data_is_protected_in_prod_and_thrown_away_in_dev_only(environment: str, protected: bool):
    rendered = store(environment=environment, replicate_to="cn-hangzhou")
    for bucket in rendered.all("Bucket"):
        assert bucket.request.protect is protected
        assert bucket.inputs["forceDestroy"] is (environment == "dev")
    assert not any(one.request.protect for one in rendered if not one.type.endswith(":Bucket"))
