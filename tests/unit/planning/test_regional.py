"""Keys and second regions belong to the right place."""

from dataclasses import replace

import pytest

from gpuyard.planning.regional import key_problems, second_region_problems

from .conftest import PLACE

KEY = "arn:aws:kms:us-east-1:123456789012:key/1"
ALIAS = "arn:aws:kms:us-east-1:123456789012:alias/disks"
LIKE = "It is written like 'arn:aws:kms:us-east-1:123456789012:key/...'."


@pytest.mark.parametrize("region", [None, "us-west-2", "eu-central-1"])
def test_another_region_of_the_same_partition_is_right(region: str | None):
    assert second_region_problems(region, PLACE, ("x",)) == []


def test_copies_stay_inside_china():
    china = replace(PLACE, region="cn-north-1")
    assert second_region_problems("cn-northwest-1", china, ("x",)) == []
    (problem,) = second_region_problems("us-west-2", china, ("x",))
    assert str(problem) == (
        "x: us-west-2 is in partition aws, cn-north-1 in aws-cn. Data cannot be copied across partitions."
    )


@pytest.mark.parametrize("key", [None, KEY, ALIAS])
def test_a_key_of_the_region_is_right_and_so_is_its_alias(key: str | None):
    assert key_problems(key, "aws", "us-east-1", ("x",)) == []


@pytest.mark.parametrize(
    "key", ["1", "alias/disks", "arn:aws:s3:us-east-1:123456789012:key/1", "arn:aws:kms:us-east-1:123456789012:1"]
)
def test_what_is_no_arn_of_a_key_is_refused(key: str):
    (problem,) = key_problems(key, "aws", "us-east-1", ("x",))
    assert str(problem) == f"x: '{key}' is no ARN of a key. {LIKE}"


def test_br_032_a_key_of_another_region_is_refused():
    (problem,) = key_problems(KEY, "aws", "us-west-2", ("x",))
    assert str(problem) == "x: the key is of us-east-1, what it encrypts is in us-west-2. Name a key of us-west-2."


def test_an_alias_is_refused_where_a_role_needs_permission_for_the_key():
    assert key_problems(KEY, "aws", "us-east-1", ("x",), alias=False) == []
    (problem,) = key_problems(ALIAS, "aws", "us-east-1", ("x",), alias=False)
    assert str(problem) == (
        f"x: '{ALIAS}' is an alias, and a role can be given permission for the key itself only. Give the key's own "
        f"ARN. {LIKE}"
    )
