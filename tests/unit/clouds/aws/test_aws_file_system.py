"""The parallel file system, as rendered for the engine, and what a change of it does."""

import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest

from gpuyard import ParallelFileSystem

from ..recorder import Rendered, render, rendered_stack
from .api import faults
from .test_aws_api import association, file_system

ProdWith = Callable[[dict[str, Any]], Rendered]
KEY = "arn:aws:kms:us-east-1:123456789012:key/1"
SUBNET, GROUP = "subnet-0123456789abcdef0", "sg-0123456789abcdef0"
EVENTS = ["NEW", "CHANGED", "DELETED"]
RDMA_POOL = {"node_pools.train": {"instance_type": "p5.48xlarge", "nodes": 4, "interconnect": "rdma"}}


def alone(bucket: bool = False, **values: Any) -> Rendered:
    """A file system that is used without a cluster."""
    args: Any = {
        "region": "us-east-1",
        "zone": "us-east-1a",
        "capacity_gib": 4800,
        "subnet_id": SUBNET,
        "security_group_ids": [GROUP],
        **({"bucket_name": "data"} if bucket else {}),
        **values,
    }
    return render(lambda: ParallelFileSystem("x", args), preview=False)


def refused_by_the_api(rendered: Rendered) -> list[str]:
    """Every fault that the API's own models find with a file system and its association."""
    sent = faults("fsx", "CreateFileSystem", file_system(rendered.one("LustreFileSystem")))
    for found in rendered.all("DataRepositoryAssociation"):
        sent += faults("fsx", "CreateDataRepositoryAssociation", association(found))
    return sent


def test_the_file_system_is_in_the_nodes_subnet_and_reached_through_its_own_group():
    rendered = rendered_stack("aws-prod", preview=False)
    system = rendered.one("LustreFileSystem").inputs
    assert system["subnetIds"] == "aws-prod-network-private-us-east-1d-id"
    assert system["securityGroupIds"] == ["aws-prod-network-lustre-sg-id"]
    groups = rendered.all("Group")
    assert groups
    assert all(group.inputs["vpcZoneIdentifiers"] == [system["subnetIds"]] for group in groups)


@pytest.mark.parametrize(("name", "capacity_gib", "per_unit"), [("aws-staging", 4800, 125), ("aws-prod", 24_000, 250)])
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
    changes = {"node_pools.prepare": ..., "checkpoints": ..., "file_system.backup_keep_days": 14}
    rendered = prod_with({**changes, "file_system.kms_key": KEY})
    system = rendered.one("LustreFileSystem").inputs
    assert (system["automaticBackupRetentionDays"], system["skipFinalBackup"]) == (14, False)
    assert system["copyTagsToBackups"] is True
    assert system["kmsKeyId"] == KEY
    assert rendered.all("DataRepositoryAssociation") == []


def test_br_022_checkpoints_are_exported_by_an_association_with_every_event():
    rendered = rendered_stack("aws-prod", preview=False)
    link = rendered.one("DataRepositoryAssociation").inputs
    assert link["s3"] == {"autoImportPolicy": {"events": EVENTS}, "autoExportPolicy": {"events": EVENTS}}
    assert link["fileSystemId"] == "aws-prod-lustre-id"
    assert link["fileSystemPath"] == "/checkpoints"
    assert link["dataRepositoryPath"] == "s3://aws-prod-checkpoints-1a2b3c/checkpoints"
    assert not {"exportPath", "importPath"} & set(rendered.one("LustreFileSystem").inputs)


def test_a_scratch_file_system_names_neither_throughput_nor_backups(prod_with: ProdWith):
    rendered = prod_with({"file_system": {"capacity_gib": 2400, "durability": "scratch"}})
    system = rendered.one("LustreFileSystem").inputs
    assert system["deploymentType"] == "SCRATCH_2"
    assert not {"perUnitStorageThroughput", "automaticBackupRetentionDays", "kmsKeyId"} & set(system)


@pytest.mark.parametrize("values", [{"durability": "scratch"}, {"aws": {"deployment": "SCRATCH_2"}}])
def test_br_022_scratch_with_a_bucket_always_exports(values: dict[str, Any]):
    rendered = alone(bucket=True, **values)
    link = rendered.one("DataRepositoryAssociation").inputs
    assert link["s3"]["autoExportPolicy"] == {"events": EVENTS}
    assert refused_by_the_api(rendered) == []


@pytest.mark.parametrize(
    ("sync", "policies", "at_once"),
    [
        ("import", {"autoImportPolicy": {"events": EVENTS}}, True),
        ("export", {"autoExportPolicy": {"events": EVENTS}}, False),
    ],
)
def test_the_bucket_is_followed_one_way(sync: str, policies: dict[str, Any], at_once: bool):
    rendered = alone(bucket=True, bucket_sync=sync)
    link = rendered.one("DataRepositoryAssociation").inputs
    assert (link["s3"], link["batchImportMetaDataOnCreate"]) == (policies, at_once)
    assert refused_by_the_api(rendered) == []


def test_a_bucket_that_is_not_followed_is_not_linked_and_backups_are_made():
    rendered = alone(bucket=True, bucket_sync="none", backup_keep_days=14)
    assert rendered.all("DataRepositoryAssociation") == []
    system = rendered.one("LustreFileSystem").inputs
    assert (system["automaticBackupRetentionDays"], system["skipFinalBackup"]) == (14, False)
    assert refused_by_the_api(rendered) == []


def test_rdma_is_asked_for_with_metadata_by_capacity(prod_with: ProdWith):
    rendered = prod_with({**RDMA_POOL, "file_system": {"capacity_gib": 9600, "rdma": True}})
    system = rendered.one("LustreFileSystem").inputs
    assert (system["efaEnabled"], system["metadataConfiguration"]) == (True, {"mode": "AUTOMATIC"})
    assert (system["deploymentType"], system["perUnitStorageThroughput"]) == ("PERSISTENT_2", 500)
    assert system["securityGroupIds"] == ["aws-prod-network-lustre-sg-id"]
    assert refused_by_the_api(rendered) == []


@pytest.mark.parametrize("rdma", [True, False])
def test_metadata_iops_are_provisioned_as_asked(rdma: bool):
    rendered = alone(metadata_iops=12_000, rdma=rdma)
    assert rendered.one("LustreFileSystem").inputs["metadataConfiguration"] == {
        "mode": "USER_PROVISIONED",
        "iops": 12_000,
    }
    assert refused_by_the_api(rendered) == []


def test_metadata_servers_can_grow_later_though_nobody_asked():
    """The configuration is for good when a file system is made without it."""
    system = alone().one("LustreFileSystem").inputs
    assert "efaEnabled" not in system
    assert system["metadataConfiguration"] == {"mode": "AUTOMATIC"}


def test_scratch_takes_no_metadata_configuration():
    assert "metadataConfiguration" not in alone(durability="scratch").one("LustreFileSystem").inputs


@pytest.mark.parametrize(("compression", "kind"), [(True, "LZ4"), (False, "NONE")])
def test_data_is_compressed_until_that_is_turned_off(compression: bool, kind: str):
    rendered = alone(compression=compression)
    assert rendered.one("LustreFileSystem").inputs["dataCompressionType"] == kind
    assert refused_by_the_api(rendered) == []


@pytest.mark.parametrize(("deployment", "per_unit"), [("SCRATCH_2", None), ("PERSISTENT_1", 50), ("PERSISTENT_2", 125)])
def test_each_deployment_is_rendered_as_the_api_takes_it(deployment: str, per_unit: int | None):
    rendered = alone(aws={"deployment": deployment})
    system = rendered.one("LustreFileSystem").inputs
    assert (system["deploymentType"], system.get("perUnitStorageThroughput")) == (deployment, per_unit)
    assert refused_by_the_api(rendered) == []


@pytest.mark.parametrize("key", ["subnetIds", "securityGroupIds"])
def test_br_025_a_change_of_the_network_settings_replaces_a_file_system(key: str):
    types = json.loads((files("gpuyard.sandbox") / "data" / "aws.json").read_text(encoding="utf-8"))["types"]
    assert key in types["aws:fsx/lustreFileSystem:LustreFileSystem"]["replace_on"]


def test_br_025_a_file_system_with_data_is_protected_from_that_in_prod():
    assert rendered_stack("aws-prod", preview=False).one("LustreFileSystem").request.protect is True
    assert rendered_stack("aws-staging", preview=False).one("LustreFileSystem").request.protect is False


def test_br_026_the_file_system_says_its_zone_and_groups():
    made: list[ParallelFileSystem] = []
    args: Any = {
        "region": "us-east-1",
        "zone": "us-east-1a",
        "capacity_gib": 4800,
        "subnet_id": SUBNET,
        "security_group_ids": [GROUP],
    }
    outputs: dict[str, Any] = {}

    def program() -> None:
        made.append(ParallelFileSystem("x", args))
        made[0].security_group_ids.apply(lambda groups: outputs.update(groups=groups))
        made[0].mount_command.apply(lambda command: outputs.update(command=command))

    render(program, preview=False)
    assert made[0].zone == "us-east-1a"
    assert outputs == {
        "groups": [GROUP],
        "command": "sudo mount -t lustre -o relatime,flock x-lustre.example@tcp:/mnt /fsx",
    }
