"""What stops an update before anything exists: bad input, without any engine, and the policy pack on the real one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.changes import apply_changes
from tests.engine.conftest import Sandbox
from tests.engine.test_commands import gpuyard

RAW_POOL = """
    import pulumi_aws as aws
    template = aws.ec2.LaunchTemplate(
        "trainers", instance_type="{instance_type}", tags={{"gpuyard:task": "{task}"}}
    )
    aws.autoscaling.Group(
        "trainers", min_size=2, max_size=2, availability_zones=["us-east-1a"],
        launch_template={{"id": template.id, "version": "$Latest"}},
    )
"""
COMPONENT_POOL = """
    from gpuyard import GpuNodePool
    GpuNodePool("trainers", {{
        "region": "us-east-1", "zone": "us-east-1a", "instance_type": "{instance_type}", "nodes": 2,
        "workload": {{"task": "{task}"}}, "subnet_ids": ["subnet-1"], "security_group_ids": ["sg-1"],
    }})
"""
Program = Callable[..., Sandbox]
# Of raw resources that are right in what a test is about, and nothing else: what prod demands besides is advice.
DEVELOPMENT = "profile: dev\n"
# Of a stack: what is changed at dotted paths ('...' takes a key out), the key that is wrong, and what is said of it.
BAD_INPUT: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "wrong capacity step": (
        "aws-staging",
        {"file_system.capacity_gib": 3_600},
        "file_system.capacity_gib",
        "PERSISTENT_2 cannot have 3600 GiB. Nearest: 2400 or 4800 (allowed: 1200 or a multiple of 2400).",
    ),
    "cluster placement with spot": (
        "aws-prod",
        {"node_pools.prepare.placement": "cluster"},
        "node_pools.prepare.placement",
        "'placement: cluster' does not go with 'purchase: spot'",
    ),
    "RDMA with two zones": (
        "aws-prod",
        {"node_pools.train.zones": ["us-east-1d", "us-east-1a"]},
        "node_pools.train.zones",
        "RDMA stays in one zone, but the pool names 2: us-east-1d, us-east-1a.",
    ),
    "a type that the region does not have": (
        "aws-prod",
        {
            "node_pools.train.gpu": ...,
            "node_pools.train.gpus_per_node": ...,
            "node_pools.train.instance_type": "p5e.48xlarge",
        },
        "node_pools.train.instance_type",
        "p5e.48xlarge is not offered in us-east-1. It is in: ",
    ),
    "snapshot interval that is not allowed": (
        "aws-staging",
        {"snapshots.every_hours": 5},
        "snapshots.every_hours",
        "a snapshot every 5 hours is not offered. Allowed: 1, 2, 3, 4, 6, 8, 12 or 24",
    ),
    "retention 0": ("aws-staging", {"snapshots.keep_days": 0}, "snapshots.keep_days", "should be at least 1, not 0."),
    "two times for snapshots": (
        "aws-prod",
        {"snapshots.hours_utc": [3]},
        "snapshots.hours_utc",
        "'every_hours' and 'hours_utc' each say when a snapshot is made. Keep one of them.",
    ),
    "fast restore in a zone of another region": (
        "aws-prod",
        {"snapshots.aws": {"fast_restore": {"zones": ["us-west-2a"]}}},
        "snapshots.aws.fast_restore.zones[0]",
        "'us-west-2a' is no zone of us-east-1.",
    ),
    "an empty pool that waits for its own GPUs": (
        "aws-dev",
        {"node_pools.try.scaling": {"gpu_utilization_percent": 70}},
        "node_pools.try.scaling.gpu_utilization_percent",
        "an empty pool has no GPU whose utilization could bring its first node.",
    ),
    "a schedule that no clock knows": (
        "aws-dev",
        {"node_pools.try.scaling.schedule.weekend.cron": "0 20 * *"},
        "node_pools.try.scaling.schedule.weekend.cron",
        "'0 20 * *' is no cron expression of five fields.",
    ),
    "more nodes to begin with than may be": (
        "aws-prod",
        {"node_pools.prepare.nodes.desired": 9},
        "node_pools.prepare.nodes.desired",
        "9 is not between min 1 and max 8.",
    ),
    "logs kept for days that are not offered": (
        "aws-prod",
        {"node_pools.train.log_keep_days": 31},
        "node_pools.train.log_keep_days",
        "logs cannot be kept 31 days. Nearest: 30 or 60",
    ),
    "tiers in an order that S3 refuses": (
        "aws-prod",
        {"checkpoints.prefixes.releases.tiers.deep_archive": 20},
        "checkpoints.prefixes.releases.tiers.infrequent",
        "an object in DEEP_ARCHIVE from day 20 cannot move on to STANDARD_IA on day 30.",
    ),
    "metadata IOPS that are not offered": (
        "aws-prod",
        {"file_system.metadata_iops": 1_000},
        "file_system.metadata_iops",
        "1000 metadata IOPS are not offered. Nearest: 12000.",
    ),
    "Lustre over RDMA to machines that cannot": (
        "aws-prod",
        {"file_system.rdma": True},
        "file_system.rdma",
        "p4de.24xlarge of pool 'train' has EFA, but does not reach a file system over it.",
    ),
    "a key of another region": (
        "aws-prod",
        {"node_pools.train.kms_key": "arn:aws:kms:us-west-2:123456789012:key/1"},
        "node_pools.train.kms_key",
        "the key is of us-west-2, what it encrypts is in us-east-1.",
    ),
    "a budget in another currency": (
        "aws-prod",
        {"monitoring.budget.currency": "CNY"},
        "monitoring.budget.currency",
        "costs in us-east-1 are in USD, not in CNY.",
    ),
    "an alarm that never rings": (
        "aws-prod",
        {"monitoring.gpu_memory_above_percent": 100},
        "monitoring.gpu_memory_above_percent",
        "nothing is ever more than 100 % full: no message would come. Use at most 99.",
    ),
}


def line_of(path: Path, dotted: str) -> int:
    """The line of a stack file that the key or the entry of a list at a dotted path is on."""
    at = YAML().load(path.read_text())["config"]["gpuyard:cluster"]
    line = 0
    for part in dotted.replace("[", ".").replace("]", "").split("."):
        place = int(part) if part.isdigit() else part
        line = at.lc.key(place)[0] if isinstance(place, str) else at.lc.item(place)[0]
        at = at[place]
    return line + 1


@pytest.mark.parametrize("what", BAD_INPUT)
def test_bad_input_is_one_clear_error_before_the_engine_is_called(
    project_copy: Path, tmp_path: Path, what: str
) -> None:
    stack, changes, key, message = BAD_INPUT[what]
    path = project_copy / "stacks" / f"Pulumi.{stack}.yaml"
    yaml = YAML()
    data = yaml.load(path.read_text())
    apply_changes(data["config"]["gpuyard:cluster"], changes)
    with path.open("w") as file:
        yaml.dump(data, file)
    # There is no engine to call: neither on PATH nor in the cache, and nothing to get one with.
    up = gpuyard("up", stack, root=project_copy, PATH=str(tmp_path), GPUYARD_CACHE=str(tmp_path), GPUYARD_PULUMI="")
    assert up.returncode == 2, up.stderr
    assert up.stdout == ""
    first, second, *_ = up.stderr.splitlines()
    assert first == "1 problem, nothing was started:"
    assert second.startswith(f"  stacks/{path.name}:{line_of(path, key)}: gpuyard:cluster.{key}: "), up.stderr
    assert message in " ".join(up.stderr.split())
    assert "Traceback" not in up.stderr
    assert not (project_copy / ".sandbox").exists()


@pytest.mark.parametrize("pool", [RAW_POOL, COMPONENT_POOL], ids=["raw", "component"])
def test_multi_gpu_training_without_nvlink_is_rejected(program: Program, pool: str) -> None:
    sandbox = program(pool.format(instance_type="g5.12xlarge", task="pretrain"))
    up = sandbox.up("test")
    assert up.code != 0
    assert "[FAB001]" in up.output
    assert "trains (pretrain) on g5.12xlarge, whose 4 × A10G are joined by pcie only" in up.output
    assert "mandatory" in up.output
    assert sandbox.cloud() == [], "nothing may exist after a rejected update"


@pytest.mark.parametrize("pool", [RAW_POOL, COMPONENT_POOL], ids=["raw", "component"])
def test_training_with_nvswitch_and_serving_without_pass(program: Program, pool: str) -> None:
    for instance_type, task in (("p4d.24xlarge", "pretrain"), ("g5.12xlarge", "inference")):
        sandbox = program(pool.format(instance_type=instance_type, task=task))
        (sandbox.root / "gpuyard-policy.yaml").write_text(DEVELOPMENT)
        preview = sandbox.run("test", "preview")
        assert preview.code == 0, preview.output
        assert "[FAB001]" not in preview.output


@pytest.mark.parametrize(
    "storage",
    [
        'aws.s3.Bucket("data", region="eu-west-1")',
        'aws.fsx.LustreFileSystem("data", region="eu-west-1", subnet_ids="subnet-9", storage_capacity=1200)',
        'aws.s3.Bucket("data", opts=pulumi.ResourceOptions(provider=aws.Provider("eu", region="eu-west-1")))',
        'gpuyard.CheckpointStore("data", {"region": "eu-west-1", "keep_days": 7})',
    ],
    ids=["raw bucket", "raw file system", "raw bucket of a provider", "component"],
)
def test_storage_in_another_region_is_rejected(program: Program, storage: str) -> None:
    pool = RAW_POOL.format(instance_type="p4d.24xlarge", task="pretrain")
    sandbox = program(f"{pool}\n    import gpuyard, pulumi\n    {storage}\n")
    up = sandbox.up("test")
    assert up.code != 0
    assert "[STO001]" in up.output
    assert "is in eu-west-1, but the nodes that use it are in us-east-1" in up.output
    assert sandbox.cloud() == []


def test_the_replica_of_a_bucket_may_be_elsewhere(program: Program) -> None:
    pool = RAW_POOL.format(instance_type="p4d.24xlarge", task="pretrain")
    sandbox = program(
        f"""{pool}
    here = aws.s3.Bucket("here")
    there = aws.s3.Bucket("there", region="eu-west-1")
    aws.s3.BucketReplicationConfig("copy", bucket=here.id, role="arn:aws:iam::123456789012:role/copy", rules=[
        {{"status": "Enabled", "destination": {{"bucket": there.arn}}}}])
    """
    )
    (sandbox.root / "gpuyard-policy.yaml").write_text(DEVELOPMENT)
    preview = sandbox.run("test", "preview")
    assert preview.code == 0, preview.output
    assert "[STO001]" not in preview.output


def test_unknown_values_are_reported_as_cannot_tell_yet_and_stop_nothing(program: Program) -> None:
    sandbox = program(
        """
        import pulumi_aws as aws
        name = aws.ec2.Vpc("anything").owner_id
        aws.ec2.Instance("late", instance_type=name, ami="ami-1", tags={"gpuyard:task": "pretrain"})
        aws.ec2.Instance("bad", instance_type="g5.48xlarge", ami="ami-1", tags={"gpuyard:task": "pretrain"})
        """
    )
    preview = sandbox.run("test", "preview")
    assert (
        "cannot tell yet what machines pool 'late' has: 'instanceType' is known only after the update" in preview.output
    )
    assert "pool 'bad' trains (pretrain) on g5.48xlarge" in preview.output, "one unknown must not hide the next pool"
    assert preview.code != 0


def test_no_known_work_is_said_once_and_is_no_pass(program: Program) -> None:
    sandbox = program(
        """
        import pulumi_aws as aws
        for name in ("one", "two"):
            aws.ec2.Instance(name, instance_type="g5.48xlarge", ami="ami-1")
        """
    )
    (sandbox.root / "gpuyard-policy.yaml").write_text(DEVELOPMENT)
    preview = sandbox.run("test", "preview")
    assert preview.code == 0, preview.output
    told = [line for line in preview.output.splitlines() if "[FAB001]" in line]
    assert len(told) == 1
    assert "no work is known for 2 pool(s) (one, two)" in told[0]


def test_wrong_program_value_is_one_error_without_traceback(program: Program) -> None:
    sandbox = program(
        """
        from gpuyard import CheckpointStore
        CheckpointStore("store", {"region": "us-east-1", "keep_day": 7})
        """
    )
    preview = sandbox.run("test", "preview")
    assert preview.code != 0
    assert "keep_day: unknown key 'keep_day'. Did you mean 'keep_days'?" in preview.output
    assert "Traceback" not in preview.output
