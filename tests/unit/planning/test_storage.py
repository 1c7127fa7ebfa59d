"""The checkpoint bucket and the snapshot schedule."""

from dataclasses import replace
from typing import Any

import pytest

from gpuyard.planning.plans import BucketPlan, SnapshotPlan
from gpuyard.planning.storage import plan_checkpoints, plan_snapshots, second_region_problems
from gpuyard.spec import CheckpointSpec, SnapshotSpec, parse_spec

from .conftest import PLACE


def bucket(**values: Any) -> tuple[BucketPlan | None, list[str]]:
    found, problems = plan_checkpoints(parse_spec(CheckpointSpec, {"keep_days": 30, **values}), PLACE, ("checkpoints",))
    assert (found is None) is bool(problems)
    return found, [str(problem) for problem in problems]


def schedule(**values: Any) -> tuple[SnapshotPlan | None, list[str]]:
    spec = parse_spec(SnapshotSpec, {"every_hours": 6, "keep_days": 14, **values})
    found, problems = plan_snapshots(spec, PLACE, ("snapshots",))
    assert (found is None) is bool(problems)
    return found, [str(problem) for problem in problems]


def test_the_bucket_is_in_the_clusters_region_and_everything_in_it_ends():
    assert bucket(replicate_to="us-west-2") == (
        BucketPlan(
            region="us-east-1",
            keep_days=30,
            noncurrent_keep_days=7,
            abort_uploads_after_days=2,
            replica_region="us-west-2",
            kms_key=None,
        ),
        [],
    )


def test_the_clusters_own_region_may_be_written():
    found, _ = bucket(region="us-east-1")
    assert found is not None
    assert (found.region, found.replica_region) == ("us-east-1", None)


def test_a_bucket_in_another_region_than_the_nodes_is_refused():
    assert bucket(region="us-west-2")[1] == [
        "checkpoints.region: the checkpoint bucket is in us-west-2, the nodes are in us-east-1. Set it to us-east-1 or "
        "leave it out: each checkpoint would cross regions, slowly and at a price. 'replicate_to: us-west-2' keeps a "
        "copy there."
    ]


@pytest.mark.parametrize("hours", [1, 2, 3, 4, 6, 8, 12, 24])
def test_documented_hours_are_taken(hours: int):
    found, _ = schedule(every_hours=hours)
    assert found == SnapshotPlan("us-east-1", hours, 14, None, None)


@pytest.mark.parametrize("hours", [5, 7, 23, 25, 48])
def test_other_hours_are_refused_with_the_allowed_ones_and_their_source(hours: int):
    (message,) = schedule(every_hours=hours)[1]
    assert message.startswith(
        f"snapshots.every_hours: a snapshot every {hours} hours is not offered. Allowed: 1, 2, 3, 4, 6, 8, 12 or 24 "
        "(source: "
    )
    assert "dlm" in message


@pytest.mark.parametrize(("values", "days"), [({}, 14), ({"copy_keep_days": 30}, 30)])
def test_a_copy_is_kept_as_long_as_asked_for_or_as_the_snapshot(values: dict[str, Any], days: int):
    found, _ = schedule(copy_to="us-west-2", **values)
    assert found is not None
    assert (found.copy_region, found.copy_keep_days) == ("us-west-2", days)


def test_days_of_a_copy_without_a_copy_are_refused():
    assert schedule(copy_keep_days=30)[1] == [
        "snapshots.copy_keep_days: there is no copy to keep. Set 'copy_to', or remove it."
    ]


@pytest.mark.parametrize(
    ("region", "message"),
    [
        ("us-east2", "'us-east2' is no region of aws. Did you mean 'us-east-2'?"),
        ("us-east-1", "a copy in us-east-1 itself survives no loss of the region. Name another region."),
        (
            "cn-north-1",
            "cn-north-1 is in partition aws-cn, us-east-1 in aws. Data cannot be copied across partitions.",
        ),
        (
            "us-gov-west-1",
            "us-gov-west-1 is in partition aws-us-gov, us-east-1 in aws. Data cannot be copied across partitions.",
        ),
    ],
)
def test_a_region_that_cannot_hold_the_copy_is_refused(region: str, message: str):
    assert bucket(replicate_to=region)[1] == [f"checkpoints.replicate_to: {message}"]
    assert schedule(copy_to=region)[1] == [f"snapshots.copy_to: {message}"]


def test_a_region_that_is_near_none_is_refused_with_all():
    (message,) = bucket(replicate_to="mars")[1]
    assert message.startswith("checkpoints.replicate_to: 'mars' is no region of aws. Regions of aws: ")
    assert "us-east-1" in message


@pytest.mark.parametrize("region", [None, "us-west-2", "eu-central-1"])
def test_another_region_of_the_same_partition_is_right(region: str | None):
    assert second_region_problems(region, PLACE, ("x",)) == []


def test_copies_stay_inside_china():
    china = replace(PLACE, region="cn-north-1")
    assert second_region_problems("cn-northwest-1", china, ("x",)) == []
    assert second_region_problems("us-west-2", china, ("x",)) != []


def test_all_problems_of_a_schedule_come_together():
    found = schedule(every_hours=5, copy_keep_days=3)[1]
    assert [message.split(":")[0] for message in found] == ["snapshots.every_hours", "snapshots.copy_keep_days"]
