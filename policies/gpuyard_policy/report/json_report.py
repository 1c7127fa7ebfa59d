"""The report for programs."""

import json
from collections.abc import Sequence
from typing import Any

from gpuyard_policy.report.model import FailOn, StackReport, about, exit_code, resource_name
from gpuyard_policy.rules.rule import Finding, Verdict

VERSION = 1


def json_text(reports: Sequence[StackReport], fail_on: FailOn) -> str:
    """Everything that was found, passes among it, as JSON.

    Args:
        reports: The stacks.
        fail_on: The lowest level of a finding that makes the check fail.

    Returns:
        One object with ``version``, ``fail_on``, ``exit_code`` and ``stacks``; findings stand the worst first.
    """
    data = {
        "version": VERSION,
        "fail_on": fail_on,
        "exit_code": exit_code(reports, fail_on),
        "stacks": [_stack(one, fail_on) for one in reports],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _stack(report: StackReport, fail_on: FailOn) -> dict[str, Any]:
    found, counts = report.evaluation, report.counts()
    return {
        "stack": report.name,
        "profile": None if found is None else found.profile,
        "resources_judged": None if found is None else found.judged,
        "rules": [] if found is None else list(found.rules),
        "counts": {verdict.value: counts.get(verdict, 0) for verdict in Verdict},
        "problems": list(report.problems),
        "notes": list(report.notes),
        "findings": [_finding(report, one, fail_on) for one in report.findings()],
    }


def _finding(report: StackReport, one: Finding, fail_on: FailOn) -> dict[str, Any]:
    place = report.place_of(one)
    return {
        "rule": one.rule_id,
        "name": about(one.rule_id).name,
        "severity": about(one.rule_id).severity,
        "level": one.level,
        "verdict": one.verdict.value,
        "blocks": report.blocks(one, fail_on),
        "resource": resource_name(one),
        "urn": one.urn,
        "message": one.message,
        "reason": one.reason,
        "file": None if place is None else place.file,
        "line": None if place is None else place.line,
    }
