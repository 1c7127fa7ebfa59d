"""Disks of Tencent Cloud that exist by themselves, and schedules of snapshots of disks and of file systems."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import DiskFact, Record, SnapshotScheduleFact, Unknown
from gpuyard_policy.facts.reading import as_number, as_tags, as_text, items_of
from gpuyard_policy.facts.tencentcloud_machines import encrypted_of
from gpuyard_policy.facts.tencentcloud_places import CLOUD, region_of
from gpuyard_policy.facts.tencentcloud_storage import DISK, FILE_SYSTEM

DISK_SET = "tencentcloud:Cbs/storageSet:StorageSet"
SCHEDULE = "tencentcloud:Cbs/snapshotPolicy:SnapshotPolicy"
ATTACHMENT = "tencentcloud:Cbs/snapshotPolicyAttachment:SnapshotPolicyAttachment"
FILE_SCHEDULE = "tencentcloud:Cfs/autoSnapshotPolicy:AutoSnapshotPolicy"
FILE_ATTACHMENT = "tencentcloud:Cfs/autoSnapshotPolicyAttachment:AutoSnapshotPolicyAttachment"
_DISKS = (DISK, DISK_SET)
# Source: PyPI tencentcloud_iac_pulumi 0.2.3, modules cbs and cfs, have neither resource nor argument for it; what the
# API has is in github tencentcloudstack/terraform-provider-tencentcloud, cbs_copy_snapshot_cross_region.
NO_COPIES = Unknown("the provider cannot copy snapshots to another region: it has no resource for that")


@dataclass(frozen=True)
class _Kind:
    """A kind of schedule: what attaches it, by which properties, and to what."""

    attachment: str
    own: str
    targets: tuple[str, ...]
    target_types: tuple[str, ...]


_KINDS = {
    SCHEDULE: _Kind(ATTACHMENT, "snapshotPolicyId", ("storageId", "storageIds"), _DISKS),
    FILE_SCHEDULE: _Kind(FILE_ATTACHMENT, "autoSnapshotPolicyId", ("fileSystemIds",), (FILE_SYSTEM,)),
}


def disks(record: Record, among: Among) -> Iterable[DiskFact]:
    """The disk by itself, or the set of equal ones, that a resource is, if it is one."""
    if record.type in _DISKS:
        props = record.props
        yield DiskFact(
            urn=record.urn,
            name=record.name,
            cloud=CLOUD,
            role="data",
            disk_type=as_text(props.get("storageType")),
            size_gib=as_number(props.get("storageSize")),
            iops=None,
            throughput_mb_per_s=as_number(props.get("throughputPerformance")),
            encrypted=encrypted_of(props.get("encrypt")),
            tags=as_tags(props.get("tags")),
            schedules=_schedules_of(record, among),
        )


def schedules(record: Record, among: Among) -> Iterable[SnapshotScheduleFact]:
    """The schedule of snapshots that a resource is, if it is one."""
    if record.type in _KINDS:
        yield SnapshotScheduleFact(
            urn=record.urn,
            name=record.name,
            cloud=CLOUD,
            region=region_of(record, among),
            enabled=True,
            target_tags=None,
            attached=_attached(record, among),
            keep_days=_days(record),
            keep_count=None,
            copies=NO_COPIES,
        )


def _days(schedule: Record) -> int | None | Unknown:
    """Days that snapshots are kept: of disks 7 where nothing is said, of file systems for ever with 0.

    Sources: PyPI tencentcloud_iac_pulumi 0.2.3, docstring of cbs.SnapshotPolicy (retentionDays);
    https://www.tencentcloud.com/document/product/582/50840 (AliveDays)
    """
    if schedule.type == SCHEDULE:
        days = schedule.props.get("retentionDays")
        return 7 if days is None else as_number(days)
    days = as_number(schedule.props.get("aliveDays"))
    return days if isinstance(days, Unknown) else days or None


@dataclass(frozen=True)
class _Attachments:
    """What is attached to what by the attachments of one kind.

    Attributes:
        schedules: For each target, by URN and by id, its schedules: URNs of those in the stack, ids of others. What
            attaches a schedule whose id is not known yet stands for that schedule.
        targets: For each schedule of the stack its targets: URNs of those in the stack, ids of others.
        open: For a schedule, or for None where it may be any, a question of what more it is attached to.
    """

    schedules: Mapping[str, list[str]]
    targets: Mapping[str, list[str]]
    open: Mapping[str | None, Unknown]


def _schedules_of(disk: Record, among: Among) -> tuple[str, ...]:
    found = _attachments(SCHEDULE, among).schedules
    own = disk.props.get("id")
    return tuple(dict.fromkeys((*found.get(disk.urn, ()), *(found.get(own, ()) if isinstance(own, str) else ()))))


def _attached(policy: Record, among: Among) -> tuple[str, ...] | Unknown:
    """What a policy is attached to; unknown where more may be."""
    found = _attachments(policy.type, among)
    question = found.open.get(policy.urn) or found.open.get(None)
    return tuple(dict.fromkeys(found.targets.get(policy.urn, ()))) if question is None else question


def _attachments(schedule: str, among: Among) -> _Attachments:
    return among.once((CLOUD, schedule), lambda: _read_attachments(schedule, among))


def _read_attachments(schedule: str, among: Among) -> _Attachments:
    kind = _KINDS[schedule]
    schedules_of: dict[str, list[str]] = defaultdict(list)
    targets_of: dict[str, list[str]] = defaultdict(list)
    questions: dict[str | None, Unknown] = {}
    for one in among.of_type(kind.attachment):
        named = one.props.get(kind.own)
        behind = (*among.behind(one, kind.own, schedule), *among.called(named, schedule))
        policies = list(dict.fromkeys(policy.urn for policy in behind))
        if not policies and isinstance(named, Unknown):
            questions[None] = named
        for key in kind.targets:
            targets, question = _targets(one, key, among, kind)
            for target in targets:
                schedules_of[target] += policies or [named if isinstance(named, str) else one.urn]
            for policy in policies:
                targets_of[policy] += targets
                if question is not None:
                    questions[policy] = question
    return _Attachments(schedules_of, targets_of, questions)


def _targets(attachment: Record, key: str, among: Among, kind: _Kind) -> tuple[list[str], Unknown | None]:
    """What one property attaches, and a question where there is more that is not known yet."""
    value = attachment.props.get(key)
    behind = [one.urn for one in among.behind(attachment, key, *kind.target_types)]
    ids = _ids(value)
    known = {one: target.urn for one in ids for target in among.called(one, *kind.target_types)}
    open_ones = [item for item in (value, *items_of(value)) if isinstance(item, Unknown)]
    question = open_ones[0] if len(behind) < len(open_ones) else None
    return [*behind, *(known.get(one, one) for one in ids if one in known or not behind)], question


def _ids(value: Any) -> list[str]:
    """Ids in a list, or in a text with commas between them."""
    return [part.strip() for item in items_of(value) if isinstance(item, str) for part in item.split(",")]
