"""What is reported of each stack, in which order, and what it comes to."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Literal

from gpuyard_policy.evaluate import READING_RULE, SETTINGS_RULE, Evaluation
from gpuyard_policy.rules import ALL_RULES
from gpuyard_policy.rules.rule import Finding, Verdict
from gpuyard_policy.sources.model import Place

FailOn = Literal["advisory", "mandatory"]

CLEAN, FINDINGS, BAD_INPUT, INTERNAL = 0, 1, 2, 3
_ORDER = (Verdict.ERROR, Verdict.FAIL, Verdict.UNDECIDED, Verdict.SUPPRESSED, Verdict.PASS)
_MAY_BLOCK = (Verdict.FAIL, Verdict.UNDECIDED)
_SEVERITIES = {name: place for place, name in enumerate(("critical", "high", "medium", "low"))}


@dataclass(frozen=True, slots=True)
class About:
    """What a report says of a rule: the rule's own words, or those of the pack about its settings."""

    id: str
    name: str
    title: str
    severity: str
    rationale: str
    remedy: str


@dataclass(frozen=True)
class StackReport:
    """What is known of one stack after a check.

    Attributes:
        name: The stack, or the file that was checked.
        evaluation: What the rules say; None where the stack could not be judged.
        places: Where resources with findings were asked for, by URN.
        place: Where the stack as a whole is described.
        final: Whether nothing more will become known, so that what is undecided stays so.
        notes: What people should know beside the findings.
        problems: Why the stack could not be judged.
        broken: Whether that is a fault of gpuyard's own.
    """

    name: str
    evaluation: Evaluation | None = None
    places: Mapping[str, Place] = field(default_factory=dict[str, Place])
    place: Place | None = None
    final: bool = False
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    broken: bool = False

    def place_of(self, finding: Finding) -> Place | None:
        """Where the resource of a finding was asked for, else where the stack is described."""
        return self.place if finding.urn is None else self.places.get(finding.urn, self.place)

    def findings(self, *verdicts: Verdict) -> list[Finding]:
        """Findings with one of some verdicts (every one, when none is given), the worst first, in a stable order."""
        return [one for verdict in _ORDER if not verdicts or verdict in verdicts for one in self._ordered(verdict)]

    def blocks(self, finding: Finding, fail_on: FailOn) -> bool:
        """Whether a finding makes the check fail.

        What is undecided does so only where nothing more will become known: a preview cannot know everything.
        """
        if finding.verdict is Verdict.FAIL:
            return finding.level == "mandatory" or fail_on == "advisory"
        strict = self.final and self.evaluation is not None and self.evaluation.undecided_fails
        return strict and finding.verdict is Verdict.UNDECIDED and finding.level == "mandatory"

    def counts(self) -> Mapping[Verdict, int]:
        """How many findings there are of each verdict."""
        return {verdict: len(found) for verdict, found in self._by_verdict.items()}

    def _ordered(self, verdict: Verdict) -> list[Finding]:
        # What passes is most of it, and most reports do not show it: it is sorted for those alone that do.
        if verdict not in self._sorted:
            self._sorted[verdict] = sorted(self._by_verdict.get(verdict, ()), key=_rank)
        return self._sorted[verdict]

    @cached_property
    def _by_verdict(self) -> Mapping[Verdict, list[Finding]]:
        found: dict[Verdict, list[Finding]] = defaultdict(list)
        for one in () if self.evaluation is None else self.evaluation.findings:
            found[one.verdict].append(one)
        return found

    @cached_property
    def _sorted(self) -> dict[Verdict, list[Finding]]:
        return {}


def exit_code(reports: Sequence[StackReport], fail_on: FailOn) -> int:
    """What a check of some stacks comes to.

    Args:
        reports: The stacks.
        fail_on: The lowest level of a finding that makes the check fail.

    Returns:
        3 where gpuyard itself broke, else 2 where a stack could not be judged, else 1 where a finding makes the check
        fail, else 0.
    """
    if any(one.broken or (one.evaluation is not None and one.evaluation.broken) for one in reports):
        return INTERNAL
    if not reports or any(one.evaluation is None for one in reports):
        return BAD_INPUT
    blocking = any(one.blocks(finding, fail_on) for one in reports for finding in one.findings(*_MAY_BLOCK))
    return FINDINGS if blocking else CLEAN


def about(rule_id: str) -> About:
    """What a report says of a rule, by its id."""
    return _all_about()[rule_id]


def resource_name(finding: Finding) -> str:
    """The logical name of a finding's resource; ``the stack`` for the whole."""
    return "the stack" if finding.urn is None else finding.urn.split("::", 3)[-1]


def summary(reports: Sequence[StackReport], fail_on: FailOn) -> str:
    """The outcome in one sentence."""
    stacks = f"{len(reports)} stack{'' if len(reports) == 1 else 's'}"
    blocking = sum(1 for one in reports for finding in one.findings(*_MAY_BLOCK) if one.blocks(finding, fail_on))
    unjudged = sum(1 for one in reports if one.evaluation is None)
    errors = sum(len(one.findings(Verdict.ERROR)) for one in reports)
    parts = [f"{blocking} finding{'' if blocking == 1 else 's'} in {stacks} at or above '{fail_on}'"]
    parts += [f"{unjudged} could not be judged"] if unjudged else []
    parts += [f"{errors} fault{'' if errors == 1 else 's'} of the rules themselves"] if errors else []
    return ", ".join(parts) + "."


def counted(report: StackReport) -> str:
    """What was judged of a stack, in words."""
    found = report.evaluation
    if found is None:
        return "could not be judged"
    counts = report.counts()
    words = ((Verdict.ERROR, "errors"), (Verdict.FAIL, "failed"), (Verdict.UNDECIDED, "undecided"))
    more = ((Verdict.SUPPRESSED, "suppressed"), (Verdict.PASS, "passed"))
    parts = [f"{counts[verdict]} {word}" for verdict, word in (*words, *more) if counts.get(verdict)]
    outcome = ", ".join(parts) or "none applies"
    return f"profile {found.profile}, {found.judged} resources, {len(found.rules)} rules: {outcome}"


def _rank(finding: Finding) -> tuple[bool, int, str, str, str]:
    return (
        finding.level != "mandatory",
        _SEVERITIES[about(finding.rule_id).severity],
        finding.rule_id,
        finding.urn or "",
        finding.message,
    )


@cache
def _all_about() -> Mapping[str, About]:
    rules = {one.id: About(one.id, one.name, one.title, one.severity, one.rationale, one.remedy) for one in ALL_RULES}
    settings = About(
        SETTINGS_RULE,
        "settings-hold",
        "What is set for the pack has an effect and has not expired.",
        "high",
        "A suppression that is stale or too wide hides faults that nobody has seen.",
        "Remove the setting, or set it anew with a reason.",
    )
    reading = About(
        READING_RULE,
        "resources-can-be-read",
        "Every resource can be read.",
        "high",
        "A resource of a shape that was not foreseen is judged by no rule.",
        "Report it with the resource's type: this is a fault of gpuyard.",
    )
    return {**rules, SETTINGS_RULE: settings, READING_RULE: reading}
