"""Changes to storage on Alibaba Cloud, on the real engine: what is updated, what is replaced, and in which order."""

from __future__ import annotations

from collections.abc import Callable

from tests.engine.conftest import Sandbox

Program = Callable[..., Sandbox]
SNAPSHOTS = """
    from gpuyard import SnapshotPolicy
    SnapshotPolicy("x", {{
        "cloud": "alicloud", "region": "cn-beijing", "every_hours": 12, "keep_days": {days}, "disks": {disks},
    }})
"""
FILES = """
    from gpuyard import ParallelFileSystem
    ParallelFileSystem("x", {{
        "cloud": "alicloud", "region": "cn-beijing", "zone": "cn-beijing-l", "environment": "{environment}",
        "capacity_gib": {capacity}, "throughput_mb_per_s": {throughput}, "bucket_name": "models",
        "network_id": "vpc-1", "subnet_id": "vsw-1", "security_group_ids": ["sg-1"],
    }})
"""
POLICY = "alicloud:ecs/autoSnapshotPolicy:AutoSnapshotPolicy"
ATTACHMENT = "alicloud:ecs/ecsAutoSnapshotPolicyAttachment:EcsAutoSnapshotPolicyAttachment"
FILE_SYSTEM = "alicloud:nas/fileSystem:FileSystem"


def ids(sandbox: Sandbox, token: str) -> set[str]:
    return {thing.id for thing in sandbox.cloud() if thing.token == token}


def test_br_061_another_schedule_replaces_nothing(program: Program) -> None:
    disks = {"train-0-data": "d-1", "train-1-data": "d-2"}
    sandbox = program(SNAPSHOTS.format(days=7, disks=disks), policies=False)
    assert sandbox.up("test").code == 0
    before = {token: ids(sandbox, token) for token in (POLICY, ATTACHMENT)}
    assert len(before[ATTACHMENT]) == 2
    sandbox = program(SNAPSHOTS.format(days=30, disks=disks), policies=False)
    up = sandbox.up("test")
    assert up.code == 0, up.output
    assert {token: ids(sandbox, token) for token in before} == before
    (policy,) = [thing for thing in sandbox.cloud() if thing.token == POLICY]
    assert policy.inputs["retentionDays"] == 30


def test_br_062_a_disk_is_taken_off_the_policy_by_itself(program: Program) -> None:
    sandbox = program(SNAPSHOTS.format(days=7, disks={"a": "d-1", "b": "d-2"}), policies=False)
    assert sandbox.up("test").code == 0
    (policy,) = ids(sandbox, POLICY)
    sandbox = program(SNAPSHOTS.format(days=7, disks={"b": "d-2"}), policies=False)
    assert sandbox.up("test").code == 0
    assert ids(sandbox, POLICY) == {policy}
    assert ids(sandbox, ATTACHMENT) == {f"{policy}:d-2"}
    destroy = sandbox.run("test", "destroy", "--yes")
    assert destroy.code == 0, destroy.output
    gone = [line for line in destroy.output.splitlines() if "deleted" in line]
    order = [next((kind for kind in ("Attachment", "AutoSnapshotPolicy") if kind in line), "") for line in gone]
    assert order.index("Attachment") < order.index("AutoSnapshotPolicy"), destroy.output


def test_br_064_more_capacity_is_an_update_and_another_class_would_lose_the_data(program: Program) -> None:
    def at(capacity: int, throughput: int) -> Sandbox:
        text = FILES.format(environment="prod", capacity=capacity, throughput=throughput)
        return program(text, policies=False)

    assert at(12_000, 1_000).up("test").code == 0
    (system,) = ids(at(12_000, 1_000), FILE_SYSTEM)
    assert at(14_400, 1_000).up("test").code == 0
    assert ids(at(14_400, 1_000), FILE_SYSTEM) == {system}
    # 2,000 MB/s need the faster class, which is another file system: this one holds data and stays.
    refused = at(14_400, 2_000).up("test")
    assert refused.code != 0
    assert "protect" in refused.output
    assert ids(at(14_400, 2_000), FILE_SYSTEM) == {system}
