"""What a rule is, what it finds, and how all rules judge one stack."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

from gpuyard_policy.facts import Facts, Unknown

TASK_TAG = "gpuyard:task"
CLUSTER_TAG = "gpuyard:cluster"


class Verdict(Enum):
    """How one rule judges one resource."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"
    ERROR = "error"


@dataclass(frozen=True)
class Finding:
    """One judgement: the rule, the verdict, the resource (None for the whole stack), and why."""

    rule_id: str
    verdict: Verdict
    urn: str | None
    message: str


@dataclass(frozen=True)
class Settings:
    """What a person can set for the rules: the work of pools that carry no tag, and the tag's key."""

    task: str | None = None
    task_tag: str = TASK_TAG

    def task_of(self, tags: Mapping[str, Any] | Unknown) -> str | None | Unknown:
        """The work that tags name, else the one set for all; None where neither says."""
        if isinstance(tags, Unknown):
            return self.task or tags
        tag = tags.get(self.task_tag)
        return tag if isinstance(tag, (str, Unknown)) else self.task


@dataclass(frozen=True)
class Rule:
    """One rule: its identity for people and machines, and the function that judges.

    Attributes:
        id: Short, stable id.
        name: The same for the engine, in words.
        title: What it demands, in one line.
        severity: low, medium, high or critical.
        level: What the engine does by default: advisory or mandatory.
        rationale: Why.
        remedy: What to do.
        check: Judges the facts of a stack.
        properties: JSON schema of what can be set, by key.
    """

    id: str
    name: str
    title: str
    severity: Literal["low", "medium", "high", "critical"]
    level: Literal["advisory", "mandatory"]
    rationale: str
    remedy: str
    check: Callable[[Facts, Settings], Iterable[Finding]]
    properties: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])


def judge(facts: Facts, rules: Sequence[Rule], settings: Settings) -> list[Finding]:
    """Every rule's findings; a rule that breaks is an error finding of its own, and the others go on.

    Args:
        facts: Facts of one stack.
        rules: The rules to ask.
        settings: What was set.

    Returns:
        Findings rule by rule, passes among them.
    """
    found: list[Finding] = []
    for rule in rules:
        try:
            found += rule.check(facts, settings)
        except Exception as error:  # noqa: BLE001 - a broken rule is reported as itself and must not end the run
            found.append(
                Finding(rule.id, Verdict.ERROR, None, f"the rule itself broke: {type(error).__name__}: {error}")
            )
        found += [
            Finding(rule.id, Verdict.ERROR, urn, f"the resource could not be read: {reason}")
            for urn, reason in facts.problems
        ]
    return found
