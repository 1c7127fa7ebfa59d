"""STO001: file systems and buckets are in the region of the nodes that use them."""

from __future__ import annotations

from datetime import date

import pytest

from gpuyard_policy.config import PackConfig
from gpuyard_policy.evaluate import evaluate
from gpuyard_policy.facts import Record, Unknown
from gpuyard_policy.rules import ALL_RULES, Finding, Verdict
from tests.policy.resources import BUCKET, INSTANCE, LUSTRE, REPLICATION, pool, record

RULE = [rule for rule in ALL_RULES if rule.id == "STO001"]
NODES = pool("p4d.24xlarge")
TODAY = date(2026, 12, 1)
LATER = Unknown("'region' is known only after the update")


def findings(*records: Record) -> list[Finding]:
    return list(evaluate(records, PackConfig(), today=TODAY, rules=RULE).findings)


def only(*records: Record) -> Finding:
    found = findings(*records)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize("kind", [BUCKET, LUSTRE, "aws:efs/fileSystem:FileSystem", "aws:s3/bucketV2:BucketV2"])
def test_storage_elsewhere_fails_and_names_both_regions(kind: str) -> None:
    found = only(*NODES, record(kind, "data", {"region": "eu-west-1"}))
    assert found.verdict is Verdict.FAIL
    assert "'data' is in eu-west-1, but the nodes that use it are in us-east-1." in found.message


@pytest.mark.parametrize(
    ("props", "region"),
    [
        ({"region": "us-east-1"}, None),
        ({}, "us-east-1"),
        ({"arn": "arn:aws:fsx:us-east-1:123456789012:file-system/fs-1"}, None),
        ({"availabilityZone": "us-east-1c"}, None),
    ],
    ids=["own region", "provider", "ARN", "zone"],
)
def test_storage_beside_the_nodes_passes(props: dict[str, str], region: str | None) -> None:
    assert only(*NODES, record(LUSTRE, "data", props, region=region)).verdict is Verdict.PASS


def test_a_region_that_nothing_names_is_undecided() -> None:
    found = only(*NODES, record(BUCKET, "data", {}, region=None))
    assert found.verdict is Verdict.UNDECIDED
    assert "neither the resource nor its provider names a region" in found.message


def test_an_unknown_region_is_undecided_and_hides_no_other_resource() -> None:
    late = record(BUCKET, "late", {"region": LATER})
    bad = record(BUCKET, "bad", {"region": "eu-west-1"})
    assert [found.verdict for found in findings(*NODES, late, bad)] == [Verdict.UNDECIDED, Verdict.FAIL]


def test_nodes_of_unknown_region_leave_it_open() -> None:
    nodes = record(INSTANCE, "n", {"instanceType": "p4d.24xlarge", "region": LATER})
    assert only(nodes, record(BUCKET, "data", {"region": "eu-west-1"})).verdict is Verdict.UNDECIDED


def test_a_replica_by_reference_by_arn_or_by_tag_passes() -> None:
    source = record(BUCKET, "source", {})
    by_reference = record(BUCKET, "one", {"region": "eu-west-1"})
    by_arn = record(BUCKET, "two", {"region": "eu-west-1", "bucket": "two"})
    by_tag = record(BUCKET, "three", {"region": "eu-west-1", "tags": {"gpuyard:role": "replica"}})
    copies = [
        record(REPLICATION, "a", {"rules": [{}]}, {"bucket": [source.urn], "rules": [by_reference.urn]}),
        record(
            REPLICATION, "b", {"rules": [{"destination": {"bucket": "arn:aws:s3:::two"}}]}, {"bucket": [source.urn]}
        ),
    ]
    found = findings(*NODES, source, by_reference, by_arn, by_tag, *copies)
    assert {one.verdict for one in found} == {Verdict.PASS}


def test_the_source_of_a_replication_is_no_replica() -> None:
    source = record(BUCKET, "source", {"region": "eu-west-1"})
    target = record(BUCKET, "target", {})
    copy = record(REPLICATION, "a", {"rules": [{}]}, {"bucket": [source.urn], "rules": [target.urn, source.urn]})
    verdicts = {one.urn: one.verdict for one in findings(*NODES, source, target, copy)}
    assert verdicts == {source.urn: Verdict.FAIL, target.urn: Verdict.PASS}


def test_two_clusters_in_two_regions_are_kept_apart_by_their_tag() -> None:
    def cluster(name: str, nodes_in: str, data_in: str) -> list[Record]:
        tags = {"gpuyard:cluster": name, "gpuyard:task": "lora"}
        node = record(INSTANCE, name, {"instanceType": "g5.xlarge", "region": nodes_in, "tags": tags})
        return [node, record(BUCKET, name, {"region": data_in, "tags": tags})]

    good = [*cluster("east", "us-east-1", "us-east-1"), *cluster("west", "us-west-2", "us-west-2")]
    assert {found.verdict for found in findings(*good)} == {Verdict.PASS}
    crossed = [*cluster("east", "us-east-1", "us-west-2"), *cluster("west", "us-west-2", "us-east-1")]
    assert {found.verdict for found in findings(*crossed)} == {Verdict.FAIL}


def test_a_stack_without_nodes_has_nothing_to_judge() -> None:
    assert findings(record(BUCKET, "data", {"region": "eu-west-1"})) == []
