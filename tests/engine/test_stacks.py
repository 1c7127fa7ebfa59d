"""Every stack of the repository lives its whole life on the real engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gpuyard.sandbox.cloud import CloudResource, SimulatedCloud
from tests.engine.conftest import Sandbox

GROUP = "aws:autoscaling/group:Group"
FILE_SYSTEM = "aws:fsx/lustreFileSystem:LustreFileSystem"
LUSTRE = """
    from gpuyard import ParallelFileSystem
    ParallelFileSystem("data", {{
        "region": "us-east-1", "zone": "us-east-1a", "environment": "{environment}", "capacity_gib": 1200,
        "subnet_id": "subnet-1", "security_group_ids": ["{group}"],
    }})
"""
STACKS = tuple(
    f"{cloud}-{environment}"
    for cloud in ("aws", "alicloud", "tencentcloud")
    for environment in ("dev", "staging", "prod")
)


@pytest.mark.parametrize("stack", STACKS)
def test_preview_up_second_up_refresh_destroy(sandbox: Sandbox, stack: str) -> None:
    preview = sandbox.run(stack, "preview")
    assert preview.code == 0, preview.output
    assert "to create" in preview.output
    assert sandbox.cloud() == [], "a preview creates nothing"

    up = sandbox.up(stack)
    assert up.code == 0, up.output
    recorded = sandbox.recorded_ids(stack)
    assert sorted(recorded.values()) == sorted(thing.id for thing in sandbox.cloud())
    assert len(recorded) > 20

    again = sandbox.up(stack)
    assert again.code == 0, again.output
    assert "unchanged" in again.output
    for change in ("created", "updated", "replaced", "deleted", "to update", "to replace"):
        assert change not in again.output
    assert sandbox.recorded_ids(stack) == recorded

    refresh = sandbox.run(stack, "refresh", "--yes")
    assert refresh.code == 0, refresh.output
    assert f"{len(recorded)}" in refresh.output or "unchanged" in refresh.output
    assert "updated" not in refresh.output
    assert sandbox.recorded_ids(stack) == recorded

    unprotect = sandbox.session.run_state(stack, "unprotect", "--all", "--yes")
    assert unprotect.code == 0, unprotect.output
    destroy = sandbox.run(stack, "destroy", "--yes", "--remove")
    assert destroy.code == 0, destroy.output
    assert sandbox.cloud() == []
    assert not sandbox.session.workspace.exists(stack)


def test_policies_pass_on_every_stack_and_are_shown(sandbox: Sandbox) -> None:
    for stack in STACKS:
        preview = sandbox.run(stack, "preview")
        assert "gpuyard@v0.1.0" in preview.output, preview.output
        assert "[FAB001]" not in preview.output
        assert "[STO001]" not in preview.output


def test_prod_data_is_protected_against_destroy(sandbox: Sandbox) -> None:
    assert sandbox.up("aws-prod").code == 0
    destroy = sandbox.run("aws-prod", "destroy", "--yes")
    assert destroy.code != 0
    assert "protect" in destroy.output
    assert {thing.token for thing in sandbox.cloud()} >= {
        "aws:s3/bucket:Bucket",
        "aws:fsx/lustreFileSystem:LustreFileSystem",
    }


def test_refresh_sees_what_vanished_from_the_cloud(sandbox: Sandbox) -> None:
    assert sandbox.up("aws-dev").code == 0
    group = only(sandbox, GROUP)
    cloud = SimulatedCloud(sandbox.session.workspace.cloud_file)
    cloud.delete(group.token, group.id)
    cloud.close()
    refresh = sandbox.run("aws-dev", "refresh", "--yes")
    assert "1 deleted" in refresh.output
    again = sandbox.up("aws-dev")
    assert "1 created" in again.output
    assert [thing.token for thing in sandbox.cloud()].count(group.token) == 1


def test_br_046_an_update_leaves_the_size_of_an_elastic_pool_to_its_scaler(sandbox: Sandbox) -> None:
    path = sandbox.root / "stacks" / "Pulumi.aws-dev.yaml"
    written = path.read_text()
    size = "max: 4\n        purchase"
    assert size in written
    path.write_text(written.replace(size, "max: 4\n          desired: 1\n        purchase"))
    assert sandbox.up("aws-dev").code == 0
    before = only(sandbox, GROUP)
    assert (before.inputs["maxSize"], before.inputs["desiredCapacity"]) == (4, 1)

    # The scaler has brought two nodes more, and a person wants other limits and another beginning.
    drifted = {"desiredCapacity": 3}
    cloud = SimulatedCloud(sandbox.session.workspace.cloud_file)
    cloud.update(replace(before, inputs={**before.inputs, **drifted}, outputs={**before.outputs, **drifted}))
    cloud.close()
    path.write_text(written.replace(size, "max: 6\n          desired: 2\n        purchase"))
    unaware = sandbox.run("aws-dev", "preview", "--diff")
    refresh = sandbox.run("aws-dev", "refresh", "--yes", "--diff")
    assert "desiredCapacity: 1 => 3" in " ".join(refresh.output.split()).replace(" :", ":")
    aware = sandbox.run("aws-dev", "preview", "--diff")
    for preview in (unaware, aware):
        assert preview.code == 0, preview.output
        assert "maxSize: 4 => 6" in " ".join(preview.output.split()).replace(" :", ":")
        assert "desiredCapacity" not in preview.output
    assert sandbox.up("aws-dev").code == 0
    after = only(sandbox, GROUP)
    assert (after.id, after.inputs["maxSize"], after.inputs["desiredCapacity"]) == (before.id, 6, 3)


def test_br_025_another_security_group_replaces_a_file_system_and_says_so_before(
    program: Callable[[str], Sandbox],
) -> None:
    sandbox = program(LUSTRE.format(environment="dev", group="sg-1"))
    assert sandbox.up("test").code == 0
    before = only(sandbox, FILE_SYSTEM)
    program(LUSTRE.format(environment="dev", group="sg-2"))
    preview = sandbox.run("test", "preview")
    assert preview.code == 0, preview.output
    assert "aws:fsx:LustreFileSystem data-lustre replace [diff: ~securityGroupIds]" in " ".join(preview.output.split())
    assert sandbox.up("test").code == 0
    after = only(sandbox, FILE_SYSTEM)
    assert after.inputs["securityGroupIds"] == ["sg-2"]
    assert after.id != before.id, "the data of the old one is gone"


def test_br_025_protected_data_is_not_replaced(program: Callable[[str], Sandbox]) -> None:
    sandbox = program(LUSTRE.format(environment="prod", group="sg-1"))
    assert sandbox.up("test").code == 0
    before = only(sandbox, FILE_SYSTEM)
    program(LUSTRE.format(environment="prod", group="sg-2"))
    for verb in (("preview",), ("up", "--yes")):
        refused = sandbox.run("test", *verb)
        assert refused.code != 0, refused.output
        assert (
            'unable to replace resource "urn:pulumi:test::someone::gpuyard:index:ParallelFileSystem$' in refused.output
        )
        assert "as it is currently marked for protection" in refused.output
    assert only(sandbox, FILE_SYSTEM) == before


def only(sandbox: Sandbox, token: str) -> CloudResource:
    """The only thing of a type in a sandbox's cloud."""
    (found,) = [thing for thing in sandbox.cloud() if thing.token == token]
    return found
