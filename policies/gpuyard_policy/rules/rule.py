"""What a rule is, what it finds, and what it can ask."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

from gpuyard_policy.config import Level, PackConfig, Profile
from gpuyard_policy.facts import Facts, Unknown

PROFILES: tuple[Profile, ...] = ("dev", "staging", "prod")


class Verdict(Enum):
    """How one rule judges one resource."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"
    SUPPRESSED = "suppressed"
    ERROR = "error"


@dataclass(frozen=True)
class Finding:
    """One judgement.

    Attributes:
        rule_id: The rule.
        verdict: How it judges.
        urn: The resource; None for the whole stack.
        message: Why, and what would be right.
        level: What it does: ``advisory`` or ``mandatory``; set when the settings have been applied.
        reason: Why it was suppressed.
    """

    rule_id: str
    verdict: Verdict
    urn: str | None
    message: str
    level: Level = "advisory"
    reason: str | None = None


@dataclass(frozen=True)
class Threshold:
    """A number that a person can set: its default, its unit, what it decides, and the source of the default."""

    default: float
    unit: str
    meaning: str
    source: str


@dataclass(frozen=True)
class Context:
    """What a rule judges by: the facts of a stack, and what was set."""

    facts: Facts
    config: PackConfig
    rule: "Rule"
    level: Level = "advisory"

    def task_of(self, tags: Mapping[str, Any] | Unknown) -> str | None | Unknown:
        """The work that tags name, else the one set for all; None where neither says."""
        if isinstance(tags, Unknown):
            return self.config.task or tags
        tag = tags.get(self.config.task_tag)
        return tag if isinstance(tag, (str, Unknown)) else self.config.task

    def parameters_of(self, tags: Mapping[str, Any] | Unknown) -> float | None | Unknown:
        """The size of the model that tags name, else the one set for all; None where neither says."""
        tag = tags if isinstance(tags, Unknown) else tags.get(self.config.model_parameters_tag)
        if isinstance(tag, Unknown):
            return self.config.model_parameters or tag
        try:
            return float(tag) if tag is not None else self.config.model_parameters
        except (TypeError, ValueError):
            return self.config.model_parameters

    def threshold(self, name: str) -> float:
        """A threshold of the rule: as set, else its default."""
        given = self.config.rules.get(self.rule.id)
        asked = None if given is None else given.thresholds.get(name)
        return self.rule.thresholds[name].default if asked is None else asked

    def finding(self, verdict: Verdict, urn: str | None, message: str) -> Finding:
        """A judgement of this rule."""
        return Finding(self.rule.id, verdict, urn, message, self.level)


@dataclass(frozen=True)
class Rule:
    """One rule: its identity for people and machines, and the function that judges.

    Attributes:
        id: Short, stable id.
        name: The same for the engine, in words.
        family: What it is about: fabric, storage, snapshots, spot, cost, access or operations.
        title: What it demands, in one line.
        severity: low, medium, high or critical.
        levels: What a finding does by kind of environment.
        rationale: Why.
        remedy: What to do.
        check: Judges the facts of a stack, resource by resource.
        example: What fails, and what passes instead, each in a few words.
        thresholds: Numbers that can be set, by name.
    """

    id: str
    name: str
    family: str
    title: str
    severity: Literal["low", "medium", "high", "critical"]
    levels: Mapping[Profile, Level]
    rationale: str
    remedy: str
    check: Callable[[Context], Iterable[Finding]]
    example: tuple[str, str]
    thresholds: Mapping[str, Threshold] = field(default_factory=dict[str, Threshold])


def everywhere(level: Level) -> Mapping[Profile, Level]:
    """The same level in every kind of environment."""
    return dict.fromkeys(PROFILES, level)


def stricter(dev: Level, staging: Level, prod: Level) -> Mapping[Profile, Level]:
    """A level for each kind of environment."""
    return {"dev": dev, "staging": staging, "prod": prod}
