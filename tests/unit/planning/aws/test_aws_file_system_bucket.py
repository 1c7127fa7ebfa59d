"""How a file system follows the checkpoint bucket, backups, and metadata IOPS.

Source: https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateBackup.html,
https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystemLustreMetadataConfiguration.html
"""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.catalog.limits import limit
from gpuyard.planning.file_systems import plan_file_system
from gpuyard.spec import FileSystemSpec, parse_spec

from ..conftest import PLACE
from .file_system_helpers import right, wrong


@pytest.mark.parametrize(
    ("sync", "imports", "exports"),
    [
        ("import_export", True, True),
        ("import", True, False),
        ("export", False, True),
        ("none", False, False),
    ],
)
def test_the_bucket_is_followed_as_asked(sync: str, imports: bool, exports: bool):
    plan = right(capacity_gib=1200, linked=True, bucket_sync=sync)
    assert (plan.imports, plan.exports) == (imports, exports)


def test_without_a_bucket_nothing_is_followed():
    plan = right(capacity_gib=1200)
    assert (plan.imports, plan.exports) == (False, False)
    assert right(capacity_gib=1200, bucket_sync="none").exports is False


@pytest.mark.parametrize("sync", ["import", "export"])
def test_a_way_to_follow_no_bucket_is_refused(sync: str):
    assert wrong(capacity_gib=1200, bucket_sync=sync) == [
        f"bucket_sync: '{sync}' has no checkpoint bucket to follow. Add the bucket ('checkpoints' of a cluster), or "
        "remove it."
    ]


@pytest.mark.parametrize("values", [{"durability": "scratch"}, {"aws": {"deployment": "SCRATCH_2"}}])
@pytest.mark.parametrize("sync", [None, "export"])
def test_br_022_scratch_storage_exports_its_checkpoints(values: dict[str, Any], sync: str | None):
    asked = {} if sync is None else {"bucket_sync": sync}
    assert right(capacity_gib=1200, linked=True, **values, **asked).exports is True


@pytest.mark.parametrize("sync", ["none", "import"])
def test_br_022_checkpoints_on_scratch_storage_that_are_not_exported_are_refused(sync: str):
    assert wrong(capacity_gib=1200, durability="scratch", linked=True, bucket_sync=sync) == [
        f"bucket_sync: checkpoints on scratch storage are not exported with '{sync}': they are lost with a server. Use "
        "'import_export' or 'export', or use 'durability: persistent'."
    ]


@pytest.mark.parametrize(
    ("sync", "reason"),
    [
        (
            "import",
            "No backups: FSx backs up no linked file system. What is written under /checkpoints stays out of the "
            "bucket.",
        ),
        (
            "none",
            "The checkpoint bucket is not linked: nothing is copied to it but what jobs copy themselves.",
        ),
    ],
)
def test_what_does_not_reach_the_bucket_is_said(sync: str, reason: str):
    assert right(capacity_gib=1200, linked=True, bucket_sync=sync).reasons[-1] == reason


@pytest.mark.parametrize(
    ("values", "linked", "days"),
    [
        ({}, False, 7),
        ({"backup_keep_days": 30}, False, 30),
        ({"backup_keep_days": 0}, False, 0),
        ({}, True, 0),
        ({"backup_keep_days": 0}, True, 0),
        ({"bucket_sync": "none"}, True, 7),
        ({"bucket_sync": "none", "backup_keep_days": 30}, True, 30),
        ({"bucket_sync": "export"}, True, 0),
        ({"durability": "scratch"}, False, 0),
    ],
)
def test_backups_are_kept_where_there_can_be_any(values: dict[str, Any], linked: bool, days: int):
    assert right(capacity_gib=1200, linked=linked, **values).backup_keep_days == days


@pytest.mark.parametrize(
    ("values", "linked", "why"),
    [
        (
            {},
            True,
            "linked to the checkpoint bucket, which FSx does not back up. Remove it, set it to 0, or do not link the "
            "bucket ('bucket_sync: none').",
        ),
        ({"durability": "scratch"}, False, "a scratch file system. Remove it, or set it to 0."),
    ],
)
def test_backups_where_there_are_none_are_refused(values: dict[str, Any], linked: bool, why: str):
    assert wrong(capacity_gib=1200, backup_keep_days=7, linked=linked, **values) == [
        f"backup_keep_days: there are no backups of a file system that is {why}"
    ]


def test_a_linked_file_system_says_why_it_has_no_backups():
    assert right(capacity_gib=1200, linked=True).reasons[-1] == (
        "No backups: the linked checkpoint bucket is the durable copy, and FSx backs up no linked file system."
    )


@pytest.mark.parametrize(
    ("capacity_gib", "included"),
    [(1200, 1500), (2400, 3000), (4800, 6000), (9600, 6000), (12_000, 12_000), (45_600, 12_000), (48_000, 24_000)],
)
def test_metadata_iops_from_what_comes_with_the_capacity_are_taken(capacity_gib: int, included: int):
    assert right(capacity_gib=capacity_gib, metadata_iops=included).metadata_iops == included
    assert right(capacity_gib=capacity_gib, metadata_iops=192_000).metadata_iops == 192_000
    assert right(capacity_gib=capacity_gib).metadata_iops is None


def test_fewer_metadata_iops_than_come_with_the_capacity_are_refused():
    assert wrong(capacity_gib=4800, metadata_iops=1500) == [
        "metadata_iops: 1500 metadata IOPS are fewer than the 6000 that come with 4800 GiB. Remove it, or ask for 6000 "
        "or 12000."
    ]


@pytest.mark.parametrize(
    ("capacity_gib", "wanted", "nearest"),
    [
        (1200, 1, "1500"),
        (1200, 2000, "1500 or 3000"),
        (1200, 13_000, "12000 or 24000"),
        (1200, 500_000, "192000"),
        (4800, 2000, "6000"),
    ],
)
def test_other_metadata_iops_are_refused_with_the_nearest(capacity_gib: int, wanted: int, nearest: str):
    assert wrong(capacity_gib=capacity_gib, metadata_iops=wanted) == [
        f"metadata_iops: {wanted} metadata IOPS are not offered. Nearest: {nearest}."
    ]


@pytest.mark.parametrize("deployment", ["SCRATCH_2", "PERSISTENT_1"])
def test_metadata_iops_are_a_choice_of_persistent_2_alone(deployment: str):
    assert wrong(aws={"deployment": deployment}, capacity_gib=1200, metadata_iops=1500) == [
        f"metadata_iops: {deployment} offers no choice of metadata IOPS. Remove it, or use 'deployment: PERSISTENT_2'."
    ]


@given(st.integers(1, 400).map(lambda steps: steps * 2400), st.integers(1, 1_000_000))
def test_metadata_iops_are_taken_or_the_remedy_names_some_that_are(capacity_gib: int, wanted: int):
    spec = parse_spec(FileSystemSpec, {"capacity_gib": capacity_gib, "metadata_iops": wanted})
    found, problems = plan_file_system(spec, PLACE)
    if found is not None:
        assert found.metadata_iops in limit("aws", "lustre_metadata_iops").values
        return
    (remedy,) = [problem.remedy for problem in problems]
    named = re.findall(r"\d+", remedy)
    assert named
    for iops in named:
        solved, left = plan_file_system(spec.model_copy(update={"metadata_iops": int(iops)}), PLACE)
        assert (solved is not None, left) == (True, [])
