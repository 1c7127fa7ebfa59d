"""The report as JUnit XML: one case for each rule and resource."""

import re
from collections import defaultdict
from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from gpuyard_policy.report.model import FailOn, StackReport, about, resource_name
from gpuyard_policy.rules.rule import Finding, Verdict

# Characters that XML 1.0 has no way to write: https://www.w3.org/TR/xml/#charsets
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_text(reports: Sequence[StackReport], fail_on: FailOn) -> str:
    """The report as JUnit XML, one suite for each stack.

    A case fails where its finding makes the check fail; it is skipped, with the reason, where a finding is below
    that, undecided or suppressed; it is in error where the rule broke or the stack could not be judged.

    Args:
        reports: The stacks.
        fail_on: The lowest level of a finding that makes the check fail.

    Returns:
        The document.
    """
    root = Xml.Element("testsuites", name="gpuyard check")
    for report in reports:
        suite = Xml.SubElement(root, "testsuite", name=_clean(report.name))
        for problem in report.problems:
            case = Xml.SubElement(suite, "testcase", classname="gpuyard", name="the stack can be judged")
            Xml.SubElement(case, "error", message=_clean(problem))
        cases: dict[tuple[str, str], list[Finding]] = defaultdict(list)
        for one in report.findings():
            cases[(one.rule_id, one.urn or "")].append(one)
        for found in cases.values():
            _case(suite, report, found, fail_on)
        _count(suite)
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: Xml.Element, report: StackReport, found: list[Finding], fail_on: FailOn) -> None:
    # The worst of a case comes first, and decides what the case is.
    worst = found[0]
    classname = f"{worst.rule_id}.{about(worst.rule_id).name}"
    case = Xml.SubElement(suite, "testcase", classname=classname, name=_clean(resource_name(worst)))
    place = report.place_of(worst)
    if place is not None:
        case.set("file", _clean(place.file))
        case.set("line", str(place.line))
    if worst.verdict is Verdict.PASS:
        return
    kind = "skipped"
    if worst.verdict is Verdict.ERROR:
        kind = "error"
    elif any(report.blocks(one, fail_on) for one in found):
        kind = "failure"
    word = worst.level if worst.verdict is Verdict.FAIL else worst.verdict.value
    message = f"{word}: {worst.message}" + ("" if worst.reason is None else f" ({worst.reason})")
    told = Xml.SubElement(case, kind, message=_clean(message))
    if kind == "failure":
        told.set("type", about(worst.rule_id).severity)
    told.text = _clean("\n".join([worst.urn or report.name, *(one.message for one in found)]))


def _count(suite: Xml.Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("�", text)
