"""The rules as policies of Pulumi's policy SDK."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, cast

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyConfigSchema,
    PolicyResource,
    ReportViolation,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UnknownValueError

from gpuyard_policy.config import Level, PackConfig, RuleConfig
from gpuyard_policy.evaluate import Evaluation, evaluate_facts, level_of
from gpuyard_policy.facts import Facts, Record, Unknown, collect_facts
from gpuyard_policy.rules import ALL_RULES, Finding, Rule, Verdict
from gpuyard_policy.rules.rule import PROFILES

UNDECIDED_POLICY = "cannot-tell-yet"
FINAL_POLICY = "stays-undecided"
ADVICE_POLICY = "advice"
SETTINGS_POLICY = "rules-can-judge"
_READABLE = (str, bytes)

# What can be set for each policy: its names are the policy SDK's, its meaning is that of the pack's settings.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "task": {
        "type": "string",
        "enum": ["pretrain", "full_finetune", "lora", "rl", "vision", "inference"],
        "description": "Work of pools that carry no task tag.",
    },
    "taskTag": {"type": "string", "description": "Key of the tag that names a pool's work."},
    "modelParameters": {"type": "number", "description": "Size of the model of pools that carry no tag for it."},
    "profile": {"type": "string", "enum": list(PROFILES), "description": "Kind of environment that sets the levels."},
}
_FIELDS = {
    "task": "task",
    "taskTag": "task_tag",
    "modelParameters": "model_parameters",
    "profile": "profile",
}


@dataclass
class _Run:
    """What is known of the resources that were seen last: the engine asks every policy about the same ones."""

    settings: PackConfig
    today: Callable[[], date]
    resources: Sequence[PolicyResource] = ()
    facts: Facts = field(default_factory=Facts)
    final: bool = False
    evaluation: Evaluation | None = None

    def judged(self, args: StackValidationArgs) -> Evaluation:
        """What all rules say, with the settings of the project."""
        self._see(args.resources)
        if self.evaluation is None:
            self.evaluation = evaluate_facts(self.facts, self.settings, today=self.today())
        return self.evaluation

    def findings_of(self, rule: Rule, args: StackValidationArgs) -> Iterable[Finding]:
        """What one rule says, with what is set for its policy over the settings of the project."""
        own = _with_own(self.settings, rule, args.get_config())
        if own == self.settings:
            return self.judged(args).of_rule(rule.id)
        self._see(args.resources)
        return evaluate_facts(self.facts, own, today=self.today(), rules=[rule]).of_rule(rule.id)

    def _see(self, resources: Sequence[PolicyResource]) -> None:
        if len(self.resources) == len(resources) and all(map(operator.is_, self.resources, resources)) and resources:
            return
        records = [_record(resource) for resource in resources]
        self.resources, self.evaluation = list(resources), None
        self.facts = collect_facts(records)
        self.final = not any(_holds_unknown(record.props) for record in records)


def policies(settings: PackConfig | None = None, today: Callable[[], date] | None = None) -> list[Policy]:
    """One policy for each rule, and four for what is no fault of one resource by one rule.

    The engine knows a policy's level before it knows the stack, whose environment decides the level of a finding. So a
    rule's policy has the strictest level that the rule can have, and ``advice`` reports what is only advice here.

    Args:
        settings: The settings of the project; the defaults when left out.
        today: The day on which suppressions are judged; the day of the run when left out.

    Returns:
        Policies for ``PolicyPack``: those of the rules; ``advice``; ``cannot-tell-yet`` for what no rule can decide;
        ``stays-undecided`` for mandatory rules that are undecided when nothing more will become known; and
        ``rules-can-judge`` for resources that cannot be read and suppressions that hide nothing.
    """
    given = PackConfig() if settings is None else settings
    run = _Run(given, today or (lambda: datetime.now(tz=UTC).date()))
    levels: dict[str, Level] = {rule.id: _strictest(rule, given) for rule in ALL_RULES}
    asked = [rule for rule in ALL_RULES if levels[rule.id] != "disabled"]
    return [
        *(_policy(rule, levels[rule.id], run) for rule in asked),
        _advice_policy(asked, levels, run),
        _undecided_policy(run),
        _final_policy(run),
        _settings_policy(run),
    ]


def _strictest(rule: Rule, settings: PackConfig) -> Level:
    profiles = PROFILES if settings.profile is None else (settings.profile,)
    levels = {level_of(rule, profile, settings) for profile in profiles}
    return "mandatory" if "mandatory" in levels else "advisory" if "advisory" in levels else "disabled"


def _policy(rule: Rule, level: Level, run: _Run) -> Policy:
    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        for finding in run.findings_of(rule, args):
            # What a rule breaks on is nobody's advice: it stands where the rule's own findings would.
            at_level = finding.verdict is Verdict.FAIL and finding.level == level
            if at_level or finding.verdict is Verdict.ERROR:
                report(_text(finding), finding.urn)

    return StackValidationPolicy(
        name=rule.name,
        display_name=f"{rule.id}: {rule.title}",
        description=rule.title,
        validate=validate,
        enforcement_level=EnforcementLevel[level.upper()],
        severity=Severity[rule.severity.upper()],
        config_schema=_schema(rule),
        remediation_steps=rule.remedy,
    )


def _advice_policy(rules: Sequence[Rule], levels: Mapping[str, Level], run: _Run) -> Policy:
    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        for rule in rules:
            for finding in run.findings_of(rule, args):
                if finding.verdict is Verdict.FAIL and finding.level == "advisory" != levels[rule.id]:
                    report(_text(finding), finding.urn)

    return _general(
        ADVICE_POLICY, "What is only advice in this kind of environment.", EnforcementLevel.ADVISORY, validate
    )


def _undecided_policy(run: _Run) -> Policy:
    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        evaluation = run.judged(args)
        if not evaluation.judged:
            count = len(args.resources)
            message = f"nothing was judged, and that is no pass: of {count} resources none is of a cloud that is known."
            report(message, None)
        for finding in evaluation.of(Verdict.UNDECIDED):
            if not _stays(finding, evaluation, run):
                report(_text(finding), finding.urn)

    return _general(UNDECIDED_POLICY, "What no rule can decide yet.", EnforcementLevel.ADVISORY, validate)


def _final_policy(run: _Run) -> Policy:
    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        evaluation = run.judged(args)
        for finding in evaluation.of(Verdict.UNDECIDED):
            if _stays(finding, evaluation, run):
                report(_text(finding), finding.urn)

    title = "Mandatory rules that stay undecided when every value is known."
    return _general(FINAL_POLICY, title, EnforcementLevel.MANDATORY, validate)


def _stays(finding: Finding, evaluation: Evaluation, run: _Run) -> bool:
    return run.final and evaluation.undecided_fails and finding.level == "mandatory"


def _settings_policy(run: _Run) -> Policy:
    ids = {rule.id for rule in ALL_RULES}

    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        for finding in run.judged(args).of(Verdict.FAIL, Verdict.ERROR):
            if finding.rule_id not in ids:
                report(_text(finding), finding.urn)

    title = "Every resource can be read, and every suppression hides a finding."
    return _general(SETTINGS_POLICY, title, EnforcementLevel.MANDATORY, validate)


def _general(
    name: str, title: str, level: EnforcementLevel, validate: Callable[[StackValidationArgs, ReportViolation], None]
) -> Policy:
    return StackValidationPolicy(
        name=name,
        display_name=title,
        description=title,
        validate=validate,
        enforcement_level=level,
        severity=Severity.MEDIUM,
    )


def _text(finding: Finding) -> str:
    return f"[{finding.rule_id}] {finding.message}"


def _schema(rule: Rule) -> PolicyConfigSchema:
    thresholds = {
        name: {"type": "number", "description": f"{one.meaning} ({one.unit}); {one.default:g} when left out."}
        for name, one in rule.thresholds.items()
    }
    return PolicyConfigSchema(properties={**{key: dict(value) for key, value in SETTINGS.items()}, **thresholds})


def _with_own(settings: PackConfig, rule: Rule, config: Mapping[str, Any]) -> PackConfig:
    # The engine has checked the values by the schema; what is left out keeps the project's word.
    changes: dict[str, Any] = {name: config[key] for key, name in _FIELDS.items() if config.get(key)}
    thresholds = {name: float(config[name]) for name in rule.thresholds if config.get(name) is not None}
    if thresholds:
        before = settings.rules.get(rule.id) or RuleConfig()
        own = before.model_copy(update={"thresholds": {**before.thresholds, **thresholds}})
        changes["rules"] = {**settings.rules, rule.id: own}
    return settings.model_copy(update=changes) if changes else settings


def _record(resource: PolicyResource) -> Record:
    provider = resource.provider
    return Record(
        urn=resource.urn,
        type=resource.resource_type,
        name=resource.name,
        props=cast(Mapping[str, Any], plain(resource.props)),
        depends_on={key: [other.urn for other in others] for key, others in resource.property_dependencies.items()},
        provider={} if provider is None else cast(Mapping[str, Any], plain(provider.props)),
        protect=resource.opts.protect,
    )


def _holds_unknown(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_unknown(one) for one in cast(Mapping[str, Any], value).values())
    if isinstance(value, list):
        return any(_holds_unknown(one) for one in cast(list[Any], value))
    return isinstance(value, Unknown)


def plain(value: Any, path: str = "") -> Any:
    """A policy's property value as plain data, with an Unknown where the SDK would raise on reading.

    The SDK wraps mappings and lists so that reading an unknown value ends the whole policy; here each value is read on
    its own, so that one unknown hides nothing beside it.

    Args:
        value: A value, mapping or list as the SDK gives it.
        path: Where it stands, for the reason of an Unknown.

    Returns:
        Plain mappings and lists of scalars and Unknowns.
    """
    if isinstance(value, Mapping):
        known = cast(Mapping[str, Any], value)
        return {key: _element(known, key, f"{path}.{key}" if path else key) for key in known}
    if isinstance(value, Sequence) and not isinstance(value, _READABLE):
        items = cast(Sequence[Any], value)
        return [_element(items, place, f"{path}[{place}]") for place in range(len(items))]
    return value


def _element(container: Any, key: Any, path: str) -> Any:
    try:
        value = container[key]
    except UnknownValueError:
        return Unknown(f"'{path}' is known only after the update")
    return plain(value, path)
