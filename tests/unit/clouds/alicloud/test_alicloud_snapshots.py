"""The snapshot policy on Alibaba Cloud, as rendered for the engine."""

from typing import Any

import pulumi
import pytest

from gpuyard import SnapshotPolicy
from gpuyard.spec import SpecError

from ..recorder import Rendered, render

KEY_ID = "key-hzz0123456789abcdef"
KEY_THERE = f"acs:kms:cn-hangzhou:1234567890123456:key/{KEY_ID}"
DISKS = {"train-0-system": "d-1", "train-0-data": "d-2"}


def rendered(*, preview: bool = False, **values: Any) -> Rendered:
    """One policy alone; ``every_hours`` and ``keep_days`` are there where nothing else is said."""
    base = {"cloud": "alicloud", "region": "cn-beijing", "keep_days": 7}
    when = {} if "hours_utc" in values else {"every_hours": 6}
    args: Any = {**base, **when, **values}
    return render(lambda: SnapshotPolicy("x", args), preview=preview)


def test_hours_and_days_are_texts_of_utc_8():
    found = rendered(hours_utc=[16, 20], weekdays=["sun", "wed"]).one("AutoSnapshotPolicy").inputs
    assert found["timePoints"] == ["0", "4"]
    assert found["repeatWeekdays"] == ["1", "4"]
    assert found["retentionDays"] == 7
    assert found["tags"]["gpuyard:cluster"] == "x"


def test_every_six_hours_is_each_day_of_the_week():
    found = rendered().one("AutoSnapshotPolicy").inputs
    assert found["timePoints"] == ["5", "11", "17", "23"]
    assert found["repeatWeekdays"] == ["1", "2", "3", "4", "5", "6", "7"]


def test_without_a_copy_none_is_configured():
    found = rendered().one("AutoSnapshotPolicy").inputs
    assert found["enableCrossRegionCopy"] is False
    assert not {"targetCopyRegions", "copiedSnapshotsRetentionDays", "copyEncryptionConfiguration"} & set(found)


def test_the_copy_is_encrypted_and_kept_for_its_own_time():
    found = rendered(copy_to="cn-hangzhou", copy_keep_days=30).one("AutoSnapshotPolicy").inputs
    assert found["enableCrossRegionCopy"] is True
    assert found["targetCopyRegions"] == ["cn-hangzhou"]
    assert found["copiedSnapshotsRetentionDays"] == 30
    assert found["copyEncryptionConfiguration"] == {"encrypted": True}


def test_the_copy_s_key_is_named_by_its_id():
    found = rendered(copy_to="cn-hangzhou", copy_kms_key=KEY_THERE).one("AutoSnapshotPolicy").inputs
    assert found["copyEncryptionConfiguration"] == {"encrypted": True, "kmsKeyId": KEY_ID}


def test_br_061_each_disk_has_an_attachment(preview: bool):
    found = rendered(preview=preview, disks=DISKS)
    attached = {one.name: one for one in found.all("EcsAutoSnapshotPolicyAttachment")}
    assert {name: one.inputs["diskId"] for name, one in attached.items()} == {
        "x-train-0-system-snapshots": "d-1",
        "x-train-0-data-snapshots": "d-2",
    }


def test_br_062_an_attachment_goes_before_its_policy():
    found = rendered(disks=DISKS)
    for attachment in found.all("EcsAutoSnapshotPolicyAttachment"):
        assert attachment.inputs["autoSnapshotPolicyId"] == "x-snapshots-id"
        assert attachment.depends_on == ["x-snapshots"]
        assert attachment.parent == "x"


def test_ids_of_disks_may_be_known_only_later():
    found = rendered(disks={"train-0-data": pulumi.Output.from_input("d-3")})
    assert found.one("EcsAutoSnapshotPolicyAttachment").inputs["diskId"] == "d-3"


@pytest.mark.parametrize(
    ("disks", "message"),
    [
        (["d-1"], "disks: should be a mapping of ids by name, not list."),
        (pulumi.Output.from_input({"a": "d-1"}), "disks: should be a mapping of ids by name, not Output."),
        ({"data": 3}, "disks.data: should be the id of a disk, not 3."),
        ({"data": ""}, "disks.data: should be the id of a disk, not ''."),
    ],
)
def test_names_of_disks_are_known_before(disks: Any, message: str):
    with pytest.raises(SpecError) as error:
        rendered(disks=disks)
    assert [str(problem) for problem in error.value.problems] == [message]


def test_aws_goes_by_tags():
    args: Any = {"region": "us-east-1", "every_hours": 6, "keep_days": 7}
    with pytest.raises(SpecError) as error:
        SnapshotPolicy("x", args)
    assert [str(problem) for problem in error.value.problems] == ["target_tags: is missing. aws needs it."]
