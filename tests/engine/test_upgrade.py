"""A stack that the previous release made goes on with the present code, and nothing that holds data is made anew.

``tests/data/record_release.py`` recorded the production stacks of that release. Each is imported into a sandbox of its
own, previewed and updated by the real engine, with the stack file of then.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gpuyard.sandbox.cloud import CloudResource, SimulatedCloud
from gpuyard.sandbox.engine import Engine
from gpuyard.sandbox.session import Session
from gpuyard.sandbox.workspace import Workspace, read_project
from tests.engine.conftest import REPOSITORY, Sandbox

# Without the command's modules whole SDKs are imported, and tell of what they gave up.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_alicloud.*")

RELEASE = REPOSITORY / "tests" / "data" / "release-0.1.0"
STACKS = ("aws-prod", "alicloud-prod", "tencentcloud-prod")

# Data, what it is encrypted with, and what is known of the past: gone with the resource, whatever takes its place.
HOLDS_DATA = {
    "aws:cloudwatch/logGroup:LogGroup",
    "aws:dlm/lifecyclePolicy:LifecyclePolicy",
    "aws:fsx/lustreFileSystem:LustreFileSystem",
    "aws:kms/key:Key",
    "aws:s3/bucket:Bucket",
    "alicloud:ecs/autoSnapshotPolicy:AutoSnapshotPolicy",
    "alicloud:ecs/ecsDisk:EcsDisk",
    "alicloud:ecs/instance:Instance",
    "alicloud:kms/key:Key",
    "alicloud:log/project:Project",
    "alicloud:nas/fileSystem:FileSystem",
    "alicloud:nas/fileset:Fileset",
    "alicloud:oss/bucket:Bucket",
    "tencentcloud:Cbs/snapshotPolicy:SnapshotPolicy",
    "tencentcloud:Cbs/storage:Storage",
    "tencentcloud:Cfs/fileSystem:FileSystem",
    "tencentcloud:Cos/bucket:Bucket",
    "tencentcloud:Instance/instance:Instance",
}
MAKES_ANEW = {"replace", "create-replacement", "delete-replaced", "delete"}

SET_UP = "nodes set themselves up otherwise: new ones do, those that run stay as they are"
PROGRAMS = "nodes get their programs from the checkpoint bucket, which their roles may read"
HEALTH = "a new node counts once its own health gate says so"
# Everything that the present code makes or changes of what the release made, and why. A change that is meant is added
# here; any other is a surprise for those who upgrade.
CHANGES: dict[str, dict[str, set[str]]] = {
    "aws-prod": {
        SET_UP: {"update LaunchTemplate aws-prod-prepare-template", "update LaunchTemplate aws-prod-train-template"},
        PROGRAMS: {
            "create BucketObjectv2 aws-prod-prepare-programs",
            "create BucketObjectv2 aws-prod-train-programs",
            "update RolePolicy aws-prod-prepare-checkpoints",
            "update RolePolicy aws-prod-train-checkpoints",
        },
        HEALTH: {
            "create LifecycleHook aws-prod-prepare-healthy",
            "create LifecycleHook aws-prod-train-healthy",
            "update Group aws-prod-prepare-group",
            "update Group aws-prod-train-group",
            "update RolePolicy aws-prod-train-node",
        },
    },
    "alicloud-prod": {
        SET_UP: {"update ScalingConfiguration alicloud-prod-prepare-configuration"},
        PROGRAMS: {
            "create BucketObject alicloud-prod-prepare-programs",
            "create BucketObject alicloud-prod-train-programs",
            "update Policy alicloud-prod-prepare-checkpoints",
            "update Policy alicloud-prod-train-checkpoints",
        },
        HEALTH: {
            "create LifecycleHook alicloud-prod-prepare-healthy",
            "create Policy alicloud-prod-train-health",
            "create RolePolicyAttachment alicloud-prod-train-health",
            "update Policy alicloud-prod-prepare-release",
        },
    },
    "tencentcloud-prod": {
        SET_UP: {
            # The provider keeps a machine whose user data changes, unless user_data_replace_on_change asks for another.
            *(f"update Instance tencentcloud-prod-train-{number}" for number in range(4)),
            "update Command tencentcloud-prod-prepare-leave",
            "update ScalingConfig tencentcloud-prod-prepare-on-demand-config",
            "update ScalingConfig tencentcloud-prod-prepare-spot-config",
        },
        PROGRAMS: {
            "create BucketObject tencentcloud-prod-prepare-programs",
            "create BucketObject tencentcloud-prod-train-programs",
            "update Policy tencentcloud-prod-prepare-checkpoints",
            "update Policy tencentcloud-prod-train-checkpoints",
        },
        HEALTH: {
            "create Command tencentcloud-prod-prepare-ready",
            "create LifecycleHook tencentcloud-prod-prepare-on-demand-healthy",
            "create LifecycleHook tencentcloud-prod-prepare-spot-healthy",
            "create Policy tencentcloud-prod-train-health",
            "create RolePolicyAttachment tencentcloud-prod-train-health",
        },
    },
}


def recorded(stack: str) -> dict[str, Any]:
    """What the engine exported of a stack of the release."""
    return json.loads(gzip.decompress((RELEASE / f"{stack}.json.gz").read_bytes()))


def custom_resources(export: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        one
        for one in export["deployment"]["resources"]
        if one.get("custom") and not one["type"].startswith("pulumi:providers:")
    ]


class Upgrade:
    """One stack of the release in a sandbox, to be run by the present code."""

    def __init__(self, stack: str, root: Path, engine: Engine, export: dict[str, Any]) -> None:
        self.stack = stack
        shutil.copy(RELEASE / f"Pulumi.{stack}.yaml", root / "stacks")
        workspace = Workspace(read_project(root), engine)
        self.sandbox = Sandbox(Session(workspace, program_modules=("gpuyard.resources.cluster",)), root)
        workspace.prepare(stack)
        file = workspace.folder / "release.json"
        file.write_text(json.dumps(export))
        self._engine("stack", "init", stack, "--no-select")
        self._engine("stack", "import", "--stack", stack, "--file", str(file))
        cloud = SimulatedCloud(workspace.cloud_file)
        for one in custom_resources(export):
            cloud.create(CloudResource(one["type"], one["id"], one["urn"], one["inputs"], one["outputs"]))
        cloud.close()

    def steps(self) -> list[dict[str, Any]]:
        """What a preview would do."""
        preview = self.sandbox.run(self.stack, "preview", "--json")
        assert preview.code == 0, preview.output
        return json.loads(preview.output[preview.output.index("{") :])["steps"]

    def _engine(self, *arguments: str) -> None:
        workspace = self.sandbox.session.workspace
        command = [str(workspace.engine.path), *arguments]
        done = subprocess.run(
            command, cwd=workspace.directory, env=workspace.environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def token_of(step: dict[str, Any]) -> str:
    return step["urn"].split("::")[2].split("$")[-1]


def told(step: dict[str, Any]) -> str:
    """One step in words: what is done, to which type, under which name."""
    return f"{step['op']} {token_of(step).split(':')[-1]} {step['urn'].split('::')[-1]}"


def lost_data(steps: list[dict[str, Any]]) -> list[str]:
    """Steps after which data would be gone."""
    return sorted(told(step) for step in steps if step["op"] in MAKES_ANEW and token_of(step) in HOLDS_DATA)


@pytest.mark.parametrize("stack", STACKS)
def test_br_076_an_upgrade_keeps_everything_that_holds_data(stack: str, project_copy: Path, engine: Engine) -> None:
    export = recorded(stack)
    upgrade = Upgrade(stack, project_copy, engine, export)
    steps = upgrade.steps()
    assert lost_data(steps) == []
    changed = {told(step) for step in steps if step["op"] != "same"}
    assert changed == set().union(*CHANGES[stack].values())

    up = upgrade.sandbox.run(stack, "up", "--yes", "--skip-preview")
    assert up.code == 0, up.output
    before = {one["urn"]: one["id"] for one in custom_resources(export)}
    after = upgrade.sandbox.recorded_ids(stack)
    made_anew = {urn for urn, known in before.items() if after.get(urn) != known}
    assert {urn.split("::")[-1] for urn in made_anew} == {
        one.split()[-1] for one in changed if one.split()[0] in MAKES_ANEW
    }
    exists = {(thing.token, thing.id) for thing in upgrade.sandbox.cloud()}
    data = {(one["type"], one["id"]) for one in custom_resources(export) if one["type"] in HOLDS_DATA}
    assert len({token for token, _ in data}) >= 5
    assert data <= exists


def under_other_names(build: Callable[..., Any]) -> Callable[..., Any]:
    return lambda name, *arguments, **more: build(f"{name}-data", *arguments, **more)


def test_a_release_that_names_children_otherwise_is_found_out(
    project_copy: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part, function in (("checkpoints", "build_checkpoints"), ("file_system", "build_file_system")):
        module = import_module(f"gpuyard.clouds.aws.{part}")
        monkeypatch.setattr(module, function, under_other_names(getattr(module, function)))
    export = recorded("aws-prod")
    # Protected data would stop the preview itself: what is asked here is whether the test above would see it.
    for one in export["deployment"]["resources"]:
        one.pop("protect", None)
    assert lost_data(Upgrade("aws-prod", project_copy, engine, export).steps()) == [
        "delete Bucket aws-prod-checkpoints",
        "delete Bucket aws-prod-replica",
        "delete LustreFileSystem aws-prod-lustre",
    ]


def test_the_list_of_what_holds_data_knows_every_type_of_the_release() -> None:
    """A type that is recorded and sounds like data, but is missing above, would be replaced unseen."""
    words = ("bucket", "filesystem", "fileset", "disk", "storage", "snapshotpolicy", "loggroup", "key")
    types = {one["type"] for stack in STACKS for one in custom_resources(recorded(stack))}
    sounding = {token for token in types if token.split(":")[-1].lower().endswith(words)}
    assert len(sounding) > 10
    assert sounding <= HOLDS_DATA
