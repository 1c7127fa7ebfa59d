"""Small programs of raw Tencent Cloud resources, as a first preview has them: for each rule and each verdict."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpuyard_policy.facts import Record, Unknown
from tests.policy.resources import record

REGION = "ap-guangzhou"
ZONE, OTHER_ZONE = "ap-guangzhou-6", "ap-guangzhou-7"
LATER = Unknown("it is known only after the update")
A100, V100, T4, A10 = "GT4.41XLARGE948", "GN10X.18XLARGE320", "GN7.20XLARGE320", "PNV4.56XLARGE932"
HCC = "HCCPNV4h.48XLARGE1024"
_OF_COPIES = ("SNP005", "SNP006", "SNP007", "SNP008")
LARGE, MIDDLE = "70000000000", "13000000000"


@dataclass(frozen=True)
class Program:
    """Resources, a part of the message that the rule must give, and what was set."""

    records: Sequence[Record]
    says: str
    settings: Mapping[str, Any] = field(default_factory=dict)


def of(kind: str, name: str, props: Mapping[str, Any], depends_on: Any = None, region: Any = REGION) -> Record:
    return record(f"tencentcloud:{kind}", name, {**props}, depends_on, region)


def base64_of(script: str) -> str:
    return base64.b64encode(script.encode()).decode()


def tags_of(task: Any, size: Any = LARGE) -> dict[str, Any]:
    return {
        "gpuyard:task": task,
        "gpuyard:model-parameters": size,
        "gpuyard:cluster": "lab",
        "gpuyard:environment": "prod",
    }


# --- machines


def machine(task: Any = "lora", size: Any = LARGE, **props: Any) -> Record:
    """One machine that is fit for training, with changes."""
    good = {
        "instanceName": "node",
        "availabilityZone": ZONE,
        "instanceType": A100,
        "imageId": "img-487zeit5",
        "vpcId": "vpc-1a2b3c4d",
        "subnetId": "subnet-1a2b3c4d",
        "orderlySecurityGroups": ["sg-1a2b3c4d"],
        "systemDiskType": "CLOUD_HSSD",
        "systemDiskSize": 100.0,
        "tags": tags_of(task, size),
    }
    return of("Instance/instance:Instance", "node", {**good, **props})


def workers(task: Any = "pretrain", size: Any = LARGE, **config: Any) -> Record:
    """Four machines that join a cluster of Kubernetes: the only pool that an RDMA cluster takes."""
    good = {
        "instanceType": HCC,
        "availabilityZone": ZONE,
        "subnetId": "subnet-1a2b3c4d",
        "count": 4.0,
        "hpcClusterId": LATER,
        "imgId": "img-487zeit5",
        "securityGroupIds": ["sg-1a2b3c4d"],
        "systemDiskType": "CLOUD_HSSD",
        "systemDiskSize": 100.0,
        "tags": [{"key": key, "value": value} for key, value in tags_of(task, size).items()],
    }
    props = {"clusterId": "cls-1a2b3c4d", "workerConfig": {**good, **config}}
    return of("Kubernetes/scaleWorker:ScaleWorker", "workers", props)


def scaled(task: Any = "lora", low: Any = 0.0, high: Any = 4.0, subnets: Any = None, **config: Any) -> list[Record]:
    """A scaling group with its configuration, joined by where the value comes from."""
    good = {
        "configurationName": "nodes",
        "instanceTypes": [A100],
        "imageId": "img-487zeit5",
        "securityGroupIds": ["sg-1a2b3c4d"],
        "systemDiskType": "CLOUD_PREMIUM",
        "systemDiskSize": 100.0,
        "instanceTags": tags_of(task),
    }
    configuration = of("As/scalingConfig:ScalingConfig", "nodes", {**good, **config})
    given = {
        "scalingGroupName": "nodes",
        "configurationId": LATER,
        "minSize": low,
        "maxSize": high,
        "vpcId": "vpc-1a2b3c4d",
        "subnetIds": [LATER] * len(subnets or ()) or [LATER],
    }
    depends_on = {"configurationId": [configuration.urn], "subnetIds": [one.urn for one in subnets or ()]}
    return [*(subnets or ()), configuration, of("As/scalingGroup:ScalingGroup", "nodes", given, depends_on)]


def spot(task: Any = "lora", **more: Any) -> list[Record]:
    return scaled(task, **{"instanceChargeType": "SPOTPAID", "spotInstanceType": "one-time", **more})


def hook(group: Record, transition: Any = "INSTANCE_TERMINATING") -> Record:
    props = {"lifecycleHookName": "end", "lifecycleTransition": transition, "scalingGroupId": LATER}
    return of("As/lifecycleHook:LifecycleHook", "end", props, {"scalingGroupId": [group.urn]})


def native(**props: Any) -> Record:
    """A native pool of Kubernetes with GPUs."""
    inside = {
        "instanceTypes": ["PNV4.7XLARGE116"],
        "instanceChargeType": "POSTPAID_BY_HOUR",
        "subnetIds": ["subnet-1a2b3c4d"],
        "securityGroupIds": ["sg-1a2b3c4d"],
        "systemDisk": {"diskType": "CLOUD_SSD", "diskSize": 100.0},
        "replicas": 2.0,
    }
    good = {"clusterId": "cls-1a2b3c4d", "type": "Native", "native": inside}
    return of("Kubernetes/nativeNodePool:NativeNodePool", "gpus", {**good, **props})


def subnet(zone: str) -> Record:
    props = {"availabilityZone": zone, "cidrBlock": "10.0.1.0/24", "vpcId": "vpc-1a2b3c4d"}
    return of("Subnet/instance:Instance", f"in-{zone}", props)


# --- storage and snapshots


def turbo(**props: Any) -> Record:
    """The smallest file system of CFS Turbo, standard."""
    good = {
        "accessGroupId": "pgroupbasic",
        "availabilityZone": ZONE,
        "protocol": "TURBO",
        "storageType": "TB",
        "capacity": 40960.0,
        "netInterface": "CCN",
        "ccnId": "ccn-1a2b3c4d",
        "cidrBlock": "11.0.0.0/24",
    }
    return of("Cfs/fileSystem:FileSystem", "turbo", {**good, **props})


def bucket(*, region: Any = REGION, **props: Any) -> Record:
    return of("Cos/bucket:Bucket", "data", {"bucket": "data-1250000000", **props}, region=region)


def bucket_policy(of_bucket: Record, policy: Any) -> Record:
    return of("Cos/bucketPolicy:BucketPolicy", "tls", {"bucket": LATER, "policy": policy}, {"bucket": [of_bucket.urn]})


def disk(**props: Any) -> Record:
    good = {
        "availabilityZone": ZONE,
        "storageName": "data",
        "storageType": "CLOUD_HSSD",
        "storageSize": 500.0,
        "encrypt": True,
    }
    return of("Cbs/storage:Storage", "data", {**good, **props})


def schedule(**props: Any) -> Record:
    good = {"snapshotPolicyName": "daily", "repeatWeekdays": [1.0, 3.0, 5.0], "repeatHours": [2.0]}
    return of("Cbs/snapshotPolicy:SnapshotPolicy", "daily", {**good, **props})


def attached(*disks: Record, to: Record) -> Record:
    """What attaches disks to a schedule; disks of nobody knows where when none is given."""
    key = "storageId" if disks else "storageIds"
    depends_on = {"snapshotPolicyId": [to.urn], key: [one.urn for one in disks]}
    props = {"snapshotPolicyId": LATER, key: LATER}
    return of("Cbs/snapshotPolicyAttachment:SnapshotPolicyAttachment", "attached", props, depends_on)


def file_schedule(**props: Any) -> Record:
    good = {"policyName": "daily", "hour": "2", "dayOfWeek": "1,3,5"}
    return of("Cfs/autoSnapshotPolicy:AutoSnapshotPolicy", "daily", {**good, **props})


# --- the rest


def ingress(cidr: Any, port: Any = "22") -> Record:
    rule = {"action": "ACCEPT", "cidrBlock": cidr, "protocol": "TCP", "port": port}
    props = {"securityGroupId": "sg-1a2b3c4d", "ingresses": [rule]}
    return of("Security/groupRuleSet:GroupRuleSet", "rules", props)


def rights(document: Any) -> Record:
    return of("Cam/policy:Policy", "rights", {"name": "rights", "document": document})


def document(**statement: Any) -> str:
    return json.dumps({"version": "2.0", "statement": [{"effect": "allow", "resource": ["*"], **statement}]})


def alarm(metric: Any) -> Record:
    rule = {"metricName": metric, "period": 60.0, "operator": "lt", "value": "30", "continuePeriod": 5.0}
    props = {
        "policyName": "idle",
        "namespace": "cvm_device",
        "monitorType": "MT_QCE",
        "conditions": {"isUnionRule": 0.0, "rules": [rule]},
    }
    return of("Monitor/alarmPolicy:AlarmPolicy", "idle", props)


def budget(**props: Any) -> Record:
    good = {
        "budgetName": "month",
        "billType": "BILL",
        "feeType": "REAL_COST",
        "cycleType": "MONTH",
        "planType": "FIX",
        "budgetQuota": "500000",
        "periodBegin": "2026-12",
        "periodEnd": "2027-12",
        "warnJsons": [{"warnType": "ACTUAL", "calType": "PERCENTAGE", "thresholdValue": "80"}],
    }
    return of("Billing/budget:Budget", "month", {**good, **props})


def peering(region: Any) -> Record:
    props = {
        "peeringConnectionName": "far",
        "sourceVpcId": "vpc-1a2b3c4d",
        "destinationVpcId": "vpc-5e6f7a8b",
        "destinationUin": "100000000001",
        "destinationRegion": region,
    }
    return of("Vpc/peerConnectManager:PeerConnectManager", "far", props)


def kept(*, protect: bool | None) -> Record:
    return replace(bucket(), protect=protect)


SECRET = base64_of(f"export TENCENTCLOUD_SECRET_ID=AKID{'A' * 32}\n")
NO_SECRET = base64_of("#!/bin/bash\nsystemctl start training\n")
TLS_ONLY = json.dumps(
    {
        "version": "2.0",
        "statement": [
            {
                "principal": {"qcs": ["qcs::cam::anyone:anyone"]},
                "effect": "deny",
                "action": ["*"],
                "resource": [f"qcs::cos:{REGION}:uid/1250000000:data-1250000000/*"],
                "condition": {"bool_equal": {"cos:secure-transport": "false"}},
            }
        ],
    }
)
ENDS = [{"filterPrefix": "", "nonCurrentExpiration": {"nonCurrentDays": 30.0}}]
FAST_RDMA = {"rules": {"FAB008": {"thresholds": {"rdma_gbps": 400}}}}
PLAIN = of("Security/group:Group", "plain", {"name": "plain", "description": "no tags"})


def _fabric() -> dict[tuple[str, str], Program]:
    what = "cannot tell yet what machines"
    return {
        ("FAB001", "fail"): Program([machine(instanceType=T4)], "joined by pcie only"),
        ("FAB001", "pass"): Program([machine()], "joined by NVLink"),
        ("FAB001", "undecided"): Program([machine(instanceType=LATER)], what),
        ("FAB002", "fail"): Program([workers(instanceType=V100)], "moves 300 GB/s over NVLink"),
        ("FAB002", "pass"): Program([workers()], "is fast enough"),
        ("FAB002", "undecided"): Program([workers(size=LATER, instanceType=V100)], "how large the model"),
        ("FAB003", "fail"): Program([machine(instanceType=A10)], "the memory of A10"),
        ("FAB003", "pass"): Program([machine()], "is fast enough"),
        ("FAB003", "undecided"): Program([machine(instanceType=LATER)], what),
        ("FAB004", "fail"): Program([machine(size=MIDDLE, instanceType=T4)], "has 16 GB"),
        ("FAB004", "pass"): Program([machine(size=MIDDLE)], "enough memory"),
        ("FAB004", "undecided"): Program([machine(size=LATER, instanceType=T4)], "how large the model"),
        ("FAB005", "fail"): Program([machine("inference", instanceType="GN7.2XLARGE40")], "has 8 GB"),
        ("FAB005", "pass"): Program([machine("inference")], ""),
        ("FAB005", "undecided"): Program([machine(LATER)], "what pool 'node' is for"),
        ("FAB006", "fail"): Program([workers(instanceType=A100, hpcClusterId=None)], "which has no RDMA"),
        ("FAB006", "pass"): Program([workers()], "with RDMA"),
        ("FAB006", "undecided"): Program([workers(count=LATER)], "how many nodes"),
        ("FAB007", "fail"): Program([workers(hpcClusterId=None)], "RDMA (roce) is not switched on"),
        ("FAB007", "pass"): Program([workers()], "a member of a cluster"),
        ("FAB007", "undecided"): Program([workers(instanceType=LATER, hpcClusterId=None)], what),
        ("FAB008", "fail"): Program([workers()], "has RDMA of 100 Gbps", FAST_RDMA),
        ("FAB008", "pass"): Program([workers()], "fast enough"),
        ("FAB008", "undecided"): Program([workers(size=LATER)], "how large the model", FAST_RDMA),
        ("FAB009", "fail"): Program(
            scaled("pretrain", subnets=[subnet(ZONE), subnet(OTHER_ZONE)]), f"over 2 zones ({ZONE}, {OTHER_ZONE})"
        ),
        ("FAB009", "pass"): Program(scaled("pretrain", subnets=[subnet(ZONE)]), f"all in {ZONE}"),
        ("FAB009", "undecided"): Program(scaled("pretrain"), "in which zones"),
        ("FAB010", "pass"): Program([workers()], "joined by a cluster of their own"),
        ("FAB010", "undecided"): Program([workers(instanceType=LATER)], what),
        ("FAB011", "pass"): Program([workers()], "does not pass security groups"),
        ("FAB011", "undecided"): Program([workers(instanceType=LATER)], what),
        ("FAB012", "undecided"): Program([workers(instanceChargeType=LATER)], "is bought"),
        ("FAB013", "pass"): Program([machine()], ""),
        ("FAB013", "undecided"): Program([machine(instanceType=LATER)], what),
    }


def _storage() -> dict[tuple[str, str], Program]:
    def cached(size: Any) -> Record:
        return machine(dataDisks=[{"dataDiskType": "CLOUD_HSSD", "dataDiskSize": size, "encrypt": True}])

    return {
        ("STO001", "fail"): Program([machine(), bucket(region="ap-shanghai")], "is in ap-shanghai, but the nodes"),
        ("STO001", "pass"): Program([machine(), bucket()], f"in {REGION}"),
        ("STO001", "undecided"): Program([machine(), bucket(region=LATER)], "where bucket 'data' is"),
        ("STO002", "fail"): Program([machine(), turbo(availabilityZone=OTHER_ZONE)], f"is in {OTHER_ZONE}, but"),
        ("STO002", "pass"): Program([machine(), turbo()], f"in {ZONE}"),
        ("STO002", "undecided"): Program([machine(), turbo(availabilityZone=LATER)], "in which zone"),
        ("STO003", "fail"): Program([workers()], "a parallel file system"),
        ("STO003", "pass"): Program([workers(), turbo()], "is beside it"),
        ("STO003", "undecided"): Program([workers(userData=LATER)], "what the nodes of pool 'workers' mount"),
        ("STO004", "fail"): Program([workers(size="405000000000"), turbo()], "less than 7875"),
        ("STO004", "pass"): Program([workers(), turbo()], "MB/s"),
        ("STO004", "undecided"): Program([workers(), turbo(capacity=LATER)], "how fast file system 'turbo' is"),
        ("STO006", "fail"): Program([disk(storageSize=40000.0)], "ends at 32000 GiB"),
        ("STO006", "pass"): Program([disk()], "has disks of 500 GiB"),
        ("STO006", "undecided"): Program([disk(storageSize=LATER)], "how large disk 'data' is"),
        ("STO007", "fail"): Program([cached(100.0)], "gives 170 MB/s"),
        ("STO007", "pass"): Program([cached(500.0)], "fast enough"),
        ("STO007", "undecided"): Program([cached(LATER)], "how large disk"),
        ("STO008", "fail"): Program([disk(encrypt=None)], "disk 'data' is not encrypted"),
        ("STO008", "pass"): Program([disk()], "encrypted"),
        ("STO008", "undecided"): Program([disk(encrypt=LATER)], "whether disk 'data' is encrypted"),
        ("STO009", "fail"): Program([bucket()], "is not encrypted at rest"),
        ("STO009", "pass"): Program([bucket(encryptionAlgorithm="AES256")], "encrypted at rest"),
        ("STO009", "undecided"): Program([bucket(encryptionAlgorithm=LATER)], "whether bucket 'data' is encrypted"),
        ("STO010", "pass"): Program([turbo()], "keeps its data"),
    }


def _snapshots() -> dict[tuple[str, str], Program]:
    one, daily = disk(), schedule()
    both = [one, daily, attached(one, to=daily)]
    somewhere = [one, daily, attached(to=daily)]
    return {
        ("SNP001", "fail"): Program([one], "no schedule makes snapshots of it"),
        ("SNP001", "pass"): Program(both, "a schedule selects it"),
        ("SNP001", "undecided"): Program(somewhere, "what schedule 'daily' selects"),
        ("SNP002", "fail"): Program([one, daily], "is attached to nothing"),
        ("SNP002", "pass"): Program(both, "it selects disks"),
        ("SNP002", "undecided"): Program(somewhere, "what schedule 'daily' selects"),
        ("SNP003", "fail"): Program([file_schedule(aliveDays=0.0)], "never end"),
        ("SNP003", "pass"): Program([file_schedule(aliveDays=14.0)], "its snapshots end"),
        ("SNP003", "undecided"): Program([file_schedule(aliveDays=LATER)], "how long schedule 'daily' keeps"),
        ("SNP004", "fail"): Program([schedule(retentionDays=3650.0)], "for 3650 days"),
        ("SNP004", "pass"): Program([schedule(retentionDays=14.0)], "not longer"),
        ("SNP004", "undecided"): Program([schedule(retentionDays=LATER)], "how long schedule 'daily' keeps"),
        **{(rule, "undecided"): Program([schedule()], "the provider cannot copy snapshots") for rule in _OF_COPIES},
    }


def _spot() -> dict[tuple[str, str], Program]:
    two = [A100, "GT4.20XLARGE474"]
    cluster = {"instanceChargeType": "SPOTPAID", "spotInstanceType": "ONE-TIME", "spotMaxPrice": "90"}
    return {
        ("SPT001", "fail"): Program(spot(), "nothing beside it outlives a machine"),
        ("SPT001", "pass"): Program([*spot(), bucket()], "is beside it"),
        ("SPT001", "undecided"): Program(spot(userData=LATER), "writes checkpoints"),
        ("SPT002", "fail"): Program(spot("pretrain"), "pre-trains on up to 4 spot nodes"),
        ("SPT002", "pass"): Program(spot(), "no pre-training"),
        ("SPT002", "undecided"): Program(spot("pretrain", high=LATER), "how many nodes"),
        ("SPT003", "fail"): Program(spot(), f"may be of {A100} only"),
        ("SPT003", "pass"): Program(spot(instanceTypes=two), "2 instance types"),
        ("SPT003", "undecided"): Program(spot(instanceTypes=[A100, LATER]), "what machines"),
        ("SPT004", "fail"): Program(spot(), "nothing is told"),
        ("SPT004", "pass"): Program([*(told := spot()), hook(told[-1])], "something is told"),
        ("SPT004", "undecided"): Program([*(asked := spot()), hook(asked[-1], LATER)], "handles interruptions"),
        ("SPT005", "fail"): Program([machine(instanceType=HCC, hpcClusterId=LATER, **cluster)], "together"),
        ("SPT005", "pass"): Program(spot(), "placed anywhere"),
        ("SPT005", "undecided"): Program([machine(instanceChargeType=LATER)], "is bought"),
        ("SPT006", "pass"): Program(spot(), "up to the on-demand price"),
        ("SPT006", "undecided"): Program(spot(spotMaxPrice=LATER), "pays at most"),
    }


def _cost() -> dict[tuple[str, str], Program]:
    def at_most(amount: int) -> dict[str, Any]:
        return {"monthly_budget": amount, "budget_currency": "CNY"}

    dev = {"profile": "dev"}
    return {
        ("CST001", "fail"): Program([machine()], "over the budget of 1,000", at_most(1000)),
        ("CST001", "pass"): Program([machine(), budget()], "within the budget of 1,000,000", at_most(1_000_000)),
        ("CST001", "undecided"): Program([machine(instanceType=LATER)], "what 1 pool(s) cost", at_most(1000)),
        ("CST002", "fail"): Program([machine()], "with a term each costs 34 % less"),
        ("CST002", "pass"): Program(scaled(), "does not run all the time"),
        ("CST002", "undecided"): Program(scaled(low=LATER), "always has"),
        ("CST003", "fail"): Program(scaled(low=1.0), "always has 1 node(s)", dev),
        ("CST003", "pass"): Program(scaled(), "it may be empty", dev),
        ("CST003", "undecided"): Program(scaled(low=LATER), "always has", dev),
        ("CST004", "fail"): Program([bucket()], "ever ends"),
        ("CST004", "pass"): Program([bucket(versioningEnable=True, lifecycleRules=ENDS)], "something in it ends"),
        ("CST004", "undecided"): Program([bucket(lifecycleRules=[LATER])], "ever ends"),
        ("CST005", "fail"): Program(
            [of("Dayu/ddosPolicyV2:DdosPolicyV2", "shield", {"resourceId": "bgpip-1a2b3c4d"})], "advanced DDoS product"
        ),
        ("CST006", "fail"): Program([peering("ap-shanghai")], "carries traffic to ap-shanghai"),
        ("CST006", "undecided"): Program([peering(LATER)], "which region 'far' leads to"),
    }


def _access() -> dict[tuple[str, str], Program]:
    store = bucket()
    return {
        ("ACC001", "fail"): Program([ingress("0.0.0.0/0")], "port 22 in from the internet"),
        ("ACC001", "pass"): Program([ingress("10.0.0.0/8")], "from 10.0.0.0/8 only"),
        ("ACC001", "undecided"): Program([ingress(LATER)], "from where 'rules' lets traffic in"),
        ("ACC002", "fail"): Program([machine(allocatePublicIp=True, internetMaxBandwidthOut=10.0)], "of the internet"),
        ("ACC002", "pass"): Program([machine(allocatePublicIp=False)], ""),
        ("ACC002", "undecided"): Program([machine(allocatePublicIp=LATER)], "get a public address"),
        ("ACC003", "fail"): Program([bucket(acl="public-read")], "by everybody"),
        ("ACC003", "pass"): Program([bucket(acl="private")], ""),
        ("ACC003", "undecided"): Program([bucket(acl=LATER)], "is public"),
        ("ACC004", "undecided"): Program([machine()], "the provider cannot ask for session tokens"),
        ("ACC005", "fail"): Program([rights(document(action=["cos:*"]))], "gives cos:*"),
        ("ACC005", "pass"): Program([rights(document(action=["name/cos:GetObject"]))], "no bare wildcard"),
        ("ACC005", "undecided"): Program([rights(LATER)], "which rights 'rights' gives"),
        ("ACC006", "fail"): Program([machine(userData=SECRET)], "a Tencent Cloud secret id"),
        ("ACC006", "pass"): Program([machine(userData=NO_SECRET)], "no secret"),
        ("ACC006", "undecided"): Program([machine(userData=LATER)], "run when they start"),
        ("ACC007", "fail"): Program([store], "answers plain HTTP"),
        ("ACC007", "pass"): Program([store, bucket_policy(store, TLS_ONLY)], "HTTPS only"),
        ("ACC007", "undecided"): Program([store, bucket_policy(store, LATER)], "refuses plain HTTP"),
    }


def _operations() -> dict[tuple[str, str], Program]:
    install = base64_of("pip install torch==2.14.0+cu130\n")
    taint = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}
    return {
        ("OPS001", "fail"): Program([machine(), alarm("CpuUsage")], "nothing in this stack looks at"),
        ("OPS001", "pass"): Program([machine(), alarm("GpuUtil")], "looks at the utilization"),
        ("OPS001", "undecided"): Program([machine(), alarm(LATER)], "looks at"),
        ("OPS002", "fail"): Program([PLAIN], "lacks the tag(s) gpuyard:cluster, gpuyard:environment"),
        ("OPS002", "pass"): Program([machine()], "every required tag"),
        ("OPS002", "undecided"): Program([machine(tags=LATER)], "what tags 'node' has"),
        ("OPS003", "fail"): Program([kept(protect=False)], "is not protected"),
        ("OPS003", "pass"): Program([kept(protect=True)], "protected"),
        ("OPS003", "undecided"): Program([kept(protect=None)], "the source does not say"),
        ("OPS004", "fail"): Program(scaled(imageId=None, imageFamily="training"), "names 'training', which changes"),
        ("OPS004", "pass"): Program([machine()], "the image stays"),
        ("OPS004", "undecided"): Program([machine(imageId=LATER)], "stays the same"),
        ("OPS005", "fail"): Program([machine(instanceType=V100, userData=install)], "does not work on"),
        ("OPS005", "pass"): Program([machine(userData=install)], "knows the GPUs"),
        ("OPS005", "undecided"): Program([machine(userData=LATER)], "install"),
        ("OPS006", "fail"): Program([native()], "has GPUs and no taint"),
        ("OPS006", "pass"): Program([native(taints=[taint])], "stay away"),
        ("OPS006", "undecided"): Program([native(taints=LATER)], "which taints"),
    }


PROGRAMS = {
    **_fabric(),
    **_storage(),
    **_snapshots(),
    **_spot(),
    **_cost(),
    **_access(),
    **_operations(),
}
_OWN_NETWORK = "RDMA of this cloud is a network of its own, which no security group and no placement concerns"
_NO_BLOCKS = "this cloud sells no capacity blocks"
_NO_COPIES = "the provider has no resource that copies snapshots to another region, so nobody can tell"
_NO_REFUSALS = "the catalog holds no class of disk that a family of this cloud refuses"
_NO_SCRATCH = "no file system of this cloud is a scratch one"
_NO_TOKENS = "the provider cannot ask for session tokens, so nobody can tell"
_SPEAKS_OF_IT = "it speaks of the product where there is one"
# Why a rule has no program with a verdict. What is suppressed is what fails, else what cannot be told.
NOT_HERE: dict[tuple[str, str], str] = {
    ("FAB010", "fail"): _OWN_NETWORK,
    ("FAB011", "fail"): _OWN_NETWORK,
    ("FAB012", "fail"): _NO_BLOCKS,
    ("FAB012", "pass"): _NO_BLOCKS,
    ("FAB013", "fail"): "a type that nobody knows is never called wrong",
    **{("STO005", verdict): _NO_REFUSALS for verdict in ("fail", "pass", "undecided", "suppressed")},
    **{("STO010", verdict): _NO_SCRATCH for verdict in ("fail", "undecided", "suppressed")},
    **{
        (rule, verdict): _NO_COPIES for rule in ("SNP005", "SNP006", "SNP007", "SNP008") for verdict in ("fail", "pass")
    },
    ("SPT006", "fail"): "the catalog has no spot price of this cloud",
    ("CST005", "pass"): _SPEAKS_OF_IT,
    ("CST005", "undecided"): "that a product is there is known from its type",
    ("CST006", "pass"): _SPEAKS_OF_IT,
    ("ACC004", "fail"): _NO_TOKENS,
    ("ACC004", "pass"): _NO_TOKENS,
}
# Rules that cannot tell even when every value is known, and what is missing.
NEVER_TOLD = {
    **dict.fromkeys(_OF_COPIES, _NO_COPIES),
    "ACC004": _NO_TOKENS,
    "OPS003": "whether the engine protects a resource is no property of it",
}
