"""The checkpoint bucket on Alibaba Cloud: tiers and the copy.

Sources: https://help.aliyun.com/en/oss/how-can-i-avoid-the-cost-of-insufficient-storage (least times);
https://www.alibabacloud.com/help/doc-detail/31904.html (moves)
"""

from typing import Any

import pytest

from gpuyard.planning.checkpoints import plan_checkpoints
from gpuyard.planning.plans import BucketPlan, Place
from gpuyard.spec import CheckpointSpec, parse_spec

PLACE = Place("alicloud", "cn-beijing", "dev")


def plan(**values: Any) -> tuple[BucketPlan | None, list[str]]:
    found, problems = plan_checkpoints(parse_spec(CheckpointSpec, values), PLACE, ("checkpoints",))
    return found, [str(problem).removeprefix("checkpoints.") for problem in problems]


def test_tiers_are_the_classes_of_oss_from_warm_to_cold():
    found, problems = plan(keep_days=400, tiers={"deep_archive": 150, "infrequent": 30, "archive": 60})
    assert problems == []
    assert found is not None
    (prefix,) = found.prefixes
    assert [(step.after_days, step.storage_class) for step in prefix.transitions] == [
        (30, "IA"),
        (60, "Archive"),
        (150, "ColdArchive"),
    ]


@pytest.mark.parametrize(
    ("tiers", "message"),
    [
        ({"infrequent": 30, "archive": 50}, "tiers.archive: an object leaves IA after 20 days, but 30 are billed"),
        ({"archive": 60, "deep_archive": 90}, "tiers.deep_archive: an object leaves Archive after 30 days, but 60 are"),
        (
            {"deep_archive": 300},
            "tiers.deep_archive: an object is in ColdArchive for 100 days before it is removed, but",
        ),
        ({"deep_archive": 10, "infrequent": 200}, "tiers.infrequent: an object in ColdArchive from day 10 cannot move"),
    ],
)
def test_moves_that_cost_more_than_they_save_are_refused(tiers: dict[str, int], message: str):
    _, problems = plan(keep_days=400, tiers=tiers)
    assert len(problems) == 1
    assert problems[0].startswith(message)


def test_a_copy_keeps_the_class_of_its_object():
    found, problems = plan(keep_days=400, replicate_to="cn-hangzhou")
    assert problems == []
    assert found is not None
    assert (found.replica_region, found.replica_storage_class) == ("cn-hangzhou", None)


def test_a_bucket_of_another_region_is_refused_with_what_to_do_instead():
    _, problems = plan(keep_days=30, region="cn-hangzhou")
    assert problems == [
        "region: the checkpoint bucket is in cn-hangzhou, the nodes are in cn-beijing. Set it to cn-beijing or leave "
        "it out: each checkpoint would cross regions, slowly and at a price. 'replicate_to: cn-hangzhou' keeps a copy "
        "there."
    ]
