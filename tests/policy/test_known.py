"""Findings that were there before: baselines, and what another version has as well."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.spec.problems import SpecError
from gpuyard_policy.evaluate import Evaluation
from gpuyard_policy.facts.model import Facts
from gpuyard_policy.known import baseline_text, key_of, read_baseline, with_baseline, without_known
from gpuyard_policy.rules.rule import Finding, Verdict
from tests.policy.programs import urn

DAY = date(2026, 12, 1)


def evaluation(*findings: Finding) -> Evaluation:
    return Evaluation(findings, "prod", 3, True, Facts(), ("FAB001",))


def fail(name: str, message: str = "bad.", verdict: Verdict = Verdict.FAIL) -> Finding:
    return Finding("FAB001", verdict, urn(name), message, "mandatory")


def test_a_baseline_accepts_what_it_holds_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    old = evaluation(fail("a"), fail("b", verdict=Verdict.UNDECIDED), fail("p", verdict=Verdict.PASS))
    path.write_text(baseline_text({"dev": old}, DAY), encoding="utf-8")
    written, known = read_baseline(path)
    now = evaluation(fail("a"), fail("a", "worse."), fail("new"), fail("b", verdict=Verdict.UNDECIDED))
    found, mended = with_baseline("dev", now, known, written)
    assert [one.verdict for one in found.findings] == [
        Verdict.SUPPRESSED,
        Verdict.FAIL,
        Verdict.FAIL,
        Verdict.SUPPRESSED,
    ]
    assert found.findings[0].reason == "in the baseline of 2026-12-01"
    assert mended == 0
    assert with_baseline("dev", evaluation(fail("a")), known, written)[1] == 1
    other, _ = with_baseline("prod", now, known, written)
    assert other.of(Verdict.SUPPRESSED) == [], "a baseline is of a stack"


def test_a_baseline_never_accepts_a_rule_that_broke(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    broken = evaluation(fail("a", verdict=Verdict.ERROR))
    path.write_text(baseline_text({"dev": broken}, DAY), encoding="utf-8")
    written, known = read_baseline(path)
    assert known == frozenset()
    assert with_baseline("dev", broken, frozenset({key_of("dev", broken.findings[0])}), written)[0].broken


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2, "written": "2026-12-01", "findings": []}',
                                  '{"version": 1, "written": "soon", "findings": []}',
                                  '{"version": 1, "written": "2026-12-01", "findings": [{}]}',
                                  '{"version": 1, "written": "2026-12-01", "findings": [{"stack": 1, "rule": "a", '
                                  '"resource": "b", "message": "c"}]}'])  # fmt: skip
def test_a_file_that_is_no_baseline_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(text)
    with pytest.raises(SpecError, match=r"is no baseline of gpuyard check.*--write-baseline"):
        read_baseline(path)
    with pytest.raises(SpecError, match="cannot be read"):
        read_baseline(tmp_path / "none.json")


def test_what_another_version_has_as_well_is_left_out(tmp_path: Path) -> None:
    before = [fail("same"), fail("gone"), fail("eased"), fail("passed", verdict=Verdict.PASS)]
    now = evaluation(
        fail("same"),
        fail("eased", verdict=Verdict.UNDECIDED),
        fail("new"),
        fail("broken", verdict=Verdict.ERROR),
        fail("passed", verdict=Verdict.PASS),
    )
    found, same, gone = without_known("dev", now, [*before, fail("broken", verdict=Verdict.ERROR)])
    assert [one.urn for one in found.findings] == [urn(name) for name in ("eased", "new", "broken", "passed")]
    assert (same, gone) == (1, 1)


FINDINGS = st.lists(
    st.builds(fail, st.sampled_from("abcd"), st.sampled_from(["x.", "y."]), st.sampled_from(list(Verdict))), max_size=8
)


@given(FINDINGS, FINDINGS)
def test_a_baseline_of_now_leaves_nothing_open_and_a_diff_with_itself_shows_nothing(
    here: list[Finding], there: list[Finding]
) -> None:
    now = evaluation(*here)
    known = frozenset(key_of("dev", one) for one in now.of(Verdict.FAIL, Verdict.UNDECIDED))
    assert with_baseline("dev", now, known, DAY)[0].of(Verdict.FAIL, Verdict.UNDECIDED) == []
    fresh, _, _ = without_known("dev", now, there)
    told = {(key_of("dev", one), one.verdict) for one in there}
    for one in now.of(Verdict.FAIL):
        assert one in fresh.findings or (key_of("dev", one), one.verdict) in told
