"""Schedules of snapshots on AWS: Data Lifecycle Manager and AWS Backup."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, cast

from gpuyard_policy.facts.among import Among, linked
from gpuyard_policy.facts.aws_places import CLOUD, behind, region_in, region_of
from gpuyard_policy.facts.aws_pools import node_pools
from gpuyard_policy.facts.aws_storage import VOLUME
from gpuyard_policy.facts.aws_templates import INSTANCE
from gpuyard_policy.facts.model import CopyFact, Record, SnapshotScheduleFact, Unknown
from gpuyard_policy.facts.reading import as_flag, as_list, as_number, as_tags, as_text, first_unknown, items_of, read

POLICY = "aws:dlm/lifecyclePolicy:LifecyclePolicy"
PLAN = "aws:backup/plan:Plan"
SELECTION = "aws:backup/selection:Selection"
VAULT = "aws:backup/vault:Vault"
# Days that a unit of retention comes to; a month and a year are counted by their longest.
_DAYS = {"DAYS": 1, "WEEKS": 7, "MONTHS": 31, "YEARS": 366}
_EVENT_POLICY = "EVENT_BASED_POLICY"
_ALL_VOLUMES = ("*", ":volume/*")


def schedules(record: Record, among: Among) -> Iterable[SnapshotScheduleFact]:
    """The schedules that a resource is; one of AWS Backup is as many as it has ways to select."""
    if record.type == POLICY:
        details = record.props.get("policyDetails")
        if read(details, "policyType") != _EVENT_POLICY:
            yield _lifecycle(record, details, among)
    elif record.type == PLAN:
        yield from _backup(record, among)


def _lifecycle(record: Record, details: Any, among: Among) -> SnapshotScheduleFact:
    state = as_text(record.props.get("state"))
    listed = as_list(read(details, "schedules"))
    default = as_text(record.props.get("defaultPolicy"))
    tags: Any = read(details, "targetTags")
    attached: tuple[str, ...] | Unknown = ()
    kinds = as_list(read(details, "resourceTypes"))
    if isinstance(default, str):
        # A default policy takes every volume of the region, or every instance with its volumes.
        tags = {}
    elif isinstance(tags, Mapping) and "INSTANCE" in items_of(kinds):
        tags, attached = None, _pools_tagged(as_tags(tags), among)
    elif not isinstance(tags, (Mapping, Unknown)):
        tags = None
    unknown = first_unknown(details, kinds, *items_of(kinds))
    retention = _retention(details, listed, simple=isinstance(default, str))
    return SnapshotScheduleFact(
        urn=record.urn,
        name=record.name,
        cloud=CLOUD,
        region=region_of(record, among),
        enabled=state if isinstance(state, Unknown) else state != "DISABLED",
        target_tags=cast("Mapping[str, Any] | None | Unknown", tags if unknown is None else unknown),
        attached=attached if unknown is None else unknown,
        keep_days=retention[0],
        keep_count=retention[1],
        copies=_copies(details, listed),
    )


def _retention(
    details: Any, listed: list[Any] | Unknown, *, simple: bool
) -> tuple[float | None | Unknown, int | None | Unknown]:
    """How long the snapshots of all schedules are kept: the longest, and for ever where one has no end."""
    if simple:
        return _default_days(details), None
    if isinstance(listed, Unknown):
        return listed, listed
    rules = [read(one, "retainRule") for one in listed]
    days = [_days(read(rule, "interval"), read(rule, "intervalUnit")) for rule in rules]
    counts = [as_number(read(rule, "count")) for rule in rules]
    unknown = first_unknown(*rules, *days, *counts)
    if unknown is not None:
        return unknown, unknown
    if any(day is None and count is None for day, count in zip(days, counts, strict=True)):
        return None, None
    return (
        max((day for day in days if isinstance(day, (int, float))), default=None),
        max((count for count in counts if isinstance(count, int)), default=None),
    )


def _default_days(details: Any) -> float | Unknown:
    """Retention of a default policy.

    Source: PyPI botocore 1.44.8, service model dlm, CreateLifecyclePolicy.RetainInterval (7 days unless said).
    """
    days = as_number(read(details, "retainInterval"))
    return 7 if days is None else days


def _days(interval: Any, unit: Any) -> float | None | Unknown:
    number = as_number(interval)
    unknown = first_unknown(number, unit)
    if unknown is not None or number is None:
        return unknown
    days = _DAYS.get(unit) if isinstance(unit, str) else None
    return None if days is None or isinstance(number, Unknown) else number * days


def _copies(details: Any, listed: list[Any] | Unknown) -> tuple[CopyFact, ...] | Unknown:
    if isinstance(listed, Unknown):
        return listed
    rules = [as_list(read(one, "crossRegionCopyRules")) for one in listed]
    unknown = first_unknown(*rules)
    return unknown or tuple(_copy(rule) for some in rules for rule in items_of(some))


def _copy(rule: Any) -> CopyFact:
    target = as_text(read(rule, "targetRegion") or read(rule, "target"))
    encrypted = as_flag(read(rule, "encrypted"))
    keep = read(rule, "retainRule")
    return CopyFact(
        region=Unknown("it names no region") if target is None else region_in(target) or target,
        encrypted=encrypted if isinstance(encrypted, Unknown) else encrypted is True,
        keep_days=_days(read(keep, "interval"), read(keep, "intervalUnit")),
    )


def _pools_tagged(target: Mapping[str, Any] | Unknown, among: Among) -> tuple[str, ...]:
    """Pools whose machines carry one of some tags: such a policy takes all volumes of a machine."""
    index = among.once("pools by tag", lambda: _pools_by_tag(among))
    known: Mapping[str, Any] = {} if isinstance(target, Unknown) else target
    pairs = [(key, value) for key, value in known.items() if isinstance(value, str)]
    return tuple(dict.fromkeys(urn for pair in pairs for urn in index.get(pair, ())))


def _pools_by_tag(among: Among) -> Mapping[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for record in among.values():
        for pool in node_pools(record, among):
            known: Mapping[str, Any] = {} if isinstance(pool.tags, Unknown) else pool.tags
            for key, value in known.items():
                if isinstance(value, str):
                    found[key, value].append(pool.urn)
    return found


def _backup(plan: Record, among: Among) -> Iterable[SnapshotScheduleFact]:
    rules = as_list(plan.props.get("rules"))
    ends = [read(rule, "lifecycle", "deleteAfter") for rule in items_of(rules)]
    days = [as_number(end) for end in ends]
    keep = first_unknown(rules, *days)
    known = [day for day in days if isinstance(day, int) and day >= 0]
    copies = [copy for rule in items_of(rules) for copy in items_of(read(rule, "copyActions"))]
    for tags, attached in _selected(plan, among):
        yield SnapshotScheduleFact(
            urn=plan.urn,
            name=plan.name,
            cloud=CLOUD,
            region=region_of(plan, among),
            enabled=True,
            target_tags=tags,
            attached=attached,
            keep_days=keep or (max(known) if known and len(known) == len(days) else None),
            keep_count=None,
            copies=rules
            if isinstance(rules, Unknown)
            else tuple(_backup_copy(plan, one, len(copies), among) for one in copies),
        )


def _selected(plan: Record, among: Among) -> Iterable[tuple[Mapping[str, Any] | None | Unknown, Any]]:
    """Each way by which a plan selects: by one tag, or by naming volumes and machines."""
    selections = linked(plan, "planId", among, SELECTION)
    if not selections:
        yield None, ()
    for selection in selections:
        tags, resources = as_list(selection.props.get("selectionTags")), as_list(selection.props.get("resources"))
        if isinstance(tags, Unknown):
            yield tags, ()
        for tag in items_of(tags):
            key = as_text(read(tag, "key"))
            yield (key, ()) if isinstance(key, Unknown) else ({str(key): read(tag, "value")}, ())
        if selection.props.get("conditions"):
            yield Unknown("it selects by conditions"), ()
        elif any(isinstance(one, str) and (one == "*" or one.endswith(_ALL_VOLUMES[1])) for one in items_of(resources)):
            yield {}, ()
        elif resources or not tags:
            here = behind(selection, "resources", among, resources, VOLUME, INSTANCE)
            yield None, tuple(one.urn for one in here) if here else first_unknown(resources, *items_of(resources)) or ()


def _backup_copy(plan: Record, action: Any, count: int, among: Among) -> CopyFact:
    arn = as_text(read(action, "destinationVaultArn"))
    region: str | None | Unknown = region_in(arn)
    if region is None:
        vaults = [one for one in among.behind(plan, "rules", VAULT) if region_of(one, among) != region_of(plan, among)]
        if len(vaults) == 1 and count == 1:
            region = region_of(vaults[0], among)
    keep = as_number(read(action, "lifecycle", "deleteAfter"))
    return CopyFact(
        region=region or (arn if isinstance(arn, Unknown) else Unknown("it names no vault whose region is known")),
        # A copy is encrypted by the key of the vault that it goes to, whether its source is encrypted or not.
        # Source: https://docs.aws.amazon.com/aws-backup/latest/devguide/encryption.html
        encrypted=True,
        keep_days=keep,
    )
