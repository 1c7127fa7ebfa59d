"""Small raw programs of Alibaba Cloud: for each rule some that fail, pass, and cannot be judged yet."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpuyard_policy.facts import Record, Unknown
from tests.policy.resources import record

INSTANCE = "alicloud:ecs/instance:Instance"
MACHINES = "alicloud:ecs/ecsInstanceSet:EcsInstanceSet"
GROUP = "alicloud:ess/scalingGroup:ScalingGroup"
CONFIGURATION = "alicloud:ess/scalingConfiguration:ScalingConfiguration"
HOOK = "alicloud:ess/lifecycleHook:LifecycleHook"
NODE_POOL = "alicloud:cs/nodePool:NodePool"
NETWORK = "alicloud:vpc/network:Network"
SWITCH = "alicloud:vpc/switch:Switch"
PEERING = "alicloud:vpc/peerConnection:PeerConnection"
SECURITY_GROUP = "alicloud:ecs/securityGroup:SecurityGroup"
SECURITY_RULE = "alicloud:ecs/securityGroupRule:SecurityGroupRule"
DEPLOYMENT_SET = "alicloud:ecs/ecsDeploymentSet:EcsDeploymentSet"
DISK = "alicloud:ecs/ecsDisk:EcsDisk"
POLICY = "alicloud:ecs/autoSnapshotPolicy:AutoSnapshotPolicy"
ATTACHMENT = "alicloud:ecs/ecsAutoSnapshotPolicyAttachment:EcsAutoSnapshotPolicyAttachment"
FILE_SYSTEM = "alicloud:nas/fileSystem:FileSystem"
BUCKET = "alicloud:oss/bucket:Bucket"
BUCKET_ACL = "alicloud:oss/bucketAcl:BucketAcl"
BUCKET_POLICY = "alicloud:oss/bucketPolicy:BucketPolicy"
RAM_POLICY = "alicloud:ram/policy:Policy"
ALARM = "alicloud:cms/alarm:Alarm"
DDOS = "alicloud:ddos/ddosBgpInstance:DdosBgpInstance"

LATER = Unknown("it is known only after the update")
EX = "ecs.ebmgn7ex.32xlarge"
A10 = "ecs.gn7i-c8g1.2xlarge"
IMAGE = "aliyun_3_x64_20G_alibase_20250117.vhd"
ZONE, OTHER_ZONE = "cn-beijing-i", "cn-beijing-l"
LARGE: dict[str, Any] = {"gpuyard:model-parameters": "70000000000"}
OWNED: dict[str, Any] = {"gpuyard:cluster": "trial", "gpuyard:environment": "prod"}
SYSTEM_DISK: dict[str, Any] = {
    "systemDiskCategory": "cloud_essd",
    "systemDiskPerformanceLevel": "PL1",
    "systemDiskSize": 200.0,
}
SPOT: dict[str, Any] = {"spotStrategy": "SpotAsPriceGo"}


@dataclass(frozen=True)
class Case:
    """What a rule says of a program: ``fail``, ``pass`` or ``undecided``, with a part of its message."""

    rule: str
    verdict: str
    program: Sequence[Record]
    message: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


def made(kind: str, name: str, props: Mapping[str, Any], region: Any = "cn-beijing", **sources: Record) -> Record:
    """A resource; ``sources`` names the resource that a property's value comes from."""
    depends_on = {key: [source.urn] for key, source in sources.items()}
    return replace(record(kind, name, props, depends_on), provider={"region": region})


def node(*, tags: Any = None, task: Any = "lora", region: str = "cn-beijing", **props: Any) -> Record:
    """A machine that is fit for training, with changes."""
    given = {**OWNED, "gpuyard:task": task, **(tags or {})}
    fit = {
        "instanceType": EX,
        "imageId": IMAGE,
        "availabilityZone": ZONE if region == "cn-beijing" else None,
        "securityGroups": ["sg-2zeelsewhere"],
        "internetMaxBandwidthOut": 0.0,
        "httpTokens": "required",
        "systemDiskEncrypted": True,
        **SYSTEM_DISK,
    }
    return made(INSTANCE, "node", {**fit, "tags": given, **props}, region)


def switch(zone: Any = ZONE, name: str = "nodes") -> Record:
    return made(SWITCH, name, {"vpcId": LATER, "cidrBlock": "10.0.0.0/20", "zoneId": zone, "tags": OWNED})


def trainers(*, group: Mapping[str, Any] | None = None, mode: Any = "HighPerformance", **props: Any) -> list[Record]:
    """A scaling group of four nodes on one large job."""
    place = switch()
    sizes = {"minSize": 4.0, "maxSize": 4.0, "vswitchIds": [LATER], "tags": OWNED}
    scaled = made(GROUP, "trainers", {**sizes, **(group or {})}, vswitchIds=place)
    interface = {"instanceType": "Primary", "networkInterfaceTrafficMode": mode, "securityGroupIds": ["sg-2ze1"]}
    described = {
        "scalingGroupId": LATER,
        "active": True,
        "instanceTypes": [EX],
        "imageId": IMAGE,
        "networkInterfaces": [interface],
        "systemDiskEncrypted": True,
        "tags": {"gpuyard:task": "pretrain", **LARGE},
        **SYSTEM_DISK,
    }
    return [place, scaled, made(CONFIGURATION, "trainers", {**described, **props}, scalingGroupId=scaled)]


def machines(**props: Any) -> Record:
    """A set of four machines on one large job."""
    tags = {**OWNED, "gpuyard:task": "pretrain", **LARGE}
    fit = {"amount": 4.0, "instanceType": EX, "imageId": IMAGE, "zoneId": ZONE, "securityGroupIds": ["sg-2ze1"]}
    return made(MACHINES, "set", {**fit, "tags": tags, **props})


def placed(strategy: Any, kind: str = MACHINES, **props: Any) -> list[Record]:
    """Machines in a deployment set."""
    near = made(DEPLOYMENT_SET, "near", {"strategy": strategy})
    plain = node(deploymentSetId=LATER, **props) if kind == INSTANCE else machines(deploymentSetId=LATER, **props)
    return [near, replace(plain, depends_on={"deploymentSetId": [near.urn]})]


def in_group(**props: Any) -> list[Record]:
    """Nodes with RDMA in a security group."""
    joined = made(SECURITY_GROUP, "joined", {"id": "sg-2ze1", "vpcId": LATER, "tags": OWNED, **props})
    return [joined, *trainers()]


def across(zone: Any) -> list[Record]:
    """Nodes in two vSwitches."""
    first, scaled, described = trainers()
    second = switch(zone, "more")
    return [first, second, replace(scaled, depends_on={"vswitchIds": [first.urn, second.urn]}), described]


def files(**props: Any) -> Record:
    """A parallel file system of 1406 MB/s."""
    cpfs = {
        "fileSystemType": "cpfs",
        "protocolType": "cpfs",
        "storageType": "advance_200",
        "capacity": 7200.0,
        "zoneId": ZONE,
        "vpcId": LATER,
        "vswitchId": LATER,
        "tags": OWNED,
    }
    return made(FILE_SYSTEM, "files", {**cpfs, **props})


def nas(**props: Any) -> Record:
    share = {"fileSystemType": "standard", "protocolType": "NFS", "storageType": "Performance", "zoneId": ZONE}
    return made(FILE_SYSTEM, "share", {**share, "tags": OWNED, **props})


def disk(**props: Any) -> Record:
    fit = {"category": "cloud_essd", "performanceLevel": "PL1", "size": 500.0, "encrypted": True, "zoneId": ZONE}
    return made(DISK, "data", {**fit, "tags": OWNED, **props})


def with_data(**props: Any) -> list[Record]:
    return [node(dataDisks=[{"category": "cloud_essd", "performanceLevel": "PL1", "encrypted": True, **props}])]


def policy(**props: Any) -> Record:
    """Daily snapshots, kept for two weeks, with encrypted copies in another region for a month."""
    daily = {
        "repeatWeekdays": ["1", "2", "3", "4", "5", "6", "7"],
        "timePoints": ["3"],
        "retentionDays": 14.0,
        "enableCrossRegionCopy": True,
        "targetCopyRegions": ["cn-shanghai"],
        "copiedSnapshotsRetentionDays": 30.0,
        "copyEncryptionConfiguration": {"encrypted": True},
        "tags": OWNED,
    }
    return made(POLICY, "daily", {**daily, **props})


def attached(**props: Any) -> list[Record]:
    """A disk with snapshots; ``props`` are those of the policy."""
    data, daily = disk(), policy(**props)
    ids = {"autoSnapshotPolicyId": LATER, "diskId": LATER}
    return [data, daily, made(ATTACHMENT, "data", ids, autoSnapshotPolicyId=daily, diskId=data)]


def attached_later() -> list[Record]:
    """A policy on disks that a look-up finds: no resource of the stack is behind the id."""
    data, daily = disk(), policy()
    ids = {"autoSnapshotPolicyId": LATER, "diskId": LATER}
    return [data, daily, made(ATTACHMENT, "data", ids, autoSnapshotPolicyId=daily)]


def bucket(region: Any = "cn-beijing", **props: Any) -> Record:
    return made(BUCKET, "weights", {"bucket": "trial-weights", "tags": OWNED, **props}, region)


def beside_bucket(kind: str, **props: Any) -> list[Record]:
    weights = bucket()
    return [weights, made(kind, "weights", {"bucket": LATER, **props}, bucket=weights)]


def kept_safe(protect: bool | None) -> list[Record]:
    return [replace(bucket(), protect=protect)]


def hooked(transition: Any) -> list[Record]:
    programs = trainers(**SPOT)
    hook = {"scalingGroupId": LATER, "lifecycleTransition": transition, "heartbeatTimeout": 300.0}
    return [*programs, made(HOOK, "leave", hook, scalingGroupId=programs[1])]


def kubernetes(**props: Any) -> Record:
    fit = {"clusterId": "c1234", "instanceTypes": [A10], "desiredSize": "2", "vswitchIds": ["vsw-1"], "imageId": IMAGE}
    return made(NODE_POOL, "gpus", {**fit, "systemDiskEncrypted": True, **SYSTEM_DISK, **props})


def alarm(metric: Any) -> Record:
    above = {"comparisonOperator": "<=", "statistics": "Average", "threshold": "5", "times": 3.0}
    props = {"project": "acs_ecs_dashboard", "metric": metric, "contactGroups": ["oncall"], "escalationsWarn": above}
    return made(ALARM, "idle", {**props, "period": 300.0, "tags": OWNED})


def lets_in(**props: Any) -> Record:
    ssh = {"type": "ingress", "ipProtocol": "tcp", "portRange": "22/22", "securityGroupId": "sg-2ze1"}
    return made(SECURITY_RULE, "ssh", {**ssh, "nicType": "intranet", **props})


def rights(document: Any) -> Record:
    return made(RAM_POLICY, "rights", {"policyName": "nodes", "policyDocument": document})


def allows(action: str) -> str:
    statement = {"Effect": "Allow", "Action": [action], "Resource": ["acs:oss:*:*:trial-weights/*"]}
    return json.dumps({"Version": "1", "Statement": [statement]})


def script(text: str) -> str:
    return base64.b64encode(f"#!/bin/bash\n{text}\n".encode()).decode()


TLS_ONLY = json.dumps(
    {
        "Version": "1",
        "Statement": [
            {
                "Effect": "Deny",
                "Action": ["oss:*"],
                "Principal": ["*"],
                "Resource": ["acs:oss:*:*:trial-weights", "acs:oss:*:*:trial-weights/*"],
                "Condition": {"Bool": {"acs:SecureTransport": ["false"]}},
            }
        ],
    }
)
KEEPS_TWO_WEEKS: dict[str, Any] = {"enabled": True, "noncurrentVersionExpirations": [{"days": 14.0}]}
BARGAIN: dict[str, Any] = {
    "instanceType": "ecs.gn8is-4x.16xlarge",
    "spotStrategy": "SpotWithPriceLimit",
    "region": "us-east-1",
}
GPUS_OF_24_GB: dict[str, Any] = {"rules": {"FAB005": {"thresholds": {"memory_gb": 24}}}}
DEV: dict[str, Any] = {"profile": "dev"}


def _of_fabric() -> list[Case]:
    large: dict[str, Any] = {"tags": LARGE}
    size_later: dict[str, Any] = {"tags": {"gpuyard:model-parameters": LATER}}
    return [
        Case("FAB001", "fail", [node(instanceType="ecs.gn7i-4x.16xlarge")], "4 × A10 are joined by"),
        Case("FAB001", "pass", [node()]),
        Case("FAB001", "undecided", [node(instanceType=LATER)], "what machines"),
        Case("FAB002", "fail", [node(instanceType="ecs.ebmgn6e.24xlarge", **large)], "300 GB/s over NVLink"),
        Case("FAB002", "pass", [node(**large)]),
        Case("FAB002", "undecided", [node(instanceType="ecs.ebmgn6e.24xlarge", **size_later)], "how large the model"),
        Case("FAB003", "fail", [node(instanceType="ecs.ebmgn8is.32xlarge", **large)], "864 GB/s"),
        Case("FAB003", "pass", [node(**large)]),
        Case("FAB003", "undecided", [node(instanceType="ecs.ebmgn8is.32xlarge", **size_later)], "how large the model"),
        Case("FAB004", "fail", [node(instanceType="ecs.gn6v-c8g1.16xlarge", **large)], "has 16 GB"),
        Case("FAB004", "pass", [node(**large)]),
        Case("FAB004", "undecided", [node(instanceType="ecs.gn6v-c8g1.16xlarge", **size_later)], "how large the model"),
        Case("FAB005", "fail", [node(instanceType="ecs.gn6i-c8g1.2xlarge", task="inference")], "16 GB", GPUS_OF_24_GB),
        Case("FAB005", "pass", [node(instanceType="ecs.gn6i-c8g1.2xlarge", task="inference")]),
        Case("FAB005", "undecided", [node(task=LATER)], "is for"),
        Case("FAB006", "pass", trainers()),
        Case("FAB006", "undecided", trainers(instanceTypes=[LATER]), "what machines"),
        Case("FAB007", "fail", trainers(mode="Standard"), "whose RDMA (erdma) is not switched on"),
        Case("FAB007", "pass", trainers()),
        Case("FAB007", "undecided", trainers(mode=LATER), "whether RDMA is switched on"),
        Case("FAB008", "fail", [machines(instanceType="ecs.sccgn6.24xlarge", hpcClusterId="hpc-1")], "50 Gbps"),
        Case("FAB008", "pass", [machines()]),
        Case("FAB008", "undecided", [machines(instanceType=LATER)], "what machines"),
        Case("FAB009", "fail", across(OTHER_ZONE), f"over 2 zones ({ZONE}, {OTHER_ZONE})"),
        Case("FAB009", "pass", across(ZONE)),
        Case("FAB009", "undecided", across(LATER), "in which zones"),
        Case("FAB010", "fail", [machines()], "says nothing of where its nodes lie"),
        Case("FAB010", "pass", placed("LowLatency")),
        Case("FAB010", "undecided", placed(LATER), "how near the nodes"),
        Case("FAB011", "fail", in_group(securityGroupType="enterprise"), "lacks an ingress self rule and an egress"),
        Case("FAB011", "pass", in_group(securityGroupType="normal")),
        Case("FAB011", "undecided", in_group(securityGroupType=LATER), "reach each other"),
        Case("FAB012", "undecided", placed("LowLatency", INSTANCE, spotStrategy=LATER), "is bought"),
        Case("FAB013", "pass", [node()]),
        Case("FAB013", "undecided", [node(instanceType="ecs.gn99.32xlarge")], "the catalog does not know"),
    ]


def _of_storage() -> list[Case]:
    tight: dict[str, Any] = {"category": "cloud_essd", "performanceLevel": "PL0", "size": 100.0}
    return [
        Case("STO001", "fail", [node(), bucket("cn-shanghai")], "is in cn-shanghai, but the nodes that use it are in"),
        Case("STO001", "pass", [node(), bucket()]),
        Case("STO001", "undecided", [node(), bucket(LATER)], "where bucket 'weights' is"),
        Case("STO002", "fail", [node(), files(zoneId=OTHER_ZONE)], f"is in {OTHER_ZONE}"),
        Case("STO002", "pass", [node(), files()]),
        Case("STO002", "undecided", [node(), files(zoneId=LATER)], "in which zone"),
        Case("STO003", "fail", trainers(), "is one job on several nodes"),
        Case("STO003", "pass", [*trainers(), files()]),
        Case("STO003", "undecided", [*trainers(), files(fileSystemType=LATER)], "is a parallel one"),
        Case("STO004", "fail", [node(), files(storageType="advance_100", capacity=3600.0)], "gives 351.562 MB/s"),
        Case("STO004", "pass", [node(), files()]),
        Case("STO004", "undecided", [node(), files(capacity=LATER)], "how fast file system"),
        Case(
            "STO005", "fail", [node(systemDiskCategory="cloud_efficiency", systemDiskPerformanceLevel=None)], "refuses"
        ),
        Case("STO005", "pass", [node()]),
        Case("STO005", "undecided", [node(systemDiskCategory=LATER)], "of what class"),
        Case("STO006", "fail", [disk(performanceLevel="PL2", size=100.0)], "begins at 461 GiB"),
        Case("STO006", "pass", [disk(performanceLevel="PL2")]),
        Case("STO006", "undecided", [disk(size=LATER)], "how large disk"),
        Case("STO007", "fail", with_data(**tight), "gives 125 MB/s"),
        Case("STO007", "pass", with_data(size=500.0)),
        Case("STO007", "undecided", with_data(size=LATER), "how large disk"),
        Case("STO008", "fail", [disk(encrypted=False)], "is not encrypted"),
        Case("STO008", "pass", [disk()]),
        Case("STO008", "undecided", [disk(encrypted=LATER)], "is encrypted"),
        Case("STO009", "fail", [nas()], "is not encrypted at rest"),
        Case("STO009", "pass", [nas(encryptType=1.0)]),
        Case("STO009", "undecided", [nas(encryptType=LATER)], "is encrypted"),
        Case("STO010", "pass", [node(), files()]),
    ]


def _of_snapshots() -> list[Case]:
    return [
        Case("SNP001", "fail", [disk()], "no schedule makes snapshots of it"),
        Case("SNP001", "pass", attached()),
        Case("SNP001", "undecided", attached_later(), "what schedule 'daily' selects"),
        Case("SNP002", "fail", [disk(), policy()], "is attached to nothing"),
        Case("SNP002", "pass", attached()),
        Case("SNP002", "undecided", attached_later(), "what schedule 'daily' selects"),
        Case("SNP003", "fail", attached(retentionDays=-1.0), "never end"),
        Case("SNP003", "pass", attached()),
        Case("SNP003", "undecided", attached(retentionDays=LATER), "how long schedule"),
        Case("SNP004", "fail", attached(retentionDays=3650.0), "for 3650 days"),
        Case("SNP004", "pass", attached()),
        Case("SNP004", "undecided", attached(retentionDays=LATER), "how long schedule"),
        Case("SNP005", "fail", attached(enableCrossRegionCopy=False), "exist in one region only"),
        Case("SNP005", "pass", attached()),
        Case("SNP005", "undecided", attached(enableCrossRegionCopy=LATER), "copies snapshots"),
        Case("SNP006", "fail", attached(targetCopyRegions=["cn-beijing"]), "to cn-beijing, where they are"),
        Case("SNP006", "pass", attached()),
        Case("SNP006", "undecided", attached(targetCopyRegions=[LATER]), "copies to"),
        Case("SNP007", "fail", attached(copiedSnapshotsRetentionDays=-1.0), "never end"),
        Case("SNP007", "pass", attached()),
        Case("SNP007", "undecided", attached(copiedSnapshotsRetentionDays=LATER), "how long copies"),
        Case("SNP008", "fail", attached(copyEncryptionConfiguration={"encrypted": False}), "are not encrypted"),
        Case("SNP008", "pass", attached()),
        Case("SNP008", "undecided", attached(copyEncryptionConfiguration={"encrypted": LATER}), "are encrypted"),
    ]


def _of_spot() -> list[Case]:
    pair: dict[str, Any] = {"instanceTypes": [A10, "ecs.gn7i-c16g1.4xlarge"]}
    return [
        Case("SPT001", "fail", [node(**SPOT)], "nothing beside it outlives a machine"),
        Case("SPT001", "pass", [node(**SPOT), bucket()]),
        Case("SPT001", "undecided", [node(**SPOT, userData=LATER)], "writes checkpoints"),
        Case("SPT002", "fail", trainers(**SPOT), "pre-trains on up to 4 spot nodes"),
        Case("SPT002", "pass", [node(**SPOT)]),
        Case("SPT002", "undecided", trainers(spotStrategy=LATER), "is bought"),
        Case("SPT003", "fail", trainers(**SPOT), f"may be of {EX} only"),
        Case("SPT003", "pass", trainers(**SPOT, **pair)),
        Case("SPT003", "undecided", trainers(**SPOT, instanceTypes=LATER), "what machines"),
        Case("SPT004", "fail", hooked("SCALE_OUT"), "nothing is told"),
        Case("SPT004", "pass", hooked("SCALE_IN")),
        Case("SPT004", "undecided", hooked(LATER), "handles interruptions"),
        Case("SPT005", "fail", placed("LowLatency", INSTANCE, **SPOT), "wants its machines together"),
        Case("SPT005", "pass", placed("Availability", INSTANCE, **SPOT)),
        Case("SPT005", "undecided", placed(LATER, INSTANCE, **SPOT), "has a placement group"),
        Case("SPT006", "fail", [node(**BARGAIN, spotPriceLimit=0.5)], "pays at most 0.5 an hour, less than 1.98 USD"),
        Case("SPT006", "pass", [node(**BARGAIN, spotPriceLimit=5.0)]),
        Case("SPT006", "undecided", [node(**BARGAIN, spotPriceLimit=LATER)], "pays at most"),
    ]


def _of_cost() -> list[Case]:
    small, ample = ({"monthly_budget": money, "budget_currency": "CNY"} for money in (1000, 10_000_000))
    all_year: dict[str, Any] = {"instanceType": "ecs.gn7e-c16g1.4xlarge", "region": "cn-shanghai"}
    ddos = {"bandwidth": -1.0, "ipCount": 100.0, "ipType": "IPv4", "normalBandwidth": 100.0, "type": "Enterprise"}

    def peering(region: Any) -> list[Record]:
        ends = {"vpcId": LATER, "acceptingVpcId": "vpc-uf6far", "acceptingRegionId": region}
        return [made(PEERING, "far", ends)]

    return [
        Case("CST001", "fail", [node()], "over the budget of 1,000", small),
        Case("CST001", "pass", [node()], "within the budget", ample),
        Case("CST001", "undecided", [node(instanceType=LATER)], "cannot tell what 1 pool(s) cost", ample),
        Case("CST002", "fail", [node(**all_year)], "with a term each costs 34 % less"),
        Case("CST002", "pass", trainers(group={"minSize": 0.0})),
        Case("CST002", "undecided", [node(**all_year, spotStrategy=LATER)], "is bought"),
        Case("CST003", "fail", trainers(group={"minSize": 1.0}), "always has 1 node(s)", DEV),
        Case("CST003", "pass", trainers(group={"minSize": 0.0}), "", DEV),
        Case("CST003", "undecided", trainers(group={"minSize": LATER}), "how many nodes", DEV),
        Case("CST004", "fail", [bucket()], "ever ends"),
        Case("CST004", "pass", [bucket(lifecycleRules=[KEEPS_TWO_WEEKS])]),
        Case("CST004", "undecided", [bucket(lifecycleRules=[{**KEEPS_TWO_WEEKS, "enabled": LATER}])], "ever ends"),
        Case("CST005", "fail", [made(DDOS, "shield", ddos)], "is an advanced DDoS product"),
        Case("CST006", "fail", peering("cn-shanghai"), "carries traffic to cn-shanghai"),
        Case("CST006", "undecided", peering(LATER), "leads to"),
    ]


def _of_access() -> list[Case]:
    secret = script(f"export ALIBABA_CLOUD_ACCESS_KEY_ID=LTAI{'5' * 20}")
    return [
        Case("ACC001", "fail", [lets_in(cidrIp="0.0.0.0/0")], "port 22 in from the internet (0.0.0.0/0): 22 (SSH)"),
        Case("ACC001", "pass", [lets_in(cidrIp="10.0.0.0/8")]),
        Case("ACC001", "undecided", [lets_in(cidrIp=LATER)], "from where"),
        Case("ACC002", "fail", [node(internetMaxBandwidthOut=5.0)], "an address of the internet"),
        Case("ACC002", "pass", [node()]),
        Case("ACC002", "undecided", [node(internetMaxBandwidthOut=LATER)], "get a public address"),
        Case("ACC003", "fail", beside_bucket(BUCKET_ACL, acl="public-read"), "by everybody"),
        Case("ACC003", "pass", beside_bucket(BUCKET_ACL, acl="private")),
        Case("ACC003", "undecided", beside_bucket(BUCKET_ACL, acl=LATER), "is public"),
        Case("ACC004", "fail", [node(httpTokens="optional")], "answers without a token"),
        Case("ACC004", "pass", [node()]),
        Case("ACC004", "undecided", [node(httpTokens=LATER)], "asks for a token"),
        Case("ACC005", "fail", [rights(allows("oss:*"))], "gives oss:*"),
        Case("ACC005", "pass", [rights(allows("oss:GetObject"))]),
        Case("ACC005", "undecided", [rights(LATER)], "which rights"),
        Case("ACC006", "fail", [node(userData=secret)], "an Alibaba Cloud access key"),
        Case("ACC006", "pass", [node(userData=script("systemctl start trainer"))]),
        Case("ACC006", "undecided", [node(userData=LATER)], "run when they start"),
        Case("ACC007", "fail", [bucket()], "answers plain HTTP"),
        Case("ACC007", "pass", beside_bucket(BUCKET_POLICY, policy=TLS_ONLY)),
        Case("ACC007", "undecided", beside_bucket(BUCKET_POLICY, policy=LATER), "refuses plain HTTP"),
    ]


def _of_operations() -> list[Case]:
    hopper: dict[str, Any] = {"instanceType": "ecs.gn8v-8x.48xlarge"}
    taint = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}
    return [
        Case("OPS001", "fail", [node(), alarm("cpu_total")], "nothing in this stack looks at the utilization"),
        Case("OPS001", "pass", [node(), alarm("instance_gpu_gpu_usedutilization")]),
        Case("OPS001", "undecided", [node(), alarm(LATER)], "looks at"),
        Case("OPS002", "fail", [bucket(tags=None)], "lacks the tag(s) gpuyard:cluster, gpuyard:environment"),
        Case("OPS002", "pass", [bucket()]),
        Case("OPS002", "undecided", [bucket(tags=LATER)], "what tags"),
        Case("OPS003", "fail", kept_safe(False), "is not protected"),
        Case("OPS003", "pass", kept_safe(True)),
        Case("OPS003", "undecided", kept_safe(None), "the source does not say"),
        Case("OPS004", "fail", [node(imageId="^aliyun_3_x64_20G_alibase_")], "which changes by itself"),
        Case("OPS004", "pass", [node()]),
        Case("OPS004", "undecided", [node(imageId=LATER)], "stays the same"),
        Case("OPS005", "fail", [node(**hopper, userData=script("pip install torch==2.0.1"))], "does not work on"),
        Case("OPS005", "pass", [node(**hopper, userData=script("pip install torch==2.6.0"))]),
        Case("OPS005", "undecided", [node(**hopper, userData=LATER)], "install"),
        Case("OPS006", "fail", [kubernetes()], "has GPUs and no taint"),
        Case("OPS006", "pass", [kubernetes(taints=[taint])]),
        Case("OPS006", "undecided", [kubernetes(taints=LATER)], "which taints"),
    ]


CASES = [
    *_of_fabric(),
    *_of_storage(),
    *_of_snapshots(),
    *_of_spot(),
    *_of_cost(),
    *_of_access(),
    *_of_operations(),
]
_NO_BLOCKS = "no way to buy a machine there is a capacity block"
_LASTING = "no file system there loses its data with a server: NAS and CPFS keep copies"
# Why no program of Alibaba Cloud can make a rule say so. What can be suppressed is a finding that fails or is open.
NOT_HERE = {
    ("FAB006", "fail"): "the catalog knows of no type there that it has no RDMA, only of some that they have",
    ("FAB012", "fail"): _NO_BLOCKS,
    ("FAB012", "pass"): _NO_BLOCKS,
    ("FAB013", "fail"): "a type that nobody knows is never called wrong",
    ("STO010", "fail"): _LASTING,
    ("STO010", "undecided"): _LASTING,
    ("STO010", "suppressed"): _LASTING,
    ("CST005", "pass"): "it speaks of the product where there is one",
    ("CST005", "undecided"): "that a product is there is known from its type",
    ("CST006", "pass"): "it speaks of the connection where there is one",
}
