"""File systems on Alibaba Cloud, as rendered for the engine."""

from typing import Any

import pytest

from gpuyard import ParallelFileSystem
from gpuyard.spec import SpecError

from ..recorder import Rendered, render

NAS = {"alicloud": {"kind": "nas_extreme"}}
KEY_ID = "key-bjz0123456789abcdef"
PLACEMENT = {"vpcId": "vpc-1", "vswitchId": "vsw-1"}


def arguments(**values: Any) -> Any:
    base = {
        "cloud": "alicloud",
        "region": "cn-beijing",
        "zone": "cn-beijing-l",
        "capacity_gib": 3600,
        "network_id": "vpc-1",
        "subnet_id": "vsw-1",
        "security_group_ids": ["sg-1"],
        "client_cidr": "10.64.0.0/16",
    }
    return {key: value for key, value in {**base, **values}.items() if value is not ...}


def rendered(*, preview: bool = False, **values: Any) -> Rendered:
    """One file system alone; ``...`` takes an argument out."""
    return render(lambda: ParallelFileSystem("x", arguments(**values)), preview=preview)


def refused(**values: Any) -> list[str]:
    with pytest.raises(SpecError) as error:
        rendered(**values)
    return [str(problem) for problem in error.value.problems]


def outputs_of(**values: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def program() -> None:
        system = ParallelFileSystem("x", arguments(**values))
        found["protocol"] = system.mount_protocol
        for key in ("dns_name", "mount_name", "mount_command"):
            getattr(system, key).apply(lambda value, key=key: found.update({key: value}))

    render(program, preview=False)
    return found


def test_br_064_cpfs_has_its_place_and_capacity(preview: bool):
    found = rendered(preview=preview, capacity_gib=4800, throughput_mb_per_s=900).one("FileSystem")
    wanted = {
        "fileSystemType": "cpfs",
        "protocolType": "cpfs",
        "storageType": "advance_200",
        "capacity": 4800,
        "zoneId": "cn-beijing-l",
        **PLACEMENT,
    }
    assert {key: found.inputs[key] for key in wanted} == wanted
    # The provider encrypts a NAS alone.
    assert not {"encryptType", "kmsKeyId"} & set(found.inputs)


def test_making_one_may_take_longer_than_the_provider_waits():
    for kind in ({"bucket_name": "models", "capacity_gib": 7200}, NAS):
        made = [one for one in rendered(**kind) if one.type.startswith("alicloud:nas")]
        assert len(made) > 3
        assert {one.request.customTimeouts.create for one in made} == {"60m"}


def test_of_what_there_is_one_only_the_old_goes_first_but_never_the_data():
    for kind in ({"bucket_name": "models", "capacity_gib": 7200}, NAS):
        for one in rendered(**kind):
            if one.type.startswith("alicloud:nas"):
                assert one.request.deleteBeforeReplace is not one.type.endswith(":FileSystem")


def test_br_064_a_nas_never_gets_network_and_vswitch(preview: bool):
    found = rendered(preview=preview, capacity_gib=500, **NAS)
    system = found.one("FileSystem").inputs
    assert (system["fileSystemType"], system["protocolType"], system["storageType"]) == ("extreme", "NFS", "standard")
    assert not {"vpcId", "vswitchId"} & set(system)
    target = found.one("MountTarget").inputs
    assert {key: target[key] for key in PLACEMENT} == PLACEMENT
    assert target["networkType"] == "Vpc"


def test_br_064_without_a_network_or_a_vswitch_nothing_is_made():
    assert refused(network_id=...) == ["network_id: is missing. alicloud needs it."]
    assert refused(subnet_id=...) == ["subnet_id: is missing. It must be given."]


def test_a_nas_is_encrypted():
    plain = rendered(capacity_gib=500, **NAS).one("FileSystem").inputs
    assert plain["encryptType"] == 1
    assert "kmsKeyId" not in plain
    own = rendered(capacity_gib=500, kms_key=f"acs:kms:cn-beijing:1:key/{KEY_ID}", **NAS).one("FileSystem").inputs
    assert (own["encryptType"], own["kmsKeyId"]) == (2, KEY_ID)


def test_a_nas_is_mounted_from_the_network_only():
    found = rendered(capacity_gib=500, **NAS)
    group = found.one("AccessGroup").inputs
    assert (group["accessGroupType"], group["fileSystemType"]) == ("Vpc", "extreme")
    rule = found.one("AccessRule").inputs
    assert (rule["sourceCidrIp"], rule["rwAccessType"], rule["fileSystemType"]) == ("10.64.0.0/16", "RDWR", "extreme")
    target = found.one("MountTarget")
    assert target.inputs["accessGroupName"] == "x-clients"
    assert "x-clients" in target.depends_on


def test_a_nas_without_addresses_of_its_clients_is_refused():
    assert refused(capacity_gib=500, client_cidr=..., **NAS) == ["client_cidr: is missing. alicloud needs it."]
    assert rendered(client_cidr=..., alicloud={"kind": "cpfs"}).one("FileSystem")


def test_br_065_the_kind_of_mount_is_told():
    cpfs = outputs_of()
    assert cpfs == {
        "protocol": "cpfs-nfs",
        "dns_name": "x-cpfs-id-x-nfs.cn-beijing.cpfs.aliyuncs.com",
        "mount_name": "/share",
        "mount_command": "sudo mount -t nfs -o vers=3,nolock,proto=tcp,rsize=1048576,wsize=1048576,hard,timeo=600,"
        "retrans=2,noresvport x-cpfs-id-x-nfs.cn-beijing.cpfs.aliyuncs.com:/share /shared",
    }
    nas = outputs_of(capacity_gib=500, **NAS)
    assert (nas["protocol"], nas["dns_name"], nas["mount_name"]) == ("nfs", "x-nas.nas.example", "/share")
    assert nas["mount_command"].startswith("sudo mount -t nfs -o vers=3,")
    assert nas["mount_command"].endswith(" x-nas.nas.example:/share /shared")


def test_cpfs_is_exported_as_a_whole_inside_its_network():
    found = rendered()
    service = found.one("ProtocolService").inputs
    assert (service["protocolType"], service["protocolSpec"]) == ("NFS", "General")
    export = found.one("ProtocolMountTarget").inputs
    assert (export["path"], export["accessGroupName"]) == ("/", "DEFAULT_VPC_GROUP_NAME")
    assert "fsetId" not in export
    for inputs in (service, export):
        assert {key: inputs[key] for key in PLACEMENT} == PLACEMENT


def test_a_flow_joins_bucket_and_folder(preview: bool):
    found = rendered(preview=preview, capacity_gib=7200, bucket_name="models")
    flow = found.one("DataFlow")
    assert flow.inputs["sourceStorage"] == "oss://models"
    assert flow.inputs["sourceSecurityType"] == "SSL"
    assert flow.inputs["throughput"] == 600
    # The flow is of the whole bucket: its prefix 'checkpoints' is a folder below this one.
    assert found.one("Fileset").inputs["fileSystemPath"] == "/bucket/"
    assert "x-posix" in flow.depends_on
    assert "x-posix" in found.one("Fileset").depends_on
    assert found.one("MountTarget", "x-posix").inputs["vswitchId"] == "vsw-1"


def test_without_a_flow_there_is_neither_folder_nor_posix_mount():
    for values in ({}, {"bucket_name": "models", "bucket_sync": "none"}, {"bucket_name": "models", **NAS}):
        found = rendered(capacity_gib=3600, **values)
        assert not found.all("DataFlow")
        assert not found.all("Fileset")
        assert [one.name for one in found.all("MountTarget")] == (["x-nas"] if "alicloud" in values else [])


@pytest.mark.parametrize("kind", [{}, NAS])
@pytest.mark.parametrize(("environment", "protected"), [("dev", False), ("prod", True)])
def test_the_data_alone_is_protected_in_prod(kind: dict[str, Any], environment: str, protected: bool):
    found = rendered(environment=environment, **kind)
    assert {one.name for one in found if one.request.protect} == (
        {found.one("FileSystem").name} if protected else set()
    )


def test_everything_is_in_the_component_s_region():
    found = rendered(bucket_name="models", capacity_gib=7200)
    assert found.one("pulumi:providers:alicloud").inputs["region"] == "cn-beijing"
    assert all("::x-cn-beijing::" in one.request.provider for one in found if one.type.startswith("alicloud:nas"))
