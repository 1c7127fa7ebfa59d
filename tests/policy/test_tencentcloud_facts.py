"""What the policies understand of Tencent Cloud's resources: raw ones, and gpuyard's own as they are rendered."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gpuyard.sandbox.workspace import read_project
from gpuyard_policy.facts import Facts, Record, Unknown, collect_facts
from gpuyard_policy.sources.in_process import run_stack
from tests.policy.resources import record
from tests.unit.clouds.tencentcloud.helpers import RDMA, REGION, SPOT, rendered

MACHINE = "tencentcloud:Instance/instance:Instance"
MACHINES = "tencentcloud:Instance/set:Set"
WORKSPACE = "tencentcloud:Thpc/workspaces:Workspaces"
GROUP = "tencentcloud:As/scalingGroup:ScalingGroup"
CONFIGURATION = "tencentcloud:As/scalingConfig:ScalingConfig"
HOOK = "tencentcloud:As/lifecycleHook:LifecycleHook"
NODE_POOL = "tencentcloud:Kubernetes/nodePool:NodePool"
NATIVE_POOL = "tencentcloud:Kubernetes/nativeNodePool:NativeNodePool"
DISK = "tencentcloud:Cbs/storage:Storage"
POLICY = "tencentcloud:Cbs/snapshotPolicy:SnapshotPolicy"
ATTACHMENT = "tencentcloud:Cbs/snapshotPolicyAttachment:SnapshotPolicyAttachment"
ALARM = "tencentcloud:Monitor/alarmPolicy:AlarmPolicy"
PROMETHEUS_RULE = "tencentcloud:Monitor/tmpAlertRule:TmpAlertRule"
PROMETHEUS_GROUP = "tencentcloud:Monitor/tmpAlertGroup:TmpAlertGroup"
PROMETHEUS_TKE = "tencentcloud:Monitor/tmpTkeAlertPolicy:TmpTkeAlertPolicy"
CFS = "tencentcloud:Cfs/fileSystem:FileSystem"
BUCKET = "tencentcloud:Cos/bucket:Bucket"
BUCKET_POLICY = "tencentcloud:Cos/bucketPolicy:BucketPolicy"
SUBNET = "tencentcloud:Subnet/instance:Instance"
SECURITY_GROUP = "tencentcloud:Security/group:Group"
RULE_SET = "tencentcloud:Security/groupRuleSet:GroupRuleSet"
LITE_RULE = "tencentcloud:Security/groupLiteRule:GroupLiteRule"
LATER = Unknown("known only after the update")


def of(kind: str, name: str, props: dict[str, Any], depends_on: Any = None, region: str | None = None) -> Record:
    return record(kind, name, props, depends_on, region)


def facts(*records: Record) -> Facts:
    found = collect_facts(records)
    assert found.problems == ()
    return found


def pool(*records: Record) -> Any:
    (only,) = facts(*records).node_pools
    return only


# --- where


@pytest.mark.parametrize(
    ("props", "provider", "region"),
    [
        ({"availabilityZone": "ap-beijing-5"}, None, "ap-beijing"),
        ({"availabilityZone": "na-siliconvalley-2"}, "ap-beijing", "na-siliconvalley"),
        ({"placement": {"zone": "ap-nanjing-1"}}, None, "ap-nanjing"),
        ({}, "ap-shanghai", "ap-shanghai"),
    ],
)
def test_a_resource_is_where_its_zone_or_its_provider_is(props: dict[str, Any], provider: str | None, region: str):
    assert pool(of(MACHINE, "m", {"instanceType": "GT4.4XLARGE96", **props}, region=provider)).region == region


def test_nobody_knows_where_a_resource_without_both_is():
    found = pool(of(MACHINE, "m", {"instanceType": "GT4.4XLARGE96"})).region
    assert isinstance(found, Unknown)
    assert "neither the resource nor its provider" in found.why


def test_a_group_is_in_the_zones_of_its_subnets():
    subnet = of(SUBNET, "s", {"availabilityZone": "ap-guangzhou-6"})
    group = of(GROUP, "g", {"minSize": 0.0, "maxSize": 2.0, "subnetIds": [LATER]}, {"subnetIds": [subnet.urn]})
    found = pool(subnet, group)
    assert (found.region, found.zones) == ("ap-guangzhou", ("ap-guangzhou-6",))


# --- pools


def test_a_machine_is_a_pool_of_one():
    found = pool(
        of(
            MACHINE,
            "m",
            {
                "instanceType": "HCCPNV4h.48XLARGE1024",
                "hpcClusterId": LATER,
                "availabilityZone": "ap-beijing-5",
                "tags": {"gpuyard:task": "pretrain"},
                "systemDiskType": "CLOUD_PREMIUM",
                "systemDiskSize": 200.0,
                "dataDisks": [{"dataDiskType": "CLOUD_HSSD", "dataDiskSize": 500.0, "encrypt": True}],
                "imageId": "img-1",
            },
        )
    )
    assert found.instance_types == ("HCCPNV4h",), "as the catalog calls it, which knows the family only"
    assert (found.nodes_min, found.nodes_max, found.elastic) == (1, 1, False)
    assert (found.placement, found.rdma_interfaces) == ("close", 1)
    assert (found.purchase, found.public_address, found.image) == ("on_demand", False, "img-1")
    assert found.tags["gpuyard:task"] == "pretrain"
    root, data = found.disks
    assert (root.role, root.disk_type, root.size_gib) == ("root", "CLOUD_PREMIUM", 200)
    assert isinstance(root.encrypted, Unknown), "never taken for a yes or a no"
    assert (data.role, data.encrypted, data.size_gib) == ("data", True, 500)
    assert isinstance(found.metadata_hardened, Unknown)


@pytest.mark.parametrize(
    ("charge", "purchase"),
    [("PREPAID", "prepaid"), ("SPOTPAID", "spot"), ("POSTPAID_BY_HOUR", "on_demand"), ("CDHPAID", "reserved")],
)
def test_how_machines_are_paid_is_how_they_are_bought(charge: str, purchase: str):
    found = pool(of(MACHINE, "m", {"instanceType": "x", "instanceChargeType": charge, "spotMaxPrice": "0.50"}))
    assert (found.purchase, found.spot_price_limit) == (purchase, 0.5)


@pytest.mark.parametrize("props", [{"allocatePublicIp": True}, {"internetMaxBandwidthOut": 5.0}])
def test_an_address_of_the_internet_is_seen(props: dict[str, Any]):
    assert pool(of(MACHINE, "m", {"instanceType": "x", **props})).public_address is True


def test_a_placement_group_spreads():
    assert pool(of(MACHINE, "m", {"instanceType": "x", "placementGroupId": "ps-1"})).placement == "spread"


def test_a_set_has_as_many_machines_as_it_says():
    assert pool(of(MACHINES, "m", {"instanceType": "x", "instanceCount": 3.0})).nodes_max == 3


def test_a_workspace_is_prepaid_and_close_and_its_machine_unknown():
    found = pool(
        of(
            WORKSPACE,
            "w",
            {
                "spaceType": "96A.96XLARGE2304",
                "hpcClusterId": "hpc-1",
                "tagSpecifications": [{"tags": [{"key": "gpuyard:task", "value": "pretrain"}]}],
            },
        )
    )
    assert isinstance(found.instance_types, Unknown)
    assert (found.purchase, found.placement, found.rdma_interfaces) == ("prepaid", "close", 1)
    assert found.tags == {"gpuyard:task": "pretrain"}


def scaled(props: dict[str, Any], *, by_id: bool) -> list[Record]:
    """A group and its configuration: joined as in a preview by where the value comes from, or by its id."""
    configuration = of(CONFIGURATION, "c", {**props, **({"id": "asc-1"} if by_id else {})})
    depends_on = {} if by_id else {"configurationId": [configuration.urn]}
    given = {"minSize": 0.0, "maxSize": 4.0, "configurationId": "asc-1" if by_id else LATER}
    return [configuration, of(GROUP, "g", given, depends_on)]


@pytest.mark.parametrize("by_id", [True, False])
def test_a_group_launches_what_its_configuration_says(by_id: bool):
    props = {
        "instanceTypes": ["GNV4.3XLARGE44", "PNV4.7XLARGE116"],
        "instanceChargeType": "SPOTPAID",
        "spotMaxPrice": "2.5",
        "instanceTags": {"gpuyard:task": "inference"},
        "publicIpAssigned": False,
    }
    found = pool(*scaled(props, by_id=by_id))
    assert found.instance_types == ("GNV4.3XLARGE44", "PNV4.7XLARGE116")
    assert (found.nodes_min, found.nodes_max, found.elastic) == (0, 4, True)
    assert (found.purchase, found.spot_price_limit, found.public_address) == ("spot", 2.5, False)
    assert found.tags["gpuyard:task"] == "inference"
    assert found.handles_interruption is False


def test_a_group_whose_configuration_is_elsewhere_is_undecided():
    found = pool(of(GROUP, "g", {"minSize": 0.0, "maxSize": 4.0, "configurationId": "asc-9"}))
    assert found.instance_types == Unknown("its scaling configuration is not in this stack")


def test_a_hook_or_a_watch_of_the_notice_handles_interruptions():
    records = scaled({"instanceTypes": ["x"]}, by_id=False)
    hook = of(HOOK, "h", {"lifecycleTransition": "INSTANCE_TERMINATING"}, {"scalingGroupId": [records[1].urn]})
    assert pool(*records, hook).handles_interruption is True
    script = base64.b64encode(gzip.compress(b"curl metadata/spot/termination-time", mtime=0)).decode()
    assert pool(*scaled({"instanceTypes": ["x"], "userData": script}, by_id=False)).handles_interruption is True
    launching = of(HOOK, "h", {"lifecycleTransition": "INSTANCE_LAUNCHING"}, {"scalingGroupId": [records[1].urn]})
    assert pool(*records, launching).handles_interruption is False


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (base64.b64encode(b"#!/bin/bash").decode(), "#!/bin/bash"),
        (base64.b64encode(gzip.compress(b"#cloud-config", mtime=0)).decode(), "#cloud-config"),
        (LATER, LATER),
        ("no base64!", Unknown("its user data is no text in base64")),
    ],
)
def test_user_data_is_read_as_the_machine_reads_it(value: Any, text: Any):
    assert pool(of(MACHINE, "m", {"instanceType": "x", "userData": value})).user_data == text


def test_pools_of_kubernetes_are_pools():
    found = pool(
        of(
            NODE_POOL,
            "k",
            {
                "minSize": 1.0,
                "maxSize": 3.0,
                "autoScalingConfig": {"instanceType": "GN7.5XLARGE80", "backupInstanceTypes": ["GN7.8XLARGE128"]},
                "taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}],
            },
        )
    )
    assert found.instance_types == ("GN7.5XLARGE80", "GN7.8XLARGE128")
    assert (found.nodes_max, found.taints, found.elastic) == (3, ("gpu",), True)
    native = pool(of(NATIVE_POOL, "n", {"native": {"instanceTypes": ["PNV4.7XLARGE116"], "replicas": 2.0}}))
    assert (native.instance_types, native.nodes_min, native.nodes_max) == (("PNV4.7XLARGE116",), 2, 2)
    assert native.elastic is False


IN_A_TEMPLATE = Unknown("its launch template is not in this stack")


@pytest.mark.parametrize("kind", [MACHINE, MACHINES, WORKSPACE])
@pytest.mark.parametrize(
    ("given", "image", "pinned"),
    [
        ({"imageId": "img-6346f44d"}, "img-6346f44d", True),
        ({"imageId": "TencentOS Server 4"}, "TencentOS Server 4", False),
        ({}, None, False),
        ({"imageId": LATER}, LATER, LATER),
        ({"imageId": 17.0}, None, False),
    ],
)
def test_an_image_stays_when_it_is_named_by_id(kind: str, given: dict[str, Any], image: Any, pinned: Any):
    found = pool(of(kind, "m", {"instanceType": "x", **given}))
    assert (found.image, found.image_pinned) == (image, pinned)


@pytest.mark.parametrize(
    ("given", "image", "pinned"),
    [
        ({"launchTemplateId": "lt-1"}, IN_A_TEMPLATE, IN_A_TEMPLATE),
        ({"launchTemplateId": LATER}, IN_A_TEMPLATE, IN_A_TEMPLATE),
        ({"launchTemplateId": "lt-1", "imageId": "img-1"}, "img-1", True),
    ],
)
def test_the_image_in_a_template_of_another_stack_is_not_known(given: dict[str, Any], image: Any, pinned: Any):
    found = pool(of(MACHINE, "m", {"instanceType": "x", **given}))
    assert (found.image, found.image_pinned) == (image, pinned)


@pytest.mark.parametrize(
    ("given", "image", "pinned"),
    [
        ({"imageId": "img-1"}, "img-1", True),
        ({"imageFamily": "ours"}, "ours", False),
        ({"imageFamily": LATER}, LATER, LATER),
        ({}, None, False),
    ],
)
def test_the_image_of_a_group_is_that_of_its_configuration(given: dict[str, Any], image: Any, pinned: Any):
    found = pool(*scaled({"instanceTypes": ["x"], **given}, by_id=False))
    assert (found.image, found.image_pinned) == (image, pinned)


def test_nobody_knows_the_image_of_a_configuration_elsewhere():
    found = pool(of(GROUP, "g", {"configurationId": "asc-9"}))
    unknown = Unknown("its scaling configuration is not in this stack")
    assert (found.image, found.image_pinned, found.user_data, found.purchase) == (unknown, unknown, unknown, unknown)


@pytest.mark.parametrize(
    ("system", "pinned"),
    [("img-1", True), ("tlinux2.4x86_64", False), (None, False), (LATER, LATER), (17.0, False)],
)
def test_the_image_of_kubernetes_nodes_is_their_system(system: Any, pinned: Any):
    assert pool(of(NODE_POOL, "k", {"nodeOs": system})).image_pinned == pinned


def test_the_cloud_chooses_the_image_of_native_nodes():
    found = pool(of(NATIVE_POOL, "n", {"native": {"replicas": 1.0}}))
    assert (found.image, found.image_pinned) == (None, False)


@pytest.mark.parametrize("kind", [MACHINE, MACHINES, WORKSPACE, GROUP, NODE_POOL, NATIVE_POOL])
def test_no_pool_can_ask_for_tokens_of_the_metadata_service(kind: str):
    found = pool(of(kind, "m", {"instanceType": "x"}))
    assert found.metadata_hardened == Unknown("the provider cannot ask for session tokens of the metadata service")


@pytest.mark.parametrize(
    "kind",
    [
        *(MACHINE, MACHINES, WORKSPACE, GROUP, NODE_POOL, NATIVE_POOL, DISK, CFS, BUCKET, RULE_SET, LITE_RULE, POLICY),
        *("tencentcloud:Kubernetes/scaleWorker:ScaleWorker", "tencentcloud:Kubernetes/cluster:Cluster"),
        *("tencentcloud:Cvm/launchTemplate:LaunchTemplate", "tencentcloud:Security/groupRule:GroupRule"),
        *("tencentcloud:Cbs/storageSet:StorageSet", "tencentcloud:Cfs/autoSnapshotPolicy:AutoSnapshotPolicy"),
        *("tencentcloud:Billing/budget:Budget", ATTACHMENT),
        *(ALARM, PROMETHEUS_RULE, PROMETHEUS_GROUP, PROMETHEUS_TKE, BUCKET_POLICY),
    ],
)
@pytest.mark.parametrize("odd", [LATER, 17.0, "text", [], {}, None, [LATER], [None]])
def test_no_shape_of_a_property_breaks_the_reading(kind: str, odd: Any):
    names = (
        "instanceType instanceTypes instanceChargeType spotMaxPrice tags dataDisks userData availabilityZone zones "
        "maxSize minSize configurationId autoScalingConfig native taints orderlySecurityGroups securityGroupIds "
        "tagSpecifications internetAccessible storageType encrypt lifecycleRules replicaRules acl ingresses egresses "
        "securityGroupId retentionDays instanceCount placement internetMaxBandwidthOut imageId imageFamily nodeOs "
        "launchTemplateId capacity conditions conditonTemplateId enable expr rules ruleState alertRule policy bucket "
        "workerConfig workerConfigs userScript preStartUserScript hpcClusterId subnetIds subnetId virtualPrivateCloud "
        "instanceMarketOptions disasterRecoverGroupIds systemDisk cidrIp sourceSgid portRange type addressTemplate "
        "aliveDays budgetQuota cycleType feeType planType aclBody nodeConfig allocatePublicIp antiDdosPackageId "
        "storageId storageIds snapshotPolicyId"
    )
    facts(of(kind, "odd", dict.fromkeys(names.split(), odd)))


# --- disks and their schedules


@pytest.mark.parametrize("by_id", [True, False])
def test_a_disk_knows_the_schedules_that_are_attached_to_it(by_id: bool):
    known = {"id": "disk-1"} if by_id else {}
    disk = of(DISK, "d", {"storageType": "CLOUD_HSSD", "storageSize": 100.0, "encrypt": True, **known})
    policy = of(POLICY, "p", {"retentionDays": 14.0, **({"id": "asp-1"} if by_id else {})}, region="ap-beijing")
    joined = {} if by_id else {"storageId": [disk.urn], "snapshotPolicyId": [policy.urn]}
    given = {"storageId": "disk-1", "snapshotPolicyId": "asp-1"} if by_id else {}
    found = facts(disk, policy, of(ATTACHMENT, "a", given, joined))
    (only,) = found.disks
    assert (only.disk_type, only.size_gib, only.encrypted, only.schedules) == ("CLOUD_HSSD", 100, True, (policy.urn,))
    (schedule,) = found.schedules
    assert (schedule.attached, schedule.keep_days) == ((disk.urn,), 14)
    assert schedule.target_tags is None


def test_a_schedule_without_retention_keeps_the_clouds_seven_days():
    (schedule,) = facts(of(POLICY, "p", {})).schedules
    assert schedule.keep_days == 7


@pytest.mark.parametrize("props", [{}, {"retentionDays": LATER}, {"retentionDays": "text"}])
def test_the_provider_copies_no_snapshots_whatever_a_schedule_says(props: dict[str, Any]):
    (schedule,) = facts(of(POLICY, "p", props)).schedules
    assert isinstance(schedule.copies, Unknown)
    assert "the provider cannot copy snapshots to another region" in schedule.copies.why


# --- storage


@pytest.mark.parametrize(
    ("props", "speed"),
    [
        ({"storageType": "TP", "capacity": 40960.0}, pytest.approx(8588)),
        ({"storageType": "TB", "capacity": 40960.0}, pytest.approx(4296)),
        ({"storageType": "TB", "capacity": 2048000.0}, pytest.approx(104857.6)),
        ({"storageType": "TP"}, Unknown("it names no capacity, which CFS Turbo needs")),
        ({"storageType": "TP", "capacity": "text"}, Unknown("it names no capacity, which CFS Turbo needs")),
        ({"storageType": "TP", "capacity": LATER}, LATER),
        (
            {"storageType": "THP", "capacity": 40960.0},
            Unknown("the catalog does not tell the throughput of CFS Turbo THP"),
        ),
        ({"storageType": LATER, "capacity": 40960.0}, LATER),
        ({"storageType": "SD"}, None),
        ({"storageType": "HP", "capacity": LATER}, None),
        ({"storageType": 17.0}, None),
        ({}, None),
    ],
)
def test_a_turbo_file_system_is_as_fast_as_its_capacity_makes_it(props: dict[str, Any], speed: Any):
    (found,) = facts(of(CFS, "f", props)).file_systems
    assert found.throughput_mb_per_s == speed


def test_a_turbo_file_system_is_parallel_and_in_its_zone():
    (found,) = facts(of(CFS, "f", {"storageType": "TP", "availabilityZone": "ap-beijing-5"})).file_systems
    assert (found.region, found.zone, found.parallel, found.scratch) == ("ap-beijing", "ap-beijing-5", True, False)
    assert isinstance(found.encrypted, Unknown)
    (plain,) = facts(of(CFS, "f", {"storageType": "SD"})).file_systems
    assert plain.parallel is False


def test_br_073_a_bucket_is_encrypted_only_when_it_says_so():
    (plain,) = facts(of(BUCKET, "b", {"bucket": "b-125"}, region="ap-beijing")).buckets
    assert (plain.region, plain.encrypted, plain.public, plain.expires) == ("ap-beijing", False, False, False)
    props = {"encryptionAlgorithm": "AES256", "acl": "public-read", "lifecycleRules": [{"expiration": {"days": 3.0}}]}
    (other,) = facts(of(BUCKET, "b", props)).buckets
    assert (other.encrypted, other.public, other.expires) == (True, True, True)


EVERYBODY = """<AccessControlPolicy><AccessControlList><Grant>
<Grantee xsi:type="Group"><URI>http://cam.qcloud.com/groups/global/AllUsers</URI></Grantee>
<Permission>READ</Permission></Grant></AccessControlList></AccessControlPolicy>"""


@pytest.mark.parametrize(
    ("props", "public"),
    [
        ({}, False),
        ({"acl": "private"}, False),
        ({"acl": "public-read-write"}, True),
        ({"acl": LATER}, LATER),
        ({"aclBody": EVERYBODY}, True),
        ({"aclBody": EVERYBODY.replace("AllUsers", "AuthenticatedUsers")}, True),
        ({"aclBody": EVERYBODY.replace("URI", "ID"), "acl": "private"}, True),
        ({"aclBody": "<AccessControlPolicy/>", "acl": "public-read"}, False),
        ({"aclBody": LATER, "acl": "private"}, LATER),
    ],
)
def test_a_list_of_grants_takes_the_place_of_a_canned_acl(props: dict[str, Any], public: Any):
    (found,) = facts(of(BUCKET, "b", {"bucket": "b-125", **props})).buckets
    assert found.public == public


@pytest.mark.parametrize(
    ("changes", "public"),
    [
        ({}, True),
        ({"principal": "*"}, True),
        ({"effect": "deny"}, False),
        ({"principal": {"qcs": ["qcs::cam::uin/100000000001:uin/100000000002"]}}, False),
        ({"condition": {"ip_equal": {"qcs:ip": "10.0.0.0/8"}}}, False),
        ({"effect": LATER}, LATER),
        ({"condition": LATER}, LATER),
    ],
)
def test_a_policy_opens_a_bucket_to_everybody(changes: dict[str, Any], public: Any):
    allow = {"principal": {"qcs": ["qcs::cam::anyone:anyone"]}, "effect": "allow", "action": "name/cos:GetObject"}
    bucket = of(BUCKET, "b", {"bucket": "b-125"})
    policy = {"version": "2.0", "statement": [{**allow, "resource": ["*"], **changes}]}
    joined = of(BUCKET_POLICY, "p", {"bucket": LATER, "policy": policy}, {"bucket": [bucket.urn]})
    (found,) = facts(bucket, joined).buckets
    assert found.public == public


@pytest.mark.parametrize(
    ("rules", "expires"),
    [
        ([LATER], LATER),
        ([LATER, {"expiration": {"days": 3.0}}], True),
        ([{"expiration": LATER}], LATER),
        ([{"transitions": [{"days": 3.0, "storageClass": "ARCHIVE"}]}], False),
        (LATER, LATER),
    ],
)
def test_a_rule_that_is_not_known_is_not_taken_for_one_that_ends_something(rules: Any, expires: Any):
    (found,) = facts(of(BUCKET, "b", {"bucket": "b-125", "lifecycleRules": rules})).buckets
    assert found.expires == expires


@pytest.mark.parametrize(
    ("rules", "depends"),
    [([{"destinationBucket": "qcs::cos:ap-shanghai::copy-125"}], False), (LATER, True), ([], False)],
)
def test_the_target_of_a_replication_is_a_replica(rules: Any, depends: bool):
    copy = of(BUCKET, "copy", {"bucket": "copy-125"})
    first = of(BUCKET, "first", {"replicaRules": rules}, {"replicaRules": [copy.urn]} if depends else {})
    found = {one.name: one.is_replica for one in facts(copy, first).buckets}
    assert found == {"copy": rules != [], "first": False}


def test_a_tag_marks_a_replica():
    (found,) = facts(of(BUCKET, "copy", {"tags": {"gpuyard:role": "replica"}})).buckets
    assert found.is_replica is True


TLS: dict[str, Any] = {
    "principal": {"qcs": ["qcs::cam::anyone:anyone"]},
    "effect": "deny",
    "action": ["*"],
    "resource": ["qcs::cos:ap-beijing:uid/1250000000:b-125/*"],
    "condition": {"bool_equal": {"cos:secure-transport": "false"}},
}


def with_policy(policy: Any, *, by_name: bool = False) -> Any:
    """Whether a bucket with a policy refuses plain HTTP."""
    bucket = of(BUCKET, "b", {"bucket": "b-125"})
    named, depends = ("b-125", {}) if by_name else (LATER, {"bucket": [bucket.urn]})
    (found,) = facts(bucket, of(BUCKET_POLICY, "p", {"bucket": named, "policy": policy}, depends)).buckets
    return found.https_only


@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"effect": "Deny", "principal": "*", "action": "name/cos:*", "resource": "*"},
        {"condition": {"bool_equal": {"cos:secure-transport": [False]}}},
    ],
)
def test_a_policy_refuses_plain_http(changes: dict[str, Any], by_name: bool):
    document = {"version": "2.0", "statement": [{**TLS, "effect": "allow"}, {**TLS, **changes}]}
    assert with_policy(json.dumps(document), by_name=by_name) is True
    assert with_policy(document, by_name=by_name) is True


def test_a_policy_in_capitals_says_the_same():
    assert with_policy({"Statement": {key.capitalize(): value for key, value in TLS.items()}}) is True


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("effect", "allow"),
        ("principal", {"qcs": ["qcs::cam::uin/100000000001:uin/100000000002"]}),
        ("action", ["name/cos:GetObject"]),
        ("resource", ["qcs::cos:ap-beijing:uid/1250000000:b-125/releases/*"]),
        ("condition", {"bool_equal": {"cos:secure-transport": "true"}}),
        ("condition", None),
    ],
)
def test_a_policy_that_leaves_something_open_does_not_refuse_plain_http(key: str, value: Any):
    assert with_policy({"statement": [{**TLS, key: value}]}) is False
    assert with_policy({"statement": [{**TLS, key: LATER}]}) == LATER


@pytest.mark.parametrize(
    ("policy", "only"),
    [
        (LATER, LATER),
        ({"statement": LATER}, LATER),
        ({"statement": [LATER]}, LATER),
        ({"statement": [LATER, TLS]}, True),
        ({"statement": [{**TLS, "effect": "allow", "action": LATER}]}, False),
        ("no JSON", False),
        (17.0, False),
        (None, False),
        ({}, False),
    ],
)
def test_a_policy_of_another_shape_is_no_yes(policy: Any, only: Any):
    assert with_policy(policy) == only


def test_a_bucket_without_a_policy_of_its_own_answers_plain_http():
    bucket, other = of(BUCKET, "b", {"bucket": "b-125"}), of(BUCKET, "o", {"bucket": "o-125"})
    policy = of(
        BUCKET_POLICY, "p", {"bucket": "o-125", "policy": json.dumps({"statement": [TLS]})}, {"policy": [bucket.urn]}
    )
    found = {one.name: one.https_only for one in facts(bucket, other, policy).buckets}
    assert found == {"b": False, "o": True}


# --- alarms


def watching(kind: str, props: dict[str, Any]) -> Any:
    (only,) = facts(of(kind, "a", props)).alarms
    return only.watches_gpus


def rules_of(*metrics: Any) -> dict[str, Any]:
    return {"conditions": {"isUnionRule": 0.0, "rules": [{"metricName": metric} for metric in metrics]}}


@pytest.mark.parametrize(
    ("props", "watches"),
    [
        (rules_of("GpuUtil"), True),
        (rules_of("CpuUsage", "gpu_util"), True),
        (rules_of("K8sPodRateGpuUsedNode"), True),
        (rules_of("k8s_pod_rate_gpu_used_node"), True),
        (rules_of("GpuMemUsage"), False),
        (rules_of("CpuUsage"), False),
        (rules_of(LATER), LATER),
        (rules_of(LATER, "GpuUtil"), True),
        (rules_of(17.0), False),
        (rules_of(True), False),
        ({"conditions": LATER}, LATER),
        ({"conditions": {"rules": LATER}}, LATER),
        ({"eventConditions": [{"metricName": "ping_unreachable"}]}, False),
        ({"conditonTemplateId": 7.0}, Unknown("its conditions are in a template, which the stack does not hold")),
        ({**rules_of("GpuUtil"), "enable": 0.0}, False),
        ({**rules_of("GpuUtil"), "enable": 1.0}, True),
        ({**rules_of("GpuUtil"), "enable": LATER}, LATER),
        ({**rules_of("CpuUsage"), "enable": LATER}, False),
        ({}, False),
    ],
)
def test_an_alarm_watches_gpus_when_one_of_its_metrics_is_their_utilization(props: dict[str, Any], watches: Any):
    found = watching(ALARM, props)
    assert found == watches
    assert isinstance(found, (bool, Unknown))


@pytest.mark.parametrize(
    ("kind", "wrap"),
    [
        (PROMETHEUS_RULE, lambda expression: {"expr": expression}),
        (PROMETHEUS_GROUP, lambda expression: {"rules": [{"expr": "up == 0"}, {"expr": expression}]}),
        (PROMETHEUS_TKE, lambda expression: {"alertRule": {"rules": [{"rule": expression}]}}),
    ],
)
@pytest.mark.parametrize(
    ("expression", "watches"),
    [("avg(DCGM_FI_DEV_GPU_UTIL) < 30", True), ("up == 0", False), (LATER, LATER), (None, False), (17.0, False)],
)
def test_a_rule_of_prometheus_watches_gpus_by_its_expression(kind: str, wrap: Any, expression: Any, watches: Any):
    found = watching(kind, wrap(expression))
    assert found == watches
    assert isinstance(found, (bool, Unknown))


@pytest.mark.parametrize("state", [(PROMETHEUS_RULE, 3.0, False), (PROMETHEUS_RULE, 2.0, True)])
def test_a_rule_that_is_switched_off_watches_nothing(state: tuple[str, float, bool]):
    kind, code, watches = state
    assert watching(kind, {"expr": "DCGM_FI_DEV_GPU_UTIL", "ruleState": code}) is watches
    assert watching(PROMETHEUS_GROUP, {"rules": [{"expr": "DCGM_FI_DEV_GPU_UTIL", "state": code}]}) is watches


@pytest.mark.parametrize("kind", [PROMETHEUS_GROUP, PROMETHEUS_TKE])
def test_rules_that_are_not_known_are_not_judged(kind: str):
    assert watching(kind, {"rules": LATER, "alertRule": LATER}) == LATER


# --- security groups


def test_a_group_open_to_itself_and_what_it_lets_in():
    group = of(SECURITY_GROUP, "sg", {"id": "sg-1"})
    rules = of(
        RULE_SET,
        "rules",
        {
            "securityGroupId": "sg-1",
            "ingresses": [
                {"action": "ACCEPT", "sourceSecurityId": "sg-1", "protocol": "ALL", "port": "ALL"},
                {"action": "ACCEPT", "cidrBlock": "203.0.113.0/24", "protocol": "TCP", "port": "22"},
                {"action": "ACCEPT", "cidrBlock": "10.0.0.0/8", "protocol": "TCP", "port": "80-90"},
                {"action": "DROP", "cidrBlock": "0.0.0.0/0", "protocol": "ALL", "port": "ALL"},
            ],
            "egresses": [{"action": "ACCEPT", "cidrBlock": "0.0.0.0/0", "protocol": "ALL", "port": "ALL"}],
        },
    )
    found = facts(group, rules)
    (itself,) = found.security_groups
    assert (itself.urn, itself.open_to_itself_in, itself.open_to_itself_out) == (group.urn, True, True)
    assert [(one.cidr, one.ports, one.protocol, one.group) for one in found.ingress] == [
        ("203.0.113.0/24", (22, 22), "tcp", group.urn),
        ("10.0.0.0/8", (80, 90), "tcp", group.urn),
    ]


def test_lite_rules_say_the_same_in_words():
    lite = of(
        LITE_RULE,
        "lite",
        {
            "securityGroupId": "sg-1",
            "ingresses": ["ACCEPT#sg-1#ALL#ALL", "ACCEPT#0.0.0.0/0#22#TCP", "DROP#1.2.3.4#80#TCP"],
        },
    )
    found = facts(lite)
    (itself,) = found.security_groups
    assert (itself.open_to_itself_in, itself.open_to_itself_out) == (True, False)
    assert [(one.cidr, one.ports, one.group) for one in found.ingress] == [("0.0.0.0/0", (22, 22), "sg-1")]


def test_in_a_preview_a_rule_names_its_own_group_by_where_it_comes_from():
    group = of(SECURITY_GROUP, "sg", {})
    rule = {"action": "ACCEPT", "sourceSecurityId": LATER, "protocol": "ALL", "port": "ALL"}
    rules = of(
        RULE_SET,
        "rules",
        {"securityGroupId": LATER, "ingresses": [rule], "egresses": []},
        {"securityGroupId": [group.urn], "ingresses": [group.urn]},
    )
    (itself,) = facts(group, rules).security_groups
    assert (itself.open_to_itself_in, itself.open_to_itself_out) == (True, False)


# --- gpuyard's own


def as_records(rendered: Any) -> list[Record]:
    """What was rendered, as a policy gets it: values that come from other resources by their URN."""

    def short(urn: str) -> str:
        *_, kind, name = urn.split("::")
        return f"{kind.rsplit('$', 1)[-1]}::{name}"

    return [
        Record(
            f"{one.type}::{one.name}",
            one.type,
            one.name,
            {**one.inputs, "id": f"{one.name}-id"},
            {
                key: [short(urn) for urn in dependencies.urns]
                for key, dependencies in one.request.propertyDependencies.items()
            },
            {"region": REGION},
        )
        for one in rendered
    ]


@pytest.fixture
def event_loop_to_render_in() -> Iterator[None]:
    """A loop for the engine's client: a stack that ran before in this thread leaves it without one."""
    asyncio.set_event_loop(asyncio.new_event_loop())
    yield
    asyncio.get_event_loop().close()
    asyncio.set_event_loop(asyncio.new_event_loop())


@pytest.mark.usefixtures("event_loop_to_render_in")
def test_the_facts_of_gpuyards_own_pools_are_what_was_asked_for():
    spot = pool(*as_records(rendered({**SPOT, "on_demand_nodes": 0}, {"checkpoints": {"keep_days": 7}})))
    assert (spot.purchase, spot.spot_price_limit, spot.elastic) == ("spot", 2.5, True)
    assert (spot.handles_interruption, spot.public_address) == (True, False)
    assert (spot.nodes_min, spot.nodes_max, spot.region) == (1, 8, REGION)
    assert spot.tags["gpuyard:task"] == "inference"
    found = facts(*as_records(rendered({**RDMA, "data_disk_gib": 100})))
    assert [(one.placement, one.rdma_interfaces, one.nodes_max) for one in found.node_pools] == [("close", 1, 1)] * 2
    assert [(one.encrypted, one.disk_type) for one in found.disks] == [(True, "CLOUD_HSSD")] * 2
    (group,) = found.security_groups
    assert (group.open_to_itself_in, group.open_to_itself_out) == (True, True)
    assert found.ingress == ()
    assert all(one.security_groups == (group.urn,) for one in found.node_pools)


def test_the_facts_of_the_example_of_production_are_known():
    root = Path(__file__).parents[2]
    with ThreadPoolExecutor(1) as elsewhere:  # a stack that ran leaves its thread without an event loop
        source = elsewhere.submit(run_stack, read_project(root), "tencentcloud-prod", root).result()
    found = collect_facts(source.records)
    assert all(one.image_pinned is True for one in found.node_pools)
    assert [one.throughput_mb_per_s for one in found.file_systems] == [pytest.approx(8588)]
    assert [one.https_only for one in found.buckets] == [True, True]
    watching = {one.name: one.watches_gpus for one in found.alarms}
    assert watching == {
        "tencentcloud-prod-train-gpu-idle": True,
        "tencentcloud-prod-train-gpu-memory": False,
        "tencentcloud-prod-train-node-lost": False,
        "tencentcloud-prod-prepare-gpu-idle": True,
        "tencentcloud-prod-prepare-gpu-memory": False,
    }
