from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from pulumi.runtime import mocks

from gpuyard import (
    CheckpointStore,
    ClusterNetwork,
    GpuMonitoring,
    GpuNodePool,
    ParallelFileSystem,
    SnapshotPolicy,
    TrainingCluster,
)

SMALLEST: dict[Any, dict[str, Any]] = {
    ClusterNetwork: {"region": "us-east-1", "zones": ["us-east-1a"]},
    GpuNodePool: {
        "region": "us-east-1",
        "zone": "us-east-1a",
        "gpu": "A10",
        "nodes": 1,
        "subnet_ids": ["subnet-1"],
        "security_group_ids": ["sg-1"],
    },
    ParallelFileSystem: {
        "region": "us-east-1",
        "zone": "us-east-1a",
        "capacity_gib": 1200,
        "subnet_id": "subnet-1",
        "security_group_ids": ["sg-1"],
    },
    CheckpointStore: {"region": "us-east-1", "keep_days": 30},
    SnapshotPolicy: {"region": "us-east-1", "every_hours": 6, "keep_days": 14, "target_tags": {"backup": "yes"}},
    GpuMonitoring: {
        "region": "us-east-1",
        "node_pools": {"train": {"group_name": "x-train-group", "log_group_name": "/x/train"}},
    },
    TrainingCluster: {
        "region": "us-east-1",
        "zone": "us-east-1a",
        "node_pools": {"train": {"gpu": "A10", "nodes": 1}},
    },
}
PARTS = [component for component in SMALLEST if component is not TrainingCluster]


class Recorder(mocks.MockMonitor):
    """Names what is registered and keeps the outputs of components."""

    def __init__(self) -> None:
        super().__init__(_Mocks())
        self.registered: list[tuple[str, str, dict[str, Any]]] = []
        self.outputs: dict[str, dict[str, Any]] = {}

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 the engine's own name
        if request.type != "pulumi:pulumi:Stack":
            self.registered.append((request.type, request.name, MessageToDict(request.object)))
        return super().RegisterResource(request)

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802 the engine's own name
        kind = request.urn.split("::")[2].split("$")[-1]
        if kind != "pulumi:pulumi:Stack":
            self.outputs[kind] = MessageToDict(request.outputs)
        return super().RegisterResourceOutputs(request)

    def inputs(self, kind: str) -> dict[str, Any]:
        """Inputs of the only resource of a type."""
        (found,) = [inputs for registered, _, inputs in self.registered if registered.rsplit(":", 1)[-1] == kind]
        return found


class _Mocks(mocks.Mocks):
    def call(self, args: mocks.MockCallArgs) -> Any:
        if args.token == "aws:index/getCallerIdentity:getCallerIdentity":
            return {"accountId": "123456789012", "arn": "arn:x", "id": "123456789012", "userId": "AIDA"}
        return {"name": args.args["name"], "value": "ami-1", "type": "String"}

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        computed = {
            "arn": f"arn:mock:{args.name}",
            "name": args.name,
            "bucket": args.name,
            "dnsName": f"{args.name}.example",
            "mountName": "mnt",
            "latestVersion": 1,
        }
        return f"{args.name}-id", {**computed, **args.inputs}


@pytest.fixture
def recorder() -> Recorder:
    """A fresh engine that records, set up for the test."""
    found = Recorder()
    mocks.set_mocks(found.mocks, "gpuyard", "trial", preview=False, monitor=found)
    return found


@pytest.fixture
def build(recorder: Recorder) -> Callable[..., Any]:
    """Make a component from its smallest arguments with some changed; ``...`` takes one out."""

    def make(component: Any, **changes: Any) -> Any:
        values = {key: value for key, value in {**SMALLEST[component], **changes}.items() if value is not ...}
        made: list[Any] = []

        @mocks.test
        def program() -> None:
            made.append(component("x", values))

        program()
        return made[0]

    return make
