"""Pools of single machines on Alibaba Cloud: interfaces, disks, placement and how they are bought."""

from typing import Any

import pytest

from .cluster import EX, SCC, cluster, machine

METAL = {"instance_type": "ecs.ebmgn7i.32xlarge", "interconnect": "none"}
KEY = "acs:kms:cn-beijing:1234567890123456:key/key-bjz0123456789abcdef"


def train(**values: Any) -> dict[str, Any]:
    return machine(cluster(train=values)).inputs


def test_an_rdma_pool_is_made_of_single_machines(preview: bool):
    rendered = cluster(preview=preview)
    assert [one.name for one in rendered.all("Instance")] == ["ali-train-0", "ali-train-1"]
    assert not any("train" in one.name for one in rendered.all("ScalingGroup"))


def test_erdma_is_on_the_primary_interface():
    found = train()
    assert (found["networkInterfaceTrafficMode"], found["networkCardIndex"]) == ("HighPerformance", 0)
    # One interface takes all queue pairs by itself.
    assert not {"queuePairNumber", "networkInterfaces"} & set(found)


def test_two_erdma_interfaces_are_on_two_cards_and_share_the_queue_pairs():
    found = train(alicloud={"erdma_queue_pairs": 100})
    assert (found["networkInterfaceTrafficMode"], found["networkCardIndex"], found["queuePairNumber"]) == (
        "HighPerformance",
        0,
        50,
    )
    assert found["networkInterfaces"] == {
        "networkInterfaceTrafficMode": "HighPerformance",
        "networkCardIndex": 1,
        "queuePairNumber": 50,
        "vswitchId": "ali-network-private-cn-beijing-h-id",
        "securityGroupIds": ["ali-network-nodes-id"],
    }


def test_without_rdma_the_interface_is_an_ordinary_one():
    found = train(interconnect="nvlink")
    assert not {"networkInterfaceTrafficMode", "networkCardIndex", "networkInterfaces"} & set(found)


@pytest.mark.parametrize("jumbo", [True, False])
def test_frames_are_said_and_agree_with_the_mtu_that_the_node_sets(jumbo: bool):
    assert train(alicloud={"jumbo_frames": jumbo})["enableJumboFrame"] is jumbo


def test_frames_without_erdma_are_the_types_own():
    assert "enableJumboFrame" not in train(interconnect="nvlink")
    assert train(interconnect="nvlink", alicloud={"jumbo_frames": True})["enableJumboFrame"] is True


def test_erdma_machines_join_a_deployment_set_for_latency():
    rendered = cluster()
    assert rendered.one("EcsDeploymentSet").inputs["strategy"] == "LowLatency"
    assert {one.inputs["deploymentSetId"] for one in rendered.all("Instance")} == {"ali-train-close-id"}
    assert rendered.all("HpcCluster") == []


def test_roce_machines_join_an_hpc_cluster_and_no_deployment_set():
    rendered = cluster(train={"instance_type": SCC})
    assert rendered.one("HpcCluster").inputs["name"] == "ali-train-hpc"
    assert {one.inputs["hpcClusterId"] for one in rendered.all("Instance")} == {"ali-train-hpc-id"}
    assert rendered.all("EcsDeploymentSet") == []
    assert "deploymentSetId" not in machine(rendered).inputs


def test_placement_none_renders_no_deployment_set():
    rendered = cluster(train={"placement": "none"})
    assert rendered.all("EcsDeploymentSet") == []
    assert "deploymentSetId" not in machine(rendered).inputs


def test_every_disk_is_essd_of_a_level_that_is_said_and_encrypted():
    rendered = cluster(train={"data_disk_gib": 1400, "data_disk_mb_per_s": 800, "kms_key": KEY})
    found = machine(rendered).inputs
    wanted = {
        "Category": "cloud_essd",
        "PerformanceLevel": "PL0",
        "Size": 200,
        "Encrypted": True,
        "KmsKeyId": "key-bjz0123456789abcdef",
    }
    assert {key: found[f"systemDisk{key}"] for key in wanted} == wanted
    for number in (0, 1):
        disk = rendered.one("EcsDisk", f"ali-train-{number}-data").inputs
        assert (disk["category"], disk["performanceLevel"], disk["size"]) == ("cloud_essd", "PL3", 1400)
        assert (disk["encrypted"], disk["kmsKeyId"]) == (True, "key-bjz0123456789abcdef")
        assert disk["zoneId"] == "cn-beijing-h"
        joined = rendered.one("EcsDiskAttachment", f"ali-train-{number}-data").inputs
        assert joined == {"diskId": f"ali-train-{number}-data-id", "instanceId": f"ali-train-{number}-id"}


def test_br_061_no_snapshot_policy_stands_in_a_machine():
    rendered = cluster(train={"data_disk_gib": 100}, snapshots={"hours_utc": [2], "keep_days": 7})
    for one in rendered.all("Instance"):
        assert not {"systemDiskAutoSnapshotPolicyId", "dataDisks"} & set(one.inputs)
    attached = {one.inputs["diskId"] for one in rendered.all("EcsAutoSnapshotPolicyAttachment")}
    assert attached == {
        "ali-train-0-system-id",
        "ali-train-0-data-id",
        "ali-train-1-system-id",
        "ali-train-1-data-id",
    }


def test_machines_have_no_public_address_and_hardened_metadata():
    found = train()
    assert found["internetMaxBandwidthOut"] == 0
    assert (found["httpEndpoint"], found["httpTokens"]) == ("enabled", "required")
    assert found["securityGroups"] == ["ali-network-nodes-id"]


def test_machines_take_the_pools_zones_in_turn():
    both = {"zones": ["cn-beijing-h", "cn-beijing-l"], "nodes": 3, "data_disk_gib": 100, **METAL}
    rendered = cluster(train=both)
    assert [machine(rendered, number).inputs["vswitchId"] for number in range(3)] == [
        "ali-network-private-cn-beijing-h-id",
        "ali-network-private-cn-beijing-l-id",
        "ali-network-private-cn-beijing-h-id",
    ]
    disks = [rendered.one("EcsDisk", f"ali-train-{number}-data").inputs["zoneId"] for number in range(3)]
    assert disks == ["cn-beijing-h", "cn-beijing-l", "cn-beijing-h"]


def test_spare_nodes_are_machines_too():
    assert len(cluster(train={"spare_nodes": 1}).all("Instance")) == 3


# --- how they are bought


def test_on_demand_says_so_and_uses_no_private_pool():
    found = train()
    assert (found["instanceChargeType"], found["privatePoolOptionsMatchCriteria"]) == ("PostPaid", "None")
    assert not {"period", "renewalStatus", "autoRenewPeriod", "privatePoolOptionsId", "spotStrategy"} & set(found)


def test_prepaid_machines_have_a_period_and_are_renewed():
    found = train(**METAL, purchase="prepaid", prepaid={"months": 12})
    bought = ("instanceChargeType", "period", "periodUnit", "renewalStatus", "autoRenewPeriod")
    assert [found[key] for key in bought] == ["PrePaid", 12, "Month", "AutoRenewal", 12]


def test_prepaid_machines_can_end_with_their_months():
    found = train(**METAL, purchase="prepaid", prepaid={"months": 1, "renew": False})
    assert (found["period"], found["renewalStatus"]) == (1, "Normal")
    assert "autoRenewPeriod" not in found


def test_a_private_pool_is_a_target():
    found = train(purchase="reserved", reservation={"id": "eap-bp1"})
    assert (found["privatePoolOptionsMatchCriteria"], found["privatePoolOptionsId"]) == ("Target", "eap-bp1")
    assert found["instanceChargeType"] == "PostPaid"


# --- what must not change


def test_a_bare_metal_machine_is_replaced_rather_than_given_another_type():
    assert list(machine(cluster()).request.replaceOnChanges) == ["instanceType"]
    virtual = cluster(train={"instance_type": "ecs.gn7i-c8g1.2xlarge", "interconnect": "none"})
    assert list(machine(virtual).request.replaceOnChanges) == []


def test_neither_a_newer_image_nor_new_user_data_reaches_a_running_node():
    assert list(machine(cluster()).request.ignoreChanges) == ["userData", "imageId"]
    named = machine(cluster(train={"image": "m-1"}))
    assert list(named.request.ignoreChanges) == ["userData"]
    assert named.inputs["imageId"] == "m-1"
    assert named.inputs["securityEnhancementStrategy"] == "Deactive", "hardening works on the cloud's own images only"


@pytest.mark.parametrize(
    ("name", "image"),
    [(EX, "m-aliyun_3_[0-9]+_x64_20G_uefi_alibase_"), (METAL["instance_type"], "m-aliyun_3_x64_20G_alibase_")],
)
def test_the_image_is_the_one_that_the_machine_boots(name: str, image: str):
    assert train(instance_type=name, interconnect="none")["imageId"] == image


def test_machines_and_disks_carry_the_pools_tags():
    found = train()
    assert found["tags"] == found["volumeTags"]
    assert {"gpuyard:cluster", "gpuyard:pool", "gpuyard:task", "Name"} <= set(found["tags"])


def test_machines_are_told_by_their_ids():
    from gpuyard import GpuNodePool

    from ..recorder import render

    found: dict[str, Any] = {}

    def program() -> None:
        args: Any = {
            "cloud": "alicloud",
            "region": "cn-beijing",
            "zone": "cn-beijing-h",
            "nodes": 2,
            "instance_type": EX,
            "subnet_ids": ["vsw-1"],
            "security_group_ids": ["sg-1"],
        }
        pool = GpuNodePool("p", args)
        assert pool.group_name is None
        assert pool.template_id is None
        assert pool.instance_ids is not None
        assert set(pool.disk_ids) == {"0-system", "1-system"}
        pool.instance_ids.apply(lambda ids: found.update(ids=list(ids)))

    render(program, preview=False)
    assert found == {"ids": ["p-0-id", "p-1-id"]}
