"""All rules over one stack: verdicts with their levels, suppressions, and what the whole comes to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property
from typing import cast

from gpuyard_policy.config import Level, PackConfig, Profile, Suppression
from gpuyard_policy.facts import Facts, Record, collect_facts
from gpuyard_policy.facts.reading import read
from gpuyard_policy.rules import ALL_RULES
from gpuyard_policy.rules.rule import PROFILES, Context, Finding, Rule, Verdict

# Findings about the settings themselves and not about a resource.
SETTINGS_RULE = "SET001"
READING_RULE = "SET002"


@dataclass(frozen=True)
class Evaluation:
    """What all rules say of one stack.

    Attributes:
        findings: Every judgement, passes among them, in the order of the rules.
        profile: Kind of environment whose levels were used.
        judged: Resources that were looked at; none is no pass.
        undecided_fails: Whether an undecided mandatory rule counts as a finding.
        facts: What was judged.
        rules: Ids of the rules that were asked; without any, nothing was judged.
    """

    findings: tuple[Finding, ...]
    profile: Profile
    judged: int
    undecided_fails: bool
    facts: Facts
    rules: tuple[str, ...]

    def of(self, *verdicts: Verdict) -> list[Finding]:
        """Findings with one of some verdicts."""
        return [finding for finding in self.findings if finding.verdict in verdicts]

    def of_rule(self, rule_id: str) -> list[Finding]:
        """Findings of one rule."""
        return self._by_rule.get(rule_id, [])

    @cached_property
    def _by_rule(self) -> Mapping[str, list[Finding]]:
        found: dict[str, list[Finding]] = {}
        for finding in self.findings:
            found.setdefault(finding.rule_id, []).append(finding)
        return found

    @property
    def broken(self) -> bool:
        """Whether a rule itself broke."""
        return bool(self.of(Verdict.ERROR))


def evaluate(
    records: Iterable[Record],
    config: PackConfig,
    *,
    today: date,
    rules: Sequence[Rule] = ALL_RULES,
) -> Evaluation:
    """Judge one stack.

    A rule that breaks is reported as itself and the others go on. A suppression that is expired counts for nothing and
    is a finding of its own, as is one that suppresses nothing: it would hide the next fault unseen.

    Args:
        records: Every resource of the stack.
        config: What was set.
        today: The day on which suppressions are judged.
        rules: The rules to ask.

    Returns:
        Every judgement.
    """
    return evaluate_facts(collect_facts(records), config, today=today, rules=rules)


def evaluate_facts(facts: Facts, config: PackConfig, *, today: date, rules: Sequence[Rule] = ALL_RULES) -> Evaluation:
    """Judge facts that are collected already, as :func:`evaluate` does.

    Args:
        facts: The facts of one stack.
        config: What was set.
        today: The day on which suppressions are judged.
        rules: The rules to ask.

    Returns:
        Every judgement.
    """
    profile = profile_of(facts, config)
    found: list[Finding] = []
    asked: list[str] = []
    for rule in rules:
        level = level_of(rule, profile, config)
        if level != "disabled":
            asked.append(rule.id)
            found += _judged(Context(facts, config, rule, level))
    found += [
        Finding(READING_RULE, Verdict.ERROR, urn, f"the resource could not be read: {reason}", "mandatory")
        for urn, reason in facts.problems
    ]
    meant = _of_this_stack(config.suppressions, found)
    found, used = _suppressed(found, meant, today)
    found += _suppression_findings(meant, used, today)
    strict = profile == "prod" if config.undecided_fails is None else config.undecided_fails
    return Evaluation(tuple(found), profile, facts.judged, strict, facts, tuple(asked))


def profile_of(facts: Facts, config: PackConfig) -> Profile:
    """The kind of environment: as set, else the strictest that a tag names, else prod."""
    if config.profile is not None:
        return config.profile
    tags = [item.tags for item in (*facts.node_pools, *facts.storage, *facts.tagged)]
    named = [read(each, config.environment_tag) for each in tags]
    strictest = [profile for profile in PROFILES if profile in named]
    return cast(Profile, strictest[-1]) if strictest else "prod"


def level_of(rule: Rule, profile: Profile, config: PackConfig) -> Level:
    """What a finding of a rule does: as set for the rule, else the profile's word."""
    given = config.rules.get(rule.id)
    return rule.levels[profile] if given is None or given.level is None else given.level


def _judged(context: Context) -> list[Finding]:
    found: list[Finding] = []
    try:
        for finding in context.rule.check(context):
            found.append(finding)  # noqa: PERF402 - what was found before a rule broke must stay
    except Exception as error:  # noqa: BLE001 - a broken rule is reported as itself and must not end the run
        broke = f"the rule itself broke: {type(error).__name__}: {error}"
        found.append(context.finding(Verdict.ERROR, None, broke))
    return found


def _of_this_stack(suppressions: Sequence[Suppression], findings: Iterable[Finding]) -> list[Suppression]:
    """Suppressions that are meant for the stack: one file serves several, and what is for another is not unused."""
    urn = next((finding.urn for finding in findings if finding.urn is not None), "")
    stack = urn.removeprefix("urn:pulumi:").split("::")[0]
    return [one for one in suppressions if one.stack is None or fnmatchcase(stack, one.stack)]


def _suppressed(
    findings: list[Finding], suppressions: Sequence[Suppression], today: date
) -> tuple[list[Finding], set[int]]:
    kept: list[Finding] = []
    used: set[int] = set()
    active = [
        (place, one)
        for place, one in enumerate(suppressions)
        if one.resource.strip("*") and (one.expires is None or today < one.expires)
    ]
    for finding in findings:
        open_one = finding.verdict in (Verdict.FAIL, Verdict.UNDECIDED)
        match = next((pair for pair in active if _matches(pair[1], finding)), None) if active and open_one else None
        if match is None:
            kept.append(finding)
            continue
        used.add(match[0])
        kept.append(replace(finding, verdict=Verdict.SUPPRESSED, reason=match[1].reason))
    return kept, used


def _matches(suppression: Suppression, finding: Finding) -> bool:
    if suppression.rule != finding.rule_id or finding.urn is None:
        return False
    name = finding.urn.rsplit("::", 1)[-1]
    return any(fnmatchcase(text, suppression.resource) for text in (finding.urn, name))


def _suppression_findings(suppressions: Sequence[Suppression], used: set[int], today: date) -> list[Finding]:
    found: list[Finding] = []
    for place, one in enumerate(suppressions):
        what = f"the suppression of {one.rule} on '{one.resource}'"
        if one.expires is not None and today >= one.expires:
            message = f"{what} expired on {one.expires.isoformat()}. Mend the finding, or say anew why it is accepted."
            found.append(Finding(SETTINGS_RULE, Verdict.FAIL, None, message, "mandatory"))
        elif not one.resource.strip("*"):
            message = f"{what} would hide every resource. Name the ones that are meant."
            found.append(Finding(SETTINGS_RULE, Verdict.FAIL, None, message, "mandatory"))
        elif place not in used:
            message = f"{what} suppresses nothing: it would hide the next fault unseen. Remove it."
            found.append(Finding(SETTINGS_RULE, Verdict.FAIL, None, message, "mandatory"))
    return found
