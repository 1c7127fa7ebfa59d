"""The policy pack stops an update on the real engine: on raw resources and on components, before anything exists."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.engine.conftest import Sandbox

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
        preview = program(pool.format(instance_type=instance_type, task=task)).run("test", "preview")
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
    preview = sandbox.run("test", "preview")
    assert preview.code == 0, preview.output
    assert preview.output.count("no work is known for 2 pool(s) (one, two)") == 1


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
