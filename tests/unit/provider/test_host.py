"""The provider builds components from what any language sends, and says what is wrong in the words of the program."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest
from pulumi.errors import InputPropertiesError
from pulumi.runtime import mocks

from gpuyard import __version__
from gpuyard.provider.host import GpuyardProvider
from tests.unit.resources.conftest import Recorder

PROVIDER = GpuyardProvider()


@pytest.fixture
def recorder() -> Recorder:
    found = Recorder()
    mocks.set_mocks(found.mocks, "gpuyard", "trial", preview=False, monitor=found)
    return found


def construct(component: str, make: Any) -> dict[str, Any]:
    """The outputs of a component made of what ``make`` gives; outputs belong to the program that they are made in."""
    state: dict[str, Any] = {}

    @mocks.test
    def program() -> Any:
        result = PROVIDER.construct("x", f"gpuyard:index:{component}", make() if callable(make) else make)
        return pulumi.Output.all(**result.state).apply(state.update)

    program()
    return state


def refused(component: str, make: Any, recorder: Recorder) -> tuple[str, dict[str, str]]:
    with pytest.raises(InputPropertiesError) as caught:
        construct(component, make)
    assert recorder.registered == []
    return caught.value.message, {one["property_path"]: one["reason"] for one in caught.value.errors or []}


def test_a_component_is_built_and_gives_out_its_outputs(recorder: Recorder):
    state = construct("CheckpointStore", {"region": "us-east-1", "keepDays": 30.0, "replicateTo": "us-west-2"})
    assert recorder.registered[0][:2] == ("gpuyard:index:CheckpointStore", "x")
    assert state["prefixes"] == ["checkpoints"]
    assert state["uri"].startswith("s3://")
    assert set(state) == {"bucketName", "bucketArn", "uri", "replicaName", "prefixes"}


def test_ids_may_be_outputs_at_any_depth(recorder: Recorder):
    def inputs() -> dict[str, Any]:
        return {
            "region": "us-east-1",
            "nodePools": {
                "train": {"groupName": pulumi.Output.from_input("group"), "logGroupName": "/x", "rdma": True}
            },
        }

    assert construct("GpuMonitoring", inputs)["alarmNames"]


@pytest.mark.parametrize("nodes", [2.0, 2, "2", {"min": 2.0, "max": 2.0}])
def test_a_number_of_nodes_or_a_map_comes_from_every_language(nodes: Any, recorder: Recorder):
    pool = {"region": "us-east-1", "zone": "us-east-1a", "gpu": "A10", "subnetIds": ["s"], "securityGroupIds": ["g"]}
    construct("GpuNodePool", {**pool, "nodes": nodes})
    group = recorder.inputs("Group")
    assert (group["minSize"], group["maxSize"]) == (2, 2)


def test_unknown_keys_are_refused_at_every_level_with_the_nearest(recorder: Recorder):
    message, errors = refused(
        "TrainingCluster",
        {
            "region": "us-east-1",
            "zone": "us-east-1a",
            "regionn": "x",
            "nodePools": {"train": {"nodes": {"max": 1, "min": 1, "mni": 1}, "gpu": "A10", "gpusPerNod": 1}},
            "checkpoints": {"keepDays": 3, "prefixes": {"old": {"keepDays": 3, "keep_days": 4}}},
        },
        recorder,
    )
    assert message == "4 problems with its arguments, so nothing of it was built:"
    assert errors == {
        "regionn": "unknown key 'regionn'. Did you mean 'region'?",
        "nodePools.train.nodes.mni": "unknown key 'mni'. Did you mean 'min'?",
        "nodePools.train.gpusPerNod": "unknown key 'gpusPerNod'. Did you mean 'gpusPerNode'?",
        "checkpoints.prefixes.old.keep_days": "unknown key 'keep_days'. Did you mean 'keepDays'?",
    }


def test_all_kinds_of_problems_come_together(recorder: Recorder):
    _, errors = refused(
        "CheckpointStore", {"keepDays": 0, "environment": "production", "tiers": {"glacier": 3}}, recorder
    )
    assert errors == {
        "region": "is missing. It must be given.",
        "environment": "'production' is not allowed. Allowed: dev, staging or prod.",
        "keepDays": "should be at least 1, not 0.",
        "tiers.glacier": "'glacier' is not allowed. Allowed: automatic, infrequent, archive or deep_archive.",
    }


def test_an_output_where_the_plan_needs_a_value_is_named_where_the_engine_does_not_show_it(recorder: Recorder):
    """BUG of the engine 3.274: it panics when it shows the value of a property that is not known yet."""

    def inputs() -> dict[str, Any]:
        later = pulumi.Output.from_input("x")
        return {"region": "us-east-1", "keepDays": 3, "kmsKey": later, "prefixes": {"old": {"keepDays": later}}}

    message, errors = refused("CheckpointStore", inputs, recorder)
    told = "comes from another resource or is a secret, but the plan needs to know it before. Give a plain value."
    assert errors == {}
    assert message.split("\n\t\t") == [
        "2 problems with its arguments, so nothing of it was built:",
        f"- property kmsKey has a problem: {told}",
        f"- property prefixes.old.keepDays has a problem: {told}",
    ]


def test_a_part_with_an_output_in_it_is_not_shown_either(recorder: Recorder):
    def inputs() -> dict[str, Any]:
        group = pulumi.Output.from_input("group")
        return {"region": "us-east-1", "nodePools": {"Train": {"groupName": group, "logGroupName": "x"}}}

    message, errors = refused("GpuMonitoring", inputs, recorder)
    assert errors == {}
    assert "property nodePools.Train has a problem: should be lower-case letters" in message


def test_a_problem_of_the_whole_has_no_path(recorder: Recorder, monkeypatch: pytest.MonkeyPatch):
    from gpuyard.resources._common import ArgumentsError
    from gpuyard.spec.problems import Problem

    def fail(*_: Any) -> None:
        raise ArgumentsError([Problem((), "there is no room.", "Use less.")])

    monkeypatch.setitem(PROVIDER._components, "CheckpointStore", fail)
    message, errors = refused("CheckpointStore", {}, recorder)
    assert message == "1 problem with its arguments, so nothing of it was built:\n\t\t- there is no room. Use less."
    assert errors == {}


@pytest.mark.parametrize(
    ("token", "hint"),
    [
        ("gpuyard:index:CheckpointStor", "Did you mean 'CheckpointStore'?"),
        ("gpuyard:index:Nothing", "Components: CheckpointStore, ClusterNetwork, "),
        ("other:index:CheckpointStore", "Did you mean 'CheckpointStore'?"),
        ("gpuyard", "Components: "),
    ],
)
def test_a_component_that_is_not_there_is_told_with_the_plugins_version(token: str, hint: str):
    with pytest.raises(InputPropertiesError) as caught:
        PROVIDER.construct("x", token, {})
    assert caught.value.message.startswith(f"gpuyard {__version__} has no component '{token}'. {hint}")
