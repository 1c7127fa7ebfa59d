"""Findings that were there before: a baseline that an old stack starts from, and what another version has as well.

A finding is known by its stack, rule, resource and message. One that says something else than before is a new one.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, cast

from gpuyard.spec.problems import Problem, SpecError
from gpuyard_policy.evaluate import Evaluation
from gpuyard_policy.rules.rule import Finding, Verdict

VERSION = 1
# What may be accepted for a while. An error is none of them: nobody knows what it hides.
_ACCEPTABLE = (Verdict.FAIL, Verdict.UNDECIDED)
Key = tuple[str, str, str, str]


def key_of(stack: str, finding: Finding) -> Key:
    """What makes a finding the same one in another run."""
    return stack, finding.rule_id, finding.urn or "", finding.message


def read_baseline(path: Path) -> tuple[date, frozenset[Key]]:
    """A baseline file.

    Args:
        path: File that :func:`baseline_text` was written to.

    Returns:
        The day it was written, and what it holds.

    Raises:
        SpecError: The file cannot be read, or is no baseline.
    """
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        if data["version"] != VERSION:
            raise ValueError(f"version {data['version']}, not {VERSION}")
        keys = [(one["stack"], one["rule"], one["resource"], one["message"]) for one in data["findings"]]
        if not all(isinstance(part, str) for key in keys for part in key):
            raise TypeError("something that is no text stands in a finding")
        return date.fromisoformat(data["written"]), frozenset(cast(list[Key], keys))
    except OSError as error:
        raise SpecError([Problem((), f"cannot be read: {error.strerror}.", file=str(path))]) from None
    except (ValueError, TypeError, KeyError) as error:
        message = f"is no baseline of gpuyard check: {type(error).__name__}: {error}."
        raise SpecError([Problem((), message, "Write it with: gpuyard check --write-baseline", str(path), 1)]) from None


def baseline_text(evaluations: Mapping[str, Evaluation], today: date) -> str:
    """A baseline of everything that is open now, as text in a stable order."""
    keys = sorted(key_of(stack, one) for stack, found in evaluations.items() for one in found.of(*_ACCEPTABLE))
    findings = [dict(zip(("stack", "rule", "resource", "message"), key, strict=True)) for key in keys]
    data = {"version": VERSION, "written": today.isoformat(), "findings": findings}
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def with_baseline(stack: str, evaluation: Evaluation, known: frozenset[Key], written: date) -> tuple[Evaluation, int]:
    """An evaluation in which findings of the baseline are suppressed.

    Returns:
        The evaluation, and how many entries of this stack describe nothing that is still there.
    """
    reason = f"in the baseline of {written.isoformat()}"
    found: list[Finding] = []
    met: set[Key] = set()
    for one in evaluation.findings:
        key = key_of(stack, one)
        if one.verdict in _ACCEPTABLE and key in known:
            met.add(key)
            one = replace(one, verdict=Verdict.SUPPRESSED, reason=reason)
        found.append(one)
    mended = sum(1 for key in known if key[0] == stack) - len(met)
    return replace(evaluation, findings=tuple(found)), mended


def without_known(stack: str, evaluation: Evaluation, before: Iterable[Finding]) -> tuple[Evaluation, int, int]:
    """An evaluation without what another version of the stack has as well.

    Args:
        stack: The stack.
        evaluation: What is found now.
        before: What was found in the other version.

    Returns:
        The evaluation, how many findings are the same, and how many of the other version are gone.
    """
    told = {key_of(stack, one): one.verdict for one in before if one.verdict is not Verdict.PASS}
    same: set[Key] = set()
    found: list[Finding] = []
    for one in evaluation.findings:
        key = key_of(stack, one)
        if one.verdict is not Verdict.ERROR and told.get(key) is one.verdict:
            same.add(key)
        else:
            found.append(one)
    kept = replace(evaluation, findings=tuple(found))
    now = {key_of(stack, one) for one in evaluation.findings if one.verdict is not Verdict.PASS}
    return kept, len(same), len(set(told) - now)
