"""The rules as policies of Pulumi's policy SDK."""

from collections.abc import Mapping, Sequence
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

from gpuyard_policy.facts import Record, Unknown, collect_facts
from gpuyard_policy.rules import ALL_RULES, Finding, Rule, Settings, Verdict, judge
from gpuyard_policy.rules.fabric import TASK_PROPERTIES

UNDECIDED_POLICY = "cannot-tell-yet"
_READABLE = (str, bytes)


def policies() -> list[Policy]:
    """One policy for each rule, and one that lists what no rule could decide.

    Returns:
        Policies for ``PolicyPack``. An undecided judgement is advisory; setting the level of ``cannot-tell-yet`` to
        mandatory makes it stop an update.
    """
    return [*(_policy(rule) for rule in ALL_RULES), _undecided_policy()]


def _policy(rule: Rule) -> Policy:
    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        for finding in _findings(args, [rule]):
            if finding.verdict in (Verdict.FAIL, Verdict.ERROR):
                report(f"[{finding.rule_id}] {finding.message}", finding.urn)

    return StackValidationPolicy(
        name=rule.name,
        display_name=f"{rule.id}: {rule.title}",
        description=rule.title,
        validate=validate,
        enforcement_level=EnforcementLevel[rule.level.upper()],
        severity=Severity[rule.severity.upper()],
        config_schema=PolicyConfigSchema(properties=_schema(rule.properties)) if rule.properties else None,
        remediation_steps=rule.remedy,
    )


def _undecided_policy() -> Policy:
    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        for finding in _findings(args, ALL_RULES):
            if finding.verdict is Verdict.UNDECIDED:
                report(f"[{finding.rule_id}] {finding.message}", finding.urn)

    return StackValidationPolicy(
        name=UNDECIDED_POLICY,
        display_name="What no rule can decide yet",
        description="A rule cannot be decided yet.",
        validate=validate,
        enforcement_level=EnforcementLevel.ADVISORY,
        severity=Severity.MEDIUM,
        config_schema=PolicyConfigSchema(properties=_schema(TASK_PROPERTIES)),
    )


def _findings(args: StackValidationArgs, rules: Sequence[Rule]) -> list[Finding]:
    return judge(collect_facts(_record(resource) for resource in args.resources), rules, _settings(args.get_config()))


def _settings(config: Mapping[str, Any]) -> Settings:
    settings = Settings(task=config.get("task"))
    tag = config.get("taskTag")
    return Settings(task=settings.task, task_tag=tag) if tag else settings


def _schema(properties: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {key: dict(value) for key, value in properties.items()}


def _record(resource: PolicyResource) -> Record:
    provider = resource.provider
    return Record(
        urn=resource.urn,
        type=resource.resource_type,
        name=resource.name,
        props=cast(Mapping[str, Any], plain(resource.props)),
        depends_on={key: [other.urn for other in others] for key, others in resource.property_dependencies.items()},
        provider={} if provider is None else cast(Mapping[str, Any], plain(provider.props)),
    )


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
