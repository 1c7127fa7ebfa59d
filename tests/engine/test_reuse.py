"""What people do with the components later on: adopt what exists, rename, move, and change children by transforms."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuyard.sandbox.cloud import CloudResource
from gpuyard.sandbox.engine import Engine
from gpuyard.sandbox.session import Session
from gpuyard.sandbox.workspace import Workspace, read_project
from tests.engine.conftest import POLICIES, REPOSITORY, Sandbox

# A program that imports a whole SDK is told of what that SDK gave up.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_alicloud.*")

EXAMPLES = REPOSITORY / "examples"
STACK = "dev"
BUCKET = "aws:s3/bucket:Bucket"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"

Story = Callable[..., dict[str, Sandbox]]


@pytest.fixture
def story(tmp_path: Path, engine: Engine) -> Story:
    """Copies of an example's projects, which share one state, by their folders; those named True meet the policies."""

    def copied(name: str, **judged: bool) -> dict[str, Sandbox]:
        shutil.copytree(EXAMPLES / name, tmp_path / name)
        found = {}
        for folder, is_judged in judged.items():
            root = tmp_path / name / folder
            workspace = Workspace(read_project(root), engine, tmp_path / "sandbox")
            found[folder] = Sandbox(Session(workspace, [POLICIES] if is_judged else []), root)
        return found

    return copied


def up(sandbox: Sandbox, stack: str = STACK) -> str:
    outcome = sandbox.run(stack, "up", "--yes", "--skip-preview")
    assert outcome.code == 0, outcome.output
    return outcome.output


def steps(sandbox: Sandbox, stack: str = STACK) -> list[tuple[str, str, str]]:
    """What a preview would do with each resource: the step, the type and the name; what stays is left out."""
    preview = sandbox.run(stack, "preview", "--json")
    assert preview.code == 0, preview.output
    found: list[dict[str, Any]] = json.loads(preview.output[preview.output.index("{") :])["steps"]
    parts = [(step["op"], *step["urn"].split("::")[2:]) for step in found]
    return sorted((op, types.split("$")[-1], name) for op, types, name in parts if op != "same")


def only(sandbox: Sandbox, token: str) -> CloudResource:
    (found,) = [thing for thing in sandbox.cloud() if thing.token == token]
    return found


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_what_exists_is_adopted_and_stays_when_it_leaves_where_it_was(story: Story) -> None:
    """The example ``adopt-existing``: neither bucket nor file system is made anew, and both outlive the old stack."""
    projects = story("adopt-existing", existing=False, adopted=True)
    existing, adopted = projects["existing"], projects["adopted"]
    up(existing)
    bucket, files = only(existing, BUCKET), only(existing, LUSTRE)
    made_up = "fs-0a1b2c3d4e5f60718"
    edit(adopted.root / "Pulumi.dev.yaml", made_up, existing.session.outputs(STACK)["file_system_id"])

    # FSx does not tell them, so that what the program says would be a difference, and mean another file system.
    assert "securityGroupIds" not in files.inputs
    told = up(adopted)
    assert "= 2 imported" in told
    assert "replace" not in told
    assert (only(adopted, BUCKET).id, only(adopted, LUSTRE).id) == (bucket.id, files.id)
    assert only(adopted, BUCKET).inputs["tags"]["gpuyard:cluster"] == "speech", "tags are the component's from now on"
    assert "securityGroupIds" not in only(adopted, LUSTRE).inputs
    (link,) = [thing for thing in adopted.cloud() if thing.token.endswith(":DataRepositoryAssociation")]
    assert (link.inputs["fileSystemId"], link.inputs["dataRepositoryPath"]) == (
        files.id,
        "s3://acme-speech-checkpoints/checkpoints",
    )
    assert steps(adopted) == [], "the transform may stay"

    assert existing.run(STACK, "destroy", "--yes", "--skip-preview", "--remove").code == 0
    assert steps(adopted) == []
    assert {only(adopted, BUCKET).id, only(adopted, LUSTRE).id} == {bucket.id, files.id}

    # A description that only another file system could fulfil.
    edit(adopted.root / "Pulumi.dev.yaml", "subnet-0a1b2c3d4e5f60718", "subnet-0f1e2d3c4b5a69788")
    refused = adopted.run(STACK, "preview")
    assert refused.code != 0
    assert "unable to replace resource" in refused.output
    assert "as it is currently marked for protection" in refused.output


def test_br_076_a_renamed_and_moved_component_keeps_its_children(story: Story) -> None:
    """The example ``rename``: only a description and tags with the name in them change."""
    projects = story("rename", before=False, after=True)
    before, after = projects["before"], projects["after"]
    up(before)
    existed = {(thing.token, thing.id) for thing in before.cloud()}
    assert steps(after) == [
        ("create", "acme:index:Storage", "text-models"),
        ("update", "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation", "text-models-checkpoints"),
        ("update", LUSTRE, "text-models-lustre"),
        ("update", "aws:iam/role:Role", "text-models-replication"),
    ]
    up(after)
    assert {(thing.token, thing.id) for thing in after.cloud()} == existed
    assert all("llm" not in urn.rsplit("::", 1)[1] for urn in after.recorded_ids(STACK))

    # An alias is of use once.
    edit(after.root / "__main__.py", 'aliases=[pulumi.Alias(name="llm", parent=pulumi.ROOT_STACK_RESOURCE)]', "")
    assert steps(after) == []


CLUSTER = """
    import pulumi
    from gpuyard import TrainingCluster
    TrainingCluster("{name}", {{
        "name": "first", "cloud": "alicloud", "region": "cn-beijing", "zone": "cn-beijing-l",
        "node_pools": {{"train": {{"instance_type": "ecs.ebmgn7ex.32xlarge", "nodes": 2, "interconnect": "rdma"}}}},
        "file_system": {{"capacity_gib": 7200}}, "checkpoints": {{"keep_days": 30}},
        "snapshots": {{"every_hours": 24, "keep_days": 7}}, "monitoring": {{"notify": ["ml@example.com"]}},
    }}, pulumi.ResourceOptions(aliases={aliases}))
"""


def test_a_cluster_that_keeps_its_name_may_be_called_otherwise(program: Callable[..., Sandbox]) -> None:
    """Where roles and groups cannot be renamed, as on Alibaba Cloud, the description's own name stays."""
    sandbox = program(CLUSTER.format(name="first", aliases=[]), policies=False)
    up(sandbox, "test")
    program(CLUSTER.format(name="second", aliases='[pulumi.Alias(name="first")]'), policies=False)
    assert steps(sandbox, "test") == []


STORE = """
    import pulumi
    from gpuyard import CheckpointStore

    CheckpointStore("{name}", {{
        "cloud": "tencentcloud", "region": "ap-beijing", "cluster_name": "first", "keep_days": 30,
    }}, pulumi.ResourceOptions(aliases=[pulumi.Alias(name="first")]))
"""


def test_a_bucket_called_after_its_component_stays_when_that_is_renamed(program: Callable[..., Sandbox]) -> None:
    """COS gives no name: the component does, and the first one stays."""
    sandbox = program(STORE.format(name="first"), policies=False)
    up(sandbox, "test")
    program(STORE.format(name="second"), policies=False)
    assert [step for step in steps(sandbox, "test") if step[0] != "update"] == []


TRANSFORMED = """
    import pulumi
    from gpuyard import TrainingCluster

    def ours(child):
        kept = child.type_ in ("aws:s3/bucket:Bucket", "aws:cloudwatch/logGroup:LogGroup")
        tags = child.props.get("tags")
        # A scaling group has a list instead, of tags with options of their own.
        more = {"tags": {**tags, "cost-centre": "4711"}} if isinstance(tags, dict) else {}
        opts = pulumi.ResourceOptions.merge(child.opts, pulumi.ResourceOptions(protect=True if kept else None))
        return pulumi.ResourceTransformResult({**child.props, **more}, opts)

    TrainingCluster("vision", {
        "region": "us-east-1", "zone": "us-east-1a",
        "node_pools": {"train": {"gpu": "A10G", "gpus_per_node": 1, "nodes": 1}},
        "checkpoints": {"keep_days": 30},
    }, pulumi.ResourceOptions(transforms=[ours]))
"""


def test_transforms_on_a_cluster_reach_every_child_of_its_components(program: Callable[..., Sandbox]) -> None:
    """A tag on everything that takes a mapping of them, and protection of what a team holds dear."""
    sandbox = program(TRANSFORMED, policies=False)
    up(sandbox, "test")
    tagged = [thing for thing in sandbox.cloud() if isinstance(thing.inputs.get("tags"), dict)]
    assert {"Vpc", "Bucket", "LaunchTemplate", "Role"} <= {thing.token.split(":")[-1] for thing in tagged}
    assert {thing.inputs["tags"].get("cost-centre") for thing in tagged} == {"4711"}
    resources = sandbox.session.workspace.state("test")["resources"]
    assert {one["type"] for one in resources if one.get("protect")} == {BUCKET, "aws:cloudwatch/logGroup:LogGroup"}
