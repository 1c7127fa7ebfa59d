"""One description on three clouds: only places and hardware have other names, and the guarantees are the same.

Each cloud is built on the real engine with the policy pack, and what its simulated cloud then holds is read in the
cloud's own words: how nodes are joined, where everything is, what is encrypted, what ends, and what is closed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from ruamel.yaml import YAML

from gpuyard.catalog.regions import zone_belongs_to
from gpuyard.sandbox.cloud import CloudResource
from tests.engine.conftest import Sandbox

STACK = "same"


@dataclass(frozen=True)
class Names:
    """What is called otherwise on each cloud: ``pcie`` is a machine of several GPUs that no NVLink joins."""

    region: str
    other_region: str
    zone: str
    machine: str
    pcie: str


NAMES = {
    "aws": Names("us-west-2", "us-east-1", "us-west-2b", "p4d.24xlarge", "g5.12xlarge"),
    "alicloud": Names(
        "cn-shenzhen", "cn-hangzhou", "cn-shenzhen-f", "ecs.ebmgn7ex.32xlarge", "ecs.gn7i-c32g1.32xlarge"
    ),
    "tencentcloud": Names("ap-shanghai", "ap-beijing", "ap-shanghai-5", "HCCG5v.24XLARGE384", "PNV4.28XLARGE466"),
}
NODES, KEEP_DAYS, SNAPSHOT_KEEP_DAYS = 2, 30, 14
# Nodes whose GPUs have no NVLink, and a bucket of the same cluster in another region.
WRONG = """
    from gpuyard import CheckpointStore, GpuNodePool
    place = {{"cloud": "{cloud}", "cluster_name": "same"}}
    GpuNodePool("train", {{
        **place, "region": "{names.region}", "zone": "{names.zone}", "instance_type": "{names.pcie}", "nodes": 1,
        "workload": {{"task": "pretrain"}}, "subnet_ids": ["subnet-1"], "security_group_ids": ["sg-1"],
    }})
    CheckpointStore("same", {{**place, "region": "{names.other_region}", "keep_days": 30}})
"""


def description(cloud: str) -> dict[str, Any]:
    """The description: every key and every value is the same but for the names."""
    names = NAMES[cloud]
    return {
        "cloud": cloud,
        "region": names.region,
        "zone": names.zone,
        "environment": "prod",
        "workload": {"task": "full_finetune", "model_parameters": 13e9},
        "node_pools": {
            "train": {
                "instance_type": names.machine,
                "nodes": NODES,
                "interconnect": "rdma",
                "data_disk_gib": 500,
            },
        },
        # A multiple of the steps of all three.
        "file_system": {"capacity_gib": 153_600},
        "checkpoints": {"keep_days": KEEP_DAYS, "replicate_to": names.other_region},
        "snapshots": {"every_hours": 12, "keep_days": SNAPSHOT_KEEP_DAYS},
        "monitoring": {"notify": ["ml@example.com"]},
    }


class Held:
    """What a simulated cloud holds, by type: ``ecs/instance`` stands for ``alicloud:ecs/instance:Instance``."""

    def __init__(self, sandbox: Sandbox, cloud: str) -> None:
        self.things = sandbox.cloud()
        self.cloud = cloud
        records = sandbox.session.workspace.state(STACK)["resources"]
        providers = {
            f"{one['urn']}::{one['id']}": one["inputs"].get("region")
            for one in records
            if one["type"].startswith("pulumi:providers:")
        }
        self._regions = {
            one["urn"]: one["inputs"].get("region") or providers[one["provider"]]
            for one in records
            if one.get("custom") and not one["type"].startswith("pulumi:")
        }
        self._protected = {one["urn"] for one in records if one.get("protect")}

    def all(self, kind: str) -> list[CloudResource]:
        return [one for one in self.things if one.token.rsplit(":", 1)[0] == f"{self.cloud}:{kind}"]

    def one(self, kind: str) -> CloudResource:
        (found,) = self.all(kind)
        return found

    def region(self, thing: CloudResource) -> str:
        return str(self._regions[thing.urn])

    def protected(self, thing: CloudResource) -> bool:
        return thing.urn in self._protected

    def bucket(self, kind: str, part: str) -> CloudResource:
        (found,) = [one for one in self.all(kind) if one.urn.endswith(f"-{part}")]
        return found


@pytest.fixture(params=list(NAMES))
def cloud(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def held(cloud: str, sandbox: Sandbox) -> Held:
    """The description built on one cloud: previewed and judged by the policies, made, and found to be what it was."""
    content = {"config": {f"{cloud}:region": NAMES[cloud].region, "gpuyard:cluster": description(cloud)}}
    with (sandbox.root / "stacks" / f"Pulumi.{STACK}.yaml").open("w", encoding="utf-8") as file:
        YAML().dump(content, file)
    # What only prod demands, such as copies of snapshots, not every cloud's provider can do.
    (sandbox.root / "gpuyard-policy.yaml").write_text("profile: staging\n")
    up = sandbox.up(STACK)
    assert up.code == 0, up.output
    assert "gpuyard@v0.1.0" in up.output, "the policy pack has judged it"
    for rule in ("[FAB001]", "[STO001]"):
        assert rule not in up.output
    again = sandbox.run(STACK, "up", "--yes", "--skip-preview")
    assert again.code == 0, again.output
    assert "unchanged" in again.output
    assert not [change for change in ("created", "updated", "replaced", "deleted") if change in again.output]
    return Held(sandbox, cloud)


def test_the_descriptions_differ_in_names_alone() -> None:
    for cloud, names in NAMES.items():
        text = json.dumps(description(cloud))
        for value, word in ((names.other_region, "OTHER"), (names.zone, "ZONE"), (names.region, "REGION")):
            text = text.replace(value, word)
        assert json.loads(text.replace(names.machine, "MACHINE").replace(cloud, "CLOUD")) == json.loads(SAME)


SAME = json.dumps(
    {
        "cloud": "CLOUD",
        "region": "REGION",
        "zone": "ZONE",
        "environment": "prod",
        "workload": {"task": "full_finetune", "model_parameters": 13e9},
        "node_pools": {
            "train": {"instance_type": "MACHINE", "nodes": NODES, "interconnect": "rdma", "data_disk_gib": 500}
        },
        "file_system": {"capacity_gib": 153_600},
        "checkpoints": {"keep_days": KEEP_DAYS, "replicate_to": "OTHER"},
        "snapshots": {"every_hours": 12, "keep_days": SNAPSHOT_KEEP_DAYS},
        "monitoring": {"notify": ["ml@example.com"]},
    }
)


def test_the_guarantees_are_the_same_on_every_cloud(held: Held, cloud: str) -> None:
    names = NAMES[cloud]
    found = READERS[cloud](held)
    assert found.machines == NODES
    assert found.joined, "RDMA, and close together"
    assert found.zones == {names.zone}
    assert zone_belongs_to(names.zone, names.region, cloud)
    assert found.encrypted == {"data disk", "checkpoints", "replica"}
    assert found.private == {"checkpoints", "replica", "nodes"}
    assert found.https_only == {"checkpoints", "replica"}
    assert found.checkpoint_days == KEEP_DAYS
    assert found.old_versions_end
    assert found.torn_uploads_end
    assert found.snapshot_days == SNAPSHOT_KEEP_DAYS
    assert found.snapshotted, "the schedule finds the data disks"
    assert set(found.regions) == {"checkpoints", "replica", "files", "nodes"}
    assert {what for what, region in found.regions.items() if region == names.region} == {
        "checkpoints",
        "files",
        "nodes",
    }
    assert found.regions["replica"] == names.other_region
    assert found.protected == {"checkpoints", "replica", "files"}
    assert found.watched, "somebody hears of idle GPUs"


def test_the_policies_reject_the_same_faults_on_every_cloud(cloud: str, program: Callable[..., Sandbox]) -> None:
    names = NAMES[cloud]
    sandbox = program(WRONG.format(cloud=cloud, names=names))
    (sandbox.root / "Pulumi.test.yaml").write_text(f"config:\n  {cloud}:region: {names.region}\n")
    refused = sandbox.up("test")
    assert refused.code != 0, refused.output
    assert "[FAB001]" in refused.output
    assert "[STO001]" in refused.output
    assert f"is in {names.other_region}, but the nodes that use it are in {names.region}" in refused.output
    assert sandbox.cloud() == [], "nothing exists"


@dataclass(frozen=True)
class Guarantees:
    """What was built, in words that no cloud owns."""

    machines: int
    joined: bool
    zones: set[str]
    encrypted: set[str]
    private: set[str]
    https_only: set[str]
    checkpoint_days: int
    old_versions_end: bool
    torn_uploads_end: bool
    snapshot_days: int
    snapshotted: bool
    regions: Mapping[str, str]
    protected: set[str]
    watched: bool


PARTS = ("checkpoints", "replica")


def named(facts: Mapping[str, bool]) -> set[str]:
    return {what for what, right in facts.items() if right}


def of_aws(held: Held) -> Guarantees:
    template, group = held.one("ec2/launchTemplate").inputs, held.one("autoscaling/group").inputs
    disks = {one["deviceName"]: one["ebs"] for one in template["blockDeviceMappings"] if "ebs" in one}
    (root,) = [name for name, disk in disks.items() if disk["volumeSize"] != 500]
    schedule = held.one("dlm/lifecyclePolicy").inputs["policyDetails"]
    volumes = next(one["tags"] for one in template["tagSpecifications"] if one["resourceType"] == "volume")
    buckets = {part: held.bucket("s3/bucket", part) for part in PARTS}
    files = held.one("fsx/lustreFileSystem")
    kinds = [one.get("interfaceType") for one in template["networkInterfaces"]]
    placement = held.one("ec2/placementGroup")
    return Guarantees(
        machines=group["minSize"],
        joined=kinds.count("efa-only") == 4
        and placement.inputs["strategy"] == "cluster"
        and template["placement"]["groupName"] == placement.outputs["name"],
        zones={
            one.inputs["availabilityZone"] for one in held.all("ec2/subnet") if one.id in group["vpcZoneIdentifiers"]
        },
        encrypted=named(
            {
                "data disk": all(disk["encrypted"] == "true" for name, disk in disks.items() if name != root),
                **{part: bool(aws_part(held, "s3/bucketServerSideEncryptionConfiguration", part)) for part in PARTS},
            }
        ),
        private=named(
            {
                "nodes": not any(rule.inputs.get("cidrIpv4") for rule in held.all("vpc/securityGroupIngressRule"))
                and not any(one.get("associatePublicIpAddress") == "true" for one in template["networkInterfaces"]),
                **{part: closed_on_aws(held, part) for part in PARTS},
            }
        ),
        https_only={
            part
            for part in PARTS
            if denies_http(aws_part(held, "s3/bucketPolicy", part)["policy"], "aws:SecureTransport")
        },
        checkpoint_days=aws_rule(held, "expire-checkpoints")["expiration"]["days"],
        old_versions_end="noncurrentVersionExpiration" in aws_rule(held, "expire-old-versions"),
        torn_uploads_end="abortIncompleteMultipartUpload" in aws_rule(held, "abort-uploads"),
        snapshot_days=schedule["schedules"][0]["retainRule"]["interval"],
        snapshotted=schedule["targetTags"].items() <= volumes.items(),
        regions=regions(held, buckets, files, held.one("autoscaling/group")),
        protected=protected(held, buckets, files),
        watched=any("gpu-idle" in one.urn and one.inputs["alarmActions"] for one in held.all("cloudwatch/metricAlarm"))
        and held.one("sns/topicSubscription").inputs["endpoint"] == "ml@example.com",
    )


def aws_part(held: Held, kind: str, part: str) -> Mapping[str, Any]:
    bucket = held.bucket("s3/bucket", part)
    (found,) = [one for one in held.all(kind) if one.inputs["bucket"] == bucket.id]
    return found.inputs


def aws_rule(held: Held, rule: str) -> Mapping[str, Any]:
    rules = aws_part(held, "s3/bucketLifecycleConfiguration", "checkpoints")["rules"]
    return next(one for one in rules if one["id"] == rule)


def closed_on_aws(held: Held, part: str) -> bool:
    switches = aws_part(held, "s3/bucketPublicAccessBlock", part)
    names = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
    return all(switches[name] is True for name in names)


def of_alicloud(held: Held) -> Guarantees:
    machines, disks = held.all("ecs/instance"), held.all("ecs/ecsDisk")
    deployment = held.one("ecs/ecsDeploymentSet")
    buckets = {part: held.bucket("oss/bucket", part) for part in PARTS}
    files, schedule = held.one("nas/fileSystem"), held.one("ecs/autoSnapshotPolicy")
    rules = {rule["id"]: rule for rule in buckets["checkpoints"].inputs["lifecycleRules"]}
    attached = {one.inputs["diskId"] for one in held.all("ecs/ecsAutoSnapshotPolicyAttachment")}

    def part_of(kind: str, part: str) -> Mapping[str, Any]:
        (found,) = [one for one in held.all(kind) if one.inputs["bucket"] == buckets[part].id]
        return found.inputs

    return Guarantees(
        machines=len(machines),
        joined=deployment.inputs["strategy"] == "LowLatency"
        and all(one.inputs["deploymentSetId"] == deployment.id for one in machines),
        zones={zone_of(held, one) for one in machines},
        encrypted=named(
            {
                "data disk": len(disks) == NODES and all(one.inputs["encrypted"] for one in disks),
                **{part: "sseAlgorithm" in buckets[part].inputs["serverSideEncryptionRule"] for part in PARTS},
            }
        ),
        private=named(
            {
                "nodes": not any(one.inputs.get("internetMaxBandwidthOut") for one in machines)
                and not any(one.inputs.get("cidrIp") for one in ingress_of(held)),
                **{
                    part: part_of("oss/bucketAcl", part)["acl"] == "private"
                    and part_of("oss/bucketPublicAccessBlock", part)["blockPublicAccess"]
                    for part in PARTS
                },
            }
        ),
        https_only={
            part for part in PARTS if denies_http(part_of("oss/bucketPolicy", part)["policy"], "acs:SecureTransport")
        },
        checkpoint_days=rules["expire-checkpoints"]["expirations"][0]["days"],
        old_versions_end=bool(rules["expire-old-versions"]["noncurrentVersionExpirations"]),
        torn_uploads_end=bool(rules["abort-uploads"]["abortMultipartUploads"]),
        snapshot_days=schedule.inputs["retentionDays"],
        snapshotted={disk.id for disk in disks} <= attached,
        regions=regions(held, buckets, files, *machines),
        protected=protected(held, buckets, files),
        watched=any("gpu-idle" in one.urn and one.inputs["contactGroups"] for one in held.all("cms/alarm"))
        and held.one("cms/alarmContact").inputs["channelsMail"] == "ml@example.com",
    )


def zone_of(held: Held, machine: CloudResource) -> str:
    (switch,) = [one for one in held.all("vpc/switch") if one.id == machine.inputs["vswitchId"]]
    return str(switch.inputs["zoneId"])


def ingress_of(held: Held) -> Iterator[CloudResource]:
    return (one for one in held.all("ecs/securityGroupRule") if one.inputs["type"] == "ingress")


def of_tencentcloud(held: Held) -> Guarantees:
    machines, disks = held.all("Instance/instance"), held.all("Cbs/storage")
    cluster = held.one("Cvm/hpcCluster")
    buckets = {part: held.bucket("Cos/bucket", part) for part in PARTS}
    files, schedule = held.one("Cfs/fileSystem"), held.one("Cbs/snapshotPolicy")
    rules = {rule["id"]: rule for rule in buckets["checkpoints"].inputs["lifecycleRules"]}
    attached = {one.inputs["storageId"] for one in held.all("Cbs/snapshotPolicyAttachment")}
    ingress = held.one("Security/groupRuleSet").inputs["ingresses"]
    network = held.one("Vpc/instance").inputs["cidrBlock"]
    policies = {one.inputs["bucket"]: one.inputs["policy"] for one in held.all("Cos/bucketPolicy")}
    return Guarantees(
        machines=len(machines),
        joined=all(one.inputs["hpcClusterId"] == cluster.id for one in machines),
        zones={one.inputs["availabilityZone"] for one in machines} | {cluster.inputs["zone"]},
        encrypted=named(
            {
                "data disk": len(disks) == NODES and all(one.inputs["encrypt"] for one in disks),
                **{part: buckets[part].inputs["encryptionAlgorithm"] == "AES256" for part in PARTS},
            }
        ),
        private=named(
            {
                "nodes": not any(one.inputs["allocatePublicIp"] for one in machines)
                and not any(
                    rule["action"] == "ACCEPT" and rule.get("cidrBlock") not in (None, network) for rule in ingress
                ),
                **{part: buckets[part].inputs["acl"] == "private" for part in PARTS},
            }
        ),
        https_only={part for part in PARTS if denies_http(policies[buckets[part].id], "cos:secure-transport")},
        checkpoint_days=rules["expire-checkpoints"]["expiration"]["days"],
        old_versions_end="nonCurrentExpiration" in rules["expire-old-versions"],
        torn_uploads_end="abortIncompleteMultipartUpload" in rules["abort-uploads"],
        snapshot_days=schedule.inputs["retentionDays"],
        snapshotted={disk.id for disk in disks} == attached,
        regions=regions(held, buckets, files, *machines),
        protected=protected(held, buckets, files),
        watched=any("gpu-idle" in one.urn and one.inputs["noticeIds"] for one in held.all("Monitor/alarmPolicy"))
        and held.one("Cam/user").inputs["email"] == "ml@example.com",
    )


READERS: dict[str, Callable[[Held], Guarantees]] = {
    "aws": of_aws,
    "alicloud": of_alicloud,
    "tencentcloud": of_tencentcloud,
}


def regions(
    held: Held, buckets: Mapping[str, CloudResource], files: CloudResource, *nodes: CloudResource
) -> dict[str, str]:
    (node_region,) = {held.region(one) for one in nodes}
    found = {part: held.region(bucket) for part, bucket in buckets.items()}
    return {**found, "files": held.region(files), "nodes": node_region}


def protected(held: Held, buckets: Mapping[str, CloudResource], files: CloudResource) -> set[str]:
    return named({part: held.protected(one) for part, one in {**buckets, "files": files}.items()})


def denies_http(policy: str, condition: str) -> bool:
    """Whether a policy's one statement denies everything that comes over plain HTTP."""
    document = {key.lower(): value for key, value in json.loads(policy).items()}
    (statement,) = [{key.lower(): value for key, value in one.items()} for one in document["statement"]]
    ((_, test),) = statement["condition"].items()
    return statement["effect"].lower() == "deny" and test[condition] in ("false", ["false"])
