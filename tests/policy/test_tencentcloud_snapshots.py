"""What the policies understand of disks and of schedules of snapshots on Tencent Cloud, and of what attaches them."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import pytest

from gpuyard_policy.facts import Facts, Record, Unknown, collect_facts
from tests.policy.resources import record

DISK = "tencentcloud:Cbs/storage:Storage"
DISK_SET = "tencentcloud:Cbs/storageSet:StorageSet"
POLICY = "tencentcloud:Cbs/snapshotPolicy:SnapshotPolicy"
ATTACHMENT = "tencentcloud:Cbs/snapshotPolicyAttachment:SnapshotPolicyAttachment"
FILES = "tencentcloud:Cfs/fileSystem:FileSystem"
FILE_POLICY = "tencentcloud:Cfs/autoSnapshotPolicy:AutoSnapshotPolicy"
FILE_ATTACHMENT = "tencentcloud:Cfs/autoSnapshotPolicyAttachment:AutoSnapshotPolicyAttachment"
LATER = Unknown("known only after the update")


def facts(*records: Record) -> Facts:
    found = collect_facts(records)
    assert found.problems == ()
    return found


def of(kind: str, name: str, props: dict[str, Any], depends_on: Any = None) -> Record:
    return record(kind, name, props, depends_on, "ap-beijing")


ONE = of(DISK, "one", {"storageType": "CLOUD_HSSD"})
DAILY = of(POLICY, "daily", {"retentionDays": 14.0})


def attaches(props: dict[str, Any], **depends_on: list[str]) -> Record:
    return of(ATTACHMENT, "attached", props, depends_on)


def test_a_set_of_disks_is_a_disk() -> None:
    props = {"storageType": "CLOUD_SSD", "storageSize": 200.0, "diskCount": 3.0, "encrypt": LATER}
    (found,) = facts(of(DISK_SET, "set", props)).disks
    assert (found.disk_type, found.size_gib, found.encrypted, found.role) == ("CLOUD_SSD", 200, LATER, "data")


@pytest.mark.parametrize(("policy", "named"), [("asp-of-another", "asp-of-another"), (LATER, "attached")])
def test_a_schedule_of_another_stack_counts_for_the_disk(policy: Any, named: str) -> None:
    one = attaches({"snapshotPolicyId": policy, "storageId": LATER}, storageId=[ONE.urn])
    (found,) = facts(ONE, one).disks
    assert found.schedules == (one.urn if named == "attached" else named,)


@pytest.mark.parametrize(
    ("props", "depends_on", "attached"),
    [
        ({"storageIds": ["disk-1", "disk-2"]}, {}, ("disk-1", "disk-2")),
        ({"storageId": LATER}, {"storageId": [ONE.urn]}, (ONE.urn,)),
        ({"storageIds": [LATER, "disk-2"]}, {"storageIds": [ONE.urn]}, (ONE.urn,)),
        ({"storageIds": [LATER, LATER]}, {"storageIds": [ONE.urn]}, LATER),
        ({"storageIds": LATER}, {}, LATER),
        ({"storageId": 17.0}, {}, ()),
    ],
)
def test_what_a_schedule_is_attached_to_is_known_when_all_is(props: Any, depends_on: Any, attached: Any) -> None:
    one = attaches({"snapshotPolicyId": LATER, **props}, snapshotPolicyId=[DAILY.urn], **depends_on)
    (found,) = facts(ONE, DAILY, one).schedules
    assert found.attached == attached


def test_what_attaches_a_policy_that_is_not_known_may_attach_any() -> None:
    one = attaches({"snapshotPolicyId": LATER, "storageId": LATER}, storageId=[ONE.urn])
    (found,) = facts(ONE, DAILY, one).schedules
    assert found.attached == LATER
    other = attaches({"snapshotPolicyId": "asp-of-another", "storageId": LATER}, storageId=[ONE.urn])
    (found,) = facts(ONE, DAILY, other).schedules
    assert found.attached == ()


@pytest.mark.parametrize(
    ("days", "kept"), [({}, None), ({"aliveDays": 0.0}, None), ({"aliveDays": 14.0}, 14), ({"aliveDays": LATER}, LATER)]
)
def test_snapshots_of_file_systems_are_kept_for_ever_unless_it_is_said(days: dict[str, Any], kept: Any) -> None:
    (found,) = facts(of(FILE_POLICY, "files", days)).schedules
    assert (found.keep_days, found.keep_count) == (kept, None)


@pytest.mark.parametrize("by_id", [True, False])
def test_a_schedule_of_file_systems_knows_what_it_is_attached_to(by_id: bool) -> None:
    files = of(FILES, "files", {"storageType": "SD", **({"id": "cfs-1"} if by_id else {})})
    policy = of(FILE_POLICY, "daily", {"hour": "2", **({"id": "snap-1"} if by_id else {})})
    props = {"autoSnapshotPolicyId": "snap-1", "fileSystemIds": "cfs-1, cfs-2"}
    joined = (
        of(FILE_ATTACHMENT, "a", props)
        if by_id
        else of(
            FILE_ATTACHMENT,
            "a",
            {"autoSnapshotPolicyId": LATER, "fileSystemIds": LATER},
            {"autoSnapshotPolicyId": [policy.urn], "fileSystemIds": [files.urn]},
        )
    )
    (found,) = facts(files, policy, joined).schedules
    assert found.attached == ((files.urn, "cfs-2") if by_id else (files.urn,))


def test_many_disks_and_attachments_are_read_in_a_moment() -> None:
    disks = [of(DISK, f"d{number}", {"id": f"disk-{number}"}) for number in range(2000)]
    joined = [
        of(ATTACHMENT, f"a{number}", {"snapshotPolicyId": "asp-1", "storageId": f"disk-{number}"})
        for number in range(2000)
    ]
    before = perf_counter()
    found = facts(of(POLICY, "p", {"id": "asp-1"}), *disks, *joined)
    assert perf_counter() - before < 2  # noqa: PLR2004 - a second look at each pair would take many
    assert all(len(one.schedules) == 1 for one in found.disks)
    assert found.schedules[0].attached == tuple(one.urn for one in disks)
