"""The report as a comment of a pull request: short, the worst first, details folded."""

import html
from collections.abc import Callable, Sequence

from gpuyard_policy.report.model import (
    CLEAN,
    FINDINGS,
    FailOn,
    StackReport,
    about,
    counted,
    exit_code,
    resource_name,
    summary,
)
from gpuyard_policy.rules.rule import Finding, Verdict

# The first line, by which a later run finds its own comment.
MARKER = "<!-- gpuyard check -->"
# A comment holds 65,536 characters: https://github.com/orgs/community/discussions/27190
_MOST_CHARACTERS = 60_000
_MOST_SHOWN, _MOST_FOLDED = 10, 50
_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_[]|#"})


def markdown_text(reports: Sequence[StackReport], fail_on: FailOn) -> str:
    """The report as Markdown.

    Args:
        reports: The stacks.
        fail_on: The lowest level of a finding that makes the check fail.

    Returns:
        Text that begins with :data:`MARKER` and fits into one comment; the same findings give the same text.
    """
    code = exit_code(reports, fail_on)
    mark = "✅" if code == CLEAN else "❌" if code == FINDINGS else "⚠️"
    lines = [MARKER, f"### {mark} gpuyard check: {_plain(summary(reports, fail_on))}", ""]
    for report in reports:
        lines += [f"**{_plain(report.name)}**: {_plain(counted(report))}", ""]
        lines += [f"- ⚠️ {_plain(problem)}" for problem in report.problems]
        lines += _findings(report, fail_on)
    return _cut("\n".join(lines).rstrip() + "\n")


def _findings(report: StackReport, fail_on: FailOn) -> list[str]:
    worst = [one for one in report.findings() if one.verdict is Verdict.ERROR or report.blocks(one, fail_on)]
    blocking, more = frozenset(worst), frozenset(worst[_MOST_SHOWN:])
    lines = [_item(report, one) for one in worst[:_MOST_SHOWN]]
    groups: list[tuple[str, Callable[[Finding], bool]]] = [
        ("more of these", lambda one: one in more),
        ("advisory", lambda one: one.verdict is Verdict.FAIL and one not in blocking),
        ("cannot be told yet", lambda one: one.verdict is Verdict.UNDECIDED and one not in blocking),
        ("suppressed", lambda one: one.verdict is Verdict.SUPPRESSED),
    ]
    for title, belongs in groups:
        found = [one for one in report.findings() if belongs(one)]
        lines += _folded(f"{len(found)} {title}", [_item(report, one) for one in found])
    lines += _folded(
        f"{len(report.notes)} note{'' if len(report.notes) == 1 else 's'}",
        [f"- {_plain(note)}" for note in report.notes],
    )
    return [*lines, ""]


def _folded(title: str, items: list[str]) -> list[str]:
    if not items:
        return []
    left = len(items) - _MOST_FOLDED
    more = [f"- {left} more: `gpuyard check --format json` lists all"] if left > 0 else []
    return ["", f"<details><summary>{title}</summary>", "", *items[:_MOST_FOLDED], *more, "", "</details>"]


def _item(report: StackReport, one: Finding) -> str:
    place = report.place_of(one)
    where = "" if place is None else f" at `{place.file.replace('`', '')}:{place.line}`"
    mark = "**rule broke** " if one.verdict is Verdict.ERROR else ""
    reason = "" if one.reason is None else f" Accepted: {_plain(one.reason)}"
    name = f"{one.rule_id}, {about(one.rule_id).severity}"
    return f"- {mark}**{name}**, {_plain(resource_name(one))}{where}: {_plain(one.message)}{reason}"


def _plain(text: str) -> str:
    """Text that is shown as it is: nobody's resource name draws a table or notifies a person."""
    one_line = " ".join(text.split())
    return html.escape(one_line, quote=False).translate(_SPECIAL).replace("@", "@<!-- -->")


def _cut(text: str) -> str:
    if len(text) <= _MOST_CHARACTERS:
        return text
    # Cut before a stack begins: folded parts must not stay open.
    kept = text[:_MOST_CHARACTERS].rpartition("\n\n**")[0]
    return f"{kept}\n\nThe rest does not fit into a comment: `gpuyard check --format html` shows all.\n"
