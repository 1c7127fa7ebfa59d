"""How many nodes a pool has, and what changes that."""

from typing import Any

import pytest

from gpuyard.planning.pool_size import is_cron

from .conftest import Pool, Refused

ELASTIC: dict[str, Any] = {"gpu": "A10G", "gpus_per_node": 1, "nodes": {"min": 0, "max": 4}, "purchase": "spot"}
FIXED: dict[str, Any] = {"instance_type": "p4d.24xlarge", "nodes": 4, "interconnect": "rdma"}


def test_the_size_to_begin_with_is_between_the_limits(pool: Pool, refused: Refused) -> None:
    found = pool(**{**ELASTIC, "nodes": {"min": 1, "max": 4, "desired": 2}})
    assert (found.min_nodes, found.desired_nodes, found.max_nodes) == (1, 2, 4)
    assert refused(**{**ELASTIC, "nodes": {"min": 1, "max": 4, "desired": 5}}) == [
        "nodes.desired: 5 is not between min 1 and max 4. Choose a number between them."
    ]


def test_a_pool_of_fixed_size_has_nothing_to_begin_with(refused: Refused) -> None:
    assert refused(**{**FIXED, "nodes": {"min": 4, "max": 4, "desired": 4}}) == [
        "nodes.desired: a pool of fixed size has nothing to begin with. Remove it."
    ]


def test_br_103_spare_nodes_are_bought_and_their_cost_is_said(pool: Pool) -> None:
    found = pool(**FIXED, spare_nodes=1)
    assert (found.min_nodes, found.max_nodes, found.spare_nodes) == (5, 5, 1)
    assert "4 nodes and 1 spare: 25% more cost." in found.reasons


def test_an_elastic_pool_has_no_spare_nodes(refused: Refused) -> None:
    assert refused(**ELASTIC, spare_nodes=1) == [
        "spare_nodes: an elastic pool gets new nodes by itself and has no spare ones. Raise 'nodes.max', or remove it."
    ]


def test_spare_nodes_count_towards_a_capacity_block(refused: Refused) -> None:
    block = {"purchase": "capacity_block", "reservation": {"id": "cr-1"}, "spare_nodes": 1}
    (message,) = refused(**{**FIXED, "nodes": 64}, **block)
    assert message.startswith("nodes: a capacity block holds a fixed number of nodes up to 64.")


def test_on_demand_nodes_are_the_base_of_a_spot_pool(pool: Pool, refused: Refused) -> None:
    assert pool(**ELASTIC, on_demand_nodes=1).on_demand_nodes == 1
    assert refused(**{**ELASTIC, "purchase": "on_demand"}, on_demand_nodes=1) == [
        "on_demand_nodes: is for spot pools, and this one is bought by 'purchase: on_demand'. Set 'purchase: spot', or "
        "remove it."
    ]
    assert refused(**ELASTIC, on_demand_nodes=5) == [
        "on_demand_nodes: 5 is more than the pool's 4 nodes at most. Lower it, or raise 'nodes.max'."
    ]


def test_the_short_notice_of_spot_is_said_where_a_checkpoint_may_take_longer(pool: Pool) -> None:
    (reason,) = [reason for reason in pool(**ELASTIC).reasons if "notice" in reason]
    assert reason == (
        "A spot node ends 120 s after its notice, though the scaler waits 600 s: write checkpoints within 120 s, or "
        "begin at the earlier rebalance recommendation."
    )
    assert not [reason for reason in pool(**ELASTIC, checkpoint_seconds=120).reasons if "notice" in reason]


# --- scaling


def test_a_pool_of_fixed_size_is_not_scaled(refused: Refused) -> None:
    assert refused(**FIXED, scaling={"gpu_utilization_percent": 60}) == [
        "scaling: a pool of fixed size is not scaled. Give 'nodes' a min and a max and no RDMA, or remove it."
    ]


def test_utilization_cannot_bring_the_first_node(pool: Pool, refused: Refused) -> None:
    assert refused(**ELASTIC, scaling={"gpu_utilization_percent": 60}) == [
        "scaling.gpu_utilization_percent: an empty pool has no GPU whose utilization could bring its first node. Set "
        "'nodes.min' to 1 or more, or add 'queue' or a 'schedule' that starts one."
    ]
    started: dict[str, Any] = {"schedule": {"day": {"cron": "0 8 * * *", "desired": 1}}}
    for more in ({"queue": {"name": "jobs", "jobs_per_node": 2}}, started):
        assert pool(**ELASTIC, scaling={"gpu_utilization_percent": 60, **more}).scaling is not None
    assert pool(**{**ELASTIC, "nodes": {"min": 1, "max": 4}}, scaling={"gpu_utilization_percent": 60}).min_nodes == 1


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"cron": "0 8 * * *"}, ": changes nothing. Give 'min', 'max' or 'desired'."),
        ({"cron": "0 8 * * *", "min": 5}, ": min 5 is more than max 4. Exchange or raise them."),
        (
            {"cron": "0 8 * * *", "desired": 9},
            ".desired: 9 is not between min 0 and max 4. Choose a number between them.",
        ),
        (
            {"cron": "0 8 * * *", "max": 0, "time_zone": "Mars/Olympus"},
            ".time_zone: 'Mars/Olympus' is no time zone. Write an IANA name such as Europe/Berlin.",
        ),
        (
            {"cron": "0 25 * * *", "max": 0},
            ".cron: '0 25 * * *' is no cron expression of five fields. Write minute, hour, day of month, month and day "
            "of week, such as '0 8 * * MON-FRI'.",
        ),
    ],
)
def test_a_scheduled_size_that_cannot_be_is_one_clear_problem(
    size: dict[str, Any], message: str, refused: Refused
) -> None:
    assert refused(**ELASTIC, scaling={"schedule": {"night": size}}) == [f"scaling.schedule.night{message}"]


def test_a_schedule_may_raise_its_own_limits(pool: Pool) -> None:
    night = {"cron": "0 20 * * MON-FRI", "time_zone": "Asia/Shanghai", "min": 2, "max": 8, "desired": 6}
    found = pool(**ELASTIC, scaling={"schedule": {"night": night}}).scaling
    assert found is not None
    assert found.schedule["night"].desired == 6


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("0 8 * * MON-FRI", True),
        ("*/15 0-6 1,15 * *", True),
        ("0 0 31 2 *", False),
        ("0 8 * * MON-FRI 2026", False),
        ("@daily", False),
        ("", False),
        ("a b c d e", False),
    ],
)
def test_cron_expressions(text: str, right: bool) -> None:
    assert is_cron(text) is right


# --- what is kept, and how long


def test_the_scaler_waits_within_the_clouds_limits(pool: Pool) -> None:
    assert pool(**ELASTIC, checkpoint_seconds=7200).checkpoint_seconds == 7200


@pytest.mark.parametrize(("days", "near"), [(2, "1 or 3"), (33, "30 or 60"), (10_000, "3653")])
def test_logs_are_kept_as_long_as_a_log_group_can(days: int, near: str, refused: Refused) -> None:
    (message,) = refused(**ELASTIC, log_keep_days=days)
    assert message.startswith(f"log_keep_days: logs cannot be kept {days} days. Nearest: {near} (source: ")


def test_a_pools_own_key_is_of_its_region(refused: Refused) -> None:
    (message,) = refused(**ELASTIC, kms_key="arn:aws:kms:eu-west-1:123456789012:key/1")
    assert message.startswith("kms_key: the key is of eu-west-1, what it encrypts is in us-east-1.")


# --- machines that a pool may mix


def test_types_with_the_same_memory_are_mixed_where_asked(pool: Pool) -> None:
    same = {row.gpu_model for row in pool(**ELASTIC).instance_types}
    mixed = pool(**ELASTIC, mix="gpu_memory")
    assert same == {"A10G"}
    assert {row.gpu_model for row in mixed.instance_types} == {"A10G", "L4"}
    assert mixed.instance_type.gpu_model == "A10G", "what was asked for comes first"
    assert {row.gpu_count for row in mixed.instance_types} == {1}
    assert {row.bare_metal for row in mixed.instance_types} == {False}
    assert any("each has 1 × L4" in reason for reason in mixed.reasons)


def test_a_machine_without_disks_of_its_own_gets_no_scratch_volume(pool: Pool) -> None:
    assert pool(**ELASTIC).scratch is True
    assert pool(**ELASTIC, local_disk="none").scratch is False
    no_disks = pool(instance_type="g5g.xlarge", image="ami-00000000000000001")
    assert no_disks.scratch is False


# --- bare metal


def test_bare_metal_is_a_pool_of_its_own(pool: Pool) -> None:
    found = pool(gpu="T4", bare_metal=True)
    assert [row.instance_type for row in found.instance_types] == ["g4dn.metal"]
    assert found.kind == "fixed"
    mixed = pool(gpu="T4", nodes={"min": 0, "max": 2}, purchase="spot")
    assert not any(row.bare_metal for row in mixed.instance_types), "and is never mixed with virtual machines"


def test_bare_metal_can_be_joined_by_efa(pool: Pool) -> None:
    found = pool(gpu="T4", bare_metal=True, interconnect="rdma")
    assert [(one.network_card_index, one.device_index, one.interface_type) for one in found.interfaces] == [
        (0, 0, "interface"),
        (0, 1, "efa-only"),
    ]
