"""The report as SARIF 2.1.0, for code scanning.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gpuyard import __version__
from gpuyard_policy.report.model import FailOn, StackReport, about, exit_code, resource_name
from gpuyard_policy.rules.rule import Finding, Verdict
from gpuyard_policy.sources.model import Place

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
# What a scanner shows as a result; a pass is none, and an error of the tool is told as such.
_RESULTS = (Verdict.FAIL, Verdict.UNDECIDED, Verdict.SUPPRESSED)


def sarif_text(reports: Sequence[StackReport], fail_on: FailOn) -> str:
    """The report as SARIF, one run for all stacks.

    Args:
        reports: The stacks.
        fail_on: The lowest level of a finding that makes the check fail.

    Returns:
        A log whose results point at the line of the stack's file or program, with the resource's URN as logical
        location. What is undecided is an ``open`` result, what is suppressed says why.
    """
    found = [(report, one) for report in reports for one in report.findings(*_RESULTS)]
    ids = sorted({one.rule_id for _, one in found} | {one.rule_id for _, one in _errors(reports)})
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "gpuyard",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(rule_id) for rule_id in ids],
            }
        },
        "automationDetails": {"id": "gpuyard-check/"},
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder in which the check ran."}}},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(reports, fail_on)],
        "results": [_result(report, one, ids.index(one.rule_id)) for report, one in found],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _errors(reports: Sequence[StackReport]) -> list[tuple[StackReport, Finding]]:
    return [(report, one) for report in reports for one in report.findings(Verdict.ERROR)]


def _rule(rule_id: str) -> dict[str, Any]:
    of = about(rule_id)
    return {
        "id": of.id,
        "name": of.name,
        "shortDescription": {"text": of.title},
        "fullDescription": {"text": of.rationale},
        "help": {"text": of.remedy, "markdown": of.remedy},
        "properties": {"severity": of.severity},
    }


def _invocation(reports: Sequence[StackReport], fail_on: FailOn) -> dict[str, Any]:
    told = [_notification(f"{one.name}: {text}", one.place) for one in reports for text in one.problems]
    told += [
        {
            **_notification(one.message, report.place_of(one)),
            "associatedRule": {"id": one.rule_id},
        }
        for report, one in _errors(reports)
    ]
    code = exit_code(reports, fail_on)
    found: dict[str, Any] = {"executionSuccessful": code in (0, 1), "exitCode": code}
    return {**found, "toolExecutionNotifications": told} if told else found


def _notification(text: str, place: Place | None) -> dict[str, Any]:
    found: dict[str, Any] = {"level": "error", "message": {"text": text}}
    return found if place is None else {**found, "locations": [{"physicalLocation": _physical(place)}]}


def _result(report: StackReport, one: Finding, index: int) -> dict[str, Any]:
    place, name = report.place_of(one), resource_name(one)
    location: dict[str, Any] = {} if place is None else {"physicalLocation": _physical(place)}
    if one.urn is not None:
        location["logicalLocations"] = [{"fullyQualifiedName": one.urn, "name": name, "kind": "resource"}]
    result: dict[str, Any] = {
        "ruleId": one.rule_id,
        "ruleIndex": index,
        "kind": "open" if one.verdict is Verdict.UNDECIDED else "fail",
        "level": _level(one),
        "message": {"text": f"{report.name}: {one.message}"},
        "partialFingerprints": {"gpuyard/v1": _fingerprint(report.name, one)},
        "properties": {"stack": report.name, "enforcement": one.level},
    }
    if location:
        result["locations"] = [location]
    if one.verdict is Verdict.SUPPRESSED:
        accepted = {"kind": "external", "status": "accepted", "justification": one.reason or ""}
        result["suppressions"] = [accepted]
    return result


def _level(one: Finding) -> str:
    if one.verdict is Verdict.UNDECIDED:
        # The standard allows another level only where something failed.
        return "none"
    return "error" if one.level == "mandatory" else "warning"


def _physical(place: Place) -> dict[str, Any]:
    path = Path(place.file)
    where = {"uri": path.as_uri()} if path.is_absolute() else {"uri": quote(path.as_posix()), "uriBaseId": _ROOT}
    return {"artifactLocation": where, "region": {"startLine": place.line}}


def _fingerprint(stack: str, one: Finding) -> str:
    text = "\0".join((stack, one.rule_id, one.urn or "", one.message))
    return hashlib.sha256(text.encode()).hexdigest()
