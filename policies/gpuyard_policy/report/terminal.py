"""The report for a terminal."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from io import StringIO

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from gpuyard_policy.report.model import FailOn, StackReport, about, counted, exit_code, resource_name, summary
from gpuyard_policy.rules.rule import Finding, Verdict

# What would move the cursor or change colours: a program's texts must not drive the terminal.
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
_MARKS = {
    Verdict.ERROR: ("!", "bold magenta"),
    Verdict.FAIL: ("✗", "bold red"),
    Verdict.UNDECIDED: ("?", "yellow"),
    Verdict.SUPPRESSED: ("-", "dim"),
}
# Of what one rule finds, so many are shown: the others say the same of other resources, and nobody reads thousands.
_AT_MOST = {Verdict.UNDECIDED: 3, Verdict.FAIL: 25, Verdict.SUPPRESSED: 25, Verdict.ERROR: 25}
_IN_WORDS = {
    Verdict.UNDECIDED: "undecided",
    Verdict.FAIL: "failed",
    Verdict.SUPPRESSED: "suppressed",
    Verdict.ERROR: "not judged, for the rule broke",
}


def terminal_text(reports: Sequence[StackReport], fail_on: FailOn, *, width: int, color: bool) -> str:
    """The report as text for people, the worst first.

    Args:
        reports: The stacks.
        fail_on: The lowest level of a finding that makes the check fail.
        width: Columns of the terminal.
        color: Whether it shows colours.

    Returns:
        Lines of text.
    """
    out = StringIO()
    console = Console(file=out, width=width, force_terminal=color, no_color=not color, highlight=False)
    for report in reports:
        console.print(Text.assemble((_shown(report.name), "bold"), f": {counted(report)}"))
        for problem in report.problems:
            console.print(_indented(Text.assemble(("! ", "bold magenta"), _shown(problem)), 2))
        for line in _lines(report, fail_on):
            console.print(line)
        for note in report.notes:
            console.print(_indented(Text(_shown(f"note: {note}"), style="dim"), 2))
    good = exit_code(reports, fail_on) == 0
    console.print(Text(("✓ " if good else "") + summary(reports, fail_on), style="green" if good else "bold red"))
    return out.getvalue()


def _lines(report: StackReport, fail_on: FailOn) -> Iterator[Padding]:
    shown: Counter[tuple[str, Verdict]] = Counter()
    left_out: Counter[tuple[str, Verdict]] = Counter()
    for one in report.findings(*_MARKS):
        key = (one.rule_id, one.verdict)
        # What is undecided and fails the check is as good as failed.
        if shown[key] < _AT_MOST[Verdict.FAIL if report.blocks(one, fail_on) else one.verdict]:
            shown[key] += 1
            yield from _finding(report, one)
        else:
            left_out[key] += 1
    for (rule_id, verdict), count in left_out.items():
        mark, style = _MARKS[verdict]
        more = f"{mark} {rule_id}: {count} more {_IN_WORDS[verdict]}; --format json lists them."
        yield _indented(Text(more, style=style), 2)


def _finding(report: StackReport, one: Finding) -> Iterator[Padding]:
    mark, style = _MARKS[one.verdict]
    head = Text.assemble((f"{mark} {one.rule_id} ", style), (f"{_kind(one)} ", "bold"), _shown(one.message))
    yield _indented(head, 2)
    place = report.place_of(one)
    where = "" if place is None else f"{place.file}:{place.line}  "
    yield _indented(Text(_shown(f"{where}{resource_name(one)}"), style="dim"), 6)
    if one.reason is not None:
        yield _indented(Text(_shown(f"accepted: {one.reason}"), style="dim"), 6)
    elif one.verdict is Verdict.FAIL and about(one.rule_id).remedy not in one.message:
        yield _indented(Text(about(one.rule_id).remedy, style="dim"), 6)


def _shown(text: str) -> str:
    return _CONTROL.sub("�", text)


def _indented(text: Text, columns: int) -> Padding:
    return Padding(text, (0, 0, 0, columns), expand=False)


def _kind(one: Finding) -> str:
    if one.verdict is Verdict.FAIL:
        return one.level
    return one.verdict.value + (" (mandatory)" if one.verdict is Verdict.UNDECIDED and one.level == "mandatory" else "")
