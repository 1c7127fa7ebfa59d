"""Wrong arguments are one error with every problem, before anything is registered."""

from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from gpuyard import (
    CheckpointStore,
    ClusterNetwork,
    GpuNodePool,
    ParallelFileSystem,
    SnapshotPolicy,
    SpecError,
    TrainingCluster,
)

from .conftest import PARTS, Recorder

LATER = "is known only after the update, but the plan needs it before. Give a plain value."
Build = Callable[..., Any]


def later(value: Any) -> pulumi.Output[Any]:
    return pulumi.Output.from_input(value)


@pytest.fixture
def refused(build: Build, recorder: Recorder) -> Callable[..., list[str]]:
    """The problems of arguments that must be wrong, with nothing registered."""

    def make(component: Any, **changes: Any) -> list[str]:
        with pytest.raises(SpecError) as caught:
            build(component, **changes)
        assert recorder.registered == []
        assert recorder.outputs == {}
        return [str(problem) for problem in caught.value.problems]

    return make


@pytest.mark.parametrize("component", PARTS, ids=lambda one: one.__name__)
def test_smallest_arguments_are_right(component: Any, build: Build, recorder: Recorder):
    build(component)
    assert recorder.registered[0][:2] == (f"gpuyard:index:{component.__name__}", "x")
    assert len(recorder.registered) > 1


def test_the_smallest_cluster_is_right(build: Build, recorder: Recorder):
    build(TrainingCluster)
    assert [name for kind, name, _ in recorder.registered if kind == "gpuyard:index:GpuNodePool"] == ["x-train"]


@pytest.mark.parametrize("component", PARTS, ids=lambda one: one.__name__)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"region": ...}, "region: is missing. It must be given."),
        ({"region": "us-east2"}, "region: 'us-east2' is no region of aws. Did you mean 'us-east-2'?"),
        ({"region": 3}, "region: should be text, not 3."),
        ({"cloud": "gcp"}, "cloud: 'gcp' is not allowed. Allowed: aws, alicloud or tencentcloud."),
        ({"environment": "production"}, "environment: 'production' is not allowed. Allowed: dev, staging or prod."),
        ({"tags": {"team": 3}}, "tags.team: should be text, not 3."),
    ],
)
def test_a_wrong_place_is_refused(
    component: Any, changes: dict[str, Any], message: str, refused: Callable[..., list[str]]
):
    assert refused(component, **changes) == [message]


@pytest.mark.parametrize("component", PARTS, ids=lambda one: one.__name__)
def test_an_unknown_key_is_refused(component: Any, refused: Callable[..., list[str]]):
    (message,) = refused(component, keep_dayz=1)
    assert message.startswith("keep_dayz: unknown key 'keep_dayz'. ")


@pytest.mark.parametrize(
    ("component", "changes", "path"),
    [
        (ClusterNetwork, {"region": later("us-east-1")}, "region"),
        (ClusterNetwork, {"zones": ["us-east-1a", later("us-east-1b")]}, "zones[1]"),
        (GpuNodePool, {"gpu": later("A10")}, "gpu"),
        (GpuNodePool, {"nodes": {"min": later(1), "max": 2}}, "nodes.min"),
        (GpuNodePool, {"tags": {"team": later("x")}}, "tags.team"),
        (ParallelFileSystem, {"capacity_gib": later(1200)}, "capacity_gib"),
        (CheckpointStore, {"keep_days": later(3)}, "keep_days"),
        (CheckpointStore, {"protect_data": later(True)}, "protect_data"),
        (SnapshotPolicy, {"target_tags": {"backup": later("yes")}}, "target_tags.backup"),
    ],
)
def test_an_output_where_a_plain_value_is_needed_is_named(
    component: Any, changes: dict[str, Any], path: str, refused: Callable[..., list[str]]
):
    assert refused(component, **changes) == [f"{path}: {LATER}"]


def test_every_output_is_named_at_once(refused: Callable[..., list[str]]):
    found = refused(GpuNodePool, gpu=later("A10"), zone=later("us-east-1a"), purchase=later("spot"))
    assert sorted(found) == [f"gpu: {LATER}", f"purchase: {LATER}", f"zone: {LATER}"]


@pytest.mark.parametrize(
    ("component", "changes", "message"),
    [
        (
            ClusterNetwork,
            {"cidr": "8.8.0.0/16"},
            "network.cidr: 8.8.0.0/16 is no private IPv4 network. Use one inside 10.0.0.0/8, 172.16.0.0/12 or "
            "192.168.0.0/16.",
        ),
        (
            GpuNodePool,
            {"instance_type": "g5.xlarge", "gpus_per_node": 8},
            "gpus_per_node: g5.xlarge has 1 GPUs, not 8. These fit: g5.48xlarge.",
        ),
        (
            ParallelFileSystem,
            {"capacity_gib": 3600},
            "capacity_gib: PERSISTENT_2 cannot have 3600 GiB. Nearest: 2400 or 4800 (allowed: 1200 or a multiple of "
            "2400).",
        ),
        (
            CheckpointStore,
            {"replicate_to": "us-east-1"},
            "replicate_to: a copy in us-east-1 itself survives no loss of the region. Name another region.",
        ),
        (
            SnapshotPolicy,
            {"copy_keep_days": 3},
            "copy_keep_days: there is no copy to keep. Set 'copy_to', or remove it.",
        ),
        (SnapshotPolicy, {"target_tags": {}}, "target_tags: should have at least 1 entry, not an empty mapping."),
        (
            TrainingCluster,
            {"zone": "us-west-2a"},
            "zone: 'us-west-2a' is no zone of us-east-1. A zone there is written like 'us-east-1a', or as a zone id.",
        ),
        (TrainingCluster, {"regoin": "x"}, "regoin: unknown key 'regoin'. Did you mean 'region'?"),
    ],
)
def test_what_cannot_be_built_is_refused(
    component: Any, changes: dict[str, Any], message: str, refused: Callable[..., list[str]]
):
    assert refused(component, **changes)[0] == message


def test_ssh_from_the_internet_is_refused(refused: Callable[..., list[str]]):
    (message,) = refused(ClusterNetwork, ssh_from=["0.0.0.0/0"])
    assert "0.0.0.0/0 opens SSH to the whole internet." in message


def test_ids_may_be_outputs(build: Build, recorder: Recorder):
    ids: Any = {"subnet_ids": [later("subnet-9")], "security_group_ids": [later("sg-9")], "bucket_name": later("b")}
    build(GpuNodePool, **ids)
    assert recorder.inputs("Group")["vpcZoneIdentifiers"] == ["subnet-9"]
    assert recorder.inputs("LaunchTemplate")["networkInterfaces"][0]["securityGroups"] == ["sg-9"]
    policies = [inputs["policy"] for kind, _, inputs in recorder.registered if kind.endswith(":RolePolicy")]
    assert any("arn:aws:s3:::b/checkpoints/*" in policy for policy in policies)


@pytest.mark.parametrize(("environment", "asked", "protected"), [("dev", ..., False), ("prod", ..., True)])
def test_a_bucket_is_force_destroyed_in_dev_only(
    environment: str, asked: Any, protected: bool, build: Build, recorder: Recorder
):
    build(CheckpointStore, environment=environment, protect_data=asked)
    assert recorder.inputs("Bucket")["forceDestroy"] is not protected
