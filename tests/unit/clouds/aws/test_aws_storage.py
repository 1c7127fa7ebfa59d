"""The parallel file system and the snapshot schedule, as rendered for the engine."""

from collections.abc import Callable
from typing import Any

import pytest

from ..recorder import Rendered, rendered_stack

ProdWith = Callable[[dict[str, Any]], Rendered]
KEY = "arn:aws:kms:us-east-1:123456789012:key/1"


def test_the_file_system_is_in_the_nodes_subnet_and_reached_through_its_own_group():
    rendered = rendered_stack("aws-prod", preview=False)
    system = rendered.one("LustreFileSystem").inputs
    assert system["subnetIds"] == "aws-prod-network-private-us-east-1d-id"
    assert system["securityGroupIds"] == ["aws-prod-network-lustre-sg-id"]
    assert rendered.one("Group").inputs["vpcZoneIdentifiers"] == [system["subnetIds"]]


@pytest.mark.parametrize(("name", "capacity_gib", "per_unit"), [("aws-staging", 4800, 250), ("aws-prod", 24_000, 250)])
def test_the_planned_size_and_throughput_are_asked_for(name: str, capacity_gib: int, per_unit: int, preview: bool):
    system = rendered_stack(name, preview=preview).one("LustreFileSystem").inputs
    assert (system["deploymentType"], system["storageType"]) == ("PERSISTENT_2", "SSD")
    assert (system["storageCapacity"], system["perUnitStorageThroughput"]) == (capacity_gib, per_unit)
    assert system["fileSystemTypeVersion"] == "2.15"


def test_a_linked_file_system_has_no_backups_and_no_last_one():
    system = rendered_stack("aws-prod", preview=False).one("LustreFileSystem").inputs
    assert (system["automaticBackupRetentionDays"], system["skipFinalBackup"]) == (0, True)
    assert "dailyAutomaticBackupStartTime" not in system


def test_a_file_system_of_its_own_is_backed_up_with_its_tags(prod_with: ProdWith):
    rendered = prod_with({"checkpoints": ..., "file_system.backup_keep_days": 14, "file_system.kms_key": KEY})
    system = rendered.one("LustreFileSystem").inputs
    assert (system["automaticBackupRetentionDays"], system["skipFinalBackup"]) == (14, False)
    assert system["copyTagsToBackups"] is True
    assert system["kmsKeyId"] == KEY
    assert rendered.all("DataRepositoryAssociation") == []


def test_br_022_checkpoints_are_exported_by_an_association_with_every_event():
    rendered = rendered_stack("aws-prod", preview=False)
    link = rendered.one("DataRepositoryAssociation").inputs
    events = ["NEW", "CHANGED", "DELETED"]
    assert link["s3"] == {"autoImportPolicy": {"events": events}, "autoExportPolicy": {"events": events}}
    assert link["fileSystemId"] == "aws-prod-lustre-id"
    assert link["fileSystemPath"] == "/checkpoints"
    assert link["dataRepositoryPath"] == "s3://aws-prod-checkpoints-1a2b3c/checkpoints"
    assert not {"exportPath", "importPath"} & set(rendered.one("LustreFileSystem").inputs)


def test_a_scratch_file_system_names_neither_throughput_nor_backups(prod_with: ProdWith):
    rendered = prod_with({"file_system": {"capacity_gib": 2400, "durability": "scratch"}})
    system = rendered.one("LustreFileSystem").inputs
    assert system["deploymentType"] == "SCRATCH_2"
    assert not {"perUnitStorageThroughput", "automaticBackupRetentionDays", "kmsKeyId"} & set(system)


def details(rendered: Rendered) -> dict[str, Any]:
    found = rendered.one("LifecyclePolicy").inputs
    assert found["state"] == "ENABLED"
    return found["policyDetails"]


@pytest.mark.parametrize(("name", "hours", "days"), [("aws-dev", 24, 3), ("aws-staging", 12, 7), ("aws-prod", 6, 14)])
def test_disks_are_snapshotted_as_often_and_as_long_as_asked(name: str, hours: int, days: int, preview: bool):
    found = details(rendered_stack(name, preview=preview))
    (schedule,) = found["schedules"]
    assert schedule["createRule"] == {"interval": hours, "intervalUnit": "HOURS", "times": "03:00"}
    assert schedule["retainRule"] == {"interval": days, "intervalUnit": "DAYS"}
    assert found["resourceTypes"] == ["VOLUME"]
    assert found["policyType"] == "EBS_SNAPSHOT_MANAGEMENT"


def test_br_034_snapshots_carry_the_tags_of_their_volume(stack: Rendered):
    (schedule,) = details(stack)["schedules"]
    assert schedule["copyTags"] is True


def test_br_032_every_copy_is_encrypted_and_ends():
    (schedule,) = details(rendered_stack("aws-prod", preview=False))["schedules"]
    assert schedule["crossRegionCopyRules"] == [
        {
            "target": "us-west-2",
            "encrypted": True,
            "copyTags": True,
            "retainRule": {"interval": 30, "intervalUnit": "DAYS"},
        }
    ]


@pytest.mark.parametrize("name", ["aws-dev", "aws-staging"])
def test_without_a_second_region_nothing_is_copied(name: str):
    (schedule,) = details(rendered_stack(name, preview=False))["schedules"]
    assert "crossRegionCopyRules" not in schedule


def test_br_031_the_disks_carry_the_very_tags_that_the_schedule_selects_by(stack: Rendered):
    wanted = details(stack)["targetTags"]
    assert wanted
    for template in stack.all("LaunchTemplate"):
        (tags,) = [one["tags"] for one in template.inputs["tagSpecifications"] if one["resourceType"] == "volume"]
        assert wanted.items() <= tags.items()


def test_br_031_holds_for_every_pool_and_a_name_of_its_own(prod_with: ProdWith):
    rendered = prod_with({"name": "mine", "node_pools.more": {"gpu": "A10", "nodes": 1}})
    assert details(rendered)["targetTags"] == {"gpuyard:snapshot": "mine"}
    assert len(rendered.all("LaunchTemplate")) == 2
    test_br_031_the_disks_carry_the_very_tags_that_the_schedule_selects_by(rendered)


def test_the_schedule_waits_for_its_permission():
    policy = rendered_stack("aws-prod", preview=False).one("LifecyclePolicy")
    dependencies = [urn.split("::")[2].split("$")[-1] for urn in policy.request.dependencies]
    assert "aws:iam/rolePolicyAttachment:RolePolicyAttachment" in dependencies
