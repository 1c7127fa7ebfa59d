"""File system, checkpoint bucket and snapshot schedule on Tencent Cloud, as rendered for the engine."""

import json
from collections.abc import Iterator
from typing import Any

import pulumi
import pytest

from gpuyard import CheckpointStore, ParallelFileSystem, SnapshotPolicy, SpecError

from ..recorder import APP_ID, OWNER, USER, Registered, Rendered, render
from .helpers import failures

HERE, THERE = "ap-guangzhou", "ap-shanghai"
PLACE = {"cloud": "tencentcloud", "region": HERE}
FILES: dict[str, Any] = {
    **PLACE,
    "zone": "ap-guangzhou-6",
    "subnet_id": "subnet-1",
    "security_group_ids": ["sg-1"],
    "network_id": "vpc-1",
    "client_cidr": "10.64.0.0/16",
    "capacity_gib": 20_480,
}
KEY, OTHER_KEY = "23e80852-1e38-11e9-b129-5cb9019b4b01", "23e80852-1e38-11e9-b129-5cb9019b4b02"
BUCKET: dict[str, Any] = {**PLACE, "keep_days": 30}


@pytest.fixture(autouse=True)
def _region() -> Iterator[None]:
    """The stack's own region, so that the default provider will do."""
    pulumi.runtime.set_config("tencentcloud:region", HERE)
    yield
    pulumi.runtime.set_config("tencentcloud:region", "")


def files(*, preview: bool = False, **changes: Any) -> Rendered:
    values: Any = {**FILES, **changes}
    return render(lambda: ParallelFileSystem("x", values), preview=preview)


def store(*, preview: bool = False, **changes: Any) -> Rendered:
    values: Any = {**BUCKET, **changes}
    return render(lambda: CheckpointStore("x", values), preview=preview)


def snapshots(*, preview: bool = False, **changes: Any) -> Rendered:
    given = {**PLACE, "keep_days": 7, "disks": {"a": "disk-1", "b": "disk-2"}, **changes}
    values: Any = given
    return render(lambda: SnapshotPolicy("x", values), preview=preview)


def problems_of(component: Any, values: Any) -> list[str]:
    with pytest.raises(SpecError) as caught:
        render(lambda: component("x", values), preview=False)
    return [str(problem) for problem in caught.value.problems]


def test_br_071_a_turbo_file_system_is_said_to_be_one_and_has_the_time_that_it_needs(preview: bool):
    made = files(preview=preview).one("FileSystem")
    assert {key: value for key, value in made.inputs.items() if key not in ("accessGroupId", "tags")} == {
        "name": "x-cfs",
        "availabilityZone": "ap-guangzhou-6",
        "protocol": "TURBO",
        "storageType": "TP",
        "capacity": 20_480,
        "netInterface": "VPC",
        "vpcId": "vpc-1",
        "subnetId": "subnet-1",
    }
    assert (made.request.customTimeouts.create, made.request.customTimeouts.update) == ("60m", "60m")
    assert set(made.request.replaceOnChanges) == {"netInterface", "ccnId", "cidrBlock"}


def test_only_the_nodes_network_may_mount_it_and_the_rule_is_there_before_the_file_system(preview: bool):
    rendered = files(preview=preview)
    rule = rendered.one("AccessRule")
    assert {key: value for key, value in rule.inputs.items() if key != "accessGroupId"} == {
        "authClientIp": "10.64.0.0/16",
        "priority": 1,
        "rwPermission": "RW",
        "userPermission": "no_root_squash",
    }
    assert rule.depends_on == ["x-clients"]
    # The group and its rule have the same name.
    assert rendered.one("FileSystem").depends_on == ["x-clients", "x-clients"]


def test_nodes_are_told_how_to_mount_it():
    found: dict[str, Any] = {}

    def program() -> None:
        system = ParallelFileSystem("x", FILES)  # type: ignore[arg-type]
        for key in ("dns_name", "mount_name", "mount_command"):
            getattr(system, key).apply(lambda value, key=key: found.update({key: value}))
        found["protocol"] = system.mount_protocol

    render(program, preview=False)
    assert found == {
        "dns_name": "10.64.0.9",
        "mount_name": "1a2b3c4d/cfs",
        "mount_command": "sudo mount.lustre -o user_xattr 10.64.0.9@tcp0:/1a2b3c4d/cfs /cfs",
        "protocol": "lustre",
    }


def test_through_a_ccn_it_has_addresses_there_and_the_network_is_attached_unless_it_is_already():
    own = {"ccn_id": "ccn-1", "ccn_cidr": "11.0.0.0/24"}
    rendered = files(tencentcloud=own)
    made = rendered.one("FileSystem").inputs
    assert {key: made.get(key) for key in ("netInterface", "ccnId", "cidrBlock", "vpcId", "subnetId")} == {
        "netInterface": "CCN",
        "ccnId": "ccn-1",
        "cidrBlock": "11.0.0.0/24",
        "vpcId": None,
        "subnetId": None,
    }
    assert rendered.one("AttachmentV2").inputs == {
        "ccnId": "ccn-1",
        "instanceId": "vpc-1",
        "instanceRegion": HERE,
        "instanceType": "VPC",
    }
    assert "x-ccn" in rendered.one("FileSystem").depends_on
    assert files(tencentcloud={**own, "ccn_attach": False}).all("AttachmentV2") == []


def test_a_file_system_has_to_be_told_its_network_and_its_clients():
    given = {key: value for key, value in FILES.items() if key not in ("network_id", "client_cidr")}
    assert problems_of(ParallelFileSystem, given) == [
        "network_id: is missing. tencentcloud needs it.",
        "client_cidr: is missing. tencentcloud needs it.",
    ]


def test_data_is_protected_in_prod_and_not_in_dev():
    assert files(environment="prod").one("FileSystem").request.protect
    assert not files().one("FileSystem").request.protect
    assert store(environment="prod").one("Bucket").request.protect
    assert not store(environment="prod").one("Bucket").inputs["forceClean"]
    assert store().one("Bucket").inputs["forceClean"]


def test_br_073_a_bucket_says_its_encryption_is_private_and_versioned(preview: bool):
    made = store(preview=preview).one("Bucket").inputs
    assert made["bucket"] == f"x-checkpoints-{APP_ID}"
    assert (made["acl"], made["versioningEnable"], made["encryptionAlgorithm"]) == ("private", True, "AES256")
    assert "kmsId" not in made
    own = store(kms_key=KEY).one("Bucket").inputs
    assert (own["encryptionAlgorithm"], own["kmsId"]) == ("KMS", KEY)


def rules(bucket: Registered) -> dict[str, dict[str, Any]]:
    return {rule["id"]: rule for rule in bucket.inputs["lifecycleRules"]}


def test_every_prefix_ends_old_versions_and_torn_uploads_too():
    prefixes = {"releases": {"keep_days": 730, "tiers": {"infrequent": 30, "deep_archive": 90}}}
    found = rules(store(prefixes=prefixes).one("Bucket"))
    assert found == {
        "expire-checkpoints": {
            "id": "expire-checkpoints",
            "filterPrefix": "checkpoints/",
            "expiration": {"days": 30},
        },
        "expire-releases": {
            "id": "expire-releases",
            "filterPrefix": "releases/",
            "expiration": {"days": 730},
            "transitions": [
                {"days": 30, "storageClass": "STANDARD_IA"},
                {"days": 90, "storageClass": "DEEP_ARCHIVE"},
            ],
        },
        "expire-old-versions": {
            "id": "expire-old-versions",
            "filterPrefix": "",
            "nonCurrentExpiration": {"nonCurrentDays": 7},
            "expiration": {"deleteMarker": True},
        },
        "abort-uploads": {
            "id": "abort-uploads",
            "filterPrefix": "",
            "abortIncompleteMultipartUpload": {"daysAfterInitiation": 2},
        },
    }


def test_objects_move_to_colder_classes_only():
    tiers = {"archive": 30, "infrequent": 150}
    assert problems_of(CheckpointStore, {**BUCKET, "keep_days": 730, "tiers": tiers}) == [
        "tiers.infrequent: an object in ARCHIVE from day 30 cannot move on to STANDARD_IA on day 150. What may follow "
        "'archive': deep_archive."
    ]


def test_nobody_may_use_a_bucket_over_plain_http():
    policy = json.loads(store().one("BucketPolicy").inputs["policy"])
    assert policy == {
        "version": "2.0",
        "statement": [
            {
                "principal": {"qcs": ["qcs::cam::anyone:anyone"]},
                "effect": "deny",
                "action": ["*"],
                "resource": [f"qcs::cos:{HERE}:uid/{APP_ID}:x-checkpoints-{APP_ID}/*"],
                "condition": {"bool_equal": {"cos:secure-transport": "false"}},
            }
        ],
    }


def test_br_073_the_copy_is_versioned_before_anything_is_copied_and_is_made_in_its_own_region(preview: bool):
    rendered = store(preview=preview, replicate_to=THERE, kms_key=KEY, replica_kms_key=OTHER_KEY)
    source, copy = rendered.one("Bucket", "x-checkpoints"), rendered.one("Bucket", "x-replica")
    assert (copy.inputs["versioningEnable"], copy.inputs["acl"], copy.inputs["kmsId"]) == (True, "private", OTHER_KEY)
    assert "replicaRules" not in copy.inputs
    assert source.inputs["replicaRole"] == f"qcs::cam::uin/{OWNER}:uin/{USER}"
    (rule,) = source.inputs["replicaRules"]
    assert rule == {
        "id": "everything",
        "status": "Enabled",
        "prefix": "",
        "destinationBucket": f"qcs::cos:{THERE}::x-replica-{APP_ID}",
        "destinationStorageClass": "STANDARD_IA",
    }
    assert "x-replica" in source.depends_on
    provider = rendered.one("pulumi:providers:tencentcloud")
    assert provider.inputs["region"] == THERE
    assert f"::{provider.name}::" in copy.request.provider
    assert f"::{provider.name}::" not in source.request.provider
    policy = rendered.one("BucketPolicy", "x-replica-tls")
    assert f"::{provider.name}::" in policy.request.provider


def test_nodes_of_the_region_are_told_the_host_that_costs_no_traffic():
    found: dict[str, Any] = {}

    def program() -> None:
        bucket = CheckpointStore("x", BUCKET)  # type: ignore[arg-type]
        for key in ("endpoint", "uri", "bucket_arn"):
            getattr(bucket, key).apply(lambda value, key=key: found.update({key: value}))

    render(program, preview=False)
    assert found == {
        "endpoint": f"x-checkpoints-{APP_ID}.cos.{HERE}.myqcloud.com",
        "uri": f"cos://x-checkpoints-{APP_ID}/checkpoints",
        "bucket_arn": f"qcs::cos:{HERE}:uid/{APP_ID}:x-checkpoints-{APP_ID}",
    }


@pytest.mark.parametrize(
    ("build", "kind"), [(files, "FileSystem"), (store, "BucketPolicy"), (snapshots, "SnapshotPolicyAttachment")]
)
def test_a_component_in_another_region_than_the_stacks_is_made_there(build: Any, kind: str):
    changes: dict[str, Any] = {"region": THERE}
    changes |= {"zone": "ap-shanghai-2"} if kind == "FileSystem" else {}
    changes |= {"every_hours": 24} if kind.startswith("Snapshot") else {}
    rendered = build(**changes)
    provider = rendered.one("pulumi:providers:tencentcloud")
    assert provider.inputs["region"] == THERE
    assert all(f"::{provider.name}::" in found.request.provider for found in rendered.all(kind))


def test_a_schedule_is_attached_to_each_disk_on_the_clouds_clock(preview: bool):
    rendered = snapshots(preview=preview, every_hours=12)
    policy = rendered.one("SnapshotPolicy", "x-snapshots")
    assert policy.inputs == {
        "snapshotPolicyName": "x-snapshots",
        "repeatWeekdays": [0, 1, 2, 3, 4, 5, 6],
        "repeatHours": [11, 23],
        "retentionDays": 7,
    }
    attached = rendered.all("SnapshotPolicyAttachment")
    assert {found.name: found.inputs["storageId"] for found in attached} == {
        "x-snapshots-a": "disk-1",
        "x-snapshots-b": "disk-2",
    }
    assert all(found.depends_on == ["x-snapshots"] for found in attached)


def test_hours_of_the_next_day_there_have_a_schedule_of_their_own():
    rendered = snapshots(hours_utc=[3, 20], weekdays=["sat"])
    times = {
        found.name: (found.inputs["repeatWeekdays"], found.inputs["repeatHours"])
        for found in rendered.resources
        if found.type == "tencentcloud:Cbs/snapshotPolicy:SnapshotPolicy"
    }
    assert times == {"x-snapshots": ([6], [11]), "x-snapshots-2": ([0], [4])}
    assert len(rendered.all("SnapshotPolicyAttachment")) == 4


def test_a_schedule_without_disks_is_refused():
    given = {**PLACE, "keep_days": 7, "every_hours": 24}
    assert problems_of(SnapshotPolicy, given) == ["disks: is missing. tencentcloud needs it."]


@pytest.mark.parametrize(
    ("build", "changes"),
    [
        (files, {}),
        (files, {"tencentcloud": {"ccn_id": "ccn-1", "ccn_cidr": "11.0.0.0/24"}}),
        (store, {"replicate_to": THERE, "tiers": {"infrequent": 30}, "keep_days": 90}),
        (store, {"kms_key": KEY}),
        (snapshots, {"hours_utc": [3, 20], "weekdays": ["sat"]}),
    ],
)
def test_the_simulated_provider_takes_all_of_it(build: Any, changes: dict[str, Any]):
    assert failures(build(**changes)) == []
