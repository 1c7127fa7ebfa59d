"""The components from other languages: the plugin beside the real engine, and programs in YAML that use it."""

from __future__ import annotations

import json
import shutil
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuyard.sandbox.engine import Engine
from gpuyard.sandbox.session import Session
from gpuyard.sandbox.workspace import Workspace, read_project, write_language_host
from tests.engine.conftest import REPOSITORY, Sandbox

COMPONENTS = REPOSITORY / "components"
EXAMPLE = REPOSITORY / "examples" / "yaml" / "checkpoint-store"


@pytest.fixture
def yaml(tmp_path: Path, engine: Engine) -> Callable[[str], Sandbox]:
    """A sandbox around a program in YAML, given as text; its one stack is called 'test'."""

    def make(text: str) -> Sandbox:
        root = tmp_path / "program"
        root.mkdir(exist_ok=True)
        head = f"name: someone\nruntime: yaml\npackages:\n  gpuyard: {COMPONENTS}\n"
        (root / "Pulumi.yaml").write_text(head + textwrap.dedent(text))
        (root / "Pulumi.test.yaml").write_text("config:\n  aws:region: us-east-1\n")
        return Sandbox(Session(Workspace(read_project(root), engine), []), root)

    return make


@pytest.fixture
def pulumi(tmp_path: Path, engine: Engine) -> Callable[..., str]:
    """The command line, as a person uses it in the repository."""
    workspace = Workspace(read_project(REPOSITORY), engine, tmp_path / "sandbox")
    write_language_host(workspace.folder / "bin" / "pulumi-language-python")

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [str(engine.path), *arguments],
            cwd=REPOSITORY,
            env=workspace.environment(),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def children_of(sandbox: Sandbox, name: str) -> dict[str, str]:
    """Types of the resources that belong to a component, directly or not, by name."""
    resources = sandbox.session.workspace.state("test").get("resources", [])
    parents = {one["urn"]: one.get("parent", "") for one in resources}
    (top,) = [urn for urn, parent in parents.items() if urn.endswith(f"::{name}") and ":Stack::" in parent]

    def belongs(urn: str) -> bool:
        return bool(urn) and (parents[urn] == top or belongs(parents[urn]))

    return {one["urn"].rsplit("::", 1)[1]: one["type"] for one in resources if belongs(one["urn"])}


def test_the_command_line_gets_the_schema_and_finds_it_right(pulumi: Callable[..., str]) -> None:
    kept = json.loads((COMPONENTS / "schema.json").read_text())
    got: dict[str, Any] = json.loads(pulumi("package", "get-schema", "./components"))
    assert got.pop("config") == {}, "the engine fills it in"
    assert got == kept
    # The engine's own reading, by Pulumi's metaschema and by what the SDKs of all languages are made from.
    assert pulumi("schema", "check", "components/schema.json", "--allow-dangling-references=false") == ""


def test_the_example_in_yaml_lives_its_life(engine: Engine, tmp_path: Path) -> None:
    root = tmp_path / "examples" / "yaml" / "checkpoint-store"
    shutil.copytree(EXAMPLE, root, ignore=shutil.ignore_patterns(".*"))
    (tmp_path / "components").symlink_to(COMPONENTS)
    example = Sandbox(Session(Workspace(read_project(root), engine), []), root)

    up = example.run("dev", "up", "--yes", "--skip-preview")
    assert up.code == 0, up.output
    assert "warning" not in up.output
    outputs = example.session.outputs("dev")
    assert outputs["prefixes"] == ["checkpoints", "cold-backups"]
    (bucket, replica) = sorted(one.id for one in example.cloud() if one.token == "aws:s3/bucket:Bucket")
    assert outputs["uri"] == f"s3://{bucket}/checkpoints"
    assert outputs["replica"] == replica
    (lifecycle,) = [one for one in example.cloud() if one.urn.endswith("::store-checkpoints-lifecycle")]
    ends = {rule["filter"]["prefix"]: rule.get("expiration", {}).get("days") for rule in lifecycle.inputs["rules"]
            if rule.get("filter", {}).get("prefix")}  # fmt: skip
    assert ends == {"checkpoints/": 60, "cold-backups/": 365}, "the stack's days, and the prefix's own"

    again = example.run("dev", "preview")
    assert again.code == 0, again.output
    assert "unchanged" in again.output
    assert "to create" not in again.output
    destroy = example.run("dev", "destroy", "--yes", "--skip-preview", "--remove")
    assert destroy.code == 0, destroy.output
    assert example.cloud() == []


def test_a_cluster_in_yaml_and_parts_that_are_put_together_by_their_outputs(yaml: Callable[[str], Sandbox]) -> None:
    program = yaml(
        """
        resources:
          cluster:
            type: gpuyard:TrainingCluster
            properties:
              region: us-east-1
              zone: us-east-1a
              nodePools:
                train: {gpu: A100-40GB, gpusPerNode: 8, nodes: 2, interconnect: rdma}
                prep: {gpu: A10, nodes: {min: 0, max: 4}, purchase: spot}
              checkpoints: {keepDays: 30}
          network:
            type: gpuyard:ClusterNetwork
            properties: {region: us-east-1, zones: [us-east-1a], cidr: 10.9.0.0/16, fileSystem: false}
          pool:
            type: gpuyard:GpuNodePool
            properties:
              region: us-east-1
              zone: us-east-1a
              instanceType: g5.xlarge
              nodes: 2
              subnetIds: ['${network.subnetIds["us-east-1a"]}']
              securityGroupIds: ["${network.nodeSecurityGroupId}"]
        outputs:
          groups: ${cluster.groupNames}
          uri: ${cluster.checkpointUri}
          types: ${pool.instanceTypes}
          subnets: ${network.subnetIds}
        """
    )
    up = program.run("test", "up", "--yes", "--skip-preview")
    assert up.code == 0, up.output
    cloud = {one.urn.rsplit("::", 1)[1]: one for one in program.cloud()}
    outputs = program.session.outputs("test")
    assert outputs["types"] == ["g5.xlarge"]
    assert outputs["groups"] == {pool: cloud[f"cluster-{pool}-group"].id for pool in ("train", "prep")}
    assert outputs["uri"].startswith("s3://cluster-checkpoints-")
    own = children_of(program, "cluster")
    assert own["cluster-train"] == own["cluster-prep"] == "gpuyard:index:GpuNodePool"
    assert own["cluster-network"] == "gpuyard:index:ClusterNetwork"
    assert own["cluster-train-group"] == "aws:autoscaling/group:Group"
    assert "pool-group" not in own
    group = cloud["pool-group"].inputs
    assert group["vpcZoneIdentifiers"] == [outputs["subnets"]["us-east-1a"]]
    assert (group["minSize"], group["maxSize"]) == (2, 2)
    spot = cloud["cluster-prep-group"].inputs
    assert (spot["minSize"], spot["maxSize"]) == (0, 4)


def test_yaml_finds_a_wrong_key_and_a_wrong_value_before_anything_is_asked(yaml: Callable[[str], Sandbox]) -> None:
    program = yaml(
        """
        resources:
          store:
            type: gpuyard:CheckpointStore
            properties: {region: us-east-1, keepDays: 3, environment: production, prefixes: {old: {keepDayz: 3}}}
        """
    )
    refused = program.run("test", "preview")
    assert refused.code != 0
    assert 'Allowed values are Dev ("dev"), Staging ("staging"), Prod ("prod")' in refused.output
    assert "keepDays: Missing required property 'keepDays'" in refused.output


def test_an_output_in_place_of_a_plain_value_is_named(yaml: Callable[[str], Sandbox]) -> None:
    program = yaml(
        """
        resources:
          store:
            type: gpuyard:CheckpointStore
            properties: {region: us-east-1, keepDays: 3}
          other:
            type: gpuyard:CheckpointStore
            properties: {region: us-east-1, keepDays: 3, kmsKey: "${store.bucketArn}", replicateTo: {fn::secret: x}}
        """
    )
    refused = program.run("test", "preview")
    assert refused.code != 0
    told = "comes from another resource or is a secret, but the plan needs to know it before. Give a plain value."
    assert (
        "gpuyard:index:CheckpointStore resource 'other' has a problem: 2 problems with its arguments" in refused.output
    )
    assert f"- property kmsKey has a problem: {told}" in refused.output
    assert f"- property replicateTo has a problem: {told}" in refused.output
    assert "Traceback" not in refused.output


def test_what_no_language_checks_the_plugin_refuses_in_the_schemas_words(
    program: Callable[..., Sandbox], tmp_path: Path
) -> None:
    """A program without an SDK can write anything: unknown keys at every level, and values that no enum has."""
    anything = program(
        """
        import pulumi

        pulumi.ComponentResource(
            "gpuyard:index:TrainingCluster",
            "cluster",
            {
                "region": "us-east-1",
                "zone": "us-east-1a",
                "environment": "production",
                "nodePools": {"train": {"gpu": "A10", "nodes": {"max": 1, "min": 1, "mni": 1}, "gpusPerNod": 1}},
                "checkpoints": {"keep_days": 3},
            },
            remote=True,
        )
        """,
        policies=False,
    )
    project = anything.root / "Pulumi.yaml"
    project.write_text(f"{project.read_text()}packages:\n  gpuyard: {COMPONENTS}\n")
    sandbox = Sandbox(Session(Workspace(read_project(anything.root), anything.session.workspace.engine)), anything.root)
    refused = sandbox.run("test", "up", "--yes", "--skip-preview")
    assert refused.code != 0
    for told in (
        "resource 'cluster' has a problem: 5 problems with its arguments, so nothing of it was built:",
        "- property environment with value \"production\" has a problem: 'production' is not allowed. Allowed: dev, "
        "staging or prod.",
        "- property nodePools.train.nodes.mni with value 1 has a problem: unknown key 'mni'. Did you mean 'min'?",
        "- property nodePools.train.gpusPerNod with value 1 has a problem: unknown key 'gpusPerNod'. Did you mean "
        "'gpusPerNode'?",
        "- property checkpoints.keepDays has a problem: is missing. It must be given.",
        "- property checkpoints.keep_days with value 3 has a problem: unknown key 'keep_days'. Did you mean "
        "'keepDays'?",
    ):
        assert told in refused.output, refused.output
    assert sandbox.cloud() == []
