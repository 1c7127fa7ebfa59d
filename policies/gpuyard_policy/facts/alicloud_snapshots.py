"""Schedules of snapshots on Alibaba Cloud: automatic policies of ECS, and enterprise policies of EBS."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard_policy.facts.alicloud_disks import ATTACHMENTS, DISKS, ENTERPRISE_SCHEDULE, SCHEDULES
from gpuyard_policy.facts.alicloud_places import CLOUD, region_of
from gpuyard_policy.facts.among import Among, linked
from gpuyard_policy.facts.model import CopyFact, Record, SnapshotScheduleFact, Unknown
from gpuyard_policy.facts.reading import as_flag, as_list, as_number, as_text, first_unknown, read

NO_ENCRYPTION = Unknown("an enterprise policy does not say whether its copies are encrypted")
_FOR_EVER = -1
# Source: PyPI pulumi_alicloud 4.0.0, example of ebs.EnterpriseSnapshotPolicy (DAYS)
_DAYS_OF = {"DAYS": 1, "WEEKS": 7, "MONTHS": 30, "YEARS": 365}
_OFF = "DISABLED"


def schedules(record: Record, among: Among) -> Iterable[SnapshotScheduleFact]:
    """The schedule of snapshots that a resource is, if it is one."""
    if record.type in SCHEDULES:
        days, count, copies = _days(record.props.get("retentionDays")), None, _copies(record.props)
    elif record.type == ENTERPRISE_SCHEDULE:
        rule = record.props.get("retainRule")
        days, count, copies = _interval(rule), as_number(read(rule, "number")), _enterprise_copies(record.props)
    else:
        return
    status = as_text(record.props.get("status"))
    yield SnapshotScheduleFact(
        urn=record.urn,
        name=record.name,
        cloud=CLOUD,
        region=region_of(record, among),
        enabled=status if isinstance(status, Unknown) else status != _OFF,
        target_tags=None,
        attached=_attached(record, among),
        keep_days=days,
        keep_count=count,
        copies=copies,
    )


def _attached(schedule: Record, among: Among) -> tuple[str, ...] | Unknown:
    """Disks and machines that a schedule is on: what names it in line, and what attachments join it to.

    A disk of another stack is told by its id.
    """
    found = [one.urn for one in among.users_of(schedule.urn) if one.type not in ATTACHMENTS]
    open_ones: list[Any] = []
    for kind, key in ATTACHMENTS.items():
        for one in linked(schedule, key, among, kind):
            here = [urn for urn in one.depends_on.get("diskId", ()) if urn in among]
            here += [disk.urn for disk in among.called(one.props.get("diskId"), *DISKS)]
            disk = as_text(one.props.get("diskId"))
            found += here or ([disk] if isinstance(disk, str) else [])
            open_ones += [] if here else [disk]
    return tuple(dict.fromkeys(found)) or first_unknown(*open_ones) or ()


def _days(value: Any) -> int | None | Unknown:
    days = as_number(value)
    return None if days == _FOR_EVER else days


def _interval(rule: Any) -> int | None | Unknown:
    interval, unit = as_number(read(rule, "timeInterval")), as_text(read(rule, "timeUnit"))
    if isinstance(interval, Unknown) or isinstance(unit, Unknown):
        return first_unknown(interval, unit)
    return None if interval is None or unit not in _DAYS_OF else interval * _DAYS_OF[unit]


def _copies(props: Mapping[str, Any]) -> tuple[CopyFact, ...] | Unknown:
    """Copies of an automatic policy, as far as it is told to make any."""
    enabled, regions = as_flag(props.get("enableCrossRegionCopy")), as_list(props.get("targetCopyRegions"))
    if isinstance(enabled, Unknown) or isinstance(regions, Unknown):
        return first_unknown(enabled, regions) or ()
    encrypted = as_flag(read(props.get("copyEncryptionConfiguration"), "encrypted"))
    keep = _days(props.get("copiedSnapshotsRetentionDays"))
    return tuple(CopyFact(region, encrypted or False, keep) for region in regions if enabled)


def _enterprise_copies(props: Mapping[str, Any]) -> tuple[CopyFact, ...] | Unknown:
    told = props.get("crossRegionCopyInfo")
    enabled, regions = as_flag(read(told, "enabled")), as_list(read(told, "regions"))
    if isinstance(enabled, Unknown) or isinstance(regions, Unknown):
        return first_unknown(enabled, regions) or ()
    return tuple(
        CopyFact(read(one, "regionId"), NO_ENCRYPTION, _days(read(one, "retainDays"))) for one in regions if enabled
    )
