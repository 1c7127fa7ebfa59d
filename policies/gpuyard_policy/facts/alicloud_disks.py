"""Block disks of Alibaba Cloud: those by themselves, those of machines, and the snapshot policies on them."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard_policy.facts.alicloud_places import CLOUD, named_by, number_of, region_of
from gpuyard_policy.facts.among import Among, linked
from gpuyard_policy.facts.model import DiskFact, Record, Unknown
from gpuyard_policy.facts.reading import as_flag, as_list, as_number, as_tags, as_text, read

DISKS = ("alicloud:ecs/ecsDisk:EcsDisk", "alicloud:ecs/disk:Disk")
SCHEDULES = ("alicloud:ecs/autoSnapshotPolicy:AutoSnapshotPolicy", "alicloud:ecs/snapshotPolicy:SnapshotPolicy")
ENTERPRISE_SCHEDULE = "alicloud:ebs/enterpriseSnapshotPolicy:EnterpriseSnapshotPolicy"
# Attachments of policies to disks, and the property that names the policy.
ATTACHMENTS = {
    "alicloud:ecs/ecsAutoSnapshotPolicyAttachment:EcsAutoSnapshotPolicyAttachment": "autoSnapshotPolicyId",
    "alicloud:ebs/enterpriseSnapshotPolicyAttachment:EnterpriseSnapshotPolicyAttachment": "policyId",
}
ENCRYPTED_BY_DEFAULT = "alicloud:ecs/diskEncryptionByDefault:DiskEncryptionByDefault"


def disks(record: Record, among: Among) -> Iterable[DiskFact]:
    """The disk by itself that a resource is, if it is one."""
    if record.type in DISKS:
        yield DiskFact(
            urn=record.urn,
            name=record.name,
            cloud=CLOUD,
            role="data",
            disk_type=_type_of(record.props),
            size_gib=number_of(record.props.get("size")),
            iops=as_number(record.props.get("provisionedIops")),
            throughput_mb_per_s=None,
            encrypted=_is_encrypted(record.props.get("encrypted"), region_of(record, among), among),
            tags=as_tags(record.props.get("tags")),
            schedules=_attached_to(record, among),
        )


def disks_of(machine: Record, pool: Record, among: Among) -> tuple[DiskFact, ...] | Unknown:
    """The system disk and those that come with a machine; disks by themselves are facts of their own.

    Args:
        machine: What describes the machine, in the words of a machine by itself.
        pool: The resource that launches it.
        among: All resources.
    """
    props = machine.props
    others = as_list(props.get("dataDisks"))
    if isinstance(others, Unknown):
        return others
    system = {
        "category": props.get("systemDiskCategory"),
        "performanceLevel": props.get("systemDiskPerformanceLevel"),
        "size": props.get("systemDiskSize"),
        "encrypted": props.get("systemDiskEncrypted"),
    }
    root = (*_attached_to(machine, among), *_inline(machine, "systemDiskAutoSnapshotPolicyId", props, among))
    return (
        _disk(machine, pool, "root", system, root, among),
        *(_disk(machine, pool, "data", one, _inline(machine, "dataDisks", one, among), among) for one in others),
    )


def policies_of(attachment: Record, among: Among) -> list[Record]:
    """The policies that an attachment names."""
    return named_by(attachment, ATTACHMENTS[attachment.type], among, *SCHEDULES, ENTERPRISE_SCHEDULE)


def _disk(machine: Record, pool: Record, role: str, disk: Any, schedules: tuple[str, ...], among: Among) -> DiskFact:
    return DiskFact(
        urn=machine.urn,
        name=f"{machine.name} ({'system' if role == 'root' else 'data'} disk)",
        cloud=CLOUD,
        role=role,
        disk_type=disk if isinstance(disk, Unknown) else _type_of(disk),
        size_gib=number_of(read(disk, "size")),
        iops=as_number(read(disk, "provisionedIops")),
        throughput_mb_per_s=None,
        encrypted=_is_encrypted(read(disk, "encrypted"), region_of(pool, among), among),
        tags=as_tags(machine.props.get("volumeTags") or machine.props.get("tags")),
        pool_urn=pool.urn,
        schedules=schedules,
    )


def _type_of(disk: Any) -> str | None | Unknown:
    """A disk's class in the catalog's words: its category, for ESSD with the level behind it."""
    category, level = as_text(read(disk, "category")), as_text(read(disk, "performanceLevel"))
    if isinstance(category, Unknown) or category is None or level is None:
        return category
    return level if isinstance(level, Unknown) else f"{category} {level}"


def _is_encrypted(said: Any, region: str | Unknown, among: Among) -> bool | Unknown:
    """Whether a disk is encrypted: as it says, or as its account does for the whole region.

    Source: https://alibabacloud.com/help/en/ecs/developer-reference/api-ecs-2014-05-26-enablediskencryptionbydefault
    """
    flag = as_flag(said)
    if flag is not None:
        return flag
    defaults = among.once("alicloud disks encrypted by default", lambda: _defaults(among))
    return defaults.get(region, False)


def _defaults(among: Among) -> Mapping[str | Unknown, bool | Unknown]:
    found: dict[str | Unknown, bool | Unknown] = {}
    for one in among.of_type(ENCRYPTED_BY_DEFAULT):
        found[region_of(one, among)] = as_flag(one.props.get("encrypted")) or False
    return found


def _attached_to(disk: Record, among: Among) -> tuple[str, ...]:
    """Policies that are attached to a disk, or to the system disk of a machine."""
    attachments = linked(disk, "diskId", among, *ATTACHMENTS)
    return tuple(policy.urn for one in attachments for policy in policies_of(one, among))


def _inline(machine: Record, key: str, disk: Any, among: Among) -> tuple[str, ...]:
    """The policy that a disk of a machine names in line, below a property of the machine."""
    named = read(disk, key if key != "dataDisks" else "autoSnapshotPolicyId")
    if named is None:
        return ()
    found = among.behind(machine, key, *SCHEDULES) or among.called(named, *SCHEDULES)
    return tuple(policy.urn for policy in found)
