"""Keys of Alibaba Cloud: ARN or id."""

import pytest

from gpuyard.planning.alicloud.keys import key_id, key_problems

ID = "key-hzz65f3a68554i1sn9sfs"
UUID = "0d24891d-1c47-4b4e-8e1b-3d8f0d9f5d2a"
ARN = f"acs:kms:cn-beijing:1234567890123456:key/{ID}"


def problems(key: str) -> list[str]:
    return [str(one) for one in key_problems(key, "cn-beijing", ("kms_key",))]


@pytest.mark.parametrize("key", [ID, UUID, ARN, ARN.replace(ID, UUID)])
def test_an_arn_or_an_id_is_taken(key: str):
    assert problems(key) == []


@pytest.mark.parametrize(
    "key", ["alias/disks", "arn:aws:kms:us-east-1:123456789012:key/x", "mine", f"acs:kms:cn-beijing:x:key/{ID}", ""]
)
def test_anything_else_is_told_how_a_key_is_written(key: str):
    (found,) = problems(key)
    assert found == (
        f"kms_key: '{key}' is neither the ARN nor the id of a key. Give the ARN of a key of cn-beijing, written like "
        "'acs:kms:cn-beijing:1234567890123456:key/key-…', or its id."
    )


def test_a_key_of_another_region_is_refused():
    assert problems(ARN.replace("cn-beijing", "cn-hangzhou")) == [
        "kms_key: the key is of cn-hangzhou, what it encrypts is in cn-beijing. Name a key of cn-beijing."
    ]


def test_disks_and_buckets_take_the_id():
    assert key_id(ARN) == key_id(ID) == ID
