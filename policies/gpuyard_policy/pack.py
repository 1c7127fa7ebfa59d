"""The rules as policies of Pulumi's policy SDK."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
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

from gpuyard_policy.config import PackConfig
from gpuyard_policy.evaluate import Evaluation, evaluate
from gpuyard_policy.facts import Record, Unknown
from gpuyard_policy.rules import ALL_RULES, Rule, Verdict

UNDECIDED_POLICY = "cannot-tell-yet"
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
}
_FIELDS = {"task": "task", "taskTag": "task_tag", "modelParameters": "model_parameters"}


@dataclass
class _LastRun:
    """The judgement of the resources that were seen last: the engine asks every policy about the same ones."""

    resources: Sequence[PolicyResource] = ()
    settings: PackConfig | None = None
    evaluation: Evaluation | None = None


def policies() -> list[Policy]:
    """One policy for each rule, and one that lists what no rule could decide.

    Returns:
        Policies for ``PolicyPack``. An undecided judgement is advisory; setting the level of ``cannot-tell-yet`` to
        mandatory makes it stop an update.
    """
    last = _LastRun()
    return [*(_policy(rule, last) for rule in ALL_RULES), _undecided_policy(last)]


def _policy(rule: Rule, last: _LastRun) -> Policy:
    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        for finding in _evaluation(args, last).findings:
            if finding.rule_id == rule.id and finding.verdict in (Verdict.FAIL, Verdict.ERROR):
                report(f"[{finding.rule_id}] {finding.message}", finding.urn)

    return StackValidationPolicy(
        name=rule.name,
        display_name=f"{rule.id}: {rule.title}",
        description=rule.title,
        validate=validate,
        enforcement_level=EnforcementLevel[rule.levels["prod"].upper()],
        severity=Severity[rule.severity.upper()],
        config_schema=_schema(),
        remediation_steps=rule.remedy,
    )


def _undecided_policy(last: _LastRun) -> Policy:
    ids = {rule.id for rule in ALL_RULES}

    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        for finding in _evaluation(args, last).findings:
            # What could not be read is no rule's own finding.
            if finding.verdict is Verdict.UNDECIDED or (
                finding.verdict is Verdict.ERROR and finding.rule_id not in ids
            ):
                report(f"[{finding.rule_id}] {finding.message}", finding.urn)

    return StackValidationPolicy(
        name=UNDECIDED_POLICY,
        display_name="What no rule can decide yet",
        description="A rule cannot be decided yet.",
        validate=validate,
        enforcement_level=EnforcementLevel.ADVISORY,
        severity=Severity.MEDIUM,
        config_schema=_schema(),
    )


def _schema() -> PolicyConfigSchema:
    return PolicyConfigSchema(properties={key: dict(value) for key, value in SETTINGS.items()})


def _evaluation(args: StackValidationArgs, last: _LastRun) -> Evaluation:
    settings = _settings(args.get_config())
    same = len(last.resources) == len(args.resources) and all(map(_is, last.resources, args.resources))
    if last.evaluation is None or not same or settings != last.settings:
        last.resources, last.settings = list(args.resources), settings
        today = datetime.now(tz=UTC).date()
        last.evaluation = evaluate([_record(resource) for resource in args.resources], settings, today=today)
    return last.evaluation


def _is(one: PolicyResource, other: PolicyResource) -> bool:
    return one is other


def _settings(config: Mapping[str, Any]) -> PackConfig:
    # The engine has checked the values by the schema; what is left out keeps its default.
    return PackConfig(**{field: config[key] for key, field in _FIELDS.items() if config.get(key)})


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
