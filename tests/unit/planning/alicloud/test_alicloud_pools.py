"""What only Alibaba Cloud decides about a node pool."""

from typing import Any

import pytest

from .conftest import EX, SCC, AliPool, AliRefused

A10: dict[str, Any] = {"gpu": "A10", "gpus_per_node": 1, "nodes": {"min": 0, "max": 4}}
SPOT: dict[str, Any] = {**A10, "purchase": "spot"}
EBM_A10 = "ecs.ebmgn7i.32xlarge"


def only(problems: list[str]) -> str:
    (found,) = problems
    return found


# --- kept close together


def test_erdma_nodes_join_a_deployment_set(ali_pool: AliPool):
    found = ali_pool(instance_type=EX, interconnect="rdma", nodes=20)
    assert found.clustered
    assert not found.details.hpc_cluster
    assert any(
        one.startswith("A deployment set (LowLatency)") and "whether it takes ebmgn7ex" in one for one in found.reasons
    )


def test_more_nodes_than_a_deployment_set_holds_are_refused_with_what_to_do(ali_refused: AliRefused):
    found = only(ali_refused(instance_type=EX, interconnect="rdma", nodes=19, spare_nodes=2))
    assert found.startswith(
        "placement: a deployment set keeps at most 20 nodes close together, and the pool has 21 (2 of them spare). "
        "Set 'placement: none'"
    )
    assert "build pools of at most 20 nodes" in found
    assert "https://www.alibabacloud.com/help/zh/doc-detail/91258.htm" in found


def test_more_nodes_are_possible_anywhere_in_the_zone(ali_pool: AliPool):
    assert not ali_pool(instance_type=EX, interconnect="rdma", nodes=40, placement="none").clustered


def test_roce_machines_join_an_hpc_cluster_of_any_size(ali_pool: AliPool):
    found = ali_pool(instance_type=SCC, interconnect="rdma", nodes=40)
    assert found.details.hpc_cluster
    assert f"{SCC} joins an HPC cluster: its RoCE network is beside the VPC." in found.reasons


def test_capacity_that_was_bought_before_is_not_placed_again(ali_pool: AliPool):
    bought = {"purchase": "reserved", "reservation": {"id": "eap-bp1"}}
    assert not ali_pool(instance_type=EX, interconnect="rdma", **bought).clustered


def test_elastic_nodes_cannot_be_kept_close(ali_refused: AliRefused):
    found = only(ali_refused(**A10, placement="cluster"))
    assert found == (
        "placement: a scaling configuration has no deployment set, so that elastic nodes cannot be kept close "
        "together. Write 'nodes' as one number, or remove 'placement'."
    )


# --- A100


def test_a100_with_nvswitch_and_100_gbps_of_rdma_is_ebmgn7ex(ali_pool: AliPool):
    found = ali_pool(gpu="A100-80GB", gpus_per_node=8, interconnect="rdma")
    assert found.instance_type.instance_type == EX
    assert found.kind == "rdma"


@pytest.mark.parametrize("name", ["ecs.ebmgn7e.32xlarge", "ecs.gn7e-c16g1.32xlarge"])
def test_a100_without_rdma_is_joined_inside_the_node_only(name: str, ali_pool: AliPool, ali_refused: AliRefused):
    assert ali_pool(instance_type=name, interconnect="nvlink").kind == "fixed"
    refused = only(ali_refused(instance_type=name, interconnect="rdma"))
    assert refused.startswith(f"interconnect: {name} has no eRDMA or RoCE, the RDMA networks of Alibaba Cloud")
    assert EX in refused


# --- images


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        (EX, "^aliyun_3_[0-9]+_x64_20G_uefi_alibase_"),
        ("ecs.ebmgn7e.32xlarge", "^aliyun_3_x64_20G_alibase_"),
        ("ecs.gn7i-c8g1.2xlarge", "^aliyun_3_x64_20G_alibase_"),
        (SCC, "^aliyun_3_x64_20G_alibase_"),
    ],
)
def test_the_image_boots_as_the_machine_does(name: str, pattern: str, ali_pool: AliPool):
    assert ali_pool(instance_type=name).image_query == pattern


@pytest.mark.parametrize(
    ("name", "image", "mode", "other"),
    [
        (EX, "aliyun-linux-3", "BIOS", "aliyun-linux-3-uefi, ubuntu-22.04-uefi"),
        ("ecs.ebmgn7e.32xlarge", "aliyun-linux-3-uefi", "UEFI", "aliyun-linux-3, ubuntu-22.04, ubuntu-24.04"),
    ],
)
def test_an_image_that_the_machine_cannot_boot_is_refused(
    name: str, image: str, mode: str, other: str, ali_refused: AliRefused
):
    found = only(ali_refused(instance_type=name, image=image))
    assert found == f"image: {image} boots in {mode} mode, and {name} does not. It boots: {other}."


# --- spot


def test_a_spot_pool_takes_equivalent_types_of_one_card_count(ali_pool: AliPool):
    found = ali_pool(**SPOT)
    assert found.kind == "elastic"
    names = [row.instance_type for row in found.instance_types]
    assert names[:2] == ["ecs.gn7i-c8g1.2xlarge", "ecs.gn7i-c16g1.4xlarge"]
    assert len(names) > 3
    assert {(row.gpu_model, row.gpu_count) for row in found.instance_types} == {("A10", 1)}
    assert found.details.multi_az_policy == "COST_OPTIMIZED"


@pytest.mark.parametrize(("flag", "hours"), [(True, 1), (False, 0)])
def test_br_059_no_protected_hour_is_a_0_and_not_nothing(flag: bool, hours: int, ali_pool: AliPool):
    found = ali_pool(**SPOT, alicloud={"spot_protected_hour": flag}).details.spot_protected_hours
    assert found == hours
    assert found is not None


def test_a_pool_on_demand_has_nothing_of_spot(ali_pool: AliPool):
    found = ali_pool(**A10).details
    assert (found.multi_az_policy, found.spot_protected_hours) == ("PRIORITY", None)


@pytest.mark.parametrize("key", ["spot_protected_hour", "multi_az_policy", "compensate_with_on_demand"])
def test_settings_of_spot_are_for_spot(key: str, ali_refused: AliRefused):
    value = "COMPOSABLE" if key == "multi_az_policy" else True
    found = only(ali_refused(**A10, alicloud={key: value}))
    assert found == (f"alicloud.{key}: is for spot pools, and this one is bought by 'purchase: on_demand'. Remove it.")


def test_br_058_compensation_names_the_policy_that_it_needs(ali_refused: AliRefused):
    own = {"compensate_with_on_demand": True, "multi_az_policy": "COMPOSABLE"}
    assert only(ali_refused(**SPOT, alicloud=own)) == (
        "alicloud.compensate_with_on_demand: does not go with 'multi_az_policy: COMPOSABLE'. Set 'multi_az_policy: "
        "COST_OPTIMIZED', or remove it."
    )


@pytest.mark.parametrize(("price", "nearest"), [(12.345, "12.35"), (0.001, "0.01")])
def test_a_price_has_two_digits_behind_the_point(price: float, nearest: str, ali_refused: AliRefused):
    found = only(ali_refused(**SPOT, spot_price_limit=price))
    assert found.startswith(f"spot_price_limit: {price:g} has more than 2 digits behind the point. Nearest: ")
    assert found.endswith(("12.35.", "12.34.", f"{nearest}."))


def test_a_price_of_two_digits_is_taken(ali_pool: AliPool):
    assert ali_pool(**SPOT, spot_price_limit=12.34).spot_price_limit == 12.34


# --- bought ahead


def test_prepaid_machines_are_renewed_by_no_more_than_was_paid(ali_pool: AliPool):
    metal = {"instance_type": EBM_A10, "nodes": 2, "purchase": "prepaid"}
    assert ali_pool(**metal, prepaid={"months": 9}).details.renew_months == 6
    assert ali_pool(**metal, prepaid={"months": 36}).details.renew_months == 12
    assert ali_pool(**metal, prepaid={"months": 1, "renew": False}).details.renew_months is None


def test_the_months_that_can_be_paid_are_named(ali_refused: AliRefused):
    found = only(ali_refused(instance_type=EBM_A10, nodes=2, purchase="prepaid", prepaid={"months": 10}))
    assert found.startswith("prepaid.months: 10 months cannot be paid ahead. Allowed: 1, 2, 3, 4, 5, 6, 7, 8, 9, 12")


def test_elastic_nodes_are_not_paid_ahead(ali_refused: AliRefused):
    assert only(ali_refused(**A10, purchase="prepaid", prepaid={"months": 1})) == (
        "purchase: Auto Scaling buys pay-as-you-go and spot nodes only: a pool that is paid ahead has a fixed size. "
        "Write 'nodes: 4', or use 'purchase: on_demand'."
    )


@pytest.mark.parametrize("pool_id", ["eap-bp1", "crp-bp1"])
def test_a_private_pool_is_named_by_its_id(pool_id: str, ali_pool: AliPool):
    found = ali_pool(instance_type=EX, nodes=2, purchase="reserved", reservation={"id": pool_id})
    assert found.reservation_id == pool_id


@pytest.mark.parametrize(
    ("reservation", "problem"),
    [
        (
            {"id": "cr-1"},
            "reservation.id: 'cr-1' is no id of a private pool. One begins with eap- or crp-: elasticity assurance or "
            "a capacity reservation.",
        ),
        (
            {"resource_group_arn": "arn:x"},
            "reservation.resource_group_arn: is AWS's; Alibaba Cloud names bought capacity by the private pool's id. "
            "Give 'id'.",
        ),
        (
            {"id": "eap-1", "placement_group": "x"},
            "reservation.placement_group: is AWS's; Alibaba Cloud names bought capacity by the private pool's id. "
            "Give 'id'.",
        ),
    ],
)
def test_bought_capacity_has_no_other_name(reservation: dict[str, str], problem: str, ali_refused: AliRefused):
    assert problem in ali_refused(instance_type=EX, nodes=2, purchase="reserved", reservation=reservation)


def test_aws_capacity_blocks_are_no_way_to_buy_here(ali_refused: AliRefused):
    found = ali_refused(instance_type=EX, nodes=2, purchase="capacity_block")
    assert found[0].startswith(
        "purchase: 'capacity_block' is no way to buy nodes on alicloud. Allowed: on_demand, spot, reserved or prepaid"
    )


# --- disks


@pytest.mark.parametrize(
    ("size", "iops", "mb_per_s", "level"),
    [
        (500, None, None, "cloud_essd PL0"),
        (500, 20_000, None, "cloud_essd PL1"),
        (2000, None, 700, "cloud_essd PL2"),
        (2000, 101_000, None, "cloud_essd PL3"),
    ],
)
def test_the_level_follows_the_need(size: int, iops: int | None, mb_per_s: int | None, level: str, ali_pool: AliPool):
    wanted = {"data_disk_gib": size, "data_disk_iops": iops, "data_disk_mb_per_s": mb_per_s}
    disk = ali_pool(instance_type=EX, **{key: value for key, value in wanted.items() if value}).data_disk
    assert disk is not None
    assert (disk.disk_type, disk.size_gib, disk.iops, disk.throughput_mib_per_s) == (level, size, None, None)


def test_pl3_begins_at_1261_gib(ali_pool: AliPool, ali_refused: AliRefused):
    # 1800 + 50 · 1261 = 64 850 IOPS: more than PL1 has, and PL2 has as many; 800 MB/s only PL3 has.
    large = ali_pool(instance_type=EX, data_disk_gib=1400, data_disk_mb_per_s=800).data_disk
    assert large is not None
    assert large.disk_type == "cloud_essd PL3"
    found = only(ali_refused(instance_type=EX, data_disk_gib=1260, data_disk_mb_per_s=760))
    assert found.startswith("data_disk_gib: no class of disk of 1260 GiB does 760 MB/s.")
    assert "1280 GiB would do" in found


def test_a_system_disk_has_its_limits(ali_refused: AliRefused):
    found = only(ali_refused(instance_type=EX, root_disk_gib=2049))
    assert found.startswith(
        "root_disk_gib: a system disk has 20 to 2048 GiB, not 2049. Put the rest on 'data_disk_gib'"
    )


# --- scaling


def test_a_queue_does_not_scale_and_what_does_is_named(ali_refused: AliRefused):
    found = only(ali_refused(**SPOT, scaling={"queue": {"name": "jobs", "jobs_per_node": 2}}))
    assert found.startswith(
        "scaling.queue: rules of Auto Scaling see the metrics of the group's own nodes and no queue."
    )
    assert "'gpu_utilization_percent' or 'schedule'" in found


def test_a_schedule_without_an_equal_in_utc_is_refused(ali_refused: AliRefused):
    size = {"cron": "0 8 * * *", "time_zone": "Europe/Berlin", "min": 1}
    found = only(ali_refused(**SPOT, scaling={"schedule": {"day": size}}))
    assert found.startswith("scaling.schedule.day.cron: '0 8 * * *' in Europe/Berlin has no equal in UTC")


def test_a_wrong_schedule_is_told_once(ali_refused: AliRefused):
    size = {"cron": "at noon", "time_zone": "Nowhere", "min": 1}
    found = ali_refused(**SPOT, scaling={"schedule": {"day": size}})
    assert [one.split(":")[0] for one in found] == ["scaling.schedule.day.time_zone", "scaling.schedule.day.cron"]


def test_jumbo_frames_are_for_machines(ali_refused: AliRefused):
    assert only(ali_refused(**A10, alicloud={"jumbo_frames": True})) == (
        "alicloud.jumbo_frames: a scaling configuration has no jumbo frames. Remove it."
    )


@pytest.mark.parametrize("seconds", [30, 7200])
def test_the_hook_waits_as_long_as_a_checkpoint_may_take(seconds: int, ali_pool: AliPool):
    assert ali_pool(**SPOT, checkpoint_seconds=seconds).checkpoint_seconds == seconds


def test_a_spot_node_has_five_minutes(ali_pool: AliPool):
    assert any("ends 300 s after its notice" in one for one in ali_pool(**SPOT).reasons)


# --- size


def test_nodes_have_to_fit_into_one_security_group(ali_pool: AliPool, ali_refused: AliRefused):
    assert ali_pool(instance_type=EX, nodes=6000).max_nodes == 6000
    found = only(ali_refused(instance_type=EX, nodes=6000, spare_nodes=1))
    assert found.startswith("nodes: the nodes need 6001 addresses, and their security group holds 6000.")
    wide = {"interconnect": "rdma", "placement": "none", "alicloud": {"erdma_queue_pairs": 100}}
    assert "the nodes need 6002 addresses" in only(ali_refused(instance_type=EX, nodes=3001, **wide))


def test_an_rdma_pool_has_one_size(ali_refused: AliRefused):
    found = only(ali_refused(instance_type=EX, nodes={"min": 1, "max": 4}, interconnect="rdma"))
    assert found == (
        "nodes: a pool joined by RDMA has a fixed size, not 1 to 4. Write 'nodes: 4': a job needs all its nodes, and "
        "RDMA cannot be added later."
    )
