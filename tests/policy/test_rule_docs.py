"""The pages about the rules: made from the rules, and not stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuyard_policy.docs import pages, write_pages
from gpuyard_policy.rules import ALL_RULES, Rule

FOLDER = Path(__file__).parents[2] / "docs" / "rules"


def test_the_pages_are_those_that_the_rules_make() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    assert written == pages(), "run: python -m gpuyard_policy.docs"


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.id)
def test_a_page_says_what_why_what_to_do_and_what_can_be_set(rule: Rule) -> None:
    page = pages()[f"{rule.id}.md"]
    for part in (rule.title, rule.rationale, rule.remedy, *rule.example, *rule.thresholds):
        assert part in page
    for one in rule.thresholds.values():
        assert f"{one.default:g} {one.unit}" in page
        assert one.source in page


def test_writing_removes_the_page_of_a_rule_that_is_no_more(tmp_path: Path) -> None:
    (tmp_path / "OLD001.md").write_text("gone")
    write_pages(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(pages())
