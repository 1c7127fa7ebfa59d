"""Facts of AWS storage and snapshots: each field good, bad, absent, unknown and of a wrong type."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gpuyard_policy.facts import Record, StorageFact, Unknown
from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.aws_buckets import buckets
from gpuyard_policy.facts.aws_snapshots import schedules
from gpuyard_policy.facts.aws_storage import EFS, LUSTRE, ONTAP, OPEN_ZFS, VOLUME, WINDOWS, file_systems, volumes
from gpuyard_policy.facts.model import CopyFact, DiskFact, SnapshotScheduleFact
from tests.policy.resources import BUCKET, INSTANCE, REPLICATION, record

LATER = Unknown("'x' is known only after the update")
SUBNET = "aws:ec2/subnet:Subnet"
POLICY = "aws:s3/bucketPolicy:BucketPolicy"
BLOCK = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
LIFECYCLE = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"
DLM = "aws:dlm/lifecyclePolicy:LifecyclePolicy"
PLAN = "aws:backup/plan:Plan"
SELECTION = "aws:backup/selection:Selection"
ANYBODY = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject"}
NO_HTTP = {"Effect": "Deny", "Principal": "*", "Condition": {"Bool": {"aws:SecureTransport": "false"}}}


def system(kind: str, *others: Record, **props: Any) -> StorageFact:
    one = record(kind, "fs", {"id": "fs-1", **props})
    (found,) = file_systems(one, Among([one, *others]))
    return found


def bucket(*parts: tuple[str, dict[str, Any]], **props: Any) -> StorageFact:
    one = record(BUCKET, "b", {"bucket": "b", **props})
    others = [record(kind, f"p{place}", {"bucket": "b", **more}) for place, (kind, more) in enumerate(parts)]
    (found,) = buckets(one, Among([one, *others]))
    return found


def policy(*statements: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return POLICY, {"policy": json.dumps({"Statement": list(statements)})}


# --- file systems


@pytest.mark.parametrize(
    ("props", "throughput"),
    [
        ({"deploymentType": "PERSISTENT_2", "perUnitStorageThroughput": 500.0, "storageCapacity": 2400.0}, 1200.0),
        ({"deploymentType": "SCRATCH_2", "storageCapacity": 1200.0}, 240.0),
        ({"deploymentType": "PERSISTENT_2", "perUnitStorageThroughput": LATER, "storageCapacity": 2400.0}, LATER),
        (
            {"deploymentType": "PERSISTENT_1", "storageType": "HDD", "perUnitStorageThroughput": 12.0}
            | {"storageCapacity": 6000.0},
            72.0,
        ),
        ({"deploymentType": "PERSISTENT_2", "storageType": "INTELLIGENT_TIERING", "throughputCapacity": 4000.0}, 4000),
        ({"storageCapacity": 1200.0}, Unknown("neither it nor the catalog tells the throughput of SCRATCH_1")),
        (
            {"deploymentType": "X", "storageCapacity": "many"},
            Unknown("neither it nor the catalog tells the throughput of X"),
        ),
    ],
)
def test_throughput_of_lustre_is_its_rate_times_its_capacity(props: dict[str, Any], throughput: Any) -> None:
    assert system(LUSTRE, **props).throughput_mb_per_s == throughput


def test_throughput_of_other_file_systems_is_what_is_bought() -> None:
    assert system(OPEN_ZFS, throughputCapacity=160.0).throughput_mb_per_s == 160
    assert system(WINDOWS).throughput_mb_per_s == Unknown("it names no throughput")
    assert system(ONTAP, throughputCapacityPerHaPair=3072.0, haPairs=2.0).throughput_mb_per_s == 6144
    assert system(ONTAP, throughputCapacityPerHaPair=LATER).throughput_mb_per_s == LATER
    assert system(EFS).throughput_mb_per_s is None
    assert system(EFS, provisionedThroughputInMibps=100.0).throughput_mb_per_s == pytest.approx(104.8576)


@pytest.mark.parametrize(
    ("kind", "scratch"), [("SCRATCH_2", True), ("PERSISTENT_2", False), (None, True), (LATER, LATER), (17.0, True)]
)
def test_scratch_is_what_lustre_is_by_default(kind: Any, scratch: Any) -> None:
    found = system(LUSTRE, deploymentType=kind)
    assert (found.scratch, found.parallel, found.encrypted) == (scratch, True, True)


@pytest.mark.parametrize(
    ("s3", "exports"),
    [
        ({"autoExportPolicy": {"events": ["NEW"]}}, True),
        ({"autoExportPolicy": {"events": []}}, False),
        ({"autoImportPolicy": {"events": ["NEW"]}}, False),
        (None, False),
        (LATER, LATER),
        ("odd", False),
    ],
)
def test_an_export_path_alone_exports_nothing_and_an_association_does(s3: Any, exports: Any) -> None:
    association = record(
        "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation", "a", {"fileSystemId": "fs-1", "s3": s3}
    )
    assert system(LUSTRE, association).exports == exports
    assert system(LUSTRE, exportPath="s3://b").exports is False


@pytest.mark.parametrize(
    ("encrypted", "fact"), [(True, True), (False, False), (None, False), (LATER, LATER), (3, False)]
)
def test_efs_is_encrypted_where_it_asks_for_it(encrypted: Any, fact: Any) -> None:
    assert system(EFS, encrypted=encrypted).encrypted == fact


def test_the_zone_of_a_file_system_is_its_subnets() -> None:
    subnet = record(SUBNET, "s", {"id": "subnet-1", "availabilityZone": "us-east-1d"})
    assert system(LUSTRE, subnet, subnetIds="subnet-1").zone == "us-east-1d"
    assert system(LUSTRE, subnetIds="subnet-2").zone == Unknown("its subnets are not in this stack")
    assert system(LUSTRE).zone == Unknown("it names no subnet whose zone is known")
    assert system(ONTAP, deploymentType="MULTI_AZ_1").zone is None
    assert system(EFS).zone is None
    assert system(EFS, availabilityZoneName="us-east-1a").zone == "us-east-1a"
    assert system(OPEN_ZFS, deploymentType=LATER).zone == LATER


def test_the_target_of_an_efs_replication_is_a_replica() -> None:
    kind = "aws:efs/replicationConfiguration:ReplicationConfiguration"
    assert system(EFS, record(kind, "r", {"destination": {"fileSystemId": "fs-1"}})).is_replica is True
    assert system(EFS, record(kind, "r", {"destination": {"region": "eu-west-1"}})).is_replica is False


# --- volumes


@pytest.mark.parametrize(
    ("encrypted", "fact"), [(True, True), (False, False), (None, False), (LATER, LATER), ("odd", False)]
)
def test_a_volume_is_encrypted_where_it_or_its_region_asks_for_it(encrypted: Any, fact: Any) -> None:
    one = record(VOLUME, "v", {"type": "gp3", "size": 500.0, "encrypted": encrypted, "tags": {"a": "b"}})
    found: DiskFact = next(iter(volumes(one, Among([one]))))
    assert (found.encrypted, found.disk_type, found.size_gib, found.tags) == (fact, "gp3", 500, {"a": "b"})
    default = record("aws:ebs/encryptionByDefault:EncryptionByDefault", "d", {"enabled": True})
    assert next(iter(volumes(one, Among([one, default])))).encrypted is True


# --- buckets


def test_a_bucket_is_encrypted_by_s3_itself_and_private_until_it_is_opened() -> None:
    found = bucket()
    assert (found.encrypted, found.public, found.https_only, found.expires) == (True, False, False, False)


@pytest.mark.parametrize(
    ("parts", "public"),
    [
        ([policy(ANYBODY)], True),
        ([policy({**ANYBODY, "Principal": {"AWS": ["*"]}})], True),
        ([policy({**ANYBODY, "Condition": {"StringEquals": {"aws:SourceVpce": "vpce-1"}}})], False),
        ([policy({**ANYBODY, "Principal": {"AWS": "arn:aws:iam::1:root"}})], False),
        ([policy(ANYBODY), (BLOCK, {"restrictPublicBuckets": True})], False),
        ([policy(ANYBODY), (BLOCK, {"ignorePublicAcls": True})], True),
        ([policy(ANYBODY), (BLOCK, {"blockPublicPolicy": LATER})], LATER),
        ([(POLICY, {"policy": LATER})], LATER),
        ([(POLICY, {"policy": LATER}), (BLOCK, {"blockPublicPolicy": True})], False),
        ([(POLICY, {"policy": "no json"})], False),
        ([("aws:s3/bucketAcl:BucketAcl", {"acl": "public-read"})], True),
        ([("aws:s3/bucketAcl:BucketAcl", {"acl": "public-read"}), (BLOCK, {"ignorePublicAcls": True})], False),
        ([("aws:s3/bucketAcl:BucketAcl", {"acl": LATER})], LATER),
        ([("aws:s3/bucketAcl:BucketAcl", {"acl": "private"})], False),
    ],
)
def test_a_bucket_is_public_by_acl_or_policy_that_nothing_blocks(parts: list[Any], public: Any) -> None:
    assert bucket(*parts).public == public


def test_older_buckets_say_it_themselves() -> None:
    assert bucket(acl="public-read-write").public is True
    assert bucket(policy=json.dumps({"Statement": NO_HTTP})).https_only is True
    assert bucket(lifecycleRules=[{"enabled": True, "abortIncompleteMultipartUploadDays": 7.0}]).expires is True
    assert bucket(grants=[{"uri": "http://acs.amazonaws.com/groups/global/AllUsers"}]).public is True


@pytest.mark.parametrize(
    ("parts", "https_only"),
    [
        ([policy(NO_HTTP)], True),
        ([policy({**NO_HTTP, "Effect": "Allow"})], False),
        ([policy({"Effect": "Deny", "Principal": "*"})], False),
        ([(POLICY, {"policy": LATER})], LATER),
        ([(POLICY, {"policy": 17.0})], False),
        ([], False),
    ],
)
def test_a_bucket_refuses_plain_http_by_its_policy(parts: list[Any], https_only: Any) -> None:
    assert bucket(*parts).https_only == https_only


@pytest.mark.parametrize(
    ("rules", "expires"),
    [
        ([{"status": "Enabled", "abortIncompleteMultipartUpload": {"daysAfterInitiation": 7.0}}], True),
        ([{"status": "Enabled", "transitions": [{}]}, {"status": "Enabled", "expiration": {"days": 1.0}}], True),
        ([{"status": "Disabled", "abortIncompleteMultipartUpload": {"daysAfterInitiation": 7.0}}], False),
        ([{"status": "Enabled", "transitions": [{}]}], False),
        ([{"status": "Enabled", "expiration": LATER}], LATER),
        (LATER, LATER),
        (None, False),
        ("odd", False),
    ],
)
def test_br_037_one_enabled_rule_is_enough_and_a_disabled_one_does_not_count(rules: Any, expires: Any) -> None:
    assert bucket((LIFECYCLE, {"rules": rules})).expires == expires


def test_a_replica_is_found_in_any_partition() -> None:
    copy = {"bucket": "other", "rules": [{"destination": {"bucket": "arn:aws-cn:s3:::b"}}]}
    assert bucket((REPLICATION, copy)).is_replica is True
    assert bucket((REPLICATION, {**copy, "rules": LATER})).is_replica is False


# --- snapshots


def lifecycle(details: Any, *others: Record, **props: Any) -> SnapshotScheduleFact:
    one = record(DLM, "s", {"policyDetails": details, **props})
    (found,) = schedules(one, Among([one, *others]))
    return found


def details(**schedule: Any) -> dict[str, Any]:
    return {"resourceTypes": ["VOLUME"], "targetTags": {"backup": "daily"}, "schedules": [schedule]}


@pytest.mark.parametrize(
    ("rule", "days", "count"),
    [
        ({"interval": 2.0, "intervalUnit": "WEEKS"}, 14, None),
        ({"count": 7.0}, None, 7),
        (None, None, None),
        (LATER, LATER, LATER),
        ("odd", None, None),
    ],
)
def test_a_lifecycle_policy_keeps_by_days_or_number(rule: Any, days: Any, count: Any) -> None:
    found = lifecycle(details(retainRule=rule))
    assert (found.keep_days, found.keep_count) == (days, count)


def test_one_schedule_without_an_end_keeps_for_ever() -> None:
    two = {"schedules": [{"retainRule": {"count": 7.0}}, {}]}
    assert (lifecycle(two).keep_days, lifecycle(two).keep_count) == (None, None)


def test_br_031_tags_are_told_exactly_as_they_are_written() -> None:
    assert lifecycle(details()).target_tags == {"backup": "daily"}
    assert lifecycle({"targetTags": LATER}).target_tags == LATER
    assert lifecycle({}).target_tags is None
    assert lifecycle({"targetTags": 17.0}).target_tags is None
    assert lifecycle(LATER).target_tags == LATER


@pytest.mark.parametrize(("state", "enabled"), [("ENABLED", True), ("DISABLED", False), (None, True), (LATER, LATER)])
def test_a_lifecycle_policy_can_be_switched_off(state: Any, enabled: Any) -> None:
    assert lifecycle(details(), state=state).enabled == enabled


def test_a_policy_on_instances_is_attached_to_the_pools_with_their_tags() -> None:
    node = record(INSTANCE, "n", {"tags": {"backup": "daily"}})
    other = record(INSTANCE, "o", {"tags": {"Backup": "daily"}})
    found = lifecycle({**details(), "resourceTypes": ["INSTANCE"]}, node, other)
    assert (found.target_tags, found.attached) == (None, (node.urn,))


def test_copies_go_where_their_rules_say() -> None:
    rule = {"target": "us-west-2", "encrypted": True, "retainRule": {"interval": 1.0, "intervalUnit": "MONTHS"}}
    found = lifecycle(details(crossRegionCopyRules=[rule, {"target": LATER, "encrypted": LATER}, {}]))
    assert found.copies == (
        CopyFact("us-west-2", True, 31),
        CopyFact(LATER, LATER, None),
        CopyFact(Unknown("it names no region"), False, None),
    )
    assert lifecycle(details(crossRegionCopyRules=LATER)).copies == LATER
    assert lifecycle(details()).copies == ()


def test_a_default_policy_takes_every_volume() -> None:
    found = lifecycle({"resourceType": "VOLUME", "retainInterval": 3.0}, defaultPolicy="VOLUME")
    assert (found.target_tags, found.keep_days) == ({}, 3)


def test_an_event_policy_is_no_schedule() -> None:
    one = record(DLM, "s", {"policyDetails": {"policyType": "EVENT_BASED_POLICY"}})
    assert list(schedules(one, Among([one]))) == []


def backed_up(selection: Mapping[str, Any] | None, rule: Mapping[str, Any]) -> list[SnapshotScheduleFact]:
    plan = record(PLAN, "p", {"id": "p-1", "rules": [rule]})
    chosen = [] if selection is None else [record(SELECTION, "s", {"planId": "p-1", **selection})]
    volume = record(VOLUME, "v", {"arn": "arn:aws:ec2:us-east-1:1:volume/vol-1"})
    return list(schedules(plan, Among([plan, volume, *chosen])))


def test_a_backup_plan_is_a_schedule_for_each_way_that_it_selects() -> None:
    vault = "arn:aws:backup:eu-west-1:1:backup-vault:v"
    rule = {
        "lifecycle": {"deleteAfter": 35.0},
        "copyActions": [{"destinationVaultArn": vault, "lifecycle": {"deleteAfter": 90.0}}],
    }
    tags = [{"type": "STRINGEQUALS", "key": "a", "value": "1"}, {"type": "STRINGEQUALS", "key": "b", "value": "2"}]
    found = backed_up({"selectionTags": tags}, rule)
    assert [(one.target_tags, one.keep_days) for one in found] == [({"a": "1"}, 35), ({"b": "2"}, 35)]
    assert found[0].copies == (CopyFact("eu-west-1", True, 90),)
    (named,) = backed_up({"resources": ["arn:aws:ec2:us-east-1:1:volume/vol-1"]}, {})
    assert isinstance(named.attached, tuple)
    assert (named.attached[0].endswith("::v"), named.keep_days, named.copies) == (True, None, ())
    assert [(one.target_tags, one.attached) for one in backed_up(None, rule)] == [(None, ())]
    assert [one.target_tags for one in backed_up({"resources": ["*"]}, rule)] == [{}]
    assert [one.target_tags for one in backed_up({"selectionTags": LATER}, rule)] == [LATER]
