"""Arguments of the components: wrong ones are named, all together, before anything is registered."""

from collections.abc import Callable
from typing import Any

import pulumi
import pytest
from pulumi.provider.experimental.analyzer import Analyzer

from gpuyard import (
    CheckpointStore,
    ClusterNetwork,
    GpuNodePool,
    ParallelFileSystem,
    SnapshotPolicy,
    SpecError,
    TrainingCluster,
)
from gpuyard.resources import args
from gpuyard.spec import models

from .conftest import PARTS, SMALLEST, Recorder

Build = Callable[..., Any]
LATER = "is known only after the update, but the plan needs it before. Give a plain value."


def later(value: Any) -> pulumi.Output[Any]:
    return pulumi.Output.from_input(value)


def refused(build: Build, recorder: Recorder, component: Any, **changes: Any) -> list[str]:
    with pytest.raises(SpecError) as caught:
        build(component, **changes)
    assert recorder.registered == []
    return [str(problem) for problem in caught.value.problems]


def test_a_clusters_arguments_are_the_fields_of_the_spec():
    given = args.TrainingClusterArgs
    assert set(given.__required_keys__ | given.__optional_keys__) == set(models.ClusterSpec.model_fields)


def test_br_086_the_analyzer_accepts_every_component():
    found = Analyzer("gpuyard").analyze(list(SMALLEST))["component_definitions"]
    assert "TrainingCluster" in found


@pytest.mark.parametrize(
    ("changes", "path"),
    [({"region": later("us-east-1")}, "region"), ({"checkpoints": {"keep_days": later(3)}}, "checkpoints.keep_days")],
)
def test_an_output_in_a_clusters_description_is_named(
    changes: dict[str, Any], path: str, build: Build, recorder: Recorder
):
    assert refused(build, recorder, TrainingCluster, **changes) == [f"{path}: {LATER}"]


@pytest.mark.parametrize("key", ["subnet_ids", "security_group_ids"])
def test_a_list_of_ids_may_be_one_output(key: str, build: Build, recorder: Recorder):
    build(GpuNodePool, **{key: later(["id-9"])})
    assert "id-9" in str(recorder.inputs("Group")) + str(recorder.inputs("LaunchTemplate"))


@pytest.mark.parametrize(
    ("component", "key"),
    [
        (GpuNodePool, "subnet_ids"),
        (GpuNodePool, "security_group_ids"),
        (ParallelFileSystem, "subnet_id"),
        (ParallelFileSystem, "security_group_ids"),
        (ClusterNetwork, "zones"),
    ],
)
def test_a_missing_id_is_named_before_anything_is_registered(
    component: Any, key: str, build: Build, recorder: Recorder
):
    assert refused(build, recorder, component, **{key: ...}) == [f"{key}: is missing. It must be given."]


@pytest.mark.parametrize(
    ("component", "key", "value"),
    [
        (GpuNodePool, "security_group_ids", "sg-1"),
        (GpuNodePool, "subnet_ids", "subnet-1"),
        (ClusterNetwork, "zones", "us-east-1a"),
        (ClusterNetwork, "ssh_from", "10.0.0.0/8"),
    ],
)
def test_a_text_is_no_list(component: Any, key: str, value: str, build: Build, recorder: Recorder):
    assert refused(build, recorder, component, **{key: value}) == [f"{key}: should be a list, not {value!r}."]


@pytest.mark.parametrize("component", [CheckpointStore, ParallelFileSystem], ids=lambda one: one.__name__)
def test_br_083_protect_data_written_as_text(component: Any, build: Build, recorder: Recorder):
    assert refused(build, recorder, component, protect_data="yes") == [
        "protect_data: should be true or false, not 'yes'."
    ]


def test_br_083_a_file_system_flag_written_as_text(build: Build, recorder: Recorder):
    build(ClusterNetwork, file_system="false")
    groups = [name for kind, name, _ in recorder.registered if kind.endswith(":SecurityGroup")]
    assert groups == ["x-nodes-sg"]


@pytest.mark.parametrize("component", PARTS, ids=lambda one: one.__name__)
def test_reserved_tags_are_refused_by_every_component(component: Any, build: Build, recorder: Recorder):
    assert refused(build, recorder, component, tags={"aws:x": "y"})[0].startswith("tags.aws:x: tag keys that begin")


@pytest.mark.parametrize("component", [GpuNodePool, ParallelFileSystem], ids=lambda one: one.__name__)
def test_a_zone_of_another_region_is_refused_by_every_component(component: Any, build: Build, recorder: Recorder):
    assert "'eu-west-1a' is no zone of us-east-1." in refused(build, recorder, component, zone="eu-west-1a")[0]


def test_zones_of_a_network_are_checked(build: Build, recorder: Recorder):
    assert "'eu-west-1a' is no zone of us-east-1." in refused(build, recorder, ClusterNetwork, zones=["eu-west-1a"])[0]


@pytest.mark.parametrize("zones", [[], 3, ["us-east-1a", "us-east-1a"]])
def test_zones_of_a_network_are_a_list_of_different_ones(zones: Any, build: Build, recorder: Recorder):
    assert refused(build, recorder, ClusterNetwork, zones=zones)


@pytest.mark.parametrize("tags", ["backup", {"backup": 3}, ["backup"]])
def test_target_tags_are_a_mapping_of_texts(tags: Any, build: Build, recorder: Recorder):
    assert refused(build, recorder, SnapshotPolicy, target_tags=tags)


def test_br_002_an_rdma_pool_needs_a_security_group(build: Build, recorder: Recorder):
    (message,) = refused(build, recorder, GpuNodePool, interconnect="rdma", security_group_ids=[])
    assert message.startswith("security_group_ids: ")


@pytest.mark.parametrize("component", PARTS, ids=lambda one: one.__name__)
def test_a_misspelled_region_is_suggested(component: Any, build: Build, recorder: Recorder):
    values = {"region": ..., "regoin": "us-east-1"}
    assert "regoin: unknown key 'regoin'. Did you mean 'region'?" in refused(build, recorder, component, **values)


@pytest.mark.parametrize("component", PARTS, ids=lambda one: one.__name__)
def test_all_problems_of_a_component_come_together(component: Any, build: Build, recorder: Recorder):
    assert len(refused(build, recorder, component, environment="production", zzzz=1)) == 2
