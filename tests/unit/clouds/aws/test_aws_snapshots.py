"""The snapshot schedule, as rendered for the engine and as Data Lifecycle Manager takes it."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pulumi
import pytest

from gpuyard import SnapshotPolicy

from ..recorder import Rendered, render, rendered_stack
from .api import faults, input_shape, to_api

ProdWith = Callable[[dict[str, Any]], Rendered]
KEY = "arn:aws:kms:us-east-1:123456789012:key/1"
KEY_THERE = "arn:aws:kms:us-west-2:123456789012:key/2"
TAG = {"gpuyard:snapshot": "x"}

VARIANTS: dict[str, dict[str, Any]] = {
    "hours": {"every_hours": 12, "keep_days": 7},
    "count": {"every_hours": 1, "keep_count": 1000},
    "hours of the day": {"hours_utc": [3, 15], "keep_days": 36_500},
    "days of the week": {"hours_utc": [3, 15], "weekdays": ["mon", "wed"], "keep_count": 1},
    "every hour of every day": {
        "hours_utc": list(range(24)),
        "weekdays": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"],
        "keep_days": 1,
    },
    "cron": {"keep_days": 400, "aws": {"cron": "cron(0 3 1 1 ? *)"}},
    "copy": {"every_hours": 6, "keep_days": 14, "copy_to": "us-west-2"},
    "copy with a key": {
        "every_hours": 6,
        "keep_count": 14,
        "copy_to": "us-west-2",
        "copy_keep_days": 30,
        "copy_kms_key": KEY_THERE,
    },
    "fast restore": {
        "every_hours": 24,
        "keep_days": 14,
        "aws": {"fast_restore": {"zones": ["us-east-1a", "us-east-1b"], "count": 2}},
    },
    "everything": {
        "keep_days": 365,
        "copy_to": "us-west-2",
        "copy_kms_key": KEY_THERE,
        "aws": {"cron": "cron(0 3 ? * MON#1 *)", "fast_restore": {"zones": ["us-east-1a"]}},
    },
}


def policy(**values: Any) -> Rendered:
    """One schedule alone, as an update."""
    args: Any = {"region": "us-east-1", "target_tags": TAG, **values}
    return render(lambda: SnapshotPolicy("x", args), preview=False)


def details(rendered: Rendered) -> dict[str, Any]:
    found = rendered.one("LifecyclePolicy").inputs
    assert found["state"] == "ENABLED"
    return found["policyDetails"]


def schedule(rendered: Rendered) -> dict[str, Any]:
    (found,) = details(rendered)["schedules"]
    return found


def outside_patterns(value: Any, shape: Any) -> Iterator[str]:
    """Texts that the API's own patterns do not match, which botocore leaves to the service.

    Patterns of tags are Java's and match everything.
    """
    pattern = shape.metadata.get("pattern", r"\p")
    if shape.type_name == "structure":
        for key, inner in value.items():
            yield from outside_patterns(inner, shape.members[key])
    elif shape.type_name == "list":
        for inner in value:
            yield from outside_patterns(inner, shape.member)
    elif "\\p" not in pattern and re.fullmatch(pattern, value) is None:
        yield value


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_is_what_the_api_takes(variant: str):
    found = details(policy(**VARIANTS[variant]))
    shape = input_shape("dlm", "CreateLifecyclePolicy")
    sent = to_api(found, shape.members["PolicyDetails"])
    whole = {"ExecutionRoleArn": "arn", "Description": "x", "State": "ENABLED", "PolicyDetails": sent}
    assert faults("dlm", "CreateLifecyclePolicy", whole) == []
    assert list(outside_patterns(sent, shape.members["PolicyDetails"])) == []


def test_the_patterns_see_what_the_api_would_refuse():
    shape = input_shape("dlm", "CreateLifecyclePolicy").members["PolicyDetails"].members["Schedules"].member
    wrong = {
        "CreateRule": {"CronExpression": "0 3 * * ? *"},
        "CrossRegionCopyRules": [{"Encrypted": True, "CmkArn": KEY.replace("key/", "alias/")}],
        "FastRestoreRule": {"AvailabilityZones": ["use1-az4"]},
    }
    assert list(outside_patterns(wrong, shape)) == ["0 3 * * ? *", KEY.replace("key/", "alias/"), "use1-az4"]


@pytest.mark.parametrize(
    ("name", "create", "retain"),
    [
        ("aws-dev", {"cronExpression": "cron(0 3 ? * MON,WED,FRI *)"}, {"interval": 7, "intervalUnit": "DAYS"}),
        (
            "aws-staging",
            {"interval": 12, "intervalUnit": "HOURS", "times": "03:00"},
            {"interval": 7, "intervalUnit": "DAYS"},
        ),
        (
            "aws-prod",
            {"interval": 6, "intervalUnit": "HOURS", "times": "03:00"},
            {"interval": 14, "intervalUnit": "DAYS"},
        ),
    ],
)
def test_disks_are_snapshotted_as_often_and_as_long_as_asked(
    name: str, create: dict[str, Any], retain: dict[str, Any], preview: bool
):
    rendered = rendered_stack(name, preview=preview)
    found = schedule(rendered)
    assert found["createRule"] == create
    assert found["retainRule"] == retain
    assert details(rendered)["resourceTypes"] == ["VOLUME"]
    assert details(rendered)["policyType"] == "EBS_SNAPSHOT_MANAGEMENT"


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"hours_utc": [15, 3], "weekdays": ["wed", "mon"]}, "cron(0 3,15 ? * MON,WED *)"),
        ({"hours_utc": [3]}, "cron(0 3 * * ? *)"),
        ({"aws": {"cron": "cron(0 3 L * ? *)"}}, "cron(0 3 L * ? *)"),
    ],
)
def test_hours_days_and_cron_are_one_expression(values: dict[str, Any], rule: str):
    assert schedule(policy(keep_days=60, **values))["createRule"] == {"cronExpression": rule}


def test_a_number_of_snapshots_is_kept_by_count():
    assert schedule(policy(every_hours=6, keep_count=10))["retainRule"] == {"count": 10}


def test_a_change_between_days_and_a_number_is_a_new_policy():
    """Data Lifecycle Manager: "You cannot change the retention schedule of a policy from count-based to age-based"."""
    for values in ({"keep_count": 3}, {"keep_days": 3}):
        found = policy(every_hours=6, **values).one("LifecyclePolicy")
        assert list(found.request.replaceOnChanges) == ["policyDetails.schedules[*].retainRule.intervalUnit"]


def test_a_change_of_times_keeps_the_name_that_older_snapshots_are_deleted_by():
    assert {schedule(policy(**values))["name"] for values in VARIANTS.values()} == {"snapshots"}


def test_br_034_snapshots_carry_the_tags_of_their_volume(stack: Rendered):
    assert schedule(stack)["copyTags"] is True


def test_br_034_snapshots_and_copies_say_what_made_them():
    found = schedule(policy(**VARIANTS["copy"]))
    assert found["tagsToAdd"] == {"gpuyard:snapshot-policy": "x"}
    assert [rule["copyTags"] for rule in found["crossRegionCopyRules"]] == [True]


def test_br_032_every_copy_is_encrypted_and_ends():
    assert schedule(rendered_stack("aws-prod", preview=False))["crossRegionCopyRules"] == [
        {
            "target": "us-west-2",
            "encrypted": True,
            "copyTags": True,
            "retainRule": {"interval": 30, "intervalUnit": "DAYS"},
        }
    ]


def test_br_032_the_key_of_a_copy_is_one_of_its_region_and_the_role_may_use_it():
    rendered = policy(**VARIANTS["copy with a key"])
    (rule,) = schedule(rendered)["crossRegionCopyRules"]
    assert (rule["target"], rule["encrypted"], rule["cmkArn"]) == ("us-west-2", True, KEY_THERE)
    use, grant = json.loads(rendered.one("RolePolicy").inputs["policy"])["Statement"]
    assert use == {
        "Effect": "Allow",
        "Action": ["kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncrypt*"],
        "Resource": KEY_THERE,
    }
    assert grant == {
        "Effect": "Allow",
        "Action": "kms:CreateGrant",
        "Resource": KEY_THERE,
        "Condition": {"Bool": {"kms:GrantIsForAWSResource": "true"}},
    }


@pytest.mark.parametrize(
    ("keys", "allowed"),
    [
        (lambda: [KEY], {KEY}),
        (lambda: [pulumi.Output.from_input(KEY)], {KEY}),
        (lambda: pulumi.Output.from_input([KEY]), {KEY}),
    ],
    ids=["plain", "outputs", "output"],
)
def test_the_role_may_use_the_keys_of_encrypted_disks(keys: Callable[[], Any], allowed: set[str]):
    # An output belongs to the event loop that runs when it is made: the program makes it.
    args: Any = {"region": "us-east-1", "target_tags": TAG, **VARIANTS["hours"]}
    rendered = render(lambda: SnapshotPolicy("x", {**args, "volume_key_arns": keys()}), preview=False)
    statements = json.loads(rendered.one("RolePolicy").inputs["policy"])["Statement"]
    assert {key for statement in statements for key in statement["Resource"]} == allowed
    assert "x-snapshot-keys" in rendered.one("LifecyclePolicy").depends_on


@pytest.mark.parametrize("keys", [{}, {"volume_key_arns": []}])
def test_without_keys_of_ones_own_the_role_gets_no_more_than_aws_gives_it(keys: dict[str, Any]):
    rendered = policy(**VARIANTS["copy"], **keys)
    assert rendered.all("RolePolicy") == []
    (attached,) = rendered.all("RolePolicyAttachment")
    assert attached.inputs["policyArn"] == "arn:aws:iam::aws:policy/service-role/AWSDataLifecycleManagerServiceRole"


@pytest.mark.parametrize("name", ["aws-dev", "aws-staging"])
def test_without_a_second_region_nothing_is_copied(name: str):
    assert not {"crossRegionCopyRules", "fastRestoreRule"} & set(schedule(rendered_stack(name, preview=False)))


def test_fast_restore_names_its_zones_and_its_number():
    found = schedule(policy(**VARIANTS["fast restore"]))
    assert found["fastRestoreRule"] == {"availabilityZones": ["us-east-1a", "us-east-1b"], "count": 2}


def volume_tags(rendered: Rendered) -> list[dict[str, str]]:
    """Tags of the volumes of every pool; every pool must have them."""
    found = [
        [one["tags"] for one in template.inputs["tagSpecifications"] if one["resourceType"] == "volume"]
        for template in rendered.all("LaunchTemplate")
    ]
    assert found
    assert all(len(tags) == 1 for tags in found)
    return [tags[0] for tags in found]


def test_br_031_the_disks_carry_the_very_tags_that_the_schedule_selects_by(stack: Rendered):
    wanted = details(stack)["targetTags"]
    assert wanted
    for tags in volume_tags(stack):
        assert {key: tags.get(key) for key in wanted} == wanted


def test_br_031_holds_for_every_pool_and_a_name_of_its_own(prod_with: ProdWith):
    rendered = prod_with(
        {
            "name": "mine",
            "node_pools.more": {"gpu": "A10", "nodes": 1},
            "node_pools.spot": {"gpu": "A10", "nodes": {"min": 0, "max": 2}, "purchase": "spot"},
        }
    )
    assert details(rendered)["targetTags"] == {"gpuyard:snapshot": "mine"}
    pools = volume_tags(rendered)
    assert len(pools) == len(rendered.all("Group")) >= 3
    for tags in pools:
        # Case counts: a tag that differs by case alone would be another one.
        assert {key: value for key, value in tags.items() if key.lower() == "gpuyard:snapshot"} == {
            "gpuyard:snapshot": "mine"
        }


def test_the_schedule_waits_for_its_permission():
    policy_ = rendered_stack("aws-prod", preview=False).one("LifecyclePolicy")
    dependencies = [urn.split("::")[2].split("$")[-1] for urn in policy_.request.dependencies]
    assert "aws:iam/rolePolicyAttachment:RolePolicyAttachment" in dependencies
