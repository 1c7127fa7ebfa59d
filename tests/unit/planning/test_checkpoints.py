"""The checkpoint bucket: its prefixes, their tiers, and its copy."""

from dataclasses import replace
from itertools import pairwise
from typing import Any, get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpuyard.catalog.file_stores import object_storage_classes
from gpuyard.catalog.instance_types import CLOUDS_WITH_TYPES
from gpuyard.planning.checkpoints import plan_checkpoints
from gpuyard.planning.plans import BucketPlan, Place, PrefixPlan, TransitionPlan
from gpuyard.spec import CheckpointSpec, parse_spec
from gpuyard.spec.storage import Tier

from .conftest import PLACE

TIERS = get_args(Tier)
KEY = "arn:aws:kms:us-east-1:123456789012:key/1"
KEY_THERE = KEY.replace("us-east-1", "us-west-2")


def bucket(place: Place = PLACE, **values: Any) -> tuple[BucketPlan | None, list[str]]:
    found, problems = plan_checkpoints(parse_spec(CheckpointSpec, {"keep_days": 30, **values}), place, ("checkpoints",))
    assert (found is None) is bool(problems)
    return found, [str(problem) for problem in problems]


def planned(**values: Any) -> BucketPlan:
    found, problems = bucket(**values)
    assert problems == []
    assert found is not None
    return found


def refused(**values: Any) -> list[str]:
    return [message.removeprefix("checkpoints.") for message in bucket(**values)[1]]


def test_the_bucket_is_in_the_clusters_region_and_everything_in_it_ends():
    assert planned(replicate_to="us-west-2") == BucketPlan(
        region="us-east-1",
        prefixes=(PrefixPlan("checkpoints", 30),),
        noncurrent_keep_days=7,
        abort_uploads_after_days=2,
        replica_region="us-west-2",
        kms_key=None,
        replica_storage_class="STANDARD_IA",
    )


def test_the_clusters_own_region_may_be_written():
    found = planned(region="us-east-1")
    assert (found.region, found.replica_region, found.replica_storage_class) == ("us-east-1", None, None)


def test_a_bucket_in_another_region_than_the_nodes_is_refused():
    assert refused(region="us-west-2") == [
        "region: the checkpoint bucket is in us-west-2, the nodes are in us-east-1. Set it to us-east-1 or leave it "
        "out: each checkpoint would cross regions, slowly and at a price. 'replicate_to: us-west-2' keeps a copy there."
    ]


@pytest.mark.parametrize(
    ("region", "message"),
    [
        ("us-east2", "'us-east2' is no region of aws. Did you mean 'us-east-2'?"),
        ("us-east-1", "a copy in us-east-1 itself survives no loss of the region. Name another region."),
        (
            "us-gov-west-1",
            "us-gov-west-1 is in partition aws-us-gov, us-east-1 in aws. Data cannot be copied across partitions.",
        ),
    ],
)
def test_a_region_that_cannot_hold_the_copy_is_refused(region: str, message: str):
    assert refused(replicate_to=region) == [f"replicate_to: {message}"]


def test_a_region_that_is_near_none_is_refused_with_all():
    (message,) = refused(replicate_to="mars")
    assert message.startswith("replicate_to: 'mars' is no region of aws. Regions of aws: ")
    assert "us-east-1" in message


def test_prefixes_follow_checkpoints_each_with_its_own_end_and_tiers_soonest_first():
    found = planned(
        keep_days=200,
        tiers={"archive": 90, "infrequent": 30},
        prefixes={"cold": {"keep_days": 400, "tiers": {"deep_archive": 1}}, "tmp": {"keep_days": 3}},
    )
    assert found.prefixes == (
        PrefixPlan("checkpoints", 200, (TransitionPlan(30, "STANDARD_IA"), TransitionPlan(90, "GLACIER"))),
        PrefixPlan("cold", 400, (TransitionPlan(1, "DEEP_ARCHIVE"),)),
        PrefixPlan("tmp", 3),
    )


def test_a_prefix_called_checkpoints_is_refused_as_it_exists():
    assert refused(prefixes={"checkpoints": {"keep_days": 3}}) == [
        "prefixes.checkpoints: the prefix 'checkpoints' is there already: it is the one of 'keep_days' and 'tiers' "
        "above. Choose another name, or set them there."
    ]


@pytest.mark.parametrize(
    ("tier", "storage_class"),
    [
        ("automatic", "INTELLIGENT_TIERING"),
        ("infrequent", "STANDARD_IA"),
        ("archive", "GLACIER"),
        ("deep_archive", "DEEP_ARCHIVE"),
    ],
)
def test_each_tier_is_one_class_of_the_api(tier: str, storage_class: str):
    (prefix,) = planned(keep_days=400, tiers={tier: 30}).prefixes
    assert prefix.transitions == (TransitionPlan(30, storage_class),)


@pytest.mark.parametrize("cloud", CLOUDS_WITH_TYPES)
def test_a_tier_is_at_most_one_class_of_a_cloud(cloud: str):
    named = [row.tier for row in object_storage_classes(cloud).values() if row.tier is not None]
    assert len(named) == len(set(named))
    assert set(named) <= set(TIERS)
    assert {"infrequent", "archive", "deep_archive"} <= set(named)


def test_classes_that_lifecycle_rules_move_on_to_are_classes():
    classes = object_storage_classes("aws")
    for row in classes.values():
        assert row.moves_on_to is not None
        assert set(row.moves_on_to) < set(classes)
        assert row.name not in row.moves_on_to


def test_a_tier_that_a_cloud_lacks_is_refused_with_those_it_has():
    place = replace(PLACE, cloud="alicloud", region="cn-beijing")
    assert bucket(place, tiers={"automatic": 3})[1] == [
        "checkpoints.tiers.automatic: alicloud has no storage class that is 'automatic'. It has infrequent, archive or "
        "deep_archive."
    ]


@pytest.mark.parametrize(
    ("keep_days", "tiers", "messages"),
    [
        (
            90,
            {"infrequent": 29},
            ["tiers.infrequent: an object may move to STANDARD_IA 30 days after it was made, not 29. Set it to 30 or "
             "more."],
        ),
        (
            40,
            {"infrequent": 3},
            ["tiers.infrequent: an object may move to STANDARD_IA 30 days after it was made, not 3. Set it to 30 or "
             "more.",
             "tiers.infrequent: an object is in STANDARD_IA for 10 days before it is removed, but 30 are billed at "
             "least: the move costs more than it saves. Set 'keep_days' to 60 or more, or remove it."],
        ),
        (
            400,
            {"automatic": 10, "infrequent": 40},
            ["tiers.infrequent: an object in INTELLIGENT_TIERING from day 10 cannot move on to STANDARD_IA on day 40. "
             "What may follow 'automatic': archive or deep_archive."],
        ),
        (
            400,
            {"deep_archive": 10, "archive": 200},
            ["tiers.archive: an object in DEEP_ARCHIVE from day 10 cannot move on to GLACIER on day 200. What may "
             "follow 'deep_archive': none."],
        ),
        (
            400,
            {"infrequent": 30, "archive": 59},
            ["tiers.archive: an object leaves STANDARD_IA after 29 days, but 30 are billed at least. Set it to 60 or "
             "more, or remove 'infrequent'."],
        ),
        (
            400,
            {"archive": 30, "deep_archive": 119},
            ["tiers.deep_archive: an object leaves GLACIER after 89 days, but 90 are billed at least. Set it to 120 or "
             "more, or remove 'archive'."],
        ),
        (
            400,
            {"automatic": 5, "archive": 5},
            ["tiers.archive: an object cannot move to INTELLIGENT_TIERING and to GLACIER on the same day. Set it to 6 "
             "or more, or remove 'automatic'."],
        ),
        (
            45,
            {"infrequent": 30},
            ["tiers.infrequent: an object is in STANDARD_IA for 15 days before it is removed, but 30 are billed at "
             "least: the move costs more than it saves. Set 'keep_days' to 60 or more, or remove it."],
        ),
        (
            200,
            {"archive": 150},
            ["tiers.archive: an object is in GLACIER for 50 days before it is removed, but 90 are billed at least: the "
             "move costs more than it saves. Set 'keep_days' to 240 or more, this to 110 or less, or remove it."],
        ),
        (
            30,
            {"automatic": 30},
            ["tiers.automatic: an object moves to INTELLIGENT_TIERING after 30 days, but it is removed after 30. Set "
             "'keep_days' to 31 or more, this to 29 or less, or remove it."],
        ),
        (
            35,
            {"infrequent": 40, "archive": 100},
            ["tiers.infrequent: an object moves to STANDARD_IA after 40 days, but it is removed after 35. Set "
             "'keep_days' to 70 or more, or remove it.",
             "tiers.archive: an object moves to GLACIER after 100 days, but it is removed after 35. Set 'keep_days' to "
             "190 or more, or remove it."],
        ),
    ],
)  # fmt: skip
def test_moves_that_s3_refuses_or_that_cost_more_than_they_save_are_refused(
    keep_days: int, tiers: dict[str, int], messages: list[str]
):
    assert refused(keep_days=keep_days, tiers=tiers) == messages
    other = refused(prefixes={"cold": {"keep_days": keep_days, "tiers": tiers}})
    assert other == [f"prefixes.cold.{message}" for message in messages]


@pytest.mark.parametrize(
    ("keep_days", "tiers"),
    [
        (60, {"infrequent": 30}),
        (91, {"archive": 1}),
        (181, {"deep_archive": 1}),
        (2, {"automatic": 1}),
        (330, {"infrequent": 30, "archive": 60, "deep_archive": 150}),
        (300, {"infrequent": 30, "automatic": 60, "archive": 61}),
    ],
)
def test_moves_at_the_very_limit_are_right(keep_days: int, tiers: dict[str, int]):
    assert len(planned(keep_days=keep_days, tiers=tiers).prefixes[0].transitions) == len(tiers)


@given(
    keep_days=st.integers(1, 800),
    tiers=st.dictionaries(st.sampled_from(TIERS), st.integers(1, 600), max_size=4),
)
def test_what_is_planned_never_pays_for_days_that_an_object_is_not_there(keep_days: int, tiers: dict[str, int]):
    found, _ = bucket(keep_days=keep_days, tiers=tiers, replicate_to="us-west-2")
    assume(found is not None)
    assert found is not None
    classes = object_storage_classes("aws")
    (prefix,) = found.prefixes
    ends = [(step.after_days, step.storage_class) for step in prefix.transitions] + [(keep_days, "")]
    for (start, name), (end, _) in pairwise(ends):
        assert end - start >= max(classes[name].min_storage_days or 0, 1)
    assert len(prefix.transitions) == len(tiers)
    if found.replica_storage_class is not None:
        copies = classes[found.replica_storage_class]
        assert ends[0][0] >= (copies.min_storage_days or 0)
        assert {name for _, name in ends[:-1]} <= set(copies.moves_on_to or ())


@pytest.mark.parametrize(
    ("values", "storage_class"),
    [
        ({"keep_days": 30}, "STANDARD_IA"),
        ({"keep_days": 29}, None),
        ({"prefixes": {"tmp": {"keep_days": 3}}}, None),
        ({"keep_days": 200, "tiers": {"archive": 30}}, "STANDARD_IA"),
        ({"keep_days": 200, "tiers": {"archive": 29}}, None),
        ({"keep_days": 200, "tiers": {"infrequent": 60}}, None),
        ({"keep_days": 200, "tiers": {"automatic": 60}}, "STANDARD_IA"),
    ],
)
def test_copies_are_cheaper_from_the_first_day_only_where_that_fits_every_prefix(
    values: dict[str, Any], storage_class: str | None
):
    assert planned(replicate_to="us-west-2", **values).replica_storage_class == storage_class


def test_keys_belong_to_their_own_region_and_are_no_aliases():
    found = planned(replicate_to="us-west-2", kms_key=KEY, replica_kms_key=KEY_THERE)
    assert (found.kms_key, found.replica_kms_key) == (KEY, KEY_THERE)
    wrong = refused(replicate_to="us-west-2", kms_key=KEY.replace("key/1", "alias/a"), replica_kms_key=KEY)
    assert [message.partition(":")[0] for message in wrong] == ["kms_key", "replica_kms_key"]
    assert "is an alias" in wrong[0]
    assert "the key is of us-east-1, what it encrypts is in us-west-2" in wrong[1]


def test_a_key_for_no_copy_and_a_copy_without_its_key_are_refused():
    assert refused(replica_kms_key=KEY_THERE) == [
        "replica_kms_key: there is no copy to encrypt. Set 'replicate_to', or remove it."
    ]
    assert refused(replicate_to="us-west-2", kms_key=KEY) == [
        "replica_kms_key: objects under a key of your own are copied to us-west-2 only under a key of that region. "
        "Name a key of us-west-2."
    ]


def test_all_problems_of_a_bucket_come_together():
    found = refused(
        region="us-west-2",
        replicate_to="mars",
        kms_key="1",
        tiers={"infrequent": 3},
        prefixes={"checkpoints": {"keep_days": 1}, "cold": {"keep_days": 1, "tiers": {"archive": 2}}},
    )
    assert [message.split(": ")[0] for message in found] == [
        "region",
        "replicate_to",
        "kms_key",
        "replica_kms_key",
        "tiers.infrequent",
        "tiers.infrequent",
        "prefixes.checkpoints",
        "prefixes.cold.tiers.archive",
    ]
