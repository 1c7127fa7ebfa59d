"""Every stack of the repository lives its whole life on the real engine."""

from __future__ import annotations

import pytest

from tests.engine.conftest import Sandbox

STACKS = ("aws-dev", "aws-staging", "aws-prod")


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
    from gpuyard.sandbox.cloud import SimulatedCloud

    assert sandbox.up("aws-dev").code == 0
    group = next(thing for thing in sandbox.cloud() if thing.token.endswith(":Group"))
    cloud = SimulatedCloud(sandbox.session.workspace.cloud_file)
    cloud.delete(group.token, group.id)
    cloud.close()
    refresh = sandbox.run("aws-dev", "refresh", "--yes")
    assert "1 deleted" in refresh.output
    again = sandbox.up("aws-dev")
    assert "1 created" in again.output
    assert [thing.token for thing in sandbox.cloud()].count(group.token) == 1
