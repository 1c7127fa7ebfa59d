"""Rules about snapshots of disks: that they are made, end, and are copied."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard_policy.facts.model import CopyFact, DiskFact, SnapshotScheduleFact, Unknown
from gpuyard_policy.rules.judging import Answer, each, failed, known, on_each, passed
from gpuyard_policy.rules.rule import Context, Finding, Rule, Threshold, everywhere, stricter
from gpuyard_policy.rules.storage_disks import every_disk

_BY_COUNT = Threshold(
    1000,
    "snapshots",
    "most snapshots of one disk that are kept",
    "https://docs.aws.amazon.com/ebs/latest/userguide/dlm-elements.html (most that a policy keeps)",
)


class _Schedules:
    """Schedules by what they select: a disk's own list, what is attached, or a tag's exact key and value.

    Several tags of one schedule are alternatives: a disk with any of them is selected.
    Source: https://docs.aws.amazon.com/ebs/latest/userguide/snapshot-ami-policy.html
    """

    def __init__(self, schedules: Iterable[SnapshotScheduleFact]) -> None:
        self.by_urn = {one.urn: one for one in schedules}
        self.by_tag: dict[tuple[str, str], list[SnapshotScheduleFact]] = defaultdict(list)
        self.attached: dict[str, list[SnapshotScheduleFact]] = defaultdict(list)
        self.open: dict[str, tuple[SnapshotScheduleFact, Unknown]] = {}
        for one in self.by_urn.values():
            for field in (one.attached, one.target_tags, *_values_of(one.target_tags)):
                if isinstance(field, Unknown):
                    self.open[one.cloud] = (one, field)
            for urn in () if isinstance(one.attached, Unknown) else one.attached:
                self.attached[urn].append(one)
            for pair in _pairs_of(one.target_tags):
                self.by_tag[pair].append(one)

    def of(self, disk: DiskFact) -> list[SnapshotScheduleFact]:
        """Schedules that select a disk."""
        found = [self.by_urn[urn] for urn in disk.schedules if urn in self.by_urn]
        found += self.attached.get(disk.urn, ())
        for pair in _pairs_of(disk.tags):
            found += [one for one in self.by_tag.get(pair, ()) if one.cloud == disk.cloud]
        return found


def _values_of(tags: Mapping[str, Any] | None | Unknown) -> list[Any]:
    return [] if tags is None or isinstance(tags, Unknown) else list(tags.values())


def _pairs_of(tags: Mapping[str, Any] | None | Unknown) -> list[tuple[str, str]]:
    if tags is None or isinstance(tags, Unknown):
        return []
    return [(key, value) for key, value in tags.items() if isinstance(value, str)]


def _scheduled(context: Context) -> Iterable[Finding]:
    schedules = _Schedules(context.facts.schedules)
    return each(context, context.facts.disks, lambda _, disk: _judge_scheduled(disk, schedules))


def _judge_scheduled(disk: DiskFact, schedules: _Schedules) -> Answer:
    found = schedules.of(disk)
    if any(one.enabled is True for one in found):
        return passed("a schedule selects it.")
    if disk.schedules and not found:
        return passed("a schedule of another stack names it.")
    for one in found:
        known(one.enabled, f"whether schedule '{one.name}' is switched on")
    known(disk.tags, f"whether a schedule selects disk '{disk.name}'")
    for value in _values_of(disk.tags):
        known(value, f"whether a schedule selects disk '{disk.name}'")
    if disk.cloud in schedules.open:
        one, why = schedules.open[disk.cloud]
        known(why, f"what schedule '{one.name}' selects")
    off = f" Schedule '{found[0].name}' selects it, but is switched off." if found else ""
    return failed(
        f"disk '{disk.name}' lasts, and no schedule makes snapshots of it.{off} Give it the exact tag of a schedule "
        "(key and value, case and all), or attach it to one."
    )


def _selects(context: Context) -> Iterable[Finding]:
    tags: set[tuple[str, str, str]] = set()
    unknown: dict[str, DiskFact] = {}
    named: set[str] = set()
    for disk in every_disk(context):
        named.update(disk.schedules)
        tags.update((disk.cloud, key, value) for key, value in _pairs_of(disk.tags))
        if isinstance(disk.tags, Unknown) or any(isinstance(value, Unknown) for value in _values_of(disk.tags)):
            unknown[disk.cloud] = disk
    pools = {pool.cloud: pool for pool in context.facts.node_pools if isinstance(pool.disks, Unknown)}

    def judge(_: Context, one: SnapshotScheduleFact) -> Answer:
        attached = known(one.attached, f"what schedule '{one.name}' selects")
        wanted = known(one.target_tags, f"what schedule '{one.name}' selects")
        if attached or one.urn in named or any((one.cloud, *pair) in tags for pair in _pairs_of(wanted)):
            return passed("it selects disks of this stack.")
        for value in _values_of(wanted):
            known(value, f"what schedule '{one.name}' selects")
        if one.cloud in pools:
            known(pools[one.cloud].disks, f"what disks pool '{pools[one.cloud].name}' has")
        if wanted and one.cloud in unknown:
            disk = unknown[one.cloud]
            for value in (disk.tags, *_values_of(disk.tags)):
                known(value, f"what tags disk '{disk.name}' has")
        listed = ", ".join(f"{key}={value}" for key, value in _pairs_of(wanted))
        what = f"finds disks by {listed}, and no disk in this stack carries it" if listed else "is attached to nothing"
        return failed(
            f"schedule '{one.name}' {what}: it would make no snapshot, and say nothing. Tag the disks exactly so (key "
            "and value, case and all), or attach them."
        )

    return each(context, context.facts.schedules, judge)


def _judge_ends(context: Context, one: SnapshotScheduleFact) -> Answer:
    if _kept(one):
        return passed("its snapshots end.")
    return failed(
        f"snapshots of schedule '{one.name}' never end: their cost only grows, up to the cloud's limit for a disk. Say "
        "for how many days, or how many, they are kept."
    )


def _kept(one: SnapshotScheduleFact) -> bool:
    days = known(one.keep_days, f"how long schedule '{one.name}' keeps snapshots")
    count = known(one.keep_count, f"how many snapshots schedule '{one.name}' keeps")
    return days is not None or count is not None


def _judge_too_long(context: Context, one: SnapshotScheduleFact) -> Answer:
    if not _kept(one):
        return passed("SNP003 says that its snapshots never end.")
    days_max, count_max = context.threshold("keep_days_max"), context.threshold("keep_count_max")
    if isinstance(one.keep_days, int | float) and one.keep_days > days_max:
        return failed(
            f"schedule '{one.name}' keeps snapshots for {one.keep_days:g} days, longer than {days_max:g}. Shorten it."
        )
    if isinstance(one.keep_count, int) and one.keep_count > count_max:
        return failed(f"schedule '{one.name}' keeps {one.keep_count} snapshots, more than {count_max:g}. Keep fewer.")
    return passed("not longer than is allowed.")


def _judge_copied(context: Context, one: SnapshotScheduleFact) -> Answer:
    if _copies_of(one):
        return passed("copied to another region.")
    return failed(
        f"snapshots of schedule '{one.name}' exist in one region only: what takes the region takes them too. Copy them "
        "to a second region."
    )


def _copies_of(one: SnapshotScheduleFact) -> tuple[CopyFact, ...]:
    return known(one.copies, f"whether schedule '{one.name}' copies snapshots")


def _judge_copy_elsewhere(context: Context, one: SnapshotScheduleFact) -> Answer:
    copies = _copies_of(one)
    if not copies:
        return None
    here = known(one.region, f"where schedule '{one.name}' works")
    for copy in copies:
        if known(copy.region, f"where schedule '{one.name}' copies to") == here:
            return failed(f"schedule '{one.name}' copies snapshots to {here}, where they are. Name another region.")
    return passed("its copies are elsewhere.")


def _judge_copy_ends(context: Context, one: SnapshotScheduleFact) -> Answer:
    copies = _copies_of(one)
    if not copies:
        return None
    for copy in copies:
        if known(copy.keep_days, f"how long copies of schedule '{one.name}' are kept") is None:
            return failed(
                f"copies of snapshots of schedule '{one.name}' never end. Say for how many days they are kept."
            )
    return passed("its copies end.")


def _judge_copy_encrypted(context: Context, one: SnapshotScheduleFact) -> Answer:
    copies = _copies_of(one)
    if not copies:
        return None
    for copy in copies:
        if not known(copy.encrypted, f"whether copies of schedule '{one.name}' are encrypted"):
            return failed(
                f"copies of snapshots of schedule '{one.name}' are not encrypted. Set 'encrypted' for the copy."
            )
    return passed("its copies are encrypted.")


RULES = (
    Rule(
        id="SNP001",
        name="lasting-disks-have-snapshots",
        family="snapshots",
        title="A disk that lasts is in a schedule of snapshots.",
        severity="medium",
        levels=stricter("advisory", "advisory", "mandatory"),
        rationale="A disk that exists by itself is there because its data should stay; a mistake takes it in a second.",
        remedy="Tag the disk as a schedule wants it, or attach it to one.",
        check=_scheduled,
        example=("a volume without a schedule", "a volume with the schedule's tag"),
    ),
    Rule(
        id="SNP002",
        name="schedule-selects-something",
        family="snapshots",
        title="A schedule of snapshots selects disks.",
        severity="high",
        levels=everywhere("mandatory"),
        rationale="Tags are compared exactly. A schedule that selects nothing succeeds every day, and makes nothing.",
        remedy="Give disks the schedule's tag, key and value alike, or attach them.",
        check=_selects,
        example=("target backup=daily, volumes Backup=daily", "target backup=daily, volumes backup=daily"),
    ),
    Rule(
        id="SNP003",
        name="snapshots-end",
        family="snapshots",
        title="Snapshots are kept for a time, or up to a number.",
        severity="medium",
        levels=everywhere("mandatory"),
        rationale="Every interval adds one, each is paid for by the month, and none is looked at again.",
        remedy="Set a retention by days or by number.",
        check=on_each(lambda facts: facts.schedules, _judge_ends),
        example=("no retention, or -1", "14 days"),
    ),
    Rule(
        id="SNP004",
        name="snapshots-are-not-kept-too-long",
        family="snapshots",
        title="Snapshots are not kept longer than is allowed.",
        severity="low",
        levels=stricter("advisory", "advisory", "mandatory"),
        rationale="Old snapshots hold blocks that nothing else needs: cost, and data that should have been deleted.",
        remedy="Shorten the retention, or raise the threshold on purpose.",
        check=on_each(lambda facts: facts.schedules, _judge_too_long),
        example=("3650 days", "30 days"),
        thresholds={
            "keep_days_max": Threshold(
                365, "days", "longest time that snapshots are kept", "a house rule of gpuyard: one year"
            ),
            "keep_count_max": _BY_COUNT,
        },
    ),
    Rule(
        id="SNP005",
        name="snapshots-are-copied-to-another-region",
        family="snapshots",
        title="In production, snapshots are copied to another region.",
        severity="medium",
        levels=stricter("disabled", "advisory", "mandatory"),
        rationale="A region that is lost, or an account that is broken into there, takes disks and snapshots together.",
        remedy="Add a copy rule to a second region.",
        check=on_each(lambda facts: facts.schedules, _judge_copied),
        example=("no copy", "a copy in us-west-2, kept 30 days"),
    ),
    Rule(
        id="SNP006",
        name="snapshot-copies-are-elsewhere",
        family="snapshots",
        title="Copies of snapshots go to another region.",
        severity="medium",
        levels=everywhere("mandatory"),
        rationale="A copy beside the original costs the same and protects from nothing more.",
        remedy="Name another region for the copy.",
        check=on_each(lambda facts: facts.schedules, _judge_copy_elsewhere),
        example=("us-east-1 to us-east-1", "us-east-1 to us-west-2"),
    ),
    Rule(
        id="SNP007",
        name="snapshot-copies-end",
        family="snapshots",
        title="Copies of snapshots end.",
        severity="medium",
        levels=everywhere("mandatory"),
        rationale=(
            "The retention of the original says nothing of its copies: without one of their own they stay for ever."
        ),
        remedy="Set a retention for the copy.",
        check=on_each(lambda facts: facts.schedules, _judge_copy_ends),
        example=("a copy without a retain rule", "a copy kept 30 days"),
    ),
    Rule(
        id="SNP008",
        name="snapshot-copies-are-encrypted",
        family="snapshots",
        title="Copies of snapshots are encrypted.",
        severity="high",
        levels=everywhere("mandatory"),
        rationale=(
            "A copy of an unencrypted snapshot is unencrypted unless it says otherwise, in a region nobody watches."
        ),
        remedy="Set 'encrypted' for the copy, with a key of that region.",
        check=on_each(lambda facts: facts.schedules, _judge_copy_encrypted),
        example=("encrypted: false", "encrypted: true"),
    ),
)
