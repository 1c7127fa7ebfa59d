"""The report as one page that needs nothing else: picture, findings, cost."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from gpuyard.catalog.prices import PriceBook
from gpuyard_policy.costs import PoolCost, pool_costs
from gpuyard_policy.report.model import FailOn, StackReport, about, counted, exit_code, resource_name, summary
from gpuyard_policy.report.picture import picture
from gpuyard_policy.rules.rule import Finding, Verdict

# What the picture and the list call a finding; the first of these is the worst.
_STATES = ("failed", "advisory", "undecided", "suppressed")
_SECTIONS = (
    ("Findings", (Verdict.ERROR, Verdict.FAIL)),
    ("Cannot be told yet", (Verdict.UNDECIDED,)),
    ("Suppressed", (Verdict.SUPPRESSED,)),
    ("Passed", (Verdict.PASS,)),
)


def html_text(reports: Sequence[StackReport], fail_on: FailOn, prices: PriceBook, today: str) -> str:
    """The report as an HTML page.

    Args:
        reports: The stacks.
        fail_on: The lowest level of a finding that makes the check fail.
        prices: What machines cost.
        today: The day of the report, as people write it.

    Returns:
        One page without any link to a file, script or font.
    """
    return _template().render(
        ok=exit_code(reports, fail_on) == 0,
        summary=summary(reports, fail_on),
        today=today,
        stacks=[_stack(one, fail_on, prices) for one in reports],
    )


@cache
def _template() -> Template:
    loader = PackageLoader("gpuyard_policy", "report")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.get_template("report.html.j2")


def _stack(report: StackReport, fail_on: FailOn, prices: PriceBook) -> dict[str, Any]:
    found = report.evaluation
    return {
        "name": report.name,
        "counted": counted(report),
        "problems": report.problems,
        "notes": report.notes,
        "picture": "" if found is None else picture(found.facts, _states(report, fail_on)),
        "sections": [
            (title, [_finding(report, one, fail_on) for one in report.findings(*verdicts)])
            for title, verdicts in _SECTIONS
            if report.findings(*verdicts)
        ],
        "costs": [] if found is None else [_cost(one) for one in pool_costs(found.facts.node_pools, prices)],
    }


def _states(report: StackReport, fail_on: FailOn) -> Mapping[str, str]:
    worst: dict[str, str] = {}
    for one in report.findings(Verdict.FAIL, Verdict.UNDECIDED):
        if one.urn is not None:
            state = _state(report, one, fail_on)
            worst[one.urn] = min(worst.get(one.urn, state), state, key=_STATES.index)
    return worst


def _state(report: StackReport, one: Finding, fail_on: FailOn) -> str:
    if one.verdict is Verdict.ERROR or report.blocks(one, fail_on):
        return "failed"
    if one.verdict is Verdict.FAIL:
        return "advisory"
    return {Verdict.UNDECIDED: "undecided", Verdict.SUPPRESSED: "suppressed"}.get(one.verdict, "passed")


def _finding(report: StackReport, one: Finding, fail_on: FailOn) -> dict[str, Any]:
    place, of = report.place_of(one), about(one.rule_id)
    return {
        "state": _state(report, one, fail_on),
        "rule": one.rule_id,
        "title": of.title,
        "severity": of.severity,
        "level": one.level,
        "resource": resource_name(one),
        "urn": one.urn,
        "where": None if place is None else f"{place.file}:{place.line}",
        "message": one.message,
        "reason": one.reason,
        "rationale": of.rationale,
        "remedy": of.remedy,
    }


def _cost(cost: PoolCost) -> dict[str, str]:
    def amount(value: float | None) -> str:
        return "?" if value is None or cost.currency is None else f"{cost.currency} {value:,.0f}"

    return {"pool": cost.pool.name, "least": amount(cost.least), "most": amount(cost.most), "why": cost.why}
