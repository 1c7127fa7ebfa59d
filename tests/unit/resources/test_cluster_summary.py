"""What other stacks need of a cluster."""

from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from gpuyard import TrainingCluster

from .conftest import Recorder

PARTS = {
    "file_system": {"capacity_gib": 2400, "throughput_mb_per_s": 600},
    "checkpoints": {"keep_days": 30, "replicate_to": "us-west-2"},
    "snapshots": {"every_hours": 6, "keep_days": 14},
    "monitoring": {},
}


@pytest.fixture
def summary(build: Callable[..., Any]) -> dict[str, Any]:
    return build(TrainingCluster, **PARTS).summary()


def resolved(value: Any) -> Any:
    """A value with every output in it waited for."""
    found: list[Any] = []

    @pulumi.runtime.test
    def wait() -> pulumi.Output[None]:
        return pulumi.Output.from_input(value).apply(found.append)

    wait()
    return found[0]


def test_a_summary_names_every_part(summary: dict[str, Any]):
    assert resolved(summary) == {
        "network_id": "x-network-vpc-id",
        "subnet_ids": {"us-east-1a": "x-network-private-us-east-1a-id"},
        "node_security_group_id": "x-network-nodes-sg-id",
        "node_pools": {
            "train": {
                "instance_types": ["g5.xlarge"],
                "group_name": "x-train-group",
                "template_id": "x-train-template-id",
                "instance_ids": None,
                "placement_group_name": None,
                "role_arn": "arn:mock:x-train-role",
                "image_id": "ami-1",
                "zones": ["us-east-1a"],
                "security_group_ids": ["x-network-nodes-sg-id"],
                "log_group_name": "x-train-logs",
                "interruption_queue_url": None,
            }
        },
        "file_system": {
            "id": "x-lustre-id",
            "mount_command": "sudo mount -t lustre -o relatime,flock x-lustre.example@tcp:/mnt /fsx",
            "mount_protocol": "lustre",
            "throughput_mb_per_s": 600,
        },
        "checkpoints": {"uri": "s3://x-checkpoints/checkpoints", "replica": "x-replica"},
        "snapshots": {"policy_id": "x-snapshots-id"},
        "monitoring": {"topic_arn": "arn:mock:x-messages", "dashboard_name": "x-messages"},
    }


def test_a_summary_leaves_out_what_there_is_not(build: Callable[..., Any]):
    found = build(TrainingCluster).summary()
    assert not {"file_system", "checkpoints", "snapshots", "monitoring"} & set(found)


def test_nothing_in_a_summary_is_secret(summary: dict[str, Any]):
    secrets: list[bool] = []

    @pulumi.runtime.test
    def look() -> pulumi.Output[None]:
        whole = pulumi.Output.from_input(summary)

        async def secret() -> bool:
            return await whole.is_secret()

        return pulumi.Output.from_input(secret()).apply(secrets.append)

    look()
    assert secrets == [False]


def test_the_parts_of_a_cluster_are_its_children(summary: dict[str, Any], recorder: Recorder):
    components = {kind.rsplit(":", 1)[1]: name for kind, name, _ in recorder.registered if kind.startswith("gpuyard:")}
    assert summary
    assert components == {
        "TrainingCluster": "x",
        "ClusterNetwork": "x-network",
        "CheckpointStore": "x",
        "ParallelFileSystem": "x",
        "GpuNodePool": "x-train",
        "SnapshotPolicy": "x",
        "GpuMonitoring": "x",
    }
