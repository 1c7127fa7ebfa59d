"""Node pools on Tencent Cloud: what is built, what is refused, and what would be right."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.catalog.disks import MB_PER_MIB, block_disks
from gpuyard.catalog.instance_types import instance_types
from gpuyard.planning.node_pools import plan_node_pool
from gpuyard.planning.plans import Place
from gpuyard.planning.tencentcloud.disks import extra_throughput_mb_per_s
from gpuyard.planning.tencentcloud.keys import key_problems
from gpuyard.spec import NodePoolSpec, parse_spec

from ..conftest import Pool, Refused

PLACE = Place("tencentcloud", "ap-beijing", "dev", zone="ap-beijing-5")
FULL = {"full_type": "HCCPNV4h.48XLARGE1024"}
PREPAID = {"purchase": "prepaid", "prepaid": {"months": 1}}
SPOT = {"gpu": "A10", "nodes": {"min": 0, "max": 8}, "purchase": "spot", "spot_price_limit": 2.5}
A100 = {"gpu": "A100", "gpus_per_node": 8}


def test_br_068_rdma_is_an_hpc_cluster_of_hcc_machines_of_fixed_size(pool: Pool):
    plan = pool(PLACE, **A100, interconnect="rdma", tencentcloud=FULL)
    assert (plan.kind, plan.min_nodes, plan.max_nodes) == ("rdma", 2, 2)
    assert plan.details.hpc_cluster is True
    assert plan.details.machine_types == ("HCCPNV4h.48XLARGE1024",)
    assert plan.software.fabric_manager is True
    assert plan.clustered is False
    assert "The nodes are single machines in one HPC cluster" in " ".join(plan.reasons)


def test_br_068_an_hcc_type_without_rdma_is_refused(refused: Refused):
    (problem,) = refused(PLACE, instance_type="HCCG5v.24XLARGE384")
    assert problem.startswith("interconnect: HCCG5v.24XLARGE384 has to be in an HPC cluster, and this pool gets none.")
    assert "Set 'interconnect: rdma'" in problem


@pytest.mark.parametrize("machine", ["GT4.41XLARGE948", "PNV4.7XLARGE116", "PNV6.96XLARGE2304"])
def test_br_068_rdma_on_another_type_is_refused(machine: str, refused: Refused):
    problems = refused(PLACE, instance_type=machine, interconnect="rdma")
    assert any(f"interconnect: {machine} has no RDMA network" in problem for problem in problems)


@pytest.mark.parametrize("wish", [{"gpu": "V100", "gpus_per_node": 8}, A100])
def test_br_068_no_pool_without_rdma_is_given_an_hcc_type(wish: dict[str, Any]):
    plan, problems = plan_node_pool("p", parse_spec(NodePoolSpec, {"nodes": 1, **wish}), PLACE)
    assert problems == []
    assert plan is not None
    assert not plan.instance_type.instance_type.startswith("HCC")


def test_nvlink_within_one_machine_is_gt4(pool: Pool):
    plan = pool(PLACE, **A100, interconnect="nvlink")
    assert plan.instance_type.instance_type == "GT4.41XLARGE948"
    assert (plan.details.hpc_cluster, plan.software.fabric_manager) == (False, False)
    assert (plan.software.driver_minimum, plan.software.driver_reason) == ("450", "GT4")


def test_placement_groups_are_never_offered_as_close(refused: Refused):
    (problem,) = refused(PLACE, **A100, placement="cluster")
    assert problem.startswith("placement: placement groups of Tencent Cloud only spread machines")
    assert "'interconnect: rdma'" in problem


def test_of_a_family_without_sizes_the_full_name_has_to_be_given(refused: Refused):
    (problem,) = refused(PLACE, gpu="V100", bare_metal=True)
    assert problem == (
        "tencentcloud.full_type: BMG5v is the name of a family; the catalog does not know how its machine is called. "
        "Give its full name as the zone sells it: 'BMG5v.…'."
    )


@pytest.mark.parametrize(
    ("wish", "full", "said"),
    [
        ({"instance_type": "BMG5v"}, "BMG5t.24XLARGE384", "is no machine of the family BMG5v. Its full name begins"),
        ({"instance_type": "GT4.41XLARGE948"}, "GT4.41XLARGE948", "is a full name already. Remove it."),
    ],
)
def test_a_full_name_belongs_to_its_family(wish: dict[str, Any], full: str, said: str, refused: Refused):
    (problem,) = refused(PLACE, **wish, tencentcloud={"full_type": full})
    assert problem.startswith("tencentcloud.full_type:")
    assert said in problem


def test_bare_metal_is_found_by_its_gpu(pool: Pool):
    plan = pool(PLACE, gpu="V100", bare_metal=True, tencentcloud={"full_type": "BMG5v.24XLARGE384"})
    assert plan.details.machine_types == ("BMG5v.24XLARGE384",)
    assert (plan.kind, plan.scratch) == ("fixed", True)


# --- prepaid and THPC


def test_prepaid_months_and_renewal_are_planned(pool: Pool):
    plan = pool(PLACE, **A100, purchase="prepaid", prepaid={"months": 36, "renew": False})
    assert (plan.prepaid_months, plan.prepaid_renew) == (36, False)
    assert "'prepaid' needs an account of the site for China" in " ".join(plan.reasons)


def test_months_that_are_not_sold_are_refused(refused: Refused):
    (problem,) = refused(PLACE, **A100, purchase="prepaid", prepaid={"months": 13})
    assert problem.startswith("prepaid.months: 13 months cannot be paid ahead.")
    assert "12, 24" in problem


def test_a_prepaid_pool_is_of_fixed_size(refused: Refused):
    (problem,) = refused(PLACE, gpu="A10", nodes={"min": 1, "max": 4}, **PREPAID)
    assert problem == (
        "nodes: prepaid nodes are paid for months and not scaled from 1 to 4. Write 'nodes: 4', or buy on demand."
    )


HCCPNV6 = {"instance_type": "HCCPNV6.96XLARGE2304", "interconnect": "rdma"}
SPACE = {"thpc_space_type": "96A.96XLARGE2304"}


def test_types_sold_as_workspaces_are_bought_so(pool: Pool):
    plan = pool(PLACE, **HCCPNV6, **PREPAID, tencentcloud=SPACE)
    assert plan.details.workspace_type == "96A.96XLARGE2304"
    assert plan.details.hpc_cluster is True
    assert "HCCPNV6 is sold by invitation only." in plan.reasons


def test_prepaid_of_such_a_type_needs_a_space_type(refused: Refused):
    (problem,) = refused(PLACE, **HCCPNV6, **PREPAID)
    assert problem.startswith("tencentcloud.thpc_space_type: HCCPNV6.96XLARGE2304 is sold prepaid only as a THPC work")
    assert "'96A.96XLARGE2304'" in problem


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({**HCCPNV6}, "a THPC workspace is paid ahead, not bought by 'purchase: on_demand'. Use 'purchase: prepaid'"),
        ({**A100, **PREPAID}, "GT4.41XLARGE948 is no type of a THPC workspace. Sold so: HCCPNV6 or PNV6."),
    ],
)
def test_a_workspace_for_what_is_not_sold_so_is_refused(values: dict[str, Any], said: str, refused: Refused):
    (problem,) = refused(PLACE, **values, tencentcloud=SPACE)
    assert problem.startswith("tencentcloud.thpc_space_type:")
    assert said in problem


def test_a_region_without_workspaces_is_refused(refused: Refused):
    place = Place("tencentcloud", "ap-singapore", "dev", zone="ap-singapore-3")
    (problem,) = refused(place, **HCCPNV6, **PREPAID, tencentcloud=SPACE)
    assert "ap-singapore has no THPC workspaces." in problem
    assert "ap-shanghai" in problem


# --- spot and on demand


def test_br_067_spot_without_a_price_is_refused_by_the_name_of_the_price(refused: Refused):
    values = {key: value for key, value in SPOT.items() if key != "spot_price_limit"}
    (problem,) = refused(PLACE, **values)
    assert problem.startswith("spot_price_limit: a spot machine needs the most that it may cost an hour")
    assert "spot_max_price" in problem


def test_at_most_ten_types_are_mixed(pool: Pool):
    place = Place("tencentcloud", "ap-guangzhou", "dev", zone="ap-guangzhou-6")
    plan = pool(place, gpu="T4", gpus_per_node=1, nodes={"min": 0, "max": 4}, mix="gpu_memory")
    assert 1 < len(plan.instance_types) <= 10
    assert len(plan.details.machine_types) == len(plan.instance_types)


def test_mixed_purchases_are_two_groups_and_said_so(pool: Pool):
    plan = pool(PLACE, **SPOT, on_demand_nodes=2)
    assert "Two scaling groups: 2 on demand that always run, and up to 6 on spot" in " ".join(plan.reasons)


def test_all_on_demand_is_no_spot_pool(refused: Refused):
    (problem,) = refused(PLACE, **SPOT, on_demand_nodes=8)
    assert problem == (
        "on_demand_nodes: all 8 nodes are on demand, and none is left for spot. Lower it, or set 'purchase: on_demand'."
    )


def test_rdma_on_spot_names_the_ways_that_this_cloud_sells(refused: Refused):
    (problem,) = refused(PLACE, **A100, interconnect="rdma", purchase="spot", spot_price_limit=9, tencentcloud=FULL)
    assert problem.endswith("Use 'purchase: on_demand' or 'prepaid', or remove 'interconnect'.")


# --- disks and keys


def test_br_047_an_elastic_pool_has_no_data_disk_that_nobody_encrypts(refused: Refused):
    (problem,) = refused(PLACE, **SPOT, data_disk_gib=100)
    assert problem.startswith("data_disk_gib: a scaling group of the provider makes no encrypted data disk.")
    assert "'file_system'" in problem


def test_what_cannot_be_encrypted_is_said(pool: Pool):
    assert "cannot ask for encryption of a machine's system disk" in " ".join(pool(PLACE, **A100).reasons)


def test_a_disk_of_a_size_that_is_not_sold_names_the_next(refused: Refused):
    (problem,) = refused(PLACE, **A100, data_disk_gib=1005)
    assert problem.endswith("1010 GiB would do.")


def test_more_than_a_disk_of_the_size_can_do_names_the_size_that_can(refused: Refused):
    (problem,) = refused(PLACE, **A100, data_disk_gib=400, data_disk_mb_per_s=900)
    assert "CLOUD_HSSD 21800 IOPS and 320 MB/s" in problem
    assert "470 GiB would do." in problem


def test_a_key_without_a_disk_that_it_could_encrypt_is_refused(refused: Refused):
    (problem,) = refused(PLACE, **A100, kms_key="23e80852-1e38-11e9-b129-5cb9019b4b01")
    assert problem.startswith("kms_key: there is no disk that it could encrypt")


@pytest.mark.parametrize("key", ["arn:aws:kms:us-east-1:123456789012:key/x", "alias/mine", "23e80852", ""])
def test_a_key_is_named_by_its_id(key: str):
    (problem,) = key_problems(key, "ap-beijing", ("kms_key",))
    assert f"'{key}' is no id of a key of Tencent Cloud." in str(problem)
    assert "Give the id of a key of ap-beijing" in str(problem)
    assert key_problems("23e80852-1e38-11e9-b129-5cb9019b4b01", "ap-beijing", ()) == []


@given(st.integers(1, 3200), st.integers(0, 100_000), st.integers(0, 1000))
def test_the_extra_that_is_bought_does_what_was_needed(tens: int, iops: int, mb_per_s: int):
    size = 10 * tens
    wish: dict[str, Any] = {"data_disk_gib": size}
    wish |= {"data_disk_iops": iops} if iops else {}
    wish |= {"data_disk_mb_per_s": mb_per_s} if mb_per_s else {}
    spec = parse_spec(NodePoolSpec, {"nodes": 1, **A100, **wish})
    plan, problems = plan_node_pool("p", spec, PLACE)
    if plan is None:
        assert [problem.path for problem in problems] == [("data_disk_gib",)]
        return
    assert plan.data_disk is not None
    extra = extra_throughput_mb_per_s(plan.data_disk) or 0
    kind = block_disks("tencentcloud")["CLOUD_HSSD"]
    has = kind.performance(size)
    assert has.throughput_mb_per_s is not None
    assert has.iops is not None
    assert has.throughput_mb_per_s + extra >= mb_per_s
    assert has.iops + 128 * extra >= iops
    assert extra <= 650
    assert extra == 0 or size > 460
    # No more than a whole MiB beyond the need.
    needed = max(mb_per_s - has.throughput_mb_per_s, (iops - has.iops) / 128, 0)
    assert extra <= needed + MB_PER_MIB + 1


# --- what a catalog row promises is planned


@pytest.mark.parametrize("machine", sorted(instance_types("tencentcloud")))
def test_every_type_of_the_catalog_is_planned_or_refused_with_a_remedy(machine: str):
    row = instance_types("tencentcloud")[machine]
    place = PLACE if not row.regions else Place("tencentcloud", row.regions[0], "dev", zone=f"{row.regions[0]}-1")
    wish: dict[str, Any] = {"nodes": 1, "instance_type": machine}
    wish |= {"interconnect": "rdma"} if row.has_rdma else {}
    wish |= {} if "." in machine else {"tencentcloud": {"full_type": f"{machine}.1XLARGE1"}}
    plan, problems = plan_node_pool("p", parse_spec(NodePoolSpec, wish), place)
    assert (plan is None) == bool(problems)
    assert all(problem.remedy for problem in problems)
    if plan is not None:
        assert plan.details.hpc_cluster is machine.startswith("HCC")
