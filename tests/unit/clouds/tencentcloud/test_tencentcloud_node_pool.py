"""Machines and HPC cluster of a pool on Tencent Cloud, as rendered for the engine."""

import json
from typing import Any

import pytest

from gpuyard import GpuNodePool

from ..recorder import UNKNOWN, render
from .helpers import (
    KINDS,
    NVLINK,
    OTHER_ZONE,
    PREPAID,
    RDMA,
    SPOT,
    WORKSPACE,
    ZONE,
    failures,
    machines,
    of_type,
    rendered,
    written,
)

KEY = "23e80852-1e38-11e9-b129-5cb9019b4b01"
TRAIN = "node_pools.train"


@pytest.mark.parametrize("kind", KINDS)
def test_the_provider_takes_all_that_is_rendered(kind: str, preview: bool):
    assert failures(rendered(KINDS[kind], preview=preview)) == []


def test_br_068_rdma_machines_are_in_one_hpc_cluster_of_their_zone():
    found = rendered(RDMA)
    (cluster,) = of_type(found, "Cvm/hpcCluster")
    assert (cluster["zone"], cluster["name"]) == (ZONE, "tc-train-hpc")
    assert [(one["hpcClusterId"], one["instanceType"], one["availabilityZone"]) for one in machines(found)] == [
        ("tc-train-hpc-id", "HCCPNV4h.48XLARGE1024", ZONE)
    ] * 2
    assert of_type(found, "As/scalingGroup") == [], "a scaling group takes no HPC cluster"


def test_other_machines_are_in_no_hpc_cluster_and_no_placement_group():
    found = rendered(NVLINK)
    assert of_type(found, "Cvm/hpcCluster") == of_type(found, "Placement/group") == []
    assert len(machines(found)) == 2
    for one in machines(found):
        assert not {"hpcClusterId", "placementGroupId"} & set(one)
        assert one["instanceType"] == "GT4.41XLARGE948"


def test_spare_nodes_are_machines_too():
    assert len(machines(rendered(NVLINK, {f"{TRAIN}.spare_nodes": 1}))) == 3


def test_no_machine_has_a_public_address_and_each_has_the_nodes_group():
    for one in machines(rendered(RDMA)):
        assert one["allocatePublicIp"] is False
        assert "internetMaxBandwidthOut" not in one
        assert one["orderlySecurityGroups"] == ["tc-network-nodes-sg-id"]
        assert one["camRoleName"] == "tc-train-role"
        assert one["disableMonitorService"] is False, "the GPUs' metrics come from it"


def test_machines_of_several_zones_take_turns():
    found = machines(rendered(NVLINK, {f"{TRAIN}.zones": [ZONE, OTHER_ZONE], f"{TRAIN}.nodes": 3}))
    assert [one["availabilityZone"] for one in found] == [ZONE, OTHER_ZONE, ZONE]
    assert [one["subnetId"] for one in found] == [f"tc-network-private-{one['availabilityZone']}-id" for one in found]
    assert {one["vpcId"] for one in found} == {f"vpc-of-tc-network-private-{ZONE}-id"}


def test_br_047_a_data_disk_is_encrypted_and_attached_to_its_machine():
    found = rendered(NVLINK, {f"{TRAIN}.data_disk_gib": 1000, f"{TRAIN}.data_disk_mb_per_s": 900})
    disks = of_type(found, "Cbs/storage")
    assert len(disks) == 2
    for disk in disks:
        assert (disk["encrypt"], disk["encryptType"]) == (True, "ENCRYPT_V2")
        assert (disk["storageType"], disk["storageSize"], disk["availabilityZone"]) == ("CLOUD_HSSD", 1000, ZONE)
        assert disk["tags"]["gpuyard:snapshot"] == "tc"
        assert "kmsKeyId" not in disk
    joined = {one["instanceId"]: one["storageId"] for one in of_type(found, "Cbs/storageAttachment")}
    assert joined == {f"tc-train-{number}-id": f"tc-train-{number}-data-id" for number in range(2)}


@pytest.mark.parametrize(
    ("wish", "extra"),
    [
        # 1000 GiB have 350 MB/s; 900 MB/s are 858.3 MiB/s, in whole MiB 900.7 MB/s.
        ({"data_disk_mb_per_s": 900}, 551),
        ({"data_disk_mb_per_s": 1000}, 650),
        # 50,000 IOPS come with it, and 128 more with each MB/s.
        ({"data_disk_iops": 60_000}, 79),
        ({"data_disk_mb_per_s": 300}, None),
        ({}, None),
    ],
)
def test_extra_performance_is_bought_as_far_as_it_is_needed(wish: dict[str, int], extra: int | None):
    changes = {f"{TRAIN}.data_disk_gib": 1000, **{f"{TRAIN}.{key}": value for key, value in wish.items()}}
    for disk in of_type(rendered(NVLINK, changes), "Cbs/storage"):
        assert disk.get("throughputPerformance") == extra


def test_a_key_of_ones_own_encrypts_the_data_disk():
    found = rendered(NVLINK, {f"{TRAIN}.data_disk_gib": 100, f"{TRAIN}.kms_key": KEY})
    assert {disk["kmsKeyId"] for disk in of_type(found, "Cbs/storage")} == {KEY}


@pytest.mark.parametrize(("renew", "flag"), [(True, "NOTIFY_AND_AUTO_RENEW"), (False, "NOTIFY_AND_MANUAL_RENEW")])
def test_prepaid_machines_are_renewed_as_asked(renew: bool, flag: str):
    found = rendered({**NVLINK, **PREPAID, "prepaid": {"months": 24, "renew": renew}}, {f"{TRAIN}.data_disk_gib": 100})
    for one in machines(found):
        assert one["instanceChargeType"] == "PREPAID"
        assert one["instanceChargeTypePrepaidPeriod"] == 24
        assert one["instanceChargeTypePrepaidRenewFlag"] == flag
        assert "forceDelete" not in one, "what was paid for goes to the recycle bin first"
    assert {disk["chargeType"] for disk in of_type(found, "Cbs/storage")} == {"POSTPAID_BY_HOUR"}


def test_on_demand_machines_are_paid_by_the_hour():
    for one in machines(rendered(NVLINK)):
        assert one["instanceChargeType"] == "POSTPAID_BY_HOUR"
        assert not {key for key in one if "Prepaid" in key or "spot" in key}


def test_types_that_are_sold_so_are_thpc_workspaces_in_the_hpc_cluster():
    found = rendered(WORKSPACE, {f"{TRAIN}.data_disk_gib": 100})
    spaces = of_type(found, "Thpc/workspaces")
    assert len(spaces) == 2
    assert machines(found) == []
    for one in spaces:
        assert (one["spaceType"], one["spaceChargeType"]) == ("96A.96XLARGE2304", "PREPAID")
        assert one["spaceChargePrepaid"] == {"period": 12, "renewFlag": "NOTIFY_AND_AUTO_RENEW"}
        assert one["hpcClusterId"] == "tc-train-hpc-id"
        assert one["placement"] == {"zone": ZONE}
        assert one["virtualPrivateCloud"]["subnetId"] == f"tc-network-private-{ZONE}-id"
        assert "internetAccessible" not in one
        assert {tag["key"]: tag["value"] for tag in one["tagSpecifications"][0]["tags"]}["gpuyard:cluster"] == "tc"
    joined = {one["instanceId"] for one in of_type(found, "Cbs/storageAttachment")}
    assert joined == {"ins-of-tc-train-0", "ins-of-tc-train-1"}


def test_the_image_is_the_newest_that_the_machine_takes_and_stays():
    found = rendered(NVLINK)
    for one in found.all("tencentcloud:Instance/instance:Instance"):
        assert one.inputs["imageId"] == "img-GT4.41XLARGE948"
        assert list(one.request.ignoreChanges) == ["imageId"]
    named = rendered(NVLINK, {f"{TRAIN}.image": "img-00000001"})
    for one in named.all("tencentcloud:Instance/instance:Instance"):
        assert one.inputs["imageId"] == "img-00000001"
        assert list(one.request.ignoreChanges) == []


def test_the_role_may_use_the_checkpoints_and_nothing_else():
    args: Any = {
        "cloud": "tencentcloud",
        "region": "ap-beijing",
        "zone": ZONE,
        "subnet_ids": ["subnet-1"],
        "security_group_ids": ["sg-1"],
        "bucket_name": "llm-checkpoints-1250000000",
        "bucket_prefixes": ["datasets"],
        **NVLINK,
    }
    found = render(lambda: GpuNodePool("p", args), preview=False)
    (role,) = of_type(found, "Cam/role")
    (trust,) = json.loads(role["document"])["statement"]
    assert trust["principal"] == {"service": ["cvm.qcloud.com"]}
    assert role["consoleLogin"] is False
    policies = {one.name: json.loads(one.inputs["document"])["statement"] for one in found.all("Policy")}
    listing, asking, using, reading = policies.pop("p-checkpoints")
    bucket = "qcs::cos:ap-beijing:uid/1250000000:llm-checkpoints-1250000000"
    assert using["resource"] == [f"{bucket}/checkpoints/*", f"{bucket}/datasets/*"]
    programs = f"{bucket}/gpuyard-node/*"
    folders = {f"{bucket}/checkpoints", f"{bucket}/datasets"}
    assert set(listing["resource"]) == {*using["resource"], *folders, programs}
    assert asking["action"] == ["name/cos:HeadBucket"]
    assert reading["action"] == ["name/cos:HeadObject", "name/cos:GetObject"], "no node writes what others run"
    assert reading["resource"] == [programs]
    assert all(action.startswith("name/cos:") and "*" not in action for action in listing["action"] + using["action"])
    tagging, who = policies.pop("p-health")
    assert tagging["action"] == ["name/tag:TagResources"]
    assert tagging["resource"] == ["qcs::cvm:ap-beijing:uin/100000000001:instance/*"]
    assert who["action"] == ["name/sts:GetCallerIdentity"]
    assert not policies
    attached = {(one["roleId"], one["policyId"]) for one in of_type(found, "Cam/rolePolicyAttachment")}
    assert attached == {("p-role-id", "p-checkpoints-id"), ("p-role-id", "p-health-id")}
    for one in found.all("tencentcloud:Instance/instance:Instance"):
        assert {"p-checkpoints", "p-health"} <= set(one.depends_on), "no node boots before its role has its rights"
        files = written(one.inputs["userData"])
        assert "cos://llm-checkpoints-1250000000/checkpoints" in files["/etc/gpuyard/node.env"]


def test_without_a_bucket_the_role_may_do_nothing():
    found = rendered(NVLINK)
    assert of_type(found, "Cam/policy") == of_type(found, "Cam/rolePolicyAttachment") == []


def test_a_pool_names_its_machines_and_their_disks():
    args: Any = {
        "cloud": "tencentcloud",
        "region": "ap-beijing",
        "zone": ZONE,
        "subnet_ids": ["subnet-1"],
        "security_group_ids": ["sg-1"],
        "data_disk_gib": 100,
        **RDMA,
    }
    told: dict[str, Any] = {}

    def program() -> None:
        pool = GpuNodePool("p", args)
        assert pool.instance_ids is not None
        assert pool.placement_group_name is not None
        pool.instance_ids.apply(lambda ids: told.update(machines=list(ids)))
        pool.placement_group_name.apply(lambda hpc: told.update(hpc=hpc))
        for name, disk in pool.disk_ids.items():
            disk.apply(lambda known, name=name: told.update({name: known}))
        assert (pool.group_name, pool.template_id, pool.log_group_name, pool.interruption_queue_url) == (None,) * 4

    render(program, preview=False)
    assert told == {
        "machines": ["p-0-id", "p-1-id"],
        "hpc": "p-hpc-id",
        "0-data": "p-0-data-id",
        "1-data": "p-1-data-id",
    }


@pytest.mark.parametrize("pool", [RDMA, SPOT], ids=["machines", "group"])
def test_what_is_said_of_a_pool_is_known_in_a_preview(pool: dict[str, Any]):
    found = rendered(pool, preview=True)
    for token in ("Instance/instance", "As/scalingConfig"):
        for one in of_type(found, token):
            assert one.get("instanceType", one.get("instanceTypes")) != UNKNOWN
            assert written(one["userData"]), "what a node sets up does not wait for anything"
            assert UNKNOWN not in str(one["tags"])


def test_a_long_name_still_fits_what_the_cloud_takes():
    name, pool = "a" * 32, "b" * 32
    found = rendered(
        {**SPOT, "on_demand_nodes": 1},
        {
            "name": name,
            "node_pools": {pool: {**SPOT, "on_demand_nodes": 1}},
            "workload.task": "lora",
            "checkpoints": {"keep_days": 14},
        },
    )
    groups = [one["scalingGroupName"] for one in of_type(found, "As/scalingGroup")]
    assert len(set(groups)) == 2
    assert all(len(one) <= 55 for one in groups)
    for token, key in (("As/scalingConfig", "configurationName"), ("Tat/command", "commandName")):
        lengths = [len(one[key]) for one in of_type(found, token)]
        assert lengths
        assert max(lengths) <= 60


def test_a_pool_needs_a_subnet_in_each_of_its_zones():
    args: Any = {
        "cloud": "tencentcloud",
        "region": "ap-beijing",
        "zones": [ZONE, OTHER_ZONE],
        "subnet_ids": ["subnet-1"],
        "security_group_ids": ["sg-1"],
        **NVLINK,
    }
    with pytest.raises(LookupError, match=f"the zones {ZONE}, {OTHER_ZONE} and needs a subnet in each: it was given 1"):
        render(lambda: GpuNodePool("p", args), preview=False)
